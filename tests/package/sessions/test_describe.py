"""One line for any value of the protocol, known or not, whatever is in it."""

from __future__ import annotations

import random
import time
from typing import Any

import msgspec
import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.describe import LINE
from acp_bindings.v2 import describe, unstable
from hypothesis import given
from hypothesis import strategies as st

from tests.package.codec.profiles import every_definition, profiles

BIDI = "\u202e\u2066\u200f\u061c"


def assert_safe(line: str, limit: int = LINE) -> None:
    """One line that a terminal shows as it is."""
    assert 0 < len(line) <= limit
    assert line.replace("\u200d", "").isprintable()
    assert line == line.strip()
    line.encode()


@pytest.mark.parametrize(("profile", "name"), every_definition())
def test_every_definition_is_one_safe_line(profile: str, name: str) -> None:
    source = profiles()[profile]
    for seed in range(6):
        value = source.module.convert(source.values.valid(name, random.Random(f"{name} {seed}")), source.type(name))
        assert_safe(describe(value))


@pytest.mark.parametrize("profile", profiles())
def test_every_update_is_told_by_its_kind(profile: str) -> None:
    """All kinds are there, and none is shown as mere JSON."""
    source = profiles()[profile]
    branches = source.schema["$defs"]["SessionUpdate"].get("anyOf") or source.schema["$defs"]["SessionUpdate"]["oneOf"]
    tags = [one["properties"]["sessionUpdate"].get("const") for one in branches]
    shown = set()
    for seed in range(400):
        wire = source.values.valid("SessionUpdate", random.Random(seed))
        assert isinstance(wire, dict)
        line = describe(source.module.convert(wire, source.type("SessionUpdate")))
        shown.add(wire["sessionUpdate"])
        assert not line.startswith(("{", "["))
    assert shown >= {tag for tag in tags if tag}


@given(st.text(), st.integers(1, 300))
def test_any_text(text: str, limit: int) -> None:
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text=text))
    assert_safe(describe(chunk, limit), limit)


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs", "Co", "Cn"])))
def test_any_text_of_nothing_that_prints(text: str) -> None:
    for value in (text, v2.TextContent(text=text), unstable.Notice(severity="info", title=text)):
        line = describe(value)
        assert line.replace("\u200d", "").isprintable() and len(line) <= LINE
    assert_safe(describe(v2.UnknownContentBlock({"type": f"_x{text}", text: [text, {text: text}]})))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values), st.sampled_from(["_x", "text", "diff", "terminal", "content", "image"]))
def test_anything_unknown(members: dict[str, Any], tag: str) -> None:
    """Members of any shape, under tags that mean something elsewhere too."""
    forms: list[tuple[Any, str]] = [
        (v2.ContentBlock, "type"),
        (v2.ToolCallContent, "type"),
        (v2.SessionUpdate, "sessionUpdate"),
        (v2.PlanUpdateContent, "type"),
        (v2.RequestPermissionOutcome, "outcome"),
    ]
    for form, name in forms:
        try:
            value = v2.convert({"planId": "p", **members, name: tag}, form)
        except v2.DecodeError:
            continue
        assert_safe(describe(value))


def test_what_is_known_is_said_in_words() -> None:
    write = v2.SessionToolCallUpdate(tool_call_id="t1", title="Write notes.txt", kind="edit", status="completed")
    text = v2.TextContent(text="Hello\n  there")
    lines = {
        describe(v2.AgentMessageChunk(message_id="m", content=text)): "agent: Hello there",
        describe(v2.UserMessage(message_id="m", content=[text, text])): "user: Hello there Hello there",
        describe(v2.AgentThought(message_id="m")): "thought: nothing",
        describe(write): "tool call t1 (edit, completed): Write notes.txt",
        describe(v2.RunningStateUpdate()): "running",
        describe(v2.IdleStateUpdate(stop_reason="end_turn")): "idle (end_turn)",
        describe(v2.IdleErrorStateUpdate(error=v2.Error(code=-1, message="no disk"))): "idle (error): no disk",
        describe(v2.UsageUpdate(used=10, size=20)): "usage: 10 of 20 tokens",
        describe(v2.UsageUpdate(used=10, size=20, cost=v2.Cost(amount=0.1 + 0.2, currency="EUR"))): (
            "usage: 10 of 20 tokens, 0.3 EUR"
        ),
        describe(v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=12_345_678.25, currency="EUR"))): (
            "usage: 1 of 2 tokens, 12345678.25 EUR"
        ),
        describe(v2.ImageContent(data="AAAA", mime_type="image/png")): "[image image/png, 3 bytes]",
        describe(v1.CurrentModeUpdate(current_mode_id="ask")): 'current mode update: {"currentModeId": "ask"}',
        describe("edit"): "edit",
        describe("_acme.dev/brew"): "_acme.dev/brew (extension)",
        describe(unstable.PlanRemoved(plan_id="p")): 'plan removed: {"planId": "p"}',
    }
    assert list(lines) == list(lines.values())


def test_what_is_not_known_says_so() -> None:
    ours = v2.UnknownSessionUpdate({"sessionUpdate": "_acme.dev/mood", "mood": "content"})
    assert describe(ours) == '_acme.dev/mood (extension): {"mood": "content"}'
    newer = v2.convert({"sessionUpdate": "weather", "sky": ["blue"]}, v2.SessionUpdate)
    assert describe(newer) == 'weather (unknown kind): {"sky": ["blue"]}'
    block = v2.convert({"type": "hologram", "_meta": {"x": 1}}, v2.ContentBlock)
    assert describe(v2.AgentMessageChunk(message_id="m", content=block)) == "agent: hologram (unknown kind)"
    state = v2.convert({"sessionUpdate": "state_update", "state": "dreaming"}, v2.SessionUpdate)
    assert describe(state) == "dreaming (unknown kind)"
    reason = v2.convert({"sessionUpdate": "state_update", "state": "idle", "stopReason": "bored"}, v2.SessionUpdate)
    assert describe(reason) == "idle (bored)"


def test_nothing_moves_the_cursor_or_turns_the_text() -> None:
    line = describe(v2.TextContent(text=f"a\x1b[31mb\rc\x08d\x00{BIDI}e\ud800\U000e0041"))
    assert_safe(line)
    assert line == "a\\x1b[31mb c\\x08d\\x00\\u202e\\u2066\\u200f\\u061ce\\ud800\\U000e0041"
    assert describe(v2.TextContent(text="👩\u200d🚀 é")) == "👩\u200d🚀 é"


@pytest.mark.parametrize(
    "make",
    [
        lambda text: v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text=text)),
        lambda text: v2.SessionToolCallUpdate(tool_call_id=text, title=text),
        lambda text: unstable.Notice(severity="info", title=text, description=text),
        lambda text: v2.UnknownContentBlock({"type": "_x", "all": text, text: 1}),
        lambda text: v2.UnknownContentBlock({"type": "_" + text}),
        lambda text: v2.ImageContent(data=text, mime_type=text),
        lambda text: v2.PlanUpdate(plan=v2.PlanItems(plan_id=text, entries=[])),
        lambda text: v2.SessionInfoUpdate(title=text),
        lambda text: text,
    ],
)
def test_a_huge_value_costs_little(make: Any) -> None:
    """Far less than a pass over it in Python would: ten million characters take a second that way."""
    value = make("\u202e" * 10_000_000)
    start = time.process_time()
    assert_safe(describe(value))
    assert time.process_time() - start < 0.2


def test_many_and_deep_members() -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep, {"x": deep}][:1]
    line = describe(v2.UnknownContentBlock({"type": "_x", "deep": deep}))
    assert_safe(line)
    assert "…" in line
    wide = v2.UnknownContentBlock({"type": "_x"} | {str(number): [number] * 1000 for number in range(10_000)})
    assert_safe(describe(wide))
    call = v2.SessionToolCallUpdate(tool_call_id="t", raw_input=deep)
    assert_safe(describe(call))
    entries = [v2.PlanEntry(content=f"step {number}", priority="low", status="completed") for number in range(500)]
    entries.append(v2.PlanEntry(content="last", priority="low", status="pending"))
    plan = v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=entries))
    assert describe(plan) == "plan: 500 of 501 done, next: last"


def test_what_cannot_be_encoded_can_be_shown() -> None:
    """A model of one's own may hold what JSON has no form for: it is what one wants to see when it is refused."""
    loop: dict[str, Any] = {}
    loop["self"] = loop
    for value in (
        v2.SessionToolCallUpdate(tool_call_id="t", raw_input=loop),
        v2.SessionToolCallUpdate(tool_call_id="t", raw_input=object(), meta={"x": float("nan")}),
        v2.UnknownContentBlock({"type": "_x", "loop": loop, "odd": object()}),
        v2.TextContent(text=None),  # type: ignore[arg-type]  # what a checker would have said
        v2.AgentMessageChunk(message_id="m", content=loop),  # type: ignore[arg-type]  # likewise
        v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="\ud800")]),
        loop,
        None,
        object(),
        msgspec.UNSET,
    ):
        assert_safe(describe(value))


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_short_lines(limit: int) -> None:
    assert describe("abcdefghijklmnopq", limit) == "abcdefghi"[: limit - 1] + "…"

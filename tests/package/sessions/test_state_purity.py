"""States of version 1, what opens a session, and that states are pure. Facts S."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.v1 import unstable as v1_unstable
from acp_bindings.v2 import unstable

from tests.package.codec.profiles import profiles
from tests.package.sessions.applying import TEXT, Wire, applied, encoded, kind, plain, plan, updates

# version 1


def test_version_1_chunks_without_an_id() -> None:
    """What follows each other and is of one kind is one message; a change of kind, or something between, ends it."""
    first, second, third = TEXT
    state = applied(
        v1,
        kind("user_message_chunk", content=first),
        kind("agent_thought_chunk", content=first),
        kind("agent_message_chunk", content=first),
        kind("agent_message_chunk", content=second),
        kind("usage_update", used=1, size=2),
        kind("agent_message_chunk", content=third, messageId=None),
        kind("tool_call", toolCallId="t", title="x"),
        kind("agent_message_chunk", content=third),
        kind("agent_message_chunk", content=first, messageId="agent/4"),
        kind("agent_message_chunk", content=second),
    )
    assert [(key, one.kind, one.message_id, one.text) for key, one in state.messages.items()] == [
        ("user/1", "user", None, "one"),
        ("thought/2", "thought", None, "one"),
        ("agent/3", "agent", None, "onetwothree"),
        ("agent/4", "agent", None, "three"),
        ("agent/agent/4", "agent", "agent/4", "one"),
        ("agent/6", "agent", None, "two"),
    ]


def test_version_1_tool_calls() -> None:
    content = [{"type": "content", "content": TEXT[0]}]
    call = kind(
        "tool_call", toolCallId="t", title="Write", kind="edit", content=content, rawInput={"a": 1}, meta={"a": 1}
    )

    def left(*wires: Wire) -> Any:
        return plain(v1, *wires)["toolCalls"]["t"]

    whole = {
        "toolCallId": "t",
        "title": "Write",
        "kind": "edit",
        "content": content,
        "rawInput": {"a": 1},
        "_meta": {"a": 1},
    }
    assert left(call) == whole
    # Null means what absent means.
    nulls = dict.fromkeys(("title", "kind", "status", "content", "locations", "name"))
    assert left(call, kind("tool_call_update", toolCallId="t", **nulls)) == whole
    done = kind("tool_call_update", toolCallId="t", status="completed", content=[], meta={"b": 2})
    assert left(call, done) == {
        "toolCallId": "t", "title": "Write", "kind": "edit", "status": "completed", "rawInput": {"a": 1},
        "_meta": {"a": 1, "b": 2},
    }  # fmt: skip
    # Announced again, it is another call, in the old one's place.
    again = kind("tool_call", toolCallId="t", title="Read")
    assert left(call, done, again) == {"toolCallId": "t", "title": "Read"}
    assert plain(v1, call, again)["timeline"] == [["tool_call", "t"]]
    assert left(done)["status"] == "completed"


def test_version_1_plan_modes_and_info() -> None:
    entry = {"content": "a", "priority": "high", "status": "pending"}
    state = applied(v1, kind("plan", entries=[entry, entry]), kind("plan", entries=[entry]))
    assert [len(one.entries) for one in state.plans.values()] == [1]
    assert state.timeline == [("plan", "plan")]
    state = applied(
        v1, kind("current_mode_update", currentModeId="ask"), kind("current_mode_update", currentModeId="go")
    )
    assert state.mode == "go"
    # Here null does clear, in version 1 too.
    state = applied(v1, kind("session_info_update", title="A"), kind("session_info_update", title=None))
    assert state.info.title is None
    state = applied(v1_unstable, plan("p", "a"), kind("plan", entries=[entry]), kind("plan_removed", planId="p"))
    assert list(state.plans) == ["plan"]


# what opens a session


def test_the_opening_answer_fills_what_no_update_has_said() -> None:
    commands = kind("available_commands_update", availableCommands=[])
    answer = v2.NewSessionResponse(
        session_id="s",
        available_commands=[v2.Command(name="late", description="")],
        config_options=[v2.BooleanConfigOption(config_id="c", name="c", current_value=True)],
    )
    state = applied(v2, commands)
    state.opened(answer)
    assert (state.commands, state.config_options) == ([], answer.config_options)
    assert state.config_options is not answer.config_options
    # Nothing is said of the activity: what was reported stands, and a new session is idle.
    busy = applied(v2, kind("state_update", state="running"))
    busy.opened(answer)
    assert not busy.is_idle


def test_the_opening_answer_of_version_1_has_modes() -> None:
    modes = v1.SessionModeState(current_mode_id="ask", available_modes=[v1.SessionMode(id="ask", name="Ask")])
    for state, mode in (
        (v1.SessionState(), "ask"),
        (applied(v1, kind("current_mode_update", currentModeId="go")), "go"),
    ):
        state.opened(v1.NewSessionResponse(session_id="s", modes=modes))
        assert (state.mode, state.modes) == (mode, modes)
    state = v1.SessionState()
    state.opened(v1.NewSessionResponse(session_id="s", modes=None))
    assert state == v1.SessionState()


# purity


def drawn(name: str, count: int, seed: int = 0) -> list[Any]:
    profile = profiles()[name]
    rng = random.Random(f"{name} {seed}")
    return [
        profile.module.convert(profile.values.valid("SessionUpdate", rng), profile.type("SessionUpdate"))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", profiles())
def test_replaying_gives_an_equal_state_and_changes_no_update(name: str) -> None:
    module = profiles()[name].module
    for seed in range(20):
        recorded = drawn(name, 40, seed)
        before = copy.deepcopy(recorded)
        encoded = [module.encode(one) for one in recorded]
        first, second, apart = module.SessionState(), module.SessionState(), module.SessionState()
        for update in recorded:
            first.apply(update)
        for update in recorded:
            second.apply(update)
        for body in encoded:
            apart.apply(module.decode(body, module.SessionUpdate))
        assert first == second == apart
        assert first.to_builtins() == second.to_builtins()
        assert json.loads(json.dumps(first.to_builtins())) == first.to_builtins()
        assert recorded == before
        assert [module.encode(one) for one in recorded] == encoded


def test_states_that_differ_are_not_equal() -> None:
    chunk = kind("agent_message_chunk", messageId="m", content=TEXT[0])
    assert applied(v2, chunk) != applied(v2, chunk, chunk)
    assert applied(v2, chunk) != v2.SessionState()
    assert v2.SessionState() == v2.SessionState()


def test_nothing_is_shared_with_the_updates() -> None:
    """Appending to what an update brought must not reach the update, which others may hold."""
    item = {"type": "content", "content": TEXT[0]}
    (message, call, compaction) = found = updates(
        unstable,
        kind("agent_message", messageId="m", content=[TEXT[0]], meta={"a": 1}),
        kind("tool_call_update", toolCallId="t", content=[item], locations=[{"path": "/"}], rawInput=[1]),
        kind("compaction_update", compactionId="c", status="completed", summary=[TEXT[0]]),
    )
    state = unstable.SessionState()
    for update in found:
        state.apply(update)
    for update in updates(
        unstable,
        kind("agent_message_chunk", messageId="m", content=TEXT[1]),
        kind("agent_message", messageId="m", meta={"b": 1}),
        kind("tool_call_content_chunk", toolCallId="t", content=item),
        kind("compaction_summary_chunk", compactionId="c", content=TEXT[1]),
    ):
        state.apply(update)
    assert (len(message.content), message.meta) == (1, {"a": 1})
    assert (len(call.content), len(compaction.summary)) == (1, 1)
    state.tool_calls["t"].raw_input.append(2)
    state.tool_calls["t"].locations.clear()
    assert (call.raw_input, len(call.locations)) == ([1], 1)


def test_new_entries_share_nothing_with_each_other() -> None:
    state = applied(v2, kind("agent_message", messageId="a"), kind("agent_message", messageId="b"))
    state.messages["a"].content.append(v2.TextContent(text="x"))
    state.messages["a"].meta["x"] = 1
    assert (state.messages["b"].content, state.messages["b"].meta) == ([], {})
    assert v2.SessionState().messages is not v2.SessionState().messages


def test_a_property_that_the_state_has_no_member_for_is_kept() -> None:
    """A later schema may bring one before the state learns of it."""
    entry = applied(v2, kind("tool_call_update", toolCallId="t")).tool_calls["t"]

    class Newer(v2.SessionToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
        colour: str | v2.UnsetType | None = v2.UNSET

    entry.patch(Newer(tool_call_id="t", colour="red"), identity="tool_call_id")
    assert entry.extra == {"colour": "red"}
    entry.patch(Newer(tool_call_id="t"), identity="tool_call_id")
    assert entry.extra == {"colour": "red"}
    entry.patch(Newer(tool_call_id="t", colour=None), identity="tool_call_id")
    assert entry.extra == {}


def test_long_outputs_and_messages_cost_linear_time() -> None:
    """Two hundred thousand pieces: with a copy for each they would take minutes."""
    state = v2.SessionState()
    (piece, text) = updates(
        v2,
        kind("terminal_output_chunk", terminalId="x", data=encoded(b"x" * 60)),
        kind("agent_message_chunk", messageId="m", content=TEXT[0]),
    )
    for _ in range(100_000):
        state.apply(piece)
        state.apply(text)
    assert len(state.terminals["x"].output) == 6_000_000
    assert len(state.messages["m"].content) == 100_000

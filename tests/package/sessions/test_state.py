"""What updates add up to, rule by rule. The rules are fact S; where a test rests on our own decision, it says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.sessions.rules import RULES
from acp_bindings.v2 import unstable

from tests.package.codec.profiles import profiles
from tests.package.sessions.applying import TEXT, Wire, applied, encoded, kind, plain, plan, updates

# every variant has a rule


@pytest.mark.parametrize("name", profiles())
def test_every_variant_of_every_schema_has_a_rule(name: str) -> None:
    """A schema that brings a new kind of update fails here."""
    union = profiles()[name].schema["$defs"]["SessionUpdate"]
    branches = union.get("anyOf") or union["oneOf"]
    tags = {
        one["properties"]["sessionUpdate"]["const"] for one in branches if "const" in one["properties"]["sessionUpdate"]
    }
    assert len(tags) >= 14
    assert tags - RULES.keys() == set()


def test_every_rule_is_some_schemas() -> None:
    known = json.dumps([one.schema for one in profiles().values()])
    assert [tag for tag in RULES if f'"{tag}"' not in known] == []


# messages


@pytest.mark.parametrize(
    ("tag", "who"),
    [
        ("user_message", "user"),
        ("agent_message", "agent"),
        ("agent_thought", "thought"),
        ("session_message", "session"),
    ],
)
def test_messages(tag: str, who: str) -> None:
    first, second, third = TEXT
    chunk = f"{tag}_chunk"
    begun = kind(chunk, messageId="m", content=first)
    more = kind(chunk, messageId="m", content=second)

    def content(*wires: Wire) -> list[Wire]:
        (message,) = plain(unstable, *wires)["messages"].values()
        assert (message["kind"], message["messageId"]) == (who, "m")
        found: list[Wire] = message.get("content", [])
        return found

    assert content(begun, more) == [first, second]
    # An update replaces what chunks have brought, and chunks go on from there.
    assert content(begun, kind(tag, messageId="m", content=[third]), more) == [third, second]
    assert content(begun, kind(tag, messageId="m")) == [first]
    assert content(begun, kind(tag, messageId="m", content=None)) == []
    assert content(begun, kind(tag, messageId="m", content=[])) == []
    assert content(kind(tag, messageId="m", content=None), more) == [second]
    assert content(kind(tag, messageId="m")) == []


def test_messages_by_id_whatever_comes_between() -> None:
    state = applied(
        v2,
        kind("agent_message_chunk", messageId="a", content=TEXT[0]),
        kind("agent_message_chunk", messageId="b", content=TEXT[1]),
        kind("agent_message_chunk", messageId="a", content=TEXT[2]),
    )
    assert [(key, message.text) for key, message in state.messages.items()] == [("a", "onethree"), ("b", "two")]
    assert state.timeline == [("message", "a"), ("message", "b")]


def test_two_kinds_of_message_may_share_an_id() -> None:
    """W: nobody forbids it, so neither is lost, nor taken for the other."""
    wires = [
        kind("user_message", messageId="m", content=[TEXT[0]]),
        kind("agent_message_chunk", messageId="m", content=TEXT[1]),
        kind("user_message_chunk", messageId="agent/m", content=TEXT[2]),
        kind("agent_message_chunk", messageId="m", content=TEXT[2]),
        kind("agent_message_chunk", messageId="agent/m", content=TEXT[0]),
    ]
    state = applied(v2, *wires)
    found = {key: (one.kind, one.message_id, one.text) for key, one in state.messages.items()}
    assert found == {
        "m": ("user", "m", "one"),
        "agent/m": ("agent", "m", "twothree"),
        "user/agent/m": ("user", "agent/m", "three"),
        "agent/agent/m": ("agent", "agent/m", "one"),
    }


def test_text_is_of_text_blocks_only() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    unknown = {"type": "_x", "text": "no"}
    state = applied(v2, kind("agent_message", messageId="m", content=[TEXT[0], image, unknown, TEXT[1]]))
    assert state.messages["m"].text == "onetwo"


def test_session_messages_have_ends() -> None:
    wires = [
        kind("session_message_chunk", messageId="m", content=TEXT[0]),
        kind("session_message", messageId="m", senderSessionId="s", recipientMessageId="r"),
        kind("session_message", messageId="m", senderSessionId=None),
    ]
    message = applied(unstable, *wires).messages["m"]
    assert (message.sender_session_id, message.recipient_message_id, message.text) == (None, "r", "one")


# patches: absent, null, value

TOOL: dict[str, tuple[Any, ...]] = {
    "title": ("Write", None, "Read"),
    "name": ("write", None, "read"),
    "kind": ("edit", "other", "read"),
    "status": ("completed", "pending", "failed"),
    "content": ([{"type": "content", "content": TEXT[0]}], [], [{"type": "content", "content": TEXT[1]}]),
    "locations": ([{"path": "/a"}], [], [{"path": "/b", "line": 3}]),
    "rawInput": ({"a": 1}, None, [1, 2]),
    "rawOutput": ("text", None, 0),
    "capabilities": ({"cancel": {}}, None, {}),
}
TERMINAL: dict[str, tuple[Any, ...]] = {
    "command": ("ls", None, "cat"),
    "cwd": ("/a", None, "/b"),
    "exitStatus": ({"exitCode": 1}, None, {"signal": "TERM"}),
    "size": ({"cols": 80, "rows": 24}, None, {"cols": 10, "rows": 5}),
    "capabilities": ({"cancel": {}}, None, {}),
}
COMPACTION: dict[str, tuple[Any, ...]] = {"summary": ([TEXT[0]], [], [TEXT[1]]), "error": ("no", None, "none")}
SUBAGENT: dict[str, tuple[Any, ...]] = {
    "title": ("Scout", None, "Digger"),
    "description": ("looks", None, "digs"),
    "capabilities": ({"cancel": {}}, None, {}),
    "state": ({"state": "running"}, None, {"state": "idle", "stopReason": "end_turn"}),
    "cwd": ("/a", None, "/b"),
    "additionalDirectories": (["/c"], None, []),
}
INFO: dict[str, tuple[Any, ...]] = {
    "title": ("A", None, "B"),
    "updatedAt": ("2025-01-31T12:00:00Z", None, "2026-01-31T12:00:00Z"),
}
PATCHED = [
    (tag, identity, place, fixed, member, values)
    for tag, identity, place, fixed, members in (
        ("tool_call_update", {"toolCallId": "x"}, "toolCalls", {}, TOOL),
        ("terminal_update", {"terminalId": "x"}, "terminals", {}, TERMINAL),
        ("compaction_update", {"compactionId": "x"}, "compactions", {"status": "completed"}, COMPACTION),
        ("subagent_update", {"sessionId": "x"}, "subagents", {}, SUBAGENT),
        ("session_info_update", {}, "info", {}, INFO),
    )
    for member, values in members.items()
]


@pytest.mark.parametrize(
    ("tag", "identity", "place", "fixed", "member", "values"), PATCHED, ids=[f"{one[0]}-{one[4]}" for one in PATCHED]
)
def test_patches(tag: str, identity: Wire, place: str, fixed: Wire, member: str, values: tuple[Any, ...]) -> None:
    value, default, other = values

    def left(*patches: Wire) -> Any:
        state = plain(unstable, *(kind(tag, **identity, **fixed, **patch) for patch in patches))
        entry = state[place] if place == "info" else state[place]["x"]
        return entry.get(member, default)

    assert left({}) == default
    assert left({member: value}) == value
    assert left({member: value}, {}) == value
    assert left({member: value}, {member: None}) == default
    assert left({member: None}) == default
    assert left({member: value}, {member: other}) == other
    assert left({member: value}, {member: None}, {member: other}) == other


@pytest.mark.parametrize(
    "tag",
    [
        "tool_call_update",
        "terminal_update",
        "agent_message",
        "user_message",
        "agent_thought",
        "compaction_update",
        "subagent_update",
        "session_message",
        "session_info_update",
    ],
)
def test_metadata_is_patched_by_key(tag: str) -> None:
    identity = {
        "tool_call_update": "toolCallId",
        "terminal_update": "terminalId",
        "compaction_update": "compactionId",
        "subagent_update": "sessionId",
        "session_info_update": "",
    }.get(tag, "messageId")
    fixed = ({identity: "x"} if identity else {}) | ({"status": "completed"} if tag == "compaction_update" else {})

    def left(*metas: Any) -> Any:
        state = applied(unstable, *(kind(tag, **fixed, **meta) for meta in metas))
        places = (state.tool_calls, state.terminals, state.messages, state.compactions, state.subagents)
        entries = [entry for place in places for entry in place.values()] or [state.info]
        return entries[0].meta

    nested = {"a": 1, "b": {"x": 1, "y": 2}}
    assert left({}) == {}
    assert left({"_meta": nested}, {}) == nested
    assert left({"_meta": nested}, {"_meta": {"a": None}}) == {"b": {"x": 1, "y": 2}}
    # Values replace each other whole: what is nested is not merged.
    assert left({"_meta": nested}, {"_meta": {"b": {"x": 3}, "c": [1]}}) == {"a": 1, "b": {"x": 3}, "c": [1]}
    assert left({"_meta": nested}, {"_meta": None}) == {}
    assert left({"_meta": nested}, {"_meta": {}}) == nested
    assert left({"_meta": {"never": None}}) == {}


def test_chunks_of_tool_calls() -> None:
    first, second = ({"type": "content", "content": text} for text in TEXT[:2])
    chunk = kind("tool_call_content_chunk", toolCallId="t", content=second)
    assert plain(v2, chunk)["toolCalls"]["t"] == {"toolCallId": "t", "content": [second]}
    found = plain(v2, chunk, kind("tool_call_update", toolCallId="t", content=[first]), chunk)
    assert found["toolCalls"]["t"]["content"] == [first, second]
    assert found["timeline"] == [["tool_call", "t"]]


def test_chunks_of_compactions() -> None:
    chunk = kind("compaction_summary_chunk", compactionId="c", content=TEXT[0])
    state = applied(unstable, chunk)
    assert state.compactions["c"].status == "in_progress"
    state = applied(unstable, chunk, kind("compaction_update", compactionId="c", status="failed", error="no"), chunk)
    found = state.compactions["c"]
    assert (found.status, found.error, len(found.summary)) == ("failed", "no", 2)


# terminals


def test_terminal_output() -> None:
    def output(*wires: Wire) -> bytes:
        return bytes(applied(v2, *wires).terminals["x"].output)

    # Cut anywhere: each piece is encoded on its own, and they are bytes, not text.
    pieces = [kind("terminal_output_chunk", terminalId="x", data=encoded(one)) for one in (b"\xc3", b"\xa9\n", b"")]
    snapshot = kind("terminal_update", terminalId="x", output={"data": encoded(b"new")})
    assert output(*pieces) == "é\n".encode()
    assert output(*pieces, snapshot, *pieces[:1]) == b"new\xc3"
    assert output(*pieces, kind("terminal_update", terminalId="x", output=None)) == b""
    assert output(*pieces, kind("terminal_update", terminalId="x", command="ls")) == "é\n".encode()
    assert plain(v2, snapshot)["terminals"]["x"]["output"] == encoded(b"new")


@pytest.mark.parametrize("data", ["!", "AAA", "AA==\n", "é", "AA=A", "A" * 5])
def test_terminal_output_that_is_not_base64(data: str) -> None:
    """W: it is kept as something unknown, what was there stays, and the rest of its update counts."""
    before = kind("terminal_output_chunk", terminalId="x", data=encoded(b"old"))
    chunk = kind("terminal_output_chunk", terminalId="x", data=data)
    update = kind("terminal_update", terminalId="x", output={"data": data}, exitStatus={"exitCode": 0})
    state = applied(v2, before, chunk, update)
    assert state.terminals["x"].output == b"old"
    assert state.terminals["x"].exit_status == v2.TerminalExitStatus(exit_code=0)
    assert state.unknown == updates(v2, chunk, update)
    # One that was never heard of is not begun by bytes that nobody can read.
    assert applied(v2, chunk).terminals == {}


# plans


def test_plans_are_replaced_whole_and_removed() -> None:
    other = kind("plan_update", plan={"type": "_sketch", "planId": "p", "svg": "<svg/>"})
    state = applied(unstable, plan("p", "a", "b", _meta={"x": 1}), plan("q", "c"), plan("p", "d"))
    assert [(key, len(one.entries), one.meta) for key, one in state.plans.items()] == [
        ("p", 1, v2.UNSET), ("q", 1, v2.UNSET)
    ]  # fmt: skip
    # Content of an unknown kind replaces what was there of that id all the same.
    state = applied(unstable, plan("p", "a"), other)
    assert state.plans["p"] == {"type": "_sketch", "planId": "p", "svg": "<svg/>"}
    gone = kind("plan_removed", planId="p")
    state = applied(unstable, plan("p", "a"), plan("q", "b"), gone, gone)
    assert list(state.plans) == ["q"]
    assert state.timeline == [("plan", "q")]
    assert applied(unstable, gone) == unstable.SessionState()


# the session as a whole


def test_lists_of_the_session_are_replaced() -> None:
    def command(name: str) -> Wire:
        return {"type": "command", "name": name, "description": ""}

    def option(identity: str) -> Wire:
        return {"configId": identity, "name": identity, "type": "boolean", "currentValue": True}

    state = applied(v2, kind("available_commands_update", availableCommands=[command("a"), command("b")]))
    assert [one.name for one in state.commands] == ["a", "b"]
    state.apply(*updates(v2, kind("available_commands_update", availableCommands=[])))
    assert state.commands == []
    assert v2.SessionState().commands is None
    state.apply(*updates(v2, kind("config_option_update", configOptions=[option("x"), option("y")])))
    state.apply(*updates(v2, kind("config_option_update", configOptions=[option("y")])))
    assert [one.config_id for one in state.config_options] == ["y"]


def test_usage() -> None:
    cost = {"amount": 0.5, "currency": "EUR"}

    def usage(**members: Any) -> Wire:
        return kind("usage_update", **{"used": 1, "size": 10, **members})

    assert v2.SessionState().usage is None
    assert plain(v2, usage(cost=cost), usage(used=2))["usage"] == {"used": 2, "size": 10, "cost": cost}
    assert plain(v2, usage(cost=cost), usage(cost=None))["usage"] == {"used": 1, "size": 10}
    # In version 1 null and absent are one. Its metadata is about the report alone in either.
    assert plain(v1, usage(cost=cost), usage(cost=None, meta={"a": 1}))["usage"]["cost"] == cost
    assert applied(v2, usage(meta={"a": 1})).usage.meta == {}


def test_activity() -> None:
    state = v2.SessionState()
    assert (state.activity, state.is_idle) == (None, True)
    for wire, idle in (
        ({"state": "running"}, False),
        ({"state": "requires_action"}, False),
        ({"state": "idle"}, True),
        ({"state": "running", "background": []}, False),
        ({"state": "idle", "stopReason": "end_turn"}, True),
        # Neither idle nor what was before.
        ({"state": "_acme/dreaming", "of": ["sheep"]}, False),
        ({"state": "idle", "stopReason": "_acme/bored", "why": 1}, True),
        ({"state": "future"}, False),
        ({"state": "idle", "stopReason": "error", "error": {"code": 1, "message": ""}}, True),
    ):
        (update,) = updates(v2, kind("state_update", **wire))
        state.apply(update)
        assert (state.activity, state.is_idle) == (update, idle)
    assert state.unknown == []
    assert isinstance(state.activity, v2.IdleErrorStateUpdate)


def test_notices_leave_nothing() -> None:
    assert applied(unstable, kind("notice", severity="info", title="x")) == unstable.SessionState()


def test_unknown_updates_are_kept_in_order() -> None:
    wires = [kind("_b", x=1), kind("newer", y=[]), kind("_b", x=1), kind("_a")]
    state = applied(v2, wires[0], kind("agent_message", messageId="m"), *wires[1:])
    assert state.unknown == wires
    assert state.to_builtins()["unknown"] == wires


def test_timeline_has_everything_in_the_order_of_its_first_mention() -> None:
    state = applied(
        unstable,
        kind("user_message", messageId="x"),
        kind("tool_call_content_chunk", toolCallId="x", content={"type": "content", "content": TEXT[0]}),
        plan("x", "a"),
        kind("terminal_output_chunk", terminalId="x", data=""),
        kind("compaction_update", compactionId="x", status="completed"),
        kind("subagent_update", sessionId="x"),
        kind("user_message_chunk", messageId="x", content=TEXT[0]),
        kind("tool_call_update", toolCallId="x"),
        plan("x", "b"),
    )
    kinds = ["message", "tool_call", "plan", "terminal", "compaction", "subagent"]
    assert state.timeline == [(one, "x") for one in kinds]

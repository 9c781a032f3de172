"""Rows of the lowering table: a tagged union whose payload is a tagged union, down to three levels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, Tiny, array, const, fallback, obj, ref, variant

ROWS = Tinies()

# session/update in small: SessionUpdate -> StateUpdate -> IdleUpdate, all open, the last with a branch without tag.
BACKGROUND: dict[str, Any] = {"type": ["array", "null"], "items": ref("Work")}
DEFS: dict[str, Any] = {
    "SessionUpdate": {
        "anyOf": [
            variant("update", "chunk", "Chunk"),
            variant("update", "state_update", "StateUpdate"),
            fallback("update", "chunk", "state_update"),
        ]
    },
    "StateUpdate": {
        "anyOf": [
            variant("state", "running", "Running"),
            variant("state", "idle", "IdleUpdate"),
            variant("state", "waiting", "Waiting"),
            fallback("state", "running", "idle", "waiting"),
        ],
    },
    "IdleUpdate": {
        "properties": {"at": INTEGER, "background": BACKGROUND},
        "anyOf": [
            variant("stopReason", "end_turn"),
            variant("stopReason", "cancelled"),
            variant("stopReason", "error", "Failure"),
            {"title": "none", "properties": {"stopReason": {"type": "null"}}},
            fallback("stopReason", "end_turn", "cancelled", "error"),
        ],
    },
    "Failure": obj({"error": STRING}, "error"),
    "Running": obj({"background": BACKGROUND}),
    "Waiting": obj({"question": STRING}, "question"),
    "Chunk": obj({"text": STRING}, "text"),
    "Work": obj({"id": STRING}, "id"),
    "Holder": obj({"updates": array(ref("SessionUpdate")), "state": ref("StateUpdate")}),
}
BY_RULE = ROWS.add(
    {**DEFS, "IdleHolder": obj({"idle": ref("IdleUpdate")})},
    use="""
from typing import Literal
update: SessionUpdate = SessionUpdateStateUpdateRunning(background=[Work(id="w")])
update = SessionUpdateStateUpdateIdleError(error="e")
assert_type(SessionUpdateStateUpdateIdleError(error="e").stop_reason, Literal["error"])
state: StateUpdate = StateUpdateWaiting(question="q")
state = StateUpdateRunning()
state = SessionUpdateStateUpdateIdleNone()  # type: ignore[assignment]
idle: IdleUpdate = IdleUpdateEndTurn(at=1)
""",
)
NAMED = ROWS.add(
    DEFS,
    names="""
[SessionUpdate]
RunningUpdate = ["state_update/running"]
IdleUpdate = ["state_update/idle/end_turn", "state_update/idle/cancelled", "state_update/idle/none"]
IdleErrorUpdate = ["state_update/idle/error"]
WaitingUpdate = ["state_update/waiting"]
[StateUpdate]
Running = ["running"]
Idle = ["idle/end_turn", "idle/cancelled", "idle/none"]
IdleError = ["idle/error"]
[IdleUpdate]
IdleUpdate = ["end_turn", "cancelled", "none"]
IdleErrorUpdate = ["error"]
""",
    use="""
update: SessionUpdate = IdleUpdate(stop_reason="end_turn", background=[])
update = IdleErrorUpdate(error="e")
update = RunningUpdate()
state: StateUpdate = Idle(stop_reason=None)
state = Running()

def read(update: SessionUpdate) -> str:
    match update:
        case Chunk():
            return update.text
        case IdleUpdate() | RunningUpdate() | WaitingUpdate():
            return update.state
        case IdleErrorUpdate():
            return update.error
        case UnknownSessionUpdate() | UnknownStateUpdate() | UnknownIdleUpdate():
            return update.tag
""",
)

WORK = {"background": [{"id": "w"}]}
RUNNING = {"update": "state_update", "state": "running"}
IDLE = {"update": "state_update", "state": "idle"}
VALID: list[dict[str, Any]] = [
    {"update": "chunk", "text": "t"},
    {"update": "_own", "x": [1]},
    RUNNING,
    RUNNING | WORK,
    {"update": "state_update", "state": "waiting", "question": "q"},
    {"update": "state_update", "state": "_own", "y": {}, **WORK},
    IDLE,
    IDLE | {"stopReason": None, "at": 3} | WORK,
    IDLE | {"stopReason": "end_turn", "at": 3},
    IDLE | {"stopReason": "cancelled"} | WORK,
    IDLE | {"stopReason": "error", "error": "e"},
    IDLE | {"stopReason": "later", "at": 1, "z": None},
]
INVALID: list[tuple[Any, str]] = [
    ({"update": "chunk"}, "/text"),
    ({"state": "running"}, "/update"),
    ({"update": "state_update"}, "/state"),
    ({"update": "state_update", "state": 1}, "/state"),
    (RUNNING | {"background": [{}]}, "/background/0/id"),
    (RUNNING | {"background": 1}, "/background"),
    (IDLE | {"stopReason": "error"}, "/error"),
    (IDLE | {"stopReason": "error", "error": 1}, "/error"),
    (IDLE | {"stopReason": "end_turn", "at": "x"}, "/at"),
    (IDLE | {"stopReason": "later", "at": "x"}, "/at"),
    (IDLE | {"at": "x"}, "/at"),
    (IDLE | {"stopReason": 5}, "/stopReason"),
]


@pytest.mark.parametrize("row", [BY_RULE, NAMED])
@pytest.mark.parametrize("wire", VALID)
def test_nested_unions_round_trip(row: Tiny, wire: dict[str, Any]) -> None:
    assert row.encoded("SessionUpdate", wire) == wire
    assert row.encoded("Holder", {"updates": [wire, wire]}) == {"updates": [wire, wire]}


@pytest.mark.parametrize("row", [BY_RULE, NAMED])
@pytest.mark.parametrize(("wire", "pointer"), INVALID)
def test_nested_unions_reject(row: Tiny, wire: dict[str, Any], pointer: str) -> None:
    assert row.pointer("SessionUpdate", wire) == pointer
    assert row.pointer("Holder", {"updates": [wire]}) == f"/updates/0{pointer}"


@pytest.mark.parametrize("row", [BY_RULE, NAMED])
def test_inner_unions_stand_alone_without_the_outer_tags(row: Tiny) -> None:
    for state in ({"state": "running"}, {"state": "idle", "stopReason": "end_turn", "at": 1, **WORK}):
        assert row.encoded("StateUpdate", state) == state
        assert row.encoded("Holder", {"state": state}) == {"state": state}
        assert row.encoded("StateUpdate", {"update": "state_update", **state}) == state
    assert row.pointer("StateUpdate", {"stopReason": "end_turn"}) == "/state"
    assert row.pointer("IdleUpdate", {"stopReason": "error"}) == "/error"


@pytest.mark.parametrize(
    "idle", [{}, {"stopReason": None}, {"stopReason": "cancelled", "at": 1}, {"stopReason": "error", "error": "e"}]
)
def test_innermost_union_alone(idle: dict[str, Any]) -> None:
    """A class that serves the outermost union too brings that one's tags. Where a field holds the union, none does."""
    assert BY_RULE.encoded("IdleUpdate", idle) == idle
    assert BY_RULE.encoded("IdleHolder", {"idle": idle}) == {"idle": idle}
    assert NAMED.encoded("IdleUpdate", idle) == IDLE | idle


def test_leaves_by_the_rule() -> None:
    """One leaf class for each path of tags, one set of them for each outer union."""
    module = BY_RULE.module
    decoded = [type(BY_RULE.decode("SessionUpdate", wire)).__name__ for wire in VALID]
    assert decoded == [
        "Chunk",
        "UnknownSessionUpdate",
        "SessionUpdateStateUpdateRunning",
        "SessionUpdateStateUpdateRunning",
        "SessionUpdateStateUpdateWaiting",
        "UnknownStateUpdate",
        "SessionUpdateStateUpdateIdleNone",
        "SessionUpdateStateUpdateIdleNone",
        "SessionUpdateStateUpdateIdleEndTurn",
        "SessionUpdateStateUpdateIdleCancelled",
        "SessionUpdateStateUpdateIdleError",
        "UnknownIdleUpdate",
    ]
    assert type(BY_RULE.decode("StateUpdate", {"state": "running"})) is module.StateUpdateRunning
    assert type(BY_RULE.decode("IdleUpdate", {"stopReason": "end_turn"})) is module.IdleUpdateEndTurn


def test_leaves_by_curated_names() -> None:
    module = NAMED.module
    idle = module.IdleUpdate(stop_reason="end_turn", at=3)
    assert NAMED.decode("SessionUpdate", IDLE | {"stopReason": "end_turn", "at": 3}) == idle
    assert module.to_builtins(idle) == IDLE | {"stopReason": "end_turn", "at": 3}
    assert type(NAMED.decode("SessionUpdate", IDLE)) is module.IdleUpdate
    assert type(NAMED.decode("StateUpdate", {"state": "idle"})) is module.Idle
    assert type(NAMED.decode("SessionUpdate", IDLE | {"stopReason": "error", "error": "e"})) is module.IdleErrorUpdate


def test_fallbacks_of_inner_unions_keep_the_outer_tags() -> None:
    unknown = NAMED.decode("SessionUpdate", IDLE | {"stopReason": "_later", "at": 1})
    assert (unknown.tag, unknown.at, unknown.is_extension) == ("_later", 1, True)
    assert unknown.raw == IDLE | {"stopReason": "_later", "at": 1}


CLOSED = ROWS.add(
    {
        "Outer": {"oneOf": [variant("a", "x", "Inner"), variant("a", "y")]},
        "Inner": {"oneOf": [variant("b", "p", "Innermost"), variant("b", "q")]},
        "Innermost": {"oneOf": [variant("c", "m"), variant("c", "n")]},
    },
    use="""
outer: Outer = OuterXPM()
outer = OuterXPN()
outer = OuterXQ()
outer = OuterY()
innermost: Innermost = InnermostM()
""",
)


def test_closed_nested_unions() -> None:
    for wire in ({"a": "x", "b": "p", "c": "m"}, {"a": "x", "b": "q"}, {"a": "y"}):
        assert CLOSED.encoded("Outer", wire) == wire
    assert CLOSED.encoded("Inner", {"b": "p", "c": "n"}) == {"b": "p", "c": "n"}
    assert CLOSED.encoded("Innermost", {"c": "n"}) == {"c": "n"}
    bad: list[tuple[dict[str, Any], str]] = [
        ({"a": "z"}, "/a"),
        ({"a": "x", "b": "z"}, "/b"),
        ({"a": "x"}, "/b"),
        ({"a": "x", "b": "p", "c": "z"}, "/c"),
        ({"a": "x", "b": "p", "c": None}, "/c"),
    ]
    for wrong, pointer in bad:
        assert CLOSED.pointer("Outer", wrong) == pointer


OUTER_TAGS = ROWS.add(
    {
        "Outer": {"oneOf": [variant("a", "x", "Inner"), variant("a", "y")]},
        "Inner": {"oneOf": [obj({"b": const("p"), "a": STRING}, "a", "b"), variant("b", "q")], "required": ["a"]},
    }
)


def test_inner_branches_may_mention_the_outer_tag() -> None:
    for wire in ({"a": "x", "b": "p"}, {"a": "x", "b": "q"}):
        assert OUTER_TAGS.encoded("Outer", wire) == wire


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

"""Needs of single objects: what a tool call, a terminal, a config option, a subagent advertises now. Fact S."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.errors import CapabilityError, RequestError
from acp_bindings.v2 import unstable

from tests.package.gates.peers import HANDLED, module, said, talking
from tests.package.gates.rows import YES
from tests.package.gates.test_rows import call, spec_of
from tests.support.aio import run


@dataclass
class State:
    """What whoever keeps the state of a session knows."""

    tool_calls: dict[str, Any] = field(default_factory=dict)
    terminals: dict[str, Any] = field(default_factory=dict)
    config_options: list[Any] = field(default_factory=list)
    subagent: Any = None


def tool(capabilities: Any) -> State:
    return State(tool_calls={"x": v2.ToolCallUpdate(tool_call_id="x", capabilities=capabilities)})


def terminal(capabilities: Any) -> State:
    return State(terminals={"x": v2.TerminalUpdate(terminal_id="x", capabilities=capabilities)})


def subagent(capabilities: Any) -> State:
    return State(subagent=unstable.SubagentUpdate(session_id="s", capabilities=capabilities))


OPTIONS = [v2.SelectConfigOption(config_id="x", name="X", current_value="a", options=[])]
OLDER = [v1.SelectConfigOption(id="x", name="X", current_value="a", options=[])]
CANCEL = (v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities()), v2.ToolCallCapabilities(cancel=None))
STOP = (v2.TerminalCapabilities(cancel=v2.TerminalCancelCapabilities()), v2.TerminalCapabilities())
CHILD = (unstable.SubagentSessionCapabilities(cancel=unstable.SessionCancelCapabilities()), None)
TOOL = ("v2/stable", "tool_call/cancel", {"toolCallId": "x"}, "/toolCallId")
TERMINAL = ("v2/stable", "terminal/cancel", {"terminalId": "x"}, "/terminalId")
OPTION = ("v2/stable", "session/set_config_option", {"configId": "x", "type": "id", "value": "a"}, "/configId")
OLD_OPTION = ("v1/stable", "session/set_config_option", {"configId": "x", "value": "a"}, "/configId")
CHILD_SESSION: tuple[str, str, Any, str] = ("v2/unstable", "session/cancel", {}, "/sessionId")
# The call, the session's state, what is missing and why: None where nothing is.
CASES: dict[str, tuple[tuple[str, str, Any, str], State | None, str | None, str]] = {
    "a tool call that can be cancelled": (TOOL, tool(CANCEL[0]), None, ""),
    "one that cannot": (TOOL, tool(CANCEL[1]), "capabilities.cancel", "needs capabilities.cancel of 'x'"),
    "one that says nothing": (TOOL, tool(v2.UNSET), "capabilities.cancel", "needs capabilities.cancel of 'x'"),
    "one that took it back": (TOOL, tool(None), "capabilities.cancel", "does not advertise it now"),
    "one that nobody knows": (TOOL, State(), "tool_calls", "'x' is none of the session's tool_calls"),
    "an object of another's making": (
        TOOL,
        State(tool_calls={"x": SimpleNamespace(capabilities=SimpleNamespace(cancel={}))}),
        None,
        "",
    ),
    "one that was cleared": (
        TOOL,
        State(tool_calls={"x": SimpleNamespace(capabilities=None)}),
        "capabilities.cancel",
        "needs",
    ),
    "a session without state": (TOOL, None, None, ""),
    "a terminal that can be stopped": (TERMINAL, terminal(STOP[0]), None, ""),
    "one that cannot be": (TERMINAL, terminal(STOP[1]), "capabilities.cancel", "needs capabilities.cancel of 'x'"),
    "a terminal that nobody knows": (TERMINAL, State(), "terminals", "'x' is none of the session's terminals"),
    "an option that was advertised": (OPTION, State(config_options=OPTIONS), None, ""),
    "an option of another's making": (OPTION, State(config_options=[SimpleNamespace(config_id="x")]), None, ""),
    "one that was not": (OPTION, State(), "config_options", "'x' is none of the session's config_options"),
    "an option in v1": (OLD_OPTION, State(config_options=OLDER), None, ""),
    "one that was not in v1": (OLD_OPTION, State(), "config_options", "'x' is none of the session's config_options"),
    "a subagent that may be cancelled": (CHILD_SESSION, subagent(CHILD[0]), None, ""),
    "one that may not be": (
        CHILD_SESSION,
        subagent(CHILD[1]),
        "capabilities.cancel",
        "capabilities.cancel of 's'",
    ),
    "a session that is no subagent": (CHILD_SESSION, State(), None, ""),
}


def case(name: str) -> tuple[Any, Any, Any, State | None, str | None, str, str]:
    (profile, method, more, pointer), state, missing, reason = CASES[name]
    spec = spec_of(profile, "agent", method)
    message = module(profile).convert({"sessionId": "s", **more}, spec.params)
    return profile, spec, message, state, missing, reason, pointer


def session_of(profile: str) -> dict[str, Any]:
    return said(("capabilities.session", YES)) if profile.startswith("v2") else {}


@pytest.mark.parametrize("name", CASES)
def test_a_call_needs_what_its_object_advertises_now(name: str) -> None:
    profile, spec, message, state, missing, reason, pointer = case(name)

    async def test() -> None:
        async with talking(profile, session_of(profile)) as pair:
            pair.agent._state_of = {"s": state}.get
            error = await call(pair, spec, message)
            if missing is None:
                assert getattr(error, "code", None) == (HANDLED if spec.kind == "request" else None)
                return
            assert isinstance(error, CapabilityError) and (error.missing, error.side) == ((missing,), "agent")
            assert f"{spec.name} {pointer}: " in str(error) and reason in str(error) and pair.frames == []

    run(test)


@pytest.mark.parametrize("name", [name for name, (call, *_) in CASES.items() if call is not CHILD_SESSION])
def test_an_agent_that_keeps_state_refuses_what_it_does_not_offer(name: str) -> None:
    profile, spec, message, state, missing, reason, pointer = case(name)

    async def test() -> None:
        async with talking(profile, session_of(profile), client_gates=False) as pair:
            pair.client._state_of = {"s": state}.get
            error = await call(pair, spec, message)
            if missing is None:
                assert getattr(error, "code", None) == HANDLED
                return
            assert isinstance(error, RequestError) and error.code == -32602
            assert error.data["pointer"] == pointer and reason in error.data["reason"]

    run(test)


def test_a_session_that_nobody_knows_is_not_judged() -> None:
    _, spec, message, *_ = case("a tool call that can be cancelled")

    async def test() -> None:
        async with talking("v2/stable", session_of("v2/stable")) as pair:
            assert getattr(await call(pair, spec, message), "code", None) == HANDLED
            pair.agent._state_of = {}.get
            assert getattr(await call(pair, spec, message), "code", None) == HANDLED

    run(test)

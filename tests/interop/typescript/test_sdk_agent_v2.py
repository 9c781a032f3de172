"""Our client drives an agent written on the SDK's experimental/v2 entry points, stable and unstable."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from acp_bindings import v2

from tests.interop.typescript import turns
from tests.interop.typescript.node import OVER, pinned, wire
from tests.interop.typescript.our_client import Seen, converse_v2

pytestmark = pytest.mark.interop
u = v2.unstable


@pytest.fixture(scope="module", params=itertools.product(OVER, ["v2", "v2-unstable"]), ids="-".join)
def seen(request: pytest.FixtureRequest) -> Seen:
    """One conversation in each channel, on each way."""
    over, channel = request.param
    return asyncio.run(converse_v2(channel, channel, over))


def typed(values: list[Any]) -> list[tuple[type, Any]]:
    """Values with their classes: an unknown variant equals any dict of the same content."""
    return [(type(value), value) for value in values]


def error(value: Any) -> tuple[int, str, Any]:
    """An error that the agent answered."""
    assert isinstance(value, v2.RequestError)
    return value.code, value.message, value.data


def test_initialize(seen: Seen) -> None:
    p = seen.p
    initialized = seen.answers["initialized"]
    session = p.SessionCapabilities()
    if p is u:
        session = u.SessionCapabilities(
            title=u.SessionTitleCapabilities(), mcp=u.McpCapabilities(acp=u.McpAcpCapabilities())
        )
    assert initialized == p.InitializeResponse(
        protocol_version=2,
        info=p.Implementation(name="typescript", version=pinned()),
        capabilities=p.AgentCapabilities(session=session, meta={"acme.dev": {"echo": True}}),
    )


def test_sessions(seen: Seen) -> None:
    """Absent, null and empty stay what they are."""
    p = seen.p
    assert seen.answers["session"] == p.NewSessionResponse(session_id="session-1")
    info = p.SessionInfo(session_id="session-1", cwd="/project", title=None, meta={"acme.dev": []})
    assert seen.answers["list"] == p.ListSessionsResponse(sessions=[info], next_cursor="")
    assert seen.answers["closed"] == p.CloseSessionResponse()
    assert error(seen.answers["nowhere"]) == (-32002, "Resource not found", {"sessionId": "nowhere"})


def test_updates(seen: Seen) -> None:
    """Every update of the turn and of the one that was cancelled, in order, each in its class."""
    p = seen.p
    cancelled = p.IdleStateUpdate(stop_reason="cancelled")
    assert typed(seen.client.updates) == typed([*turns.turn_v2(p), *turns.stalled_v2(p), cancelled])
    assert seen.answers["turn"] == p.PromptResponse(message_id="message-1")
    assert seen.answers["stall"] == p.PromptResponse(message_id="message-1")


def test_unknown_updates(seen: Seen) -> None:
    """An extension and what a newer version may bring are told apart, and keep all that they brought."""
    unknown = [update for update in seen.client.updates if isinstance(update, v2.UnknownVariant)]
    assert [(update.tag, update.is_extension) for update in unknown] == [
        ("_acme.dev/progress", True),
        ("hologram_update", False),
        ("daydreaming", False),
    ]
    assert [update.raw for update in unknown] == wire("v2")["news"][-3:]


def test_questions(seen: Seen) -> None:
    """The permission requests, the second of which the agent withdrew; what else it asked, and was answered."""
    assert seen.client.questions == [turns.permission_v2(), turns.permission_v2("Go on?")]
    heard: list[Any] = [("_acme.dev/note", {"n": 1})]
    if seen.p is u:
        heard.append(
            u.MessageMcpRequest(server_id="server-1", request_id="7", method="tools/list", params={"cursor": None})
        )
    assert seen.client.heard == [*heard, "the question was withdrawn"]


def test_errors(seen: Seen) -> None:
    """The agent's errors arrive with their data."""
    answers = seen.answers
    assert error(answers["fail"]) == (-32050, "out of quota", {"retryAfter": 30, "tags": ["a", None]})
    assert error(answers["broken"]) == (-32603, "Internal error", {"details": "a bug"})
    assert error(answers["malformed"])[:2] == (-32602, "Invalid params")
    assert error(answers["unhandled"])[0] == -32601
    assert error(answers["unheard of"])[0] == -32601
    assert error(answers["tool call"])[0] == -32602


def test_extensions(seen: Seen) -> None:
    assert seen.answers["echo"] == {"text": "Grüße \u2028", "none": None, "many": [1, 2.5]}
    assert seen.answers["silent"] is None
    if seen.p is u:
        assert seen.answers["title"] == u.SetSessionTitleResponse(title="A title")


def test_what_the_agent_saw(seen: Seen) -> None:
    """All that reached the SDK's handlers, as its validators read it, and what its own calls came to."""
    experiment = seen.p is u

    def prompt(text: str) -> list[Any]:
        return ["session/prompt", {"sessionId": "session-1", "prompt": [{"type": "text", "text": text}]}]

    refused = {"code": -32601, "message": "method not found: _acme.dev/unheard_of"}
    mcp = {"error": {"code": -32601, "message": "no such tool", "acme": True}}
    progress = {"serverId": "server-1", "requestId": "r", "method": "notifications/progress"}
    assert seen.log == [
        ["initialize", {"protocolVersion": 2, "info": {"name": "python", "version": "1"}, "capabilities": {}}],
        ["session/new", {"cwd": "/project"}],
        prompt("turn"),
        ["permission", {"outcome": {"outcome": "selected", "optionId": "yes"}}],
        ["asked", {"value": {"answer": 42, "to": "why"}}],
        [
            "refused",
            {"error": {"code": -32051, "message": "not today", "data": {"until": "tomorrow", "tags": [None, 1]}}},
        ],
        ["unheard of", {"error": refused | {"data": {"method": "_acme.dev/unheard_of"}}}],
        *([["mcp", {"value": mcp}]] if experiment else []),
        prompt("fail"),
        prompt("break"),
        prompt("stall"),
        ["session/cancel", {"sessionId": "session-1"}],
        ["permission", {"value": {"outcome": {"outcome": "cancelled"}}}],
        ["_acme.dev/note", {"n": 2}],
        ["slow", "cancelled"],
        *([["mcp/message", progress]] if experiment else []),
        ["session/close", {"sessionId": "session-1"}],
    ]


def test_cancelled_call(seen: Seen) -> None:
    """Giving up a call cancels it on the other side, and its late answer is dropped without a word."""
    assert isinstance(seen.answers["slow"], asyncio.CancelledError)


def test_nothing_went_wrong(seen: Seen) -> None:
    """Neither side complains, and the agent ends by itself when its stdin closes."""
    assert (seen.warnings, seen.stderr, seen.exit_code) == ([], [], 0)


def test_experiments_seen_by_a_stable_client() -> None:
    """What only the unstable channel knows is what a stable client takes for a newer version's: unknown, and whole."""
    seen = asyncio.run(converse_v2("v2", "v2-unstable"))
    script = wire("v2")
    start = len(script["opening"]) + len(script["news"])
    message, subagent, plan, removed, end = seen.client.updates[start : start + 5]
    for update, raw in zip((message, subagent, removed), (script["experiments"][i] for i in (0, 1, 3)), strict=True):
        assert isinstance(update, v2.UnknownSessionUpdate)
        assert not update.is_extension
        assert update.raw == raw
    assert isinstance(plan, v2.PlanUpdate)
    assert isinstance(plan.plan, v2.UnknownPlanUpdateContent)
    assert plan.plan.raw == script["experiments"][2]["plan"]
    assert end == v2.IdleStateUpdate(stop_reason="end_turn")
    assert [
        "mcp",
        {"error": {"code": -32601, "message": "method not found: mcp/message", "data": {"method": "mcp/message"}}},
    ] in seen.log

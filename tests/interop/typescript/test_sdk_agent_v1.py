"""Our client drives an agent written on the SDK's main entry point, version 1."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import v1, v2

from tests.interop.typescript import turns
from tests.interop.typescript.node import OVER, pinned
from tests.interop.typescript.our_client import Seen, converse_v1

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=OVER)
def seen(request: pytest.FixtureRequest) -> Seen:
    """One conversation on each way."""
    return asyncio.run(converse_v1("v1", over=request.param))


def typed(values: list[Any]) -> list[tuple[type, Any]]:
    """Values with their classes."""
    return [(type(value), value) for value in values]


def error(value: Any) -> tuple[int, str, Any]:
    """An error that the agent answered."""
    assert isinstance(value, v2.RequestError)
    return value.code, value.message, value.data


def test_initialize(seen: Seen) -> None:
    """Booleans that the agent left out read as their defaults."""
    initialized = seen.answers["initialized"]
    assert isinstance(initialized, v1.InitializeResponse)
    assert initialized.agent_info == v1.Implementation(name="typescript", version=pinned())
    assert initialized.agent_capabilities.load_session is True
    assert initialized.agent_capabilities.prompt_capabilities.image is False
    assert initialized.agent_capabilities.meta == {"acme.dev": {"echo": True}}
    assert seen.answers["session"] == v1.NewSessionResponse(session_id="session-1")
    assert seen.answers["loaded"] == v1.LoadSessionResponse()


def test_updates(seen: Seen) -> None:
    """Every update that version 1 has a class for, in order; all of the turn's were seen when its prompt returned."""
    turn = [*turns.opening_v1(), *turns.news_v1(), *turns.ending_v1()]
    assert typed(seen.client.updates) == typed([*turn, turns.STALLED_V1])
    assert seen.answers["updates"] == len(turn)
    assert seen.answers["turn"] == v1.PromptResponse(stop_reason="end_turn")
    assert seen.answers["stall"] == v1.PromptResponse(stop_reason="cancelled")


def test_unknown_updates(seen: Seen) -> None:
    """Version 1 has a closed set of updates: the log names each other one, and the turn goes on."""
    assert len(seen.warnings) == 2
    for warning, tag in zip(seen.warnings, ("_acme.dev/progress", "hologram_update"), strict=True):
        assert "session/update" in warning and "/update/sessionUpdate" in warning and tag in warning


def test_questions(seen: Seen) -> None:
    assert seen.client.questions == [turns.permission_v1(), turns.permission_v1()]
    assert seen.client.heard == [("_acme.dev/note", {"n": 1})]


def test_errors(seen: Seen) -> None:
    """The agent's errors arrive with their data."""
    answers = seen.answers
    assert error(answers["fail"]) == (-32050, "out of quota", {"retryAfter": 30, "tags": ["a", None]})
    assert error(answers["broken"]) == (-32603, "Internal error", {"details": "a bug"})
    assert error(answers["unhandled"])[0] == -32601
    assert error(answers["unheard of"])[0] == -32601


def test_extensions(seen: Seen) -> None:
    assert seen.answers["echo"] == {"text": "Grüße \u2028", "none": None, "many": [1, 2.5]}
    assert seen.answers["silent"] is None


def test_what_the_agent_saw(seen: Seen) -> None:
    """All that reached the SDK's handlers, as its validators read it, and what its own calls came to."""
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "auth": {"terminal": False}}
    info = {"name": "python", "version": "1"}

    def prompt(text: str) -> list[Any]:
        return ["session/prompt", {"sessionId": "session-1", "prompt": [{"type": "text", "text": text}]}]

    refused = {"code": -32601, "message": "method not found: terminal/create", "data": {"method": "terminal/create"}}
    read_only = {"code": -32051, "message": "read only", "data": {"disk": "full", "tags": [None, 1]}}
    assert seen.log == [
        ["initialize", {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}],
        ["session/new", {"cwd": "/project", "mcpServers": []}],
        prompt("turn"),
        ["permission", {"outcome": {"outcome": "selected", "optionId": "yes"}}],
        ["read", {"value": {"content": "/project/a.txt:1"}}],
        ["write", {"error": read_only}],
        ["terminal", {"error": refused}],
        ["asked", {"value": {"answer": 42, "to": "why"}}],
        ["silent", {"value": {}}],
        prompt("fail"),
        prompt("break"),
        prompt("stall"),
        ["session/cancel", {"sessionId": "session-1"}],
        ["permission", {"outcome": {"outcome": "cancelled"}}],
        ["_acme.dev/note", {"n": 2}],
        ["session/load", {"sessionId": "session-1", "cwd": "/project", "mcpServers": []}],
    ]


def test_nothing_else_went_wrong(seen: Seen) -> None:
    """The agent does not complain, and ends by itself when its stdin closes."""
    assert (seen.stderr, seen.exit_code) == ([], 0)

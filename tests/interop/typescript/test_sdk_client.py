"""The SDK's clients drive our agents: version 2 in both channels, and version 1."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import pytest

from tests.interop.typescript.node import OVER, converse, wire

pytestmark = pytest.mark.interop

PROMPTS = ("turn", "fail", "break", "stall")
TRACEBACK = re.compile(r"the handler of session/prompt failed\nTraceback .*?\nLookupError: [^\n]*\n", re.DOTALL)


class Told(NamedTuple):
    """What an SDK client reported of a conversation, and what came on stderr."""

    profile: str
    report: dict[str, Any]
    stderr: str


@pytest.fixture(scope="module", params=itertools.product(OVER, ["v2", "v2-unstable"]), ids="-".join)
def told(request: pytest.FixtureRequest) -> Told:
    """One conversation in each channel of version 2, on each way. The agent offers version 1 too."""
    over, channel = request.param
    return Told(channel, *converse("client_v2.mjs", channel, channel, "v1", over=over))


@pytest.fixture(scope="module", params=OVER)
def older(request: pytest.FixtureRequest) -> Told:
    """One conversation in version 1 on each way, with an agent that offers version 2 too."""
    return Told("v1", *converse("client_v1.mjs", "1", "v2", "v1", over=request.param))


def prompted(text: str) -> list[Any]:
    """A prompt in the agent's log."""
    prompt = [{"type": "text", "text": text}]
    return ["session/prompt", "PromptRequest", {"sessionId": "session-1", "prompt": prompt}]


def complaints(told: Told) -> list[str]:
    """What came on stderr beside the prints and the one traceback that belong there."""
    rest, found = TRACEBACK.subn("", told.stderr)
    assert found == 1
    printed = [f"a line that is no message: {text}" for text in PROMPTS]
    lines = rest.splitlines()
    assert [line for line in lines if line in printed] == printed
    return [line for line in lines if line not in printed]


def test_initialize(told: Told) -> None:
    session: dict[str, Any] = {"title": {}, "mcp": {"acp": {}}} if told.profile == "v2-unstable" else {}
    capabilities = {"session": session, "_meta": {"acme.dev": {"echo": True}}}
    info = {"name": "python", "version": "1"}
    assert told.report["initialized"] == {"protocolVersion": 2, "info": info, "capabilities": capabilities}


def test_updates(told: Told) -> None:
    """Every update as the SDK's validators read it, in order: extensions and what they do not know too."""
    script = wire("v2")
    unstable = told.profile == "v2-unstable"
    experiments = script["experiments"] if unstable else []
    ending = script["ending"]["unstable" if unstable else "stable"]
    turn = [*script["opening"], *script["news"], *experiments, *ending]
    assert told.report["updates"] == [*turn, *script["stalled"], *script["cancelled"]]
    assert told.report["turn"] == {"value": {"messageId": "message-1"}}
    assert told.report["stall"] == {"value": {"messageId": "message-1"}}


def test_questions(told: Told) -> None:
    """The permission requests, the second of which our agent withdrew when its turn was cancelled."""
    question = {"sessionId": "session-1", **wire("v2")["permission"]}
    assert told.report["questions"] == [question, question | {"title": "Go on?"}]
    message = {"serverId": "server-1", "requestId": "7", "method": "tools/list", "params": {"cursor": None}}
    assert told.report["heard"] == [
        ["_acme.dev/note", {"n": 1}],
        *([["mcp/message", message]] if told.profile == "v2-unstable" else []),
        ["question", "withdrawn"],
        ["_acme.dev/started", {}],
    ]


def test_answers(told: Told) -> None:
    report = told.report
    assert report["session"] == {"sessionId": "session-1"}
    sessions: list[Any] = [{"sessionId": "session-1", "cwd": "/project", "title": None, "_meta": {"acme.dev": []}}]
    assert report["list"] == {"sessions": sessions, "nextCursor": ""}
    assert report["closed"] == {}
    assert report["echo"] == {"text": "Grüße \u2028", "none": None, "many": [1, 2.5]}
    assert report["silent"] == {"value": {}}
    if told.profile == "v2-unstable":
        assert report["title"] == {"title": "A title"}


def test_errors(told: Told) -> None:
    """Our errors arrive with their data; a bug tells nothing of itself."""
    report = told.report
    quota = {"code": -32050, "message": "out of quota", "data": {"retryAfter": 30, "tags": ["a", None]}}
    assert report["fail"] == {"error": quota}
    assert report["broken"] == {"error": {"code": -32603, "message": "internal error"}}
    assert report["malformed"]["error"]["code"] == -32602
    assert report["malformed"]["error"]["data"]["pointer"] == "/prompt/0/text"
    assert report["unhandled"]["error"]["code"] == -32601
    assert report["unheardOf"]["error"]["code"] == -32601
    assert report["nowhere"]["error"]["data"] == {"sessionId": "nowhere"}
    assert report["slow"]["error"]["code"] == -32800


def test_unhandled_tool_call_cancel(told: Told) -> None:
    """An agent without a handler for it has no tool call that can be cancelled: -32602, as the SDK's own agents say."""
    assert told.report["toolCall"]["error"]["code"] == -32602


def test_what_our_agent_saw(told: Told) -> None:
    """All that reached our handlers, in its class, and what our own calls came to."""
    unstable = told.profile == "v2-unstable"
    hello = {"protocolVersion": 2, "info": {"name": "typescript", "version": "2.4.0"}, "capabilities": {}}
    refused = {"code": -32051, "message": "not today", "data": {"until": "tomorrow", "tags": [None, 1]}}
    name = "_acme.dev/unheard_of"
    unheard_of = {"code": -32601, "message": f'"Method not found": {name}', "data": {"method": name}}
    mcp = {"error": {"code": -32601, "message": "no such tool", "acme": True}}
    progress = {"serverId": "server-1", "requestId": "r", "method": "notifications/progress"}
    assert told.report["log"] == [
        ["initialize", "InitializeRequest", hello],
        ["session/new", "NewSessionRequest", {"cwd": "/project"}],
        prompted("turn"),
        ["permission", "RequestPermissionResponse", {"outcome": {"outcome": "selected", "optionId": "yes"}}],
        ["asked", "dict", {"answer": 42, "to": "why"}],
        ["refused", "dict", refused],
        ["unheard of", "dict", unheard_of],
        *([["mcp", "MessageMcpError", mcp]] if unstable else []),
        prompted("fail"),
        prompted("break"),
        prompted("stall"),
        ["session/cancel", "CancelSessionNotification", {"sessionId": "session-1"}],
        ["turn", "str", "cancelled"],
        ["_acme.dev/note", "dict", {"n": 2}],
        ["slow", "str", "cancelled"],
        *([["mcp/message", "MessageMcpNotification", progress]] if unstable else []),
        ["session/close", "CloseSessionRequest", {"sessionId": "session-1"}],
    ]


def test_nothing_went_wrong(told: Told) -> None:
    """Prints went to stderr, neither side complained, and our agent ended by itself when its stdin closed."""
    assert "failure" not in told.report
    assert complaints(told) == []
    assert told.report["exitCode"] == 0


def test_v1_turn(older: Told) -> None:
    script = wire("v1")
    turn = [*script["opening"], *script["news"], *script["ending"]]
    assert older.report["updates"] == [*turn, *script["stalled"]]
    assert older.report["turn"] == {"value": {"stopReason": "end_turn"}}
    assert older.report["stall"] == {"value": {"stopReason": "cancelled"}}
    question = {"sessionId": "session-1", **script["permission"]}
    assert older.report["questions"] == [question, question]
    assert older.report["heard"] == [["_acme.dev/note", {"n": 1}]]


def test_v1_answers(older: Told) -> None:
    report = older.report
    assert report["initialized"]["protocolVersion"] == 1
    assert report["initialized"]["agentInfo"] == {"name": "python", "version": "1"}
    assert report["initialized"]["agentCapabilities"]["loadSession"] is True
    assert report["initialized"]["agentCapabilities"]["_meta"] == {"acme.dev": {"echo": True}}
    assert report["session"] == {"sessionId": "session-1"}
    assert report["loaded"] == {}
    assert report["echo"] == {"text": "Grüße \u2028", "none": None, "many": [1, 2.5]}
    assert report["silent"] == {"value": {}}
    quota = {"code": -32050, "message": "out of quota", "data": {"retryAfter": 30, "tags": ["a", None]}}
    assert report["fail"] == {"error": quota}
    assert report["broken"] == {"error": {"code": -32603, "message": "internal error"}}
    assert report["malformed"]["error"]["data"]["pointer"] == "/prompt/0/text"
    assert report["unhandled"]["error"]["code"] == -32601
    assert report["unheardOf"]["error"]["code"] == -32601


def test_v1_what_our_agent_saw(older: Told) -> None:
    capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "auth": {"terminal": False}}
    info = {"name": "typescript", "version": "2.4.0"}
    hello = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}
    method = {"method": "terminal/create"}
    refused = {"code": -32601, "message": '"Method not found": terminal/create', "data": method}
    read_only = {"code": -32051, "message": "read only", "data": {"disk": "full", "tags": [None, 1]}}
    assert older.report["log"] == [
        ["initialize", "InitializeRequest", hello],
        ["session/new", "NewSessionRequest", {"cwd": "/project", "mcpServers": []}],
        prompted("turn"),
        ["permission", "RequestPermissionResponse", {"outcome": {"outcome": "selected", "optionId": "yes"}}],
        ["read", "ReadTextFileResponse", {"content": "/project/a.txt:1"}],
        ["write", "dict", read_only],
        ["terminal", "dict", refused],
        ["asked", "dict", {"answer": 42, "to": "why"}],
        ["silent", "NoneType", None],
        prompted("fail"),
        prompted("break"),
        prompted("stall"),
        ["session/cancel", "CancelNotification", {"sessionId": "session-1"}],
        ["permission", "RequestPermissionResponse", {"outcome": {"outcome": "cancelled"}}],
        ["_acme.dev/note", "dict", {"n": 2}],
        ["session/load", "LoadSessionRequest", {"mcpServers": [], "cwd": "/project", "sessionId": "session-1"}],
    ]


def test_v1_unknown_updates(older: Told) -> None:
    """The SDK refuses the two updates that version 1 has no class for, as we do, and nothing else is wrong."""
    dropped = "Error handling notification { method: 'session/update', code: -32602, message: 'Invalid params' }"
    flat = [re.sub(r"\s+", " ", line) for line in complaints(older)]
    assert flat == [dropped, dropped]
    assert "failure" not in older.report
    assert older.report["exitCode"] == 0

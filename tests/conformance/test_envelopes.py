"""Lines, JSON-RPC and extensions: what holds whatever is talked about."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.conformance.cases import versions
from tests.conformance.points import holds
from tests.conformance.wire import ECHO, FULL, HERE, STREAMING, opened, started

ODD = "two\nlines, \u2028 and \u0085, \U0001f600, \x00 and \\n"
"""Text that must not end a line."""
UNKNOWN = "_example.dev/nothing"
"""A method of nobody's."""


@versions
@holds(v1="TRANSPORT-001 TRANSPORT-002", v2="TRANSPORT-201 TRANSPORT-002 TRANSPORT-203")
def test_every_line_is_one_message_in_utf_8(version: int) -> None:
    """`Wire` judges each line; text with line ends in it, of any kind, comes back in one."""
    with opened(ECHO, version) as wire:
        turn = wire.turn(wire.new(), ODD)
        assert turn.text == ODD


@versions
@holds(both="JSONRPC-001")
def test_a_response_has_the_id_of_its_request(version: int) -> None:
    with opened(ECHO, version) as wire:
        for identity in (0, -1, 7, 2**53, "", "7", "\u2028 \U0001f600", "null"):
            assert "sessions" in wire.call("session/list", id=identity)["result"]
            assert "error" in wire.call(UNKNOWN, id=identity)


@versions
@holds(both="JSONRPC-002 JSONRPC-004 ERROR-001 EXT-001")
def test_errors_are_objects_with_a_code_and_one_line(version: int) -> None:
    """`Wire` holds every response to be either a result or an error; here is one of each error that costs nothing."""
    given: list[tuple[str, Any, int]] = [
        ("no/such/method", {}, -32601),
        (UNKNOWN, {}, -32601),
        ("session/prompt", {"sessionId": 7}, -32602),
        ("session/prompt", {"sessionId": "none", "prompt": [{"type": "text", "text": "hi"}]}, -32002),
        ("initialize", {}, -32600),
    ]
    with opened(ECHO, version) as wire:
        for method, params, code in given:
            error = wire.call(method, params)["error"]
            assert error["code"] == code and type(error["code"]) is int, method
            assert error["message"] and "\n" not in error["message"]


@versions
@holds(both="JSONRPC-003", v2="EXT-201 EXT-203 CANCEL-205")
def test_a_notification_is_never_answered(version: int) -> None:
    """Known, unknown, of the protocol's own level, malformed or about nothing: what comes next answers a request."""
    given: list[tuple[str, Any]] = [
        ("session/cancel", {"sessionId": "none"}),
        ("session/cancel", {"sessionId": 7}),
        ("session/cancel", []),
        ("$/cancel_request", {"requestId": "none"}),
        ("$/nothing", {}),
        (UNKNOWN, {"x": 1}),
        ("no/such/notification", {}),
        ("session/new", {"cwd": HERE}),
    ]
    with opened(STREAMING, version) as wire:
        for method, params in given:
            wire.send(method=method, params=params)
        assert wire.settle() == []


@versions
@holds(both="JSONRPC-005 INFO-PARSE-001 INFO-INVALIDREQ-001", v2="BATCH-201")
def test_lines_that_are_no_request_are_answered_once_and_break_nothing(version: int) -> None:
    given = {
        b"{": -32700,
        b"\xff\xfe": -32700,
        b"nonsense": -32700,
        b"[]": -32600,
        b'[{"jsonrpc":"2.0","id":1,"method":"session/list"}]': -32600,
        b"1": -32600,
        b'{"foo":"bar"}': -32600,
        b'{"jsonrpc":"1.0","id":1,"method":"session/list"}': -32600,
    }
    with opened(ECHO, version) as wire:
        for line, code in given.items():
            wire.write(line)
            answer = wire.receive()
            assert answer["error"]["code"] == code, line
            assert answer["id"] in (None, 1)
            assert "sessions" in wire.result("session/list")


@versions
@holds(both="META-001")
def test_a_prompt_with_meta_is_a_prompt(version: int) -> None:
    meta = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "example.dev/x": [None]}
    with opened(ECHO, version) as wire:
        turn = wire.turn(wire.new(), "hi", _meta=meta)
    assert (turn.text, turn.stop_reason) == ("hi", "end_turn")


@versions
@holds(both="SCHEMA-002", v2="META-201 CLIENTCAP-202 ENUM-202")
def test_whatever_an_agent_says_is_of_the_schema(version: int) -> None:
    """`Wire` judges it, so that all tests do. Here: that it would notice."""
    with opened(FULL, version) as wire:
        said = wire.turn(wire.new(), "everything").frames
        metas = [value for frame in said for value in found(frame, "_meta")]
        assert all(isinstance(value, dict) for value in metas) and (version == 1 or metas)
        sample = next(one for one in said if one.get("method") == "session/update")
        for wrong in (
            sample | {"params": sample["params"] | {"mine": 1}},
            sample | {"params": sample["params"] | {"_meta": "text"}},
            sample | {"params": sample["params"] | {"update": {"sessionUpdate": "state_update"}}},
            sample | {"method": "fs/watch"},
            {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": ""}},
        ):
            with pytest.raises((AssertionError, jsonschema_rs.ValidationError)):
                wire.judge(json.dumps(wrong).encode() + b"\n")


def found(value: object, name: str) -> list[object]:
    """All members of that name, anywhere in a value."""
    if isinstance(value, dict):
        inner = [one for item in value.values() for one in found(item, name)]
        return [*([value[name]] if name in value else []), *inner]
    return [one for item in value for one in found(item, name)] if isinstance(value, list) else []


@versions
@pytest.mark.parametrize("when", ["before", "opened", "turn"])
@holds(both="SHUTDOWN-001")
def test_the_agent_ends_when_its_input_does(version: int, when: str) -> None:
    """By itself and with exit code 0, in the middle of a turn too."""
    with started(FULL, version) as wire:
        if when != "before":
            wire.hello()
        if when == "turn":
            turn = wire.prompt(wire.new(), "wait")
            wire.finish(turn, until=lambda frame: bool(turn.text))
        wire.end()
        assert wire.process.returncode == 0

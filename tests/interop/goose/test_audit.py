"""The audit of Goose's frames finds what it is there to find; needs no Goose."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from acp_bindings.runtime.errors import DecodeError
from acp_bindings.v1 import unstable as v1
from acp_bindings.v2 import unstable as v2

from tests.interop.goose.audit import Finding, Frame, findings
from tests.interop.goose.harness import EXCEPTIONS


def update(**members: Any) -> Frame:
    params = {"sessionId": "s", "update": members}
    return "in", json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def test_exceptions_are_few() -> None:
    assert len(EXCEPTIONS) <= 5
    assert all(EXCEPTIONS.values())


def test_nothing_is_found_in_what_the_schema_describes() -> None:
    chunk = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hi"}, _meta={"x": [1]})
    call = ("out", b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
    answer = ("in", b'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","configOptions":[]}}')
    refusal = ("in", b'{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}')
    mine = ("out", b'{"jsonrpc":"2.0","id":3,"method":"_mine","params":{}}')
    free = ("in", b'{"jsonrpc":"2.0","id":3,"result":[1,2]}')
    assert list(findings([chunk, call, answer, refusal, mine, free], v1)) == []


@pytest.mark.parametrize(
    ("frame", "profile", "pointer", "reason"),
    [
        (update(sessionUpdate="newer", value=1), v2, "/update", "unknown variant 'newer'"),
        (
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hi"}, messageId=4),
            v1,
            "/update/messageId",
            "expected string, got integer",
        ),
        (
            update(sessionUpdate="notice", severity="dire", title="Oh"),
            v1,
            "/update/severity",
            "'dire' is not defined; a value of one's own starts with an underscore",
        ),
        (update(sessionUpdate="usage_update", used=1, size=2, left=3), v1, "/update/left", "has no place in its type"),
    ],
    ids=["unknown variant", "tolerated value", "unknown value", "property without a place"],
)
def test_it_finds(frame: Frame, profile: ModuleType, pointer: str, reason: str) -> None:
    assert Finding("session/update", pointer, reason) in list(findings([frame], profile))


def test_what_does_not_decode_is_an_error() -> None:
    with pytest.raises(DecodeError):
        list(findings([update(sessionUpdate="usage_update", used="1", size=2)], v1))


def test_a_method_that_nobody_has_defined_is_an_error() -> None:
    with pytest.raises(KeyError):
        list(findings([("in", b'{"jsonrpc":"2.0","method":"session/other","params":{}}')], v1))

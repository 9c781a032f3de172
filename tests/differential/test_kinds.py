"""Kinds are narrow: what merely looks like one is recognised by none. The other side's answers are made up here."""

import json
from typing import Any

import pytest

from .node import Answer, Request
from .pairs import differences, paired
from .run import Tally, recognise

FORM = {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}

# What is near, the definition, the value, what the other side is to have made of it (None: it refuses).
NEAR_MISSES: list[tuple[str, str, str, Any, Any]] = [
    ("own tag: another property", "v2/stable", "TextContent", {"text": "a"}, {"type": "text"}),
    ("own tag: the tag of a union", "v2/stable", "ContentBlock", {"type": "text", "text": "a"}, {"text": "a"}),
    ("own member: of the definition", "v2/stable", "Cost", {"amount": 1, "currency": "c"}, {"amount": 1}),
    ("empty: not empty", "v2/stable", "NewSessionRequest", {"cwd": "/"}, {"cwd": "/", "mcpServers": [1]}),
    ("empty: where absent says more", "v2/stable", "ToolCallUpdate", {"toolCallId": "t"},
     {"toolCallId": "t", "content": []}),
    ("__proto__: another name", "v2/stable", "ToolCallContent", {"type": "_x", "constructor": 1}, {"type": "_x"}),
    ("__proto__: invented", "v2/stable", "ToolCallContent", {"type": "_x"}, {"type": "_x", "__proto__": 1}),
    ("integral float: a fraction", "v2/stable", "TerminalSize", {"cols": 80.5, "rows": 2}, {"cols": 80.5, "rows": 2}),
    ("integral float: a string", "v2/stable", "TerminalSize", {"cols": "80", "rows": 2}, {"cols": 80, "rows": 2}),
    ("integral float: for a string", "v2/stable", "Cost", {"amount": 1, "currency": 1.0}, {"amount": 1, "currency": 1}),
    ("integral float: elsewhere", "v2/stable", "Cost", {"amount": 1.0, "currency": "c"}, {"amount": 1}),
    ("wide integer: one that fits", "v2/stable", "RequestId", 2**53 - 1, 2**53 - 2),
    ("wide integer: not the nearest", "v2/stable", "RequestId", 2**53 + 1, 2**53 + 4),
    ("raw: not declared", "v2/stable", "SessionConfigOption", {"configId": "c", "name": "n", "type": "_x", "a": 1},
     {"configId": "c", "name": "n", "type": "_x"}),
    ("raw: well formed", "v2/stable", "SessionConfigOption",
     {"configId": "c", "name": "n", "type": "_x", "description": "d"}, {"configId": "c", "name": "n", "type": "_x"}),
    ("known tag: no branch without it", "v2/stable", "ContentBlock", {"type": "text", "text": 1}, {"text": 1}),
    ("known tag: read as itself", "v1/stable", "AuthMethod", {"type": "terminal", "id": "a", "name": "n", "args": 1},
     {"type": "terminal", "id": "a", "name": "n"}),
    ("uri: one", "v2/stable", "Icon", {"src": "https://a/b"}, None),
    ("uri: no place for one", "v2/stable", "Icon", {"src": "data:,", "mimeType": "no scheme"}, {"src": "data:,"}),
    ("uri: tolerated", "v2/stable", "ImageContent", {"data": "", "mimeType": "m", "uri": "no scheme"}, None),
    ("uri trimmed: no uri", "v2/stable", "Icon", {"src": "data:,", "theme": " x "}, {"src": "data:,", "theme": "x"}),
    ("uri trimmed: changed", "v2/stable", "Icon", {"src": " data:, "}, {"src": "data:x"}),
    ("date-time: one", "v2/stable", "SessionInfoUpdate", {"updatedAt": "2025-01-31T12:00:00Z"}, {}),
    ("date-time: no place for one", "v2/stable", "SessionInfoUpdate", {"title": "yesterday"}, {}),
    ("both scopes: in v2", "v2/stable", "CreateElicitationRequest", {**FORM, "sessionId": "s", "requestId": 1},
     {**FORM, "sessionId": "s"}),
    ("both scopes: the session's lost", "v1/unstable", "CreateElicitationRequest",
     {**FORM, "sessionId": "s", "requestId": 1}, {**FORM, "requestId": 1}),
    ("true is not 1", "v2/stable", "ToolCallCapabilities", {"_meta": {"a": True}}, {"_meta": {"a": 1}}),
    ("an item lost", "v2/stable", "SessionConfigSelectOptions", [{"value": "a", "name": "A"}], []),
]  # fmt: skip


@pytest.mark.parametrize(("near", "profile", "name", "value", "theirs"), NEAR_MISSES, ids=lambda item: str(item)[:40])
def test_no_kind_recognises_a_near_miss(near: str, profile: str, name: str, value: Any, theirs: Any) -> None:
    answer = Answer(False, issues=(((), "refused"),)) if theirs is None else Answer(True, theirs)
    pair = paired(Request(profile, name, value), answer)
    unrecognised = [difference for difference in differences(pair) if not recognise(difference)]
    assert unrecognised, f"{near}: {json.dumps(pair.ours, default=repr)}"
    tally = Tally()
    tally.add(pair)
    assert tally.unexplained == unrecognised

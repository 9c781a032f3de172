"""Encoding: what is written, what is left out, what cannot be written and where it is."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import math
import pickle
import uuid
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.v2 import unstable
from msgspec import UNSET

from tests.package.codec.profiles import same, same_json

NOT_FINITE = [math.nan, math.inf, -math.inf]
SURROGATES = ["\ud800", "a\udfffb", "\udc00\ud800"]


def failure(model: Any) -> tuple[str, str]:
    with pytest.raises(v2.EncodeError) as failed:
        v2.encode(model)
    return failed.value.pointer, failed.value.reason


def chunk(**members: Any) -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="x", **members))


# What is written


def test_states_are_kept_apart() -> None:
    call = v2.ToolCallUpdate(tool_call_id="t", title=None, content=[], kind=UNSET)
    assert v2.encode(call) == b'{"toolCallId":"t","title":null,"content":[]}'
    again = v2.decode(v2.encode(call), v2.ToolCallUpdate)
    assert (again.title, again.content, again.kind) == (None, [], UNSET)
    assert v2.encode(v2.AgentCapabilities()) == b"{}"
    assert v2.encode(v2.AgentCapabilities(session=None, meta={})) == b'{"session":null,"_meta":{}}'


def test_empty_arrays() -> None:
    """Optional ones are left out, required ones and those that may be null are not."""
    assert v2.to_builtins(v2.NewSessionRequest(cwd="/w", mcp_servers=[])) == {"cwd": "/w"}
    assert v1.to_builtins(v1.NewSessionRequest(cwd="/w", mcp_servers=[])) == {"cwd": "/w", "mcpServers": []}
    assert v2.to_builtins(v2.ListSessionsResponse(sessions=[])) == {"sessions": []}
    assert v2.to_builtins(v2.Annotations(audience=[])) == {"audience": []}


def test_defaults_of_the_schema_are_written() -> None:
    info = v2.Implementation(name="n", version="1")
    wire = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "capabilities": {}}
    assert v2.to_builtins(v2.InitializeRequest(protocol_version=2, info=info)) == wire
    capabilities = {"image": False, "audio": True, "embeddedContext": False}
    assert v1.to_builtins(v1.PromptCapabilities(audio=True)) == capabilities
    assert v1.to_builtins(v1.ElicitationSchema()) == {"type": "object", "properties": {}}


def test_nothing_is_added_but_tags() -> None:
    assert v2.encode(chunk()) == (
        b'{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"x"}}'
    )
    assert v2.to_builtins(v2.ContentChunk(message_id="m", content=v2.TextContent(text="x"))) == {
        "messageId": "m",
        "content": {"type": "text", "text": "x"},
    }
    idle = {"sessionUpdate": "state_update", "state": "idle"}
    assert v2.to_builtins(v2.IdleStateUpdate()) == idle
    assert v2.to_builtins(v2.IdleErrorStateUpdate()) == {**idle, "stopReason": "error"}
    assert v2.to_builtins(v2.IdleErrorState()) == {"state": "idle", "stopReason": "error"}
    assert v2.to_builtins(v2.ReplayFromStart()) == {"type": "start"}
    assert v2.to_builtins(v2.DeclineElicitationResponse()) == {"action": "decline"}
    for model in (v2.PromptCapabilities(), v2.CloseSessionResponse(), unstable.ListProvidersRequest()):
        assert v2.encode(model) == b"{}"


def test_unknown_variants_pass_unchanged() -> None:
    payload = {"zeta": 1, "type": "future", "a": {"n": 10**25, "f": 1e-7, "s": "\u2028😀"}, "_meta": None, "x": []}
    block = v2.convert(payload, v2.ContentBlock)
    prompt = v2.PromptRequest(session_id="s", prompt=[block])
    assert list(json.loads(v2.encode(prompt))["prompt"][0].items()) == list(payload.items())
    assert json.loads(v2.encode([block, {"k": block}])) == [payload, {"k": payload}]


def test_any_json_value_encodes() -> None:
    values: list[Any] = [None, True, 0, -1.5, "", 'a\x00"\\/\u2028😀', [], {}, [[{"": [None]}]]]
    for value in [*values, 2**64, -(10**30), -0.0, 1e308]:
        assert same_json(json.loads(v2.encode(value)), value)
        assert same_json(v2.to_builtins(value), value)


def test_what_looks_like_null_is_left_alone() -> None:
    texts = ["null", ",null,", ":null}", "[null]"]
    values = [None, {"a": None, "b": [None, {"c": None}]}, *texts, {"null": texts}, {"nan": "NaN", "inf": "Infinity"}]
    call = v2.ToolCallUpdate(tool_call_id="null", title=None, raw_input=values, raw_output=None)
    wire = {"toolCallId": "null", "title": None, "rawInput": values, "rawOutput": None}
    assert json.loads(v2.encode(call)) == wire
    # Numbers whose bytes look like one that is not finite, beside a null.
    for number in (2**63 - 1, -(2**63), 2**64 - 1, 10**30, 1.7976931348623157e308, 5e-324, 0xCB7FF0, -1):
        assert json.loads(v2.encode([None, number, "\xcb\x7f\xf0", "\u02ff"])) == [
            None,
            number,
            "\xcb\x7f\xf0",
            "\u02ff",
        ]


def test_what_stands_for_json() -> None:
    """Tuples and sets are arrays; dates, UUIDs, decimals, bytes and enums are written as text or by their value."""
    level = enum.Enum("level", {"HIGH": "high"})
    meta = {
        "tuple": (1, [2]), "set": {1}, "date": datetime.date(2025, 1, 2), "uuid": uuid.UUID(int=5), 1: "whole key",
        "decimal": decimal.Decimal("1.50"), "bytes": b"\x00", "enum": level.HIGH, "model": v2.TextContent(text="x"),
    }  # fmt: skip
    assert json.loads(v2.encode(chunk(meta=meta)))["content"]["_meta"] == {
        "tuple": [1, [2]], "set": [1], "date": "2025-01-02", "uuid": str(uuid.UUID(int=5)), "1": "whole key",
        "decimal": "1.50", "bytes": "AA==", "enum": "high", "model": {"type": "text", "text": "x"},
    }  # fmt: skip


def test_eight_megabytes() -> None:
    text = "ü€😀" * 1_000_000
    update = v2.UpdateSessionNotification(session_id="s", update=chunk(meta={"k": None}))
    update.update.content.text = text  # type: ignore[union-attr]
    data = v2.encode(update)
    assert len(data) > 8_000_000
    assert same(v2.decode(data, v2.UpdateSessionNotification), update)
    items = v2.encode(v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="x")] * 200_000))
    assert len(v2.decode(items, v2.PromptRequest).prompt) == 200_000


# What cannot be written


@pytest.mark.parametrize("number", NOT_FINITE, ids=str)
@pytest.mark.parametrize(
    ("make", "pointer"),
    [
        (lambda x: v2.Cost(amount=x, currency="EUR"), "/amount"),
        (lambda x: v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=x, currency="EUR")), "/cost/amount"),
        (lambda x: v2.Annotations(audience=None, priority=x), "/priority"),
        (lambda x: chunk(meta={"a/b": [None, {"~": x}]}), "/content/_meta/a~1b/1/~0"),
        (lambda x: chunk(meta={"a": [None, 1.5, "null"], "b": (0, {1: x})}), "/content/_meta/b/1/1"),
        (lambda x: v2.ToolCallUpdate(tool_call_id="t", title=None, raw_input=x), "/rawInput"),
        (lambda x: v2.UnknownContentBlock(type="_x", n=[x]), "/n/0"),
        (lambda x: v2.PromptRequest(session_id="s", prompt=[v2.UnknownContentBlock(type="_x", n=x)]), "/prompt/0/n"),
        (lambda x: [0, x], "/1"),
        (lambda x: {"n": [10**30, x]}, "/n/1"),  # with a number that is beyond what the quick look can take
        (lambda x: x, ""),
    ],
)
def test_numbers_that_are_not_finite(make: Any, pointer: str, number: float) -> None:
    assert failure(make(number)) == (pointer, "a number that is not finite has no JSON form")


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
@pytest.mark.parametrize(
    ("make", "pointer"),
    [
        (lambda x: v2.TextContent(text=x), "/text"),
        (lambda x: v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="a"), v2.TextContent(text=x)]),
            "/prompt/1/text"),
        (lambda x: chunk(meta={"a": {"b": x}}), "/content/_meta/a/b"),
        (lambda x: chunk(meta={"a": {x: 1}}), "/content/_meta/a"),  # of a key, the object
        (lambda x: v2.UnknownContentBlock(type="_x", n={"a": (x,)}), "/n/a/0"),
        (lambda x: v2.UnknownContentBlock(type="_" + x), "/type"),
        (lambda x: v2.ToolCallUpdate(tool_call_id="t", kind=x), "/kind"),
        (lambda x: x, ""),
    ],
)  # fmt: skip
def test_lone_surrogates(make: Any, pointer: str, text: str) -> None:
    where, reason = failure(make(text))
    assert where == pointer
    assert "surrogates not allowed" in reason


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (object(), "/_meta/k"),
        ([1, object()], "/_meta/k/1"),
        ((1, {"a": object()}), "/_meta/k/1/a"),
        ({"a": {"b": {object()}}}, "/_meta/k/a/b/0"),
        (print, "/_meta/k"),
        (v2.TextContent, "/_meta/k"),
        (UNSET, "/_meta/k"),
        (1j, "/_meta/k"),
        (10**5000, "/_meta/k"),
        ({(1, 2): 3}, "/_meta/k"),
        ({"a": [{None: 3}]}, "/_meta/k/a/0"),
        ({"a": 1, "b": {object(): 1}}, "/_meta/k/b"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_objects_that_are_no_json(value: Any, pointer: str) -> None:
    where, reason = failure(v2.TextContent(text="x", meta={"fine": None, "k": value}))
    assert where == pointer
    assert 0 < len(reason) < 200


def test_cycles() -> None:
    items: list[Any] = [1]
    items.append(items)
    properties: dict[str, Any] = {"a": {}, "b": {}}
    properties["a"]["up"] = properties["b"]["up"] = properties
    block = v2.UnknownContentBlock(type="_x")
    block["self"] = [block]
    content = v2.Content(content=v2.TextContent(text="x", meta={}))
    assert isinstance(content.content, v2.TextContent) and isinstance(content.content.meta, dict)
    content.content.meta["k"] = content
    for model, pointer in (
        (items, "/1"),
        (properties, "/a/up"),
        ({"fine": [1], "k": items}, "/k/1"),
        (chunk(meta={"k": properties}), "/content/_meta/k/a/up"),
        (block, "/self/0"),
        (content, "/content/_meta/k"),
    ):
        assert failure(model) == (pointer, "contains itself")
        with pytest.raises(v2.EncodeError) as failed:
            v2.to_builtins(model)
        assert (failed.value.pointer, failed.value.reason) == (pointer, "contains itself")


def test_what_is_shared_is_no_cycle() -> None:
    shared = {"a": [1]}
    assert v2.encode([shared, {"k": shared}, shared]) == b'[{"a":[1]},{"k":{"a":[1]}},{"a":[1]}]'


def test_too_deep() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    shared = [1]
    wide: Any = 1
    for _ in range(40):
        wide = [wide, wide]
    # There are 2^40 ways through `wide`. Whoever looks for a cycle must not take them all.
    for model in (deep, chunk(meta={"k": deep}), [deep, wide], [shared, shared, deep]):
        assert failure(model) == ("", "nested too deeply")


def test_it_is_an_exception_like_others() -> None:
    with pytest.raises(ValueError, match=r"^/_meta/k: ") as failed:
        v2.encode(v2.TextContent(text="x", meta={"k": object()}))
    error = failed.value
    assert isinstance(error, v2.EncodeError)
    assert error.__cause__ is None and error.__suppress_context__
    twin = pickle.loads(pickle.dumps(error))
    assert (type(twin), twin.pointer, str(twin)) == (v2.EncodeError, error.pointer, str(error))
    assert str(v2.EncodeError("", "x")) == "model: x"
    assert len(str(failure_at("k" * 100_000))) < 400


def failure_at(key: str) -> v2.EncodeError:
    with pytest.raises(v2.EncodeError) as failed:
        v2.encode({key: object()})
    assert failed.value.pointer == f"/{key}"
    return failed.value

"""DecodeError: where it points, what it says, how it behaves as an exception."""

from __future__ import annotations

import copy
import json
import pickle
import random
import traceback
from pathlib import Path
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.v2 import unstable

from tests.package.codec.profiles import profiles
from tests.package.codec.relaxed import Judges, relaxed
from tests.support.tiny import build

CHUNK = {"sessionUpdate": "user_message_chunk", "messageId": "m"}
PROMPT = {"sessionId": "s"}
SCHEMA = {"type": "object"}
MANY = "'content' or 'diff' or 'terminal'".replace(" or ", ", ")


def failure(value: Any, form: Any) -> tuple[str, str]:
    """The pointer and reason of a value's error, which is the same for its text."""
    errors = []
    for read, data in ((v2.convert, value), (v2.decode, json.dumps(value))):
        with pytest.raises(v2.DecodeError) as failed:
            read(data, form)
        errors.append((failed.value.pointer, failed.value.reason))
    assert errors[0] == errors[1]
    return errors[0]


@pytest.mark.parametrize(
    ("value", "form", "pointer", "reason"),
    [
        # the root, and kinds by their JSON names
        (None, v2.TextContent, "", "expected object, got null"),
        (True, v2.ContentBlock, "", "expected object, got boolean"),
        (1, v2.TextContent, "", "expected object, got integer"),
        (1.5, v2.SessionId, "", "expected string, got number"),
        ("x", v2.TextContent, "", "expected object, got string"),
        ([], v2.ContentBlock, "", "expected object, got array"),
        ({}, v2.SessionConfigSelectOptions, "", "expected array, got object"),
        ({}, v2.RequestId, "", "expected integer or string, got object"),
        # scalars
        ({"text": None}, v2.TextContent, "/text", "expected string, got null"),
        ({"amount": "1", "currency": "x"}, v2.Cost, "/amount", "expected number, got string"),
        ({"amount": 1}, v2.Cost, "/currency", "missing"),
        ({"used": 1.0}, v2.UsageUpdate, "/used", "expected integer, got number"),
        ({"used": -1}, v2.UsageUpdate, "/used", "expected integer of at least 0, got -1"),
        ({"cols": 65536, "rows": 0}, v2.TerminalSize, "/cols", "expected integer of at most 65535, got 65536"),
        ({"severity": "x", "title": ""}, v2.Notice, "/title", "expected a string of at least 1 characters, got 0"),
        ({"supported": [], "required": 0}, unstable.ProviderInfo, "/providerId", "missing"),
        ({"currentValue": "no"}, v2.SessionConfigBoolean, "/currentValue", "expected boolean, got string"),
        # constants
        ("maybe", v1.StopReason, "", "expected 'end_turn' or 'max_tokens' or 'max_turn_requests' or 'refusal' or "
            "'cancelled', got 'maybe'"),
        (None, v1.Role, "", "expected 'assistant' or 'user', got null"),
        ({"type": 1}, v2.ElicitationSchema, "/type", "expected 'object', got 1"),
        # arrays
        ({**PROMPT, "prompt": []}, v2.PromptRequest, "/prompt", "expected an array of at least 1 items, got 0"),
        ({**PROMPT, "prompt": {}}, v2.PromptRequest, "/prompt", "expected array, got object"),
        ({**PROMPT, "prompt": [{"type": "_x"}, {"type": "text"}]}, v2.PromptRequest, "/prompt/1/text", "missing"),
        # maps, and keys that a pointer escapes
        ({**SCHEMA, "properties": {"a/b": 5}}, v2.ElicitationSchema, "/properties/a~1b",
            "expected object, got integer"),
        ({**SCHEMA, "properties": {"~": {}}}, v2.ElicitationSchema, "/properties/~0/type", "missing"),
        ({**SCHEMA, "properties": {"~1": 5}}, v2.ElicitationSchema, "/properties/~01", "expected object, got integer"),
        ({**SCHEMA, "properties": {"": 5}}, v2.ElicitationSchema, "/properties/", "expected object, got integer"),
        ({**SCHEMA, "properties": {"0": 5}}, v2.ElicitationSchema, "/properties/0", "expected object, got integer"),
        # unions
        ({}, v2.ContentBlock, "/type", "missing"),
        ({"type": 0}, v2.ContentBlock, "/type", "expected string, got integer"),
        ({"type": "x"}, v1.ToolCallContent, "/type", f"expected one of {MANY}, got 'x'"),
        ({**CHUNK, "content": {"type": "image", "data": ""}}, v2.SessionUpdate, "/content/mimeType", "missing"),
        ({"type": "_x", "methodId": "m"}, v2.AuthMethod, "/name", "missing"),
        ({"uri": "u"}, v2.EmbeddedResourceResource, "", "matches none of 2 alternatives"),
        ({"uri": 5, "text": "t"}, v2.EmbeddedResourceResource, "/uri", "expected string, got integer"),
        ({"mode": "_x", "message": "m"}, v2.CreateElicitationRequest, "",
            "expected exactly one of Session (sessionId) or Request (requestId)"),
        ({"mode": "_x", "message": "m"}, v1.CreateElicitationRequest, "",
            "expected at least one of Session (sessionId) or Request (requestId)"),
        # a class that is one variant of a union, on its own
        ({**CHUNK, "sessionUpdate": "x", "content": {"type": "_x"}}, v2.UserMessageChunk, "/sessionUpdate",
            "expected 'user_message_chunk'"),
        ({"methodId": "m", "name": "n", "type": 5}, v2.UnknownAuthMethod, "/type", "expected string, got integer"),
    ],
)  # fmt: skip
def test_pointer_and_reason(value: Any, form: Any, pointer: str, reason: str) -> None:
    assert failure(value, form) == (pointer, reason)


def test_deep_pointer() -> None:
    bad = {"type": "resource_link", "name": "n", "uri": []}
    content = {"type": "content", "content": bad}
    update = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": content}
    value = {"sessionId": "s", "update": update}
    pointer = "/update/content/content/uri"
    assert failure(value, v2.UpdateSessionNotification) == (pointer, "expected string, got array")


@pytest.mark.parametrize("name", profiles())
def test_first_problem_is_the_first_of_the_schema(name: str) -> None:
    """Of several properties that are missing or wrong, it is the first that the schema names, wherever it stands."""
    profile, odd = profiles()[name], {"\0": 0}
    saved, tried = Judges(relaxed(profile.schema)), 0
    for definition in profile.definitions:
        schema = profile.schema["$defs"][definition]
        if schema.keys() & {"anyOf", "oneOf"}:
            continue
        given: Any = profile.values.valid(definition, random.Random(definition))
        wires = [wire for wire in schema.get("properties", {}) if wire in schema.get("required", ())]
        strict = [wire for wire in wires if not saved(definition, wire, odd)]
        for index, first in enumerate(strict):
            later = strict[index + 1 :]
            wrong = dict.fromkeys(reversed(later), odd) | {key: given[key] for key in given if key not in later}
            missing = {key: item for key, item in given.items() if key not in later}
            pointers = {failure_of(profile, definition, value | {first: odd})[0] for value in (wrong, missing)}
            assert {pointer.split("/")[1] for pointer in pointers} == {first}
            for value in (wrong, missing):
                value.pop(first)
                assert failure_of(profile, definition, value) == (f"/{first}", "missing")
            tried += len(later)
    assert tried > 30


def failure_of(profile: Any, definition: str, value: Any) -> tuple[str, str]:
    with pytest.raises(profile.module.DecodeError) as failed:
        profile.module.convert(value, profile.type(definition))
    return failed.value.pointer, failed.value.reason


def test_missing_is_told_from_wrong_and_null() -> None:
    assert failure({}, v2.TextContent) == ("/text", "missing")
    assert failure({"text": None}, v2.TextContent) == ("/text", "expected string, got null")
    assert failure({"Text": "x"}, v2.TextContent) == ("/text", "missing")


HUGE = "x" * 1_000_000


@pytest.mark.parametrize(
    ("value", "form", "pointer"),
    [
        (HUGE, v1.StopReason, ""),
        ({"type": HUGE}, v1.ContentBlock, "/type"),
        ({"type": HUGE, "methodId": 5}, v2.AuthMethod, "/methodId"),
        ({"used": -(10**4000), "size": 1}, v2.UsageUpdate, "/used"),
        ({"protocolVersion": 10**4000}, v1.InitializeRequest, "/protocolVersion"),
        ({"protocolVersion": 10**30}, v1.InitializeRequest, "/protocolVersion"),
        (10**50, v1.StopReason, ""),
        ({**SCHEMA, "properties": {HUGE: 5}}, v2.ElicitationSchema, f"/properties/{HUGE}"),
        (
            {**SCHEMA, "properties": {"a": {"type": HUGE, "x": HUGE}}, "required": HUGE},
            v2.ElicitationSchema,
            "/required",
        ),
    ],
    ids=["constant", "tag", "envelope", "negative", "digits", "more digits", "integer", "key", "beside"],
)
def test_messages_stay_short(value: Any, form: Any, pointer: str) -> None:
    """The reason is cut, and so is the pointer in the error's text; the pointer itself is whole."""
    with pytest.raises(v2.DecodeError) as failed:
        v2.convert(value, form)
    assert failed.value.pointer == pointer
    assert 0 < len(failed.value.reason) < 300
    assert len(str(failed.value)) < 550
    with pytest.raises(v2.DecodeError) as again:
        v2.decode(json.dumps(value), form)
    assert str(again.value) == str(failed.value)


def test_huge_numbers_of_which_python_writes_no_digits() -> None:
    for value in (10**5000, -(10**5000)):
        pointer, reason = failure_of(profiles()["v1/stable"], "StopReason", value)
        assert (pointer, reason.rpartition(", ")[2]) == ("", "got a number of hundreds of digits")


def test_it_is_an_exception_like_others() -> None:
    with pytest.raises(ValueError, match=r"^/text: missing$") as failed:
        v2.decode("{}", v2.TextContent)
    error = failed.value
    assert isinstance(error, v2.DecodeError)
    assert (error.pointer, error.reason, error.args) == ("/text", "missing", ("/text", "missing"))
    assert v1.DecodeError is v2.DecodeError
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is v2.DecodeError
        assert (twin.pointer, twin.reason, str(twin)) == ("/text", "missing", "/text: missing")


def test_the_root_has_a_name_in_the_text() -> None:
    assert str(v2.DecodeError("", "expected object, got null")) == "message: expected object, got null"


def test_traceback_shows_no_inner_errors() -> None:
    """What went on between C and the walk is nobody's business; nothing of it is chained."""
    for data in ('{"type": 5}', "{", '{"type": "image"}'):
        with pytest.raises(v2.DecodeError) as failed:
            v2.decode(data, v2.ContentBlock)
        shown = "".join(traceback.format_exception(failed.value))
        assert shown.count("Traceback") == 1


def test_alternatives_do_not_depend_on_where_one_starts(tmp_path: Path) -> None:
    """A union that contains itself tells its alternatives apart by the same keys, whichever type is decoded first."""
    defs = {
        "Tree": {"anyOf": [{"$ref": "#/$defs/Branch"}, {"$ref": "#/$defs/Leaf"}]},
        "Branch": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}, "required": ["left"]},
        "Leaf": {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]},
    }
    value: dict[str, Any] = {"left": {"left": {"value": "x"}}}
    for names in (("Tree", "Branch"), ("Branch", "Tree")):
        tiny = build(tmp_path, defs)  # new each time, with nothing compiled
        for name in names:
            with pytest.raises(tiny.DecodeError) as failed:
                tiny.decode(json.dumps(value), getattr(tiny, name))
            assert failed.value.pointer == "/left/left/value"
            assert failed.value.reason == "expected integer, got string"


def test_numbers_of_a_closed_set(tmp_path: Path) -> None:
    """True is no 1, and neither is 1.0."""
    tiny = build(tmp_path, {"Level": {"type": "object", "properties": {"level": {"enum": [0, 1]}}}})
    assert tiny.convert({"level": 1}, tiny.Level).level == 1
    for wrong, shown in ((True, "True"), (False, "False"), (1.0, "number"), (2, "2"), ("1", "'1'")):
        for read, data in ((tiny.convert, {"level": wrong}), (tiny.decode, json.dumps({"level": wrong}))):
            with pytest.raises(tiny.DecodeError) as failed:
                read(data, tiny.Level)
            assert (failed.value.pointer, failed.value.reason) == ("/level", f"expected 0 or 1, got {shown}")

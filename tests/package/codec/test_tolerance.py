"""The three tolerance keywords: what each saves, what none saves, and what `on_tolerated` hears of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from acp_bindings import v2
from msgspec import UNSET

from tests.support.tiny import build

Reports: TypeAlias = list[tuple[str, str]]


def reported(data: Any, form: Any) -> Reports:
    found: Reports = []
    v2.convert(data, form, on_tolerated=lambda *report: found.append(report))
    return found


def test_order_is_that_of_the_schema() -> None:
    value = {"priority": 2, "audience": ["user", 5], "lastModified": 0, "_meta": 1}
    wrong = [("/audience/1", "expected string, got integer"), ("/lastModified", "expected string, got integer")]
    high = ("/priority", "expected number of at most 1.0, got 2")
    assert reported(value, v2.Annotations) == [*wrong, high, ("/_meta", "expected object, got integer")]


def test_one_report_for_what_is_dropped_and_none_for_its_inside() -> None:
    bad: dict[str, Any] = {
        "type": "resource",
        "resource": {"uri": "u", "text": "t", "mimeType": 5, "_meta": 6},
        "annotations": 7,
    }
    fine = {"type": "text", "text": "t", "annotations": 7}
    value: dict[str, Any] = {"toolCallId": "t"}
    value["content"] = [{"type": "content", "content": bad}, {"type": "content", "content": fine}]
    assert [pointer for pointer, _ in reported(value, v2.ToolCallUpdate)] == [
        "/content/0/content/resource/mimeType",
        "/content/0/content/resource/_meta",
        "/content/0/content/annotations",
        "/content/1/content/annotations",
    ]
    bad["resource"]["uri"] = 8
    assert reported(value, v2.ToolCallUpdate) == [
        ("/content/0", "/content/resource/uri: expected string, got integer"),
        ("/content/1/content/annotations", "expected object, got integer"),
    ]
    value["content"] = {"0": value["content"]}
    assert reported(value, v2.ToolCallUpdate) == [("/content", "expected array, got object")]


def test_nothing_is_reported_of_a_message_that_fails() -> None:
    found: list[Any] = []
    value = {"title": 5, "content": [7], "toolCallId": 9}
    with pytest.raises(v2.DecodeError):
        v2.convert(value, v2.ToolCallUpdate, on_tolerated=lambda *report: found.append(report))
    with pytest.raises(v2.DecodeError):
        v2.decode(json.dumps(value), v2.ToolCallUpdate, on_tolerated=lambda *report: found.append(report))
    assert found == []


def test_nothing_is_reported_of_alternatives_that_lost() -> None:
    # The text fails at its last property, after its media type was dropped; the blob is what comes out.
    value = {"uri": "u", "mimeType": 5, "text": 6, "blob": "AA=="}
    assert reported(value, v2.EmbeddedResourceResource) == [("/mimeType", "expected string, got integer")]
    lost = {"requested": 1, "supported": ["1"], "_meta": 5, "sessionId": 7}
    assert reported({"code": 1, "message": "m", "data": lost}, v2.Error) == []
    group = {"groupId": "g", "name": "n", "options": [{"value": "v", "name": 5}, {"value": "v", "name": "n"}]}
    both = {**group, "value": "v", "description": 5}
    assert reported([both, {"groupId": "h", "name": "m", "options": []}], v2.SessionConfigSelectOptions) == [
        ("/0/options/0", "/name: expected string, got integer"),
        ("/1/options", "expected an array of at least 1 items, got 0"),
    ]


def test_the_other_scopes_property_is_nothing_to_report() -> None:
    form = {"message": "m", "mode": "url", "elicitationId": "e", "url": "u"}
    assert reported({**form, "requestId": 1, "toolCallId": 5}, v2.CreateElicitationRequest) == []
    assert [p for p, _ in reported({**form, "sessionId": "s", "toolCallId": 5}, v2.CreateElicitationRequest)] == [
        "/toolCallId"
    ]


def test_what_raises_in_the_callback_comes_out() -> None:
    def refuse(pointer: str, reason: str) -> None:
        raise LookupError(pointer, reason)

    with pytest.raises(LookupError):
        v2.decode('{"messageId": "m", "_meta": 5}', v2.PromptResponse, on_tolerated=refuse)


def test_reasons_are_short() -> None:
    key = "k" * 10_000
    value = {"requestedSchema": {"type": "object", "properties": {key: {"type": "string", "default": "x" * 10_000}}}}
    assert reported(value["requestedSchema"], v2.ElicitationSchema) == []
    items = [{"uri": "u", "name": "n", "icons": [{"src": {key: 1}}]}, {"type": key}, 10**5000]
    for item in items:
        for _, reason in reported({"toolCallId": "t", "content": [item]}, v2.ToolCallUpdate):
            assert len(reason) < 300


TOLERANT = {f"x-deserialize-{name}": True for name in ("default-on-error", "skip-invalid-items", "default-on-null")}


def test_combinations_that_no_published_schema_has(tmp_path: Path) -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    on_error, skip, on_null = ({key: True} for key in TOLERANT)
    tiny = build(
        tmp_path,
        {
            "All": {"type": "object", "properties": {"a": {**numbers, **TOLERANT}}},
            "AllRequired": {"type": "object", "properties": {"a": {**numbers, **TOLERANT}}, "required": ["a"]},
            "Skip": {"type": "object", "properties": {"a": {**numbers, **skip, **on_null, "minItems": 2}}},
            "Required": {"type": "object", "properties": {"a": {"type": "string", **on_error}}, "required": ["a"]},
            "Level": {"type": "object", "properties": {"a": {"type": "integer", "default": 3, **on_null}}},
        },
    )

    def outcome(name: str, value: Any) -> Any:
        found: list[str] = []
        try:
            model = tiny.convert(
                {"a": value}, getattr(tiny, name), on_tolerated=lambda pointer, _: found.append(pointer)
            )
        except tiny.DecodeError as error:
            assert found == []
            return error.pointer
        return model.a, found

    assert outcome("All", [1, "x", 2]) == outcome("AllRequired", [1, "x", 2]) == ([1, 2], ["/a/1"])
    assert outcome("All", None) == outcome("AllRequired", None) == outcome("All", 5) == ([], ["/a"])
    assert outcome("Skip", [1, "x", 2]) == ([1, 2], ["/a/1"])
    assert outcome("Skip", [1, "x"]) == "/a"
    assert outcome("Skip", None) == ([], ["/a"])
    assert outcome("Skip", 5) == "/a"
    # There is nothing to fall back to: the property may not be absent, and has no default.
    assert outcome("Required", 5) == "/a"
    assert outcome("Level", None) == (3, ["/a"])
    assert outcome("Level", "x") == "/a"
    assert tiny.convert({}, tiny.Level) == tiny.Level()
    assert v2.convert({"toolCallId": "t", "title": 5}, v2.ToolCallUpdate).title is UNSET


def test_nothing_is_reported_of_a_group_that_lost(tmp_path: Path) -> None:
    """Both groups are there by their keys, and one of them, whose first property is tolerated, fails."""
    note = {"type": "string", "x-deserialize-default-on-error": True}
    number = {"type": "integer"}
    groups = [
        {"title": "A", "type": "object", "properties": {"note": note, "a": number}, "required": ["a"]},
        {"title": "B", "type": "object", "properties": {"b": number}, "required": ["b"]},
    ]
    tiny = build(tmp_path, {"Grouped": {"type": "object", "properties": {"m": number}, "anyOf": groups}})
    found: list[str] = []
    for value, reports, written in (
        ({"note": 5, "a": "x", "b": 1}, [], {"b": 1}),
        ({"note": 5, "a": 2, "b": "x"}, ["/note"], {"a": 2}),
        ({"note": 5, "a": 2, "b": 1}, ["/note"], {"a": 2, "b": 1}),
        ({"note": 5, "b": 1}, [], {"b": 1}),
    ):
        found.clear()
        model = tiny.convert(value, tiny.Grouped, on_tolerated=lambda pointer, _: found.append(pointer))
        assert (found, tiny.to_builtins(model)) == (reports, written)


def test_a_value_that_alternatives_meet_again(tmp_path: Path) -> None:
    """What was made of it before is used again, with its reports where it now stands."""
    note = {"type": "string", "x-deserialize-default-on-error": True}
    links = {wire: {"$ref": "#/$defs/Tree"} for wire in ("left", "right")}
    string = {"type": "string"}
    tiny = build(
        tmp_path,
        {
            "Tree": {"anyOf": [{"$ref": "#/$defs/First"}, {"$ref": "#/$defs/Second"}]},
            "First": {"type": "object", "properties": {**links, "note": note, "last": string}},
            "Second": {"type": "object", "properties": {**links, "note": note}},
        },
    )
    leaf = {"note": 5, "last": 6}
    value = {"left": leaf, "right": {"left": leaf, "note": "", "last": 7}, "note": "", "last": 8}
    for read, data in ((tiny.convert, value), (tiny.decode, json.dumps(value))):
        found: list[str] = []
        tree = read(data, tiny.Tree, on_tolerated=lambda pointer, _, to=found: to.append(pointer))
        assert found == ["/left/note", "/right/left/note"]
        assert tiny.to_builtins(tree) == {"left": {}, "right": {"left": {}, "note": ""}, "note": ""}

"""What `decode` and `convert` may be asked for: classes, aliases, types made of them; and how deep a value may be."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acp_bindings import v2

from tests.package.codec.profiles import same
from tests.support.tiny import build, ref

BLOCKS = [{"type": "text", "text": "x"}, {"type": "_x"}]
Read = Callable[[Any, Any], Any]
READERS: dict[str, Read] = {
    "decode": lambda value, form: v2.decode(json.dumps(value), form),
    "convert": v2.convert,
}
each_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@each_reader
def test_types_made_of_others(read: Read) -> None:
    blocks = [v2.TextContent(text="x"), v2.UnknownContentBlock(type="_x")]
    assert same(read(BLOCKS, list[v2.ContentBlock]), blocks)
    assert same(read({"a": BLOCKS, "b": []}, dict[str, list[v2.ContentBlock]]), {"a": blocks, "b": []})
    assert read(None, v2.ContentBlock | None) is None
    assert same(read(BLOCKS[1], v2.ContentBlock | None), blocks[1])
    assert same(read([None, {"text": "x"}], list[v2.TextContent | None]), [None, blocks[0]])
    assert same(read({"data": {"requested": 1, "supported": []}}, dict[str, v2.ErrorData]), {
        "data": v2.UnsupportedProtocolVersionErrorData(requested=1, supported=[]),
    })  # fmt: skip
    with pytest.raises(v2.DecodeError) as failed:
        read([*BLOCKS, {"type": "text"}], list[v2.ContentBlock])
    assert failed.value.pointer == "/2/text"


@each_reader
def test_scalars_and_anything(read: Read) -> None:
    assert read("s", v2.SessionId) == "s"
    assert read("deploy", v2.ToolKind) == "deploy"
    assert read(-32000, v2.ErrorCode) == -32000
    assert read(2, v2.ProtocolVersion) == 2
    assert read([1, {"a": None}], v2.ExtRequest) == [1, {"a": None}]
    assert read([1, {"a": None}], Any) == [1, {"a": None}]
    with pytest.raises(v2.DecodeError):
        read("2", v2.ErrorCode)


@pytest.mark.parametrize("form", [object, complex, tuple[int, str], list[object]], ids=repr)
@each_reader
def test_other_types_are_refused(read: Read, form: Any) -> None:
    with pytest.raises(TypeError, match="is not a type that messages are decoded to"):
        read(["x"], form)


@each_reader
def test_a_type_written_in_place_is_not_kept_each_time(read: Read) -> None:
    """A program that decodes in a loop writes `list[X]` anew each time; only the first is kept."""
    kept = []
    for _ in range(3):
        form = list[v2.SessionInfo]
        kept.append(weakref.ref(form))
        read([], form)
        with pytest.raises(v2.DecodeError):
            read([5], form)
        del form
    gc.collect()
    assert [one() for one in kept[1:]] == [None, None]


S = {"type": "string"}
DEEP = {
    "Node": {
        "type": "object",
        "properties": {"name": S, "note": {**S, "x-deserialize-default-on-error": True}, "child": {
            "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
        "required": ["name"],
    },
    "Tree": {"anyOf": [{"$ref": "#/$defs/Branch"}, {"$ref": "#/$defs/Leaf"}]},
    "Branch": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}, "required": ["left"]},
    "Leaf": {"type": "object", "properties": {"value": S}, "required": ["value"]},
    "List": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/List"}}}},
}  # fmt: skip


def chain(depth: int, key: str, inner: Any, **more: Any) -> Any:
    for _ in range(depth):
        inner = {**more, key: inner}
    return inner


def outcome(module: Any, name: str, value: Any) -> tuple[Any, ...]:
    """What text and value come to, the same for both; in a thread of its own, whose stack is all there is to use."""
    answers: list[Any] = []

    def run() -> None:
        for read, data in ((module.decode, json.dumps(value)), (module.convert, value)):
            reports: list[str] = []
            try:
                found = read(data, getattr(module, name), on_tolerated=lambda way, _, to=reports: to.append(way))
            except module.DecodeError as error:
                answers.append((error.pointer, error.reason))
            else:
                answers.append((module.encode(found) == module.encode(value), reports))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert answers[0] == answers[1]
    found: tuple[Any, ...] = answers[0]
    return found


def test_deep_values(tmp_path: Path) -> None:
    """Some hundreds of levels pass, and are walked where that is needed; what is beyond fails, and only fails."""
    tiny = build(tmp_path, DEEP)
    assert outcome(tiny, "Node", chain(400, "child", {"name": "n"}, name="n")) == (True, [])
    way = "/child" * 400
    assert outcome(tiny, "Node", chain(400, "child", {"name": 5}, name="n")) == (
        f"{way}/name",
        "expected string, got integer",
    )
    tolerated = chain(400, "child", {"name": "n", "note": 5}, name="n")
    assert outcome(tiny, "Node", tolerated) == (False, [f"{way}/note"])
    # C goes deeper than the walk would, whether it is given text or a value.
    items: Any = {"kids": []}
    for _ in range(300):
        items = {"kids": [items]}
    assert outcome(tiny, "List", items)[1] == []
    assert outcome(tiny, "Tree", chain(200, "left", {"value": "x"})) == (True, [])
    assert outcome(tiny, "Tree", chain(200, "left", {"value": 5}))[0] == "/left" * 200 + "/value"
    for name, value in (
        ("Node", chain(900, "child", {"name": 5}, name="n")),
        ("Tree", chain(900, "left", {"value": 5})),
    ):
        assert outcome(tiny, name, value) == ("", "nested too deeply")


def test_deep_free_form_values() -> None:
    """Nothing walks through what is free-form, so that only the parser's own limit counts."""
    deep = chain(900, "a", None)
    for how in ({}, {"title": 5}):
        call = v2.decode(json.dumps({"toolCallId": "t", "rawInput": deep, **how}), v2.ToolCallUpdate)
        assert call.raw_input == deep
        block = v2.decode(json.dumps({"type": "_x", "deep": deep, **how}), v2.ContentBlock)
        assert isinstance(block, v2.UnknownContentBlock)
        assert block.raw["deep"] == deep


def test_a_long_chain_of_definitions(tmp_path: Path) -> None:
    """Compiling a type does not go as deep as its definitions refer to each other."""
    text = {"type": "string", "x-deserialize-default-on-error": True}
    links = {f"C{i}": {"type": "object", "properties": {"next": ref(f"C{i + 1}"), "text": text}} for i in range(300)}
    tiny = build(tmp_path, links | {"C300": {"type": "object", "properties": {"text": text}}})
    assert tiny.decode(b'{"text":5}', tiny.C0) == tiny.C0()


def test_groups_told_by_arrays_and_maps(tmp_path: Path) -> None:
    """An empty array is there; an absent one is not, and says that its group is not."""
    names = {"type": "array", "items": S}
    groups = [
        {"title": "A", "type": "object", "properties": {"ids": names, "note": S}, "required": ["ids"]},
        {"title": "B", "type": "object", "properties": {"env": {"type": "object"}, "tags": names}, "required": ["env"]},
    ]
    tiny = build(tmp_path, {"One": {"type": "object", "properties": {"m": S}, "oneOf": groups}})
    values: list[dict[str, Any]] = [{"ids": ["a"]}, {"ids": []}, {"env": {}, "tags": ["t"]}, {"env": {}, "tags": []}]
    for value in values:
        for read, data in ((tiny.decode, json.dumps(value)), (tiny.convert, value)):
            assert tiny.to_builtins(read(data, tiny.One)) == value
            # What belongs to the other group is a stray.
            strays = value | ({"tags": 5} if "ids" in value else {"note": 5})
            assert tiny.to_builtins(tiny.convert(strays, tiny.One)) == value
    wrongs: list[dict[str, Any]] = [{}, {"ids": [], "env": {}}, {"note": "x", "tags": []}]
    for wrong in wrongs:
        with pytest.raises(tiny.DecodeError) as failed:
            tiny.convert(wrong, tiny.One)
        assert (failed.value.pointer, failed.value.reason) == ("", "expected exactly one of A (ids) or B (env)")
    assert tiny.One(ids=[]) == tiny.convert({"ids": []}, tiny.One)

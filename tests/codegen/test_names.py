"""Words to identifiers: readable where the text is, unique and valid always."""

from __future__ import annotations

import keyword
import unicodedata
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen import ir, names
from codegen.annotations import Docs, Names
from codegen.lower import lower
from tests.support.tiny import INTEGER, STRING, build, const, fallback, obj, ref, variant

# Short texts of few characters collide most.
TEXTS = (
    st.text("aAbB1_-/ é日\ud800", max_size=6)
    | st.text(max_size=20)
    | st.from_regex(r"[a-z]+(_[a-z0-9]+)*", fullmatch=True)
)
SNAKE = st.from_regex(r"[a-z]{1,2}[0-9]?(_[a-z]{1,2}[0-9]?){0,2}", fullmatch=True)


def is_sound(name: str) -> bool:
    """An identifier that Python takes as it is written, and no keyword."""
    plain = unicodedata.normalize("NFKC", name) == name and name.isascii()
    return plain and name.isidentifier() and not keyword.iskeyword(name)


@pytest.mark.parametrize(
    ("text", "words", "snake", "pascal"),
    [
        ("toolCallId", ["tool", "call", "id"], "tool_call_id", "ToolCallId_"),
        ("tool_call_id", ["tool", "call", "id"], "tool_call_id", "ToolCallId"),
        ("ToolCall", ["tool", "call"], "tool_call", "ToolCall_"),
        ("HTTPServer", ["http", "server"], "http_server", "HttpServer_"),
        ("rawURL", ["raw", "url"], "raw_url", "RawUrl_"),
        ("_meta", ["meta"], "meta", "Meta_"),
        ("x1", ["x1"], "x1", "X1"),
        ("http2", ["http2"], "http2", "Http2"),
        ("a1b", ["a1", "b"], "a1_b", "A1B_"),
        ("a_1", ["a", "1"], "a_1", "A1_"),
        ("end-turn", ["end", "turn"], "end_turn", "EndTurn_"),
        ("1x", ["1", "x"], "field_1_x", "1X_"),
        ("", [], "field_", "_"),
        ("日本", [], "field_", "_"),
    ],
)
def test_words(text: str, words: list[str], snake: str, pascal: str) -> None:
    assert names.words(text) == words
    assert names.snake(text).startswith(snake) and len(names.snake(text)) - len(snake) in (0, 4)
    found = names.pascal(text)
    assert found.startswith(pascal) and (found == pascal) == (not pascal.endswith("_"))


def test_titles_may_be_in_pascal_case() -> None:
    assert names.pascal("Result", is_title=True) == "Result" != names.pascal("Result")
    assert names.pascal("result", is_title=True) == "Result"


def test_constants() -> None:
    assert names.constant_name("Parse error") == "PARSE_ERROR"
    assert names.constant_name("ToolKind") == "TOOL_KIND"


@pytest.mark.parametrize(
    ("definition", "name"),
    [
        ("ToolCall", "ToolCall"),
        ("toolCall", "toolCall"),
        ("Error", "Error"),
        ("List", "List"),
        ("Any", "Any_"),
        ("Model", "Model_"),
        ("list", "list_"),
        ("None", "None_"),
        ("class", "class_"),
        ("match", "match"),
        ("_X", None),
        ("__init__", None),
        ("foo-bar", None),
        ("1x", None),
        ("日本", None),
        ("ﬁx", None),
        ("", None),
        ("a\n", None),
    ],
)
def test_class_names(definition: str, name: str | None) -> None:
    assert names.class_name(definition) == name


@given(TEXTS)
def test_class_names_are_sound(text: str) -> None:
    name = names.class_name(text)
    assert name is None or (is_sound(name) and name in (text, f"{text}_") and not name.startswith("_"))


@given(TEXTS)
def test_snake_constant_and_method_names_are_sound(text: str) -> None:
    assert names.snake(text).isidentifier() and names.snake(text).isascii()
    assert is_sound(names.constant_name(text)) and names.constant_name(text).isupper()
    assert is_sound(names.method_name(text))


@given(st.lists(TEXTS, unique=True, max_size=12), st.sets(st.sampled_from(["a", "b", "id", "a_b", "class_"])))
def test_member_names(wires: list[str], reserved: set[str]) -> None:
    found = names.member_names(wires, reserved)
    assert list(found) == wires
    assert len(set(found.values())) == len(wires)
    assert all(is_sound(name) and name not in reserved and not name.startswith("_") for name in found.values())
    for wire in wires:
        # Who is called in snake_case already keeps that, whoever came before.
        if names.snake(wire) == wire and wire not in reserved and not keyword.iskeyword(wire):
            assert found[wire] == wire


def test_member_names_that_differ_by_case_or_underscore_only() -> None:
    wires = ["fooBar", "FooBar", "_meta", "meta", "foo_bar", "class", "foo-bar"]
    assert names.member_names(wires) == {
        "fooBar": "foo_bar_",
        "FooBar": "foo_bar__",
        "_meta": "meta_",
        "meta": "meta",
        "foo_bar": "foo_bar",
        "class": "class_",
        "foo-bar": "foo_bar___",
    }
    assert names.member_names(["id"], ["id"]) == {"id": "id_"}


@settings(deadline=None)
@given(TEXTS)
def test_camel_is_what_msgspec_makes_of_a_member(text: str) -> None:
    (member,) = names.member_names([text]).values()
    cls = msgspec.defstruct("S", [(member, int)], rename="camel")
    assert cls.__struct_encode_fields__ == (names.camel(member),)


# Variants


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.booleans())
def test_variant_names_are_sound(union: str, path: list[str], titled: bool) -> None:
    name = names.class_name(union)
    if name is not None:
        found = names.variant_name(name, path, (), titled)
        assert is_sound(found) and found.startswith(name)
        assert found == names.variant_name(name, path, (), titled)
        assert is_sound(names.variant_name(name, path, {found}, titled))
        assert names.variant_name(name, path, {found}, titled) != found


@given(st.lists(SNAKE, unique=True, min_size=2, max_size=8))
def test_tags_in_snake_case_give_different_names(tags: list[str]) -> None:
    found = [names.variant_name("U", (tag,), ()) for tag in tags]
    assert len(set(found)) == len(tags)


def test_variant_names() -> None:
    assert names.variant_name("ContentBlock", ("resource_link",), ()) == "ContentBlockResourceLink"
    assert names.variant_name("Update", ("state", "idle", "none"), ()) == "UpdateStateIdleNone"
    assert names.fallback_name("X", ()) == "UnknownX"
    assert names.fallback_name("X", {"UnknownX"}) == "UnrecognizedX"
    assert is_sound(names.fallback_name("X", {"UnknownX", "UnrecognizedX"}))


def lowered(defs: dict[str, Any]) -> ir.Profile:
    return lower({"$defs": defs}, "v2/stable", ir.Source("", "", ""), Names(), Docs(), "f")


@settings(deadline=None)
@given(st.lists(TEXTS.filter(lambda text: "\ud800" not in text), unique=True, min_size=1, max_size=10))
def test_every_tag_has_a_class_of_its_own(tags: list[str]) -> None:
    """Whatever the tags are, and though the branches are equal."""
    tagged = [obj({"t": const(tag), "v": STRING}, "t", "v") for tag in tags]
    union = lowered({"U": {"anyOf": [*tagged, fallback("t", *tags)]}}).definitions["U"]
    assert isinstance(union, ir.TaggedUnion)
    targets = [one.target for one in union.variants]
    assert [one.value for one in union.variants] == tags
    assert len({*targets, union.fallback}) == len(tags) + 1
    assert all(is_sound(str(target)) for target in targets)


COLLIDING: dict[str, Any] = {
    # Each of these wants the name ABC, UnknownV or Unknown for one thing or another.
    "A": {"anyOf": [variant("t", "b_c"), variant("t", "b", "Inner")]},
    "Inner": {"oneOf": [variant("k", "c"), variant("k", "d")]},
    "AB": {"anyOf": [variant("t", "c"), variant("t", "d"), fallback("t", "c", "d")]},
    "ABCs": {"anyOf": [{"title": "ABC", **obj({"x": STRING}, "x")}, obj({"y": STRING}, "y")]},
    "UnknownV": {"anyOf": [variant("t", "a"), fallback("t", "a")]},
    "V": {"anyOf": [variant("t", "a"), variant("t", "b"), fallback("t", "a", "b")]},
    "Unknown": {"anyOf": [variant("t", "ab"), variant("t", "x")]},
    "Ab": {"anyOf": [variant("u", "x"), fallback("u", "x")]},
    "H": obj({"abc": obj({"n": INTEGER}, "n"), "v": ref("V")}),
}


@pytest.mark.parametrize("order", [list(COLLIDING), list(reversed(COLLIDING))])
def test_names_of_different_unions_never_meet(tmp_path: Path, order: list[str]) -> None:
    module: Any = build(tmp_path, {name: COLLIDING[name] for name in order})
    values: list[tuple[str, dict[str, Any]]] = [
        *(("A", value) for value in ({"t": "b_c"}, {"t": "b", "k": "c"}, {"t": "b", "k": "d"})),
        *(("Inner", value) for value in ({"k": "c"}, {"k": "d"})),
        *(("AB", value) for value in ({"t": "c"}, {"t": "d"}, {"t": "_x"})),
        *(("ABCs", value) for value in ({"x": "1"}, {"y": "1"})),
        *(("UnknownV", value) for value in ({"t": "a"}, {"t": "_x"})),
        *(("V", value) for value in ({"t": "a"}, {"t": "b"}, {"t": "_x"})),
        *(("Unknown", value) for value in ({"t": "ab"}, {"t": "x"})),
        *(("Ab", value) for value in ({"u": "x"}, {"u": "_y"})),
        ("H", {"abc": {"n": 1}, "v": {"t": "a"}}),
    ]
    decoded = [module.convert(value, getattr(module, name)) for name, value in values]
    assert [module.to_builtins(one) for one in decoded] == [value for _, value in values]
    classes = sorted(type(one).__name__ for one in decoded)
    assert all(one != other for one, other in pairwise(classes))

"""Parsing, checking, stripping and writing schemas, hostile ones among them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from codegen.errors import CodegenError
from codegen.schema.canonical import MAX_DEPTH, _metaschema, canonical, check_metaschema, parse, pointer, strip


def parse_problem(data: bytes) -> str:
    with pytest.raises(CodegenError) as raised:
        parse(data, "f.json")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.place == "f.json"
    return diagnostic.found


def check_problems(schema: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(CodegenError) as raised:
        check_metaschema(schema, "f.json")
    assert str(raised.value).isprintable() or "\n" in str(raised.value)
    return [(diagnostic.place.removeprefix("f.json"), diagnostic.found) for diagnostic in raised.value.diagnostics]


def nested(levels: int) -> bytes:
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


# parse


def test_parse_keeps_order_and_values() -> None:
    text = '{"z": 1, "a": {"é": [true, null, 1.5, "\\ud83d\\ude00"]}}'
    value = parse(text.encode(), "f.json")
    assert value == {"z": 1, "a": {"é": [True, None, 1.5, "😀"]}}
    assert list(value) == ["z", "a"]
    assert parse(b"\xef\xbb\xbf" + text.encode(), "f.json") == value


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a": "\xff"}', "byte 0xff at offset 7"),
        ('{"a": 1}'.encode("utf-16"), "byte 0xff at offset 0"),
        (b'{"a": "\xed\xa0\x80"}', "byte 0xed at offset 7"),  # a surrogate in UTF-8
        (b"", "line 1, column 1"),
        (b'{\n  "a": oops\n}', "line 2, column 8"),
        (b'{"a": 1} 2', "line 1, column 10"),
        (b'{"a": "\x01"}', "line 1, column 8"),
        (b'{"a": 1,}', "line 1, column"),
        (b"[]", "JSON that is no object: []"),
        (b'"x"', "JSON that is no object: 'x'"),
        (b"null", "JSON that is no object: None"),
        (b'{"b": {"a": 1, "a": 1}}', "the key 'a' twice"),
        (b'{"\\u001b": 1, "\\u001b": 1}', r"the key '\x1b' twice"),
        (b'{"a": NaN}', "the number NaN"),
        (b'{"a": [-Infinity]}', "the number -Infinity"),
        (b'{"a": 1e999}', "the number 1e999, beyond a double"),
        (b'{"a": ' + b"9" * 5000 + b"}", "4300 digits"),
        (nested(MAX_DEPTH + 1), "nested too deep"),
        (nested(100_000), "nested too deep"),
        (b'{"a":' * 50_000, "nested too deep"),
    ],
)
def test_parse_refuses(data: bytes, found: str) -> None:
    assert found in parse_problem(data)


def test_parse_up_to_the_depth_bound() -> None:
    assert parse(nested(MAX_DEPTH), "f.json")["a"]


# strip


def test_strip_drops_annotations_where_schemas_stand() -> None:
    prose = {"description": "d", "$comment": "c", "examples": ["e"]}
    leaf = {"type": "string", "title": "T", "x-side": "agent", **prose}
    bare = {"type": "string", "title": "T", "x-side": "agent"}

    def schema(leaf: dict[str, Any]) -> dict[str, Any]:
        one = ["items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema"]
        one += ["additionalProperties", "unevaluatedItems", "unevaluatedProperties"]
        return {
            **leaf,
            **dict.fromkeys(one, leaf),
            **{keyword: [leaf, {"items": leaf}, True] for keyword in ("allOf", "anyOf", "oneOf", "prefixItems")},
            **{
                keyword: {"description": leaf, "$comment": leaf, "examples": leaf, "a": False}
                for keyword in ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
            },
        }

    assert strip(schema(leaf)) == schema(bare)


def test_strip_leaves_plain_values_alone() -> None:
    value = {"description": "kept", "$comment": "kept", "examples": [], "properties": {"a": {"description": "kept"}}}
    schema = {"const": value, "enum": [value, 1], "default": value, "x-data": value, "required": ["description"]}
    assert strip({**schema, "description": "gone"}) == schema


def test_strip_leaves_its_input_alone() -> None:
    schema = {"properties": {"description": {"description": "d"}}}
    assert strip(schema) == {"properties": {"description": {}}}
    assert schema == {"properties": {"description": {"description": "d"}}}


def test_strip_of_odd_shapes() -> None:
    odd = {"properties": ["x"], "allOf": {"description": "d"}, "items": [{"description": "d"}], "not": True}
    assert strip(odd) == odd
    assert strip(True) is True


# canonical


def test_canonical_form() -> None:
    schema = {"z": "é 😀 \u2028", "a": {"n": [1, 1.0, True], "e": {}, "l": []}}
    lines = ["{", '  "z": "é 😀 \u2028",', '  "a": {', '    "n": [', "      1,", "      1.0,", "      true", "    ],"]
    lines += ['    "e": {},', '    "l": []', "  }", "}", ""]
    assert canonical(schema) == "\n".join(lines).encode()


def test_canonical_keeps_lone_surrogates() -> None:
    data = b'{"a\\udc00": "x\\ud800y \\\\ud800"}'
    schema = parse(data, "f.json")
    assert canonical(schema) == b'{\n  "a\\udc00": "x\\ud800y \\\\ud800"\n}\n'
    assert parse(canonical(schema), "f.json") == schema


# JSON joins a high and a low surrogate that meet, so only lone ones can be told apart from what was read.
texts = st.text(st.characters(codec="utf-8")) | st.sampled_from(["\ud800", "x\udfff", "\x7f", "\x00"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_canonical_round_trip(schema: dict[str, Any]) -> None:
    data = canonical(schema)
    again = parse(data, "f.json")
    assert again == schema
    assert canonical(again) == data


# check_metaschema


def test_valid_schema() -> None:
    check_metaschema(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": "#/$defs/a~1b~0%20c",
            "anyOf": [{"$ref": "#"}, {"$ref": "#/anyOf/0"}, True],
            "$defs": {"a/b~ c": {"type": "string", "pattern": "^x+$"}, "no": False},
            "properties": {"$ref": {"$ref": "#/$defs/no"}},
            "const": {"$ref": "not a reference"},
            "x-unknown": {"type": 3},
        },
        "f.json",
    )


def test_all_problems_at_once_with_their_pointers() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$defs": {
            "A": {"type": "strin"},
            "B": {"properties": {"a/b~": {"minLength": -1}}},
            "C": {"pattern": "("},
            "D": {"anyOf": [{"$ref": "#/$defs/Missing"}]},
            "E": {"$ref": "other.json#/$defs/A"},
            "F": {"$ref": "#anchor"},
            "G": {"items": 3, "required": "x"},
        },
    }
    assert sorted(place for place, _ in check_problems(schema)) == [
        "#/$defs/A/type",
        "#/$defs/B/properties/a~1b~0/minLength",
        "#/$defs/C/pattern",
        "#/$defs/D/anyOf/0/$ref",
        "#/$defs/E/$ref",
        "#/$defs/F/$ref",
        "#/$defs/G/items",
        "#/$defs/G/required",
        "#/$schema",
    ]


@pytest.mark.parametrize(
    "ref", ["#/$defs/X/y", "#/$defs/A/type", "#/anyOf", "#/anyOf/2", "#/anyOf/x", "#/anyOf/-1", "#/", "#x/anyOf/0"]
)
def test_reference_to_nothing(ref: str) -> None:
    schema = {"$ref": ref, "$defs": {"A": {"type": "string"}}, "anyOf": [True, {}]}
    assert check_problems(schema) == [("#/$ref", f"a reference to nothing: {ref!r}")]


@pytest.mark.parametrize("ref", ["http://host/x", "other.json", "", "/etc/passwd", "$defs/A"])
def test_reference_out_of_the_file(ref: str) -> None:
    assert check_problems({"$ref": ref}) == [("#/$ref", f"a reference out of the file: {ref!r}")]


def test_many_problems_are_counted() -> None:
    problems = check_problems({"$defs": {f"D{n}": {"type": 1} for n in range(50)}})
    assert len(problems) == 21
    assert problems[-1] == ("", "30 more such problems")


def test_hostile_text_is_quoted_and_cut() -> None:
    name = "\x1b[2J\n\u202e\ud800"
    problems = check_problems({"$defs": {name: {"type": "y" * 10_000}}, "$ref": f"#/{name}"})
    assert all(len(found) < 200 for _, found in problems)
    assert "".join(place + found for place, found in problems).isprintable()
    assert problems[0][0] == r"#/$defs/\x1b[2J\n\u202e\ud800/type"


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999}", "(" * 5000 + ")" * 5000])
def test_pattern_that_python_cannot_compile(pattern: str) -> None:
    assert [place for place, _ in check_problems({"pattern": pattern})] == ["#/pattern"]


def test_depth_bound_is_within_reach_of_the_checks() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 1):
        schema = {"not": schema, "description": "d"}
    check_metaschema(schema, "f.json")
    parse(canonical(strip(schema)), "f.json")


def test_pointer() -> None:
    assert pointer(()) == ""
    assert pointer(("a/b", 0, "~", "", "é")) == "/a~1b/0/~0//é"


# Right for some keyword and wrong for others.
VALUES: tuple[object, ...] = (0, -1, 0.5, "x", "", "[", True, None, [], [0], ["x", "x"], [{"type": 1}], {}, {"x": 1})


def keywords() -> list[str]:
    whole = _metaschema().schema
    assert isinstance(whole, dict)
    return sorted(whole["properties"])


@pytest.mark.parametrize("keyword", keywords())
def test_one_document_says_what_the_published_eight_do(keyword: str) -> None:
    """Of every keyword, at the top and below each kind of keyword that holds schemas; formats are ours alone."""
    ours, theirs = _metaschema().evolve(format_checker=None), Draft202012Validator(Draft202012Validator.META_SCHEMA)
    for value in VALUES:
        inner: dict[str, Any] = {keyword: value}
        below: tuple[dict[str, Any], ...] = (
            {"items": inner},
            {"allOf": [inner]},
            {"$defs": {"A": inner}},
            {"dependencies": {"A": inner}},
        )
        for schema in (inner, *below):
            found = [{tuple(error.absolute_path) for error in one.iter_errors(schema)} for one in (ours, theirs)]
            assert found[0] == found[1], schema

"""Keywords and shapes that the lowering table has no row for are refused, each with its JSON Pointer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny import (
    INTEGER,
    STRING,
    array,
    const,
    fallback,
    obj,
    ref,
    rejected,
    variant,
)  # fmt: skip

TABLE = "lowering table"


def within(schema: Any) -> dict[str, Any]:
    """The schema as the property `p` of a definition."""
    return {"A": obj({"p": schema})}


A = "/$defs/A"
P = "/$defs/A/properties/p"
KEYWORDS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # name: definitions, pointer, found, expected
    "unknown keyword": (within({"type": "string", "x-surprise": 1}), f"{P}/x-surprise", "'x-surprise'", TABLE),
    "of a definition": ({"A": {"type": "string", "maxLength": 3}}, "/$defs/A/maxLength", "'maxLength'", TABLE),
    "of an object": ({"A": obj({"p": STRING}, minProperties=1)}, "/$defs/A/minProperties", "'minProperties'", TABLE),
    "of a branch": (
        {"A": {"anyOf": [variant("t", "a", maxProperties=1)]}}, "/$defs/A/anyOf/0/maxProperties", "maxProperties", TABLE
    ),
    "of a tag": (
        {"A": {"anyOf": [obj({"t": {"const": "a", "minLength": 1}}, "t")]}},
        "/$defs/A/anyOf/0/properties/t/minLength", "minLength", TABLE,
    ),
    "of an enum": ({"A": {"oneOf": [const("a")], "minLength": 1}}, "/$defs/A/minLength", "minLength", TABLE),
    "of a constant": ({"A": {"oneOf": [{"const": "a", "x-y": 1}]}}, "/$defs/A/oneOf/0/x-y", "x-y", TABLE),
    "beside a reference": (within({**ref("A"), "type": "object"}), f"{P}/type", "'type'", TABLE),
    "beside a lone allOf": (within({"allOf": [ref("A")], "minProperties": 1}), f"{P}/minProperties", "min", TABLE),
    "inside a lone allOf": (
        within({"allOf": [{**ref("A"), "maxProperties": 1}]}), f"{P}/allOf/0/maxProperties", "maxP", TABLE
    ),
    "two in allOf": (within({"allOf": [ref("A"), ref("A")]}), f"{P}/allOf", "'allOf'", TABLE),
    "required beside untagged": (
        {"A": {"anyOf": [STRING, INTEGER], "required": ["a"]}}, "/$defs/A/required", "'required'", TABLE
    ),
    "both combinators": (
        {"A": {"anyOf": [variant("t", "a")], "oneOf": [variant("t", "b")]}}, "/$defs/A/oneOf", "'oneOf'", TABLE
    ),
    "both combinators in a branch": (
        {"A": {"anyOf": [{**variant("t", "a"), "anyOf": [obj({"x": STRING})], "oneOf": [obj({"y": STRING})]}]}},
        "/$defs/A/anyOf/0/oneOf", "'oneOf'", TABLE,
    ),
    "if": (within({"if": STRING, "then": {}, "else": {}}), f"{P}/if", "'if'", TABLE),
    "then": (within({"if": STRING, "then": {}, "else": {}}), f"{P}/then", "'then'", TABLE),
    "not": (within({"not": STRING}), f"{P}/not", "'not'", TABLE),
    "patternProperties": (
        {"A": obj({"p": STRING}, patternProperties={"^x": STRING})}, "/$defs/A/patternProperties", "patternP", TABLE
    ),
    "prefixItems": (within(array(STRING, prefixItems=[STRING])), f"{P}/prefixItems", "'prefixItems'", TABLE),
    "contains": (within(array(STRING, contains=STRING)), f"{P}/contains", "'contains'", TABLE),
    "maxItems": (within(array(STRING, maxItems=2)), f"{P}/maxItems", "'maxItems'", TABLE),
    "uniqueItems": (within(array(STRING, uniqueItems=True)), f"{P}/uniqueItems", "'uniqueItems'", TABLE),
    "maxLength": (within({**STRING, "maxLength": 2}), f"{P}/maxLength", "'maxLength'", TABLE),
    "exclusiveMinimum": (within({**INTEGER, "exclusiveMinimum": 2}), f"{P}/exclusiveMinimum", "exclusive", TABLE),
    "multipleOf": (within({**INTEGER, "multipleOf": 2}), f"{P}/multipleOf", "'multipleOf'", TABLE),
    "bounds of another kind": (within({**STRING, "minimum": 2}), f"{P}/minimum", "'minimum'", TABLE),
    "properties without type": ({"A": {"properties": {"p": STRING}}}, "/$defs/A/properties", "'properties'", TABLE),
    "default of a definition": ({"A": {**STRING, "default": "a"}}, "/$defs/A/default", "'default'", TABLE),
    "$defs": (within({**STRING, "$defs": {"B": STRING}}), f"{P}/$defs", "'$defs'", TABLE),
}  # fmt: skip

SHAPES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "closed object": (
        {"A": obj({"p": STRING}, additionalProperties=False)}, A, "additionalProperties: False", "true, or no"
    ),
    "unevaluated": (
        {"A": obj({"p": STRING}, unevaluatedProperties=False)}, A, "unevaluatedProperties: False", "true, or no"
    ),
    "properties and a map": (
        {"A": obj({"p": STRING}, additionalProperties=STRING)}, A, "additionalProperties: {", "true, or no"
    ),
    "empty map": (within({"type": "object", "additionalProperties": False}), P, "additionalProperties: false", "a"),
    "required without properties": (within({"type": "object", "required": ["a"]}), P, "required properties", "p"),
    "false as a schema": (within(False), P, "the schema False", "an object"),
    "kinds told apart by nothing": (within({"anyOf": [ref("A"), obj({})]}), P, "alternatives", "by $ref"),
    "two strings": (within({"anyOf": [STRING, {**STRING, "minLength": 1}]}), P, "alternatives", "by $ref"),
    "constants of two kinds": (within({"enum": ["a", 1]}), P, "the constants ['a', 1]", "strings only"),
    "true and 1": (within({"enum": [1, True]}), P, "the constants [1, True]", "integers of 64 bits only"),
    "a fraction as constant": (within({"const": 1.5}), P, "the constants [1.5]", "strings only"),
    "an object as constant": ({"A": {"const": {}}}, A, "the constants [{}]", "strings only"),
    "a huge constant": ({"A": {"enum": [2**64]}}, A, "the constants [18446", "64 bits"),
    "a huge titled constant": ({"A": {"anyOf": [{"const": 2**64}, INTEGER]}}, A, "constants of", "64 bits"),
    "titled constants of two kinds": ({"A": {"oneOf": [const("a"), const(1)]}}, A, "['int", "strings only"),
    "strings and any integer": ({"A": {"anyOf": [{"const": "a"}, INTEGER]}}, A, "constants of", "strings only"),
    "strings of type integer": (
        {"A": {"type": "integer", "oneOf": [{"const": "a"}]}}, A, "constants of", "strings only"
    ),
    "two constants of one name": (
        {"A": {"anyOf": [const(1, "Parse error"), const(2, "parse-error"), INTEGER]}}, A, "PARSE_ERROR", "differ"
    ),
    "a reference into a definition": (
        {"A": obj({"p": STRING}), "B": {"$ref": "#/$defs/A/properties/p"}}, "/$defs/B", "$ref", "#/$defs/NAME"
    ),
    "an alias of itself": ({"A": ref("A")}, A, "(A -> A)", "between"),
    "a circle of aliases": (
        {"A": ref("B"), "B": array(ref("C")), "C": ref("A")}, "/$defs/B", "(B -> C -> A -> B)", "between"
    ),
    "a union of itself": ({"A": {"anyOf": [STRING, array(ref("A"))]}}, A, "(A -> A)", "between"),
    "branches by different tags": (
        {"A": {"oneOf": [variant("t", "a"), variant("u", "b")]}}, "/$defs/A/oneOf/0", "properties differ", "all"
    ),
    "a tag twice": ({"A": {"oneOf": [variant("t", "a"), variant("t", "a")]}}, "/$defs/A/oneOf/1", "the tag 'a'", "one"),
    "two branches without tag": (
        {"A": {"anyOf": [variant("t", "a"), ref("B"), ref("C")]}, "B": obj({"b": STRING}), "C": obj({"c": STRING})},
        "/$defs/A/anyOf/2", "a second branch with the role of a default", "one such",
    ),
    "two fallbacks": (
        {"A": {"anyOf": [variant("t", "a"), fallback("t", "a"), fallback("t")]}},
        "/$defs/A/anyOf/2", "a second branch with the role of a fallback", "one such",
    ),
    "a tag that is a number": (
        {"A": {"anyOf": [variant("t", "a"), obj({"t": INTEGER}, "t")]}},
        "/$defs/A/anyOf/1/properties/t", "the tag as {'type': 'integer'}", "a bare string or null",
    ),
    "a variant that keeps extras": (
        {"A": {"anyOf": [variant("t", "a", additionalProperties=True)]}},
        "/$defs/A/anyOf/0", "a known variant that keeps unknown properties", "on the fallback only",
    ),
    "a payload that keeps extras": (
        {"A": {"anyOf": [variant("t", "a", "B")]}, "B": obj({"b": STRING}, additionalProperties=True)},
        "/$defs/A/anyOf/0", "keeps unknown", "fallback",
    ),
    "a union that keeps extras": (
        {"A": {"anyOf": [variant("t", "a")], "additionalProperties": True}}, A, "keep unknown", "fallback"
    ),
    "a payload that is no object": (
        {"A": {"anyOf": [variant("t", "a", "B")]}, "B": STRING}, "/$defs/A/anyOf/0", "B as the payload", "of an object"
    ),
    "a not over another property": (
        {"A": {"anyOf": [variant("t", "a"), {**fallback("t"), "not": obj({"u": const("x")})}]}},
        "/$defs/A/anyOf/1/not/properties/u", "a `not` over 'u'", "constants of the tag 't'",
    ),
    "a recursive nested union": (
        {"A": {"anyOf": [variant("t", "a", "A")]}}, "/$defs/A/anyOf/0", "the union A here", "not recursive"
    ),
    "a nested union by the same tag": (
        {"A": {"anyOf": [variant("t", "a", "B")]}, "B": {"anyOf": [variant("t", "b")]}},
        "/$defs/A/anyOf/0", "the union B here", "with its own tag",
    ),
    "fields beside a nested union": (
        {"A": {"anyOf": [variant("t", "a", "B")], "properties": {"x": STRING}}, "B": {"anyOf": [variant("u", "b")]}},
        "/$defs/A/anyOf/0", "fields beside a nested union", "none",
    ),
    "two properties in conflict": (
        {"A": {"anyOf": [variant("t", "a", "B")], "properties": {"x": STRING}}, "B": obj({"x": INTEGER})},
        "/$defs/B", "two different properties 'x'", "one definition",
    ),
    "groups in groups": (
        {"A": obj({"x": STRING}, anyOf=[ref("B")]), "B": obj({"y": STRING}, anyOf=[ref("C")]), "C": obj({"z": STRING})},
        A, "the property group", "plain properties",
    ),
    "a group that requires what nothing describes": (
        {"A": obj({"x": STRING}, oneOf=[{"required": ["x"]}, {"required": ["y"]}])},
        "/$defs/A/oneOf/1", "'y' required of a group and not described", "a property",
    ),
    "a property beside groups and in one of them": (
        {"A": obj({"x": STRING}, oneOf=[obj({"x": STRING}, "x"), obj({"y": STRING}, "y")])},
        "/$defs/A", "'x' described beside groups of properties and in one of them", "one place",
    ),
    "a record with groups": (
        {"A": obj({"x": STRING}, additionalProperties=True, anyOf=[obj({"y": STRING})])}, A, "record", "other"
    ),
    "an alternative that keeps extras": (
        {"A": {"anyOf": [obj({"x": STRING}, additionalProperties=True), STRING]}}, "/$defs/A/anyOf/0", "keeps", "$ref"
    ),
    "alternatives beside another type": ({"A": {"type": "string", "anyOf": [ref("B"), {}]}, "B": {}}, A, "type", "t"),
    "properties of a string": (
        {"A": {"anyOf": [{**variant("t", "a"), "type": "string"}]}}, "/$defs/A/anyOf/0", "type 'string'", "object"
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", [*KEYWORDS.items(), *SHAPES.items()], ids=lambda row: row[0])
def test_rejected(tmp_path: Path, row: tuple[str, tuple[dict[str, Any], str, str, str]]) -> None:
    defs, pointer, found, expected = row[1]
    problems = rejected(tmp_path, defs)
    assert [one for one in problems if one[0] == pointer and found in one[1] and expected in one[2]], problems

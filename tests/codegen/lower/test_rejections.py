"""Values that keywords cannot have are refused, each with its JSON Pointer, and all problems of a file together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny import (
    INTEGER,
    STRING,
    array,
    build,
    const,
    nullable,
    obj,
    ref,
    rejected,
    variant,
)  # fmt: skip

META = "by the 2020-12 metaschema"
OWN = "a value of the property's own type"


def within(schema: Any) -> dict[str, Any]:
    """The schema as the property `p` of a definition."""
    return {"A": obj({"p": schema})}


A = "/$defs/A"
P = "/$defs/A/properties/p"
VALUES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "a flag that is text": (
        within({**STRING, "x-deserialize-default-on-error": "true"}), P, "on-error: 'true'", "true or false"
    ),
    "a flag that is a number": (
        within({**array(STRING), "x-deserialize-skip-invalid-items": 1}), P, "invalid-items: 1", "true or false"
    ),
    "a flag that is null": (
        within({**array(STRING), "x-deserialize-default-on-null": None}), P, "on-null: None", "true or false"
    ),
    "skipped items of no array": (
        within({**STRING, "x-deserialize-skip-invalid-items": True}), P, "skip-invalid-items", "on an array"
    ),
    "null for nothing": (
        within({**STRING, "x-deserialize-default-on-null": True}), P, "default-on-null", "a default"
    ),
    "a default of another kind": (within({**INTEGER, "default": "x"}), f"{P}/default", "'x'", OWN),
    "true for a number": (within({"type": "number", "default": True}), f"{P}/default", "True", OWN),
    "1.0 for an integer": (within({**INTEGER, "default": 1.0}), f"{P}/default", "1.0", OWN),
    "a default out of bounds": (
        within({"type": "integer", "format": "uint16", "default": -1}), f"{P}/default", "-1", OWN
    ),
    "a default too short": (within({**STRING, "minLength": 1, "default": ""}), f"{P}/default", "''", OWN),
    "a default off its pattern": (within({**STRING, "pattern": "^a", "default": "b"}), f"{P}/default", "'b'", OWN),
    "an empty default": (within(array(STRING, minItems=1, default=[])), f"{P}/default", "[]", OWN),
    "an item of another kind": (within(array(STRING, default=["a", 1])), f"{P}/default", "['a', 1]", OWN),
    "a value of another kind": (
        within({"type": "object", "additionalProperties": STRING, "default": {"a": 1}}), f"{P}/default", "1", OWN
    ),
    "no constant": (within({"enum": ["a"], "default": "b"}), f"{P}/default", "'b'", OWN),
    "no member of a closed enum": (
        {**within({**ref("E"), "default": "b"}), "E": {"enum": ["a"]}}, f"{P}/default", "'b'", OWN
    ),
    "an object without what it needs": (
        {**within({**ref("B"), "default": {}}), "B": obj({"b": STRING}, "b")}, f"{P}/default", "{}", OWN
    ),
    "an object with more than it has": (
        {**within({**ref("B"), "default": {"c": 1}}), "B": obj({"b": STRING})}, f"{P}/default", "'c'", OWN
    ),
    "a default of a union": (
        {**within({**ref("U"), "default": {"t": "a"}}), "U": {"oneOf": [variant("t", "a"), variant("t", "b")]}},
        f"{P}/default", "{'t': 'a'}", OWN,
    ),
    "a huge default": (within({**INTEGER, "default": 2**64}), f"{P}/default", "18446744073709551616", "64 bits"),
    "a huge length": (within({**STRING, "minLength": 2**64}), P, "minLength", "64 bits"),
    "a huge count": (within(array(STRING, minItems=2**64)), P, "minItems", "64 bits"),
}  # fmt: skip


@pytest.mark.parametrize("row", VALUES.items(), ids=lambda row: row[0])
def test_rejected(tmp_path: Path, row: tuple[str, tuple[dict[str, Any], str, str, str]]) -> None:
    defs, pointer, found, expected = row[1]
    problems = rejected(tmp_path, defs)
    assert [one for one in problems if one[0] == pointer and found in one[1] and expected in one[2]], problems


@pytest.mark.parametrize(
    ("schema", "pointer", "expected"),
    [
        ({"type": "strng"}, f"{P}/type", META),
        ({"type": []}, f"{P}/type", META),
        ({"type": "array", "items": [STRING]}, f"{P}/items", META),
        ({"minLength": -1}, f"{P}/minLength", META),
        ({"pattern": "("}, f"{P}/pattern", META),
        ({"anyOf": []}, f"{P}/anyOf", META),
        ({"description": 5}, f"{P}/description", META),
        (ref("Nothing"), f"{P}/$ref", "#/$defs/NAME"),
        ({"$ref": "other.json#/$defs/A"}, f"{P}/$ref", "#/$defs/NAME"),
    ],
)
def test_rejected_by_the_metaschema(tmp_path: Path, schema: Any, pointer: str, expected: str) -> None:
    problems = rejected(tmp_path, within(schema))
    assert [one for one in problems if one[0] == pointer and expected in one[2]], problems


def test_several_problems_of_one_file_are_reported_together(tmp_path: Path) -> None:
    defs = {
        "A": obj({"p": {**STRING, "maxLength": 1}, "q": {**STRING, "x-deserialize-default-on-error": 1}}),
        "B": {"oneOf": [const("a"), const(1)]},
        "C-D": STRING,
        "E": obj({"p": nullable({**INTEGER, "multipleOf": 2})}),
    }
    assert [place for place, _, _ in rejected(tmp_path, defs)] == [
        "/$defs/C-D",
        "/$defs/A/properties/p/maxLength",
        "/$defs/A/properties/q",
        "/$defs/B",
        "/$defs/E/properties/p/anyOf/0/multipleOf",
    ]


def test_problems_of_both_channels_are_reported_together(tmp_path: Path) -> None:
    bad = {"A": {**STRING, "maxLength": 1}}
    places = [place for place, _, _ in rejected(tmp_path, bad, unstable=bad)]
    assert places == ["/$defs/A/maxLength", "schema.unstable.json#/$defs/A/maxLength"]


def test_a_reference_may_be_percent_encoded(tmp_path: Path) -> None:
    module = build(tmp_path, {"Foo": STRING, "A": obj({"p": {"$ref": "#/$defs/F%6Fo"}}, "p")})
    assert module.decode('{"p": "x"}', module.A).p == "x"

"""The makers of values keep their promises: valid is valid, the seed decides, everything is plain JSON."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .values import Values, validator

SCHEMAS = sorted(Path(__file__).parents[2].glob("schema/*/*.json"))
SEEDS = 12  # per definition of a committed schema


def tagged(key: str, tag: str, payload: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "const": tag}}
    return {"type": "object", "properties": properties, "required": [key], "allOf": [{"$ref": f"#/$defs/{payload}"}]}


def text_field(name: str, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string", **beside}}, "required": [name]}


OTHER = {**text_field("kind"), "not": {"anyOf": [text_field("kind", const="a"), text_field("kind", const="b")]}}
SCOPES = [
    {"title": "Session", "allOf": [{"$ref": "#/$defs/A"}]},
    {"title": "Request", "allOf": [{"$ref": "#/$defs/B"}]},
]
TINY: dict[str, Any] = {
    "$defs": {
        "A": text_field("name", minLength=1),
        "B": text_field("uri", format="uri"),
        "Open": {
            "anyOf": [tagged("kind", "a", "A"), tagged("kind", "b", "B"), {**OTHER, "additionalProperties": True}]
        },
        "Closed": {"oneOf": [tagged("kind", "a", "A"), tagged("kind", "b", "B")]},
        "Untagged": {"anyOf": [tagged("kind", "a", "A"), {"title": "b", "allOf": [{"$ref": "#/$defs/B"}]}]},
        "Scoped": {**text_field("mode"), "oneOf": SCOPES},
        "Enum": {"anyOf": [{"type": "string", "const": "a"}, {"title": "other", "type": "string"}]},
        "Map": {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/Closed"}},
        "List": {"type": "array", "items": {"$ref": "#/$defs/Enum"}, "minItems": 2},
        "Small": {"type": "integer", "format": "uint16", "minimum": 100, "maximum": 102},
        "Share": {"type": ["number", "null"], "format": "double", "minimum": 0, "maximum": 1},
        "Anything": {},
    }
}


def drawn(name: str, count: int = 300) -> list[Any]:
    values = Values(TINY)
    return [values.valid(name, random.Random(f"seed {seed}")) for seed in range(count)]


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: "/".join(path.parts[-2:]))
def test_valid_values_of_a_published_schema_are_valid(path: Path) -> None:
    schema = json.loads(path.read_text())
    values = Values(schema)
    for name in schema["$defs"]:
        is_valid = validator(schema, name)
        for seed in range(SEEDS):
            value = values.valid(name, random.Random(f"{name} {seed}"))
            assert is_valid(value), (name, seed, value)


@pytest.mark.parametrize("name", TINY["$defs"])
def test_valid_values_are_valid(name: str) -> None:
    is_valid = validator(TINY, name)
    assert [value for value in drawn(name) if not is_valid(value)] == []


def test_every_branch_is_drawn() -> None:
    assert {"a", "b", "_acme.dev/chart", "some_future_thing"} <= {value["kind"] for value in drawn("Open")}
    assert {value["kind"] for value in drawn("Closed")} == {"a", "b"}
    assert {"a", "_acme_other", ""} <= set(drawn("Enum"))
    assert {type(value) for value in drawn("Map")} == {dict, type(None)}
    assert set(drawn("Small")) == {100, 101, 102}
    assert any(value.keys() > {"kind"} for value in drawn("Open") if value["kind"].startswith("_"))


def test_untagged_branch_has_unknown_tags_only() -> None:
    tags = {str(value.get("kind")) for value in drawn("Untagged", 1000) if "name" not in value}
    assert "None" in tags
    assert "a" not in tags
    assert len(tags) > 3


def test_only_one_branch_of_a_one_of_holds() -> None:
    assert {("name" in value, "uri" in value) for value in drawn("Scoped")} == {(True, False), (False, True)}


def test_the_seed_decides() -> None:
    def made(seed: int) -> list[object]:
        values, rng = Values(TINY), random.Random(seed)
        valid = values.valid("Map", rng)
        return [valid, values.mutated(valid, rng), values.hostile(rng)]

    assert made(7) == made(7)
    assert any(made(7) != made(seed) for seed in range(8, 12))


def test_damage_spares_the_original_and_mostly_shows() -> None:
    values, is_valid = Values(TINY), validator(TINY, "Closed")
    invalid = 0
    for seed, value in enumerate(drawn("Closed")):
        before = copy.deepcopy(value)
        damaged = values.mutated(value, random.Random(seed))
        assert value == before
        json.dumps(damaged, allow_nan=False)
        invalid += not is_valid(damaged)
    assert 150 < invalid < 300


def test_hostile_values_are_plain_json_of_limited_depth() -> None:
    def depth(value: object) -> int:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return 1 + max(map(depth, parts), default=0)

    made = [Values(TINY).hostile(random.Random(seed)) for seed in range(500)]
    assert 40 < max(map(depth, made)) <= 51
    for value in made:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        assert json.loads(text.encode()) == value


def test_integers_can_be_kept_small() -> None:
    values = Values({"$defs": {"Count": {"type": "integer", "format": "uint64", "minimum": 0}}}, largest=2**53 - 1)
    counts = [values.valid("Count", random.Random(seed)) for seed in range(200)]
    assert max(count for count in counts if isinstance(count, int)) == 2**53 - 1


def test_unsupported_keywords_are_refused() -> None:
    with pytest.raises(ValueError, match="unsupported keyword patternProperties"):
        Values({"$defs": {"X": {"patternProperties": {}}}}).valid("X", random.Random(0))


@given(st.sampled_from(sorted(TINY["$defs"])), st.randoms(use_true_random=False))
def test_hypothesis_can_drive_it(name: str, rng: random.Random) -> None:
    values = Values(TINY)
    value = values.valid(name, rng)
    assert validator(TINY, name)(value)
    values.mutated(value, rng)
    values.hostile(rng)

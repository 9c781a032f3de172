"""Any definitions either become a package that works, or are refused with a CodegenError. Nothing else."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codegen.errors import CodegenError
from codegen.names import class_name
from tests.support.tiny import INTEGER, STRING, array, build, const, fallback, nullable, obj, ref, variant
from tests.support.values import Values

NAMES = ("A", "B", "C", "D")
WIRES = ("type", "kind", "fooBar", "foo_bar", "_meta", "meta", "default", "list", "str", "class", "self", "x", "")
TAGS = ("a", "b", "_c", "a b", "A", "", "none", "other")
TEXTS = st.sampled_from(["", "plain", 'q"', "b\\", '"""', "{{ x }}", "\u0000", "\\N{x}"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(TAGS) | st.sampled_from([1.5, 2**70, -0.0])
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=2) | st.dictionaries(st.sampled_from(WIRES), v, max_size=2), max_leaves=4
)
KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")
REFERENCES = st.builds(lambda name: {"$ref": f"#/$defs/{name}"}, st.sampled_from(NAMES))
WIRE = st.sampled_from(WIRES)


def mapped(**keywords: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of these keywords, under their schema names: `ref_` is `$ref`, `x_a_b` is `x-a-b`."""
    return st.fixed_dictionaries({}, optional={_keyword(name): value for name, value in keywords.items()})


def _keyword(name: str) -> str:
    return name.rstrip("_").replace("_", "-") if name.startswith("x_") else name.rstrip("_")


# Keywords that may stand beside anything. Few of them, else nothing would get past the first check.
BESIDE = st.one_of(
    *[st.just({})] * 150,
    mapped(default=VALUES),
    mapped(title=TEXTS, description=TEXTS),
    mapped(
        x_deserialize_default_on_error=st.just(True),
        x_deserialize_skip_invalid_items=st.just(True),
        x_deserialize_default_on_null=st.just(True),
    ),
    mapped(
        minimum=st.integers(-3, 3) | st.just(0.5), maximum=st.just(2**70), format=st.sampled_from(["uint16", "uri"])
    ),
    mapped(minLength=st.integers(0, 2), pattern=st.sampled_from(["^a", ""]), minItems=st.integers(0, 2)),
    mapped(type=st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)),
    mapped(additionalProperties=st.booleans(), required=st.lists(WIRE, max_size=2, unique=True)),
    mapped(const=VALUES),
    mapped(enum=st.lists(SCALARS, max_size=3)),
    mapped(discriminator=VALUES, uniqueItems=st.booleans(), x_unknown=VALUES),
)
LEAVES = st.one_of(
    st.just({}),
    REFERENCES,
    REFERENCES.map(lambda one: {"allOf": [one]}),
    st.builds(lambda kind: {"type": kind}, st.sampled_from(KINDS)),
    st.builds(lambda tag: {"const": tag}, SCALARS),
    st.builds(lambda tag: {"const": tag, "type": "string"}, st.sampled_from(TAGS)),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(WIRE, inner, max_size=3)
    return st.builds(
        lambda fields, extra: {"type": "object", "properties": fields, "required": sorted({*fields} & {*extra})},
        properties,
        st.lists(WIRE, max_size=4),
    )


def branches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Alternatives of a union by tag: with a payload or fields, without the tag, or a fallback."""
    tag = st.sampled_from(("type", "kind"))

    def tagged(wire: str, value: object, rest: dict[str, Any]) -> dict[str, Any]:
        fields = {**rest.get("properties", {}), wire: value}
        return {"type": "object", "required": [wire], **rest, "properties": fields}

    value = st.builds(lambda one: {"const": one, "type": "string"}, st.sampled_from(TAGS))
    bare = st.sampled_from([{"type": "string"}, {"type": "null"}, {"type": ["string", "null"]}])
    rest = st.one_of(
        st.just({}),
        REFERENCES.map(lambda one: {"allOf": [one]}),
        REFERENCES,
        objects(inner),
        st.builds(lambda one: {"title": "other", "additionalProperties": True, "not": one}, inner),
    )
    return st.builds(tagged, tag, value | value | bare, rest) | rest


def unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda keyword, options, beside: {**beside, keyword: options},
        st.sampled_from(("anyOf", "oneOf")),
        st.lists(branches(inner) | inner, min_size=1, max_size=4),
        st.just({}) | objects(inner),
    )


SCHEMAS = st.recursive(
    st.builds(lambda one, beside: {**one, **beside}, LEAVES, BESIDE),
    lambda inner: st.builds(
        lambda one, beside: {**one, **beside},
        st.one_of(
            objects(inner),
            unions(inner),
            st.builds(lambda one: {"type": "array", "items": one}, inner),
            st.builds(lambda one: {"type": "object", "additionalProperties": one}, inner),
        ),
        BESIDE,
    ),
    max_leaves=6,
)

ON_ERROR = {"x-deserialize-default-on-error": True}
# Every shape of the lowering table, for mutations to start from.
PLAIN: dict[str, Any] = {
    "Block": {
        "anyOf": [variant("type", "text", "Text"), variant("type", "old"), fallback("type", "text", "old", id=STRING)]
    },
    "Text": obj({"text": STRING, "_meta": {"type": ["object", "null"], **ON_ERROR}}, "text"),
    "Update": {"oneOf": [variant("kind", "state", "State"), variant("kind", "block", "Used")]},
    "State": {
        "properties": {"at": INTEGER},
        "anyOf": [variant("state", "idle"), obj({"state": {"type": "null"}}, title="none")],
    },
    "Used": obj({"blocks": array(ref("Block"), minItems=1), "level": {**INTEGER, "default": 3}}, "blocks"),
    "Server": {"anyOf": [variant("type", "http", "Text"), {"title": "stdio", "allOf": [ref("Used")]}]},
    "Kind": {"anyOf": [const("a"), const("b"), STRING]},
    "Code": {"anyOf": [const(1, "one"), {"type": "integer", "format": "int32"}]},
    "Level": {"oneOf": [const("low"), const("high")]},
    "Scoped": obj(
        {"used": ref("Used"), "kind": nullable(ref("Kind"))}, oneOf=[obj({"s": STRING}, "s"), obj({"r": {}}, "r")]
    ),
    "Either": {"anyOf": [ref("Text"), ref("Used"), array(ref("Text")), {"type": "null"}]},
    "Open": obj({"code": ref("Code"), "placed": obj({"x": {"type": "number"}})}, "code", additionalProperties=True),
    "Tree": obj({"trees": {**array(ref("Tree")), "x-deserialize-skip-invalid-items": True}, "map": ref("Map")}),
    "Map": {"type": "object", "additionalProperties": ref("Level")},
}


def slots(holder: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a schema that has a value."""
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from slots(holder[key])


def mutated(rng: random.Random) -> dict[str, Any]:
    """The plain schema with one to three parts of it dropped, doubled, renamed, or put where others were."""
    schema: dict[str, Any] = json.loads(json.dumps(PLAIN))
    for _ in range(rng.randint(1, 3)):
        parts = [holder[key] for holder, key in slots(PLAIN) if isinstance(holder, dict)]
        holder, key = rng.choice(list(slots(schema)))
        how = rng.randrange(5)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        elif how == 2 and isinstance(holder, dict):
            holder[rng.choice(WIRES)] = holder.pop(key)
        elif how == 3:
            holder[key] = ref(rng.choice(list(PLAIN)))
        else:
            holder[key] = json.loads(json.dumps(rng.choice(parts)))
    return schema


def check(defs: dict[str, Any], rng: random.Random) -> None:
    """Generate and import; then every definition decodes valid and other values, or refuses them with a DecodeError."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            module: Any = build(Path(folder), defs)
        except CodegenError:
            return
        values = Values({"$defs": defs})
        for name in defs:
            form = getattr(module, class_name(name) or name, None)
            for value in (values.hostile(rng), *drawn(values, name, rng)):
                try:
                    found = module.decode(json.dumps(value), form)
                except module.DecodeError:
                    continue
                assert module.decode(module.encode(found), form) == found


def drawn(values: Values, name: str, rng: random.Random) -> Iterator[object]:
    """Values that are valid, where the maker of values can think of any."""
    with suppress(ValueError):
        value = values.valid(name, rng)
        yield value
        yield values.mutated(value, rng)


SLOW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@SLOW
@given(st.fixed_dictionaries({"A": SCHEMAS, "B": SCHEMAS, "C": SCHEMAS}), st.randoms(use_true_random=False))
def test_schemas_made_of_known_keywords(defs: dict[str, Any], rng: random.Random) -> None:
    check({**defs, "D": obj({"x": STRING}, "x")}, rng)


@SLOW
@given(st.randoms(use_true_random=False))
def test_schemas_with_parts_in_other_places(rng: random.Random) -> None:
    check(mutated(rng), rng)


@SLOW
@given(st.randoms(use_true_random=False))
def test_schemas_that_are_any_json(rng: random.Random) -> None:
    """Mostly no schemas at all."""
    oddities = Values({"$defs": PLAIN})
    check(
        {rng.choice((*PLAIN, "a-b", "")): oddities.hostile(rng), "Damaged": oddities.mutated(PLAIN["Block"], rng)}, rng
    )


def test_the_plain_schema_is_accepted() -> None:
    """Else its mutations would test little."""
    with tempfile.TemporaryDirectory() as folder:
        module: Any = build(Path(folder), PLAIN)
        assert set(PLAIN) <= set(module.__all__)

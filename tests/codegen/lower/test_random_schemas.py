"""Any definitions either become a package that works, or are refused with a CodegenError. Nothing else."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

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

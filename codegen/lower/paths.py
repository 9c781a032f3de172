"""Paths of wire names through the definitions, such as `capabilities.session` and `prompt[].type`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codegen import ir

ITEMS = "[]"


def steps(path: str) -> Iterator[str]:
    """The steps of a path: names, and ITEMS where it goes on with each item of a list."""
    for part in path.split("."):
        name = part.removesuffix(ITEMS)
        yield name
        if name != part:
            yield ITEMS


def find(start: str, path: str, definitions: Mapping[str, ir.Definition]) -> ir.Type | None:
    """The type at the end of a path that begins in a definition; None where it leads nowhere."""
    kind: ir.Type | None = ir.Ref(start)
    for step in steps(path):
        kind = _step(kind, step, definitions) if kind is not None else None
    return kind


def choices(kind: ir.Type, definitions: Mapping[str, ir.Definition]) -> frozenset[str] | None:
    """The strings that a type lists; None for one that does not list any."""
    match kind:
        case ir.Const(values):
            return frozenset(str(value) for value in values)
        case ir.Nullable(of):
            return choices(of, definitions)
        case ir.Ref(name):
            definition = definitions.get(name)
            if isinstance(definition, ir.Alias):
                return choices(definition.type, definitions)
            if isinstance(definition, ir.Enum):
                return frozenset(str(value) for _, value in definition.members)
    return None


def _step(kind: ir.Type, step: str, definitions: Mapping[str, ir.Definition]) -> ir.Type | None:
    match kind:
        case ir.Nullable(of):
            return _step(of, step, definitions)
        case ir.Array(items):
            return items if step == ITEMS else None
        case ir.Ref(name):
            return _member(definitions.get(name), step, definitions)
    return None


def _member(definition: ir.Definition | None, wire: str, definitions: Mapping[str, ir.Definition]) -> ir.Type | None:
    match definition:
        case ir.Alias(type=kind):
            return _step(kind, wire, definitions)
        case ir.Struct(stands_for=ir.TaggedUnion() as union):
            return _member(union, wire, definitions)
        case ir.Struct() | ir.Record() | ir.Fallback():
            own = next((field.type for field in definition.fields if field.wire == wire), None)
            if own is None and isinstance(definition, ir.Struct) and definition.base:
                return _member(definitions.get(definition.base), wire, definitions)
            return own
        case ir.TaggedUnion():
            if wire == definition.tag:
                return ir.Const(tuple(variant.value for variant in definition.variants))
            found = (_member(definitions[name], wire, definitions) for name in definition.classes())
            return next((kind for kind in found if kind is not None), None)
    return None

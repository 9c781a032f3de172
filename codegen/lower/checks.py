"""Checks that need a whole schema or a whole profile: values that no message can carry, defaults, names, aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from codegen import ir
from codegen.lower.view import Problems
from codegen.names import constant_name

_SURROGATE = re.compile("[\ud800-\udfff]")
# Their values stand in no message.
_UNWRITTEN = frozenset({"title", "description", "$comment", "minimum", "maximum"})
_INTEGERS = range(-(2**63), 2**64)
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check_scalars(schema: Mapping[str, Any], problems: Problems) -> None:
    """Report lone surrogates and huge integers wherever they would have to be written or matched."""
    for pointer, value in _scalars(schema.get("$defs", {}), "/$defs"):
        if isinstance(value, str) and _SURROGATE.search(value):
            problems.add(pointer, f"a lone surrogate in {value!r}", "text that UTF-8 can carry")
        elif isinstance(value, int) and value not in _INTEGERS:
            problems.add(pointer, f"the number {value}", "an integer of 64 bits")


def _scalars(node: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield pointer, key
            if key not in _UNWRITTEN or isinstance(value, dict | list):
                yield from _scalars(value, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _scalars(value, f"{pointer}/{index}")
    else:
        yield pointer, node


def check_definitions(definitions: Mapping[str, ir.Definition], problems: Problems) -> None:
    """Report defaults that do not fit their property, aliases made of themselves, and constants of one name."""
    originals = {new: old for old, new in problems.renamed.items()}
    known: dict[str, str] = dict.fromkeys(definitions, "a definition")
    for name, definition in definitions.items():
        pointer = f"/$defs/{originals.get(name, name)}"
        cycle = _cycle(name, definitions)
        if cycle:
            problems.add(pointer, f"an alias that contains itself ({' -> '.join(cycle)})", "an object in between")
        if isinstance(definition, ir.Enum) and definition.open:
            titles = [constant_name(title) for title, _ in definition.members]
            if definition.kind == "integer" and len(set(titles)) < len({value for _, value in definition.members}):
                problems.add(pointer, f"two constants of one name among {', '.join(titles)}", "titles that differ")
            constant = f"KNOWN_{constant_name(name)}"
            if definition.kind == "string" and known.setdefault(constant, name) != name:
                problems.add(pointer, f"{constant}, which is {known[constant]} already", "another name")
    if problems.found:
        return  # a default of an alias of itself has no end
    for pointer, value, kind in problems.defaults:
        if not fits(value, kind, definitions):
            problems.add(pointer, f"the default {value!r}", "a value of the property's own type")


def _cycle(start: str, definitions: Mapping[str, ir.Definition]) -> list[str]:
    """The way from an alias or a union back to itself without a class on it; empty when there is none."""
    ways = [[start]]
    seen = set()
    while ways:
        way = ways.pop()
        definition = definitions[way[-1]]
        if way[-1] in seen or isinstance(definition, ir.Struct | ir.Record | ir.Fallback):
            continue
        seen.add(way[-1])
        for name in ir.references(definition):
            if name == start:
                return [*way, name]
            ways.append([*way, name])
    return []


def fits(value: Any, kind: ir.Type, definitions: Mapping[str, ir.Definition]) -> bool:
    """Whether a default can be written as Python of this type."""
    match kind:
        case ir.AnyType():
            return True
        case ir.Nullable(inner):
            return value is None or fits(value, inner, definitions)
        case ir.Choice(options):
            return any(fits(value, option, definitions) for option in options)
        case ir.Const(values):
            return any(type(value) is type(one) and value == one for one in values)
        case ir.Array(items, least):
            return isinstance(value, list) and len(value) >= least and all(fits(v, items, definitions) for v in value)
        case ir.Map(values=values):
            return isinstance(value, dict) and all(fits(item, values, definitions) for item in value.values())
        case ir.Scalar():
            return _fits_scalar(value, kind)
        case ir.Ref(name):
            return _fits_definition(value, definitions[name], definitions)


def _fits_scalar(value: Any, kind: ir.Scalar) -> bool:
    if not isinstance(value, _KINDS[kind.kind]) or (isinstance(value, bool) and kind.kind != "boolean"):
        return False
    if isinstance(value, str):
        pattern = kind.pattern is None or re.search(kind.pattern, value) is not None
        return pattern and len(value) >= (kind.min_length or 0)
    if not isinstance(value, int | float):
        return True
    return (kind.minimum is None or value >= kind.minimum) and (kind.maximum is None or value <= kind.maximum)


def _fits_definition(value: Any, definition: ir.Definition, definitions: Mapping[str, ir.Definition]) -> bool:
    match definition:
        case ir.Alias(type=kind):
            return fits(value, kind, definitions)
        case ir.Enum(kind=name, minimum=low, maximum=high, members=members, open=is_open):
            return _fits_scalar(value, ir.Scalar(name, low, high)) and (is_open or value in dict(members).values())
        case ir.Struct(tag=None, stands_for=None) if isinstance(value, dict):
            fields: dict[str, ir.Field] = {}
            base: ir.Definition | None = definition
            while isinstance(base, ir.Struct):
                fields |= {field.wire: field for field in base.fields}
                base = definitions.get(base.base or "")
            known = all(wire in fields and fits(item, fields[wire].type, definitions) for wire, item in value.items())
            return known and all(wire in value for wire, field in fields.items() if field.required)
    return False

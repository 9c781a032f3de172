"""IR nodes in a few words of JSON and JSON Schema: `string | null`, `[ContentBlock]`, `integer 0..65535`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from codegen import ir


def of_type(kind: ir.Type) -> str:
    """A type as a reader of the wire sees it."""
    match kind:
        case ir.AnyType():
            return "any"
        case ir.Scalar():
            return _scalar(kind)
        case ir.Const(values):
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
        case ir.Ref(name):
            return name
        case ir.Array(items, least):
            return f"[{of_type(items)}]" + (f" of {least} or more" if least else "")
        case ir.Map(values=values):
            return f"{{string: {of_type(values)}}}"
        case ir.Nullable(inner):
            return f"{of_type(inner)} | null"
        case ir.Choice(options):
            return " | ".join(map(of_type, options))


def _scalar(kind: ir.Scalar) -> str:
    text = kind.kind + bounds(kind.minimum, kind.maximum)
    if kind.min_length:
        text += f" of {kind.min_length} or more characters"
    return text + (f" like {kind.pattern}" if kind.pattern else "")


def bounds(low: int | float | None, high: int | float | None) -> str:
    """` 0..65535`, ` from 0`, ` up to 7`, or nothing."""
    if low is not None and high is not None:
        return f" {low}..{high}"
    return f" from {low}" if low is not None else f" up to {high}" if high is not None else ""


def of_field(field: ir.Field) -> str:
    """A field without its name: type, requiredness, default, tolerance."""
    parts = [of_type(field.type)]
    if field.constant or field.required:
        parts.append("required")
    if field.default is not None:
        parts.append(f"default {field.default.json}")
    return ", ".join([*parts, *marks(field)])


def marks(field: ir.Field) -> Iterator[str]:
    """The tolerance of a field, mark by mark."""
    if field.on_error:
        yield "default on error"
    if field.skip_items:
        yield "skips invalid items"
    if field.on_null:
        yield "default on null"


def of_groups(groups: ir.Groups | None) -> str:
    if groups is None:
        return ""
    rule = "exactly one of" if groups.exclusive else "at least one of"
    return f"{rule} " + ", ".join(f"{one.title or 'untitled'} ({', '.join(one.required)})" for one in groups.groups)


def quoted(values: Iterable[str | int]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)


def kind_of(definition: ir.Definition) -> str:
    """What a definition is, in two or three words."""
    match definition:
        case ir.Alias(type=kind):
            return of_type(kind)
        case ir.Enum(open=is_open, kind=kind):
            return f"{'open' if is_open else 'closed'} {kind} enum"
        case ir.Struct(stands_for=None):
            return "object"
        case ir.Record():
            return "open record"
        case ir.Fallback(union=union):
            return f"unknown variants of {union}"
        case ir.UntaggedUnion(options=options):
            return " | ".join(map(of_type, options))
        case ir.TaggedUnion() as union:
            return f"{'open' if union.fallback else 'closed'} union"
        case ir.Struct(stands_for=ir.TaggedUnion() as union):
            return f"{'open' if union.fallback else 'closed'} union"
    raise AssertionError(definition)

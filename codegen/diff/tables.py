"""Definitions as lists of members, the old one beside the new one."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import ir
from codegen.diff import notation
from codegen.diff.fits import members, tagged
from codegen.diff.report import Row, Table


def table(old: ir.Profile, new: ir.Profile, before: str, after: str) -> Table:
    """One definition by its old and its new name; one of them may be empty."""
    ours = dict(_lines(old, before)) if before else {}
    theirs = dict(_lines(new, after)) if after else {}
    # In the new order, what is gone after its old neighbour.
    order = list(theirs)
    at = -1
    for member in ours:
        if member in theirs:
            at = order.index(member)
        else:
            at += 1
            order.insert(at, member)
    rows = tuple(Row(member, ours.get(member, ""), theirs.get(member, "")) for member in order)
    return Table((new.name,), before, after, rows)


def _lines(profile: ir.Profile, name: str) -> Iterator[tuple[str, str]]:
    """What a definition consists of: a name for each part, and how the part reads."""
    definition = profile.definitions[name]
    yield "is", notation.kind_of(definition)
    union = tagged(definition)
    if union is not None:
        yield from _variants(union, "")
    if isinstance(definition, ir.Struct) and definition.base:
        yield "inherits", definition.base
    if isinstance(definition, ir.Struct | ir.Fallback) and definition.groups:
        yield "groups", notation.of_groups(definition.groups)
    for wire, field in members(definition, profile.definitions).items():
        yield f".{wire}", notation.of_field(field)
    if isinstance(definition, ir.Enum):
        bounds = notation.bounds(definition.minimum, definition.maximum)
        if bounds:
            yield "range", bounds.strip()
        for title, value in definition.members:
            yield notation.quoted([value]), title or "known"


def _variants(union: ir.TaggedUnion, prefix: str) -> Iterator[tuple[str, str]]:
    yield f"{prefix}told apart by", union.tag
    for variant in union.variants:
        path = f"{prefix}{variant.value}"
        if isinstance(variant.target, str):
            yield path, variant.target
        else:
            yield from _variants(variant.target, f"{path}/")
    for label, name in (("without tag", union.default), ("unknown tags", union.fallback)):
        if name:
            yield f"{prefix}{label}", name
    if union.excluded:
        yield f"{prefix}never", notation.quoted(union.excluded)

"""Definitions that were matched: what differs in them, by what they are. Fields and unions have their own modules."""

from __future__ import annotations

from codegen import ir
from codegen.diff import notation
from codegen.diff.fields import Owner, bare, compare_fields, not_null
from codegen.diff.fits import tagged
from codegen.diff.kinds import TABLE
from codegen.diff.pair import Pair
from codegen.diff.reasons import by_fit
from codegen.diff.unions import compare_options, compare_unions


def compare_definition(pair: Pair, owner: Owner) -> None:
    """All changes of one matched definition."""
    old, new = pair.old.definitions[owner[0]], pair.new.definitions[owner[1]]
    # The docs of a fallback are made up where the schema has none.
    told = not isinstance(old, ir.Fallback) and old.doc and new.doc and old.doc != new.doc
    if told or _field_docs(old, new):
        pair.emit("definition-docs", "changed", "definition", owner)
    if isinstance(old, ir.Alias) and isinstance(new, ir.Alias):
        _aliases(pair, owner, old, new)
        return
    if isinstance(old, ir.Enum) and isinstance(new, ir.Enum) and old.kind == new.kind:
        _enums(pair, owner, old, new)
        return
    if isinstance(old, ir.UntaggedUnion) and isinstance(new, ir.UntaggedUnion):
        compare_options(pair, owner, old, new)
        return
    first, second = tagged(old), tagged(new)
    same_kind = type(old) is type(new) and not isinstance(old, ir.Enum)
    if (first is None) != (second is None) or not (same_kind or (first and second)):
        _shape(pair, owner, old, new)
        return
    if first is not None and second is not None:
        compare_unions(pair, owner, first, second)
    if isinstance(old, ir.Struct) and isinstance(new, ir.Struct):
        _bases(pair, owner, old, new)
    if isinstance(old, ir.Struct | ir.Fallback) and isinstance(new, ir.Struct | ir.Fallback):
        _groups(pair, owner, old.groups, new.groups)
    if same_kind and not isinstance(old, ir.TaggedUnion):
        compare_fields(pair, owner)


def _field_docs(old: ir.Definition, new: ir.Definition) -> bool:
    if not isinstance(old, ir.Struct | ir.Record | ir.Fallback) or not isinstance(new, type(old)):
        return False
    docs = {field.wire: field.doc for field in old.fields}
    return any(field.doc and docs.get(field.wire) and docs[field.wire] != field.doc for field in new.fields)


def _shape(pair: Pair, owner: Owner, old: ir.Definition, new: ir.Definition) -> None:
    # The matched names themselves are what is asked about, so they may not count as read.
    fits = pair.forward.unmatched(owner[0], owner[1]), pair.backward.unmatched(owner[1], owner[0])
    before, after = notation.kind_of(old), notation.kind_of(new)
    pair.emit("definition-shape", "changed", "definition", owner, "", before, after, wire=by_fit(*fits))


def _aliases(pair: Pair, owner: Owner, old: ir.Alias, new: ir.Alias) -> None:
    if pair.matching.equal(old.type, new.type):
        return
    before, after = notation.of_type(old.type), notation.of_type(new.type)
    kind = "definition-type"
    if pair.matching.equal(bare(old.type), bare(new.type)):
        kind = "definition-bounds"
    elif pair.matching.equal(not_null(old.type), not_null(new.type)):
        kind = "definition-nullable" if isinstance(new.type, ir.Nullable) else "definition-not-null"
    wire = by_fit(*pair.types(old.type, new.type))
    pair.emit(kind, "changed", "definition", owner, "", before, after, wire=wire)


def _enums(pair: Pair, owner: Owner, old: ir.Enum, new: ir.Enum) -> None:
    if old.open != new.open:
        pair.emit("enum-opened" if new.open else "enum-closed", "changed", "definition", owner)
    before, after = {value: title for title, value in old.members}, {value: title for title, value in new.members}
    is_constant = new.kind == "integer" and new.open
    for value, title in before.items():
        if value not in after:
            kind = "value-removed-closed"
            if new.open:
                kind = "value-removed-constant" if old.kind == "integer" and old.open else "value-removed-open"
            pair.emit(kind, "removed", "value", owner, str(value), notation.quoted([value]))
        elif is_constant and old.open and title != after[value]:
            pair.emit("value-renamed", "renamed", "value", owner, str(value), title, after[value])
    for value in after:
        if value not in before:
            kind = "value-added-open" if old.open else "value-added-closed"
            python = TABLE["value-added-open"].python if new.open and old.open else None
            pair.emit(kind, "added", "value", owner, str(value), "", notation.quoted([value]), python=python)
    if (old.minimum, old.maximum) != (new.minimum, new.maximum):
        wire = by_fit(*pair.types(_range(old), _range(new)))
        bounds = (notation.of_type(_range(old)), notation.of_type(_range(new)))
        pair.emit("definition-bounds", "changed", "definition", owner, "", *bounds, wire=wire)


def _range(enum: ir.Enum) -> ir.Scalar:
    return ir.Scalar(enum.kind, enum.minimum, enum.maximum)


def _bases(pair: Pair, owner: Owner, old: ir.Struct, new: ir.Struct) -> None:
    if old.base and new.base and pair.matching.of.get(old.base) == new.base:
        return
    if old.base:
        pair.emit("base-lost", "removed", "base", owner, old.base, old.base)
    if new.base:
        pair.emit("base-gained", "added", "base", owner, new.base, "", new.base)


def _groups(pair: Pair, owner: Owner, old: ir.Groups | None, new: ir.Groups | None) -> None:
    if old == new:
        return
    # Sets of required members that satisfy the rule; more of them, or none at all, is looser.
    before, after = _demands(old), _demands(new)
    kind = "groups-changed"
    if new is None or (old is not None and before < after and old.exclusive >= new.exclusive):
        kind = "groups-loosened"
    elif old is None or (after < before and new.exclusive >= old.exclusive):
        kind = "groups-tightened"
    elif before == after:
        if old.exclusive == new.exclusive:
            return  # titles and optional members: the fields tell of those
        kind = "groups-tightened" if new.exclusive else "groups-loosened"
    pair.emit(kind, "changed", "definition", owner, "", notation.of_groups(old), notation.of_groups(new))


def _demands(groups: ir.Groups | None) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(one.required) for one in groups.groups) if groups else frozenset()

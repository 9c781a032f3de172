"""Definitions that were matched: what differs in them, by what they are. Fields have a module of their own."""

from __future__ import annotations

from codegen import ir
from codegen.diff import notation
from codegen.diff.fields import Owner, bare, compare_fields, not_null
from codegen.diff.fits import best, tagged
from codegen.diff.pair import Pair
from codegen.diff.reasons import TABLE, by_fit, variant_gone, variant_new


def compare_definition(pair: Pair, owner: Owner) -> None:
    """All changes of one matched definition."""
    old, new = pair.old.definitions[owner[0]], pair.new.definitions[owner[1]]
    if (old.doc and new.doc and old.doc != new.doc) or _field_docs(old, new):
        pair.emit("definition-docs", "changed", "definition", owner)
    if isinstance(old, ir.Alias) and isinstance(new, ir.Alias):
        _aliases(pair, owner, old, new)
        return
    if isinstance(old, ir.Enum) and isinstance(new, ir.Enum) and old.kind == new.kind:
        _enums(pair, owner, old, new)
        return
    if isinstance(old, ir.UntaggedUnion) and isinstance(new, ir.UntaggedUnion):
        _options(pair, owner, old, new)
        return
    first, second = tagged(old), tagged(new)
    same_kind = type(old) is type(new) and not isinstance(old, ir.Enum)
    if (first is None) != (second is None) or not (same_kind or (first and second)):
        _shape(pair, owner, old, new)
        return
    if first is not None and second is not None:
        _unions(pair, owner, first, second)
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


def _options(pair: Pair, owner: Owner, old: ir.UntaggedUnion, new: ir.UntaggedUnion) -> None:
    for option in old.options:
        if not any(pair.matching.equal(option, other) for other in new.options):
            forward = best(pair.forward.type(option, other) for other in new.options)
            text = notation.of_type(option)
            pair.emit("option-removed", "removed", "variant", owner, text, text, "", wire=(variant_gone(forward), None))
    for option in new.options:
        if not any(pair.matching.equal(other, option) for other in old.options):
            backward = best(pair.backward.type(option, other) for other in old.options)
            text = notation.of_type(option)
            pair.emit("option-added", "added", "variant", owner, text, "", text, wire=(None, variant_new(backward)))


def _bases(pair: Pair, owner: Owner, old: ir.Struct, new: ir.Struct) -> None:
    before = pair.matching.of.get(old.base) if old.base else None
    if old.base and before != new.base:
        pair.emit("base-lost", "removed", "definition", owner, old.base, old.base)
    if new.base and before != new.base:
        pair.emit("base-gained", "added", "definition", owner, new.base, "", new.base)


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


# unions


def _unions(pair: Pair, owner: Owner, old: ir.TaggedUnion, new: ir.TaggedUnion, path: tuple[str, ...] = ()) -> None:
    """Two unions; `path` are the tags above them where they are nested in the one that `owner` is."""
    member = "/".join(path)
    if old.tag != new.tag:
        pair.emit("union-tag", "changed", "definition", owner, member, old.tag, new.tag)
    if (old.fallback is None) != (new.fallback is None):
        kind = "union-opened" if new.fallback else "union-closed"
        pair.emit(kind, "changed", "definition", owner, member)
    if (old.default is None) != (new.default is None):
        if new.default:
            pair.emit("variant-untagged-added", "added", "variant", owner, new.default, "", new.default)
        elif old.default:
            pair.emit("variant-untagged-removed", "removed", "variant", owner, old.default, old.default)
    elif old.default and new.default and pair.matching.of.get(old.default) != new.default:
        _retargeted(pair, owner, old.default, new.default, "/".join((*path, "")))
    _variants(pair, owner, old, new, path)
    listed = {one.value for one in (*old.variants, *new.variants)}
    for value in (one for one in old.excluded if one not in new.excluded and one not in listed):
        pair.emit("tag-allowed", "added", "value", owner, value, "", value)
    for value in (one for one in new.excluded if one not in old.excluded and one not in listed):
        pair.emit("tag-excluded", "removed", "value", owner, value, value)


def _variants(pair: Pair, owner: Owner, old: ir.TaggedUnion, new: ir.TaggedUnion, path: tuple[str, ...]) -> None:
    before, after = ({one.value: one.target for one in union.variants} for union in (old, new))
    for value, target in before.items():
        member = "/".join((*path, value))
        if value not in after:
            forward = pair.forward.variant(value, target, new)
            gone = (variant_gone(forward), None)
            pair.emit("variant-removed", "removed", "variant", owner, member, _called(target), "", wire=gone)
            continue
        other = after[value]
        if isinstance(target, ir.TaggedUnion) and isinstance(other, ir.TaggedUnion):
            _unions(pair, owner, target, other, (*path, value))
        elif isinstance(target, ir.TaggedUnion) or isinstance(other, ir.TaggedUnion):
            fits = (pair.forward.variant(value, target, new), pair.backward.variant(value, other, old))
            names = (_called(target), _called(other))
            pair.emit("variant-class", "changed", "variant", owner, member, *names, wire=by_fit(*fits))
        elif pair.matching.of.get(target) != other:
            _retargeted(pair, owner, target, other, member)
    for value, target in after.items():
        if value not in before:
            backward = pair.backward.variant(value, target, old)
            come = (None, variant_new(backward))
            member = "/".join((*path, value))
            pair.emit("variant-added", "added", "variant", owner, member, "", _called(target), wire=come)


def _retargeted(pair: Pair, owner: Owner, old: str, new: str, member: str) -> None:
    before, after = pair.old.definitions[old], pair.new.definitions[new]
    fits = (pair.forward.object(before, after), pair.backward.object(after, before))
    pair.emit("variant-class", "changed", "variant", owner, member, old, new, wire=by_fit(*fits))


def _called(target: str | ir.TaggedUnion) -> str:
    return target if isinstance(target, str) else target.name

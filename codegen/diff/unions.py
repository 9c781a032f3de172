"""Unions: what tells their alternatives apart, which there are, and what becomes of unknown ones."""

from __future__ import annotations

from codegen import ir
from codegen.diff import notation
from codegen.diff.fields import Owner, bare
from codegen.diff.fits import best
from codegen.diff.pair import Pair
from codegen.diff.reasons import by_fit, variant_gone, variant_new


def compare_options(pair: Pair, owner: Owner, old: ir.UntaggedUnion, new: ir.UntaggedUnion) -> None:
    """The alternatives of two untagged unions; two that differ in bounds alone are one."""
    gone = [one for one in old.options if not any(pair.matching.equal(one, other) for other in new.options)]
    come = [one for one in new.options if not any(pair.matching.equal(other, one) for other in old.options)]
    for option in gone[:]:
        bounded = next((other for other in come if pair.matching.equal(bare(option), bare(other))), None)
        if bounded is not None:
            gone.remove(option)
            come.remove(bounded)
            texts = (notation.of_type(option), notation.of_type(bounded))
            wire = by_fit(*pair.types(option, bounded))
            pair.emit("definition-bounds", "changed", "definition", owner, "", *texts, wire=wire)
    for option in gone:
        forward = best(pair.forward.type(option, other) for other in new.options)
        text = notation.of_type(option)
        pair.emit("option-removed", "removed", "variant", owner, text, text, "", wire=(variant_gone(forward), None))
    for option in come:
        backward = best(pair.backward.type(option, other) for other in old.options)
        text = notation.of_type(option)
        pair.emit("option-added", "added", "variant", owner, text, "", text, wire=(None, variant_new(backward)))


def compare_unions(
    pair: Pair, owner: Owner, old: ir.TaggedUnion, new: ir.TaggedUnion, path: tuple[str, ...] = ()
) -> None:
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
            compare_unions(pair, owner, target, other, (*path, value))
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

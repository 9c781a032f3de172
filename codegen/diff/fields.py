"""Fields of an object, one change for each respect in which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from codegen import ir
from codegen.diff import notation
from codegen.diff.fits import Fit, members
from codegen.diff.pair import Pair
from codegen.diff.reasons import Reason, by_fit
from codegen.diff.report import Action
from codegen.python import Printer

Owner = tuple[str, str]
_LEFT_OUT: Final = Reason("additive", "it may be left out, and reads as empty or as its default")
_SAME_NAME: Final = Reason("neutral", "the attribute is called as before")
_SAME_TYPE: Final = Reason("neutral", "the type of the attribute is called as before")


def bare(kind: ir.Type) -> ir.Type:
    """A type without its bounds."""
    match kind:
        case ir.Scalar(kind=name):
            return ir.Scalar(name)
        case ir.Array(items):
            return ir.Array(bare(items))
        case ir.Map(values):
            return ir.Map(bare(values))
        case ir.Nullable(inner):
            return ir.Nullable(bare(inner))
        case ir.Choice(options):
            return ir.Choice(tuple(map(bare, options)))
    return kind


def not_null(kind: ir.Type) -> ir.Type:
    return kind.of if isinstance(kind, ir.Nullable) else kind


def compare_fields(pair: Pair, owner: Owner) -> None:
    """The fields of a pair of objects, inherited ones aside that the base class tells of."""
    old, new = (pair.old.definitions[owner[0]], pair.new.definitions[owner[1]])
    ours, theirs = members(old, pair.old.definitions), members(new, pair.new.definitions)
    told = _inherited(pair, old, new)
    # The tag is the union's affair.
    tags = {_tag(old), _tag(new)}
    gone = {wire: one for wire, one in ours.items() if wire not in theirs and wire not in told | tags}
    come = {wire: one for wire, one in theirs.items() if wire not in ours and wire not in told | tags}
    renamed = _renamed(pair, list(ours), list(theirs), gone, come)
    for wire, field in ours.items():
        if wire in renamed:
            _compare(pair, owner, field, theirs[renamed[wire]])
        elif wire in gone:
            kind = "field-removed-required" if field.required else "field-removed-optional"
            _emit(pair, kind, owner, field, None)
        elif wire in theirs and wire not in told | tags:
            _compare(pair, owner, field, theirs[wire])
    for wire, field in come.items():
        if wire not in renamed.values():
            kind = "field-added-required" if field.required else "field-added-optional"
            _emit(pair, kind, owner, None, field)


def _tag(definition: ir.Definition) -> str:
    match definition:
        case ir.Struct(tag=ir.Tag(wire=wire)) | ir.Fallback(tag=wire):
            return wire
    return ""


def _inherited(pair: Pair, old: ir.Definition, new: ir.Definition) -> frozenset[str]:
    """Fields of which both have inherited whatever they have, from bases that are compared themselves."""
    if not (isinstance(old, ir.Struct) and isinstance(new, ir.Struct) and old.base and new.base):
        return frozenset()
    if pair.matching.of.get(old.base) != new.base:
        return frozenset()
    before = members(pair.old.definitions[old.base], pair.old.definitions)
    after = members(pair.new.definitions[new.base], pair.new.definitions)
    return frozenset({*before, *after} - {field.wire for field in (*old.fields, *new.fields)})


def _renamed(
    pair: Pair, ours: list[str], theirs: list[str], gone: Mapping[str, ir.Field], come: Mapping[str, ir.Field]
) -> dict[str, str]:
    """Fields with another name: equal but for it, and between the same neighbours."""
    lasting = [wire for wire in ours if wire in theirs]
    places = {wire: _neighbours(wire, theirs, lasting) for wire in come}
    found: dict[str, str] = {}
    for wire, field in gone.items():
        place = _neighbours(wire, ours, lasting)
        alike = [
            other
            for other, candidate in come.items()
            if places[other] == place
            and other not in found.values()
            and pair.matching.equal(replace(field, wire="", name=""), replace(candidate, wire="", name=""))
        ]
        if len(alike) == 1:
            found[wire] = alike[0]
    return found


def _neighbours(wire: str, listed: list[str], lasting: list[str]) -> tuple[str, str]:
    """The nearest lasting fields before and after one."""
    at = listed.index(wire)
    before = next((one for one in reversed(listed[:at]) if one in lasting), "")
    after = next((one for one in listed[at:] if one in lasting), "")
    return before, after


def _compare(pair: Pair, owner: Owner, old: ir.Field, new: ir.Field) -> None:
    if old.wire != new.wire:
        kind = "field-renamed-required" if old.required else "field-renamed-optional"
        _emit(pair, kind, owner, old, new, python=_SAME_NAME if old.name == new.name else None)
    elif old.name != new.name and old.name and new.name:
        _emit(pair, "field-member", owner, old, new, before=old.name, after=new.name)
    if old.required != new.required:
        _requiredness(pair, owner, old, new)
    _nullability(pair, owner, old, new)
    _type(pair, owner, old, new)
    # Of what is required there is nothing to read where it is absent.
    if old.default != new.default and not (old.required or new.required):
        _default(pair, owner, old, new)
    before, after = list(notation.marks(old)), list(notation.marks(new))
    lost, got = [mark for mark in before if mark not in after], [mark for mark in after if mark not in before]
    if lost:
        _emit(pair, "field-strict", owner, old, new, before=", ".join(lost), after="")
    if got:
        _emit(pair, "field-tolerant", owner, old, new, before="", after=", ".join(got))


def _requiredness(pair: Pair, owner: Owner, old: ir.Field, new: ir.Field) -> None:
    if new.required:
        _emit(pair, "field-now-required", owner, old, new, before="optional", after="required")
        return
    printer = Printer(pair.new.definitions)
    python = None if printer.is_optional(new) else _LEFT_OUT
    after = f"optional, default {new.default.json}" if new.default else "optional"
    _emit(pair, "field-now-optional", owner, old, new, before="required", after=after, python=python)


def _nullability(pair: Pair, owner: Owner, old: ir.Field, new: ir.Field) -> None:
    before, after = isinstance(old.type, ir.Nullable), isinstance(new.type, ir.Nullable)
    if before == after or isinstance(not_null(old.type if after else new.type), ir.AnyType):
        return
    # Only null is looked at: the rest of the type may have changed on its own.
    kind, value = ("field-nullable", new) if after else ("field-not-null", old)
    one = replace(old, type=ir.Nullable(not_null(value.type)) if before else not_null(value.type), required=True)
    two = replace(new, type=ir.Nullable(not_null(value.type)) if after else not_null(value.type), required=True)
    _emit(pair, kind, owner, old, new, fits=_null_fits(one, two))


def _null_fits(old: ir.Field, new: ir.Field) -> tuple[Fit, Fit]:
    """How null fares, in fields that differ in nothing else."""

    def fares(writes: ir.Field, reads: ir.Field) -> Fit:
        takes = isinstance(reads.type, ir.Nullable) or reads.on_null
        if takes or not isinstance(writes.type, ir.Nullable):
            return Fit("reads")
        return Fit("drops" if reads.on_error else "refuses", "null")

    return fares(old, new), fares(new, old)


def _type(pair: Pair, owner: Owner, old: ir.Field, new: ir.Field) -> None:
    before, after = not_null(old.type), not_null(new.type)
    if pair.matching.equal(before, after):
        return
    is_bound = pair.matching.equal(bare(before), bare(after))
    forward = pair.forward.field(replace(old, type=before, required=True), replace(new, type=after))
    backward = pair.backward.field(replace(new, type=after, required=True), replace(old, type=before))
    _emit(pair, "field-bounds" if is_bound else "field-type", owner, old, new, fits=(forward, backward),
          python=None if is_bound else _python_type(pair, before, after))  # fmt: skip


def _python_type(pair: Pair, old: ir.Type, new: ir.Type) -> Reason | None:
    """Of types that differ only on the wire (an enum beside its alias, say), Python sees the same."""
    before = Printer(pair.old.definitions).annotation(bare(old))
    after = Printer(pair.new.definitions).annotation(bare(new))
    return _SAME_TYPE if before == after else None


def _default(pair: Pair, owner: Owner, old: ir.Field, new: ir.Field) -> None:
    kind = (
        "field-default-added"
        if old.default is None
        else "field-default-removed"
        if new.default is None
        else "field-default-changed"
    )
    before, after = (one.default.json if one.default else "none" for one in (old, new))
    _emit(pair, kind, owner, old, new, before=before, after=after)


def _emit(
    pair: Pair,
    kind: str,
    owner: Owner,
    old: ir.Field | None,
    new: ir.Field | None,
    *,
    before: str | None = None,
    after: str | None = None,
    fits: tuple[Fit, Fit] | None = None,
    python: Reason | None = None,
) -> None:
    field = new or old
    assert field is not None
    action: Action = "changed" if old and new else "added" if new else "removed"
    path = pair.capabilities.get(owner[1] or owner[0])
    is_capability = path is not None and field.wire != "_meta"
    notes: tuple[str, ...] = (f"capability {path}.{field.wire}",) if is_capability else ()
    if kind.startswith("field-renamed"):
        action = "renamed"
        notes += ("recognised by its type and its place",)
    if before is None:
        before = "" if old is None else old.wire if action == "renamed" else notation.of_field(old)
    if after is None:
        after = "" if new is None else new.wire if action == "renamed" else notation.of_field(new)
    pair.emit(
        kind,
        action,
        "capability" if is_capability else "field",
        owner,
        field.wire,
        before,
        after,
        wire=by_fit(*fits) if fits else None,
        python=python,
        notes=notes,
    )

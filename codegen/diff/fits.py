"""Whether what is valid by one profile can be read by another: the question behind most of the classification.

Values are judged as sets: a type is read when each of its values is. Definitions that were matched count as read here,
for what changed in them is told where they are defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from codegen import ir
from codegen.diff import notation
from codegen.lower.checks import fits as is_value_of

Verdict = Literal["reads", "drops", "refuses"]
_WORSE = ("reads", "drops", "refuses")
_NULL = ir.Scalar("null")
_STRING = ir.Scalar("string")


@dataclass(frozen=True, slots=True)
class Fit:
    """`drops`: the message survives, the value does not. `why` says what is not read."""

    verdict: Verdict
    why: str = ""


READS = Fit("reads")


def _worst(found: Iterable[Fit]) -> Fit:
    return max(found, key=lambda fit: _WORSE.index(fit.verdict), default=READS)


def best(found: Iterable[Fit]) -> Fit:
    """How a reader fares who may choose."""
    return min(found, key=lambda fit: _WORSE.index(fit.verdict))


def members(definition: ir.Definition, definitions: Mapping[str, ir.Definition]) -> dict[str, ir.Field]:
    """The properties of an object by wire name, inherited ones and the tag among them."""
    found: dict[str, ir.Field] = {}
    if isinstance(definition, ir.Struct):
        if definition.base:
            found = members(definitions[definition.base], definitions)
        if definition.tag:
            found[definition.tag.wire] = ir.Field(
                definition.tag.wire, "", ir.Const((definition.tag.value,)), required=True, constant=True
            )
    if isinstance(definition, ir.Fallback):
        found[definition.tag] = ir.Field(definition.tag, "", _STRING, required=True)
    if isinstance(definition, ir.Struct | ir.Record | ir.Fallback):
        found |= {field.wire: field for field in definition.fields}
    return found


class Fitting:
    """Writers of one profile, readers of another. `same` are pairs of definitions that were matched."""

    def __init__(
        self,
        written: Mapping[str, ir.Definition],
        read: Mapping[str, ir.Definition],
        same: frozenset[tuple[str, str]],
    ) -> None:
        self.written = written
        self.read = read
        self.same = same
        self._known: dict[tuple[ir.Type, ir.Type], Fit] = {}
        self._open: set[tuple[ir.Type, ir.Type]] = set()
        self._assumed: set[tuple[ir.Type, ir.Type]] = set()

    def type(self, writes: ir.Type, reads: ir.Type) -> Fit:
        """Whether every value of the type `writes` is one of `reads`."""
        key = (writes, reads)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            # What leads back to itself is read if everything else on the way is.
            self._assumed.add(key)
            return READS
        before = len(self._known)
        self._open.add(key)
        found = self._type(writes, reads)
        self._open.remove(key)
        if key in self._assumed and found != READS:
            # What was concluded from the assumption falls with it.
            for concluded in list(self._known)[before:]:
                del self._known[concluded]
        self._assumed.discard(key)
        self._known[key] = found
        return found

    def _type(self, writes: ir.Type, reads: ir.Type) -> Fit:
        if isinstance(writes, ir.Ref) and isinstance(reads, ir.Ref) and (writes.name, reads.name) in self.same:
            return READS
        reader = _plain(reads, self.read)
        if reader != reads:
            return self.type(writes, reader)
        writer = _plain(writes, self.written)
        if writer != writes:
            return self.type(writer, reads)
        if isinstance(reads, ir.AnyType):
            return READS
        parts = self._parts(writes)
        if parts is not None:
            return _worst(self.type(part, reads) for part in parts)
        match reads:
            case ir.Nullable(inner):
                return READS if writes == _NULL else self.type(writes, inner)
            case ir.Choice(options):
                return self._any_of(writes, options, reads)
            case ir.Ref(name) if isinstance(union := self.read[name], ir.UntaggedUnion):
                return self._any_of(writes, union.options, reads)
        return self._one(writes, reads)

    def _any_of(self, writes: ir.Type, options: Iterable[ir.Type], reads: ir.Type) -> Fit:
        found = best(self.type(writes, option) for option in options)
        return _misfit(writes, reads) if found.verdict == "refuses" else found

    def _parts(self, writes: ir.Type) -> list[ir.Type] | None:
        """The alternatives that a type is made of; None for one that is whole."""
        match writes:
            case ir.Nullable(inner):
                return [inner, _NULL]
            case ir.Choice(options):
                return list(options)
            case ir.Const(values) if len(values) > 1:
                return [ir.Const((value,)) for value in values]
            case ir.Ref(name):
                definition = self.written[name]
                if isinstance(definition, ir.UntaggedUnion):
                    return list(definition.options)
                union = tagged(definition)
                if union is not None and union.classes() != (name,):
                    return [ir.Ref(one) for one in union.classes() if one != name]
        return None

    def _one(self, writes: ir.Type, reads: ir.Type) -> Fit:
        refused = _misfit(writes, reads)
        match writes, reads:
            case ir.Scalar(), ir.Scalar():
                return READS if _within(writes, reads) else refused
            case ir.Const((value,)), (ir.Scalar() | ir.Const()):
                return READS if is_value_of(value, reads, self.read) else refused
            case ir.Array(items, least), ir.Array(others, more):
                return self.type(items, others) if least >= more else refused
            case ir.Map(values), ir.Map(others):
                return self.type(values, others)
            case ir.Ref(name), ir.Map(values):
                found = members(self.written[name], self.written).values()
                return _worst(self.type(field.type, values) for field in found)
            case ir.Map(values), ir.Ref(name):
                wanted = members(self.read[name], self.read).values()
                if tagged(self.read[name]) or any(field.required for field in wanted):
                    return refused
                return _worst(_forgiving(self.type(values, field.type), values, field) for field in wanted)
            case ir.Ref(name), ir.Ref(other):
                return self.object(self.written[name], self.read[other])
        return refused

    def object(self, writes: ir.Definition, reads: ir.Definition) -> Fit:
        """Whether every object of one class is read as a definition of the other profile."""
        union = tagged(reads)
        if union is not None:
            return self._into_union(writes, union)
        if not isinstance(reads, ir.Struct | ir.Record | ir.Fallback):
            return Fit("refuses", f"an object is not {notation.kind_of(reads)}")
        there = members(writes, self.written)
        found = [self.field(there.get(wire), field) for wire, field in members(reads, self.read).items()]
        groups = None if isinstance(reads, ir.Record) else reads.groups
        if groups is not None and groups != getattr(writes, "groups", None):
            found.append(Fit("refuses", notation.of_groups(groups)))
        return _worst(found)

    def unmatched(self, writes: str, reads: str) -> Fit:
        """Whether one definition is read as another, though the two count as one everywhere else."""
        apart = Fitting(self.written, self.read, self.same - {(writes, reads)})
        return apart.type(ir.Ref(writes), ir.Ref(reads))

    def variant(self, value: str, target: str | ir.TaggedUnion, union: ir.TaggedUnion) -> Fit:
        """Whether a union of the reading profile takes what is sent under a tag."""
        names = (target,) if isinstance(target, str) else target.classes()
        return _worst(self.tagged(value, self.written[name], union) for name in names)

    def field(self, writes: ir.Field | None, reads: ir.Field) -> Fit:
        """Whether whatever stands in one field, nothing included, is read as the other."""
        if writes is None:
            missing = reads.required and not reads.constant
            return Fit("refuses", f"{reads.wire} is missing") if missing else READS
        if reads.required and not (writes.required or writes.constant):
            return Fit("refuses", f"{reads.wire} may be absent")
        kind = writes.type.of if reads.on_null and isinstance(writes.type, ir.Nullable) else writes.type
        return _forgiving(self.type(kind, reads.type), kind, reads)

    def _into_union(self, writes: ir.Definition, union: ir.TaggedUnion) -> Fit:
        tag = members(writes, self.written).get(union.tag)
        if tag is None or not isinstance(tag.type, ir.Const):
            target = union.default if tag is None else union.fallback
            if target is None:
                return Fit("refuses", f"objects without a {union.tag} that it knows")
            return self.object(writes, self.read[target])
        return _worst(self.tagged(str(value), writes, union) for value in tag.type.values)

    def tagged(self, value: str, writes: ir.Definition, union: ir.TaggedUnion) -> Fit:
        """Whether a union of the reading profile takes an object whose tag is `value`."""
        variant = next((one for one in union.variants if one.value == value), None)
        if variant is not None and isinstance(variant.target, ir.TaggedUnion):
            return self._into_union(writes, variant.target)
        target = variant.target if variant is not None else None
        if target is None:
            # An open union keeps what it does not know; a closed one takes it for its default variant, if it has one.
            target = None if value in union.excluded else union.fallback or union.default
        if not isinstance(target, str):
            return Fit("refuses", f"{union.tag} {value!r} is unknown")
        return READS if (writes.name, target) in self.same else self.object(writes, self.read[target])


def _misfit(writes: ir.Type, reads: ir.Type) -> Fit:
    return Fit("refuses", f"{notation.of_type(writes)} does not fit {notation.of_type(reads)}")


def tagged(definition: ir.Definition) -> ir.TaggedUnion | None:
    """The tagged union that a definition is, its class bearing its name included."""
    if isinstance(definition, ir.Struct):
        return definition.stands_for
    return definition if isinstance(definition, ir.TaggedUnion) else None


def _plain(kind: ir.Type, definitions: Mapping[str, ir.Definition]) -> ir.Type:
    """A type with one alias or enum looked up: a closed enum is its constants, an open one any value of its kind."""
    if isinstance(kind, ir.Ref):
        match definitions[kind.name]:
            case ir.Alias(type=inner):
                return inner
            case ir.Enum(open=True, kind=name, minimum=low, maximum=high):
                return ir.Scalar(name, low, high)
            case ir.Enum(members=listed):
                return ir.Const(tuple(value for _, value in listed))
    return kind


def _within(writes: ir.Scalar, reads: ir.Scalar) -> bool:
    if (writes.kind, reads.kind) == ("integer", "number"):
        writes = replace(writes, kind="number")
    low = reads.minimum is None or (writes.minimum is not None and writes.minimum >= reads.minimum)
    high = reads.maximum is None or (writes.maximum is not None and writes.maximum <= reads.maximum)
    length = (writes.min_length or 0) >= (reads.min_length or 0)
    return writes.kind == reads.kind and low and high and length and reads.pattern in (None, writes.pattern)


def _forgiving(fit: Fit, writes: ir.Type, reads: ir.Field) -> Fit:
    """A field that tolerates what it cannot read drops it, or those items of an array."""
    array = writes.of if isinstance(writes, ir.Nullable) else writes
    forgives = reads.on_error or (reads.skip_items and isinstance(array, ir.Array))
    return Fit("drops", fit.why) if fit.verdict == "refuses" and forgives else fit

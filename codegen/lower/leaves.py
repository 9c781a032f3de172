"""Tagged unions unfolded: one leaf for each path of tags, with every field that the object then has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from codegen import ir
from codegen.lower.shapes import Branch, GroupsShape, ObjectShape, Shape, UnionShape
from codegen.lower.view import Problems

NO_FIELDS = ObjectShape("")


@dataclass(frozen=True)
class Step:
    """One tag property on the way to a leaf; `value` is None on a branch that does without the tag.

    `declared` is the property as the union's shared properties have it, where they do: it tells what else than the
    known constants may stand there, and how tolerant that is. `null` says that a branch without the tag allows null.
    """

    wire: str
    value: str | None
    title: str
    declared: ir.Field | None = None
    null: bool = False


@dataclass(frozen=True)
class Leaf:
    """One variant of `union`, fully unfolded. `payload` is the definition that its own fields come from."""

    union: str
    steps: tuple[Step, ...]
    payload: str | None
    fields: tuple[ir.Field, ...]
    groups: GroupsShape | None
    pointer: str
    doc: str

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(step.title if step.value is None else step.value for step in self.steps)

    @property
    def is_default(self) -> bool:
        return self.steps[-1].value is None


class Unfolder:
    """Unfolds unions of one schema; knows all its shapes."""

    def __init__(self, shapes: Mapping[str, Shape], problems: Problems) -> None:
        self.shapes = shapes
        self.problems = problems

    def resolve(self, name: str) -> tuple[str, Shape | None]:
        """A definition by name, through aliases that are nothing but a reference."""
        seen = {name}
        shape = self.shapes.get(name)
        while isinstance(shape, ir.Alias) and isinstance(shape.type, ir.Ref) and shape.type.name not in seen:
            name = shape.type.name
            seen.add(name)
            shape = self.shapes.get(name)
        return name, shape

    def payload(self, branch: Branch) -> tuple[str | None, Shape | None]:
        if branch.payload is None:
            return None, None
        name, shape = self.resolve(branch.payload)
        if not isinstance(shape, ObjectShape | UnionShape):
            self.problems.add(
                branch.inline.pointer, f"{branch.payload} as the payload of a variant", "a definition of an object"
            )
            return None, None
        return name, shape

    def leaves(self, name: str) -> Iterator[Leaf]:
        """All leaves of a union definition, in schema order."""
        shape = self.shapes[name]
        assert isinstance(shape, UnionShape)
        yield from self._unfold(name, shape, (), NO_FIELDS, {name})

    def _unfold(
        self, union: str, shape: UnionShape, steps: tuple[Step, ...], outer: ObjectShape, open_names: set[str]
    ) -> Iterator[Leaf]:
        declared = next((field for field in shape.shared.fields if field.wire == shape.tag), None)
        shared = self.merge(without(shape.shared, shape.tag), outer)
        for branch in shape.branches:
            if branch.role == "fallback":
                continue
            value = branch.value if branch.role == "tagged" else None
            path = (*steps, Step(shape.tag, value, branch.value, declared, branch.null))
            name, payload = self.payload(branch)
            inline = self.merge(branch.inline, shared)
            if isinstance(payload, UnionShape):
                assert name is not None
                if name in open_names or branch.role == "default" or payload.tag in {step.wire for step in path}:
                    self.problems.add(
                        branch.inline.pointer, f"the union {name} here", "one that is not recursive, with its own tag"
                    )
                else:
                    if inline.fields:
                        self.problems.add(branch.inline.pointer, "fields beside a nested union", "none there")
                    yield from self._unfold(union, payload, path, inline, open_names | {name})
                continue
            own = without(payload, shape.tag) if isinstance(payload, ObjectShape) else NO_FIELDS
            merged = self.merge(own, inline)
            for step in path:
                merged = without(merged, step.wire)
            if merged.keeps_extra:
                self.problems.add(
                    branch.inline.pointer,
                    "a known variant that keeps unknown properties",
                    "additionalProperties: true on the fallback only",
                )
            doc = branch.inline.doc
            pointer = branch.inline.pointer
            yield Leaf(union, path, name, settled(merged), merged.groups, pointer, doc)

    def merge(self, first: ObjectShape, second: ObjectShape) -> ObjectShape:
        """Both sets of properties; a property in both must be the same in both."""
        if not (second.fields or second.required or second.groups or second.keeps_extra):
            return first
        fields = {field.wire: field for field in first.fields}
        for field in second.fields:
            known = fields.setdefault(field.wire, field)
            if replace(known, doc="") != replace(field, doc=""):
                where = first.pointer or second.pointer
                self.problems.add(
                    where, f"two different properties {field.wire!r} in one object", "one definition of it"
                )
        if first.groups and second.groups:
            self.problems.add(
                first.pointer, "property groups at two levels of one object", "one oneOf or anyOf of groups"
            )
        return ObjectShape(
            first.pointer or second.pointer,
            tuple(fields.values()),
            first.required | second.required,
            first.groups or second.groups,
            first.keeps_extra or second.keeps_extra,
            first.doc,
        )

    def group_fields(self, groups: GroupsShape, pointer: str) -> list[tuple[str, ObjectShape]]:
        """The groups with their referenced definitions filled in."""
        found = []
        for title, group in groups.groups:
            shape: Shape | None = group if isinstance(group, ObjectShape) else self.resolve(group)[1]
            if isinstance(shape, ObjectShape) and shape.groups is None and not shape.keeps_extra:
                found.append((title, shape))
            else:
                self.problems.add(pointer, f"the property group {title!r}", "an object with plain properties")
        return found


def without(shape: ObjectShape, wire: str) -> ObjectShape:
    return replace(shape, fields=tuple(f for f in shape.fields if f.wire != wire), required=shape.required - {wire})


def settled(shape: ObjectShape) -> tuple[ir.Field, ...]:
    """The fields with requiredness filled in; a required property that nothing describes holds any value."""
    known = {field.wire for field in shape.fields}
    extra = tuple(ir.Field(wire, "", ir.AnyType(), True) for wire in sorted(shape.required - known))
    return tuple(replace(field, required=field.wire in shape.required) for field in shape.fields) + extra


def same_fields(first: Iterable[ir.Field], second: Iterable[ir.Field]) -> bool:
    """Equal but for docs and order."""

    def facts(fields: Iterable[ir.Field]) -> set[ir.Field]:
        return {replace(field, doc="", name="") for field in fields}

    return facts(first) == facts(second)

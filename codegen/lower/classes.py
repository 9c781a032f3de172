"""Which classes there are: drafts and unfolded unions become definitions of the IR, each with its one name.

A variant's class is, in this order: what names.toml says; the payload definition itself, where that is used nowhere
else and nothing is added to it; else a class of its own, named by `names.variant_name`, that inherits the payload's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from codegen import ir, names
from codegen.annotations import FALLBACK, Docs, Names
from codegen.lower.leaves import NO_FIELDS, Leaf, Step, Unfolder, same_fields, settled, without
from codegen.lower.shapes import GroupsShape, ObjectShape, Shape, UnionShape, UntaggedShape
from codegen.lower.view import Problems

ResolvedGroups: TypeAlias = tuple[bool, list[tuple[str, ObjectShape]]]


@dataclass
class Group:
    """The leaves that share one class."""

    name: str
    leaves: list[Leaf] = field(default_factory=list)

    def main(self) -> list[Leaf]:
        """The leaves with the longest path: those of the outermost union."""
        longest = max(len(leaf.steps) for leaf in self.leaves)
        first = next(leaf for leaf in self.leaves if len(leaf.steps) == longest)
        return [leaf for leaf in self.leaves if leaf.union == first.union]


class Allocator:
    """Turns the shapes of one schema into IR definitions."""

    def __init__(self, shapes: Mapping[str, Shape], curated: Names, docs: Docs, problems: Problems) -> None:
        self.shapes = shapes
        self.curated = curated
        self.docs = docs
        self.problems = problems
        self.unfolder = Unfolder(shapes, problems)
        self.unions = {name: shape for name, shape in shapes.items() if isinstance(shape, UnionShape)}
        self.leaves = {name: list(self.unfolder.leaves(name)) for name in self.unions}
        self.plain = Counter(plain_references(shapes, self.unfolder))
        self.tagged = Counter(
            leaf.payload for leaves in self.leaves.values() for leaf in leaves if leaf.payload and not leaf.is_default
        )
        self.taken = frozenset(shapes) | {name for one in curated.entries.values() for name in one.values()}
        self.originals = {name: original for original, name in problems.renamed.items()}
        self.lowercase = frozenset(name for name in shapes if name == name.lower())
        self.groups: dict[str, Group] = {}
        self.class_of: dict[tuple[str, tuple[str, ...]], str] = {}
        self.fallback_of: dict[str, str] = {}
        self.result: dict[str, ir.Definition] = {}

    def run(self) -> dict[str, ir.Definition]:
        """All definitions, the schema's own first in their order, then the synthesised classes by name."""
        self._name_variants()
        for name, shape in self.shapes.items():
            if name in self.groups or isinstance(shape, UnionShape):
                continue
            self._put(name, self._definition(name, shape))
        for group in self.groups.values():
            self._put(group.name, self._variant_class(group))
        for name in self.unions:
            self._put(self.fallback_of.get(name), self._fallback(name))
            union = self._union(name)
            stands = self.result.get(name)
            if isinstance(stands, ir.Struct) and name in self.groups:
                self.result[name] = replace(stands, stands_for=union)
            else:
                self._put(name, union)
            self._note_docs(name)
        order = list(self.shapes)
        rank = {name: index for index, name in enumerate(order)}
        return {name: self.result[name] for name in sorted(self.result, key=lambda n: (rank.get(n, len(order)), n))}

    def _original(self, name: str) -> str:
        """What the schema, and so the TOML files, call a definition."""
        return self.originals.get(name, name)

    def _put(self, name: str | None, definition: ir.Definition | None) -> None:
        if name is None or definition is None:
            return
        if name in self.result:
            self.problems.add(f"/$defs/{name}", f"two things that want the name {name}", "another name in names.toml")
        self.result.setdefault(name, definition)

    # names

    def _name_variants(self) -> None:
        for union, leaves in self.leaves.items():
            for leaf in leaves:
                name = self._leaf_name(union, leaf)
                self.class_of[union, leaf.path] = name
                self.groups.setdefault(name, Group(name)).leaves.append(leaf)
        for union, shape in self.unions.items():
            if any(branch.role == "fallback" for branch in shape.branches):
                name = self.curated.lookup(self._original(union), (FALLBACK,)) or names.fallback_name(
                    union, self.taken | set(self.groups)
                )
                self.fallback_of[union] = name
                if names.class_name(name) != name:
                    self.problems.add(f"/$defs/{union}", f"the class name {name!r}", "another name in names.toml")
        for group in self.groups.values():
            if group.name in self.shapes:
                self._check_takes_definition(group)
            elif names.class_name(group.name) != group.name:
                self.problems.add(
                    group.leaves[0].pointer, f"the class name {group.name!r}", "another name in names.toml"
                )

    def _leaf_name(self, union: str, leaf: Leaf) -> str:
        curated = self.curated.lookup(self._original(union), leaf.path)
        if curated:
            return curated
        if leaf.payload and self._is_unchanged(leaf):
            sole = self.tagged[leaf.payload] == 1 and not self.plain[leaf.payload]
            if leaf.is_default and len(leaf.steps) == 1 and not self.tagged[leaf.payload] and not leaf.steps[0].null:
                return leaf.payload
            if not leaf.is_default and sole:
                return leaf.payload
        name = names.variant_name(union, leaf.path, self.taken | set(self.groups), leaf.is_default)
        return self.curated.ruled(self._original(union), leaf.path, name)

    def _is_unchanged(self, leaf: Leaf) -> bool:
        """Whether the leaf has just its payload's fields."""
        shape = self.shapes[leaf.payload or ""]
        return (
            isinstance(shape, ObjectShape) and shape.groups == leaf.groups and same_fields(settled(shape), leaf.fields)
        )

    def _check_takes_definition(self, group: Group) -> None:
        """A curated variant may take a definition's name only where that definition is not needed for itself."""
        shape = self.shapes[group.name]
        where = group.leaves[0].pointer
        if isinstance(shape, ObjectShape):
            others = [leaf for leaf in group.leaves if leaf.payload != group.name]
            untagged = all(leaf.is_default and len(leaf.steps) == 1 for leaf in group.leaves)
            if others or (self.plain[group.name] and not untagged):
                self.problems.add(
                    where,
                    f"{group.name} as the class of a variant and as a definition that is used without its tag",
                    "another name in names.toml",
                )
        elif not isinstance(shape, UnionShape) or self.plain[group.name]:
            self.problems.add(where, f"{group.name} for a variant and for a definition", "another name in names.toml")

    # classes

    def _definition(self, name: str, shape: Shape) -> ir.Definition:
        match shape:
            case ObjectShape(keeps_extra=True):
                if shape.groups:
                    self.problems.add(shape.pointer, "an open record with property groups", "one or the other")
                named = self._named(settled(shape), reserved=names.RESERVED_RECORD_MEMBERS)
                return ir.Record(name, named, shape.doc)
            case ObjectShape():
                fields, groups = self._with_groups(settled(shape), shape.groups, shape.pointer)
                named = self._named(fields)
                return ir.Struct(name, named, groups=self._groups(groups, named), doc=shape.doc)
            case UntaggedShape():
                return ir.UntaggedUnion(name, tuple(self._option(name, option) for option in shape.options), shape.doc)
            case ir.Alias() | ir.Enum():
                return shape
        raise AssertionError(shape)

    def _option(self, union: str, option: ir.Type | tuple[str, ObjectShape]) -> ir.Type:
        if not isinstance(option, tuple):
            return option
        title, shape = option
        taken = self.taken | set(self.groups) | set(self.result)
        name = self.curated.lookup(self._original(union), (title,)) or self.curated.ruled(
            self._original(union), (title,), names.variant_name(union, (title,), taken, is_titled=True)
        )
        doc = self.docs.variant(self._original(union), (title,)) or shape.doc
        struct = ir.Struct(name, self._named(settled(shape)), definition=False, doc=doc)
        self._put(name, struct)
        return ir.Ref(name)

    def _variant_class(self, group: Group) -> ir.Struct:
        main = group.main()
        first = main[0]
        for leaf in group.leaves:
            if not same_fields(leaf.fields, first.fields) or leaf.groups != first.groups:
                self.problems.add(leaf.pointer, f"{group.name} for variants of different shapes", "a name for each")
            if tuple(step.wire for step in leaf.steps) != tuple(s.wire for s in first.steps)[-len(leaf.steps) :]:
                self.problems.add(leaf.pointer, f"{group.name} for variants of unrelated unions", "a name for each")
        tag, tag_fields = self._tags([leaf for leaf in main if len(leaf.steps) == len(first.steps)])
        own, groups = self._with_groups(first.fields, first.groups, first.pointer)
        payloads = {leaf.payload for leaf in group.leaves}
        payload = first.payload if len(payloads) == 1 else None
        is_definition = isinstance(self.shapes.get(group.name), ObjectShape)
        # A payload that doubles as another union's variant carries that union's tags, so it is nobody's base.
        base = payload if payload and not is_definition and payload not in self.groups else None
        # Nor is one of which a property is required here and optional there.
        if base and not {replace(one, doc="") for one in self._payload_fields(base)} <= {
            replace(one, doc="") for one in own
        }:
            base = None
        inherited = self._named(self._payload_fields(base)) if base else ()
        known = {field.wire for field in inherited}
        added = [field for field in (*tag_fields, *own) if field.wire not in known]
        named = self._named(added, before=inherited)
        return ir.Struct(
            group.name,
            named,
            tag,
            base,
            self._groups(groups, (*inherited, *named)),
            definition=is_definition,
            variant_only=self._variant_only(group.name, named) if is_definition else (),
            doc=self._variant_doc(group, main),
        )

    def _note_docs(self, union: str) -> None:
        """Ask for the docs of a union's tag and of each way to a leaf: what stands behind another text is not stale."""
        original = self._original(union)
        self.docs.property(original, self.unions[union].tag)
        for leaf in self.leaves[union]:
            for length in range(1, len(leaf.path) + 1):
                self.docs.variant(original, leaf.path[:length])

    def _payload_fields(self, name: str) -> tuple[ir.Field, ...]:
        shape = self.shapes[name]
        assert isinstance(shape, ObjectShape)
        return self._with_groups(settled(shape), shape.groups, shape.pointer)[0]

    def _variant_only(self, name: str, named: tuple[ir.Field, ...]) -> tuple[str, ...]:
        own = {field.wire for field in self._payload_fields(name)}
        return tuple(field.name for field in named if field.wire not in own)

    def _variant_doc(self, group: Group, main: list[Leaf]) -> str:
        own = self.docs.definition(self._original(group.name))
        if own:
            return own
        for leaf in main:
            for length in range(len(leaf.path), 0, -1):
                text = self.docs.variant(self._original(leaf.union), leaf.path[:length])
                if text:
                    return text
        payload = self.shapes.get(main[0].payload or "")
        return main[0].doc or (payload.doc if isinstance(payload, ObjectShape) else "")

    def _tags(self, main: list[Leaf]) -> tuple[ir.Tag | None, list[ir.Field]]:
        """The tag that the decoder goes by, and the other tags as fields."""
        tag: ir.Tag | None = None
        fields = []
        for position, steps in enumerate(zip(*(leaf.steps for leaf in main), strict=True)):
            values = list(dict.fromkeys(step.value for step in steps))
            known = tuple(value for value in values if value is not None)
            if not known:
                if steps[0].null:
                    tolerant = steps[0].declared is not None and steps[0].declared.on_error
                    fields.append(ir.Field(steps[0].wire, "", ir.Scalar("null"), on_error=tolerant))
                continue
            if position == 0 and values == list(known) and len(known) == 1:
                tag = ir.Tag(steps[0].wire, known[0])
                continue
            fields.append(self._tag_field(steps[0], known, None in values, main[0].union))
        return tag, fields

    def _tag_field(self, step: Step, known: tuple[str, ...], optional: bool, union: str) -> ir.Field:
        kind: ir.Type = ir.Const(known)
        declared = step.declared
        doc = declared.doc if declared else self.docs.property(self._original(union), step.wire)
        if not optional:
            return ir.Field(step.wire, "", kind, required=len(known) > 1, constant=len(known) == 1, doc=doc)
        if declared is None or isinstance(declared.type, ir.Nullable):
            kind = ir.Nullable(kind)
        return ir.Field(step.wire, "", kind, on_error=declared is not None and declared.on_error, doc=doc)

    def _fallback(self, union: str) -> ir.Fallback | None:
        name = self.fallback_of.get(union)
        shape = self.unions[union]
        branch = next((branch for branch in shape.branches if branch.role == "fallback"), None)
        if branch is None or name is None:
            return None
        shared = without(shape.shared, shape.tag)
        merged = self.unfolder.merge(branch.inline, shared)
        payload = self.unfolder.payload(branch)[1]
        if isinstance(payload, ObjectShape):
            merged = self.unfolder.merge(without(payload, shape.tag), merged)
        elif payload is not None:
            self.problems.add(branch.inline.pointer, "a fallback that is a union itself", "an object with properties")
        fields, groups = self._with_groups(settled(merged), merged.groups, merged.pointer)
        named = self._named(fields, reserved=names.RESERVED_RECORD_MEMBERS)
        doc = self.docs.variant(self._original(union), (FALLBACK,)) or branch.inline.doc
        article = "An" if union[0] in "AEIO" else "A"
        doc = doc or f"{article} `{union}` whose `{shape.tag}` this version does not know."
        return ir.Fallback(name, union, shape.tag, named, self._groups(groups, named), doc)

    # unions

    def _union(self, name: str) -> ir.TaggedUnion:
        return self._union_at(name, name, ())

    def _union_at(self, outer: str, name: str, path: tuple[str, ...]) -> ir.TaggedUnion:
        """The union `name` as it stands inside `outer`, after the tags in `path`."""
        shape = self.unions[name]
        variants = []
        default = None
        listed = set()
        for branch in shape.branches:
            if branch.role == "fallback":
                continue
            here = (*path, branch.value)
            if branch.role == "default":
                default = self.class_of.get((outer, here))
                continue
            listed.add(branch.value)
            payload = self.unfolder.payload(branch)[0]
            if payload in self.unions and (outer, here) not in self.class_of:
                if payload not in (outer, name):
                    variants.append(ir.Variant(branch.value, self._union_at(outer, payload, here)))
            elif (outer, here) in self.class_of:
                variants.append(ir.Variant(branch.value, self.class_of[outer, here]))
        excluded = tuple(
            tag
            for branch in shape.branches
            if branch.role == "fallback"
            for tag in branch.excluded
            if tag not in listed
        )
        fallback = self.fallback_of.get(name)
        foreign = self._foreign(name) if outer == name else ()
        return ir.TaggedUnion(name, shape.tag, tuple(variants), fallback, default, excluded, foreign, shape.doc)

    def _foreign(self, union: str) -> tuple[str, ...]:
        """Members that this union's classes have only for the sake of an outer union."""
        found: dict[str, None] = {}
        for leaf in self.leaves[union]:
            group = self.groups[self.class_of[union, leaf.path]]
            outer = group.main()[0]
            wires = {step.wire for step in outer.steps} - {step.wire for step in leaf.steps}
            struct = self.result[group.name]
            assert isinstance(struct, ir.Struct)
            found.update(dict.fromkeys(member.name for member in struct.fields if member.wire in wires))
        return tuple(found)

    # fields

    def _with_groups(
        self, fields: tuple[ir.Field, ...], groups: GroupsShape | None, pointer: str
    ) -> tuple[tuple[ir.Field, ...], ResolvedGroups | None]:
        """The fields with those of the property groups added, all optional."""
        if groups is None:
            return fields, None
        shapes = self.unfolder.group_fields(groups, pointer)
        merged = NO_FIELDS
        for _, shape in shapes:
            merged = self.unfolder.merge(merged, replace(shape, required=frozenset()))
        for wire in sorted({one.wire for one in fields} & {one.wire for one in merged.fields}):
            twice = f"{wire!r} described beside groups of properties and in one of them"
            self.problems.add(pointer, twice, "one place")
        return (*fields, *settled(merged)), (groups.exclusive, shapes)

    def _groups(self, resolved: ResolvedGroups | None, named: tuple[ir.Field, ...]) -> ir.Groups | None:
        if resolved is None:
            return None
        exclusive, shapes = resolved
        by_wire = {field.wire: field.name for field in named}
        for _, shape in shapes:
            for wire in sorted(shape.required - by_wire.keys()):
                self.problems.add(shape.pointer, f"{wire!r} required of a group and not described", "a property")
                by_wire[wire] = wire
        groups = tuple(
            ir.Group(
                title,
                tuple(by_wire[field.wire] for field in shape.fields),
                tuple(by_wire[wire] for wire in sorted(shape.required)),
            )
            for title, shape in shapes
        )
        return ir.Groups(exclusive, groups)

    def _named(
        self, fields: Iterable[ir.Field], reserved: Iterable[str] = (), before: tuple[ir.Field, ...] = ()
    ) -> tuple[ir.Field, ...]:
        """Member names filled in; `before` are members that the class inherits."""
        listed = list(fields)
        taken = self.lowercase | names.RESERVED_MEMBERS | frozenset(reserved) | {field.name for field in before}
        by_wire = names.member_names([field.wire for field in listed], taken)
        return tuple(replace(field, name=by_wire[field.wire]) for field in listed)


def plain_references(shapes: Mapping[str, Shape], unfolder: Unfolder) -> Iterable[str]:
    """Definitions that stand somewhere for themselves, not as a tagged variant's payload."""
    for shape in shapes.values():
        match shape:
            case ObjectShape():
                yield from object_references(shape)
            case UnionShape():
                yield from object_references(shape.shared)
                for branch in shape.branches:
                    yield from object_references(branch.inline)
                    if branch.role == "default" and branch.payload:
                        yield unfolder.resolve(branch.payload)[0]
            case UntaggedShape():
                for option in shape.options:
                    yield from object_references(option[1]) if isinstance(option, tuple) else ir.references(option)
            case ir.Alias():
                yield from ir.references(shape)


def object_references(shape: ObjectShape) -> Iterable[str]:
    """Definitions that an object's properties refer to, those of its groups included."""
    yield from ir.references(ir.Struct("", shape.fields))
    for _, group in shape.groups.groups if shape.groups else ():
        if isinstance(group, ObjectShape):
            yield from object_references(group)

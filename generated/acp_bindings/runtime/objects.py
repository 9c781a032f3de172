"""The nodes of objects: model classes, records, tagged and untagged unions.

Each model class is tried with the C converter first, so only what needs care runs here. A class that contains itself is
not tried (it would be tried again at every level), which keeps the cost linear in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET, ValidationError
from msgspec import convert as _convert

from .models import Groups, Model, Record, UnknownVariant
from .walk import Invalid, Node, Path, Reports, drop, expected, kind, shown

_MISSING: Any = object()
Hook = Callable[[Any, Any], Any]


class Member:
    """One field of a model class, as the walk needs it. `empty` makes a required field's value when it is tolerated.

    A `foreign` member does not belong to what is decoded: absent or invalid, it is left unset.
    """

    __slots__ = ("empty", "foreign", "name", "node", "on_error", "on_null", "required", "wire")

    def __init__(
        self,
        name: str,
        wire: str,
        node: Node,
        required: bool,
        on_error: bool = False,
        on_null: bool = False,
        empty: Callable[[], Any] | None = None,
        foreign: bool = False,
    ) -> None:
        self.name = name
        self.wire = wire
        self.node = node
        self.required = required
        self.on_error = on_error
        self.on_null = on_null
        self.empty = empty
        self.foreign = foreign

    def rescue(self, item: Any, error: Invalid, here: Path, reports: Reports) -> Any:
        """What an invalid value reads as: _MISSING where the default is to stand. Raises the error if not tolerated."""
        if self.foreign:
            return _MISSING
        if reports is None or not (self.on_error or (self.on_null and item is None)):
            raise error
        drop(reports, here, error)
        return self.empty() if self.empty else _MISSING


class StructNode(Node):
    """A model class. `tag` is checked where the class stands alone and is nothing but a variant."""

    kinds = frozenset({"object"})

    def __init__(self, cls: type[Model], hook: Hook) -> None:
        self.cls = cls
        self.hook: Hook | None = hook
        self.members: tuple[Member, ...] = ()
        self.plan: tuple[tuple[str, str, Callable[[Any, Path, Reports], Any], Member], ...] = ()
        self.tag: tuple[str, str] | None = None
        self.recursive = False

    def complete(self, members: tuple[Member, ...]) -> None:
        """Set the members. Apart from the constructor, since a class may contain itself."""
        self.members = members
        self.plan = tuple((member.wire, member.name, member.node.walk, member) for member in members)

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if reports is None or not self.recursive:
            try:
                # Passing a hook doubles the cost of a small object.
                if self.hook is None:
                    return _convert(value, self.cls)
                return _convert(value, self.cls, dec_hook=self.hook)
            except (ValidationError, RecursionError) as error:
                if reports is None:
                    raise Invalid(path, str(error)) from None
        return self.careful(value, path, reports)

    def careful(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            raise expected(path, "object", value)
        if self.tag is not None and value.get(self.tag[0], self.tag[1]) != self.tag[1]:
            raise Invalid((path, self.tag[0]), f"expected {self.tag[1]!r}")
        return self.build(self.read(value, path, reports, self.plan), path)

    def read(self, value: dict[str, Any], path: Path, reports: Reports, plan: Iterable[Any]) -> dict[str, Any]:
        """The members of `plan` by name; what is absent or tolerated is left to the class's defaults."""
        found: dict[str, Any] = {}
        for wire, name, walk, member in plan:
            item = value.get(wire, _MISSING)
            if item is not _MISSING:
                here = (path, wire)
                try:
                    item = walk(item, here, reports)
                except Invalid as error:
                    item = member.rescue(item, error, here, reports)
            elif member.required:
                raise Invalid((path, wire), "missing")
            if item is not _MISSING:
                found[name] = item
            elif member.foreign:
                found[name] = UNSET
        return found

    def build(self, found: dict[str, Any], path: Path) -> Model:
        try:
            return self.cls(**found)
        except ValueError as error:
            raise Invalid(path, str(error)) from None

    def inside(self) -> tuple[Node, ...]:
        return tuple(member.node for member in self.members)


class GroupedNode(StructNode):
    """A model class with members that come in groups."""

    def __init__(self, cls: type[Model], hook: Hook, groups: Groups) -> None:
        super().__init__(cls, hook)
        self.groups = groups
        self.grouped: dict[str, Member] = {}

    def complete(self, members: tuple[Member, ...]) -> None:
        names = {name for _, group, _ in self.groups.groups for name in group}
        super().complete(members)
        self.grouped = {member.name: member for member in members if member.name in names}
        self.plan = tuple(step for step in self.plan if step[1] not in names)

    def careful(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            raise expected(path, "object", value)
        found = self.read(value, path, reports, self.plan)
        return self.build(found | self._settled(value, path, reports), path)

    def _settled(self, value: dict[str, Any], path: Path, reports: Reports) -> dict[str, Any]:
        """The members of the groups that are there. A group is claimed when all its required keys are."""
        values: dict[str, Any] = {}
        errors: dict[str, Invalid] = {}
        for name, member in self.grouped.items():
            if member.wire in value:
                step = (member.wire, name, member.node.walk, member)
                try:
                    values |= self.read(value, path, reports, (step,))
                except Invalid as error:
                    errors[name] = error
        claimed = [group for group in self.groups.groups if all(self.grouped[n].wire in value for n in group[2])]
        valid = [g for g in claimed if not any(n in errors for n in g[1]) and all(n in values for n in g[2])]
        if len(claimed) == 1:
            for name in claimed[0][1]:
                if name in errors:
                    raise errors[name]
        if not valid or (self.groups.exclusive and len(claimed) > 1):
            raise Invalid(path, self.groups.rule())
        kept = {name for _, members, _ in valid for name in members}
        return {name: item for name, item in values.items() if name in kept}


class RecordNode(Node):
    """A dict-based class: the declared properties are validated, the whole object is kept."""

    kinds = frozenset({"object"})

    def __init__(self, cls: type[Record], fields: StructNode | None) -> None:
        self.cls = cls
        self.fields = fields
        # C never meets an unknown variant: it refuses the union's value.
        self.walked = not issubclass(cls, UnknownVariant)

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            raise expected(path, "object", value)
        if self.fields is not None:
            self.fields.walk(value, path, reports)
        record = self.cls.__new__(self.cls)
        record.update(value)
        return record

    def inside(self) -> tuple[Node, ...]:
        return () if self.fields is None else (self.fields,)


class TaggedNode(Node):
    """Variants told apart by a string property."""

    kinds = frozenset({"object"})

    def __init__(self, tag: str, excluded: frozenset[str]) -> None:
        self.tag = tag
        self.excluded = excluded
        self.variants: dict[str, Node] = {}
        self.fallback: Node | None = None
        self.default: Node | None = None

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if type(value) is dict:
            tag = value.get(self.tag)
            if type(tag) is str:
                variant = self.variants.get(tag)
                if variant is not None:
                    return variant.walk(value, path, reports)
        return self._other(value, path, reports)

    def _other(self, value: Any, path: Path, reports: Reports) -> Any:
        """A value that shows no known tag."""
        if not isinstance(value, dict):
            if isinstance(value, Model):
                return self._instance(value, path)
            raise expected(path, "object", value)
        tag = value.get(self.tag, _MISSING)
        if not isinstance(tag, str):
            if self.default is not None:
                return self.default.walk(value, path, reports)
            if tag is _MISSING:
                raise Invalid((path, self.tag), "missing")
            raise expected((path, self.tag), "string", tag)
        variant = self.variants.get(tag)
        if variant is None and tag not in self.excluded:
            variant = self.fallback or self.default
        if variant is None:
            known = ", ".join(map(repr, self.variants))
            raise Invalid((path, self.tag), f"expected one of {known}, got {shown(tag)}")
        return variant.walk(value, path, reports)

    def _instance(self, value: Model, path: Path) -> Model:
        """A model that is decoded already passes, if it is one of this union's."""
        classes = list(self.classes())
        if type(value) in classes:
            return value
        raise expected(path, " or ".join(cls.__name__ for cls in classes), value)

    def classes(self) -> Iterable[type[Model]]:
        for node in self.inside():
            if isinstance(node, TaggedNode):
                yield from node.classes()
            elif isinstance(node, StructNode):
                yield node.cls

    def inside(self) -> tuple[Node, ...]:
        return tuple(node for node in (*self.variants.values(), self.fallback, self.default) if node is not None)


class UntaggedNode(Node):
    """Alternatives told apart by JSON kind, then by required keys (of an array: of its first item), then by trying."""

    walked = True

    def __init__(self) -> None:
        self.options: tuple[tuple[Node, frozenset[str]], ...] = ()

    def complete(self, options: Iterable[Node], required: Callable[[Node], frozenset[str]]) -> None:
        self.options = tuple((option, required(option)) for option in options)
        self.kinds = frozenset().union(*(option.kinds for option, _ in self.options))

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        candidates = self._candidates(value)
        mark = len(reports) if reports is not None else 0
        for option in candidates:
            try:
                return option.walk(value, path, reports)
            except Invalid:
                if len(candidates) == 1:
                    raise
                if reports is not None:
                    del reports[mark:]
        if not candidates:
            raise expected(path, " or ".join(sorted(self.kinds)) or "no value", value)
        raise Invalid(path, f"matches none of {len(candidates)} alternatives")

    def _candidates(self, value: Any) -> list[Node]:
        found = kind(value)
        fitting = [one for one in self.options if found in one[0].kinds]
        first = value[0] if isinstance(value, list) and value else value
        if len(fitting) > 1 and isinstance(first, dict):
            fitting = [one for one in fitting if one[1] <= first.keys()] or fitting
        return [option for option, _ in fitting]

    def inside(self) -> tuple[Node, ...]:
        return tuple(option for option, _ in self.options)

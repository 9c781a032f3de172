"""The nodes of objects: model classes, records, tagged and untagged unions.

Each model class is tried with the C converter first, so only what needs care runs here. A class that contains itself is
not tried (it would be tried again at every level), which keeps the cost linear in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET
from msgspec import convert as _convert

from .models import Groups, Model, Record, UnknownVariant
from .walk import (
    Invalid,
    Log,
    Node,
    NullableNode,
    Path,
    Reports,
    StringNode,
    as_object,
    drop,
    expected,
    kind,
    moved,
    shown,
)

_MISSING: Any = object()
Hook = Callable[[Any, Any], Any]
Walk = Callable[[Any, Path, Reports], Any]
# Wire name, member name, the Python type that needs no walk, whether null is fine, how all else is walked, the member.
Step = tuple[str, str, type | None, bool, Walk, "Member"]


class Member:
    """One field of a model class, as the walk needs it. `empty` makes a required field's value when it is tolerated.

    A `foreign` member does not belong to what is decoded: absent or invalid, it is left to its default, or (`unset`)
    unset where it has none.
    """

    __slots__ = ("empty", "foreign", "name", "node", "on_error", "on_null", "required", "unset", "wire")

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
        unset: bool = False,
    ) -> None:
        self.name = name
        self.wire = wire
        self.node = node
        self.required = required
        self.on_error = on_error
        self.on_null = on_null
        self.empty = empty
        self.foreign = foreign
        self.unset = unset

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
        self.plan: tuple[Step, ...] = ()
        self.tag: tuple[str, str] | None = None
        self.recursive = False

    def settle(self) -> None:
        """Plan the reading of the members, once all nodes are complete."""
        self.plan = tuple(map(_step, self.members))

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if reports is None or not self.recursive or path is None:
            try:
                # Passing a hook doubles the cost of a small object.
                if self.hook is None:
                    return _convert(value, self.cls)
                return _convert(value, self.cls, dec_hook=self.hook)
            except Exception as error:
                # Mostly a ValidationError; but of what is no JSON value, C may ask what it does not answer.
                if reports is None:
                    raise Invalid(path, str(error)) from None
        return self.careful(value, path, reports)

    def careful(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            if type(value) is self.cls:
                return value
            value = as_object(value, path)
        if self.tag is not None and value.get(self.tag[0], self.tag[1]) != self.tag[1]:
            raise Invalid((path, self.tag[0]), f"expected {self.tag[1]!r}")
        return self.build(self.read(value, path, reports, self.plan), path)

    def read(self, value: dict[str, Any], path: Path, reports: Reports, plan: Iterable[Step]) -> dict[str, Any]:
        """The members of `plan` by name; what is absent or tolerated is left to the class's defaults."""
        found: dict[str, Any] = {}
        for wire, name, plain, nullable, walk, member in plan:
            item = value.get(wire, _MISSING)
            if type(item) is plain or (nullable and item is None):
                found[name] = item
                continue
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
            elif member.unset:
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
        self.rule = ""
        # Of each group, its members and those that are required.
        self.plans: tuple[tuple[tuple[Step, ...], tuple[Step, ...]], ...] = ()

    def settle(self) -> None:
        super().settle()
        steps = {step[1]: step for step in self.plan}
        self.plans = tuple(
            (tuple(map(steps.__getitem__, names)), tuple(map(steps.__getitem__, required)))
            for _, names, required in self.groups.groups
        )
        self.rule = self.groups.rule({step[1]: step[0] for step in self.plan})
        grouped = {name for _, names, _ in self.groups.groups for name in names}
        self.plan = tuple(step for step in self.plan if step[1] not in grouped)

    def read(self, value: dict[str, Any], path: Path, reports: Reports, plan: Iterable[Step]) -> dict[str, Any]:
        found = super().read(value, path, reports, plan)
        return found | self._settled(value, path, reports)

    def claimed(self, value: dict[str, Any], path: Path) -> list[tuple[Step, ...]]:
        """The groups that are there, as their members: those of which all required keys are. Raises Invalid."""
        claimed = [plan for plan, required in self.plans if all(step[0] in value for step in required)]
        if not claimed or (self.groups.exclusive and len(claimed) > 1):
            raise Invalid(path, self.rule)
        return claimed

    def _settled(self, value: dict[str, Any], path: Path, reports: Reports) -> dict[str, Any]:
        """The members of the groups that are there."""
        claimed = self.claimed(value, path)
        found: dict[str, Any] = {}
        errors: list[Invalid] = []
        for plan in claimed:
            mark = 0 if reports is None else len(reports)
            try:
                found |= super().read(value, path, reports, plan)
            except Invalid as error:
                errors.append(error)
                if reports is not None:
                    del reports[mark:]
        if len(errors) == len(claimed):
            raise errors[0] if len(errors) == 1 else Invalid(path, self.rule)
        return found


class RecordNode(Node):
    """A dict-based class: the declared properties are validated, the whole object is kept.

    `tag` is a property that must be a string, where no union has looked at it.
    """

    kinds = frozenset({"object"})

    def __init__(self, cls: type[Record], fields: StructNode | None, tag: str | None) -> None:
        self.cls = cls
        self.fields = fields
        self.tag = tag
        # C never meets an unknown variant: it refuses the union's value.
        self.walked = not issubclass(cls, UnknownVariant)

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            value = as_object(value, path)
        if self.tag is not None and not isinstance(value.get(self.tag), str):
            raise tagless(value, self.tag, path)
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
            value = as_object(value, path)
        return self.chosen(value, path).walk(value, path, reports)

    def chosen(self, value: dict[str, Any], path: Path) -> Node:
        """The variant that an object is, by its tag. Raises Invalid."""
        tag = value.get(self.tag)
        if not isinstance(tag, str):
            if self.default is not None:
                return self.default
            raise tagless(value, self.tag, path)
        variant = self.variants.get(tag)
        if variant is None and tag not in self.excluded:
            variant = self.fallback or self.default
        if variant is None:
            known = ", ".join(map(repr, self.variants))
            raise Invalid((path, self.tag), f"expected one of {known}, got {shown(tag)}")
        return variant

    def _instance(self, value: Model, path: Path) -> Model:
        """A model that is decoded already passes, if it is one of this union's."""
        classes = dict.fromkeys(node.cls for node in self.structs())
        if type(value) in classes:
            return value
        raise expected(path, " or ".join(cls.__name__ for cls in classes), value)

    def structs(self) -> Iterable[StructNode]:
        """The variants that are model classes, those of nested unions too."""
        for node in self.inside():
            if isinstance(node, TaggedNode):
                yield from node.structs()
            elif isinstance(node, StructNode):
                yield node

    def inside(self) -> tuple[Node, ...]:
        return tuple(node for node in (*self.variants.values(), self.fallback, self.default) if node is not None)


class UntaggedNode(Node):
    """Alternatives told apart by JSON kind, then by required keys (of an array: of its first item), then by trying."""

    walked = True

    def __init__(self, options: tuple[Node, ...]) -> None:
        self.options = options
        self.told: tuple[tuple[Node, frozenset[str]], ...] = ()
        # Required keys that only one option has, for as many options from the first on as have one.
        self.marks: tuple[tuple[str, Callable[[Any, Path, Reports], Any]], ...] = ()
        self.kinds = frozenset().union(*(option.kinds for option in options))
        self.recursive = False

    def settle(self, required: Callable[[Node], frozenset[str]], recursive: bool) -> None:
        """Learn what tells the options apart, once all nodes are complete."""
        self.told = tuple((option, required(option)) for option in self.options)
        self.recursive = recursive
        marks = []
        for option, keys in self.told:
            others = frozenset().union(*(other for one, other in self.told if one is not option))
            if not keys - others:
                break
            marks.append((min(keys - others), option.walk))
        self.marks = tuple(marks) if "array" not in self.kinds else ()

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if reports is None and type(value) is dict:
            for key, walk in self.marks:
                if key in value:
                    return walk(value, path, None)
        candidates = self.candidates(value)
        if not candidates:
            raise expected(path, " or ".join(sorted(self.kinds)) or "no value", value)
        # Strictly refused, the first candidate may still be the one that tolerance finds: the caller comes again.
        if reports is None or len(candidates) == 1:
            return candidates[0].walk(value, path, reports)
        # The value is kept with what was made of it: its id is good for as long as it lives.
        log = reports if self.recursive and isinstance(reports, Log) else None
        tried = log.tried.get((id(self), id(value))) if log is not None and log.tried else None
        found, inner, place, _ = tried or self._try(candidates, value, path, reports, log)
        if found is _MISSING:
            raise Invalid(path, f"matches none of {len(candidates)} alternatives")
        reports.extend((moved(way, place, path), reason) for way, reason in inner)
        return found

    def _try(
        self, candidates: list[Node], value: Any, path: Path, reports: list[tuple[Path, str]], log: Log | None
    ) -> tuple[Any, list[tuple[Path, str]], Path, Any]:
        """What the first candidate that takes the value makes of it, and what was tolerated; kept in the log."""
        mark = len(reports)
        found, inner = _MISSING, []
        for option in candidates:
            try:
                found = option.walk(value, path, reports)
            except Invalid:
                del reports[mark:]
                continue
            inner = reports[mark:]
            del reports[mark:]
            break
        tried = (found, inner, path, value)
        if log is not None:
            log.tried = log.tried or {}
            log.tried[id(self), id(value)] = tried
        return tried

    def candidates(self, value: Any) -> list[Node]:
        """The alternatives that come into question, in the order of trying them."""
        found = kind(value)
        fitting = [one for one in self.told if found in one[0].kinds]
        first = value[0] if isinstance(value, list) and value else value
        if len(fitting) > 1 and isinstance(first, dict):
            fitting = [one for one in fitting if one[1] <= first.keys()] or fitting
        return [option for option, _ in fitting]

    def inside(self) -> tuple[Node, ...]:
        return self.options


def tagless(value: dict[str, Any], tag: str, path: Path) -> Invalid:
    """What is wrong with an object whose tag is no string."""
    return expected((path, tag), "string", value[tag]) if tag in value else Invalid((path, tag), "missing")


def _step(member: Member) -> Step:
    node, nullable = member.node, isinstance(member.node, NullableNode)
    if isinstance(node, NullableNode):
        node = node.inner
    plain = str if isinstance(node, StringNode) else None
    # A class that contains itself is not for C to try, so that its every level costs a step less.
    walk = node.careful if isinstance(node, StructNode) and node.recursive else node.walk
    return (member.wire, member.name, plain, nullable, walk, member)

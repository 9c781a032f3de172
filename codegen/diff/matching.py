"""Which old definition is which new one. The same name is the same definition; beyond that, renames are recognised.

A definition that lost its name and one that got it are the same when they are of one kind and, round after round until
no more are found, the first of these holds (the numbers are the constants below):

    by place     both stand in the same place of things matched already (a method's params or result, a field, a tag of
                 a union, a base class), and at least half of their members are alike; or both have none
    by content   both are equal but for their names, with two members or more, and no other definition is
    by likeness  at least 80 % of their members are alike, three or more, and each is the other's best, alone

Members are the properties of an object (`_meta` aside, which all have), the values of an enum, the tags of a union. One
that differs but for its name counts half. Matched names count as equal in all this, and unmatched ones as each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TypeAlias

from codegen import ir
from codegen.diff.fits import members, tagged

PLACE_LIKENESS: Final = 0.5
CONTENT_MEMBERS: Final = 2
LIKENESS: Final = 0.8
LIKE_MEMBERS: Final = 3

NameOf: TypeAlias = Callable[[str], str]
Slot: TypeAlias = tuple[tuple[str, ...], str]
"""A place, and the name of the definition that stands there."""
_NAMED = (
    ir.Ref, ir.Struct, ir.Record, ir.Fallback, ir.Variant, ir.TaggedUnion, ir.UntaggedUnion, ir.Alias, ir.Enum,
)  # fmt: skip
# What of such a node names a definition; where it holds something else it is no text.
_NAMES = frozenset({"name", "base", "target", "fallback", "default", "union"})
# What Python makes of a definition; a class may change it and stay what it is on the wire.
_DERIVED = frozenset({"doc", "variant_only", "foreign", "definition"})


@dataclass(frozen=True, slots=True)
class Rename:
    """One recognised rename; `likeness` is the share of members that are alike, 1.0 when all are."""

    old: str
    new: str
    rule: str
    likeness: float

    def __str__(self) -> str:
        sure = "all members alike" if self.likeness == 1 else f"{self.likeness:.0%} of the members alike"
        return f"recognised by {self.rule}, {sure}"


def content(node: Any, name_of: NameOf) -> Any:
    """An IR node without its docs, as nested tuples, its names of definitions put through `name_of`."""
    if isinstance(node, tuple):
        return tuple(content(item, name_of) for item in node)
    if not is_dataclass(node):
        return node
    found = [type(node).__name__]
    for part in fields(node):
        value = getattr(node, part.name)
        if part.name in _DERIVED:
            continue
        names = isinstance(node, _NAMED) and part.name in _NAMES and isinstance(value, str)
        found.append(name_of(value) if names else content(value, name_of))
    return tuple(found)


class Matching:
    """The pairs of two profiles. `of` maps each old name to its new one; `renames` are those that differ."""

    def __init__(self, old: ir.Profile, new: ir.Profile) -> None:
        self.old = old
        self.new = new
        self.of: dict[str, str] = {name: name for name in old.definitions if name in new.definitions}
        self.renames: list[Rename] = []
        while self._by_place() or self._by_content() or self._by_likeness():
            pass
        self.back = {new: old for old, new in self.of.items()}
        self.pairs = frozenset(self.of.items())

    def old_name(self, name: str) -> str:
        """An old name in terms of the new profile; `?` for one that has no match."""
        return self.of.get(name, "?")

    def new_name(self, name: str) -> str:
        return name if name in self._taken() else "?"

    def equal(self, old: Any, new: Any) -> bool:
        """Whether two nodes say the same, matched names counting as one, and no unmatched one as another."""
        return bool(content(old, lambda name: self.of.get(name, f"old {name}")) == content(new, str))

    def _taken(self) -> frozenset[str]:
        return frozenset(self.of.values())

    def _left(self) -> tuple[list[str], list[str]]:
        taken = self._taken()
        old = [name for name in self.old.definitions if name not in self.of]
        return old, [name for name in self.new.definitions if name not in taken]

    def _pair(self, old: str, new: str, rule: str, likeness: float) -> None:
        self.of[old] = new
        self.renames.append(Rename(old, new, rule, likeness))

    # by place

    def _by_place(self) -> bool:
        old_left, new_left = map(frozenset, self._left())
        there = dict(self._places(self.new, {new: new for new in self.of.values()}))
        votes: Counter[tuple[str, str]] = Counter()
        for place, name in self._places(self.old, self.of):
            if name in old_left and there.get(place) in new_left:
                votes[name, there[place]] += 1
        likeness = {
            (old, new): self._likeness(
                old, new, self._members(old, self.old, self.old_name), self._members(new, self.new, self.new_name)
            )
            for old, new in votes
        }
        ranked = sorted(votes, key=lambda pair: (-votes[pair], -likeness[pair], pair))
        found = False
        taken = set(self._taken())
        for old, new in ranked:
            if likeness[old, new] >= PLACE_LIKENESS and old not in self.of and new not in taken:
                self._pair(old, new, "place", likeness[old, new])
                taken.add(new)
                found = True
        return found

    def _places(self, profile: ir.Profile, owners: Mapping[str, str]) -> Iterator[Slot]:
        for method in profile.methods:
            for part, name in (("params", method.params), ("result", method.result)):
                if name is not None:
                    yield (method.side, method.kind, method.name, part), name
        for name, owner in owners.items():
            for place, inner in _slots(profile.definitions[name], profile.definitions):
                yield (owner, *place), inner

    # by content and likeness

    def _by_content(self) -> bool:
        old_left, new_left = self._left()
        olds = _contents(old_left, self.old, self.old_name)
        news = _contents(new_left, self.new, self.new_name)
        found = False
        for key, names in olds.items():
            others = news.get(key, [])
            size = len(self._members(names[0], self.old, self.old_name))
            if len(names) == len(others) == 1 and size >= CONTENT_MEMBERS:
                self._pair(names[0], others[0], "content", 1.0)
                found = True
        return found

    def _by_likeness(self) -> bool:
        old_left, new_left = self._left()
        ours = {name: self._members(name, self.old, self.old_name) for name in old_left}
        theirs = {name: self._members(name, self.new, self.new_name) for name in new_left}
        score = {
            (old, new): likeness
            for old, parts in ours.items()
            if len(parts) >= LIKE_MEMBERS
            for new, others in theirs.items()
            if (likeness := self._likeness(old, new, parts, others)) >= LIKENESS
        }
        found = False
        for (old, new), likeness in score.items():
            rivals = (other for (a, b), other in score.items() if (a == old) != (b == new))
            if all(rival < likeness for rival in rivals):
                self._pair(old, new, "likeness", likeness)
                found = True
        return found

    def _likeness(self, old: str, new: str, ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> float:
        """The share of members that are alike; 1.0 where both have none."""
        if type(self.old.definitions[old]) is not type(self.new.definitions[new]):
            return 0.0
        alike = sum(1.0 if ours[key] == theirs[key] else 0.5 for key in ours.keys() & theirs.keys())
        both = len(ours.keys() | theirs.keys())
        return alike / both if both else 1.0

    def _members(self, name: str, profile: ir.Profile, name_of: NameOf) -> dict[Any, Any]:
        """What a definition is made of, by name, tag or value."""
        definition = profile.definitions[name]
        mapped = _apart(name, name_of)
        union = tagged(definition)
        if union is not None:
            targets = {one.value: one.target for one in union.variants}
            return {value: "" if isinstance(one, str) else content(one, mapped) for value, one in targets.items()}
        match definition:
            case ir.Enum():
                return {value: value for _, value in definition.members}
            case ir.UntaggedUnion():
                return {content(one, mapped): "" for one in definition.options}
            case ir.Alias():
                return {"": content(definition.type, mapped)}
        found = members(definition, profile.definitions)
        return {wire: content(field, mapped) for wire, field in found.items() if wire != "_meta"}


def _contents(left: list[str], profile: ir.Profile, name_of: NameOf) -> dict[Any, list[str]]:
    """Names by what they stand for."""
    found: dict[Any, list[str]] = {}
    for name in left:
        key = content(profile.definitions[name], _apart(name, name_of))
        found.setdefault(key, []).append(name)
    return found


def _apart(own: str, name_of: NameOf) -> NameOf:
    """`name_of`, but one mark for the name of a definition in itself."""
    return lambda name: "*" if name == own else name_of(name)


def _slots(definition: ir.Definition, definitions: Mapping[str, ir.Definition]) -> Iterator[Slot]:
    """The places of a definition where others stand by name."""
    union = tagged(definition)
    if union is not None:
        yield from _variants(union, ())
    if isinstance(definition, ir.Struct) and definition.base:
        yield ("base",), definition.base
    for wire, field in members(definition, definitions).items():
        for index, name in enumerate(ir.references(field.type)):
            yield ("field", wire, str(index)), name
    if isinstance(definition, ir.Alias):
        for index, name in enumerate(ir.references(definition.type)):
            yield ("alias", str(index)), name


def _variants(union: ir.TaggedUnion, path: tuple[str, ...]) -> Iterator[Slot]:
    for variant in union.variants:
        here = (*path, variant.value)
        if isinstance(variant.target, str):
            yield ("variant", *here), variant.target
        else:
            yield from _variants(variant.target, here)
    for rule, name in (("fallback", union.fallback), ("default", union.default)):
        if name:
            yield (rule, *path), name

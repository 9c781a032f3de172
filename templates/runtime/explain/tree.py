"""A JSON value beside what it is read as: which class it became, what of it was kept, dropped, unknown or wrong.

The codec's own nodes say all that. A value that decodes is followed from the outside in, node by node and beside the
decoded value. One that does not is taken apart: each member is tried by itself, so that every cause is found, not the
first alone, and the rest of the message is still read.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from ..codec import to_builtins
from ..compiled import node_of
from ..models import Model, Record, UnknownVariant, is_extension
from ..objects import GroupedNode, Member, RecordNode, StructNode, TaggedNode, UntaggedNode
from ..walk import (
    ChoiceNode,
    Invalid,
    ListNode,
    Log,
    MapNode,
    Node,
    NullableNode,
    OpenEnumNode,
    Path,
    drop,
    kind,
    pointer,
    shown,
)
from .findings import Finding, Item, Mark


def explained(raw: Any, form: Any, start: Path = None) -> tuple[Item, list[Finding]]:
    """A parsed JSON value as a class or union alias: its tree, and what there is to say. `start` leads to the value."""
    explainer = _Explainer()
    try:
        return explainer.any(node_of(form), raw, start, None), explainer.findings
    except RecursionError:
        return plain(raw, start), [_too_deep(raw, form, start)]


def _too_deep(raw: Any, form: Any, start: Path) -> Finding:
    """The decoder takes fewer steps for a level than explaining it does, so it may have an opinion still."""
    try:
        node_of(form).walk(raw, start, Log())
    except Invalid as error:
        return Finding("invalid", pointer(error.path), error.reason)
    except RecursionError:
        return Finding("invalid", pointer(start), "nested too deeply")
    return Finding("unread", pointer(start), "decodes, but is nested too deeply to be looked into")


def plain(raw: Any, path: Path, name: str | None = None, levels: int = 1) -> Item:
    """A value of no known type, with its members as children down to `levels`."""
    children: list[Item] = []
    if levels and isinstance(raw, dict):
        children = [plain(one, (path, key), levels=levels - 1) for key, one in raw.items()]
    value = UNSET if children else raw
    return Item(pointer(path), name, None if path is None else path[1], kind(raw), value=value, children=children)


class _Explainer:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.dropped: dict[str, str] = {}
        # Above zero inside objects that are kept whole: there, nothing is ignored.
        self.keeping = 0

    def note(self, mark: Mark, path: Path, reason: str) -> None:
        self.findings.append(Finding(mark, pointer(path), reason))

    def any(self, node: Node, raw: Any, path: Path, name: str | None) -> Item:
        reports = Log()
        try:
            value = node.walk(raw, path, reports)
        except Invalid as error:
            return self.broken(node, raw, path, name, error)
        self.dropped.update((pointer(way), reason) for way, reason in reports)
        return self.sound(node, raw, value, path, name)

    # What decodes

    def sound(self, node: Node, raw: Any, value: Any, path: Path, name: str | None) -> Item:
        """The tree of a value that is read as `value`."""
        node = _narrowed(node, raw, path)
        if isinstance(node, StructNode):
            return self.model(node, raw, value, path, name)
        if isinstance(node, RecordNode):
            return self.record(node, raw, value, path, name)
        if isinstance(node, ListNode) and raw:
            kept = iter(value)
            items = [
                dropped or self.sound(node.items, one, next(kept), (path, index), None)
                for index, one in enumerate(raw)
                for dropped in (self.tolerated(one, (path, index), None),)
            ]
            return self.item(raw, path, name, "array", items)
        if isinstance(node, MapNode) and raw:
            items = [self.sound(node.values, one, value[key], (path, key), None) for key, one in raw.items()]
            return self.item(raw, path, name, "object", items)
        if isinstance(node, OpenEnumNode) and raw not in node.known:
            extension = is_extension(raw)
            self.note("extension" if extension else "unknown", path, f"{shown(raw)} is none of the values defined")
        return plain(raw, path, name, levels=0)

    def item(self, raw: Any, path: Path, name: str | None, type_name: str, children: list[Item]) -> Item:
        value = UNSET if children else raw
        wire = None if path is None else path[1]
        return Item(pointer(path), name, wire, type_name, value=value, children=children)

    def model(self, node: StructNode, raw: dict[str, Any], value: Model, path: Path, name: str | None) -> Item:
        members = {member.wire: member for member in node.members}
        children = []
        for wire, one in raw.items():
            here = (path, wire)
            member = members.get(wire)
            if member is None:
                children.append(self.stray(node, one, here))
            else:
                children.append(self.member(member, one, getattr(value, member.name), here))
        for member in node.members:
            if member.wire not in raw and not member.foreign:
                children += _defaults(member, value, path)
        return self.object(node, raw, path, name, children)

    def object(self, node: StructNode, raw: dict[str, Any], path: Path, name: str | None, children: list[Item]) -> Item:
        item = self.item(raw, path, name, node.cls.__name__, children)
        tag = node.cls.__struct_config__.tag_field
        item.tag = tag if tag in raw else None
        return item

    def stray(self, node: StructNode, raw: Any, here: tuple[Path, str]) -> Item:
        """A property that is no member: the tag of the class, or one that nobody reads."""
        config = node.cls.__struct_config__
        if config.tag_field == here[1] and config.tag == raw:
            return plain(raw, here, levels=0)
        return self.ignored(raw, here, None, f"{node.cls.__name__} has no such property")

    def ignored(self, raw: Any, here: Path, name: str | None, reason: str) -> Item:
        if not self.keeping:
            self.note("ignored", here, reason)
        return plain(raw, here, name, levels=0)

    def tolerated(self, raw: Any, here: Path, name: str | None) -> Item | None:
        """The value if it was dropped by a tolerance rule."""
        reason = self.dropped.get(pointer(here)) if self.dropped else None
        if reason is None:
            return None
        self.note("tolerated", here, reason)
        return plain(raw, here, name, levels=0)

    def member(self, member: Member, raw: Any, value: Any, here: tuple[Path, str]) -> Item:
        dropped = self.tolerated(raw, here, member.name)
        if dropped is not None:
            return dropped
        if value is UNSET:
            return self.ignored(raw, here, member.name, "belongs to what is not there")
        if member.foreign and not _fits(member.node, raw):
            return self.ignored(raw, here, member.name, "does not belong here")
        return self.sound(member.node, raw, value, here, member.name)

    def record(self, node: RecordNode, raw: dict[str, Any], value: Record, path: Path, name: str | None) -> Item:
        """An object that is kept whole, some of its properties declared."""
        if isinstance(value, UnknownVariant):
            mark: Mark = "extension" if value.is_extension else "unknown"
            self.note(mark, path, f"{value._tag} {shown(value.tag)} is none of the variants defined")
        self.keeping += 1
        try:
            if node.fields is None:
                children = [plain(one, (path, wire), levels=0) for wire, one in raw.items()]
            else:
                fields = node.fields.walk(raw, path, Log())
                children = self.model(node.fields, raw, fields, path, name).children
        finally:
            self.keeping -= 1
        return self.item(raw, path, name, node.cls.__name__, children)

    # What does not

    def broken(self, node: Node, raw: Any, path: Path, name: str | None, error: Invalid) -> Item:
        """The tree of a value that was refused. What is wrong inside it is found by trying each part by itself."""
        before = len(self.findings)
        try:
            node = _narrowed(node, raw, path)
        except Invalid as other:
            node, error = _UNDECIDED, other
        item = self.taken_apart(node, raw, path, name)
        where = pointer(error.path)
        if not any(one.mark == "invalid" and one.pointer == where for one in self.findings[before:]):
            self.note("invalid", error.path, error.reason)
            if error.path is not None and error.path[0] == path and where not in _places(item):
                item.children = [*item.children, _missing(error.path, None)]
        return item

    def taken_apart(self, node: Node, raw: Any, path: Path, name: str | None) -> Item:
        if isinstance(node, StructNode) and isinstance(raw, dict):
            return self.broken_model(node, raw, path, name)
        if isinstance(node, RecordNode) and isinstance(raw, dict) and node.fields is not None:
            self.keeping += 1
            try:
                children = self.broken_model(node.fields, raw, path, name).children
            finally:
                self.keeping -= 1
            return self.item(raw, path, name, node.cls.__name__, children)
        if isinstance(node, ListNode) and isinstance(raw, list):
            items = [self.tried(node.items, one, (path, at), None, node.skip) for at, one in enumerate(raw)]
            return self.item(raw, path, name, "array", items)
        if isinstance(node, MapNode) and isinstance(raw, dict):
            items = [self.any(node.values, one, (path, key), None) for key, one in raw.items()]
            return self.item(raw, path, name, "object", items)
        return plain(raw, path, name)

    def broken_model(self, node: StructNode, raw: dict[str, Any], path: Path, name: str | None) -> Item:
        members, active = {member.wire: member for member in node.members}, self.active(node, raw, path)
        if node.tag is not None and raw.get(*node.tag) != node.tag[1]:
            self.note("invalid", (path, node.tag[0]), f"expected {node.tag[1]!r}")
        children = []
        for wire, one in raw.items():
            here, member = (path, wire), members.get(wire)
            if member is None:
                # The tag is wrong, which was said, or it is what nobody reads.
                is_tag = node.tag is not None and wire == node.tag[0]
                children.append(plain(one, here, levels=0) if is_tag else self.stray(node, one, here))
            elif wire not in active:
                children.append(self.ignored(one, here, member.name, "belongs to what is not there"))
            elif member.foreign and not _fits(member.node, one):
                children.append(self.ignored(one, here, member.name, "does not belong here"))
            else:
                rescued = member.on_error or (member.on_null and one is None)
                children.append(self.tried(member.node, one, here, member.name, rescued))
        for member in node.members:
            if member.required and member.wire in active and member.wire not in raw:
                self.note("invalid", (path, member.wire), "missing")
                children.append(_missing((path, member.wire), member.name))
        return self.object(node, raw, path, name, children)

    def active(self, node: StructNode, raw: dict[str, Any], path: Path) -> set[str]:
        """Wire names of the members that count: not those of groups that are not there."""
        if not isinstance(node, GroupedNode):
            return {member.wire for member in node.members}
        active = {step[0] for step in node.plan}
        try:
            return active.union(*({step[0] for step in plan} for plan in node.claimed(raw, path)))
        except Invalid as error:
            self.note("invalid", error.path, error.reason)
            return active

    def tried(self, node: Node, raw: Any, here: Path, name: str | None, rescued: bool) -> Item:
        """A part of what was refused, which a tolerance rule may drop."""
        if rescued:
            try:
                node.walk(raw, here, Log())
            except Invalid as error:
                reports: list[tuple[Path, str]] = []
                drop(reports, here, error)
                self.note("tolerated", here, reports[0][1])
                return plain(raw, here, name, levels=0)
        return self.any(node, raw, here, name)


class _Undecided(Node):
    """What a value is to be that no alternative takes."""


_UNDECIDED = _Undecided()


def _narrowed(node: Node, raw: Any, path: Path) -> Node:
    """The alternative that a value is, down to what is none any more. Raises Invalid where a tag is wrong."""
    while True:
        if isinstance(node, NullableNode) and raw is not None:
            node = node.inner
        elif isinstance(node, ChoiceNode):
            node = next((one for one in node.options if kind(raw) in one.kinds), _UNDECIDED)
        elif isinstance(node, TaggedNode) and isinstance(raw, dict):
            node = node.chosen(raw, path)
        elif isinstance(node, UntaggedNode):
            candidates = node.candidates(raw)
            # Tried as the codec does it: the first that takes the value.
            found = candidates if len(candidates) == 1 else [one for one in candidates if _fits(one, raw)]
            node = found[0] if found else _UNDECIDED
        else:
            return node


def _fits(node: Node, raw: Any) -> bool:
    try:
        node.walk(raw, None, Log())
    except Invalid:
        return False
    return True


def _defaults(member: Member, value: Model, path: Path) -> list[Item]:
    """What the schema puts in the place of a member that is not there."""
    found = getattr(value, member.name)
    if found is UNSET or found is None or found == [] or found == {}:
        return []
    here = (path, member.wire)
    return [Item(pointer(here), member.name, member.wire, kind_of(found), value=to_builtins(found), state="default")]


def kind_of(value: Any) -> str:
    """The class of a model, the JSON kind of anything else."""
    return type(value).__name__ if isinstance(value, msgspec.Struct) else kind(value)


def _missing(here: tuple[Path, str | int], name: str | None) -> Item:
    return Item(pointer(here), name, here[1], "", state="missing")


def _places(item: Item) -> set[str]:
    return {one.pointer for one in item.children}

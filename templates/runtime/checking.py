"""What is wrong with a model before it is sent.

Constructors do not validate, and type checkers are not always asked. `check` tells all; `refuse_wrong` is what every
call goes through: a class that lacks its union's tag, and an enum value or tag that was made up, are refused always.
That check is compiled per type, since it runs for every message, and skips what cannot be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from .codec import encode, to_builtins
from .compiled import node_of
from .errors import EncodeError
from .foreign import node_or_none
from .models import Model, is_extension
from .objects import RecordNode, StructNode, TaggedNode, UntaggedNode
from .walk import (
    ChoiceNode,
    ConstNode,
    Invalid,
    ListNode,
    MapNode,
    Node,
    NullableNode,
    OpenEnumNode,
    Path,
    pointer,
    shown,
)

# Yields what is wrong below a value. The value is neither None nor UNSET.
Check = Callable[[Any, Path], "Iterator[tuple[Path, str]] | tuple[()]"]
_checks: dict[int, tuple[Node, Check | None]] = {}
# By the identity of a form, which is kept beside: what every call looks up.
_forms: dict[int, tuple[Any, Node | None, Check | None]] = {}
_running: set[int] = set()
_FINE: tuple[()] = ()


def check(model: Any, type: Any = None) -> list[tuple[str, str]]:
    """Everything that is wrong with a model, as JSON Pointers and reasons; an empty list when nothing is.

    `type` is the class or union alias that it is to be, by default its own class. Values that a receiver would drop by
    a tolerance rule are wrong here.
    """
    node = node_of(model.__class__ if type is None else type)
    found = [(pointer(path), str(reason)) for path, reason in _made_up(node, model)]
    try:
        encode(model)
        value = to_builtins(model)
    except EncodeError as error:
        return [*found, (error.pointer, error.reason)]
    reports: list[tuple[Path, str]] = []
    try:
        node.walk(value, None, reports)
    except Invalid as error:
        found.append((pointer(error.path), error.reason))
    return list(dict.fromkeys([*found, *((pointer(path), reason) for path, reason in reports)]))


def refuse_wrong(model: Any, form: Any, strict: bool) -> None:
    """Raise TypeError or ValueError for a message that must not be sent. Raw JSON is not looked into."""
    if model.__class__ is msgspec.Raw or model.__class__ is bytes:
        return
    entry = _forms.get(id(form))
    if entry is None:
        node = node_or_none(form)
        entry = _forms[id(form)] = (form, node, None if node is None else _check_of(node))
    if entry[1] is None:
        # A type of the user's own, for msgspec alone.
        return
    look = entry[2]
    if look is None or model is None:
        found = _made_up(entry[1], model)
    else:
        found = look(model, None)
    for path, reason in found:
        error = TypeError if isinstance(reason, _WrongClass) else ValueError
        raise error(f"{pointer(path) or 'message'}: {reason}")
    problems = check(model, form) if strict else []
    if problems:
        raise ValueError("; ".join(f"{where or 'message'}: {reason}" for where, reason in problems))


class _WrongClass(str):
    """A reason that is the fault of a class, not of a value."""


def _made_up(node: Node, model: Any) -> Iterator[tuple[Path, str]] | tuple[()]:
    """Classes without their tag, and enum values that nobody defined."""
    look = _check_of(node)
    if model is None or model is msgspec.UNSET:
        return () if isinstance(node, NullableNode) or look is None else iter([(None, _wrong_class("a model", model))])
    return _FINE if look is None else look(model, None)


def _wrong_class(wanted: str, value: Any) -> _WrongClass:
    found = value.__class__.__name__
    if found in wanted.split(" or "):
        # The stable channel's class in place of the unstable one's, say.
        found += f" of another profile ({value.__class__.__module__})"
    return _WrongClass(f"expected {wanted}, got {found}")


def _check_of(node: Node) -> Check | None:
    """The compiled check of a node; None where nothing can be wrong."""
    known = _checks.get(id(node))
    if known is not None:
        return known[1]
    if id(node) in _running:
        # A type that contains itself.
        return lambda value, path: look(value, path) if (look := _checks[id(node)][1]) else _FINE
    _running.add(id(node))
    try:
        made = _compile(node)
    finally:
        _running.discard(id(node))
    # The node is kept alive with its id.
    _checks[id(node)] = (node, made)
    return made


def _compile(node: Node) -> Check | None:
    if isinstance(node, NullableNode):
        return _check_of(node.inner)
    if isinstance(node, OpenEnumNode):
        return _open_enum(node)
    if isinstance(node, ConstNode):
        return _constants(node)
    if isinstance(node, TaggedNode):
        return _union(node)
    if isinstance(node, StructNode):
        return _struct(node)
    if isinstance(node, ListNode):
        return _items(node)
    if isinstance(node, MapNode):
        return _values(node)
    if isinstance(node, ChoiceNode | UntaggedNode):
        return _alternatives(node)
    return None


def _open_enum(node: OpenEnumNode) -> Check:
    known = node.known

    def look(value: Any, path: Path) -> Any:
        if not isinstance(value, str) or value in known or is_extension(value):
            return _FINE
        return iter([(path, f"{value!r} is not defined; a value of one's own starts with an underscore")])

    return look


def _constants(node: ConstNode) -> Check:
    values = node.values

    def look(value: Any, path: Path) -> Any:
        if value in values:
            return _FINE
        return iter([(path, f"expected {' or '.join(map(repr, values))}, got {shown(value)}")])

    return look


def _members(node: StructNode) -> Check | None:
    """The check of a model that is known to be of the node's class."""
    looks = [(member.name, member.wire, look) for member in node.members if (look := _check_of(member.node))]
    if not looks:
        return None

    def look_into(value: Any, path: Path) -> Any:
        problems: Any = _FINE
        for name, wire, look in looks:
            member = getattr(value, name)
            if member is not None and member is not msgspec.UNSET:
                found = look(member, (path, wire))
                if found is not _FINE:
                    problems = (*problems, *found)
        return problems

    return look_into


def _struct(node: StructNode) -> Check:
    cls, into = node.cls, _members(node)

    def look(value: Any, path: Path) -> Any:
        if value.__class__ is cls or isinstance(value, cls):
            return _FINE if into is None else into(value, path)
        return iter([(path, _wrong_class(cls.__name__, value))])

    return look


def _union(node: TaggedNode) -> Check:
    variants = {variant.cls: _members(variant) for variant in node.structs()}
    fallbacks = tuple(one.cls for one in _records(node))
    names = ", ".join(dict.fromkeys(cls.__name__ for cls in variants))
    tags = _tags_by_class(node)

    def look(value: Any, path: Path) -> Any:
        cls = value.__class__
        if cls not in variants:
            cls = next((base for base in cls.__mro__ if base in variants), cls)
        if cls in variants:
            problems: Any = _FINE
            if cls in tags:
                name, wire, known = tags[cls]
                tag = getattr(value, name)
                if isinstance(tag, str) and tag not in known:
                    problems = (((path, wire), f"{tag!r} is not defined; use the class for unknown variants"),)
            into = variants[cls]
            return (*problems, *into(value, path)) if into is not None else problems
        if isinstance(value, fallbacks):
            return _FINE
        what = "has no tag here" if isinstance(value, Model) else "does not belong here"
        return iter([(path, _WrongClass(f"{value.__class__.__name__} {what}; expected one of {names}"))])

    return look


def _records(node: TaggedNode) -> Iterator[RecordNode]:
    """The classes for unknown variants, those of nested unions too."""
    for one in node.inside():
        if isinstance(one, TaggedNode):
            yield from _records(one)
        elif isinstance(one, RecordNode):
            yield one


def _tags_by_class(node: TaggedNode) -> dict[type[Model], tuple[str, str, set[str]]]:
    """Of the classes that have the tag as a member: its name, its wire name, and which tags are theirs."""
    found: dict[type[Model], tuple[str, str, set[str]]] = {}
    for tag, variant in node.variants.items():
        if isinstance(variant, TaggedNode):
            found |= _tags_by_class(variant)
        elif isinstance(variant, StructNode):
            member = next((one for one in variant.members if one.wire == node.tag), None)
            if member is not None:
                found.setdefault(variant.cls, (member.name, member.wire, set()))[2].add(tag)
    return found


def _items(node: ListNode) -> Check | None:
    inner = _check_of(node.items)
    if inner is None:
        return None
    look_at = inner

    def look(value: Any, path: Path) -> Any:
        problems: Any = _FINE
        if isinstance(value, list | tuple):
            for index, item in enumerate(value):
                if item is not None:
                    found = look_at(item, (path, index))
                    if found is not _FINE:
                        problems = (*problems, *found)
        return problems

    return look


def _values(node: MapNode) -> Check | None:
    inner = _check_of(node.values)
    if inner is None:
        return None
    look_at = inner

    def look(value: Any, path: Path) -> Any:
        problems: Any = _FINE
        if isinstance(value, dict):
            for key, item in value.items():
                if item is not None:
                    problems = (*problems, *look_at(item, (path, key)))
        return problems

    return look


def _alternatives(node: ChoiceNode | UntaggedNode) -> Check | None:
    """A value is looked into as the first alternative that its class belongs to."""
    looks: dict[type[Model], Check | None] = {}
    for option in node.inside():
        if isinstance(option, StructNode):
            looks.setdefault(option.cls, _members(option))
        elif isinstance(option, TaggedNode):
            for variant in option.structs():
                looks.setdefault(variant.cls, _members(variant))
    if not looks:
        return None

    def look(value: Any, path: Path) -> Any:
        into = looks.get(value.__class__)
        return _FINE if into is None else into(value, path)

    return look

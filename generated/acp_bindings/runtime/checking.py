"""What is wrong with a model before it is sent.

Constructors do not validate, and type checkers are not always asked. `check` tells all; `refuse_wrong` is what every call
goes through: a class that lacks its union's tag, and an enum value or tag that was made up, are refused always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .codec import to_builtins
from .compiled import node_of
from .errors import EncodeError
from .models import Model, UnknownVariant, is_extension
from .objects import StructNode, TaggedNode, UntaggedNode
from .walk import ChoiceNode, Invalid, ListNode, MapNode, Node, NullableNode, OpenEnumNode, Path, pointer


def check(model: Any, type: Any = None) -> list[tuple[str, str]]:
    """Everything that is wrong with a model, as JSON Pointers and reasons; an empty list when nothing is.

    `type` is the class or union alias that it is to be, by default its own class. Values that a receiver would drop by a
    tolerance rule are wrong here.
    """
    form = model.__class__ if type is None else type
    found = [(pointer(path), reason) for path, reason in _made_up(node_of(form), model, None)]
    try:
        value = to_builtins(model)
    except EncodeError as error:
        return [*found, (error.pointer, error.reason)]
    reports: list[tuple[Path, str]] = []
    try:
        node_of(form).walk(value, None, reports)
    except Invalid as error:
        found.append((pointer(error.path), error.reason))
    return list(dict.fromkeys([*found, *((pointer(path), reason) for path, reason in reports)]))


def refuse_wrong(model: Any, form: Any, strict: bool) -> None:
    """Raise TypeError or ValueError for a message that must not be sent."""
    if isinstance(model, msgspec.Raw | bytes):
        return
    for path, reason in _made_up(node_of(form), model, None):
        raise (TypeError if isinstance(reason, _WrongClass) else ValueError)(f"{pointer(path) or 'params'}: {reason}")
    problems = check(model, form) if strict else []
    if problems:
        raise ValueError("; ".join(f"{where or 'params'}: {reason}" for where, reason in problems))


class _WrongClass(str):
    """A reason that is the fault of a class, not of a value."""


def _made_up(node: Node, value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Classes without their tag, and enum values that nobody defined."""
    if value is None or value is msgspec.UNSET:
        return
    if isinstance(node, NullableNode):
        yield from _made_up(node.inner, value, path)
    elif isinstance(node, OpenEnumNode):
        if isinstance(value, str) and value not in node.known and not is_extension(value):
            yield path, f"{value!r} is not defined; a value of one's own starts with an underscore"
    elif isinstance(node, TaggedNode):
        yield from _of_union(node, value, path)
    elif isinstance(node, StructNode):
        if isinstance(value, node.cls):
            for member in node.members:
                yield from _made_up(member.node, getattr(value, member.name), (path, member.wire))
        elif isinstance(value, Model):
            yield path, _WrongClass(f"expected {node.cls.__name__}, got {value.__class__.__name__}")
    elif isinstance(node, ListNode) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _made_up(node.items, item, (path, index))
    elif isinstance(node, MapNode) and isinstance(value, dict):
        for key, item in value.items():
            yield from _made_up(node.values, item, (path, key))
    elif isinstance(node, ChoiceNode | UntaggedNode):
        yield from _of_alternatives(node, value, path)


def _of_union(node: TaggedNode, value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, UnknownVariant):
        return
    if isinstance(value, Model):
        for variant in node.structs():
            if variant.cls is value.__class__:
                yield from _made_up(variant, value, path)
                return
        names = ", ".join(dict.fromkeys(variant.cls.__name__ for variant in node.structs()))
        yield path, _WrongClass(f"{value.__class__.__name__} has no tag here; expected one of {names}")


def _of_alternatives(node: ChoiceNode | UntaggedNode, value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    for option in node.inside():
        if isinstance(option, StructNode) and isinstance(value, option.cls):
            yield from _made_up(option, value, path)
            return

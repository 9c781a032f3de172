"""The careful half of decoding: what a node is, and the nodes of scalars, arrays and maps (`objects` has the rest).

A node is one type, compiled once. `walk(value, path, reports)` returns the decoded value or raises `Invalid`. `path` is
the way to the value, as a linked list from its end, so that descending costs one tuple. `reports` collects what
tolerance dropped; None means strict: nothing is tolerated, and the caller will come again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from .errors import shortened

Path: TypeAlias = "tuple[Path, str | int] | None"
Reports: TypeAlias = "list[tuple[Path, str]] | None"


class Log(list[tuple[Path, str]]):
    """The reports of one decode, and what unions that may contain themselves made of values.

    A value is tried as one alternative after the other, and all that is inside would else be tried anew each time.
    """

    # Made when there is something to put into it, which is next to never.
    tried: dict[tuple[int, int], Any] | None = None


class Invalid(ValueError):
    """A value that does not fit, at `path`. Never seen outside: it becomes a DecodeError."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def pointer(path: Path) -> str:
    """A path as an RFC 6901 JSON Pointer."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append("/" + str(step).replace("~", "~0").replace("/", "~1"))
    return "".join(reversed(steps))


_KINDS = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
    # Not what a JSON parser makes, but the C converter takes them for the same.
    Mapping: "object",
    Decimal: "number",
    tuple: "array",
    set: "array",
    frozenset: "array",
}
_PLAIN = frozenset((bool, int, float, str, type(None)))


def kind(value: object) -> str:
    """The JSON kind of a value; for what is no JSON, its Python type."""
    known = _KINDS.get(type(value))
    if known is not None:
        return known
    return next((name for cls, name in _KINDS.items() if isinstance(value, cls)), type(value).__name__)


def expected(path: Path, what: str, value: object) -> Invalid:
    return Invalid(path, f"expected {what}, got {kind(value)}")


def shown(value: object) -> str:
    """A scalar for a message, cut short. Python refuses to write out integers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of hundreds of digits" if value.bit_length() > 1024 else "a number beyond 128 bits"
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."


def as_object(value: Any, path: Path) -> dict[str, Any]:
    """What stands for an object without being a dict, as one. Raises Invalid for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    raise expected(path, "object", value)


def drop(reports: list[tuple[Path, str]], path: Path, error: Invalid) -> None:
    """Report the value at `path` as dropped; what was reported of its inside goes with it."""
    while reports and _is_below(reports[-1][0], path):
        reports.pop()
    way = shortened(pointer(error.path)[len(pointer(path)) :])
    reports.append((path, f"{way}: {error.reason}" if way else error.reason))


def moved(way: Path, old: Path, new: Path) -> Path:
    """A way that went on from `old`, going on from `new`."""
    steps = []
    while way is not old and way is not None:
        way, step = way
        steps.append(step)
    for step in reversed(steps):
        new = (new, step)
    return new


def _is_below(inner: Path, outer: Path) -> bool:
    while inner is not None:
        if inner is outer:
            return True
        inner = inner[0]
    return False


class Node:
    """One type. `kinds` are the JSON kinds that it may accept; `walked` types are those that C hands to us.

    `logs` tells that a walk which starts here needs a Log for its reports.
    """

    kinds: frozenset[str] = frozenset()
    walked = False
    logs = False

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        """The decoded value. Raises Invalid."""
        raise NotImplementedError

    def careful(self, value: Any, path: Path, reports: Reports) -> Any:
        """`walk` for a value that the C decoder has refused already."""
        return self.walk(value, path, reports)

    def inside(self) -> tuple[Node, ...]:
        """The nodes that this one hands parts of its values to."""
        return ()


class AnyNode(Node):
    kinds = frozenset({"null", "boolean", "integer", "number", "string", "object", "array"})

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        return value


class StringNode(Node):
    """A string without bounds, the most frequent type of all."""

    kinds = frozenset({"string"})

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if type(value) is str or isinstance(value, str):
            return value
        raise expected(path, "string", value)


class OpenEnumNode(StringNode):
    """A string, with the values that the schema lists."""

    def __init__(self, known: frozenset[str]) -> None:
        self.known = known


class ScalarNode(Node):
    """null, boolean, integer, number or string, with bounds."""

    def __init__(
        self,
        name: str,
        low: float | None = None,
        high: float | None = None,
        length: int | None = None,
        pattern: str | None = None,
    ) -> None:
        self.name = name
        self.kinds = frozenset({"integer", "number"} if name == "number" else {name})
        self.low = low
        self.high = high
        self.length = length
        self.pattern = re.compile(pattern) if pattern is not None else None

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if kind(value) not in self.kinds:
            raise expected(path, self.name, value)
        if type(value) not in _PLAIN:
            value = self._plain(value, path)
        if self.low is not None and value < self.low:
            raise Invalid(path, f"expected {self.name} of at least {self.low}, got {shown(value)}")
        if self.high is not None and value > self.high:
            raise Invalid(path, f"expected {self.name} of at most {self.high}, got {shown(value)}")
        if self.length is not None and len(value) < self.length:
            raise Invalid(path, f"expected a {self.name} of at least {self.length} characters, got {len(value)}")
        if self.pattern is not None and not self.pattern.search(value):
            raise Invalid(path, f"expected a {self.name} matching {self.pattern.pattern!r}")
        return value

    def _plain(self, value: Any, path: Path) -> Any:
        """A number of a class of its own, as C would return it."""
        if isinstance(value, Decimal):
            if value.is_snan():
                raise expected(path, self.name, value)
            return float(value)
        return int(value) if isinstance(value, int) else value


class ConstNode(Node):
    """One of a closed set of constants."""

    def __init__(self, values: tuple[str | int | bool, ...]) -> None:
        self.values = values
        self.kinds = frozenset(map(kind, values))

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, str | int):
            raise Invalid(path, f"expected {' or '.join(map(repr, self.values))}, got {kind(value)}")
        if kind(value) not in self.kinds or value not in self.values:
            raise Invalid(path, f"expected {' or '.join(map(repr, self.values))}, got {shown(value)}")
        return value


class NullableNode(Node):
    def __init__(self, inner: Node) -> None:
        self.inner = inner
        self.kinds = inner.kinds | {"null"}

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        return None if value is None else self.inner.walk(value, path, reports)

    def inside(self) -> tuple[Node, ...]:
        return (self.inner,)


class ChoiceNode(Node):
    """Alternatives of different JSON kinds."""

    def __init__(self, options: tuple[Node, ...]) -> None:
        self.options = options
        self.kinds = frozenset().union(*(option.kinds for option in options))

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        found = kind(value)
        for option in self.options:
            if found in option.kinds:
                return option.walk(value, path, reports)
        raise expected(path, " or ".join(sorted(self.kinds)), value)

    def inside(self) -> tuple[Node, ...]:
        return self.options


class ListNode(Node):
    """An array of at least `least` items; with `skip`, invalid items are dropped."""

    kinds = frozenset({"array"})

    def __init__(self, items: Node, least: int = 0, skip: bool = False) -> None:
        self.items = items
        self.least = least
        self.skip = skip

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, list):
            if kind(value) != "array":
                raise expected(path, "array", value)
            value = list(value)
        walk = self.items.walk
        if self.skip and reports is not None:
            found = []
            for index, item in enumerate(value):
                here = (path, index)
                try:
                    found.append(walk(item, here, reports))
                except Invalid as error:
                    drop(reports, here, error)
        else:
            found = [walk(item, (path, index), reports) for index, item in enumerate(value)]
        if len(found) < self.least:
            raise Invalid(path, f"expected an array of at least {self.least} items, got {len(found)}")
        return found

    def inside(self) -> tuple[Node, ...]:
        return (self.items,)


class MapNode(Node):
    kinds = frozenset({"object"})

    def __init__(self, values: Node) -> None:
        self.values = values

    def walk(self, value: Any, path: Path, reports: Reports) -> Any:
        if not isinstance(value, dict):
            value = as_object(value, path)
        walk = self.values.walk
        for key in value:
            if not isinstance(key, str):
                raise Invalid(path, f"expected an object with strings as keys, got a key of type {type(key).__name__}")
        return {key: walk(item, (path, key), reports) for key, item in value.items()}

    def inside(self) -> tuple[Node, ...]:
        return (self.values,)

"""A strict look at raw schema: every keyword is either read or reported.

`View` wraps one schema object with its JSON Pointer. Reading a keyword marks it; `done` reports what nobody read. So no
keyword can vanish, and a shape outside the lowering table is an error with a place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from codegen import ir
from codegen.errors import Diagnostic
from codegen.names import digest, variant_name

# Read by people or by other tools; they change nothing on the wire. A `discriminator` repeats what the consts say.
ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "deprecated",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "discriminator",
        "x-docs-ignore",
    ]
)
# `format`s that bound integers. Others, such as `uri`, are documentation.
INTEGER_FORMATS = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "uint8": (0, 2**8 - 1),
}
# What msgspec takes as the length of a string or an array.
MAX_COUNT = 2**63 - 1
# msgspec wants the wire names of members ready for a JSON text.
_UNUSABLE = re.compile(r'[\x00-\x1f"\\\ud800-\udfff]')


class Problems:
    """Collects diagnostics, so that one run reports all that is wrong with a file.

    `renamed` maps definitions to their class names where those differ; references are read through it. `defined` are
    the class names of all.
    """

    def __init__(self, file: str, renamed: Mapping[str, str] | None = None) -> None:
        self.file = file
        self.renamed = renamed or {}
        self.defined: frozenset[str] = frozenset()
        self.found: list[Diagnostic] = []
        # Objects described in place, by the name that they get; `lower` reads them like definitions.
        self.anonymous: dict[str, View] = {}
        # Pointer, value and type of each default; checked once all types are known.
        self.defaults: list[tuple[str, Any, ir.Type]] = []

    def add(self, pointer: str, found: str, expected: str) -> None:
        problem = Diagnostic(f"{self.file}#{pointer}", found, expected)
        if problem not in self.found:
            self.found.append(problem)


class View:
    """One schema object, its pointer, and which of its keywords were read."""

    def __init__(self, raw: Any, pointer: str, problems: Problems, way: tuple[str, ...] = ()) -> None:
        self.pointer = pointer
        # Names on the way from the definition: properties, tags, titles. No positions: neighbours may come and go.
        self.way = way or (pointer.rpartition("/")[2],)
        self.problems = problems
        if raw is True:
            raw = {}
        if not isinstance(raw, Mapping):
            self.error(f"the schema {raw!r}", "an object")
            raw = {}
        self.raw: Mapping[str, Any] = raw
        self._read: set[str] = set()

    def __contains__(self, keyword: str) -> bool:
        return keyword in self.raw

    def error(self, found: str, expected: str) -> None:
        self.problems.add(self.pointer, found, expected)

    def take(self, keyword: str, default: Any = None) -> Any:
        self._read.add(keyword)
        return self.raw.get(keyword, default)

    def child(self, *path: str | int) -> View:
        """The schema below this one; marks the first keyword of the path as read."""
        self._read.add(str(path[0]))
        raw: Any = self.raw
        for step in path:
            raw = raw[step]
        steps = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
        named = path[1:] if path[0] in ("properties", "additionalProperties", "anyOf", "oneOf", "allOf") else path
        way = (*self.way, *(step for step in named if isinstance(step, str)))
        return View(raw, self.pointer + steps, self.problems, way)

    def children(self, keyword: str) -> list[View]:
        """Schemas in a list, such as `anyOf`; empty when absent."""
        return [self.child(keyword, index) for index in range(len(self.take(keyword, ())))]

    def properties(self) -> Iterator[tuple[str, View]]:
        for name in self.take("properties", {}):
            yield name, self.child("properties", name)

    def flag(self, keyword: str) -> bool:
        """A boolean `x-` keyword; anything but true, false or absent is an error."""
        value = self.take(keyword, False)
        if not isinstance(value, bool):
            self.error(f"{keyword}: {value!r}", "true or false")
        return value is True

    def count(self, keyword: str) -> int:
        """A length; JSON Schema allows it to be written as 2.0."""
        value = int(self.take(keyword, 0))
        if value > MAX_COUNT:
            self.error(f"{keyword}: {value!r}", "a length of at most 64 bits")
        return min(value, MAX_COUNT)

    def check_names(self, names: Iterable[str]) -> None:
        """Report property names that no member can have."""
        for name in names:
            if _UNUSABLE.search(name):
                self.error(f"the property name {name!r}", "one without quotes, backslashes, controls, lone surrogates")

    def title(self) -> str:
        return str(self.take("title", ""))

    def doc(self) -> str:
        return str(self.take("description", ""))

    def reference(self) -> str | None:
        """The definition that this schema is nothing but a reference to, by `$ref` or a lone `allOf`."""
        inner = self
        if "allOf" in self.raw and len(self.raw["allOf"]) == 1:
            inner = self.child("allOf", 0)
        reference = inner.take("$ref")
        if inner is not self:
            inner.done()
        if reference is None:
            return None
        head, _, name = unquote(str(reference)).rpartition("/")
        if head != "#/$defs":
            inner.error(f"$ref {reference!r}", "a reference to #/$defs/NAME")
        name = name.replace("~1", "/").replace("~0", "~")
        return self.problems.renamed.get(name, name)

    def anonymous(self) -> str:
        """Leave this object, described in place, to be read as a definition; returns its name, made of its pointer."""
        owner, *steps = self.way
        name = variant_name(owner, steps, self.problems.defined, is_titled=True)
        known = self.problems.anonymous.get(name)
        if known is not None and known.raw != self.raw:
            name = f"{name}_{digest(json.dumps(self.raw, sort_keys=True), 6)}"
        self.problems.anonymous[name] = View(self.raw, self.pointer, self.problems, self.way)
        self._read |= set(self.raw)
        return name

    def done(self, *also: str) -> None:
        """Report keywords that were not read; `also` are allowed here and mean nothing more."""
        for keyword in self.raw:
            if keyword not in self._read and keyword not in ANNOTATIONS and keyword not in also:
                self.problems.add(
                    f"{self.pointer}/{keyword.replace('~', '~0').replace('/', '~1')}",
                    f"the keyword {keyword!r} in a place where the lowering table has no row for it",
                    'a shape of the lowering table (README, "What is read")',
                )

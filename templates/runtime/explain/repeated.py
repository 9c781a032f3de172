"""Properties that are there more than once. Parsers keep the last one and say nothing."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ..walk import Path, pointer
from .findings import Finding


class _Object(dict[str, Any]):
    """An object, with how often each of its keys was there."""

    counts: Counter[str]


def repeated(text: bytes) -> list[Finding]:
    """Where a JSON text, one that parses, has a property more than once."""
    objects: list[_Object] = []

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        twice = _Object(found)
        twice.counts = Counter(key for key, _ in pairs)
        objects.append(twice)
        return twice

    try:
        value = json.loads(text, object_pairs_hook=made)
    except (ValueError, RecursionError):
        # Integers of thousands of digits, nesting: nothing that is read further.
        return []
    return [
        Finding("repeated", pointer((path, key)), f"is there {times} times; the last counts")
        for one, path in (_found(value) if objects else ())
        for key, times in one.counts.items()
        if times > 1
    ]


def _found(value: Any) -> list[tuple[_Object, Path]]:
    """The objects with repeated keys that were not dropped as a value of such a key themselves."""
    found: list[tuple[_Object, Path]] = []
    open_values: list[tuple[Any, Path]] = [(value, None)]
    while open_values:
        one, path = open_values.pop()
        if isinstance(one, _Object):
            found.append((one, path))
        if isinstance(one, dict):
            open_values.extend((inner, (path, key)) for key, inner in reversed(one.items()))
        elif isinstance(one, list):
            open_values.extend((inner, (path, index)) for index, inner in reversed(list(enumerate(one))))
    return found

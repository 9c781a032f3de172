"""What the channels of one version have in common: definitions that the unstable channel takes from the stable one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from codegen import ir


def shared(stable: ir.Profile, unstable: ir.Profile) -> frozenset[str]:
    """Names that mean the same in both, and refer only to names that do: deep-equal, with the same class shape."""
    same = {
        name
        for name, definition in unstable.definitions.items()
        if name in stable.definitions and facts(definition) == facts(stable.definitions[name])
    }
    while True:
        differing = {name for name in same if any(one not in same for one in ir.references(unstable.definitions[name]))}
        if not differing:
            return frozenset(same)
        same -= differing


def facts(node: Any) -> Any:
    """An IR node without its docs, as nested tuples."""
    if isinstance(node, tuple):
        return tuple(map(facts, node))
    if not is_dataclass(node):
        return node
    inner = (facts(getattr(node, part.name)) for part in fields(node) if part.name != "doc")
    return (type(node).__name__, *inner)

"""Who sends a definition to whom, and which definitions stand where a fault in them fails the message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from codegen import ir
from codegen.diff.report import Flow

# Who calls whom, by the receiving side of a method: an agent and a proxy are called by the client. Protocol messages
# (`$/cancel_request`) go both ways.
_CALLS: dict[ir.Side, tuple[Flow, ...]] = {
    "agent": (("client", "agent"),),
    "client": (("agent", "client"),),
    "proxy": (("client", "proxy"),),
    "protocol": (("client", "agent"), ("agent", "client")),
}
EITHER: tuple[Flow, ...] = (("agent", "client"), ("client", "agent"))
"""Both ways: what no method carries (errors, ids) stands in messages of either side."""


def calls(method: ir.Method) -> tuple[Flow, ...]:
    """The way of a method's params. Its result goes back."""
    return _CALLS[method.side]


def back(flows: Iterable[Flow]) -> tuple[Flow, ...]:
    return tuple(sorted((to, by) for by, to in flows))


class Flows:
    """The ways of every definition of one profile."""

    def __init__(self, profile: ir.Profile) -> None:
        self.definitions = profile.definitions
        ways: defaultdict[str, set[Flow]] = defaultdict(set)
        exposed: set[str] = set()
        for method in profile.methods:
            roots = [(method.params, calls(method))]
            if method.result is not None:
                roots.append((method.result, back(calls(method))))
            for root, flows in roots:
                for name in _reached(root, profile.definitions, ir.references):
                    ways[name].update(flows)
                exposed |= _reached(root, profile.definitions, intolerant)
        self.ways = {name: tuple(sorted(found)) for name, found in ways.items()}
        self.exposed = frozenset(exposed)

    def of(self, name: str) -> tuple[Flow, ...]:
        """The ways of a definition; empty where no method carries it."""
        return self.ways.get(name, ())

    def is_shielded(self, name: str) -> bool:
        """Whether methods carry it, and only in places where a receiver drops what it cannot read."""
        return name in self.ways and name not in self.exposed


def _reached(
    root: str, definitions: Mapping[str, ir.Definition], edges: Callable[[object], Iterator[str]]
) -> frozenset[str]:
    seen: set[str] = set()
    left = [root]
    while left:
        name = left.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        left.extend(edges(definitions[name]))
    return frozenset(seen)


def intolerant(node: object) -> Iterator[str]:
    """As `ir.references`, without those behind a field that forgives what it cannot read."""
    match node:
        case ir.Field(on_error=True) | ir.Field(skip_items=True):
            return
        case ir.Struct() | ir.Record() | ir.Fallback() | ir.TaggedUnion():
            if isinstance(node, ir.Struct) and node.base:
                yield node.base
            if isinstance(node, ir.TaggedUnion):
                yield from node.classes()
            for part in fields(node):
                value = getattr(node, part.name)
                for item in value if isinstance(value, tuple) else (value,):
                    if is_dataclass(item):
                        yield from intolerant(item)
        case _:
            yield from ir.references(node)


def capability_paths(profile: ir.Profile) -> dict[str, str]:
    """The objects in which peers advertise what they can, each with the way to it from the `initialize` message."""
    opening = profile.opening
    if opening is None:
        return {}
    found: dict[str, str] = {}
    for side, owner, member in (
        ("agent", opening.response, opening.agent_capabilities),
        ("client", opening.request, opening.client_capabilities),
    ):
        struct = profile.definitions[owner]
        assert isinstance(struct, ir.Struct)
        for field in struct.fields:
            if member and field.name == member:
                _walk(field, f"{side}: ", profile.definitions, found)
    return found


def _walk(field: ir.Field, prefix: str, definitions: Mapping[str, ir.Definition], found: dict[str, str]) -> None:
    path = f"{prefix}{field.wire}"
    for name in ir.references(field.type):
        definition = definitions[name]
        if name not in found and isinstance(definition, ir.Struct):
            found[name] = path
            for inner in definition.fields:
                if inner.wire != "_meta":
                    _walk(inner, f"{path}.", definitions, found)

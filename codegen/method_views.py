"""What the methods template prints: one view for each wire method, and each side's handler and caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codegen import ir
from codegen.names import method_name
from codegen.python import docstring, literal, strings

SIDES = ("agent", "client", "proxy")


@dataclass(frozen=True)
class MethodView:
    """One wire method: `wire` is its name there, `name` the Python one, `argument` what handlers call the params."""

    side: str
    kind: str
    wire: str
    name: str
    argument: str
    params: str
    result: str
    doc: str
    unhandled: int | None
    needs: str


@dataclass(frozen=True)
class SideView:
    """The handler class of one side, and the class by which the others call it."""

    side: str
    name: str
    methods: tuple[MethodView, ...]
    remote: str
    info: str
    capabilities: str
    baseline: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def method_views(profile: ir.Profile) -> tuple[MethodView, ...]:
    """Every method, in the schema's order."""
    both = {(one.side, one.name) for one in profile.methods if one.kind == "request"}
    return tuple(_view(profile, one, both) for one in profile.methods)


def method_exports(sides: Iterable[SideView]) -> list[str]:
    """The public names of the methods module."""
    return ["METHODS", *sorted(name for side in sides for name in (side.name, f"Remote{side.name}"))]


def _view(profile: ir.Profile, method: ir.Method, requests: set[tuple[ir.Side, str]]) -> MethodView:
    name = method_name(method.name)
    if method.kind == "notification" and (method.side, method.name) in requests:
        name += "_notification"
    definition = profile.definitions.get(method.params)
    doc = definition.doc if definition is not None else ""
    doc = doc or f"Handles `{method.name}`."
    return MethodView(
        method.side,
        method.kind,
        method.name,
        name,
        "request" if method.kind == "request" else "notification",
        method.params,
        method.result or "None",
        docstring(doc),
        method.unhandled,
        f"({''.join(f'{need_text(need)}, ' for need in method.needs)})" if method.needs else "",
    )


def need_text(need: ir.Need) -> str:
    """The expression that makes the runtime's object for a need."""
    match need:
        case ir.Advertised(side, path):
            return f"Advertised({literal(side)}, {literal(path)})"
        case ir.IfHeld(field, needs):
            return f"IfHeld({literal(field)}, {need_text(needs)})"
        case ir.ByValue(field, free, needs, never):
            barred = f", {strings(never)}" if never else ""
            return f"ByValue({literal(field)}, {strings(free)}, {needs_text(needs)}{barred})"
        case ir.Listed(field, within, member, barred):
            return f"Listed({literal(field)}, {need_text(within)}, {literal(member)}, {literal(dict(barred))})"
        case ir.InState(state, field, member, needs):
            return f"InState({', '.join(map(literal, (state, field, member, needs)))})"


def needs_text(needs: Iterable[tuple[str, ir.Advertised]]) -> str:
    """A dict of what values need."""
    return "{" + ", ".join(f"{literal(value)}: {need_text(need)}" for value, need in needs) + "}"


def side_views(profile: ir.Profile) -> Iterator[SideView]:
    """The sides that receive anything."""
    views = method_views(profile)
    # A client calls the agent, and hears from it; a proxy stands between them and is called like an agent.
    other = {"agent": "client", "client": "agent", "proxy": "client"}
    sides = {view.side for view in views}
    kinds = {view.wire: view.kind for view in views if view.side == "agent"}
    baseline = tuple(
        (capability, tuple((kinds[name], name) for name in methods if name in kinds))
        for capability, methods in profile.baseline.items()
    )
    for side in SIDES:
        if side in sides:
            capabilities = f"{side.capitalize()}Capabilities"
            yield SideView(
                side,
                side.capitalize(),
                tuple(view for view in views if view.side == side),
                f"Remote{other[side].capitalize()}" if other[side] in sides else "Remote",
                "Implementation" if "Implementation" in profile.definitions else "Any",
                capabilities if capabilities in profile.definitions else "Any",
                baseline if side == "agent" else (),
            )

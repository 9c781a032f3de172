"""Pairs of tiny schemas, lowered and compared: one change each, told in a few words."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from codegen import ir
from codegen.diff import Change, Report, compare
from codegen.pipeline import load
from tests.support.tiny import Defs, ref, schema_folder

_FRAMES = {
    "agent": {"request": "ClientRequest", "notification": "ClientNotification", "response": "AgentResponse"},
    "client": {"request": "AgentRequest", "notification": "AgentNotification", "response": "ClientResponse"},
}


class Told(NamedTuple):
    """A change in short: its kind, its place (`Owner` or `Owner.member`), and its three classes."""

    kind: str
    place: str
    senders: str
    receivers: str
    python: str


def profiles(
    defs: Defs, *, unstable: Defs | None = None, names: str = "", docs: str = "", capabilities: str = ""
) -> list[ir.Profile]:
    """A schema of v2, lowered."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = schema_folder(Path(scratch, "s"), defs, unstable=unstable, names=names, docs=docs)
        if capabilities:
            (folder / "v2/capabilities.toml").write_text(capabilities, encoding="utf-8")
        return load(folder, ["v2/stable"] if unstable is None else ["v2/stable", "v2/unstable"])


def report(old: Defs, new: Defs, **both: Any) -> Report:
    """The report on two schemas of v2/stable; `both` are more arguments of `profiles`."""
    return compare(profiles(old, **both), profiles(new, **both))


def told(changes: Report | list[Change]) -> list[Told]:
    """Changes in short."""
    listed = changes.changes if isinstance(changes, Report) else changes
    return [
        Told(
            one.kind,
            f"{one.owner}.{one.member}" if one.member else one.owner,
            one.senders.level,
            one.receivers.level,
            one.python.level,
        )
        for one in listed
    ]


def with_methods(defs: Defs, *calls: tuple[str, str, str, str] | tuple[str, str, str, str, str]) -> dict[str, Any]:
    """Definitions with methods: side, kind, name, params and, for a request, result, by the names of definitions."""
    found: dict[str, Any] = {name: dict(value) for name, value in defs.items()}
    frames: dict[str, list[Mapping[str, Any]]] = {}
    for side, kind, method, *names in calls:
        for name, part in zip(names, (kind, "response"), strict=False):
            found[name] |= {"x-method": method, "x-side": side}
            frames.setdefault(_FRAMES[side][part], []).append(ref(name))
    return found | {name: {"anyOf": listed} for name, listed in frames.items()}

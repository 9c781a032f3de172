"""Updates as they are on the wire, applied to a state."""

from __future__ import annotations

import base64
from types import ModuleType
from typing import Any

TEXT = [{"type": "text", "text": word} for word in ("one", "two", "three")]
Wire = dict[str, Any]


def updates(module: ModuleType, *wires: Wire) -> list[Any]:
    return [module.convert(wire, module.SessionUpdate) for wire in wires]


def applied(module: ModuleType, *wires: Wire) -> Any:
    state = module.SessionState()
    for update in updates(module, *wires):
        state.apply(update)
    return state


def plain(module: ModuleType, *wires: Wire) -> Any:
    return applied(module, *wires).to_builtins()


def kind(name: str, /, **members: Any) -> Wire:
    """An update; `meta` stands for `_meta`."""
    if "meta" in members:
        members["_meta"] = members.pop("meta")
    return {"sessionUpdate": name, **members}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def plan(identity: str, *steps: str, **more: Any) -> Wire:
    entries = [{"content": step, "priority": "low", "status": "pending"} for step in steps]
    return kind("plan_update", plan={"type": "items", "planId": identity, "entries": entries, **more})

"""Wire methods, and what capabilities promise of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, TypeAlias

from codegen import ir
from codegen.diff.flows import back, calls
from codegen.diff.needs import compare_needs, gate
from codegen.diff.pair import Pair
from codegen.diff.reasons import by_fit
from codegen.diff.report import Flow

Key: TypeAlias = tuple[str, str, str]
# Members of a method that are compared by what they mean; any other is compared by value.
_COMPARED: Final = frozenset({"side", "kind", "name", "params", "result", "unhandled", "needs"})
_NULL = ir.Scalar("null")
# Promises are the agent's (capabilities.toml), and the client relies on them.
_TO_AGENT: Final[tuple[Flow, ...]] = (("client", "agent"),)


def compare_methods(pair: Pair) -> None:
    """All changes of methods. One is known by side, kind and name; then by what it is, for those left over."""
    before, after = _by_key(pair.old), _by_key(pair.new)
    gone = {key: one for key, one in before.items() if key not in after}
    come = {key: one for key, one in after.items() if key not in before}
    moved = _moved(pair, gone, come)
    for key, method in before.items():
        if key in after or key in moved:
            _compare(pair, method, after.get(key) or come[moved[key]])
        else:
            owner = (describe(method), "")
            pair.emit("method-removed", "removed", "method", owner, "", signature(method), flows=calls(method))
    for key, method in come.items():
        if key not in moved.values():
            notes = tuple(f"needs {need}" for need in gate(method) or ())
            owner = ("", describe(method))
            text = signature(method)
            pair.emit("method-added", "added", "method", owner, "", "", text, flows=calls(method), notes=notes)


def compare_promises(pair: Pair) -> None:
    """Which methods a capability promises (capabilities.toml)."""
    for capability in dict.fromkeys((*pair.old.baseline, *pair.new.baseline)):
        owner = (capability, capability)
        before, after = (profile.baseline.get(capability, ()) for profile in (pair.old, pair.new))
        for name in before:
            if name not in after:
                pair.emit("promise-removed", "removed", "promise", owner, name, name, flows=_TO_AGENT)
        for name in after:
            if name not in before:
                pair.emit("promise-added", "added", "promise", owner, name, "", name, flows=_TO_AGENT)


def describe(method: ir.Method) -> str:
    return f"{method.name} ({method.kind} to the {method.side})" if method.side != "protocol" else method.name


def signature(method: ir.Method) -> str:
    return f"{method.params} -> {method.result or 'null'}" if method.kind == "request" else method.params


def _by_key(profile: ir.Profile) -> dict[Key, ir.Method]:
    return {(one.side, one.kind, one.name): one for one in profile.methods}


def _moved(pair: Pair, gone: Mapping[Key, ir.Method], come: Mapping[Key, ir.Method]) -> dict[Key, Key]:
    """Methods that are there under another key: of the same name, or with the very same params and result."""

    def same_payload(old: ir.Method, new: ir.Method) -> bool:
        params = pair.matching.of.get(old.params) == new.params
        result = pair.matching.of.get(old.result or "", "") == (new.result or "")
        return params and result and (old.side, old.kind) == (new.side, new.kind)

    found: dict[Key, Key] = {}
    for rule in (lambda a, b: a.name == b.name and (a.side == b.side or a.kind == b.kind), same_payload):
        for key, old in gone.items():
            if key in found:
                continue
            fitting = [other for other, new in come.items() if other not in found.values() and rule(old, new)]
            rivals = [one for other, one in gone.items() if other != key and other not in found]
            if len(fitting) == 1 and not any(rule(one, come[fitting[0]]) for one in rivals):
                found[key] = fitting[0]
    return found


def _compare(pair: Pair, old: ir.Method, new: ir.Method) -> None:
    owner = (describe(old), describe(new))
    there = calls(new)
    if old.name != new.name:
        notes = ("recognised by its params and result",)
        pair.emit("method-renamed", "renamed", "method", owner, "", old.name, new.name, flows=there, notes=notes)
    if old.side != new.side:
        pair.emit("method-side", "changed", "method", owner, "", old.side, new.side, flows=there)
    if old.kind != new.kind:
        pair.emit("method-kind", "changed", "method", owner, "", old.kind, new.kind, flows=there)
    if pair.matching.of.get(old.params) != new.params:
        wire = by_fit(*pair.types(ir.Ref(old.params), ir.Ref(new.params)))
        pair.emit("method-params", "changed", "method", owner, "", old.params, new.params, wire=wire, flows=there)
    if old.kind == new.kind and pair.matching.of.get(old.result or "", "") != (new.result or ""):
        wire = by_fit(*pair.types(_result(old), _result(new)))
        names = (old.result or "null", new.result or "null")
        pair.emit("method-result", "changed", "method", owner, "", *names, wire=wire, flows=back(there))
    if old.unhandled != new.unhandled:
        codes = (_code(old), _code(new))
        pair.emit("method-unhandled", "changed", "method", owner, "", *codes, flows=there)
    _facts(pair, owner, old, new)


def _result(method: ir.Method) -> ir.Type:
    return ir.Ref(method.result) if method.result else _NULL


def _code(method: ir.Method) -> str:
    return "method not found" if method.unhandled is None else str(method.unhandled)


def _facts(pair: Pair, owner: tuple[str, str], old: ir.Method, new: ir.Method) -> None:
    """The gate, and whatever else the IR says of methods."""
    compare_needs(pair, owner, old, new)
    for part in fields(new):
        if part.name not in _COMPARED:
            values: tuple[Any, Any] = (getattr(old, part.name), getattr(new, part.name))
            if values[0] != values[1]:
                texts = (f"{part.name}: {values[0]}", f"{part.name}: {values[1]}")
                pair.emit("method-fact", "changed", "method", owner, "", *texts, flows=calls(new))

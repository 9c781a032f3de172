"""The method list, read off `x-method` and `x-side` and the envelope definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from codegen import ir
from codegen.lower.view import Problems

# Who sends it, and what: an AgentRequest goes from the agent to the client.
_ENVELOPE = re.compile(r"(Agent|Client|Proxy)(Request|Response|Notification)")


def envelopes(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Definitions that only frame messages: named as envelopes, with `id`, `method`, `params` or alternatives."""
    found = []
    for name, definition in schema.get("$defs", {}).items():
        if _ENVELOPE.fullmatch(name) and isinstance(definition, dict):
            framed = {"method", "params", "id"} & set(definition.get("properties", {}))
            if framed or "anyOf" in definition or "oneOf" in definition:
                found.append(name)
    return tuple(found)


def read_methods(schema: Mapping[str, Any], frames: tuple[str, ...], problems: Problems) -> tuple[ir.Method, ...]:
    """Every wire method once for each receiving side and kind, in the schema's order."""
    definitions = schema["$defs"]
    kinds: dict[str, set[str]] = {}
    for frame in frames:
        kind = _ENVELOPE.fullmatch(frame)
        assert kind is not None
        for name in referred(definitions[frame]):
            kinds.setdefault(name, set()).add(kind[2].lower())
    params: dict[tuple[str, str, str], str] = {}
    results: dict[tuple[str, str], str] = {}
    for name, definition in definitions.items():
        if not isinstance(definition, dict) or "x-method" not in definition:
            continue
        method, side = str(definition["x-method"]), str(definition.get("x-side", ""))
        pointer = f"/$defs/{name}"
        if side not in get_args(ir.Side):
            problems.add(pointer, f"x-side {side!r}", f"one of {', '.join(get_args(ir.Side))}")
        found = kinds.get(name) or ({"notification"} if side == "protocol" else set())
        if len(found) != 1:
            problems.add(
                pointer, f"{name} in {len(found)} kinds of envelope", "a method's params or result, in one envelope"
            )
            continue
        kind_name = found.pop()
        if kind_name == "response":
            taken = results.setdefault((side, method), name)
        else:
            taken = params.setdefault((side, kind_name, method), name)
        if taken != name:
            problems.add(
                pointer, f"a second {kind_name} of {method} for the {side} side", f"one, as {taken} is already"
            )
    return tuple(_methods(params, results, problems))


def _methods(
    params: dict[tuple[str, str, str], str], results: dict[tuple[str, str], str], problems: Problems
) -> Iterator[ir.Method]:
    for (side, kind, method), name in params.items():
        result = results.pop((side, method), None) if kind == "request" else None
        if kind == "request" and result is None:
            problems.add(f"/$defs/{name}", f"the request {method} without a response", "a definition with its x-method")
        yield ir.Method(
            side=next(one for one in get_args(ir.Side) if one == side),
            kind="request" if kind == "request" else "notification",
            name=method,
            params=problems.renamed.get(name, name),
            result=problems.renamed.get(result, result) if result else None,
        )
    for (side, method), name in results.items():
        problems.add(f"/$defs/{name}", f"a response of {method} for the {side} side, without a request", "a request")


def referred(raw: Any) -> Iterator[str]:
    """Names of the definitions that a raw schema refers to, at any depth."""
    if isinstance(raw, dict):
        reference = raw.get("$ref")
        if isinstance(reference, str):
            yield reference.rpartition("/")[2]
        for value in raw.values():
            yield from referred(value)
    elif isinstance(raw, list):
        for value in raw:
            yield from referred(value)

"""The method list, read off `x-method` and `x-side` and the envelope definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from codegen import ir
from codegen.lower.view import Problems
from codegen.names import method_name

# Who sends it, and what: an AgentRequest goes from the agent to the client.
_ENVELOPE = re.compile(r"(Agent|Client|Proxy)(Request|Response|Notification)")
# Older schemas frame once more around the envelopes.
_OUTER = re.compile(r"(Agent|Client)OutgoingMessage")


def envelopes(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Definitions that only frame messages: named as envelopes, with `id`, `method`, `params` or alternatives."""
    found = []
    for name, definition in schema.get("$defs", {}).items():
        if (_ENVELOPE.fullmatch(name) or _OUTER.fullmatch(name)) and isinstance(definition, dict):
            framed = {"method", "params", "id"} & set(definition.get("properties", {}))
            if framed or "anyOf" in definition or "oneOf" in definition:
                found.append(name)
    return tuple(found)


def read_methods(schema: Mapping[str, Any], frames: tuple[str, ...], problems: Problems) -> tuple[ir.Method, ...]:
    """Every wire method once for each receiving side and kind, in the schema's order."""
    definitions = schema.get("$defs", {})
    kinds, empty = _kinds(definitions, frames)
    params: dict[tuple[ir.Side, ir.Kind, str], str] = {}
    results: dict[tuple[ir.Side, str], str] = {}
    for name, definition in definitions.items():
        if not _is_marked(definition):
            continue
        method = definition["x-method"]
        if not isinstance(method, str) or not method:
            problems.add(f"/$defs/{name}", f"x-method {method!r}", "the method's name")
            continue
        found = kinds.get(name) or ({"notification"} if definition.get("x-side") == "protocol" else set())
        if len(found) != 1:
            where = f"{name} in {len(found)} kinds of envelope"
            problems.add(f"/$defs/{name}", where, "a method's params or result, in one kind of envelope")
            continue
        kind_name = found.pop()
        for side in _sides(name, definition.get("x-side"), problems):
            if kind_name == "response":
                taken = results.setdefault((side, method), name)
            else:
                kind: ir.Kind = "request" if kind_name == "request" else "notification"
                taken = params.setdefault((side, kind, method), name)
            if taken != name:
                problems.add(f"/$defs/{name}", f"a second {kind_name} of {method} for the {side} side", f"only {taken}")
    responses = [name for name, found in kinds.items() if found == {"response"} and name in definitions]
    unmarked = {name for name in responses if not _is_marked(definitions[name])}
    return tuple(_methods(params, results, empty, unmarked, problems))


def _kinds(definitions: Mapping[str, Any], frames: tuple[str, ...]) -> tuple[dict[str, set[str]], set[str]]:
    """For each definition the kinds of envelope that it is in; and the titles of results that are a bare null."""
    kinds: dict[str, set[str]] = {}
    empty: set[str] = set()
    for frame in frames:
        envelope = _ENVELOPE.fullmatch(frame)
        if envelope is not None:
            empty |= set(_null_titles(definitions[frame]))
            for name in referred(definitions[frame]):
                kinds.setdefault(name, set()).add(envelope[2].lower())
    return kinds, empty


def _is_marked(definition: Any) -> bool:
    return isinstance(definition, dict) and "x-method" in definition


def _sides(name: str, side: Any, problems: Problems) -> tuple[ir.Side, ...]:
    """The sides that receive a method; `both` are two methods."""
    if side == "both":
        return ("agent", "client")
    known = [one for one in get_args(ir.Side) if one == side]
    if not known:
        problems.add(f"/$defs/{name}", f"x-side {side!r}", f"one of {', '.join(get_args(ir.Side))}, both")
    return tuple(known)


def _null_titles(envelope: Mapping[str, Any]) -> Iterator[str]:
    """Titles of the results that older schemas have as a bare null."""
    for branch in envelope.get("anyOf", ()):
        if isinstance(branch, dict) and branch.get("type") == "null":
            yield str(branch.get("title", ""))


def _methods(
    params: dict[tuple[ir.Side, ir.Kind, str], str],
    results: dict[tuple[ir.Side, str], str],
    empty: set[str],
    unmarked: set[str],
    problems: Problems,
) -> Iterator[ir.Method]:
    called: dict[tuple[ir.Side, str], tuple[ir.Kind, str]] = {}
    for (side, kind, method), name in params.items():
        # A notification that is a request of the same side too has a suffix of its own (`method_views`).
        suffix = "_notification" if kind == "notification" and (side, "request", method) in params else ""
        python = method_name(method) + suffix
        other = called.setdefault((side, python), (kind, method))
        if other != (kind, method):
            clash = f"{method!r} and {other[1]!r}, which both want the name {python}"
            problems.add(f"/$defs/{name}", clash, "methods that differ in more than punctuation")
        result = results.pop((side, method), None) if kind == "request" else None
        # The oldest schemas pair by name alone, and have a bare null for an empty result.
        by_name = f"{name.removesuffix('Request')}Response"
        if kind == "request" and result is None and by_name in unmarked:
            result = by_name
        if kind == "request" and result is None and by_name not in empty:
            problems.add(f"/$defs/{name}", f"the request {method} without a response", "a definition with its x-method")
        name = problems.renamed.get(name, name)
        yield ir.Method(side, kind, method, name, problems.renamed.get(result, result) if result else None)
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

"""What each method needs: capabilities.toml held against the schema.

An entry may be for one channel: what this schema does not have is passed over here, and told once no channel has it
(`Capabilities.unused`). What an entry that applies leads to has to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from codegen import ir
from codegen.capabilities import FILE, Capabilities, Holding, Listing, Rule, Stateful, Values, is_path, needs_place
from codegen.errors import Diagnostic
from codegen.lower.paths import ITEMS, choices, find
from codegen.lower.view import Problems

SESSION = "sessionId"
"""The params' member that says which session's state is meant."""


def ungated(profiles: Iterable[ir.Profile]) -> list[Diagnostic]:
    """Methods without an entry in their version's capabilities.toml, each once."""
    missing: dict[tuple[str, str, str], Diagnostic] = {}
    for profile in profiles:
        for method in profile.methods:
            if method.needs is None:
                place = f"{profile.version}/{needs_place(method.side, method.name)}"
                found = f"no entry for the {method.kind} {method.name}"
                expected = "what it needs, [] for nothing"
                missing.setdefault((profile.version, method.side, method.name), Diagnostic(place, found, expected))
    return list(missing.values())


def gated(
    methods: Sequence[ir.Method],
    opening: ir.Opening | None,
    definitions: Mapping[str, ir.Definition],
    capabilities: Capabilities,
    problems: Problems,
) -> tuple[ir.Method, ...]:
    """The methods with what they need."""
    return tuple(_Needs(opening, definitions, capabilities, problems).of_all(methods))


def with_offered(
    opening: ir.Opening | None,
    definitions: Mapping[str, ir.Definition],
    capabilities: Capabilities,
    problems: Problems,
) -> ir.Opening | None:
    """The opening with the auth methods that are for some clients only."""
    if opening is None:
        return None
    return replace(opening, offered=tuple(_Needs(opening, definitions, capabilities, problems).offered()))


class _Needs:
    def __init__(
        self,
        opening: ir.Opening | None,
        definitions: Mapping[str, ir.Definition],
        capabilities: Capabilities,
        problems: Problems,
    ) -> None:
        self.definitions = definitions
        self.capabilities = capabilities
        self.problems = problems
        self.said = {} if opening is None else {"agent": opening.response, "client": opening.request}

    def of_all(self, methods: Sequence[ir.Method]) -> Iterator[ir.Method]:
        for method in methods:
            entry = self.capabilities.needs.get(method.side, {}).get(method.name)
            if entry is None:
                yield method
                continue
            self.capabilities.used.add(("needs", method.side, method.name))
            place = needs_place(method.side, method.name)
            found = (self._need(need, method, place) for need in entry)
            yield replace(method, needs=tuple(need for need in found if need is not None))

    def offered(self) -> Iterator[tuple[str, ir.Advertised]]:
        known = self._choices("AuthMethod", "type") or frozenset()
        for tag, path in self.capabilities.auth_methods.items():
            if tag in known:
                self.capabilities.used.add(("auth_methods", tag))
                yield tag, self._advertised(path, f"{FILE} [auth_methods] {tag}")

    def _need(self, need: str, method: ir.Method, place: str) -> ir.Need | None:
        if is_path(need):
            return self._advertised(need, place)
        found = self._ruled(self.capabilities.rules[need], method.params, need)
        if found is not None:
            self.capabilities.used.add(("needs", method.side, method.name, need))
        return found

    def _ruled(self, rule: Rule, params: str, name: str) -> ir.Need | None:
        """A rule for these params; None where they have nothing that it is for."""
        place = f"{FILE} [rules] {name}"
        match rule:
            case Holding(field, needs):
                return ir.IfHeld(field, self._advertised(needs, place)) if self._find(params, field) else None
            case Values():
                return self._by_value(rule, params, name, place)
            case Listing():
                return self._listed(rule, params, place)
            case Stateful():
                return self._in_state(rule, params, place)

    def _by_value(self, rule: Values, params: str, name: str, place: str) -> ir.ByValue | None:
        if self._find(params, rule.field) is None:
            return None
        known = self._choices(params, rule.field)
        if known is None:
            self._add(place, f"{rule.field} of {params}, which lists no values", "a tag, or a string with known values")
            return None
        for value in sorted(known.difference(rule.named())):
            self._add(place, f"nothing about the value {value!r} of {params}", "it among free, needs or never")
        self.capabilities.used.update(("value", name, value) for value in rule.named() if value in known)
        needs = {value: path for value, path in rule.needs.items() if value in known}
        return ir.ByValue(
            rule.field,
            tuple(value for value in rule.free if value in known),
            tuple((value, self._advertised(path, place)) for value, path in needs.items()),
            tuple(value for value in rule.never if value in known),
        )

    def _listed(self, rule: Listing, params: str, place: str) -> ir.Listed | None:
        if self._find(params, rule.field) is None:
            return None
        path, _, member = rule.within.rpartition(f"{ITEMS}.")
        self._advertised(rule.within, place)
        for other in rule.barred:
            self._advertised(f"{path}{ITEMS}.{other}", place)
        return ir.Listed(rule.field, self._advertised(path, place), member, tuple(rule.barred.items()))

    def _in_state(self, rule: Stateful, params: str, place: str) -> ir.InState | None:
        if rule.of not in self.definitions or (rule.id is not None and self._find(params, rule.id) is None):
            return None
        if self._find(params, SESSION) is None:
            self._add(place, f"{params}, which names no session", f"params with {SESSION}")
        for path in (rule.member, rule.needs):
            if path is not None and self._find(rule.of, path) is None:
                self._add(place, f"{path!r}, which {rule.of} does not have", "a path of that definition")
        return ir.InState(rule.state, rule.id, rule.member, rule.needs)

    def _advertised(self, path: str, place: str) -> ir.Advertised:
        """A path that starts at a side, checked."""
        side, _, rest = path.partition(".")
        start = self.said.get(side)
        if start is None or self._find(start, rest) is None:
            said = "no initialize says anything" if start is None else f"{start} does not have it"
            self._add(place, f"the path {path!r}: {said}", "a path of what that side says in initialize")
        return ir.Advertised("agent" if side == "agent" else "client", rest)

    def _find(self, start: str, path: str) -> ir.Type | None:
        return find(start, path, self.definitions)

    def _choices(self, start: str, path: str) -> frozenset[str] | None:
        kind = self._find(start, path)
        return None if kind is None else choices(kind, self.definitions)

    def _add(self, place: str, found: str, expected: str) -> None:
        problem = Diagnostic(f"{place} ({self.problems.file})", found, expected)
        if problem not in self.problems.found:
            self.problems.found.append(problem)

"""capabilities.toml: what the schema says of methods in prose only, one file per version.

    [baseline]        CAPABILITY = ["method", ...]    methods that an agent with this capability has to handle
    [unhandled]       "method" = ERROR_CODE           where that is not "method not found"
    [needs.SIDE]      "method" = [NEED, ...]          for its requests and notifications alike; [] is nothing
    [auth_methods]    TAG = PATH                      auth methods that are only for clients with a capability
    [rules]           NAME = RULE

A NEED is a PATH or the name of a rule. A PATH leads from what a side says in `initialize` to a capability:
`agent.capabilities.session`. A RULE looks at the params first, whose FIELD is a path of its own (`prompt[].type`):

    { has = FIELD, needs = PATH }
        params that hold it need a capability
    { value = FIELD, free = [...], needs = { VALUE = PATH }, never = [...] }
        what its values need; every value that the schema knows has to be named
    { listed = FIELD, in = PATH, except = { MEMBER = VALUE } }
        one of the things that were advertised: `agent.authMethods[].id`
    { state = NAME, of = DEFINITION, id = FIELD, as = MEMBER, needs = PATH_OF_DEFINITION }
        of the session's state the object with that id (`as` where it calls its id otherwise); without id the only one
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from codegen.annotations import read_toml
from codegen.errors import CodegenError, Diagnostic

FILE = "capabilities.toml"
SIDES = ("agent", "client", "proxy", "protocol")
# What is understood: by the key that tells the kind of rule, the keys beside it that must and those that may be there.
_RULES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "has": (frozenset({"needs"}), frozenset()),
    "value": (frozenset(), frozenset({"free", "needs", "never"})),
    "listed": (frozenset({"in"}), frozenset({"except"})),
    "state": (frozenset({"of"}), frozenset({"id", "as", "needs"})),
}
_LISTS = frozenset({"free", "never"})


@dataclass(frozen=True, slots=True)
class Holding:
    field: str
    needs: str


@dataclass(frozen=True, slots=True)
class Values:
    field: str
    free: tuple[str, ...]
    needs: Mapping[str, str]
    never: tuple[str, ...]

    def named(self) -> Iterator[str]:
        yield from (*self.free, *self.needs, *self.never)


@dataclass(frozen=True, slots=True)
class Listing:
    field: str
    within: str
    barred: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stateful:
    state: str
    of: str
    id: str | None
    member: str | None
    needs: str | None


Rule: TypeAlias = Holding | Values | Listing | Stateful


@dataclass
class Capabilities:
    """The file, checked for its shape alone. Remembers what schemas have had use for, so that the rest can be told."""

    baseline: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unhandled: Mapping[str, int] = field(default_factory=dict)
    needs: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    auth_methods: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    used: set[tuple[str, ...]] = field(default_factory=set)

    def unused(self) -> Iterator[Diagnostic]:
        """Entries for what no schema of the version has."""
        for side, methods in self.needs.items():
            for method, needs in methods.items():
                yield from self._unused_needs(side, method, needs)
        for name, rule in self.rules.items():
            if isinstance(rule, Values):
                for value in sorted(
                    set(rule.named()) - {used[-1] for used in self.used if used[:2] == ("value", name)}
                ):
                    yield _stale(f"{FILE} [rules] {name}", f"the value {value!r}", f"a value of {rule.field}")
        for tag in self.auth_methods:
            if ("auth_methods", tag) not in self.used:
                yield _stale(f"{FILE} [auth_methods] {tag}", "an auth method", "the tag of an auth method")

    def _unused_needs(self, side: str, method: str, needs: Iterable[str]) -> Iterator[Diagnostic]:
        place = needs_place(side, method)
        if ("needs", side, method) not in self.used:
            yield _stale(place, "a method", "a method of that side")
            return
        for need in needs:
            if need in self.rules and ("needs", side, method, need) not in self.used:
                yield _stale(place, f"something in the params ({need})", "a rule for what its params may hold")


def is_path(need: str) -> bool:
    """Whether a need is a path to a capability, not the name of a rule."""
    return "." in need


def needs_place(side: str, method: str) -> str:
    return f'{FILE} [needs.{side}] "{method}"'


def _stale(place: str, found: str, expected: str) -> Diagnostic:
    return Diagnostic(
        place, f"{found} that no schema of this version has", f"{expected}; take the entry out or mend it"
    )


def load_capabilities(folder: Path) -> Capabilities:
    """capabilities.toml of a version's folder; empty when there is none. Raises CodegenError for another shape."""
    return _Reader(read_toml(folder / FILE)).read()


class _Reader:
    """Collects what is wrong with the file's shape."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.table = table
        self.problems: list[Diagnostic] = []

    def read(self) -> Capabilities:
        known = ("baseline", "unhandled", "needs", "auth_methods", "rules")
        for key in self.table:
            if key not in known:
                self._add(key, "a table that has no meaning", f"one of {', '.join(known)}")
        rules = {name: self._rule(name, rule) for name, rule in self._table("rules").items()}
        found = Capabilities(
            baseline={name: self._strings(f"[baseline] {name}", one) for name, one in self._table("baseline").items()},
            unhandled={name: self._code(name, code) for name, code in self._table("unhandled").items()},
            needs={side: self._needs(side, methods, rules) for side, methods in self._table("needs").items()},
            auth_methods={
                tag: self._path(f"[auth_methods] {tag}", path) for tag, path in self._table("auth_methods").items()
            },
            rules={name: rule for name, rule in rules.items() if rule is not None},
        )
        named = {need for methods in found.needs.values() for needs in methods.values() for need in needs}
        for name in rules:
            if name not in named:
                self._add(f"[rules] {name}", "a rule that no method names", "its name in an entry of [needs]")
        if self.problems:
            raise CodegenError(self.problems)
        return found

    def _add(self, place: str, found: str, expected: str) -> None:
        self.problems.append(Diagnostic(f"{FILE} {place}", found, expected))

    def _table(self, name: str) -> dict[str, Any]:
        table = self.table.get(name, {})
        if isinstance(table, dict):
            return table
        self._add(f"[{name}]", repr(table), "a table")
        return {}

    def _strings(self, place: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return tuple(value)
        self._add(place, repr(value), "a list of strings")
        return ()

    def _code(self, method: str, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._add(f"[unhandled] {method}", repr(value), "an error code")
        return 0

    def _needs(self, side: str, methods: Any, rules: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        if side not in SIDES or not isinstance(methods, dict):
            self._add(f"[needs.{side}]", "no table of a side's methods", f"one of {', '.join(SIDES)}")
            return {}
        found = {}
        for method, listed in methods.items():
            place = f'[needs.{side}] "{method}"'
            found[method] = self._strings(place, listed)
            for need in found[method]:
                if is_path(need):
                    self._path(place, need)
                elif need not in rules:
                    self._add(place, f"the unknown rule {need!r}", "a rule of [rules], or a path such as agent.x")
        return found

    def _path(self, place: str, value: Any) -> str:
        sides = ("agent", "client")
        if isinstance(value, str) and value.partition(".")[0] in sides and all(value.split(".")):
            return value
        self._add(place, repr(value), "a path that starts at agent or client, such as agent.capabilities.x")
        return ""

    def _rule(self, name: str, value: Any) -> Rule | None:
        place = f"[rules] {name}"
        kinds = [kind for kind in _RULES if isinstance(value, dict) and kind in value]
        if len(kinds) != 1 or is_path(name):
            self._add(place, repr(value), f"a table with one of {', '.join(_RULES)}, under a name without dots")
            return None
        required, optional = _RULES[kinds[0]]
        keys = set(value) - {kinds[0]}
        if not required <= keys <= required | optional:
            allowed = ", ".join(sorted(required | optional))
            self._add(place, f"the keys {', '.join(sorted(value))}", f"{kinds[0]} with {allowed} beside it")
            return None
        lists = {key: self._strings(f"{place} {key}", value.get(key, [])) for key in _LISTS}
        texts = {key: one for key, one in value.items() if key not in _LISTS}
        tables = {"except", *(["needs"] if kinds[0] == "value" else [])}
        for key, one in texts.items():
            parts = list(one.values()) if key in tables and isinstance(one, dict) else [one]
            if (key in tables) != isinstance(one, dict) or not all(isinstance(part, str) and part for part in parts):
                self._add(f"{place} {key}", repr(one), "a table of strings" if key in tables else "a string")
                return None
        return self._made(place, kinds[0], texts, lists)

    def _made(self, place: str, kind: str, texts: dict[str, Any], lists: dict[str, tuple[str, ...]]) -> Rule:
        if kind == "has":
            return Holding(texts["has"], self._path(f"{place} needs", texts["needs"]))
        if kind == "value":
            needs = {value: self._path(f"{place} needs", path) for value, path in texts.get("needs", {}).items()}
            rule = Values(texts["value"], lists["free"], needs, lists["never"])
            if len(set(rule.named())) < len(list(rule.named())):
                self._add(place, "a value twice", "each value in one of free, needs and never")
            return rule
        if kind == "listed":
            within = self._path(f"{place} in", texts["in"])
            if "[]." not in within:
                self._add(f"{place} in", repr(within), "a path to a member of a list, such as agent.authMethods[].id")
            return Listing(texts["listed"], within, texts.get("except", {}))
        named = texts.get("id")
        if named is None and "as" in texts:
            self._add(place, "as without id", "the field of the params that holds the id")
        return Stateful(texts["state"], texts["of"], named, texts.get("as", named), texts.get("needs"))

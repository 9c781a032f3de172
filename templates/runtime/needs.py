"""What methods need, as the generated method tables have it.

A capability that is present and not null is supported, `{}` included; where it is a boolean, true is. Extensions are
nobody's to judge: values that begin with an underscore pass in both directions. Paths are of wire names, with dots
between, `[]` for each item of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from .models import is_extension

StateOf = Callable[[str], Any]
"""What is known of a session: None, or an object with `tool_calls`, `terminals`, `config_options` and `subagent`."""
SESSION = "sessionId"
"""The member of params that says whose state is meant."""
Found = tuple[str, Any]
"""A JSON Pointer into the params, and the value there."""


class Said(Protocol):
    """What both sides said in `initialize`."""

    def said(self, capability: Advertised) -> Any:
        """What a side said of a capability; None where it said nothing."""
        ...

    def has(self, capability: Advertised) -> bool:
        """Whether a side advertised a capability."""
        ...


class Unmet(msgspec.Struct, frozen=True):
    """Something that is missing: a capability of a side by its path, and where in the params it is needed.

    `side` is empty where no capability would help.
    """

    side: str
    missing: str
    pointer: str
    reason: str


class Advertised(msgspec.Struct, frozen=True):
    """A capability in what a side said in `initialize`."""

    side: str
    path: str

    @property
    def reason(self) -> str:
        return f"needs {self.path}, which the {self.side} did not advertise"


class IfHeld(msgspec.Struct, frozen=True):
    """Params that hold `field` need a capability."""

    field: str
    needs: Advertised

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Sequence[Unmet]:
        need = self.needs
        if said.has(need) or not any(map(is_there, values(params, self.field))):
            return ()
        return [Unmet(need.side, need.path, pointer, need.reason) for pointer, _ in find(params, self.field)]


class ByValue(msgspec.Struct, frozen=True):
    """What the values of `field` need: `free` ones nothing, `never` ones what nobody can advertise.

    Another value is one of a newer schema. Whoever sends it knows better; here nobody can handle it.
    """

    field: str
    free: tuple[str, ...]
    needs: Mapping[str, Advertised]
    never: tuple[str, ...] = ()

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Sequence[Unmet]:
        # Nothing is wrong as a rule, which is found out without pointers.
        if all(self.passes(value, said, received) for value in values(params, self.field)):
            return ()
        found = find(params, self.field)
        return [self._unmet(pointer, value) for pointer, value in found if not self.passes(value, said, received)]

    def passes(self, value: Any, said: Said, received: bool) -> bool:
        """Whether nothing is missing for a value, that was received or is to be sent."""
        if value in self.free or not isinstance(value, str):
            return True
        need = self.needs.get(value)
        if need is not None:
            return said.has(need)
        return value not in self.never and (not received or is_extension(value))

    def quick(self, form: Any, said: Said, received: bool) -> Callable[[Any], bool] | None:
        """A look at params of the class `form` that may tell at once that nothing is missing.

        There is one for tags of what stands in the params themselves: `prompt[].type`, `update.sessionUpdate`. A tag
        comes with a class, so it looks at classes, and knows those that have passed.
        """
        head, _, tag = self.field.rpartition(".")
        name = shape(form)[0].get(head.removesuffix("[]")) if isinstance(form, type) else None
        if name is None:
            return None
        known: set[type] = set()

        def fine(params: Any) -> bool:
            if params.__class__ is not form:
                return False
            inner = getattr(params, name)
            for item in inner if inner.__class__ is list else (inner,):
                if item.__class__ not in known:
                    if shape(item.__class__)[1] != tag or not self.passes(member(item, tag), said, received):
                        return False
                    known.add(item.__class__)
            return True

        return fine

    def _unmet(self, pointer: str, value: str) -> Unmet:
        need = self.needs.get(value)
        if need is None:
            return Unmet("", f"{self.field} {value}", pointer, f"{value!r} is not supported here")
        return Unmet(need.side, need.path, pointer, f"{value!r} {need.reason}")


class Listed(msgspec.Struct, frozen=True):
    """The value of `field` is the `member` of something in a list that a side advertised, and that is not barred."""

    field: str
    within: Advertised
    member: str
    barred: Mapping[str, str]

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Sequence[Unmet]:
        side, path = self.within.side, self.within.path
        found = [(pointer, value, self._wrong(value, said)) for pointer, value in find(params, self.field)]
        return [Unmet(side, path, pointer, f"{value!r} {wrong}") for pointer, value, wrong in found if wrong]

    def _wrong(self, value: Any, said: Said) -> str:
        listed: Sequence[Any] = said.said(self.within) or ()
        known = next((one for one in listed if member(one, self.member) == value), None)
        if known is None:
            return f"is none of the {self.within.path} that the {self.within.side} advertised"
        for other, text in self.barred.items():
            if member(known, other) == text:
                return f"has the {other} {text!r}, which is not for this call"
        return ""


class InState(msgspec.Struct, frozen=True):
    """An object of the session's state is there, and currently advertises what is needed.

    It is the one whose `member` is the value of `field`; without a field the session has one such object, or none.
    """

    state: str
    field: str | None = None
    member: str | None = None
    needs: str | None = None

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Sequence[Unmet]:
        session = None if state_of is None else state_of(member(params, SESSION))
        held = None if session is None else getattr(session, self.state, None)
        if held is None:
            return ()
        field = self.field or SESSION
        value = member(params, field)
        found = held if self.field is None else self._choose(held, value)
        if found is None:
            return [Unmet("agent", self.state, f"/{field}", f"{value!r} is none of the session's {self.state}")]
        if self.needs is None or any(map(is_there, values(found, self.needs))):
            return ()
        reason = f"needs {self.needs} of {value!r}, which does not advertise it now"
        return [Unmet("agent", self.needs, f"/{field}", reason)]

    def _choose(self, held: Any, value: Any) -> Any:
        if isinstance(held, Mapping):
            return held.get(value)
        return next((one for one in held if member(one, self.member or "") == value), None)


Need = Advertised | IfHeld | ByValue | Listed | InState


def is_there(value: Any) -> bool:
    """Whether a value stands for "supported": `{}` does, an empty list of offers does not."""
    return value is not None and value is not UNSET and value is not False and value != []


@cache
def _steps(path: str) -> tuple[tuple[str, bool], ...]:
    """The names of a path, each with whether it is a list whose items are meant."""
    return tuple((part.removesuffix("[]"), part.endswith("[]")) for part in path.split("."))


def values(value: Any, path: str) -> list[Any]:
    """What is at a path: one value at most, any number behind a `[]`."""
    found = [value]
    for wire, is_list in _steps(path):
        inner: list[Any] = []
        for one in found:
            item = member(one, wire)
            if is_list and isinstance(item, list):
                inner += item
            elif not is_list and item is not None and item is not UNSET:
                inner.append(item)
        found = inner
    return found


def find(value: Any, path: str) -> list[Found]:
    """The same with pointers."""
    found: list[Found] = [("", value)]
    for wire, is_list in _steps(path):
        inner: list[Found] = []
        for pointer, one in found:
            item, there = member(one, wire), f"{pointer}/{wire}"
            if is_list and isinstance(item, list):
                inner += ((f"{there}/{index}", each) for index, each in enumerate(item))
            elif not is_list and item is not None and item is not UNSET:
                inner.append((there, item))
        found = inner
    return found


def member(value: Any, wire: str) -> Any:
    """A property by its wire name: of a model, of what is kept as a dict, of an object with members of like names."""
    if isinstance(value, dict):
        return value.get(wire)
    names, tag_field, tag = shape(value.__class__)
    name = names.get(wire)
    if name is not None:
        return getattr(value, name)
    return tag if wire == tag_field else getattr(value, _snake(wire), None)


@cache
def shape(cls: type) -> tuple[dict[str, str], str | None, Any]:
    """The member names of a class by their wire names, its tag's wire name and its tag."""
    if not issubclass(cls, msgspec.Struct):
        return {}, None, None
    config = cls.__struct_config__
    names = {field.encode_name: field.name for field in msgspec.structs.fields(cls)}
    return names, config.tag_field, config.tag


@cache
def _snake(wire: str) -> str:
    return re.sub("[A-Z]", lambda found: "_" + found[0].lower(), wire)

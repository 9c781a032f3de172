"""What methods need, as the generated method tables have it.

A capability that is present and not null is supported, `{}` included; where it is a boolean, true is. Extensions are
nobody's to judge: values that begin with an underscore pass in both directions. Paths are of wire names, with dots
between, `[]` for each item of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import msgspec
from msgspec import UNSET

from .models import Model, is_extension

StateOf = Callable[[str], Any]
"""What is known of a session: None, or an object with `tool_calls`, `terminals`, `config_options` and `subagent`."""
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

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for pointer, value in find(params, self.field):
            if is_there(value) and not said.has(self.needs):
                yield Unmet(self.needs.side, self.needs.path, pointer, self.needs.reason)


class ByValue(msgspec.Struct, frozen=True):
    """What the values of `field` need: `free` ones nothing, `never` ones what nobody can advertise.

    Another value is one of a newer schema. Whoever sends it knows better; here nobody can handle it.
    """

    field: str
    free: tuple[str, ...]
    needs: Mapping[str, Advertised]
    never: tuple[str, ...] = ()

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for pointer, value in find(params, self.field):
            if value in self.free or not isinstance(value, str):
                continue
            need = self.needs.get(value)
            if need is not None:
                if not said.has(need):
                    yield Unmet(need.side, need.path, pointer, f"{value!r} {need.reason}")
            elif value in self.never or (received and not is_extension(value)):
                yield Unmet("", f"{self.field} {value}", pointer, f"{value!r} is not supported here")


class Listed(msgspec.Struct, frozen=True):
    """The value of `field` is the `member` of something in a list that a side advertised, and that is not barred."""

    field: str
    within: Advertised
    member: str
    barred: Mapping[str, str]

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        side, path = self.within.side, self.within.path
        listed: Sequence[Any] = said.said(self.within) or ()
        for pointer, value in find(params, self.field):
            known = [one for one in listed if member(one, self.member) == value]
            if not known:
                yield Unmet(side, path, pointer, f"{value!r} is none of the {path} that the {side} advertised")
            for other, text in self.barred.items():
                if known and member(known[0], other) == text:
                    yield Unmet(side, path, pointer, f"{value!r} has the {other} {text!r}, which is not for this call")


class InState(msgspec.Struct, frozen=True):
    """An object of the session's state is there, and currently advertises what is needed.

    It is the one whose `member` is the value of `field`; without a field the session has one such object, or none.
    """

    state: str
    field: str | None = None
    member: str | None = None
    needs: str | None = None

    def unmet(self, said: Said, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        session = None if state_of is None else state_of(member(params, "sessionId"))
        held = None if session is None else getattr(session, self.state, None)
        if held is None:
            return
        if self.field is None:
            pointer, value, found = "/sessionId", member(params, "sessionId"), held
        else:
            pointer, value = next(find(params, self.field))
            found = self._choose(held, value)
        if found is None:
            yield Unmet("agent", self.state, pointer, f"{value!r} is none of the session's {self.state}")
        elif self.needs is not None and not any(is_there(one) for _, one in find(found, self.needs)):
            reason = f"needs {self.needs} of {value!r}, which does not advertise it now"
            yield Unmet("agent", self.needs, pointer, reason)

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


def find(value: Any, path: str) -> Iterator[Found]:
    """What is at a path, with pointers to it: one value at most, any number behind a `[]`."""
    return _walk(value, _steps(path), "")


def _walk(value: Any, steps: tuple[tuple[str, bool], ...], pointer: str) -> Iterator[Found]:
    if value is None or value is UNSET:
        return
    if not steps:
        yield pointer, value
        return
    (wire, is_list), rest = steps[0], steps[1:]
    found, pointer = member(value, wire), f"{pointer}/{wire}"
    if not is_list:
        yield from _walk(found, rest, pointer)
    elif isinstance(found, list | tuple):
        for index, item in enumerate(found):
            yield from _walk(item, rest, f"{pointer}/{index}")


def member(value: Any, wire: str) -> Any:
    """A property of a model, or of one that is kept as a dict, by its wire name."""
    if isinstance(value, dict):
        return value.get(wire)
    cls = value.__class__
    name = _names(cls).get(wire)
    if name is not None:
        return getattr(value, name)
    return cls.__struct_config__.tag if issubclass(cls, Model) and cls.__struct_config__.tag_field == wire else None


@cache
def _names(cls: type) -> dict[str, str]:
    """The member names of a class by their wire names; of one that is no model, by themselves."""
    if issubclass(cls, msgspec.Struct):
        return {field.encode_name: field.name for field in msgspec.structs.fields(cls)}
    return {}

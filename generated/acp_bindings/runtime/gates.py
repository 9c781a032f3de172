"""What may be called: the needs of methods, held against what both sides said in `initialize`.

A capability that is present and not null is supported, `{}` included; where it is a boolean, true is. Extensions are
nobody's to judge: their methods, and values that begin with an underscore, pass in both directions. Notifications that
come pass too, since nobody could be told that they were refused. Paths are of wire names, with dots between, `[]` for
each item of a list.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from .errors import CapabilityError, DecodeError, RequestError
from .jsonrpc import METHOD_NOT_FOUND
from .models import Model, is_extension

if TYPE_CHECKING:
    from .routing import MethodSpec

StateOf = Callable[[str], Any]
"""What is known of a session: None, or an object with `tool_calls`, `terminals`, `config_options` and `subagent`."""
Found = tuple[str, Any]
"""A JSON Pointer into the params, and the value there."""
log = logging.getLogger("acp_bindings")


class Unmet(NamedTuple):
    """Something that is missing: a capability of a side by its path, and where in the params it is needed."""

    side: str
    missing: str
    pointer: str
    reason: str


class Advertised(NamedTuple):
    """A capability in what a side said in `initialize`."""

    side: str
    path: str

    @property
    def reason(self) -> str:
        return f"needs {self.path}, which the {self.side} did not advertise"


class IfHeld(NamedTuple):
    """Params that hold `field` need a capability."""

    field: str
    needs: Advertised

    def unmet(self, gates: Gates, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for pointer, value in _find(params, self.field):
            if _is_there(value) and not gates.has(self.needs):
                yield Unmet(*self.needs, pointer, self.needs.reason)


class ByValue(NamedTuple):
    """What the values of `field` need: `free` ones nothing, `never` ones what nobody can advertise.

    Another value is one of a newer schema. Whoever sends it knows better; here nobody can handle it.
    """

    field: str
    free: tuple[str, ...]
    needs: Mapping[str, Advertised]
    never: tuple[str, ...] = ()

    def unmet(self, gates: Gates, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for pointer, value in _find(params, self.field):
            if value in self.free or not isinstance(value, str):
                continue
            need = self.needs.get(value)
            if need is not None:
                if not gates.has(need):
                    yield Unmet(*need, pointer, f"{value!r} {need.reason}")
            elif value in self.never or (received and not is_extension(value)):
                yield Unmet("agent", f"{self.field} {value}", pointer, f"{value!r} is not supported here")


class Listed(NamedTuple):
    """The value of `field` is the `member` of something in a list that a side advertised, and that is not barred."""

    field: str
    within: Advertised
    member: str
    barred: Mapping[str, str]

    def unmet(self, gates: Gates, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        side, path = self.within
        listed: Sequence[Any] = gates.said(self.within) or ()
        for pointer, value in _find(params, self.field):
            known = [one for one in listed if member(one, self.member) == value]
            if not known:
                yield Unmet(side, path, pointer, f"{value!r} is none of the {path} that the {side} advertised")
            for other, text in self.barred.items():
                if known and member(known[0], other) == text:
                    yield Unmet(
                        side, path, pointer, f"{value!r} has the {other} {text!r}, which is not for this method"
                    )


class InState(NamedTuple):
    """An object of the session's state is there, and currently advertises what is needed.

    It is the one whose `member` is the value of `field`; without a field the session has one such object, or none.
    """

    state: str
    field: str | None = None
    member: str | None = None
    needs: str | None = None

    def unmet(self, gates: Gates, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        session = None if state_of is None else state_of(member(params, "sessionId"))
        held = None if session is None else getattr(session, self.state, None)
        if held is None:
            return
        if self.field is None:
            pointer, value, found = "/sessionId", member(params, "sessionId"), held
        else:
            pointer, value = next(_find(params, self.field))
            found = self._choose(held, value)
        if found is None:
            yield Unmet("agent", self.state, pointer, f"{value!r} is none of the session's {self.state}")
        elif self.needs is not None and not any(_is_there(one) for _, one in _find(found, self.needs)):
            reason = f"needs {self.needs} of {value!r}, which does not advertise it now"
            yield Unmet("agent", self.needs, pointer, reason)

    def _choose(self, held: Any, value: Any) -> Any:
        if isinstance(held, Mapping):
            return held.get(value)
        return next((one for one in held if member(one, self.member or "") == value), None)


Need = Advertised | IfHeld | ByValue | Listed | InState


class Gates:
    """What both sides said in `initialize`; what was not said yet is None."""

    def __init__(self, agent: Any, client: Any) -> None:
        self._payloads = {"agent": agent, "client": client}
        self._known: dict[Advertised, bool] = {}

    def said(self, capability: Advertised) -> Any:
        """What a side said at this path; None where it said nothing."""
        return next((value for _, value in _find(self._payloads[capability.side], capability.path)), None)

    def has(self, capability: Advertised) -> bool:
        known = self._known.get(capability)
        if known is None:
            known = self._known[capability] = _is_there(self.said(capability))
        return known

    def check(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise CapabilityError for a message that must not be sent. Raw JSON is not looked into."""
        missing = self._missing(spec)
        if not missing and params.__class__ is not msgspec.Raw and params.__class__ is not bytes:
            missing = list(self._unmet(spec, params, False, state_of))
        if missing:
            side = missing[0].side
            mine = [one for one in missing if one.side == side]
            details = "; ".join(f"{one.pointer}: {one.reason}" if one.pointer else one.reason for one in mine)
            raise CapabilityError(spec.name, tuple(dict.fromkeys(one.missing for one in mine)), side, details)

    def refuse(self, spec: MethodSpec) -> None:
        """Raise RequestError for a request that came though nothing said that it may."""
        missing = self._missing(spec)
        if missing:
            log.warning("refused %s: it %s", spec.name, missing[0].reason)
            data = {"method": spec.name, "missing": [one.missing for one in missing]}
            raise RequestError(METHOD_NOT_FOUND, f"{spec.name} {missing[0].reason}", data)

    def refuse_params(self, spec: MethodSpec, params: Any, state_of: StateOf | None) -> None:
        """Raise DecodeError for params that hold what was not advertised, or what nobody here knows."""
        for one in self._unmet(spec, params, True, state_of):
            raise DecodeError(one.pointer, one.reason)

    def _missing(self, spec: MethodSpec) -> list[Unmet]:
        """What the method itself lacks, whatever its params."""
        return [
            Unmet(need.side, need.path, "", need.reason)
            for need in spec.needs
            if need.__class__ is Advertised and not self.has(need)
        ]

    def _unmet(self, spec: MethodSpec, params: Any, received: bool, state_of: StateOf | None) -> Iterator[Unmet]:
        for need in spec.needs:
            if not isinstance(need, Advertised):
                yield from need.unmet(self, params, received, state_of)


def _is_there(value: Any) -> bool:
    """Whether a value stands for "supported": `{}` does, an empty list of offers does not."""
    return value is not None and value is not UNSET and value is not False and value != []


@cache
def _steps(path: str) -> tuple[tuple[str, bool], ...]:
    """The names of a path, each with whether it is a list whose items are meant."""
    return tuple((part.removesuffix("[]"), part.endswith("[]")) for part in path.split("."))


def _find(value: Any, path: str) -> Iterator[Found]:
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

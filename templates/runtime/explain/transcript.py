"""Frames to messages: what each one is, what its parts are read as, and which call an answer belongs to.

Both sides number their calls by themselves, so an id may be under way twice. Where a transcript says directions, they
tell which call is answered; where it does not, the one whose result the answer fits.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from .. import jsonrpc
from ..errors import DecodeError
from ..models import is_extension
from ..routing import Kind, MethodSpec
from ..walk import Path, kind, pointer
from .findings import Finding, Item, Message, Summary, Unanswered
from .profiles import Profile
from .reading import OPPOSITE, Frame
from .repeated import repeated
from .tree import explained, plain

SHOWN = 100
"""Bytes that are shown of what is no message."""
_BYTE = re.compile(r"\(byte (\d+)\)")
_parse = msgspec.json.Decoder().decode
_MEMBERS = {
    "request": {"jsonrpc", "id", "method", "params"},
    "notification": {"jsonrpc", "method", "params"},
    "response": {"jsonrpc", "id", "result"},
    "error": {"jsonrpc", "id", "error"},
}


class _Call(NamedTuple):
    """A request that is not answered yet. `spec` is None for what is no method of the profile."""

    line: int
    direction: str | None
    id: int | str | None
    method: str
    spec: MethodSpec | None


class _Reading(NamedTuple):
    """One way to read the params or the result of a message."""

    tree: Item | None
    findings: list[Finding]
    spec: MethodSpec | None = None
    call: _Call | None = None

    @property
    def fits(self) -> bool:
        return not any(one.mark == "invalid" for one in self.findings)


class Transcript:
    """Reads one frame after the other, and keeps the calls that wait for an answer."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.summary = Summary(profile.name)
        # In the order of the calls. Ids are told apart by type too.
        self._waiting: dict[tuple[type, int | str | None], list[_Call]] = {}
        # Which side hears what goes in a direction, learned from methods that only one side has.
        self._sides: dict[str, str] = {}
        self._spoken: int | None = None

    def read(self, frame: Frame) -> Message:
        """One frame as a message, counted in `summary`."""
        message = self._read(frame)
        message.valid = not any(finding.mark == "invalid" for finding in message.findings)
        self.summary.add(message)
        return message

    def finish(self) -> Summary:
        """The summary, once all frames were read."""
        calls = sorted((call for calls in self._waiting.values() for call in calls), key=lambda call: call.line)
        self.summary.unanswered = [Unanswered(call.line, call.id, call.method) for call in calls]
        spoken = self._spoken
        if spoken is not None and spoken != self.profile.version:
            self.summary.hint = f"the two sides speak version {spoken}: read it with --profile v{spoken}"
        return self.summary

    def _read(self, frame: Frame) -> Message:
        found = jsonrpc.read(frame.data, null_ids=self.profile.version == 1) if frame.size is None else None
        if found is None or isinstance(found, jsonrpc.Malformed):
            message = _malformed(frame, found)
            if found is not None and found.answers is not UNSET:
                self._failed(message, found.answers)
            return message
        raw = _parse(frame.data)
        match found:
            case jsonrpc.Request():
                message = self._called(frame, "request", found.method, raw, found.id)
            case jsonrpc.Notification():
                message = self._called(frame, "notification", found.method, raw, None)
            case jsonrpc.Response():
                message = self._answered(frame, found, raw)
        strays = [key for key in raw if key not in _MEMBERS[message.kind]]
        message.findings += [
            Finding("ignored", pointer((None, key)), f"no member of a {message.kind}") for key in strays
        ]
        message.findings += repeated(frame.data)
        return message

    # Calls and notifications

    def _called(self, frame: Frame, its_kind: Kind, name: str, raw: dict[str, Any], identity: Any) -> Message:
        reading = self._read_params(frame.direction, its_kind, name, raw)
        spec = reading.spec
        if frame.direction is not None and spec is not None and len(self.profile.specs(its_kind, name)) == 1:
            self._sides.setdefault(frame.direction, spec.side)
        message = Message(
            line=frame.line, direction=frame.direction, kind=its_kind, method=name, findings=reading.findings,
            tree=reading.tree, side=spec.side if spec else None, type=_type_name(reading, spec),
        )  # fmt: skip
        if its_kind == "request":
            message.id = identity
            message.findings += self._wait(_Call(frame.line, frame.direction, identity, name, spec))
        if name == "initialize":
            self._spoken = _version(raw.get("params"), self._spoken)
        return message

    def _read_params(self, direction: str | None, its_kind: Kind, name: str, raw: dict[str, Any]) -> _Reading:
        params = raw.get("params")
        specs = self.profile.specs(its_kind, name)
        if not specs:
            return _Reading(plain(params, (None, "params")) if "params" in raw else None, self._unheard(its_kind, name))
        likely = self._sides.get(direction or "")
        specs.sort(key=lambda spec: spec.side != likely)
        return _first([_Reading(*_value(params, spec.params, "params"), spec) for spec in specs])

    def _unheard(self, its_kind: Kind, name: str) -> list[Finding]:
        """What to say about a method that the profile does not have."""
        if is_extension(name):
            return [Finding("extension", "/method", f"{name!r} is a method of somebody's own")]
        close = self.profile.close_method(name)
        return [Finding("unknown", "/method", f"no {its_kind} {name!r} in {self.profile.name}{close}")]

    def _wait(self, call: _Call) -> list[Finding]:
        waiting = self._waiting.setdefault((type(call.id), call.id), [])
        same = [one for one in waiting if _same_sender(one, call)]
        waiting.append(call)
        if not same:
            return []
        waiting.remove(same[0])
        reason = f"{call.id!r} is the id of the call on line {same[0].line} already, which has no answer yet"
        return [Finding("invalid", "/id", reason)]

    # Answers

    def _answered(self, frame: Frame, found: jsonrpc.Response, raw: dict[str, Any]) -> Message:
        is_error = found.error is not None
        message = Message(
            line=frame.line, direction=frame.direction, kind="error" if is_error else "response", id=found.id
        )
        if (found.result is None) == (not is_error):
            what = "both a result and an error" if is_error else "neither a result nor an error"
            message.findings = [Finding("invalid", "", f"an answer with {what}")]
        waiting = self._waiting.get((type(found.id), found.id), [])
        calls = [call for call in waiting if _may_answer(frame.direction, call.direction)]
        part = "error" if is_error else "result"
        value = raw.get(part)
        readings = [_Reading(*self._read_answer(value, part, call.spec), call.spec, call) for call in calls]
        if not readings:
            nobody = Finding("unmatched", "/id", f"answers no call that was seen: {found.id!r}")
            message.findings.append(nobody)
            readings = [_Reading(*self._read_answer(value, part, None))]
        reading = _first(readings)
        message.findings += reading.findings
        message.tree = reading.tree
        message.type = _type_name(reading, reading.spec if part == "result" else None)
        if reading.call is not None:
            call = reading.call
            waiting.remove(call)
            message.answers, message.method = call.line, call.method
            message.side = call.spec.side if call.spec else None
            if call.method == "initialize" and not is_error:
                self._spoken = _version(value, self._spoken)
        return message

    def _failed(self, message: Message, identity: int | str | None) -> None:
        """Note which call a message was to answer that is none."""
        message.id = identity
        waiting = self._waiting.get((type(identity), identity), [])
        call = next((one for one in waiting if _may_answer(message.direction, one.direction)), None)
        if call is not None:
            waiting.remove(call)
            message.answers, message.method = call.line, call.method

    def _read_answer(self, value: Any, part: str, spec: MethodSpec | None) -> tuple[Item | None, list[Finding]]:
        if part == "error":
            form = getattr(self.profile.module, "Error", None)
        else:
            form = spec.result if spec is not None else None
        return _value(value, form, part) if form is not None else (plain(value, (None, part)), [])


def bare(frame: Frame, form: Any, name: str) -> Message:
    """A frame as a value of a type, without an envelope."""
    message = Message(line=frame.line, direction=frame.direction, kind="value", type=name)
    try:
        if frame.size is not None:
            raise DecodeError("", f"{frame.size} bytes, which is too long to be read")
        raw = _parse(frame.data)
        frame.data.decode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError, DecodeError) as error:
        reason = error.reason if isinstance(error, DecodeError) else f"not a JSON text: {error}"
        message.kind, message.valid, message.findings = "malformed", False, [Finding("invalid", "", reason)]
        message.tree = _up_to_error(frame.data, reason)
        return message
    message.tree, message.findings = explained(raw, form)
    message.findings += repeated(frame.data)
    message.valid = not any(finding.mark == "invalid" for finding in message.findings)
    return message


def _malformed(frame: Frame, found: jsonrpc.Malformed | None) -> Message:
    """What is no message: noise, unless it looks as if it was to be one."""
    message = Message(line=frame.line, direction=frame.direction, kind="malformed")
    if found is None:
        reason = f"{frame.size} bytes, which is too long to be read"
    elif _is_noise(frame.data):
        message.kind, reason = "noise", ""
        message.tree = _text(frame.data[:SHOWN])
    else:
        reason = found.reason
        message.tree = _up_to_error(frame.data, reason)
    message.findings = [Finding("invalid", "", reason)] if reason else []
    return message


def _text(data: bytes) -> Item:
    return Item("", None, None, "text", value=data.decode("utf-8", "replace"))


def _up_to_error(data: bytes, reason: str) -> Item | None:
    """The text before the place where it is no JSON any more, of which the parser says the byte."""
    place = _BYTE.search(reason)
    if place is None and "truncated" not in reason:
        return None
    end = int(place[1]) + 1 if place else len(data)
    return _text(data[max(0, end - SHOWN) : end])


def _is_noise(data: bytes) -> bool:
    if b'"jsonrpc"' in data:
        return False
    try:
        value = _parse(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return not data.startswith(b"{")
    return not isinstance(value, dict) or not value.keys() & {"method", "result", "error"}


def _value(raw: Any, form: Any, part: str) -> tuple[Item, list[Finding]]:
    """Params or a result; null, or nothing, stands for an empty object there, but not in the place of an error."""
    path: Path = (None, part)
    return explained({} if raw is None and part != "error" and form is not Any else raw, form, path)


def _first(readings: list[_Reading]) -> _Reading:
    """The first that fits, else the first."""
    return next((one for one in readings if one.fits), readings[0])


def _may_answer(answer: str | None, call: str | None) -> bool:
    if answer is None or call is None:
        return True
    # Of directions that nobody knows, all that can be said is that an answer goes the other way.
    return OPPOSITE.get(call) == answer if call in OPPOSITE else call != answer


def _same_sender(one: _Call, other: _Call) -> bool:
    if one.direction is not None and other.direction is not None:
        return one.direction == other.direction
    return one.spec is not None and other.spec is not None and one.spec.side == other.spec.side


def _type_name(reading: _Reading, spec: MethodSpec | None) -> str | None:
    """The class that something was read as; where it could not be told, the JSON kind."""
    if reading.tree is None or spec is None:
        return None
    return reading.tree.type


def _version(value: Any, known: int | None) -> int | None:
    said = value.get("protocolVersion") if isinstance(value, dict) else None
    return said if kind(said) == "integer" else known

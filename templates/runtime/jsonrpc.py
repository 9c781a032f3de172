"""JSON-RPC 2.0 without I/O: frames in, messages out; messages in, frames out.

A frame is one message's bytes, without line ends. `read` never raises: what is no message comes out as `Malformed`,
with the answer that it draws, if any. Params and results stay as raw JSON, so that the typed decoder reads the bytes
themselves and a proxy can pass them on untouched.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from .codec import encode

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
UNSUPPORTED_VERSION = -32022

CANCEL = "$/cancel_request"
PEEK = 4096
"""Bytes at either end of a frame that cannot be read, among which its id is looked for."""

Id: TypeAlias = int | str | None
# What msgspec decodes without copying.
RawJson: TypeAlias = msgspec.Raw | bytes
EMPTY = b"{}"


class Request(msgspec.Struct, frozen=True, gc=False):
    """A call that wants an answer. `params` is raw JSON, an empty object where there was none."""

    id: Id
    method: str
    params: RawJson
    raw: bytes


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A message that gets no answer."""

    method: str
    params: RawJson
    raw: bytes


class Response(msgspec.Struct, frozen=True, gc=False):
    """An answer: `result` as raw JSON, or `error`; both None or both set means that the peer broke the rules."""

    id: Id
    result: RawJson | None
    error: Error | None
    raw: bytes


class Error(msgspec.Struct, kw_only=True):
    """The error member of a response."""

    code: int
    message: str
    data: Any = None


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """A frame that is no message.

    `reply` is the frame to answer with, None where there is none to give; `answers` is the id of the call that the
    frame was to answer, where that much can be told.
    """

    reason: str
    reply: bytes | None
    raw: bytes
    answers: Id | UnsetType = UNSET


Message: TypeAlias = Request | Notification | Response | Malformed

_NOTHING = msgspec.Raw(b"")


class _Envelope(msgspec.Struct, gc=False):
    """A message as it should be: what does not fit is looked at again, member by member."""

    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


class _Loose(msgspec.Struct, gc=False):
    """Any JSON object."""

    jsonrpc: msgspec.Raw = _NOTHING
    id: msgspec.Raw = _NOTHING
    method: msgspec.Raw = _NOTHING
    params: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


METHODS_KEPT = 256
"""Names of methods whose JSON is kept."""
_methods: dict[str, bytes] = {}
_read_envelope = msgspec.json.Decoder(_Envelope).decode
_read_loose = msgspec.json.Decoder(_Loose).decode
_read_error = msgspec.json.Decoder(Error).decode
_parse = msgspec.json.Decoder().decode
_write_text = msgspec.json.Encoder().encode


def read(frame: bytes, null_ids: bool = False) -> Message:
    """One frame as a message. `null_ids` allows requests whose id is null, as v1 does."""
    try:
        envelope = _read_envelope(frame)
        if not frame.isascii():
            frame.decode()
    except msgspec.ValidationError:
        return _read_odd(frame)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return _unreadable(frame, error)
    method, identity = envelope.method, envelope.id
    if method is UNSET:
        return _read_response(envelope, frame)
    params: RawJson = EMPTY if envelope.params is _NOTHING else null_as_empty(envelope.params)
    if identity is UNSET:
        return Notification(method, params, frame)
    if identity is None and not null_ids:
        return _invalid("an id that is null", None, frame)
    return Request(identity, method, params, frame)


def _is_null(raw: RawJson) -> bool:
    return memoryview(raw).nbytes == 4 and bytes(raw) == b"null"


def null_as_empty(raw: RawJson) -> RawJson:
    """null stands for an empty object where an object is due: absent params, a result without properties."""
    return EMPTY if _is_null(raw) else raw


def _invalid(reason: str, identity: Id, frame: bytes) -> Malformed:
    return Malformed(reason, failure(identity, INVALID_REQUEST, reason), frame)


def _read_response(envelope: _Envelope, frame: bytes) -> Message:
    """A response is never answered, however malformed it is; what is neither is an invalid request."""
    has_result, has_error = envelope.result is not _NOTHING, envelope.error is not _NOTHING
    identity = envelope.id
    if not has_result and not has_error and (identity is UNSET or envelope.params is not _NOTHING):
        return _invalid("neither a method nor an answer", None if identity is UNSET else identity, frame)
    if identity is UNSET:
        return Malformed("an answer without an id", None, frame)
    error = None
    if has_error and not (has_result and _is_null(envelope.error)):
        try:
            error = _read_error(envelope.error)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
            error = Error(code=INTERNAL_ERROR, message=f"a malformed error: {problem}")
    # Some peers write the member that does not apply as null.
    result = envelope.result if has_result and not (error and _is_null(envelope.result)) else None
    return Response(identity, result, error, frame)


def _read_odd(frame: bytes) -> Message:
    """A JSON text that is no message as it should be."""
    try:
        loose = _read_loose(frame)
        identity, method, version = _value(loose.id), _value(loose.method), _value(loose.jsonrpc)
    except msgspec.ValidationError:
        return _invalid("expected one JSON object", None, frame)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return _unreadable(frame, error)
    answered = loose.result is not _NOTHING or loose.error is not _NOTHING
    known = identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None
    if loose.method is _NOTHING and (answered or (loose.id is not _NOTHING and loose.params is _NOTHING)):
        return _read_odd_response(loose, identity, version, frame)
    if version != "2.0":
        return _invalid('jsonrpc is not "2.0"', known, frame)
    if not isinstance(method, str):
        return _invalid("no method that is a string", known, frame)
    return _invalid("an id that is no integer or string", None, frame)


def _read_odd_response(loose: _Loose, identity: Any, version: Any, frame: bytes) -> Message:
    if isinstance(identity, float) and identity.is_integer():
        # 1.0 is how some languages write the integer 1.
        identity = int(identity)
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        return Malformed("an answer with an id that is no integer or string", None, frame)
    if version == "2.0":
        envelope = _Envelope("2.0", identity, UNSET, loose.params, loose.result, loose.error)
        return _read_response(envelope, frame)
    # A log line that happens to be an object with an id must not end a call; an answer by its looks does.
    error = _value(loose.error)
    if loose.result is not _NOTHING or (isinstance(error, dict) and "code" in error):
        return Malformed('an answer whose jsonrpc is not "2.0"', None, frame, identity)
    return Malformed("an object that is no message", None, frame)


def _value(raw: msgspec.Raw) -> Any:
    return None if raw is _NOTHING else _parse(raw)


# Frames that cannot be read

_SCALAR = rb'(?:"(?:[^"\\]|\\.)*"|-?\d+|null)'
_MEMBER = rb'"(?:jsonrpc|id|method)"\s*:\s*' + _SCALAR
_HEAD = re.compile(rb"\s*\{\s*((?:" + _MEMBER + rb'\s*,\s*)*)(?:"(params|result|error)")?')
_TAIL = re.compile(rb"((?:,\s*" + _MEMBER + rb"\s*)+)\}\s*\Z")


def peek(head: bytes, tail: bytes) -> tuple[Literal["request", "notification", "response"] | None, Id]:
    """What a frame was to be, and its id, from its first and last bytes: the members before and after the large one."""
    start, end = _HEAD.match(head), _TAIL.search(tail)
    before = start[1].strip().rstrip(b",") if start else b""
    after = end[1].lstrip(b",") if end else b""
    try:
        members = _parse(b"{" + b",".join(part for part in (before, after) if part) + b"}")
    except (msgspec.MsgspecError, UnicodeError):
        return None, None
    identity = members.get("id")
    if "method" in members:
        return ("request" if "id" in members else "notification"), identity
    return ("response" if start and start[2] in (b"result", b"error") else None), identity


def _unreadable(frame: bytes, error: Exception) -> Malformed:
    kind, identity = peek(frame[:PEEK], frame[-PEEK:])
    if kind == "response":
        return Malformed(f"an answer that is no JSON text: {error}", None, frame, identity)
    return Malformed(f"not a JSON text: {error}", failure(None, PARSE_ERROR, "not a JSON text"), frame)


def oversized(size: int, limit: int, head: bytes, tail: bytes) -> Malformed:
    """What to make of a frame over the limit, of which only both ends were kept."""
    kind, identity = peek(head, tail)
    reason = f"a message of {size} bytes is over the limit of {limit}"
    if kind == "response":
        return Malformed(reason, None, head, identity)
    return Malformed(reason, failure(identity, INVALID_REQUEST, reason) if kind == "request" else None, head)


# Writing


def body(value: Any) -> bytes:
    """Params or a result as JSON, None as the empty object; bytes are JSON already. Raises EncodeError."""
    if value is None:
        return EMPTY
    return bytes(value) if value.__class__ is msgspec.Raw or value.__class__ is bytes else encode(value)


def _id(identity: Id) -> bytes:
    return b"%d" % identity if type(identity) is int else _write_text(identity)


def _method(name: str) -> bytes:
    known = _methods.get(name)
    if known is None:
        known = _write_text(name)
        if len(_methods) < METHODS_KEPT:
            _methods[name] = known
    return known


def request(identity: Id, method: str, params: bytes) -> bytes:
    """The frame of a call. `params` is JSON, as `body` makes it."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (_id(identity), _method(method), params)


def notification(method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (_method(method), params)


def success(identity: Id, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_id(identity), result)


def failure(identity: Id, code: int, message: str, data: Any = None) -> bytes:
    """The frame of an error. Raises EncodeError for data that is no JSON value."""
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_id(identity), encode(error))

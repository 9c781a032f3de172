"""JSON-RPC 2.0 without I/O: frames in, messages out; messages in, frames out.

A frame is one message's bytes, without line ends. `read` never raises: what is no message comes out as `Malformed`, with the
answer that it draws, if any. Params and results stay as raw JSON, so that the typed decoder reads the bytes themselves and
a proxy can pass them on untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
UNSUPPORTED_VERSION = -32022

CANCEL = "$/cancel_request"

Id: TypeAlias = int | str | None
# What msgspec decodes without copying.
RawJson: TypeAlias = msgspec.Raw | bytes
EMPTY = b"{}"
VERSION = b'"2.0"'


@dataclass(frozen=True, slots=True)
class Request:
    """A call that wants an answer. `params` is raw JSON, an empty object where there was none."""

    id: Id
    method: str
    params: RawJson
    raw: bytes


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that gets no answer."""

    method: str
    params: RawJson
    raw: bytes


@dataclass(frozen=True, slots=True)
class Response:
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


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that is no message. `reply` is the frame to answer with, None where there is none to give."""

    reason: str
    reply: bytes | None
    raw: bytes


Message: TypeAlias = Request | Notification | Response | Malformed


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw(b"")
    id: msgspec.Raw = msgspec.Raw(b"")
    method: msgspec.Raw = msgspec.Raw(b"")
    params: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


_envelope = msgspec.json.Decoder(_Envelope)
_id = msgspec.json.Decoder(int | str | None)
_float = msgspec.json.Decoder(float)
_text = msgspec.json.Decoder(str)
_error = msgspec.json.Decoder(Error)
_encode = msgspec.json.Encoder().encode


def read(frame: bytes, null_ids: bool = False) -> Message:
    """One frame as a message. `null_ids` allows requests whose id is null, as v1 does."""
    try:
        envelope = _envelope.decode(frame)
    except msgspec.ValidationError:
        return Malformed("not a JSON object", failure(None, INVALID_REQUEST, "expected one JSON object"), frame)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Malformed(f"not JSON: {error}", failure(None, PARSE_ERROR, "not a JSON text"), frame)
    if not _size(envelope.method):
        return _read_response(envelope, frame)
    method = _read_text(envelope.method)
    if method is None or not _is(envelope.jsonrpc, VERSION):
        reason = "no method that is a string" if method is None else 'jsonrpc is not "2.0"'
        return Malformed(reason, failure(_known_id(envelope.id), INVALID_REQUEST, reason), frame)
    params = null_as_empty(envelope.params)
    if not _size(envelope.id):
        return Notification(method, params, frame)
    identity = _known_id(envelope.id)
    if identity is None and not (null_ids and _is(envelope.id, b"null")):
        reason = "an id that is no integer or string"
        return Malformed(reason, failure(None, INVALID_REQUEST, reason), frame)
    return Request(identity, method, params, frame)


def _size(raw: RawJson) -> int:
    return memoryview(raw).nbytes


def _is(raw: RawJson, text: bytes) -> bool:
    return _size(raw) == len(text) and bytes(raw) == text


def _read_text(raw: msgspec.Raw) -> str | None:
    try:
        return _text.decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def null_as_empty(raw: RawJson) -> RawJson:
    """null stands for an empty object where an object is due: absent params, a result without properties."""
    return EMPTY if not _size(raw) or _is(raw, b"null") else raw


def _known_id(raw: msgspec.Raw) -> Id:
    try:
        identity: Id = _id.decode(raw)
        return identity
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _read_response(envelope: _Envelope, frame: bytes) -> Message:
    """A response is never answered, however malformed it is; what is neither is an invalid request."""
    has_result, has_error = _size(envelope.result) > 0, _size(envelope.error) > 0
    if not _size(envelope.id) and not has_result and not has_error:
        reason = "neither a method nor an answer"
        return Malformed(reason, failure(None, INVALID_REQUEST, reason), frame)
    if not _is(envelope.jsonrpc, VERSION):
        # A log line that happens to be an object with an id must not end a call.
        return Malformed('an answer whose jsonrpc is not "2.0"', None, frame)
    identity = _known_id(envelope.id)
    if identity is None and _size(envelope.id) and not _is(envelope.id, b"null"):
        identity = _whole(envelope.id)
        if identity is None:
            return Malformed("a response with an id that is no integer or string", None, frame)
    error = None
    if has_error and not (has_result and _is(envelope.error, b"null")):
        try:
            error = _error.decode(envelope.error)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
            error = Error(code=INTERNAL_ERROR, message=f"a malformed error: {problem}")
    result = envelope.result if has_result and not (error and _is(envelope.result, b"null")) else None
    return Response(identity, result, error, frame)


def _whole(raw: msgspec.Raw) -> int | None:
    """1.0 is how some languages write the integer 1."""
    try:
        number = _float.decode(raw)
    except msgspec.MsgspecError:
        return None
    return int(number) if number.is_integer() else None


def request(identity: Id, method: str, params: Any) -> bytes:
    """The frame of a call. `params` is a model, a JSON object, or raw JSON."""
    return _encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


def notification(method: str, params: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def success(identity: Id, result: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": identity, "result": result})


def failure(identity: Id, code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return _encode({"jsonrpc": "2.0", "id": identity, "error": error})

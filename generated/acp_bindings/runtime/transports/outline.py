"""What a transport has to know of a frame that it carries, without reading the rest: who it belongs to."""

from __future__ import annotations

import msgspec

from .. import jsonrpc


class Outline(msgspec.Struct, frozen=True, gc=False):
    """A frame's outline. `id` is its raw JSON, empty where there is none; `method` is empty in an answer.

    `session` is the session that its params name, or that its result has brought; empty where there is none.
    """

    id: bytes
    method: str
    session: str
    failed: bool

    @property
    def identity(self) -> jsonrpc.Id:
        """The id, decoded; None where there is none."""
        return read_id(self.id)

    @property
    def is_request(self) -> bool:
        return bool(self.method and self.id)

    @property
    def is_answer(self) -> bool:
        return bool(self.id and not self.method)


class _Frame(msgspec.Struct, gc=False):
    id: msgspec.Raw = msgspec.Raw(b"")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Scope(msgspec.Struct, gc=False):
    sessionId: str = ""  # noqa: N815 as it stands on the wire


class _Update(msgspec.Struct, gc=False):
    update: _Scope


class _Cancel(msgspec.Struct, gc=False):
    requestId: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815 as it stands on the wire


NOTHING = Outline(b"", "", "", False)
_read_frame = msgspec.json.Decoder(_Frame).decode
_read_scope = msgspec.json.Decoder(_Scope).decode
_read_update = msgspec.json.Decoder(_Update).decode
_read_cancel = msgspec.json.Decoder(_Cancel).decode
_read_id = msgspec.json.Decoder(jsonrpc.Id).decode
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)


def outline(frame: bytes) -> Outline:
    """A frame's outline; an empty one where it cannot be read. Never raises."""
    try:
        read = _read_frame(frame)
    except _UNREADABLE:
        return NOTHING
    failed = bytes(read.error) not in (b"", b"null")
    return Outline(bytes(read.id), read.method, session_of(read.params if read.method else read.result), failed)


def session_of(body: jsonrpc.RawJson) -> str:
    """The session that params name, or a result; empty where they name none: it belongs to the connection then."""
    try:
        return _read_scope(body).sessionId
    except _UNREADABLE:
        # No object, or an id that is no string: whoever decodes the message will say so.
        return ""


def subagent(frame: bytes) -> str:
    """The session of the subagent that an update of another session tells of; empty where it tells of none."""
    if b'"subagent_update"' not in frame:
        return ""
    try:
        return _read_update(_read_frame(frame).params).update.sessionId
    except _UNREADABLE:
        return ""


def read_id(raw: bytes) -> jsonrpc.Id:
    """A raw id, decoded; None for one that is none."""
    try:
        return _read_id(raw)
    except _UNREADABLE:
        return None


def given_up(frame: bytes) -> bytes:
    """The raw id of the request that a `$/cancel_request` is about; empty where it names none."""
    try:
        return bytes(_read_cancel(_read_frame(frame).params).requestId)
    except _UNREADABLE:
        return b""

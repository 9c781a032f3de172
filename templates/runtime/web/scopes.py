"""Which stream a message belongs to: a session's, or the connection's (None)."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from .. import jsonrpc

Scope = str | None


class Outgoing(msgspec.Struct, gc=False):
    """As much of a frame as its way out depends on."""

    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: msgspec.Raw = msgspec.Raw(jsonrpc.EMPTY)


class _Params(msgspec.Struct, gc=False):
    sessionId: Any = None  # noqa: N815 - as it is on the wire
    requestId: Any = None  # noqa: N815


_read_outgoing = msgspec.json.Decoder(Outgoing).decode
_read_params = msgspec.json.Decoder(_Params).decode


def read_outgoing(frame: bytes) -> Outgoing:
    """A frame that our side writes; one that cannot be read belongs to the connection."""
    try:
        return _read_outgoing(frame)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return Outgoing()


def _params(params: jsonrpc.RawJson) -> _Params:
    try:
        return _read_params(params)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _Params()


def session_of(params: jsonrpc.RawJson) -> Scope:
    """The session that params name."""
    session = _params(params).sessionId
    return session if isinstance(session, str) else None


def cancelled_by(params: jsonrpc.RawJson) -> jsonrpc.Id:
    """The request that a `$/cancel_request` is about; None where it names none."""
    identity = _params(params).requestId
    return identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None

"""The models of a profile, found by their names on the wire: what sessions are told and tell, in either version."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .. import jsonrpc
from ..codec import convert, encode
from ..errors import DecodeError, EncodeError, RequestError
from ..models import UnknownVariant

if TYPE_CHECKING:
    from ..routing import Handler

log = logging.getLogger("acp_bindings")


class Words:
    """What an agent of one profile says."""

    def __init__(self, agent: Handler) -> None:
        self.version = agent._opening.version
        self.methods = agent._methods
        self.update_form = self.methods["client", "notification", "session/update"].params
        self.ask_form = self.methods["client", "request", "session/request_permission"].params
        self._chunks: dict[str, Any] = {}
        self._text: Any = None

    def params(self, method: str) -> Any:
        return self.methods["agent", "request", method].params

    def result(self, method: str) -> Any:
        return self.methods["agent", "request", method].result

    def update(self, kind: str, **members: Any) -> Any:
        """An update, from its members as they are on the wire. Raises DecodeError."""
        wire = {"sessionId": "", "update": {"sessionUpdate": kind, **members}}
        found: Any = convert(wire, self.update_form)
        return found.update

    def idle(self, reason: str, error: BaseException | None = None, session_id: str = "") -> Any:
        """The update that ends a turn. Raises ValueError for a stop reason that is nobody's."""
        if error is None:
            found = self.update("state_update", state="idle", stopReason=reason)
            if isinstance(found, UnknownVariant) and not found.is_extension:
                raise ValueError(f"{reason!r} is no stop reason, and only a leading underscore makes one of one's own")
            return found
        if isinstance(error, RequestError):
            told = {"code": error.code, "message": error.message}
            told |= {"data": error.data} if error.data is not None else {}
            with contextlib.suppress(DecodeError, EncodeError):
                found = self.update("state_update", state="idle", stopReason=reason, error=told)
                encode(found)
                return found
        # What nobody meant to raise is not told.
        log.error("session %s: the turn failed", session_id, exc_info=error)
        told = {"code": jsonrpc.INTERNAL_ERROR, "message": "internal error"}
        return self.update("state_update", state="idle", stopReason=reason, error=told)

    def text(self, text: str) -> Any:
        """A text block."""
        if self._text is None:
            self._text = type(self._example("agent_message_chunk").content)
        return self._text(text=text)

    def chunk(self, kind: str, message_id: str, block: Any) -> Any:
        """A content block that is appended to a message."""
        form = self._chunks.get(kind)
        if form is None:
            form = self._chunks[kind] = type(self._example(kind))
        return form(message_id=message_id, content=block)

    def _example(self, kind: str) -> Any:
        return self.update(kind, messageId="m", content={"type": "text", "text": ""})


def new_id() -> str:
    """An id that nobody else gives."""
    return uuid4().hex

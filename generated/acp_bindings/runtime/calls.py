"""The calls that we made and that wait for their answers."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from . import jsonrpc
from .errors import AcpError, ConnectionClosed, DecodeError, ProtocolError, RequestError
from .foreign import decode_any

GIVEN_UP = 1024
"""Calls that were given up and whose late answers are dropped without a word."""
Then = Callable[[jsonrpc.Response], None]
log = logging.getLogger("acp_bindings")


class Call:
    """A call that waits. The answer to one made `inside` a handler does not wait for its turn.

    `holds` means that reading pauses after the answer, until the caller has decided what it means for what follows.
    `then` is called with the answer when its turn has come.
    """

    __slots__ = ("answered", "future", "holds", "id", "inside", "method", "then")

    def __init__(
        self,
        identity: int,
        method: str,
        inside: bool,
        holds: bool,
        then: Then | None,
        future: asyncio.Future[Any],
    ) -> None:
        self.id = identity
        self.method = method
        self.inside = inside
        self.holds = holds
        self.then = then
        # Its answer has come, but may have to wait for its turn.
        self.answered = False
        self.future: asyncio.Future[jsonrpc.Response] = future

    def settle(self, answer: jsonrpc.Response) -> None:
        if not self.future.done():
            self.future.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            # Nobody may be waiting any more.
            self.future.exception()


class Calls:
    """Calls by id. Only integers are ever given out, and an answer's id is matched by type and value."""

    def __init__(self) -> None:
        self._waiting: dict[int, Call] = {}
        self._given_up: deque[int] = deque(maxlen=GIVEN_UP)
        self._last = 0
        self.inside = 0
        # Asking for it each time takes a system call in some versions of Python.
        self._loop = asyncio.get_running_loop()

    def next_id(self) -> int:
        self._last += 1
        return self._last

    def add(
        self,
        identity: int,
        method: str,
        inside: bool,
        holds: bool,
        then: Then | None = None,
    ) -> Call:
        future = self._loop.create_future()
        call = self._waiting[identity] = Call(identity, method, inside, holds, then, future)
        if inside:
            self.inside += 1
        return call

    def remove(self, call: Call) -> None:
        """The caller waits no longer."""
        if call.inside:
            self.inside -= 1
        self._waiting.pop(call.id, None)

    def give_up(self, call: Call) -> None:
        self._given_up.append(call.id)

    def find(self, message: jsonrpc.Response | jsonrpc.Malformed, identity: Any) -> Call | None:
        """The call that a message answers; each is answered once."""
        if type(identity) is int:
            call = self._waiting.get(identity)
            if call is not None and not call.answered:
                call.answered = True
                return call
            if identity in self._given_up:
                self._given_up.remove(identity)
                return None
        log.warning("dropped an answer to no call of ours, id %r: %.500r", identity, message.raw[:500])
        return None

    def undelivered(self, identity: jsonrpc.Id, error: AcpError) -> None:
        """One call gets no answer, since the other side did not take it."""
        if type(identity) is not int:
            return
        call = self._waiting.get(identity)
        if call is not None and not call.answered:
            call.answered = True
            call.fail(error)
        elif identity in self._given_up:
            self._given_up.remove(identity)

    def fail(self, error: ConnectionClosed, *, inside: bool = False, answered: bool = False) -> None:
        """Nothing more will come: fail those without an answer, only `inside` ones, or all that wait (`answered`)."""
        for call in list(self._waiting.values()):
            if (answered or not call.answered) and (call.inside or not inside):
                # An error of its own for each caller, since a traceback is added to it.
                call.fail(error.again())


def read_result(message: jsonrpc.Response, method: str, result: Any) -> Any:
    """The result of an answer, decoded. Raises RequestError and ProtocolError."""
    if message.error is not None:
        if message.result is not None:
            raise ProtocolError(f"the answer to {method} has both a result and an error")
        raise RequestError(message.error.code, message.error.message, message.error.data)
    if message.result is None:
        raise ProtocolError(f"the answer to {method} has neither a result nor an error")
    if result is msgspec.Raw:
        return message.result
    try:
        return decode_any(message.result if result is Any else jsonrpc.null_as_empty(message.result), result)
    except DecodeError as error:
        raise ProtocolError(f"the answer to {method} does not decode: {error}") from error

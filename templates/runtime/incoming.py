"""What a connection receives, handed on to whoever it is for: handlers, and the calls that wait for an answer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, cast

from msgspec import UNSET

from . import jsonrpc
from .calls import Call, Calls
from .context import Context, current, is_stray_cancellation
from .errors import ConnectionClosed, DecodeError, ProtocolError
from .flow import HOLD, Flow
from .foreign import decode_any
from .ordering import Ordered
from .routing import Route
from .serving import Serving
from .transports.lines import Oversized

if TYPE_CHECKING:
    from .connection import Connection

log = logging.getLogger("acp_bindings")


class Incoming:
    """Takes frames from the transport, by way of `flow`; what has an order goes through `ordered`."""

    def __init__(self, connection: Connection, calls: Calls, serving: Serving, max_queued: int) -> None:
        self.flow = Flow(connection.transport, self._take)
        self.ordered = Ordered(max_queued, lambda: self.flow.pause("queue"), lambda: self.flow.resume("queue"))
        self._connection = connection
        self._calls = calls
        self._serving = serving

    def _take(self, frame: bytes | Oversized) -> None:
        if isinstance(frame, Oversized):
            log.error("dropped a message of %d bytes, over the limit of %d", frame.size, frame.limit)
            self._refuse(jsonrpc.oversized(frame.size, frame.limit, frame.head, frame.tail))
            return
        connection = self._connection
        if connection.observer is not None:
            connection.observe("in", frame)
        message = jsonrpc.read(frame, connection.null_ids)
        kind = message.__class__
        if kind is jsonrpc.Notification:
            self._take_notification(cast(jsonrpc.Notification, message))
        elif kind is jsonrpc.Response:
            self._take_response(cast(jsonrpc.Response, message))
        elif kind is jsonrpc.Request:
            reply = self._serving.start(cast(jsonrpc.Request, message), connection.before or connection.find)
            if reply is not None:
                self._reply(reply)
        else:
            malformed = cast(jsonrpc.Malformed, message)
            log.warning("received a frame that is no message (%s): %.200r", malformed.reason, malformed.raw[:200])
            self._refuse(malformed)

    def _take_notification(self, message: jsonrpc.Notification) -> None:
        route = self._connection.routes.get(("notification", message.method))
        if route is not None:
            self.ordered.put(self._notice, message, route, len(message.raw))
        elif message.method == jsonrpc.CANCEL:
            self._serving.cancel(message)
        else:
            log.debug("ignored the notification %s", message.method)

    def _take_response(self, message: jsonrpc.Response) -> None:
        call = self._calls.find(message, message.id)
        if call is None:
            return
        if call.holds:
            self.flow.pause(HOLD)
        if self.ordered.idle:
            _settle(call, message)
        else:
            if call.inside:
                call.settle(message)
            self.ordered.put(_settle, call, message)

    def _refuse(self, message: jsonrpc.Malformed) -> None:
        """Something that cannot be read: the call that it answers fails, what it asks is refused."""
        if message.answers is not UNSET:
            call = self._calls.find(message, message.answers)
            if call is not None:
                call.fail(ProtocolError(f"the answer to {call.method} cannot be read: {message.reason}"))
        elif message.reply is not None and not (self._connection.transport.noisy and b'"jsonrpc"' not in message.raw):
            self._reply(message.reply)

    def _reply(self, frame: bytes) -> None:
        """Answer from within reading: which pauses while nobody takes the answers."""
        with contextlib.suppress(ConnectionClosed):
            if self._connection.write(frame) and not self.flow.is_paused("output"):
                self.flow.pause("output")
                self._connection.spawn(self._wait_for_room())

    async def _wait_for_room(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self._connection.transport.drain()
        self.flow.resume("output")

    async def _notice(self, message: jsonrpc.Notification, route: Route) -> None:
        context = Context(self._connection, message)
        token = current.set(context)
        try:
            await route.call(decode_any(message.params, route.spec.params), context)
        except DecodeError as error:
            log.warning("a %s notification does not decode: %s", message.method, error)
        except asyncio.CancelledError:
            if not is_stray_cancellation():
                raise
            log.warning("the handler of %s was cancelled", message.method)
        except Exception:
            log.exception("the handler of %s failed", message.method)
        finally:
            context.active = False
            current.reset(token)


def _settle(call: Call, answer: jsonrpc.Response) -> None:
    if call.then is not None:
        call.then(answer)
    call.settle(answer)

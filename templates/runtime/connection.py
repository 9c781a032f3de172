"""One JSON-RPC connection over asyncio: both sides call, both answer.

Reading never waits for a request's handler. Notifications are handled one after the other in the order of the wire,
and an answer is delivered after the notifications before it: a turn's last update is seen before its prompt returns.
The one exception is an answer to a call made from inside a handler, which would otherwise wait for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal

from . import jsonrpc
from .calls import Call, Calls, Then, read_result
from .context import Context, current, waits_for_itself
from .errors import AcpError, ConnectionClosed, RequestTimeout
from .gates import Gates
from .incoming import Incoming
from .ordering import MAX_QUEUED
from .routing import Kind, MethodNotFound, Route
from .serving import MAX_IN_FLIGHT, Serving
from .transports import MAX_MESSAGE, MAX_OUTPUT, Transport

__all__ = ["MAX_IN_FLIGHT", "MAX_MESSAGE", "MAX_OUTPUT", "MAX_QUEUED", "Connection", "Context", "Observer"]

LAST_WORDS = 0.5
"""Seconds that handlers have to finish once the other side has gone, and that its last notifications have."""
GRACE = 5.0
"""Seconds that handlers have to end once they were cancelled; one that does not is left behind."""

Observer = Callable[[Literal["in", "out"], bytes], object]
log = logging.getLogger("acp_bindings")


class Connection:
    """A connection over a transport. Use as an async context manager; leaving it closes everything.

    `routes` is what is handled here; `before` may choose a request's route (it decides what may come before
    `initialize`). `observer(direction, frame)` sees every frame. `timeout` is the default for calls, in seconds.
    `gates` is what may be called, both ways; None where nobody is held to what was advertised.
    """

    def __init__(
        self,
        transport: Transport,
        routes: Mapping[tuple[Kind, str], Route],
        *,
        observer: Observer | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
        max_queued: int = MAX_QUEUED,
        timeout: float | None = None,
        strict: bool = False,
    ) -> None:
        self.transport = transport
        self.routes = dict(routes)
        self.remote: Any = None
        self.null_ids = False
        self.timeout = timeout
        self.strict = strict
        self.gates: Gates | None = None
        self.before: Callable[[jsonrpc.Request], Route] | None = None
        self.closed: asyncio.Event = asyncio.Event()
        self.observer = observer
        self._calls = Calls()
        self._serving = Serving(self, max_in_flight)
        incoming = Incoming(self, self._calls, self._serving, max_queued)
        self._flow = incoming.flow
        self.received = self._flow.received
        self._ordered = incoming.ordered
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_end: list[Callable[[ConnectionClosed], None]] = []
        self._lost: ConnectionClosed | None = None
        self._ending = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    # life

    async def __aenter__(self) -> Connection:
        self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def start(self) -> None:
        self.spawn(self._ordered.run())
        self.transport.start(self)

    async def close(self, reason: str = "the connection was closed here") -> None:
        """End the connection: pending calls fail, handlers are cancelled, the transport is closed. Idempotent.

        Takes as long as a transport needs to end the other side.
        """
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(reason, asyncio.current_task()))
        await asyncio.shield(self._closing)

    async def _close(self, reason: str, closer: asyncio.Task[Any] | None) -> None:
        self._lose(ConnectionClosed(reason))
        assert self._lost is not None
        self._calls.fail(self._lost, answered=True)
        tasks = [task for task in (*self._tasks, *self._serving.tasks()) if task is not closer]
        self._serving.stop(closer)
        for task in tasks:
            task.cancel()
        try:
            await self.transport.close()
            if tasks:
                _, stuck = await asyncio.wait(tasks, timeout=GRACE)
                for task in stuck:
                    log.error("a handler did not end when it was cancelled: %r", task)
        finally:
            self._end()

    @property
    def is_lost(self) -> bool:
        """Whether nothing more can come or go."""
        return self._lost is not None

    def is_in_handler(self) -> bool:
        """Whether this very task handles a notification: whoever waits in it for another one waits for ever."""
        return asyncio.current_task() in self._tasks

    def at_end(self, call: Callable[[ConnectionClosed], None]) -> None:
        """Run `call` with the reason once the connection has ended; at once if it has."""
        if self.closed.is_set():
            assert self._lost is not None
            call(self._lost)
        else:
            self._at_end.append(call)

    def _end(self) -> None:
        assert self._lost is not None
        self.closed.set()
        calls, self._at_end = self._at_end, []
        for call in calls:
            call(self._lost)

    async def wait_closed(self) -> None:
        """Wait until the other side has gone, or `close` was called."""
        await self.closed.wait()

    def _lose(self, error: ConnectionClosed) -> None:
        if self._lost is None:
            self._lost = error
            self._ending.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Start work that ends with the connection, at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # calls

    async def request(
        self,
        method: str,
        params: Any,
        result: Any = Any,
        *,
        timeout: float | None = None,
        holds: bool = False,
        then: Then | None = None,
    ) -> Any:
        """Call a method of the other side and wait for its answer, decoded to `result` (`msgspec.Raw`: as it came).

        Cancelling the waiting task, or running out of `timeout` seconds (`math.inf`: no limit), sends
        `$/cancel_request`. Raises RequestError for an error of the peer, ProtocolError for an answer that does not fit,
        RequestTimeout and ConnectionClosed. With `holds` nothing is read after the answer until `release` or the next
        call. `then` is called with the answer when its turn in the order of the wire has come, before the notifications
        after it; it must not raise.
        """
        body = jsonrpc.body(params)
        if self._lost is not None:
            raise self._lost.again()
        limit = self.timeout if timeout is None else timeout
        identity = self._calls.next_id()
        try:
            full = self.write(jsonrpc.request(identity, method, body))
        except ConnectionClosed as error:
            raise await self._why(error) from None
        # What can be done while the other side reads is done after writing.
        call = self._begin(identity, method, holds, then)
        try:
            if limit is None or limit == math.inf:
                if full:
                    await self.transport.drain()
                answer = await call.future
            else:
                answer = await self._within(limit, call, full)
        except TimeoutError:
            self._give_up(call)
            raise RequestTimeout(f"{method} was not answered within {limit} s") from None
        except ConnectionClosed as error:
            raise await self._why(error) from None
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        finally:
            self._calls.remove(call)
            if call.inside:
                self._ordered.free(self._calls.inside > 0)
        return read_result(answer, method, result)

    def _begin(self, identity: int, method: str, holds: bool, then: Then | None) -> Call:
        inside = current.get() is not None and waits_for_itself(self)
        if inside:
            self._ordered.free(True)
        if self._flow.holding:
            self._flow.release()
        return self._calls.add(identity, method, inside, holds, then)

    async def _within(self, limit: float, call: Call, full: bool) -> jsonrpc.Response:
        async with asyncio.timeout(limit):
            if full:
                await self.transport.drain()
            return await call.future

    def _give_up(self, call: Call) -> None:
        """Tell the other side that nobody waits for this answer any more."""
        if call.answered or self._lost is not None:
            return
        self._calls.give_up(call)
        with contextlib.suppress(ConnectionClosed):
            self.write(jsonrpc.notification(jsonrpc.CANCEL, b'{"requestId":%d}' % call.id))

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification; returns when it was handed to the transport. Raises ConnectionClosed."""
        try:
            if self.write(jsonrpc.notification(method, jsonrpc.body(params))):
                await self.transport.drain()
        except ConnectionClosed as error:
            raise await self._why(error) from None

    # writing

    def write(self, frame: bytes) -> bool:
        """Write a frame; whether to wait for the transport's `drain`. Raises ConnectionClosed and ValueError."""
        full = self.transport.write(frame)
        if self.observer is not None:
            self.observe("out", frame)
        return full

    async def _why(self, error: ConnectionClosed) -> ConnectionClosed:
        """The end of what we read tells more than a broken pipe, and comes a moment later."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * LAST_WORDS):
                await self._ending.wait()
        return self._lost.again() if self._lost is not None else error

    def observe(self, direction: Literal["in", "out"], frame: bytes) -> None:
        """Show a frame to the observer, which there has to be."""
        assert self.observer is not None
        try:
            self.observer(direction, frame)
        except Exception:
            log.exception("the observer failed")

    # reading

    def release(self) -> None:
        """Go on reading after the answer to a call that `holds`."""
        self._flow.release()

    def undelivered(self, identity: jsonrpc.Id, error: AcpError) -> None:
        """A call that the other side did not take fails at once."""
        self._calls.undelivered(identity, error)

    def ended(self, error: ConnectionClosed) -> None:
        """The transport will bring nothing more: what came is still handled, and what was asked is still answered."""
        self._lose(error)
        self._calls.fail(error, inside=True)
        # Closing it here, nobody waits for what is left to handle.
        if self._closing is None:
            self.spawn(self._wind_down(error))

    async def _wind_down(self, error: ConnectionClosed) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self.caught_up()
        self._calls.fail(error, answered=True)
        tasks = self._serving.tasks()
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_WORDS)
            self._serving.stop(None)
        self._end()

    async def caught_up(self) -> None:
        """Wait until the notifications that have come are handled, and the answers among them delivered."""
        handled = asyncio.Event()
        self._ordered.put(lambda _, __: handled.set(), None)
        await handled.wait()

    def find(self, message: jsonrpc.Request) -> Route:
        """The code for a request. Raises MethodNotFound."""
        route: Route | None = self.routes.get(("request", message.method))
        if route is None:
            raise MethodNotFound(message.method)
        return route

"""A proxy: two transports joined, so that what one brings goes out at the other.

Frames pass byte for byte with their own ids: each direction's requests are issued by one peer, whose ids are its own
business. Only what the proxy asks itself needs ids that nobody else has. Messages of one direction keep their order,
also while an interceptor is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable
from typing import Any, TypeVar

from . import jsonrpc
from .asking import Asking
from .codec import decode
from .context import is_stray_cancellation
from .errors import AcpError, ConnectionClosed, DecodeError, EncodeError, RequestError
from .flow import Flow
from .passing import SIDES, Answer, Direction, Intercept, Passing, Verdict
from .routing import Side
from .transports import HalfClosing, Transport
from .transports.lines import Oversized

FAREWELL = 5.0
"""Seconds that an agent has to end by itself once its client has gone."""
LAST_WORDS = 0.5
"""The same, to answer what it was asked, where it cannot be told that its client has gone."""
MAX_ASKED = 65536
"""Requests in one direction whose methods are remembered until they are answered."""
T = TypeVar("T")
log = logging.getLogger("acp_bindings")


class Link:
    """The two sides of a proxy. Use as an async context manager; leaving it closes both.

    When one side ends, so does the other: an agent has time to end by itself and to say what it still has to.
    """

    def __init__(
        self, client_side: Transport, agent_side: Transport, intercept: Intercept | None, max_queued: int
    ) -> None:
        self.endings: dict[Side, ConnectionClosed] = {}
        """How each side ended that did so by itself."""
        self._transports: dict[Side, Transport] = {"client": client_side, "agent": agent_side}
        self._ended = {side: asyncio.Event() for side in self._transports}
        to_agent = Way(self, "to_agent", client_side, agent_side, intercept, max_queued)
        to_client = Way(self, "to_client", agent_side, client_side, intercept, max_queued)
        to_agent.back, to_client.back = to_client, to_agent
        self._ways: dict[Side, Way] = {"client": to_agent, "agent": to_client}
        self._asking: dict[Side, Asking] = {side: way.asking for side, way in self._ways.items()}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Link:
        for side in ("agent", "client"):
            self._transports[side].start(self._ways[side])
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def wait_closed(self) -> None:
        """Wait until both sides are closed, because one of them ended or `close` was called."""
        await self._closed.wait()

    async def close(self) -> None:
        """Close both sides. Idempotent."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(asyncio.current_task()))
        await asyncio.shield(self._closing)

    async def _close(self, closer: asyncio.Task[Any] | None) -> None:
        for asking in self._asking.values():
            asking.lose(ConnectionClosed("the proxy was closed"))
        tasks = [task for task in self._tasks if task is not closer]
        for task in tasks:
            task.cancel()
        try:
            await self._transports["agent"].close()
        finally:
            try:
                await self._transports["client"].close()
                if tasks:
                    await asyncio.wait(tasks, timeout=LAST_WORDS)
            finally:
                self._closed.set()

    @property
    def closing(self) -> bool:
        return self._closing is not None

    def spawn(self, work: Awaitable[T]) -> asyncio.Future[T]:
        """Start work that ends with the link, at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # what the proxy says itself

    async def request(
        self, side: Side, method: str, params: Any = None, result: Any = Any, *, timeout: float | None = None
    ) -> Any:
        """Call a method of one side, of which the other learns nothing; the answer is decoded to `result`.

        An interceptor may do so and wait. Cancelling it, or running out of `timeout` seconds, sends
        `$/cancel_request`. Raises RequestError, ProtocolError, RequestTimeout and ConnectionClosed.
        """
        return await self._asking[side].request(method, params, result, timeout)

    async def notify(self, side: Side, method: str, params: Any = None) -> None:
        """Send a notification to one side. Raises ConnectionClosed."""
        await self._asking[side].notify(method, params)

    # the end

    def ended(self, side: Side, error: ConnectionClosed) -> None:
        """A side brings nothing more, and what it brought has passed."""
        if self._closing is None:
            self.endings[side] = error
            self._ended[side].set()
            self.spawn(self._wind_down(side))

    async def _wind_down(self, side: Side) -> None:
        agent = self._transports["agent"]
        if side == "client":
            with contextlib.suppress(TimeoutError):
                if isinstance(agent, HalfClosing):
                    agent.finish()
                    async with asyncio.timeout(FAREWELL):
                        await self._ended["agent"].wait()
                else:
                    async with asyncio.timeout(LAST_WORDS):
                        await self._ways["client"].answered.wait()
        await self.close()


class Way:
    """One direction: the receiver of what a side brings, which goes out at the other."""

    def __init__(
        self,
        link: Link,
        direction: Direction,
        source: Transport,
        target: Transport,
        intercept: Intercept | None,
        max_queued: int,
    ) -> None:
        self.asking = Asking(source, self._balance)
        self.back = self
        """The other direction."""
        self.answered = asyncio.Event()
        self.answered.set()
        self._link = link
        self._direction: Direction = direction
        self._side: Side = "client" if SIDES[direction] == "agent" else "agent"
        self._source = source
        self._target = target
        self._intercept = intercept
        self._max_queued = max_queued
        self._flow = Flow(source, self._take)
        self.received = self._flow.received
        # What was asked and is not answered, by id, with its method.
        self._asked: dict[jsonrpc.Id, str] = {}
        self._queue: deque[jsonrpc.Message] = deque()
        self._size = 0
        # What the interceptor is busy with, and its work.
        self._judging: tuple[jsonrpc.Message, asyncio.Future[Verdict]] | None = None
        self._over: ConnectionClosed | None = None

    def undelivered(self, identity: jsonrpc.Id, error: AcpError) -> None:
        """A request that this side did not take: who made it, at the other side or here, gets an error."""
        answer = jsonrpc.failure(identity, jsonrpc.INTERNAL_ERROR, f"the request was not delivered: {error}")
        self._take(answer)

    def ended(self, error: ConnectionClosed) -> None:
        # At once: an interceptor may be waiting for an answer, and the end for the interceptor.
        self.asking.lose(error)
        self._over = error
        self._settle()

    def _settle(self) -> None:
        if self._over is not None and self._judging is None and not self._queue:
            self._link.ended(self._side, self._over)

    def _balance(self) -> None:
        """Stop reading while too much waits, unless among it may be what the proxy itself waits for."""
        if self._size > self._max_queued and not self.asking.waits:
            self._flow.pause("queue")
        else:
            self._flow.resume("queue")

    # messages

    def _take(self, frame: bytes | Oversized) -> None:
        if self._link.closing:
            return
        if isinstance(frame, Oversized):
            log.error("dropped a message of %d bytes, over the limit of %d", frame.size, frame.limit)
            self._unfit(jsonrpc.oversized(frame.size, frame.limit, frame.head, frame.tail))
            return
        message = jsonrpc.read(frame, null_ids=True)
        if self.asking.take(message) or self._gives_up(message):
            return
        if self._judging is None:
            self._judge(message)
        else:
            self._queue.append(message)
            self._size += len(frame)
            self._balance()

    def _gives_up(self, message: jsonrpc.Message) -> bool:
        """Whether a message is about the request that an interceptor is busy with: that one goes no further."""
        if self._judging is None or not isinstance(message, jsonrpc.Notification) or message.method != jsonrpc.CANCEL:
            return False
        judged, task = self._judging
        try:
            identity = decode(message.params, dict[str, Any]).get("requestId")
        except DecodeError:
            return False
        if not isinstance(judged, jsonrpc.Request) or type(identity) is not type(judged.id) or identity != judged.id:
            return False
        task.cancel()
        return True

    def _judge(self, message: jsonrpc.Message) -> None:
        """Let a message pass, or have the interceptor decide on it."""
        passing = Passing(message, self._method(message))
        if self._intercept is None:
            self._pass(passing, passing)
            return
        try:
            verdict = self._intercept(self._direction, passing)
            if verdict is None or isinstance(verdict, Passing | Answer):
                self._pass(passing, verdict)
                return
            task = self._link.spawn(verdict)
        except Exception as error:
            self._fail(passing, error)
            return
        self._judging = (message, task)
        self._link.spawn(self._wait(passing, task))

    async def _wait(self, passing: Passing, judging: asyncio.Future[Verdict]) -> None:
        try:
            self._pass(passing, await judging)
        except asyncio.CancelledError as error:
            if not is_stray_cancellation():
                raise
            self._fail(passing, error)
        except Exception as error:
            self._fail(passing, error)
        self._judging = None
        while self._queue and self._judging is None:
            message = self._queue.popleft()
            self._size -= len(message.raw)
            self._judge(message)
        self._balance()
        self._settle()

    def _method(self, message: jsonrpc.Message) -> str:
        """The method of a message, or the one that it answers."""
        if isinstance(message, jsonrpc.Request | jsonrpc.Notification):
            return message.method
        return self.back.asked(message.id) if isinstance(message, jsonrpc.Response) else ""

    def asked(self, identity: jsonrpc.Id) -> str:
        """The method of a request that is now answered; empty when there is none of this id."""
        method = self._asked.pop(identity, "")
        if not self._asked:
            self.answered.set()
        return method

    def _pass(self, passing: Passing, verdict: Verdict) -> None:
        if verdict is None:
            self._drop(passing)
            return
        try:
            if isinstance(verdict, Answer):
                self._send(self._source, verdict.frame)
            else:
                self._send(self._target, verdict.raw)
                self._remember(verdict.message)
        except ValueError as error:
            log.error("a message cannot be passed on: %s", error)
            self._refuse(passing, jsonrpc.INTERNAL_ERROR, f"the message cannot be passed on: {error}")

    def _remember(self, message: jsonrpc.Message) -> None:
        if isinstance(message, jsonrpc.Request):
            self._asked[message.id] = message.method
            self.answered.clear()
            if len(self._asked) > MAX_ASKED:
                del self._asked[next(iter(self._asked))]

    def _drop(self, passing: Passing) -> None:
        """Nobody is to wait for ever for what was dropped."""
        if passing.kind == "request":
            self._refuse(passing, jsonrpc.METHOD_NOT_FOUND, f"method not found: {passing.method}")
        else:
            self._refuse(passing, jsonrpc.INTERNAL_ERROR, "the answer was withheld")

    def _fail(self, passing: Passing, error: BaseException) -> None:
        """An interceptor that fails lets nothing pass."""
        if isinstance(error, asyncio.CancelledError):
            self._refuse(passing, jsonrpc.REQUEST_CANCELLED, "the request was cancelled")
            return
        if isinstance(error, RequestError):
            # One that has no form on the wire is a failure like any other.
            with contextlib.suppress(EncodeError):
                self._refuse(passing, error.code, error.message, error.data)
                return
        log.error("the interceptor of %s failed", passing.method or passing.kind, exc_info=error)
        self._refuse(passing, jsonrpc.INTERNAL_ERROR, "internal error")

    def _refuse(self, passing: Passing, code: int, text: str, data: Any = None) -> None:
        """An error in place of a message: back to who asks, on to who waits for an answer; of all else nothing."""
        message = passing.message
        if isinstance(message, jsonrpc.Request):
            self._send(self._source, jsonrpc.failure(message.id, code, text, data))
        elif isinstance(message, jsonrpc.Response):
            self._send(self._target, jsonrpc.failure(message.id, code, text, data))

    def _unfit(self, message: jsonrpc.Malformed) -> None:
        """A message that is too large to be read."""
        if message.reply is not None:
            self._send(self._source, message.reply)
        elif self.asking.take(message):
            return
        elif isinstance(message.answers, int | str):
            self.back.asked(message.answers)
            self._send(self._target, jsonrpc.failure(message.answers, jsonrpc.INTERNAL_ERROR, message.reason))

    def _send(self, transport: Transport, frame: bytes) -> None:
        """Write, and stop reading until what is written is taken. What nobody takes any more is dropped."""
        with contextlib.suppress(ConnectionClosed):
            if transport.write(frame) and not self._flow.is_paused("output"):
                self._flow.pause("output")
                self._link.spawn(self._drain(transport))

    async def _drain(self, transport: Transport) -> None:
        with contextlib.suppress(ConnectionClosed):
            await transport.drain()
        self._flow.resume("output")

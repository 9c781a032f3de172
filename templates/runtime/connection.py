"""One JSON-RPC connection over asyncio: both sides call, both answer.

Reading never waits for a request's handler. Notifications are handled one after the other in the order of the wire, and an
answer is delivered after the notifications before it, so that a turn's last update is seen before its prompt returns. The one
exception is an answer to a call made from inside a handler, which would otherwise wait for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

from . import jsonrpc
from .codec import decode, encode
from .errors import ConnectionClosed, DecodeError, ProtocolError, RequestError, RequestTimeout
from .routing import Kind, MethodNotFound, Route

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message."""
MAX_IN_FLIGHT = 1024
"""Requests of the peer that may be unanswered at once; further ones are refused."""
MAX_QUEUED = 64 * 1024 * 1024
"""Bytes of notifications that wait for their handlers before reading pauses."""

Observer = Callable[[Literal["in", "out"], bytes], None]
log = logging.getLogger("acp_bindings")
# Set while a handler runs: calls that it makes get their answers at once.
_inside: ContextVar[bool] = ContextVar("acp_inside_handler", default=False)


class Transport(Protocol):
    """Carries whole frames. `receive` returns None at the end; `send` waits while the other side is slow."""

    async def send(self, frame: bytes) -> None: ...

    async def receive(self) -> bytes | None: ...

    async def close(self) -> None: ...

    def lost(self) -> ConnectionClosed:
        """What is known of why the transport ended."""
        ...


class Context:
    """What a handler may want beside its params: the message as it came, and the other side."""

    __slots__ = ("_after", "connection", "message", "remote")

    def __init__(self, connection: Connection, message: jsonrpc.Request | jsonrpc.Notification) -> None:
        self.connection = connection
        self.message = message
        self.remote: Any = connection.remote
        self._after: list[Callable[[], Awaitable[object]]] = []

    @property
    def raw(self) -> bytes:
        """The frame, byte for byte."""
        return self.message.raw

    def after_response(self, call: Callable[[], Awaitable[object]]) -> None:
        """Run `call` once the answer to this request was written."""
        self._after.append(call)


@dataclass(slots=True)
class _Pending:
    """A call that waits for its answer."""

    method: str
    result: Any
    future: asyncio.Future[Any]
    inside: bool


class Connection:
    """A connection over a transport. Use as an async context manager; leaving it closes everything.

    `routes` is what is handled here; `before` may replace a request's route (it decides what may come before
    `initialize`). `observer(direction, frame)` sees every frame.
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
    ) -> None:
        self.transport = transport
        self.routes = dict(routes)
        self.remote: Any = None
        self.null_ids = False
        self.timeout = timeout
        self.before: Callable[[jsonrpc.Request], Route | None] | None = None
        self._observer = observer
        self._max_in_flight = max_in_flight
        self._max_queued = max_queued
        self._pending: dict[tuple[type, jsonrpc.Id], _Pending] = {}
        self._given_up: deque[tuple[type, jsonrpc.Id]] = deque(maxlen=1024)
        self._running: dict[tuple[type, jsonrpc.Id], asyncio.Task[None]] = {}
        self._ordered: deque[tuple[Callable[[], Awaitable[None]], int]] = deque()
        self._queued = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_id = 0
        self._lost: ConnectionClosed | None = None
        self.closed: asyncio.Event = asyncio.Event()

    # life

    async def __aenter__(self) -> Connection:
        self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def start(self) -> None:
        self._spawn(self._read())
        self._spawn(self._work())

    async def close(self, reason: str = "the connection was closed here") -> None:
        """End the connection: pending calls fail, handlers are cancelled, the transport is closed. Idempotent."""
        self._fail(ConnectionClosed(reason))
        current = asyncio.current_task()
        tasks = [task for task in (*self._tasks, *self._running.values()) if task is not current]
        for task in tasks:
            task.cancel()
        await self.transport.close()
        if tasks:
            await asyncio.wait(tasks)

    async def wait_closed(self) -> None:
        """Wait until the other side has gone, or `close` was called."""
        await self.closed.wait()

    def _fail(self, error: ConnectionClosed) -> None:
        if self._lost is None:
            self._lost = error
        for pending in self._pending.values():
            if not pending.future.done():
                pending.future.set_exception(self._lost)
        self._pending.clear()
        self.closed.set()
        self._room.set()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # calls

    async def request(self, method: str, params: Any, result: Any = Any, *, timeout: float | None = None) -> Any:
        """Call a method of the other side and wait for its answer, decoded to `result`.

        Cancelling the waiting task, or running out of `timeout` seconds, sends `$/cancel_request`. Raises RequestError for
        an error of the peer, ProtocolError for an answer that does not fit, RequestTimeout and ConnectionClosed.
        """
        if self._lost is not None:
            raise self._lost
        self._next_id += 1
        identity = self._next_id
        key = (int, identity)
        frame = jsonrpc.request(identity, method, encode_params(params))
        pending = _Pending(method, result, asyncio.get_running_loop().create_future(), _inside.get())
        self._pending[key] = pending
        limit = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(limit):
                await self._send(frame)
                return await pending.future
        except TimeoutError:
            await self._give_up(key)
            raise RequestTimeout(f"{method} was not answered within {limit} s") from None
        except asyncio.CancelledError:
            await asyncio.shield(self._spawn(self._give_up(key)))
            raise
        finally:
            self._pending.pop(key, None)
            if pending.future.done() and not pending.future.cancelled():
                pending.future.exception()

    async def _give_up(self, key: tuple[type, jsonrpc.Id]) -> None:
        """Tell the other side that nobody waits for this answer any more."""
        if self._pending.pop(key, None) is None or self._lost is not None:
            return
        self._given_up.append(key)
        with contextlib.suppress(ConnectionClosed):
            await self._send(jsonrpc.notification(jsonrpc.CANCEL, {"requestId": key[1]}))

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification; returns when it was handed to the transport. Raises ConnectionClosed."""
        await self._send(jsonrpc.notification(method, encode_params(params)))

    async def _send(self, frame: bytes) -> None:
        if self._lost is not None:
            raise self._lost
        if self._observer is not None:
            self._observer("out", frame)
        try:
            await self.transport.send(frame)
        except ConnectionClosed as error:
            self._fail(error)
            raise
        except (OSError, RuntimeError) as error:
            self._fail(self.transport.lost())
            raise self._lost or ConnectionClosed(str(error)) from error

    # reading

    async def _read(self) -> None:
        try:
            while (frame := await self.transport.receive()) is not None:
                if self._observer is not None:
                    self._observer("in", frame)
                await self._take(frame)
        except ConnectionClosed as error:
            self._fail(error)
        except (OSError, RuntimeError, EOFError) as error:
            log.warning("the transport failed: %s", error)
        # What came before the end is still delivered.
        self._put(self._end, 0)

    async def _end(self) -> None:
        self._fail(self.transport.lost())
        for task in self._running.values():
            task.cancel()

    async def _take(self, frame: bytes) -> None:
        message = jsonrpc.read(frame, self.null_ids)
        if isinstance(message, jsonrpc.Response):
            self._answer(message)
        elif isinstance(message, jsonrpc.Notification):
            await self._notice(message)
        elif isinstance(message, jsonrpc.Request):
            await self._serve(message)
        else:
            log.warning("received a frame that is no message (%s): %.200r", message.reason, message.raw[:200])
            if message.reply is not None:
                await self._reply(message.reply)

    async def _notice(self, message: jsonrpc.Notification) -> None:
        if message.method == jsonrpc.CANCEL:
            self._cancel(message)
            return
        route = self.routes.get(("notification", message.method))
        if route is None:
            log.debug("ignored the notification %s", message.method)
            return
        handle = route

        async def run() -> None:
            await self._handle_notification(message, handle)

        self._put(run, len(message.raw))
        while self._queued > self._max_queued and self._lost is None and not self._waits_inside():
            self._room.clear()
            await self._room.wait()

    def _waits_inside(self) -> bool:
        """Whether a handler waits for an answer: then reading has to go on, however much is queued."""
        return any(pending.inside for pending in self._pending.values())

    def _put(self, work: Callable[[], Awaitable[None]], size: int) -> None:
        self._ordered.append((work, size))
        self._queued += size
        self._wake.set()

    async def _work(self) -> None:
        """Runs what has an order: notifications, and answers among them."""
        while True:
            while not self._ordered:
                self._wake.clear()
                await self._wake.wait()
            work, size = self._ordered.popleft()
            self._queued -= size
            self._room.set()
            await work()

    def _answer(self, message: jsonrpc.Response) -> None:
        key = (type(message.id), message.id)
        pending = self._pending.get(key)
        if pending is None:
            if key in self._given_up:
                self._given_up.remove(key)
            else:
                log.warning("an answer to no call of ours, id %r, was dropped", message.id)
        elif pending.inside or not self._ordered:
            self._settle(key, pending, message)
        else:
            waiting = pending

            async def deliver() -> None:
                self._settle(key, waiting, message)

            self._put(deliver, 0)

    def _settle(self, key: tuple[type, jsonrpc.Id], pending: _Pending, message: jsonrpc.Response) -> None:
        self._pending.pop(key, None)
        if pending.future.done():
            return
        try:
            pending.future.set_result(read_result(message, pending.method, pending.result))
        except (ProtocolError, RequestError) as error:
            pending.future.set_exception(error)

    # answering

    def _cancel(self, message: jsonrpc.Notification) -> None:
        """The peer gave up a request: cancel its handler, which may still answer in its own way."""
        try:
            identity = decode(message.params, dict[str, Any]).get("requestId")
        except DecodeError:
            return
        task = self._running.get((type(identity), identity))
        if task is not None:
            task.cancel()

    async def _serve(self, message: jsonrpc.Request) -> None:
        key = (type(message.id), message.id)
        if key in self._running:
            await self._reply(jsonrpc.failure(None, jsonrpc.INVALID_REQUEST, f"the id {message.id!r} is in use"))
        elif len(self._running) >= self._max_in_flight:
            text = f"more than {self._max_in_flight} requests at once"
            await self._reply(jsonrpc.failure(message.id, jsonrpc.INTERNAL_ERROR, text))
        else:
            task = asyncio.create_task(self._run_request(message))
            self._running[key] = task
            task.add_done_callback(lambda _: self._running.pop(key, None))

    async def _run_request(self, message: jsonrpc.Request) -> None:
        _inside.set(True)
        context = Context(self, message)
        try:
            frame = await self._respond(message, context)
        except asyncio.CancelledError:
            if self._lost is not None:
                raise
            frame = jsonrpc.failure(message.id, jsonrpc.REQUEST_CANCELLED, "the request was cancelled")
        await self._reply(frame)
        for call in context._after:
            try:
                await call()
            except Exception:
                log.exception("what was to run after the answer to %s failed", message.method)

    async def _respond(self, message: jsonrpc.Request, context: Context) -> bytes:
        """The frame that answers a request."""
        try:
            route = self.before(message) if self.before else self.routes.get(("request", message.method))
            if route is None:
                raise MethodNotFound(message.method)
            params = decode(message.params, route.spec.params)
            result = await route.call(params, context)
            return jsonrpc.success(message.id, self._checked(result, route))
        except DecodeError as error:
            data = {"pointer": error.pointer, "reason": error.reason}
            return jsonrpc.failure(message.id, jsonrpc.INVALID_PARAMS, f"invalid params: {error}", data)
        except RequestError as error:
            return jsonrpc.failure(message.id, error.code, error.message, error.data)
        except Exception:
            log.exception("the handler of %s failed", message.method)
            return jsonrpc.failure(message.id, jsonrpc.INTERNAL_ERROR, "internal error")

    def _checked(self, result: Any, route: Route) -> Any:
        """The result as raw JSON. Raises TypeError when a handler returned nothing where something is needed."""
        if result is None and route.spec.result is not None and route.spec.result is not Any:
            return encode_params(decode(b"{}", route.spec.result))
        return encode_params(result)

    async def _handle_notification(self, message: jsonrpc.Notification, route: Route) -> None:
        token = _inside.set(True)
        try:
            params = decode(message.params, route.spec.params)
            await route.call(params, Context(self, message))
        except DecodeError as error:
            log.warning("a %s notification does not decode: %s", message.method, error)
        except Exception:
            log.exception("the handler of %s failed", message.method)
        finally:
            _inside.reset(token)

    async def _reply(self, frame: bytes) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self._send(frame)


def encode_params(value: Any) -> msgspec.Raw:
    """Params or a result as the encoder takes them inside an envelope. Raises EncodeError before anything is sent."""
    return value if isinstance(value, msgspec.Raw) else msgspec.Raw(encode({} if value is None else value))


def read_result(message: jsonrpc.Response, method: str, result: Any) -> Any:
    """The result of an answer, decoded. Raises RequestError and ProtocolError."""
    if message.result is None and message.error is None or message.result is not None and message.error is not None:
        both = "both a result and an error" if message.error else "neither a result nor an error"
        raise ProtocolError(f"the answer to {method} has {both}")
    if message.error is not None or message.result is None:
        assert message.error is not None
        raise RequestError(message.error.code, message.error.message, message.error.data)
    try:
        return decode(message.result if result is Any else jsonrpc.null_as_empty(message.result), result)
    except DecodeError as error:
        raise ProtocolError(f"the answer to {method} does not decode: {error}") from error

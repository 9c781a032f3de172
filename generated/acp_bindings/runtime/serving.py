"""The requests that the other side made: one task each, from the params to the frame that answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import jsonrpc
from .checking import refuse_wrong
from .codec import decode
from .context import Context, current, is_stray_cancellation
from .errors import AcpError, ConnectionClosed, DecodeError, EncodeError, RequestError
from .foreign import decode_any
from .routing import InvalidParams, MethodSpec, Route

if TYPE_CHECKING:
    from .connection import Connection

MAX_IN_FLIGHT = 1024
"""Requests of the peer that may be unanswered at once; further ones are refused."""
log = logging.getLogger("acp_bindings")


class Running:
    """A request whose handler runs."""

    __slots__ = ("given_up", "message", "params", "route", "started", "task")

    def __init__(self, message: jsonrpc.Request, route: Route, params: Any) -> None:
        self.message = message
        self.route = route
        self.params = params
        self.started = False
        self.given_up = False
        self.task: asyncio.Task[None] | None = None


class Serving:
    """Requests by their ids, as long as their handlers run. Ids are integers, strings or null: none equals another."""

    def __init__(self, connection: Connection, limit: int) -> None:
        self._connection = connection
        self._limit = limit
        self._running: dict[jsonrpc.Id, Running] = {}
        # What is not done though the handler is: answers that wait for room, and what comes after them.
        self._finishing: set[asyncio.Task[None]] = set()
        self._closing = False
        # Asking for it each time takes a system call in some versions of Python.
        self._loop = asyncio.get_running_loop()

    def tasks(self) -> list[asyncio.Task[None]]:
        handling = [running.task for running in self._running.values() if running.task is not None]
        return [*handling, *self._finishing]

    def start(self, message: jsonrpc.Request, choose: Callable[[jsonrpc.Request], Route]) -> bytes | None:
        """Run a request's handler. Returns the answer at once where there is no handler to run."""
        identity = message.id
        if identity in self._running:
            # With that id it would be taken for the answer to the first one.
            return jsonrpc.failure(None, jsonrpc.INVALID_REQUEST, f"the id {identity!r} is in use")
        if len(self._running) + len(self._finishing) >= self._limit:
            return jsonrpc.failure(identity, jsonrpc.INTERNAL_ERROR, f"more than {self._limit} requests at once")
        try:
            route = choose(message)
            params = self._admitted(message, route.spec)
            running = Running(message, route, params)
        except RequestError as error:
            return jsonrpc.failure(identity, error.code, error.message, error.data)
        except DecodeError as error:
            problem = InvalidParams(error)
            return jsonrpc.failure(identity, problem.code, problem.message, problem.data)
        self._running[identity] = running
        # A name of its own would be made anew for each.
        running.task = self._loop.create_task(self._run(running), name=message.method)
        return None

    def _admitted(self, message: jsonrpc.Request, spec: MethodSpec) -> Any:
        """The params of a request that may come. Raises RequestError, DecodeError."""
        gates = self._connection.gates
        if gates is None or not spec.needs:
            return decode_any(message.params, spec.params)
        gates.refuse(spec)
        params = decode_any(message.params, spec.params)
        gates.refuse_params(spec, params, self._connection.remote._state_of)
        return params

    def cancel(self, message: jsonrpc.Notification) -> None:
        """The peer gave up a request: cancel its handler, which may still answer in its own way."""
        try:
            identity = decode(message.params, dict[str, Any]).get("requestId")
        except DecodeError as error:
            log.warning("%s does not decode: %s", message.method, error)
            return
        known = isinstance(identity, int | str | None) and not isinstance(identity, bool)
        running = self._running.get(identity) if known else None
        if running is None or running.task is None:
            return
        running.given_up = True
        # A task that is cancelled before it has begun never does, and would not answer.
        if running.started:
            running.task.cancel()

    def stop(self, spared: asyncio.Task[Any] | None = None) -> None:
        """Cancel all handlers but one; none of them answers any more."""
        self._closing = True
        for task in self.tasks():
            if task is not spared:
                task.cancel()

    async def _run(self, running: Running) -> None:
        message = running.message
        running.started = True
        context = Context(self._connection, message)
        current.set(context)
        done = False
        try:
            if running.given_up:
                raise asyncio.CancelledError
            result = await running.route.call(running.params, context)
            frame = jsonrpc.success(message.id, self._body(result, running.route.spec.result))
            done = True
        except asyncio.CancelledError:
            if self._closing:
                raise
            frame = jsonrpc.failure(message.id, jsonrpc.REQUEST_CANCELLED, "the request was cancelled")
            if not (running.given_up or is_stray_cancellation()):
                # The agent's own code wants this task to end; the peer gets its answer all the same.
                self._write(message, frame)
                raise
        except Exception as error:
            frame = _failure(message, error)
        finally:
            # From here on there is nothing to cancel.
            del self._running[message.id]
            context.active = False
        full = self._write(message, frame)
        if full or context.after is not None:
            await self._finish(running, full, context.after if done else None)

    async def _finish(self, running: Running, full: bool, after: list[Callable[[], Awaitable[object]]] | None) -> None:
        task = running.task
        assert task is not None
        self._finishing.add(task)
        try:
            if full:
                with contextlib.suppress(ConnectionClosed):
                    await self._connection.transport.drain()
            if after is not None:
                await self._after(running.message, after)
        finally:
            self._finishing.discard(task)

    def _body(self, result: Any, form: Any) -> bytes:
        """A handler's result as JSON. Raises for one that does not fit."""
        if form is None or form is Any:
            return jsonrpc.body(result)
        if result is None:
            try:
                decode_any(jsonrpc.EMPTY, form)
            except DecodeError as error:
                raise HandlerError(f"the handler returned None where a result is needed: {error}") from None
            return jsonrpc.EMPTY
        refuse_wrong(result, form, self._connection.strict)
        return jsonrpc.body(result)

    def _write(self, message: jsonrpc.Request, frame: bytes) -> bool:
        try:
            return self._connection.write(frame)
        except ConnectionClosed:
            return False
        except ValueError as error:
            log.error("the answer to %s cannot be sent: %s", message.method, error)
            text = f"the answer cannot be sent: {error}"
            return self._write(message, jsonrpc.failure(message.id, jsonrpc.INTERNAL_ERROR, text))

    async def _after(self, message: jsonrpc.Request, calls: Iterable[Callable[[], Awaitable[object]]]) -> None:
        for call in calls:
            try:
                await call()
            except ConnectionClosed as error:
                log.info(
                    "what was to run after the answer to %s found the connection closed: %s", message.method, error
                )
            except Exception:
                log.exception("what was to run after the answer to %s failed", message.method)


def _failure(message: jsonrpc.Request, error: Exception) -> bytes:
    """The answer for what a handler raised: of what it did not mean to raise, nothing is told."""
    if isinstance(error, RequestError):
        try:
            return jsonrpc.failure(message.id, error.code, error.message, error.data)
        except EncodeError as problem:
            error = problem
    if isinstance(error, ConnectionClosed):
        # Over a network that is how it goes: who asked has left in the middle.
        log.info("the handler of %s found a connection closed: %s", message.method, error)
    else:
        log.error("the handler of %s failed", message.method, exc_info=error)
    return jsonrpc.failure(message.id, jsonrpc.INTERNAL_ERROR, "internal error")


class HandlerError(AcpError):
    """A handler did not keep to what it has to return."""

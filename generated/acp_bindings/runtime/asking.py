"""What a proxy asks one of its sides itself, under ids that nobody else makes."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from typing import Any

from . import jsonrpc
from .calls import read_result
from .errors import ConnectionClosed, ProtocolError, RequestTimeout
from .transports import Transport


class Asking:
    """Calls to one side. `changed` is called when there begin to be any, and when there are none any more."""

    def __init__(self, transport: Transport, changed: Callable[[], None]) -> None:
        self._transport = transport
        self._changed = changed
        self._prefix = f"proxy-{uuid.uuid4().hex}-"
        self._last = 0
        self._waiting: dict[str, asyncio.Future[jsonrpc.Response]] = {}
        self._lost: ConnectionClosed | None = None

    @property
    def waits(self) -> bool:
        """Whether an answer of this side is waited for."""
        return bool(self._waiting)

    async def request(self, method: str, params: Any, result: Any, timeout: float | None) -> Any:
        """Call a method. Raises RequestError, ProtocolError, RequestTimeout and ConnectionClosed."""
        body = jsonrpc.body(params)
        if self._lost is not None:
            raise self._lost.again()
        self._last += 1
        identity = f"{self._prefix}{self._last}"
        future = self._waiting[identity] = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            async with asyncio.timeout(timeout):
                await self._write(jsonrpc.request(identity, method, body))
                answer = await future
        except TimeoutError:
            self._give_up(identity, future)
            raise RequestTimeout(f"{method} was not answered within {timeout} s") from None
        except asyncio.CancelledError:
            self._give_up(identity, future)
            raise
        finally:
            del self._waiting[identity]
            self._changed()
        return read_result(answer, method, result)

    def _give_up(self, identity: str, future: asyncio.Future[jsonrpc.Response]) -> None:
        if future.done() and not future.cancelled():
            return
        with contextlib.suppress(ConnectionClosed):
            self._transport.write(jsonrpc.notification(jsonrpc.CANCEL, jsonrpc.body({"requestId": identity})))

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises ConnectionClosed."""
        await self._write(jsonrpc.notification(method, jsonrpc.body(params)))

    async def _write(self, frame: bytes) -> None:
        if self._transport.write(frame):
            await self._transport.drain()

    def take(self, message: jsonrpc.Message) -> bool:
        """Whether a message answers what was asked here, be it late. One that cannot be read fails the call."""
        match message:
            case jsonrpc.Response(id=str(identity)) | jsonrpc.Malformed(answers=str(identity)):
                future = self._waiting.get(identity)
            case _:
                return False
        if future is not None and not future.done():
            if isinstance(message, jsonrpc.Malformed):
                _fail(future, ProtocolError(f"the answer cannot be read: {message.reason}"))
            else:
                future.set_result(message)
        return identity.startswith(self._prefix)

    def lose(self, error: ConnectionClosed) -> None:
        """Nothing more will come of this side."""
        self._lost = self._lost or error
        for future in self._waiting.values():
            if not future.done():
                _fail(future, error.again())


def _fail(future: asyncio.Future[jsonrpc.Response], error: Exception) -> None:
    future.set_exception(error)
    # Whoever waits may be cancelled at the same time.
    future.exception()

"""A client's end of a WebSocket: one message a text frame."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence
from email.message import Message
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from types import SimpleNamespace
from typing import cast
from urllib.parse import urlsplit

from websockets import exceptions
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as dial
from websockets.datastructures import Headers
from websockets.typing import Subprotocol

from ..errors import ConnectionClosed, HttpError
from . import MAX_MESSAGE, MAX_OUTPUT, Congestion, Receiver, oversized

OPEN_TIMEOUT = 10.0
"""Seconds in which a server has to accept the connection and to answer the upgrade."""
CLOSE_TIMEOUT = 2.0
"""Seconds that closing waits for what was written to go out, and then for the other side to close too."""
PING_INTERVAL = 20.0
"""Seconds between two pings."""
PING_TIMEOUT = 20.0
"""Seconds in which a ping has to be answered."""
TOO_BIG = 1009
EXCERPT = 8 * 1024
"""Bytes of an error's body that are kept."""
log = logging.getLogger("acp_bindings.ws")


class _Dial(dial):
    """Follows no redirect to another origin, which would get the user's headers."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        found = super().process_redirect(exc)
        if isinstance(found, str) and urlsplit(found)[:2] != urlsplit(self.uri)[:2]:
            return exc
        return found


class WebSocketTransport:
    """A WebSocket that was opened; make one with `open`. Each side sees to its own pings.

    The other side has `ping_timeout` seconds to answer a ping, unless it is us who do not read.
    """

    noisy = False

    def __init__(
        self, socket: ClientConnection, limit: int, max_output: int, ping_interval: float | None, ping_timeout: float
    ) -> None:
        self.limit = limit
        self._socket = socket
        self._max_output = max_output
        self._ping_interval = ping_interval
        self._ping_timeout = ping_timeout
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._more = asyncio.Event()
        self._written = asyncio.Event()
        self._written.set()
        self._room = Congestion()
        self._gate = asyncio.Event()
        self._gate.set()
        self._paused_since_ping = False
        self._receiver: Receiver | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._gone = False
        self._lost: ConnectionClosed | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        subprotocols: Sequence[str] | None = None,
        cookies: CookieJar | None = None,
        limit: int = MAX_MESSAGE,
        max_output: int = MAX_OUTPUT,
        ping_interval: float | None = PING_INTERVAL,
        ping_timeout: float = PING_TIMEOUT,
    ) -> WebSocketTransport:
        """Open one. `http` in the URL stands for `ws`. `cookies` are sent, and those that the server sets are kept.

        Raises HttpError for a status of failure, ConnectionClosed for a server that cannot be reached or is none,
        ValueError for a URL that is none.
        """
        url = _websocket_url(url)
        jar = CookieJar() if cookies is None else cookies
        try:
            socket = await _Dial(
                url,
                additional_headers=_with_cookies(url, headers, jar),
                subprotocols=[Subprotocol(one) for one in subprotocols] if subprotocols else None,
                open_timeout=OPEN_TIMEOUT,
                close_timeout=CLOSE_TIMEOUT,
                # Pings are our own: whoever pauses reading sees no pongs, which is not the other side's silence.
                ping_interval=None,
                max_size=limit,
            )
        except exceptions.InvalidStatus as error:
            raise _refusal(url, error) from None
        except exceptions.InvalidURI as error:
            raise ValueError(str(error)) from None
        except (OSError, TimeoutError, exceptions.WebSocketException) as error:
            raise ConnectionClosed(f"{url} could not be reached: {error or type(error).__name__}") from error
        if socket.response is not None:
            _keep_cookies(url, socket.response.headers, jar)
        return cls(socket, limit, max_output, ping_interval, ping_timeout)

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        work = [self._read(receiver), self._write()]
        if self._ping_interval is not None:
            work.append(self._ping(self._ping_interval))
        self._tasks = [asyncio.get_running_loop().create_task(one) for one in work]

    def write(self, frame: bytes) -> bool:
        if self._lost is not None:
            raise self._lost.again()
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        self._waiting.append(frame)
        self._size += len(frame)
        self._written.clear()
        self._more.set()
        return self._size > self._max_output

    async def drain(self) -> None:
        while self._size > self._max_output and not self._gone and self._lost is None:
            await self._room.wait()
        if self._lost is not None:
            raise self._lost.again()
        if self._gone:
            raise ConnectionClosed("the connection broke off")

    def pause(self) -> None:
        self._gate.clear()
        self._paused_since_ping = True

    def resume(self) -> None:
        self._gate.set()

    async def _write(self) -> None:
        with contextlib.suppress(exceptions.ConnectionClosed):
            while True:
                await self._more.wait()
                self._more.clear()
                while self._waiting:
                    frame = self._waiting.popleft()
                    await self._socket.send(frame, text=True)
                    self._size -= len(frame)
                    if self._size <= self._max_output:
                        self._room.clear()
                self._written.set()
        # Reading learns of it too, and knows more; but it may have paused until there is room again.
        self._gone = True
        self._room.clear()

    async def _read(self, receiver: Receiver) -> None:
        try:
            while True:
                await self._gate.wait()
                message = await self._socket.recv()
                if isinstance(message, bytes):
                    log.warning("ignored a binary frame of %d bytes", len(message))
                else:
                    receiver.received((message.encode(),))
        except exceptions.ConnectionClosed as end:
            self._lose(self._why(end))

    async def _ping(self, interval: float) -> None:
        """Notice a socket that has fallen silent."""
        with contextlib.suppress(exceptions.ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                self._paused_since_ping = not self._gate.is_set()
                pong = await self._socket.ping()
                try:
                    async with asyncio.timeout(self._ping_timeout):
                        await asyncio.shield(pong)
                except TimeoutError:
                    if not self._paused_since_ping:
                        break
            reason = f"the other side has been silent: no answer to a ping within {self._ping_timeout:g} s"
            self._lose(ConnectionClosed(reason))
            self._socket.transport.abort()

    def _why(self, end: exceptions.ConnectionClosed) -> ConnectionClosed:
        """What the end of the socket means, in words."""
        ours = end.rcvd is None or end.rcvd_then_sent is False
        first = end.sent if ours else end.rcvd
        if first is None:
            return ConnectionClosed("the connection broke off")
        told = f"{first.code}{': ' if first.reason else ''}{first.reason}"
        if first.code == TOO_BIG and ours:
            return ConnectionClosed(f"a message of the other side is over the limit of {self.limit} bytes ({told})")
        if first.code == TOO_BIG:
            return ConnectionClosed(f"a message of ours is too big for the other side, which closed ({told})")
        return ConnectionClosed(f"{'closed here' if ours else 'the other side closed the connection'} ({told})")

    def _lose(self, error: ConnectionClosed) -> None:
        if self._lost is not None:
            return
        self._lost = error
        self._waiting.clear()
        self._room.clear()
        self._written.set()
        if self._receiver is not None and not self._closed:
            self._receiver.ended(error)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT):
                    await self._written.wait()
            self._lose(ConnectionClosed("the connection was closed here"))
            await self._socket.close()
        finally:
            self._lose(ConnectionClosed("the connection was closed here"))
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            self._socket.transport.abort()


def _websocket_url(url: str) -> str:
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"no ws:// or wss:// URL: {url}")
    return parts._replace(scheme=scheme).geturl()


def _with_cookies(url: str, headers: Mapping[str, str] | None, jar: CookieJar) -> Headers:
    request = urllib.request.Request(url)
    jar.add_cookie_header(request)
    cookie = request.get_header("Cookie")
    all_headers = Headers(headers or {})
    if cookie is not None and "Cookie" not in all_headers:
        all_headers["Cookie"] = cookie
    return all_headers


def _keep_cookies(url: str, headers: Headers, jar: CookieJar) -> None:
    message = Message()
    for value in headers.get_all("Set-Cookie"):
        message["Set-Cookie"] = value
    response = cast(HTTPResponse, SimpleNamespace(info=lambda: message))
    jar.extract_cookies(response, urllib.request.Request(url))


def _refusal(url: str, error: exceptions.InvalidStatus) -> HttpError:
    response = error.response
    reason = f"the server answered the upgrade at {url} with {response.status_code} {response.reason_phrase}".rstrip()
    if (place := response.headers.get("Location")) is not None:
        reason += f", which leads to {place}"
    body = (response.body or b"")[:EXCERPT].decode("utf-8", "replace")
    return HttpError(reason, response.status_code, body)

"""A server on loopback whose every byte a test decides: HTTP/1.1 by hand, and on it the server's side of the protocol.

`HttpPeer` hands each request to a coroutine; `ScriptedServer` is what such a coroutine may be made of: it keeps to the
rules unless a test replaces a part of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

SSE = {"content-type": "text/event-stream"}


class Exchange:
    """One request, and the way to answer it."""

    def __init__(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = b""
        self.reader = reader
        self.writer = writer
        self.is_open = False
        self._end: asyncio.Task[None] | None = None

    @property
    def message(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def session(self) -> str:
        return self.headers.get("acp-session-id", "")

    async def reply(self, status: int, body: bytes | str = b"", **headers: str) -> None:
        """A whole answer; the connection lives on. Underscores in names of headers stand for hyphens."""
        body = body.encode() if isinstance(body, str) else body
        self._head(status, headers | {"content-length": str(len(body))})
        self.writer.write(body)
        await self.writer.drain()

    def start(self, status: int = 200, **headers: str) -> None:
        """The head of an answer that ends with the connection."""
        self.is_open = True
        self._head(status, {**(headers or SSE), "connection": "close"})

    async def send(self, data: bytes) -> None:
        """Some bytes of an answer that was started."""
        self.writer.write(data)
        await self.writer.drain()

    async def event(self, message: Any) -> None:
        await self.send(b"data: " + (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n\n")

    def end(self) -> None:
        """End the connection."""
        self.writer.close()
        if self._end is not None:
            self._end.cancel()

    async def gone(self) -> None:
        """Wait until the client has closed the connection, or `end` was called."""

        async def read() -> None:
            with contextlib.suppress(ConnectionError):
                await self.reader.read()

        if self._end is None:
            self._end = asyncio.create_task(read())
        await asyncio.shield(self._end)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *lines, "", ""])
        self.writer.write(head.encode("latin-1"))


class HttpPeer:
    """Serves while it is entered. Leaving ends what still runs; what failed fails the test."""

    def __init__(self, handle: Callable[[Exchange], Awaitable[None]]) -> None:
        self._handle = handle
        self._running: set[asyncio.Task[None]] = set()
        self.url = ""

    async def __aenter__(self) -> HttpPeer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/acp"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        running = list(self._running)
        for task in running:
            task.cancel()
        for outcome in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    @property
    def connections(self) -> int:
        """Connections of clients that are open."""
        return sum(not task.done() for task in self._running)

    async def quiet(self) -> None:
        """Wait until no client is connected any more."""
        if self._running:
            await asyncio.wait(list(self._running))

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._running.add(asyncio.get_running_loop().create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                exchange = await _read_head(reader, writer)
                exchange.body = await reader.readexactly(int(exchange.headers.get("content-length", 0)))
                await self._handle(exchange)
                if exchange.is_open:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def _read_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    return Exchange(method, path, headers, reader, writer)


class ScriptedServer:
    """The server's side of one connection, as a `handle` for `HttpPeer`. A test overrides what it wants otherwise.

    `requests` holds all exchanges; `posted` those messages that were taken, in order, `initialize` not among them.
    """

    CONNECTION = "connection-1"

    def __init__(self) -> None:
        self.requests: list[Exchange] = []
        self.posted: asyncio.Queue[Exchange] = asyncio.Queue()
        self.streams: dict[str, asyncio.Queue[Exchange]] = defaultdict(asyncio.Queue)
        self.deleted = asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        self.requests.append(exchange)
        if exchange.method == "GET":
            await self.get(exchange)
        elif exchange.method == "DELETE":
            await exchange.reply(202)
            self.deleted.set()
        elif exchange.message.get("method") == "initialize":
            await self.initialize(exchange)
        else:
            await self.post(exchange)

    async def initialize(self, exchange: Exchange) -> None:
        await exchange.reply(200, self.welcome(exchange), **self.welcoming())

    def welcome(self, exchange: Exchange) -> str:
        agent = {"protocolVersion": 2, "info": {"name": "peer", "version": "1"}, "capabilities": {"session": {}}}
        return answer(exchange.message, agent)

    def welcoming(self) -> dict[str, str]:
        return {"content_type": "application/json", "acp_connection_id": self.CONNECTION}

    async def get(self, exchange: Exchange) -> None:
        """Open a stream, which a test gets from `stream`, and keep it until one of both sides ends it."""
        exchange.start()
        await self.streams[exchange.session].put(exchange)
        await exchange.gone()

    async def post(self, exchange: Exchange) -> None:
        await exchange.reply(202)
        await self.posted.put(exchange)

    async def stream(self, session: str = "") -> Exchange:
        """The next stream that is opened for a session, or for the connection."""
        return await self.streams[session].get()

    async def taken(self) -> Any:
        """The next message that was taken."""
        return (await self.posted.get()).message

    def of(self, method: str) -> list[Exchange]:
        """The exchanges of an HTTP method."""
        return [one for one in self.requests if one.method == method]


def answer(message: Any, result: Any) -> str:
    """The answer to a request."""
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})

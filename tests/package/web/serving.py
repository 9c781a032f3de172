"""A server for tests: an app under uvicorn, in this process, on a free port of the loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import uvicorn
from acp_bindings import http
from acp_bindings.runtime.routing import Handler
from acp_bindings.runtime.web.app import AcpApp

from tests.package.connection.agents import AGENTS

JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}
CONNECTION = "Acp-Connection-Id"
SESSION = "Acp-Session-Id"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": 2, "info": {"name": "wire", "version": "1"}},
}


def scripted() -> list[Handler]:
    return AGENTS["scripted"]()


class Server(uvicorn.Server):
    """Stops at once when it is told to, and leaves signals to the test runner."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop = asyncio.Event()

    async def main_loop(self) -> None:
        await self.stop.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def running(app: Any, **options: Any) -> AsyncIterator[str]:
    """Serve an ASGI app; gives the URL of its root. It has shut down in good order when this ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    settings: dict[str, Any] = {"lifespan": "on", "log_level": "warning", "ws_max_size": 2**26, **options}
    server = Server(uvicorn.Config(app, **settings))
    serving = asyncio.create_task(server.serve([listening]))
    port = listening.getsockname()[1]
    try:
        while not server.started:
            if serving.done():
                raise RuntimeError("the server did not start")
            await asyncio.sleep(0.001)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop.set()
        if isinstance(app, AcpApp):
            await app.shutdown()
        await serving


class Peer:
    """A bare HTTP client of one connection."""

    def __init__(self, client: httpx.AsyncClient, url: str, headers: dict[str, str] | None = None) -> None:
        self.client = client
        self.url = url
        self.headers = dict(headers or {})

    async def initialize(self, message: Any = INITIALIZE) -> httpx.Response:
        response = await self.post(message)
        if CONNECTION in response.headers:
            self.headers[CONNECTION] = response.headers[CONNECTION]
        return response

    async def post(self, message: Any, session: str | None = None, **headers: str) -> httpx.Response:
        """POST a message: bytes as they are, anything else as JSON."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = JSON | self.headers | ({} if session is None else {SESSION: session}) | headers
        return await self.client.post(self.url, content=body, headers=given)

    async def request(self, identity: Any, method: str, params: Any, session: str | None = None) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
        return await self.post(message, session)

    async def delete(self) -> httpx.Response:
        return await self.client.delete(self.url, headers=self.headers)

    @contextlib.asynccontextmanager
    async def stream(self, session: str | None = None) -> AsyncIterator[Events]:
        """An open stream. One that was left a moment ago may seem to be read still, which is asked again."""
        given = EVENTS | self.headers | ({} if session is None else {SESSION: session})
        status = 409
        while status in (409, 429):
            async with self.client.stream("GET", self.url, headers=given) as response:
                status = response.status_code
                if status == 200:
                    assert response.headers["content-type"].startswith("text/event-stream")
                    yield Events(response)
        assert status == 200


class Events:
    """The messages of a stream."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments = 0
        self._lines = response.aiter_lines()

    async def next(self) -> Any:
        """The next message; None at the end."""
        async for line in self._lines:
            if line.startswith("data: "):
                return json.loads(line[6:])
            self.comments += line.startswith(":")
        return None

    async def take(self, count: int) -> list[Any]:
        return [await self.next() for _ in range(count)]

    async def rest(self) -> list[Any]:
        found = []
        while (message := await self.next()) is not None:
            found.append(message)
        return found


@contextlib.asynccontextmanager
async def client(**options: Any) -> AsyncIterator[httpx.AsyncClient]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    settings: dict[str, Any] = {"limits": limits, "timeout": 30, "trust_env": False, **options}
    async with httpx.AsyncClient(**settings) as made:
        yield made


@contextlib.asynccontextmanager
async def served(factory: Any = scripted, **options: Any) -> AsyncIterator[tuple[AcpApp, Peer]]:
    """An app under uvicorn, and a peer that has not been let in yet."""
    app = http.app(factory, **options)
    async with running(app) as root, client() as made:
        yield app, Peer(made, root + app.path)

"""The suite's view of HTTP and of WebSockets: our app under uvicorn on one side, our client on the other, and bare ends
that say what a test wants said."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from acp_bindings import http, ws
from acp_bindings.runtime.transports.lines import Oversized
from acp_bindings.runtime.transports.sse import read_events
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as dial
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.package.connection.agents import AGENTS, SESSION
from tests.package.connection.wires import Script, Wire
from tests.package.web.serving import Peer, client, running
from tests.support.http_peer import Exchange, HttpPeer, ScriptedServer


@contextlib.asynccontextmanager
async def app_of(name: str, **options: Any) -> AsyncIterator[str]:
    """One of our agents behind HTTP; gives the URL."""
    app = http.app(AGENTS[name], **options)
    async with running(app) as root:
        yield root + app.path


class BarePeer:
    """A client by hand: what it is sent on any stream, and in the bodies of answers, in one queue."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.streams: dict[str | None, asyncio.Task[None]] = {}

    async def write(self, frame: bytes) -> None:
        session = _session(frame)
        if session is not None:
            await self.listen(session)
        if self._is_open:
            response = await self.peer.post(frame, session)
        else:
            response = await self.peer.initialize(json.loads(frame))
            if b'"error"' in response.content:
                # There is no connection, though its id was told.
                self.peer.headers.pop("Acp-Connection-Id", None)
        if response.headers.get("content-type") == "application/json":
            self.came.put_nowait(response.content)
        if self._is_open:
            # What the agents of the suite say is said in this session, if in any.
            for scope in (None, SESSION):
                await self.listen(scope)

    @property
    def _is_open(self) -> bool:
        return "Acp-Connection-Id" in self.peer.headers

    async def listen(self, session: str | None) -> None:
        """Have a stream open."""
        if session in self.streams:
            return
        opened = asyncio.Event()

        async def read() -> None:
            async with self.peer.stream(session) as events:
                opened.set()
                async for _ in read_events(events.response.aiter_bytes(), 2**26, take):
                    pass
            self.came.put_nowait(None)

        def take(frame: bytes | Oversized) -> None:
            assert isinstance(frame, bytes)
            self.came.put_nowait(frame)

        self.streams[session] = asyncio.create_task(read())
        await opened.wait()

    async def close(self) -> None:
        await self.peer.delete()
        for task in self.streams.values():
            await task


def _session(frame: bytes) -> str | None:
    with contextlib.suppress(ValueError, AttributeError, RecursionError):
        params = json.loads(frame).get("params")
        if isinstance(params, dict) and isinstance(params.get("sessionId"), str):
            return str(params["sessionId"])
    return None


class BareServer(ScriptedServer):
    """A server whose agent is a script: what that says goes out on the connection's stream, where all may come."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self.script = script
        self.plays: list[Play] = []

    async def __call__(self, exchange: Exchange) -> None:
        known = exchange.headers.get("acp-connection-id")
        if exchange.method == "POST" and known is None:
            play = Play(self.script)
            self.plays.append(play)
            await play.welcome(exchange, str(len(self.plays)))
            return
        play = self.plays[int(known or "0") - 1]
        if play.over.is_set():
            await exchange.reply(404, "gone")
        elif exchange.method == "GET":
            await play.stream(exchange)
        elif exchange.method == "DELETE":
            play.came.put_nowait(None)
            await exchange.reply(202)
        else:
            await play.take(exchange)


class Play:
    """One run of a script, over one connection."""

    def __init__(self, script: Script) -> None:
        self.came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.going: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.welcomed: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()
        self.running = asyncio.create_task(self.run(script))

    async def run(self, script: Script) -> None:
        try:
            await script(Wire(self.write, self.came.get))
        finally:
            self.going.put_nowait(None)
            if not self.welcomed.done():
                self.welcomed.set_result(None)

    async def write(self, frame: bytes) -> None:
        if not self.welcomed.done() and b'"method"' not in frame:
            self.welcomed.set_result(frame)
        else:
            self.going.put_nowait(frame)

    async def welcome(self, exchange: Exchange, identity: str) -> None:
        self.came.put_nowait(exchange.body)
        answer = await self.welcomed
        if answer is None:
            exchange.end()
        else:
            headers = {"content_type": "application/json", "acp_connection_id": identity}
            await exchange.reply(200, answer, **headers)

    async def take(self, exchange: Exchange) -> None:
        self.came.put_nowait(exchange.body)
        await exchange.reply(202)

    async def stream(self, exchange: Exchange) -> None:
        exchange.start()
        if exchange.session:
            await exchange.gone()
            return
        while (frame := await self.going.get()) is not None:
            await exchange.event(frame)
        self.over.set()


class Http:
    """Our app under uvicorn, and our client."""

    one_way = False
    text = False

    @contextlib.asynccontextmanager
    async def agent(self, name: str, client: Any, **options: Any) -> AsyncIterator[Any]:
        async with app_of(name) as url, http.connect(url, client=client, **options) as remote:
            yield remote

    @contextlib.asynccontextmanager
    async def wire(self, name: str, **limits: int) -> AsyncIterator[Wire]:
        async with app_of(name, **limits) as url, client() as made:
            bare = BarePeer(Peer(made, url))
            yield Wire(bare.write, bare.came.get)
            await bare.close()

    @contextlib.asynccontextmanager
    async def scripted(self, script: Script, client: Any, **options: Any) -> AsyncIterator[Any]:
        server = BareServer(script)
        async with HttpPeer(server) as peer:
            try:
                async with http.connect(peer.url, client=client, **options) as remote:
                    yield remote
            finally:
                await asyncio.gather(*(play.running for play in server.plays))


class WebSocket:
    """The same app, and our client over a WebSocket."""

    one_way = True
    text = True

    @contextlib.asynccontextmanager
    async def agent(self, name: str, client: Any, **options: Any) -> AsyncIterator[Any]:
        async with app_of(name) as url, ws.connect(url, client=client, **options) as remote:
            yield remote

    @contextlib.asynccontextmanager
    async def wire(self, name: str, **limits: int) -> AsyncIterator[Wire]:
        async with (
            app_of(name, **limits) as url,
            dial(url.replace("http", "ws", 1), max_size=None, ping_interval=None) as socket,
        ):
            yield _socket_wire(socket)

    @contextlib.asynccontextmanager
    async def scripted(self, script: Script, client: Any, **options: Any) -> AsyncIterator[Any]:
        runs: list[asyncio.Future[None]] = []

        async def play(socket: ServerConnection) -> None:
            run = asyncio.ensure_future(script(_socket_wire(socket)))
            runs.append(run)
            await asyncio.wait([run])

        async with serve(play, "127.0.0.1", 0, max_size=None, ping_interval=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            try:
                async with ws.connect(f"ws://127.0.0.1:{port}/acp", client=client, **options) as remote:
                    yield remote
            finally:
                await asyncio.gather(*runs)


def _socket_wire(socket: ClientConnection | ServerConnection) -> Wire:
    async def write(frame: bytes) -> None:
        with contextlib.suppress(ConnectionClosed):
            await socket.send(frame, text=True)

    async def read() -> bytes | None:
        with contextlib.suppress(ConnectionClosed):
            return await socket.recv(decode=False)
        return None

    return Wire(write, read)

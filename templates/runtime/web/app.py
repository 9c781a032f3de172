"""The ASGI app: one path, on which POST, GET, DELETE and upgrades are answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from . import CONNECTION_HEADER, EVENT_STREAM, headers, log
from .gate import Gate, normal
from .posting import Posting
from .refusals import Refused
from .settings import AgentFactory, Authenticator, Settings
from .signals import noticed
from .socket import SocketTransport
from .streams import Reader
from .table import Table
from .workers import refuse_workers

METHODS = ("GET", "POST", "DELETE")


class AcpApp(Starlette):
    """Serves agents over HTTP and WebSocket. Make it with `acp_bindings.http.app`.

    An ASGI server starts and ends it by the lifespan protocol, which reaches the outermost app alone. Who mounts it in
    an app of their own enters `running()` in the lifespan of that.
    """

    def __init__(
        self,
        agent_factory: AgentFactory,
        settings: Settings,
        *,
        path: str,
        token: str | None,
        authenticate: Authenticator | None,
        allowed_origins: Sequence[str] | None,
        affinity: tuple[str, str] | None,
    ) -> None:
        self.path = path
        self.settings = settings
        self.connections = Table(settings)
        gate = Gate(token, authenticate, allowed_origins)
        endpoint = Endpoint(gate, Posting(settings, self.connections, agent_factory), self.connections, settings)
        if affinity is not None:
            endpoint.cookie = _cookie(*affinity)
        middleware = []
        if allowed_origins:
            # What a page of another origin may ask, browsers ask first. Which header an authenticator wants, it knows.
            middleware.append(
                Middleware(
                    CORSMiddleware,
                    allow_origins=[normal(one) for one in allowed_origins],
                    allow_methods=METHODS,
                    allow_headers=["*"],
                    expose_headers=[CONNECTION_HEADER],
                    allow_credentials="*" not in allowed_origins,
                )
            )
        super().__init__(
            routes=[Route(path, endpoint), WebSocketRoute(path, endpoint)],
            middleware=middleware,
            lifespan=lambda _: self.running(),
        )
        self._ending: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time from the start of the server to its end, by a signal or otherwise; all connections end with it.

        Raises RuntimeError in one of several workers, as far as the server's command line tells.
        """
        refuse_workers()
        self.connections.closing = False
        self.connections.watched = True
        with noticed(self._begin_to_end):
            try:
                yield
            finally:
                await self.shutdown()

    def _begin_to_end(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self.shutdown())

    async def shutdown(self) -> None:
        """End every connection: turns are cancelled, streams and sockets closed. Answers 503 from now on.

        Returns when nothing is left running, some seconds later at worst.
        """
        await self.connections.shut_down()


class Endpoint:
    """What stands on the path."""

    def __init__(self, gate: Gate, posting: Posting, table: Table, settings: Settings) -> None:
        self.cookie: tuple[bytes, bytes] | None = None
        self._gate = gate
        self._posting = posting
        self._table = table
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._upgrade(WebSocket(scope, receive, send))
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Refused as refused:
            refused.tell(request)
            response = refused.response()
        except ClientDisconnect:
            log.info("a client went away in the middle of its %s", request.method)
            return
        await response(scope, receive, send)

    # requests

    async def _answer(self, request: Request) -> Response:
        if request.method not in METHODS:
            raise Refused(405, "POST, GET and DELETE are answered here", headers={"Allow": ", ".join(METHODS)})
        principal = await self._admit(request)
        if request.method == "POST":
            response = await self._posting.answer(request, principal)
            if CONNECTION_HEADER in response.headers and self.cookie is not None:
                response.raw_headers.append(self.cookie)
            return response
        if request.method == "GET":
            return self._stream(request, principal)
        entry, _ = self._table.find(self._connection_id(request), principal)
        self._table.drop(entry, "the client has ended it")
        return Response(status_code=202)

    async def _admit(self, connection: HTTPConnection) -> Any:
        if self._table.closing:
            raise Refused(503, "the server is shutting down")
        return await self._gate.admit(connection)

    def _connection_id(self, request: Request) -> str:
        identity = headers.connection_id(request.headers)
        if identity is None:
            raise Refused(400, f"{CONNECTION_HEADER} is missing")
        return identity

    def _stream(self, request: Request, principal: Any) -> Response:
        if request.headers.get("upgrade", "").lower() == "websocket":
            raise Refused(501, "this server has no code for WebSockets: pip install acp-bindings[ws]")
        if not headers.takes_events(request.headers):
            raise Refused(406, f"what a GET brings is {EVENT_STREAM}")
        entry, transport = self._table.find(self._connection_id(request), principal)
        scope = headers.session_id(request.headers)
        self._posting.make_room(transport, scope)
        reader = transport.open(scope)
        if reader is None:
            raise Refused(409, "this stream has a reader already")
        return EventStream(reader, self._table.using(entry))

    # upgrades

    async def _upgrade(self, websocket: WebSocket) -> None:
        try:
            principal = await self._admit(websocket)
            with self._table.room():
                agents = await self._posting.agents()
                identity = self._table.new_id()
                await self._accept(websocket, identity)
                transport = SocketTransport(websocket, self._settings)
                entry = self._table.open(identity, transport, principal, agents)
        except Refused as refused:
            refused.tell(websocket)
            await _deny(websocket, refused)
            return
        await self._table.served(entry)

    async def _accept(self, websocket: WebSocket, identity: str) -> None:
        given = [(CONNECTION_HEADER.lower().encode(), identity.encode())]
        if self.cookie is not None:
            given.append(self.cookie)
        asked = websocket.scope.get("subprotocols", [])
        subprotocol = next((one for one in asked if one in self._settings.subprotocols), None)
        await websocket.accept(subprotocol, given)


class EventStream(StreamingResponse):
    """A stream of events, which is its reader's until it ends."""

    def __init__(self, reader: Reader, using: contextlib.AbstractContextManager[None]) -> None:
        super().__init__(
            reader, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}, media_type=EVENT_STREAM
        )
        self._reader = reader
        self._using = using

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._using:
                await super().__call__(scope, receive, send)
        except ClientDisconnect:
            pass
        finally:
            self._reader.close()

    async def listen_for_disconnect(self, receive: Receive) -> None:
        await super().listen_for_disconnect(receive)
        self._reader.gone = True


async def _deny(websocket: WebSocket, refused: Refused) -> None:
    """Refuse an upgrade, with status and reason where the server can say them; it says 403 otherwise."""
    if "websocket.http.response" in websocket.scope.get("extensions", {}):
        await websocket.send_denial_response(refused.response())
    else:
        await websocket.close()


def _cookie(name: str, value: str) -> tuple[bytes, bytes]:
    response = Response()
    response.set_cookie(name, value, path="/", httponly=True, samesite="lax")
    return next(header for header in response.raw_headers if header[0] == b"set-cookie")

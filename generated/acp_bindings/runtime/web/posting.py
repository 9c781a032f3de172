"""What a POST does: opens a connection, or brings one a message."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .. import jsonrpc
from ..door import agents_of
from ..errors import ConnectionClosed
from ..opening import INITIALIZE
from ..routing import Handler
from ..transports.lines import Oversized
from ..transports.outline import session_of
from . import CONNECTION_HEADER, JSON, SESSION_HEADER, headers, log
from .body import TooLarge, read_body
from .refusals import Refused, hanging_up
from .settings import AgentFactory, Settings
from .streams import Scope
from .table import Entry, Table, gone
from .transport import StreamsTransport

PATIENCE = 60.0
"""Seconds that a message waits while its connection has more than enough to do."""


class Posting:
    """Answers POSTs."""

    def __init__(self, settings: Settings, table: Table, factory: AgentFactory) -> None:
        self._settings = settings
        self._table = table
        self._factory = factory

    async def answer(self, request: Request, principal: Any) -> Response:
        """Raises Refused, ClientDisconnect."""
        if not headers.is_json(request.headers):
            raise Refused(415, "a message is sent as application/json, uncompressed and in UTF-8")
        identity = headers.connection_id(request.headers)
        if identity is None:
            return await self._open(request, principal)
        entry, transport = self._table.find(identity, principal)
        with self._table.using(entry):
            try:
                return await self._bring(request, entry, transport)
            except ConnectionClosed as error:
                raise gone(error) from None

    # the first message

    async def _open(self, request: Request, principal: Any) -> Response:
        self._table.make_room()
        try:
            message = await self._read(request, null_ids=True)
        except TooLarge as error:
            raise _too_large(request, error, self._settings.max_message) from None
        if isinstance(message, jsonrpc.Malformed):
            raise _malformed(message)
        if not isinstance(message, jsonrpc.Request) or message.method != INITIALIZE:
            raise _invalid(message, f"{CONNECTION_HEADER} is missing; without it, a POST is an initialize request")
        if headers.session_id(request.headers) is not None:
            raise _invalid(message, f"{SESSION_HEADER} on an initialize request")
        agents = await self.agents()
        self._table.make_room()
        transport = StreamsTransport(self._settings)
        entry = self._table.open(self._table.new_id(), transport, principal, agents)
        with self._table.using(entry):
            kept = False
            try:
                frame = await self._answered(request, transport, message)
                answer = jsonrpc.read(frame)
                kept = isinstance(answer, jsonrpc.Response) and answer.error is None
            except ConnectionClosed as error:
                text = "the agent ended the connection"
                body = jsonrpc.failure(message.id, jsonrpc.INTERNAL_ERROR, text)
                raise Refused(500, text, frame=body, detail=f"{text}: {error.reason}") from None
            finally:
                if not kept:
                    self._table.drop(entry, "it was not initialized")
        # Of a refusal nothing is left but the answer, which the SDK's client hands on only with an id (T).
        return Response(frame, 200, {CONNECTION_HEADER: entry.id}, JSON)

    async def agents(self) -> Sequence[Handler]:
        """The agents of a new connection. Raises Refused."""
        try:
            made = self._factory()
            agents = await made if inspect.isawaitable(made) else made
            return agents_of(agents)
        except Exception:
            log.exception("the agent could not be made")
            raise Refused(500, "the agent could not be made") from None

    # the others

    async def _bring(self, request: Request, entry: Entry, transport: StreamsTransport) -> Response:
        try:
            async with asyncio.timeout(PATIENCE):
                await transport.ready()
        except TimeoutError:
            text = "the agent has more than enough to do"
            raise Refused(503, text, headers=hanging_up(request) | {"Retry-After": "5"}) from None
        connection = entry.connection
        try:
            message = await self._read(request, null_ids=connection is not None and connection.null_ids)
        except TooLarge as error:
            if jsonrpc.peek(error.head, b"")[0] == "response":
                # The call that it answers fails, rather than to wait for ever.
                transport.feed(Oversized(error.size, self._settings.max_message, error.head))
            raise _too_large(request, error, self._settings.max_message) from None
        if isinstance(message, jsonrpc.Malformed):
            if message.reply is None:
                transport.feed(message.raw)
            raise _malformed(message)
        if isinstance(message, jsonrpc.Response):
            self._check_answer(request, transport, message)
            transport.feed(message.raw)
            return Response(status_code=202)
        scope = self._scope(request, transport, message)
        if isinstance(message, jsonrpc.Request):
            if transport.is_pending(message.id):
                # With that id it would be taken for the answer to the first one.
                reason = f"the id {message.id!r:.100} is in use"
                raise Refused(400, reason, frame=jsonrpc.failure(None, jsonrpc.INVALID_REQUEST, reason))
            if message.method == INITIALIZE:
                return Response(await self._answered(request, transport, message), 200, media_type=JSON)
            transport.expect(message.id, scope)
        transport.feed(message.raw)
        return Response(status_code=202)

    def _scope(
        self, request: Request, transport: StreamsTransport, message: jsonrpc.Request | jsonrpc.Notification
    ) -> Scope:
        """The session that a message is about. Raises Refused where header and params do not agree."""
        given, named = headers.session_id(request.headers), session_of(message.params) or None
        if named is not None and given is None:
            raise _invalid(message, f"{SESSION_HEADER} is missing, though params name a session")
        if named is not None and not headers.names(request.headers, named):
            raise _invalid(message, f"{SESSION_HEADER} is not the session that params name")
        scope = given if named is None else named
        if scope is not None:
            self.make_room(transport, scope)
        return scope

    def make_room(self, transport: StreamsTransport, scope: Scope) -> None:
        """Raises Refused for one session too many."""
        if scope is not None and not transport.has(scope) and transport.sessions() >= self._settings.max_sessions:
            raise Refused(429, "too many sessions on one connection")

    def _check_answer(self, request: Request, transport: StreamsTransport, message: jsonrpc.Response) -> None:
        """An answer has no params: what session it is about is known from what it answers."""
        given, asked = headers.session_id(request.headers), transport.asked_in(message.id)
        if given is not None and asked is not None and not headers.names(request.headers, asked):
            raise Refused(400, f"{SESSION_HEADER} is not the session that was asked in")
        transport.settled(message.id)

    async def _read(self, request: Request, null_ids: bool) -> jsonrpc.Message:
        body = await read_body(request, self._settings.max_message, self._settings.body_timeout)
        return jsonrpc.read(body, null_ids)

    async def _answered(self, request: Request, transport: StreamsTransport, message: jsonrpc.Request) -> bytes:
        """Feed a request and wait for its answer, as long as the client does."""
        waiter = transport.ask(message.id)
        transport.feed(message.raw)
        leaving = asyncio.ensure_future(_leaving(request))
        both: set[asyncio.Future[Any]] = {waiter, leaving}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not waiter.done():
                waiter.cancel()
        if waiter.cancelled():
            raise ClientDisconnect
        return waiter.result()


async def _leaving(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _invalid(message: jsonrpc.Message, reason: str) -> Refused:
    """A message that does not go with its headers: a request is refused by its id."""
    if not isinstance(message, jsonrpc.Request):
        return Refused(400, reason)
    return Refused(400, reason, frame=jsonrpc.failure(message.id, jsonrpc.INVALID_REQUEST, reason))


def _malformed(message: jsonrpc.Malformed) -> Refused:
    """A body that is no message; what it draws as JSON-RPC is the answer's body. Nothing is answered to an answer."""
    return Refused(400, message.reason[:200], frame=message.reply)


def _too_large(request: Request, error: TooLarge, limit: int) -> Refused:
    reason = f"a message of {error.size} bytes is over the limit of {limit}"
    kind, identity = jsonrpc.peek(error.head, b"")
    frame = jsonrpc.failure(identity, jsonrpc.INVALID_REQUEST, reason) if kind == "request" else None
    return Refused(413, reason, frame=frame, headers=hanging_up(request))

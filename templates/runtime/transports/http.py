"""A client's end of HTTP: what goes out is POSTed, what comes in arrives on streams of events.

The order of what goes out: the messages of one session follow each other, and so do those of no session, each POSTed
when the one before it was taken; sessions do not wait for one another. A server that keeps a POST open until it has
the answer is not waited for longer than `PATIENCE`, so that a permission may be given while a prompt is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

import httpx
import msgspec

from ..errors import ConnectionClosed, HttpError
from . import MAX_MESSAGE, MAX_OUTPUT, Congestion, Receiver, oversized
from .clients import Clients, timeouts
from .lines import KEPT, Oversized
from .outline import outline
from .scopes import Outgoing, Scope, Scopes
from .streams import MAX_REOPENS, UNKNOWN, EventStream, OnLost, log, read_bounded, refusal, told

CONNECTION_ID = "Acp-Connection-Id"
SESSION_ID = "Acp-Session-Id"
INITIALIZE = "initialize"
PATIENCE = 1.0
"""Seconds that a message waits for the one before it to be taken, once that was sent."""
OPENING = 5.0
"""Seconds that a message of a session waits for the session's stream to be open."""
FLUSH = 2.0
"""Seconds that closing waits for what was written to be taken, and then for the server to hear that it is over."""
LINGER = 1.0
"""Seconds that a session's stream stays open after the session was closed, for what is on its way."""
MOVES = 3
"""Times that the first message follows a redirect."""


class HttpTransport:
    """A connection to an agent's server. It begins with the first message, which has to be `initialize`.

    `silence` is the seconds that a stream may bring nothing, not even a comment, before it counts as dropped.
    """

    # An event that is no message is refused like one: nothing but messages has business on a stream.
    noisy = False

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        client: httpx.AsyncClient | None = None,
        limit: int = MAX_MESSAGE,
        max_output: int = MAX_OUTPUT,
        silence: float | None = None,
        max_reopens: int = MAX_REOPENS,
        on_stream_lost: OnLost | None = None,
    ) -> None:
        self.limit = limit
        self.connection_id = ""
        self._url = httpx.URL(url)
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise ValueError(f"no http:// or https:// URL: {url}")
        self._headers = httpx.Headers(headers, encoding="utf-8")
        self._clients = Clients(client)
        self._max_output = max_output
        self._silence = silence
        self._max_reopens = max_reopens
        self._on_stream_lost = on_stream_lost
        self._receiver: Receiver | None = None
        self._gate = asyncio.Event()
        self._gate.set()
        self._room = Congestion()
        self._size = 0
        self._scopes = Scopes()
        # Set while the first message is under way, and done from then on.
        self._opening: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost: ConnectionClosed | None = None
        self._closed = False

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def pause(self) -> None:
        self._gate.clear()

    def resume(self) -> None:
        self._gate.set()

    # out

    def write(self, frame: bytes) -> bool:
        if self._lost is not None:
            raise self._lost.again()
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        scope = self._scopes.put(frame)
        if self._opening is None and scope.waiting[-1].outline.method == INITIALIZE:
            self._opening = asyncio.get_running_loop().create_future()
        self._size += len(frame)
        if scope.sending is None:
            scope.sending = self._spawn(self._send(scope))
        return self._size > self._max_output

    async def drain(self) -> None:
        while self._size > self._max_output and self._lost is None:
            await self._room.wait()
        if self._lost is not None:
            raise self._lost.again()

    async def _send(self, scope: Scope) -> None:
        """POST what a scope has to say, one after the other."""
        while scope.waiting:
            out = scope.waiting.popleft()
            if out.outline.method == INITIALIZE:
                await self._post(out)
                continue
            if self._opening is not None:
                await asyncio.wait([self._opening])
            if out.session:
                await self._listen(scope)
            sent = asyncio.Event()
            posting = self._spawn(self._post(out, sent))
            await sent.wait()
            await asyncio.wait([posting], timeout=PATIENCE)
        scope.sending = None
        self._look_after(scope)

    async def _post(self, out: Outgoing, sent: asyncio.Event | None = None) -> None:
        """Send one message, and see to what becomes of it. `sent` is set once nothing of it is left to send."""
        what = out.outline.method or "an answer"
        first = self._opening is not None and not self._opening.done()
        try:
            if first:
                await self._initialize(out)
            elif not out.outline.is_request or out.outline.id in self._scopes.get(out.session).asked:
                await self._exchange(out, what, sent)
        except HttpError as error:
            self._undelivered(out, what, error)
        except httpx.PoolTimeout:
            self._undelivered(out, what, HttpError("the httpx client has no connection left in its pool"))
        except Exception as error:
            # Whatever httpx raises, or what the user has put in its place.
            if first:
                self._end(ConnectionClosed(f"{self._url} could not be reached: {told(error)}"))
            else:
                self._undelivered(out, what, HttpError(f"it is unknown whether the server got it: {told(error)}"))
        finally:
            if first and self._opening is not None and not self._opening.done():
                self._opening.set_result(None)
            if sent is not None:
                sent.set()
            self._size -= len(out.frame)
            if self._size <= self._max_output:
                self._room.clear()

    def _request(
        self, out: Outgoing, sent: asyncio.Event | None
    ) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        async def trace(event: str, _: Mapping[str, Any]) -> None:
            if sent is not None and event.endswith(".send_request_body.complete"):
                sent.set()

        return self._clients.messages.stream(
            "POST",
            self._url,
            content=out.frame,
            headers=self._own(out.session, {"Content-Type": "application/json", "Accept": "application/json"}),
            timeout=timeouts(None),
            extensions={"trace": trace},
        )

    def _own(self, session: str, more: dict[str, str]) -> httpx.Headers:
        """The user's headers, those that name the connection and the session, and `more`."""
        headers = self._headers.copy()
        names = {CONNECTION_ID: self.connection_id, SESSION_ID: session}
        for name, value in (more | {name: value for name, value in names.items() if value}).items():
            headers[name] = value
        return headers

    async def _exchange(self, out: Outgoing, what: str, sent: asyncio.Event | None) -> None:
        scope = self._scopes.get(out.session)
        async with self._request(out, sent) as response:
            if not response.is_success:
                error = await refusal(what, response)
                if response.status_code not in UNKNOWN or not self.connection_id:
                    raise error
                self._forgotten(error)
            elif response.status_code == 200 and _is_json(response):
                body = await read_bounded(response, self.limit)
                if body.strip():
                    self._take(_bounded(body, self.limit), scope)
        if out.session and scope.stream is None and scope.asked and self._lost is None:
            # A server may have known nothing of this session before.
            self._open_stream(scope)

    async def _initialize(self, out: Outgoing) -> None:
        """The first message, whose answer is the response, and which makes the connection."""
        for _ in range(MOVES + 1):
            async with self._request(out, None) as response:
                moved = response.next_request if response.status_code in (307, 308) else None
                if moved is not None and _origin(moved.url) == _origin(self._url):
                    self._url = moved.url
                    continue
                if not response.is_success:
                    raise await refusal(f"{INITIALIZE} at {self._url}", response)
                body = await read_bounded(response, self.limit) if _is_json(response) else b""
                connection = response.headers.get(CONNECTION_ID, "")
                # Where the agent refuses there need be no connection.
                refused = outline(body).failed
                if response.status_code != 200 or not body.strip() or not (connection or refused):
                    missing = "" if connection else f", without {CONNECTION_ID}"
                    reason = f"no ACP server at {self._url}: it answered with {response.status_code}{missing}"
                    raise HttpError(reason, response.status_code)
            scope = self._scopes.get("")
            self.connection_id = connection
            if not refused:
                self._open_stream(scope)
            self._take(_bounded(body, self.limit), scope)
            return
        raise HttpError(f"{self._url} redirects more than {MOVES} times", response.status_code)

    def _undelivered(self, out: Outgoing, what: str, error: HttpError) -> None:
        if out.outline.is_request:
            self._fail(out.outline.id, HttpError(f"{what}: {error.reason}", error.status, error.body))
        else:
            log.error("%s was not delivered: %s", what, error)

    def _fail(self, identity: bytes, error: HttpError) -> None:
        """A request of ours gets no answer."""
        if self._scopes.settle(identity) is not None and self._receiver is not None:
            self._receiver.undelivered(msgspec.json.decode(identity, type=int | str | None), error)

    # in

    async def _listen(self, scope: Scope) -> None:
        """Have a session's stream open before anything is sent that may be answered there."""
        if scope.stream is None:
            self._open_stream(scope)
        assert scope.stream is not None
        name, opened = scope.stream.name, scope.stream.opened
        try:
            async with asyncio.timeout(OPENING):
                await opened.wait()
        except TimeoutError:
            log.warning("%s has not opened within %s s", name, OPENING)

    def _open_stream(self, scope: Scope) -> None:
        @contextlib.asynccontextmanager
        async def get(more: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
            ours = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store", **more}
            headers = self._own(scope.session, ours)
            with self._clients.streaming() as client:
                timeout = timeouts(self._silence)
                async with client.stream("GET", self._url, headers=headers, timeout=timeout) as response:
                    yield response

        scope.stream = EventStream(
            scope.session,
            get,
            lambda frame: self._take(frame, scope),
            self._gate,
            limit=self.limit,
            max_reopens=self._max_reopens,
            on_lost=self._on_stream_lost,
        )
        scope.listening = self._spawn(self._run_stream(scope, scope.stream))

    async def _run_stream(self, scope: Scope, stream: EventStream) -> None:
        error: HttpError | None = None
        try:
            await stream.run()
        except HttpError as failure:
            error = failure
        if scope.stream is stream:
            scope.stream = scope.listening = None
        if error is None:
            return
        if error.status in UNKNOWN and scope.known:
            self._forgotten(error)
        elif not scope.session:
            self._end(ConnectionClosed(f"{error}; without that stream the connection is of no use"))
        elif error.status not in UNKNOWN:
            # The next message of the session opens another. (A session that is unknown may yet become known.)
            log.error("%s", error)
            for identity in list(scope.asked):
                self._fail(identity, HttpError(error.reason, error.status, error.body))

    def _take(self, frame: bytes | Oversized, stream: Scope) -> None:
        """A message has come."""
        if self._lost is not None or self._receiver is None:
            return
        if isinstance(frame, bytes):
            for scope in self._scopes.came(frame, stream):
                self._look_after(scope)
        self._receiver.received((frame,))

    def _look_after(self, scope: Scope) -> None:
        """Give a session that exists its stream, and let go of one that does not."""
        if scope.known and scope.stream is None and self._lost is None:
            self._open_stream(scope)
        elif scope.is_over:
            self._scopes.forget(scope)
            if scope.stream is not None and scope.listening is not None:
                scope.stream.retire()
                self._spawn(_ended_within(scope.listening, LINGER))

    # the end

    def _forgotten(self, error: HttpError) -> None:
        self.connection_id = ""
        self._end(ConnectionClosed(f"the server does not know this connection any more ({error}): connect anew"))

    def _end(self, error: ConnectionClosed) -> None:
        """Nothing more can come or go."""
        if self._lost is not None:
            return
        self._lost = error
        self._room.clear()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if self._receiver is not None:
            self._receiver.ended(error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            sending = [scope.sending for scope in self._scopes if scope.sending is not None]
            if sending:
                await asyncio.wait(sending, timeout=FLUSH)
            for scope in self._scopes:
                if scope.stream is not None:
                    scope.stream.retire()
            if self.connection_id:
                await self._delete()
        finally:
            self._lost = self._lost or ConnectionClosed("the connection was closed here")
            self._room.clear()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            await self._clients.close()

    async def _delete(self) -> None:
        """Tell the server that it is over."""
        try:
            async with asyncio.timeout(FLUSH):
                answer = await self._clients.messages.delete(self._url, headers=self._own("", {}))
            if not answer.is_success and answer.status_code not in UNKNOWN:
                log.warning("the server answered the end of the connection with %d", answer.status_code)
        except Exception as error:
            log.warning("the server was not told of the end of the connection: %s", told(error))


async def _ended_within(task: asyncio.Task[None], seconds: float) -> None:
    await asyncio.wait([task], timeout=seconds)
    task.cancel()


def _is_json(response: httpx.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return bool(kind == "application/json")


def _bounded(body: bytes, limit: int) -> bytes | Oversized:
    body = body.strip()
    return Oversized(len(body), limit, body[:KEPT], body[-KEPT:]) if len(body) > limit else body


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port

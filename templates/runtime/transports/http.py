"""A client's end of HTTP: what goes out is POSTed, what comes in arrives on streams of events.

The order of what goes out: the messages of one session follow each other, and so do those of no session, each POSTed
when the one before it was taken; sessions do not wait for one another. A server that keeps a POST open until it has
the answer is not waited for longer than `PATIENCE`, so that a permission may be given while a prompt is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

import httpx

from ..errors import ConnectionClosed, HttpError
from . import MAX_MESSAGE, MAX_OUTPUT, Congestion, Receiver, oversized
from .endpoint import Endpoint, answered, plainly
from .lines import Oversized
from .outline import read_id
from .scopes import Outgoing, Scope, Scopes
from .streams import MAX_REOPENS, UNKNOWN, EventStream, OnLost, log, refusal

INITIALIZE = "initialize"
PATIENCE = 1.0
"""Seconds that a message waits for the one before it to be taken, once that was sent."""
OPENING = 5.0
"""Seconds that a message of a session waits for the session's stream to be open."""
FLUSH = 2.0
"""Seconds that closing waits for what was written to be taken, and then for the server to hear that it is over."""
LINGER = 1.0
"""Seconds that a session's stream stays open after the session was closed, for what is on its way."""


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
        self._server = Endpoint(url, headers, client, silence)
        self._max_output = max_output
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
        first = self._opening is not None and not self._opening.done()
        try:
            with plainly():
                if first:
                    await self._open(out)
                elif not out.outline.is_request or out.outline.id in self._scopes.get(out.session).asked:
                    await self._exchange(out, sent)
        except HttpError as error:
            if first and error.status is None:
                self._end(ConnectionClosed(f"{self._server.url} could not be reached: {error}"))
            else:
                self._undelivered(out, error)
        finally:
            if first and self._opening is not None and not self._opening.done():
                self._opening.set_result(None)
            if sent is not None:
                sent.set()
            self._size -= len(out.frame)
            if self._size <= self._max_output:
                self._room.clear()

    async def _open(self, out: Outgoing) -> None:
        answer, is_open = await self._server.open(out.frame, self.limit)
        if is_open:
            self._open_stream(self._scopes.get(""))
        self._take(answer, self._scopes.get(""))

    async def _exchange(self, out: Outgoing, sent: asyncio.Event | None) -> None:
        async def trace(event: str, _: Mapping[str, Any]) -> None:
            if sent is not None and event.endswith(".send_request_body.complete"):
                sent.set()

        scope = self._scopes.get(out.session)
        async with self._server.post(out.frame, out.session, trace) as response:
            if response.is_success:
                answer = await answered(response, self.limit)
                if answer is not None:
                    self._take(answer, scope)
            else:
                error = await refusal(out.what, response)
                if response.status_code not in UNKNOWN or not self._server.connection_id:
                    raise error
                self._forgotten(error)
        if out.session and scope.stream is None and scope.asked and self._lost is None:
            # A server may have known nothing of this session before.
            self._open_stream(scope)

    def _undelivered(self, out: Outgoing, error: HttpError) -> None:
        if error.status is None:
            error = HttpError(f"{out.what} may not have reached the server: {error.reason}")
        if out.outline.is_request:
            self._fail(out.outline.id, error)
        else:
            log.error("%s was not delivered: %s", out.what, error)

    def _fail(self, identity: bytes, error: HttpError) -> None:
        """A request of ours gets no answer."""
        if self._scopes.settle(identity) is not None and self._receiver is not None:
            self._receiver.undelivered(read_id(identity), error)

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
        scope.stream = EventStream(
            scope.session,
            partial(self._server.listen, scope.session),
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
        self._server.connection_id = ""
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
            if self._server.connection_id:
                await self._server.delete(FLUSH)
        finally:
            self._lost = self._lost or ConnectionClosed("the connection was closed here")
            self._room.clear()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            await self._server.close()


async def _ended_within(task: asyncio.Task[None], seconds: float) -> None:
    await asyncio.wait([task], timeout=seconds)
    task.cancel()

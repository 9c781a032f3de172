"""A connection's transport over HTTP: POSTs in, answers and streams out."""

from __future__ import annotations

import asyncio
import contextlib

from .. import jsonrpc
from ..errors import ConnectionClosed
from ..transports import Congestion, Receiver, oversized
from ..transports.lines import Oversized
from ..transports.outline import Outline, given_up, outline, read_id
from .settings import Settings
from .streams import Reader, Scope, Stream

FLUSH = 2.0
"""Seconds that closing waits for open streams to take what is left for them."""


class StreamsTransport:
    """Frames out go to the stream that they belong to, and are kept while nobody reads it."""

    noisy = False

    def __init__(self, settings: Settings) -> None:
        self.limit = settings.max_message
        self.closed = False
        self._settings = settings
        self._receiver: Receiver | None = None
        self._early: list[bytes | Oversized] = []
        self._streams: dict[Scope, Stream] = {None: Stream(self._taken)}
        self._size = 0
        self._room = Congestion()
        self._full: Stream = self._streams[None]
        self._reading = asyncio.Event()
        self._reading.set()
        # Requests of the client: those that their own POST answers, and where the answers to the others go.
        self._inline: dict[jsonrpc.Id, asyncio.Future[bytes]] = {}
        self._answers: dict[jsonrpc.Id, Scope] = {}
        # Requests of the agent, by where they went.
        self._asked: dict[jsonrpc.Id, Scope] = {}

    # in

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        early, self._early = self._early, []
        receiver.received(early)

    def feed(self, frame: bytes | Oversized) -> None:
        """A message has come by POST."""
        if self.closed:
            raise ConnectionClosed("the connection is closed")
        if self._receiver is None:
            self._early.append(frame)
        else:
            self._receiver.received((frame,))

    def ask(self, identity: jsonrpc.Id) -> asyncio.Future[bytes]:
        """Before a request is fed whose answer its own POST waits for."""
        waiter: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._inline[identity] = waiter
        return waiter

    def expect(self, identity: jsonrpc.Id, scope: Scope) -> None:
        """Before any other request is fed: where its answer is to go."""
        self._answers[identity] = scope

    def is_pending(self, identity: jsonrpc.Id) -> bool:
        return identity in self._inline or identity in self._answers

    def asked_in(self, identity: jsonrpc.Id) -> Scope:
        """The session whose stream carried the agent's request of this id; None where none did."""
        return self._asked.get(identity)

    def settled(self, identity: jsonrpc.Id) -> None:
        """The client has answered the agent's request of this id."""
        self._asked.pop(identity, None)

    def pause(self) -> None:
        self._reading.clear()

    def resume(self) -> None:
        self._reading.set()

    async def ready(self) -> None:
        """Wait until messages are read. Raises ConnectionClosed."""
        await self._reading.wait()
        if self.closed:
            raise ConnectionClosed("the connection is closed")

    # out

    def write(self, frame: bytes) -> bool:
        """Keep a frame for its stream; whether that stream, or all of them together, hold more than they should."""
        if self.closed:
            raise ConnectionClosed("the connection was closed here")
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        seen = outline(frame)
        if seen.method:
            scope = self._scope(seen, frame)
        else:
            identity = seen.identity
            waiter = self._inline.pop(identity, None)
            if waiter is not None:
                if not waiter.done():
                    waiter.set_result(frame)
                return False
            scope = self._answers.pop(identity, None)
        stream = self._streams.get(scope)
        if stream is None:
            # The agent names its sessions: what it says of one is never dropped, however many there are.
            stream = self._streams[scope] = Stream(self._taken)
        stream.put(frame)
        self._size += len(frame)
        if stream.size <= self._settings.max_output and self._size <= self._settings.max_kept:
            return False
        self._full = stream
        return True

    def _scope(self, seen: Outline, frame: bytes) -> Scope:
        if seen.method == jsonrpc.CANCEL:
            # It must not overtake what it cancels.
            return self._asked.pop(read_id(given_up(frame)), None)
        scope = seen.session or None
        if seen.is_request:
            self._asked[seen.identity] = scope
        return scope

    async def drain(self) -> None:
        """Wait for room on the stream that `write` said was full; who was just told so calls this at once."""
        stream, settings = self._full, self._settings
        while not self.closed:
            if stream.size > settings.max_output:
                await stream.room.wait()
            elif self._size > settings.max_kept:
                await self._room.wait()
            else:
                return
        raise ConnectionClosed("the connection was closed here")

    def _taken(self, stream: Stream, size: int) -> None:
        self._size -= size
        if stream.size <= self._settings.max_output:
            stream.room.clear()
        if self._size <= self._settings.max_kept:
            self._room.clear()

    # streams

    def sessions(self) -> int:
        """How many sessions have a stream, open or kept."""
        return len(self._streams) - 1

    def has(self, scope: Scope) -> bool:
        return scope in self._streams

    def open(self, scope: Scope) -> Reader | None:
        """A reader for a stream, or None while it has one."""
        stream = self._streams.get(scope)
        if stream is None:
            stream = self._streams[scope] = Stream(self._taken)
            stream.ended = self.closed
        if stream.reader is not None:
            return None

        def left() -> None:
            if scope is not None and not stream.frames and self._streams.get(scope) is stream:
                del self._streams[scope]

        return Reader(stream, self._settings.keep_alive, left)

    async def close(self) -> None:
        """End the streams, after what they hold. What nobody reads is dropped with the connection."""
        if self.closed:
            return
        self.closed = True
        self._reading.set()
        self._room.clear()
        for waiter in self._inline.values():
            if not waiter.done():
                waiter.set_exception(ConnectionClosed("the agent has ended the connection"))
        streams = list(self._streams.values())
        for stream in streams:
            stream.end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH):
                for stream in streams:
                    if stream.reader is not None:
                        await stream.reader.closed.wait()

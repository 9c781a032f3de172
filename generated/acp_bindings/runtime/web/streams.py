"""One stream of server-sent events: what waits for it, and the response that takes it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from ..transports import Congestion

BURST = 64 * 1024
"""Bytes of frames that go out in one piece, which is what a broken stream may lose."""
COMMENT = b": keep-alive\n\n"
Scope = str | None
"""Whose a stream is: a session's, or the connection's (None)."""


class Stream:
    """Frames of one scope, kept until a reader has taken them. One reader at a time."""

    def __init__(self, taken: Callable[[Stream, int], None]) -> None:
        self.frames: deque[bytes] = deque()
        self.size = 0
        self.room = Congestion()
        self.reader: Reader | None = None
        self.ended = False
        self._taken = taken

    def put(self, frame: bytes) -> None:
        self.frames.append(frame)
        self.size += len(frame)
        self._wake()

    def end(self) -> None:
        """Nothing more comes: the reader ends once it has taken what is there."""
        self.ended = True
        self.room.clear()
        self._wake()

    def _wake(self) -> None:
        if self.reader is not None:
            self.reader.wake.set()

    def take(self, count: int) -> None:
        """The first `count` frames have gone out."""
        size = sum(len(self.frames.popleft()) for _ in range(count))
        self.size -= size
        self._taken(self, size)


class Reader:
    """What a response iterates over: events as bytes, and comments while there are none.

    What was given out counts as sent when more is asked for. So whatever had not left when a client went away is there
    for the next reader.
    """

    def __init__(self, stream: Stream, keep_alive: float, left: Callable[[], None]) -> None:
        self.wake = asyncio.Event()
        self.gone = False
        self.closed = asyncio.Event()
        self._stream = stream
        self._keep_alive = keep_alive
        self._left = left
        self._out = 0
        stream.reader = self

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> bytes:
        stream = self._stream
        if self._out:
            # A server drops in silence what it is given after the client went away: let that news come first.
            await asyncio.sleep(0)
            if self.gone:
                raise StopAsyncIteration
            count, self._out = self._out, 0
            stream.take(count)
        while not stream.frames:
            if stream.ended:
                raise StopAsyncIteration
            self.wake.clear()
            try:
                async with asyncio.timeout(self._keep_alive):
                    await self.wake.wait()
            except TimeoutError:
                return COMMENT
        return self._burst()

    def _burst(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        for frame in self._stream.frames:
            if parts and size + len(frame) > BURST:
                break
            parts.append(event(frame))
            size += len(frame)
        self._out = len(parts)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Leave the stream to another reader."""
        if not self.closed.is_set():
            self.closed.set()
            self._stream.reader = None
            self._left()


def event(frame: bytes) -> bytes:
    """A frame as an event of one line. Line ends stand between JSON tokens only, where a space does as well."""
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    return b"data: %b\n\n" % frame

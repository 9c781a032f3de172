"""Server-sent events out of bytes that come cut anywhere. Fields and their values are httpx-sse's business.

httpx-sse collects a line for as long as it goes on, so what it gets are whole events of a bounded size.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx
from httpx_sse import EventSource, ServerSentEvent

from .lines import KEPT, PIECES, Oversized

_BOM = b"\xef\xbb\xbf"
SLACK = 4096
"""Bytes of field names, ids and comments that an event may have beside its message."""


class EventSplitter:
    """Collects bytes and gives out whole events, each with the blank line that ends it; every line end is a `\\n` then.

    A line may end with LF, CR or CRLF. Cost is linear however the bytes come. An event of more than `limit` bytes
    comes out as `Oversized`, of which the ends are those of its data, and the events after it are unharmed.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The pieces of an event that has begun, and what many small ones were joined to.
        self._pieces: list[bytes] = []
        self._blocks: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._start = b""
        self._first = True
        self._after_return = False
        self._at_line_start = True

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The events that these bytes complete."""
        if self._first:
            data = self._without_mark(data)
        data = self._with_newlines(data)
        found: list[bytes | Oversized] = []
        start = 0
        while start < len(data):
            if self._at_line_start and data.startswith(b"\n", start):
                end = start + 1
            elif (blank := data.find(b"\n\n", start)) >= 0:
                end = blank + 2
            else:
                self._add(data[start:])
                break
            self._add(data[start:end])
            self._finish(found)
            start = end
        return found

    def _without_mark(self, data: bytes) -> bytes:
        """Drop a byte order mark, which may come in pieces."""
        data = self._start + data
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._start = data
            return b""
        self._start = b""
        self._first = False
        return data.removeprefix(_BOM)

    def _with_newlines(self, data: bytes) -> bytes:
        """Each line end as `\\n`. A CR ends a line at once: an LF that follows in the next bytes is dropped then."""
        if self._after_return and data:
            self._after_return = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_return = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces.append(piece)
        self._at_line_start = piece.endswith(b"\n")
        if self._size > self._limit:
            if self._head is None:
                _, _, value = self._joined().partition(b"data:")
                self._head = value[: KEPT + 1].removeprefix(b" ")
            self._pieces, self._blocks = [self._joined()[-KEPT:]], []
        elif len(self._pieces) == PIECES:
            self._blocks.append(b"".join(self._pieces))
            self._pieces.clear()
        if self._at_line_start and len(self._pieces) == 1 and piece.startswith(b":") and not self._blocks:
            self._forget_comments(piece)

    def _forget_comments(self, piece: bytes) -> None:
        """A stream kept alive by comments without blank lines must not add up to an event."""
        if self._head is None and all(line.startswith(b":") for line in piece.splitlines()):
            self._pieces, self._size = [], 0

    def _joined(self) -> bytes:
        return b"".join((*self._blocks, *self._pieces))

    def _finish(self, found: list[bytes | Oversized]) -> None:
        if self._head is not None:
            found.append(Oversized(self._size, self._limit, self._head, self._joined().rstrip(b"\n")))
        elif self._size > 1:
            found.append(self._joined())
        self._pieces, self._blocks = [], []
        self._size = 0
        self._head = None
        self._at_line_start = True


class _Blocks(httpx.AsyncByteStream):
    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        self._blocks = blocks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._blocks


async def read_events(
    chunks: AsyncIterator[bytes], limit: int, take: Callable[[bytes | Oversized], None]
) -> AsyncIterator[ServerSentEvent]:
    """Hand the message of each event to `take`, in order, up to the end; gives each event that was read.

    A message over `limit` bytes is `Oversized`. An event of another name than `message`, or without data, brings none.
    """

    async def blocks() -> AsyncIterator[bytes]:
        # Data that is spread over many lines costs its field names too.
        splitter = EventSplitter(2 * limit + SLACK)
        async for chunk in chunks:
            for event in splitter.feed(chunk):
                if isinstance(event, Oversized):
                    take(Oversized(event.size, limit, event.head, event.tail))
                else:
                    yield event

    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Blocks(blocks()))
    async for event in EventSource(response).aiter_sse():
        frame = event.data.encode()
        if event.event == "message" and frame.strip():
            take(Oversized(len(frame), limit, frame[:KEPT], frame[-KEPT:]) if len(frame) > limit else frame)
        yield event

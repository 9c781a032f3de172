"""Frames as lines over pipes: what both ends of stdio share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from ..errors import ConnectionClosed
from . import Congestion, Receiver, oversized
from .lines import LineSplitter, Oversized

BURST = 64 * 1024
"""Bytes that one turn of the event loop may write before the writer has to let others run."""
SOON = 50e-6
"""Seconds within which a second frame makes a burst of the two."""
_OBJECT = ord("{")
log = logging.getLogger("acp_bindings.stdio")


class Output(Protocol):
    """Where bytes go: an asyncio transport, or a thread that writes."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class LineReader:
    """Bytes in, frames to the receiver. Only objects are frames where `only_objects`: other lines are noise."""

    def __init__(self, limit: int, only_objects: bool) -> None:
        self._splitter = LineSplitter(limit)
        self._feed = self._splitter.feed
        self._only_objects = only_objects
        self._receiver: Receiver | None = None
        self._early: list[bytes | Oversized] = []
        self._deaf = False

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        early, self._early = self._early, []
        self._hand_over(early)

    def stop(self) -> None:
        """Drop whatever else comes."""
        self._deaf = True

    def feed(self, data: bytes) -> None:
        lines = self._feed(data)
        if lines:
            self._hand_over(lines)

    def end(self) -> None:
        """No more bytes will come: the last line may lack its end."""
        self._hand_over(self._splitter.end())

    def _hand_over(self, lines: list[bytes | Oversized]) -> None:
        if self._deaf:
            return
        if self._receiver is None:
            self._early += lines
            return
        if self._only_objects and not (len(lines) == 1 and _is_object(lines[0])):
            lines = [line for line in lines if _is_object(line) or self._is_frame(line)]
        self._receiver.received(lines)

    def _is_frame(self, line: bytes | Oversized) -> bool:
        start = line.head if isinstance(line, Oversized) else line
        if start.startswith(b"{"):
            return True
        log.warning("ignored a line that is no message: %.200r", start[:200])
        return False


def _is_object(line: bytes | Oversized) -> bool:
    return isinstance(line, bytes) and line[0] == _OBJECT


class LineWriter:
    """Frames out as lines. A frame goes out at once; those that follow soon go out together in the loop's next turn."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._output: Output | None = None
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._size = 0
        self._corked = False
        self._last = 0.0
        self._blocked = False
        self._room = Congestion()
        self._lost = False

    def open(self, output: Output) -> None:
        self._output = output

    def write(self, frame: bytes) -> bool:
        """Whether `drain` is due. Raises ConnectionClosed and ValueError."""
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        if self._lost or self._output is None:
            raise ConnectionClosed("the other side has closed its input")
        if b"\n" in frame:
            # Line ends stand between JSON tokens only, where a space does as well.
            frame = frame.replace(b"\n", b" ")
        now = perf_counter()
        if self._corked or now - self._last < SOON:
            self._parts.append(frame)
            self._size += len(frame)
            if not self._corked:
                self._corked = True
                self._loop.call_soon(self._uncork)
        else:
            self._output.write(frame + b"\n")
        self._last = now
        return self._blocked or self._size > BURST

    def _uncork(self) -> None:
        self._corked = False
        self.flush()
        if not self._blocked:
            self._room.clear()

    def flush(self) -> None:
        if self._parts and self._output is not None and not self._lost:
            self._parts.append(b"")
            data = b"\n".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._output.write(data)

    async def drain(self) -> None:
        while self._blocked or self._size > BURST:
            if self._lost:
                break
            await self._room.wait()
        if self._lost:
            raise ConnectionClosed("the other side has closed its input")

    def block(self) -> None:
        """The output asks to wait."""
        self._blocked = True

    def unblock(self) -> None:
        self._blocked = False
        self._room.clear()

    def lose(self) -> None:
        """Nobody reads any more."""
        self._lost = True
        self._parts.clear()
        self._size = 0
        self._room.clear()

    def close(self) -> None:
        """Write what is left, and close the output once that is out."""
        if self._output is not None:
            self.flush()
            self._output.close()
        self.lose()


class ReadEnd(asyncio.Protocol):
    """What the event loop tells of a pipe that we read."""

    def __init__(self, data: Callable[[bytes], None], end: Callable[[], None]) -> None:
        # In place of the method, so that each chunk costs one call less.
        self.data_received = data  # type: ignore[assignment, method-assign]
        self._end = end

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()


class WriteEnd(asyncio.BaseProtocol):
    """What the event loop tells of a pipe that we write."""

    def __init__(self, writer: LineWriter, end: Callable[[], None]) -> None:
        self._writer = writer
        self._end = end

    def pause_writing(self) -> None:
        self._writer.block()

    def resume_writing(self) -> None:
        self._writer.unblock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writer.lose()
        self._end()

"""Two ends in one process. Frames are real JSON, so tests exercise the codec too."""

from __future__ import annotations

import asyncio
from collections import deque

from ..errors import ConnectionClosed
from . import MAX_MESSAGE, MAX_OUTPUT, Congestion, Receiver, oversized


class MemoryTransport:
    """One of two joined ends; make them with `pair`."""

    noisy = False

    def __init__(self, limit: int, max_output: int) -> None:
        self.limit = limit
        self._max_output = max_output
        self._other: MemoryTransport = self
        self._receiver: Receiver | None = None
        self._coming: deque[bytes] = deque()
        self._size = 0
        self._room = Congestion()
        self._paused = False
        self._scheduled = False
        self._closed = False
        self._told = False

    @classmethod
    def pair(cls, limit: int = MAX_MESSAGE, max_output: int = MAX_OUTPUT) -> tuple[MemoryTransport, MemoryTransport]:
        """Two ends: what one writes, the other receives."""
        first, second = cls(limit, max_output), cls(limit, max_output)
        first._other, second._other = second, first
        return first, second

    def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._schedule()

    def write(self, frame: bytes) -> bool:
        other = self._other
        if self._closed or other._closed:
            raise self._lost()
        if len(frame) > self.limit:
            raise oversized(frame, self.limit)
        other._coming.append(frame)
        other._size += len(frame)
        other._schedule()
        return other._size > self._max_output

    async def drain(self) -> None:
        other = self._other
        while other._size > self._max_output and not (self._closed or other._closed):
            await other._room.wait()
        if self._closed or other._closed:
            raise self._lost()

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._schedule()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._coming.clear()
        self._size = 0
        self._room.clear()
        self._other._room.clear()
        self._other._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and self._receiver is not None:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        """Hand over what has come, and at last that nothing more will."""
        self._scheduled = False
        receiver = self._receiver
        while self._coming and not self._paused and not self._closed and receiver is not None:
            frame = self._coming.popleft()
            self._size -= len(frame)
            receiver.received((frame,))
        if self._size <= self._max_output:
            self._room.clear()
        over = self._closed or (self._other._closed and not self._coming)
        if over and not self._told and receiver is not None:
            self._told = True
            receiver.ended(self._lost())

    def _lost(self) -> ConnectionClosed:
        return ConnectionClosed("the connection was closed here" if self._closed else "the other side is gone")

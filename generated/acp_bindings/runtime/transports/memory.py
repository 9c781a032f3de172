"""Two ends in one process, joined by bounded queues. Frames are real JSON, so tests exercise the codec too."""

from __future__ import annotations

import asyncio

from ..errors import ConnectionClosed

QUEUED_FRAMES = 256
"""Frames that may wait on their way before the sender waits too."""


class MemoryTransport:
    """One of two joined ends; make them with `pair`."""

    def __init__(self, incoming: asyncio.Queue[bytes | None], outgoing: asyncio.Queue[bytes | None]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._other: MemoryTransport | None = None
        self._ended = asyncio.Event()

    @classmethod
    def pair(cls) -> tuple[MemoryTransport, MemoryTransport]:
        """Two ends: what one sends, the other receives."""
        there: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUED_FRAMES)
        back: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUED_FRAMES)
        first, second = cls(back, there), cls(there, back)
        first._other, second._other = second, first
        return first, second

    async def send(self, frame: bytes) -> None:
        if self._ended.is_set() or (self._other is not None and self._other._ended.is_set()):
            raise self.lost()
        put = asyncio.ensure_future(self._outgoing.put(frame))
        gone = asyncio.ensure_future(self._other._ended.wait() if self._other else self._ended.wait())
        try:
            await asyncio.wait((put, gone), return_when=asyncio.FIRST_COMPLETED)
            if not put.done():
                raise self.lost()
        finally:
            put.cancel()
            gone.cancel()

    async def receive(self) -> bytes | None:
        if self._ended.is_set():
            return None
        return await self._incoming.get()

    async def close(self) -> None:
        if self._ended.is_set():
            return
        self._ended.set()
        for queue in (self._incoming, self._outgoing):
            # Both sides learn of the end, even when a queue is full of what nobody will read.
            while queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    def lost(self) -> ConnectionClosed:
        return ConnectionClosed("the other side is gone")

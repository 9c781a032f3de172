"""What has an order: notifications, and the answers among them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

MAX_QUEUED = 64 * 1024 * 1024
"""Bytes of notifications that wait for their handlers before reading pauses."""
TURN = 256
"""Pieces of work that are done before others may run."""

Work = Callable[[Any, Any], Awaitable[None] | None]


class Ordered:
    """Does one piece of work after the other. `pause` and `resume` are called as the queue fills and empties."""

    def __init__(self, limit: int, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._limit = limit
        self._pause = pause
        self._resume = resume
        self._work: deque[tuple[Work, Any, Any, int]] = deque()
        self._size = 0
        self._paused = False
        self._free = False
        self._busy = False
        self._wake: asyncio.Future[None] | None = None

    @property
    def idle(self) -> bool:
        """Whether what is put now is done at once."""
        return not self._work and not self._busy

    def put(self, work: Work, first: Any, second: Any = None, size: int = 0) -> None:
        """Queue `work(first, second)`, a plain function or a coroutine function, which must not raise."""
        self._work.append((work, first, second, size))
        self._size += size
        if size:
            self._balance()
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def free(self, free: bool) -> None:
        """Whether the limit is off: while a handler waits for an answer, reading has to go on."""
        if free != self._free:
            self._free = free
            self._balance()

    def _balance(self) -> None:
        full = self._size > self._limit and not self._free
        if full != self._paused:
            self._paused = full
            (self._pause if full else self._resume)()

    async def run(self) -> None:
        while True:
            if not self._work:
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake
                self._wake = None
            for _ in range(TURN):
                if not self._work:
                    break
                work, first, second, size = self._work.popleft()
                self._busy = True
                coroutine = work(first, second)
                if coroutine is not None:
                    await coroutine
                self._busy = False
                self._size -= size
                if self._paused:
                    self._balance()
            else:
                await asyncio.sleep(0)

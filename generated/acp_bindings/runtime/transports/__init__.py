"""What carries frames between two sides.

A transport pushes: it calls its receiver with whole frames as they come, and stops while the receiver has it paused.
Writing never waits; who is told that too much is waiting already waits with `drain`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from ..errors import AcpError, ConnectionClosed
from .lines import Oversized

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message."""
MAX_OUTPUT = 1024 * 1024
"""Bytes that wait to be written before those who send wait too."""


class Receiver(Protocol):
    """Who gets what a transport brings. No method raises."""

    def received(self, frames: Iterable[bytes | Oversized]) -> None:
        """Frames have come, in this order."""
        ...

    def undelivered(self, identity: int | str | None, error: AcpError) -> None:
        """A call with this id was not taken by the other side, while the transport lives on: no answer will come."""
        ...

    def ended(self, error: ConnectionClosed) -> None:
        """Nothing more will come. Called once at most."""
        ...


class Transport(Protocol):
    """Carries whole frames in both directions."""

    noisy: bool
    """Whether other things than messages may come, which are not to be answered."""
    limit: int
    """Bytes of the largest message that it carries."""

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        ...

    def write(self, frame: bytes) -> bool:
        """Write a frame, or keep it until there is room; whether `drain` is due.

        Raises ConnectionClosed, and ValueError over the limit.
        """
        ...

    async def drain(self) -> None:
        """Wait while more is waiting to be written than should be. Raises ConnectionClosed."""
        ...

    def pause(self) -> None:
        """Stop reading."""
        ...

    def resume(self) -> None:
        """Go on reading."""
        ...

    async def close(self) -> None:
        """Write what is waiting, then end both directions. Idempotent."""
        ...


@runtime_checkable
class HalfClosing(Protocol):
    """A transport whose output can end before its input does."""

    def finish(self) -> None:
        """Write what is waiting, then end the output; what still comes is read. Idempotent."""
        ...


class Congestion:
    """Who waits until there is room again."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def clear(self) -> None:
        """There is room, or nobody will ever read: let them all go on."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


def oversized(frame: bytes, limit: int) -> ValueError:
    return ValueError(f"a message of {len(frame)} bytes is over the limit of {limit}")

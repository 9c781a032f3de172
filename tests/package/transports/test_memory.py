"""Two ends in one process, without a connection over them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from acp_bindings.runtime.errors import AcpError, ConnectionClosed
from acp_bindings.runtime.transports.lines import Oversized
from acp_bindings.runtime.transports.memory import MemoryTransport

from tests.support.aio import run


class Receiving:
    """Remembers; lets a test wait."""

    def __init__(self) -> None:
        self.frames: list[bytes | Oversized] = []
        self.ends: list[ConnectionClosed] = []
        self.end = asyncio.Event()

    def received(self, frames: Iterable[bytes | Oversized]) -> None:
        self.frames += frames

    def undelivered(self, identity: int | str | None, error: AcpError) -> None:
        raise AssertionError("whatever this transport takes is delivered") from error

    def ended(self, error: ConnectionClosed) -> None:
        self.ends.append(error)
        self.end.set()


def test_frames_come_in_order_and_then_the_end() -> None:
    async def test() -> None:
        ours, theirs = MemoryTransport.pair()
        for number in range(10):
            assert ours.write(b"%d" % number) is False
        await ours.close()
        await ours.close()
        receiver = Receiving()
        theirs.start(receiver)
        await receiver.end.wait()
        assert receiver.frames == [b"%d" % number for number in range(10)]
        assert [str(end) for end in receiver.ends] == ["the other side is gone"]
        with pytest.raises(ConnectionClosed):
            theirs.write(b"x")

    run(test)


def test_a_paused_end_makes_the_other_wait() -> None:
    async def test() -> None:
        ours, theirs = MemoryTransport.pair(limit=100, max_output=50)
        receiver = Receiving()
        theirs.start(receiver)
        theirs.pause()
        assert ours.write(b"x" * 50) is False
        assert ours.write(b"y") is True
        draining = asyncio.create_task(ours.drain())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not draining.done() and receiver.frames == []
        theirs.resume()
        await draining
        assert receiver.frames == [b"x" * 50, b"y"]

    run(test)


@pytest.mark.parametrize("who", [0, 1])
def test_who_waits_for_room_learns_of_the_end(who: int) -> None:
    async def test() -> None:
        pair = MemoryTransport.pair(limit=100, max_output=50)
        pair[1].start(Receiving())
        pair[1].pause()
        assert pair[0].write(b"x" * 60) is True
        draining = asyncio.create_task(pair[0].drain())
        await asyncio.sleep(0)
        await pair[who].close()
        with pytest.raises(ConnectionClosed):
            await draining

    run(test)


def test_a_frame_over_the_limit_is_not_sent() -> None:
    async def test() -> None:
        ours, theirs = MemoryTransport.pair(limit=10)
        receiver = Receiving()
        theirs.start(receiver)
        with pytest.raises(ValueError, match="11 bytes is over the limit of 10"):
            ours.write(b"x" * 11)
        ours.write(b"x" * 10)
        await ours.close()
        await receiver.end.wait()
        assert receiver.frames == [b"x" * 10]

    run(test)

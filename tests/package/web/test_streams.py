"""A stream and its readers, without a server."""

from __future__ import annotations

import asyncio

import pytest
from acp_bindings.runtime.web.streams import BURST, COMMENT, Reader, Stream, event

from tests.support.aio import run


def stream_of(*frames: bytes) -> Stream:
    stream = Stream(lambda _, __: None)
    for frame in frames:
        stream.put(frame)
    return stream


def reader_of(stream: Stream, keep_alive: float = 60) -> Reader:
    return Reader(stream, keep_alive, lambda: None)


def test_what_a_server_dropped_comes_again() -> None:
    """The client is gone before its server takes the next piece: what it was given last may have been dropped."""

    async def test() -> None:
        stream = stream_of(b"1", b"2")
        first = reader_of(stream)
        assert await anext(first) == event(b"1") + event(b"2")
        stream.put(b"3")
        first.gone = True
        with pytest.raises(StopAsyncIteration):
            await anext(first)
        first.close()
        second = reader_of(stream)
        assert await anext(second) == event(b"1") + event(b"2") + event(b"3")
        stream.end()
        with pytest.raises(StopAsyncIteration):
            await anext(second)
        assert not stream.frames and stream.size == 0

    run(test)


def test_news_of_a_client_that_left_comes_first() -> None:
    """It arrives in the same turn of the loop in which the server drops a piece and asks for more."""

    async def test() -> None:
        stream = stream_of(b"1")
        reader = reader_of(stream)
        await anext(reader)
        asyncio.get_running_loop().call_soon(setattr, reader, "gone", True)
        with pytest.raises(StopAsyncIteration):
            await anext(reader)
        assert list(stream.frames) == [b"1"]

    run(test)


def test_pieces_are_small_unless_a_frame_is_large() -> None:
    async def test() -> None:
        large, half = b"x" * (2 * BURST), b"y" * (BURST // 2)
        reader = reader_of(stream_of(b"1", large, half, half, half))
        assert [await anext(reader) for _ in range(4)] == [event(b"1"), event(large), event(half) * 2, event(half)]

    run(test)


def test_comments_while_there_is_nothing() -> None:
    async def test() -> None:
        stream = stream_of()
        reader = reader_of(stream, keep_alive=0.001)
        assert await anext(reader) == COMMENT and await anext(reader) == COMMENT
        stream.put(b"1")
        assert await anext(reader) == event(b"1")

    run(test)


def test_an_event_is_one_line() -> None:
    assert event(b'{\n"a":\r\n1}') == b'data: { "a":  1}\n\n'

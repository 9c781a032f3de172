"""Limits: who is slow makes the other side wait, and what is too large or too much is refused by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import extension

from tests.package.connection.agents import SESSION
from tests.package.connection.clients import Recorder
from tests.package.connection.links import LINKS
from tests.package.connection.test_ending import let_in, update
from tests.package.connection.wires import Link, Wire
from tests.support.aio import run


class Slow(Recorder):
    """Handles what floods in once it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.begun = asyncio.Event()
        self.dropped = 0

    @extension("_test/drop", notification=True)
    async def drop(self, notification: dict[str, Any], context: Context) -> None:
        self.begun.set()
        await self.go_on.wait()
        assert notification["number"] == self.dropped
        self.dropped += 1


def test_a_slow_reader_makes_the_writer_wait(link: Link) -> None:
    """20 MB are sent while nobody handles them: no more than the limits are held, and in the end all has come."""

    async def test() -> None:
        client = Slow()
        came = 0

        def observe(direction: str, frame: bytes) -> None:
            nonlocal came
            came += len(frame) if direction == "in" else 0

        limits = {"max_queued": 100_000, "max_output": 100_000}
        async with link.agent("scripted", client, observer=observe, **limits) as agent:
            await agent.extension_notification("_test/flood", {"count": 20_000})
            await client.begun.wait()
            # Paused once its queue is full: what one read had brought already comes on top.
            transport, paused = agent.connection.transport, asyncio.Event()
            pause = transport.pause

            def notice() -> None:
                paused.set()
                pause()

            transport.pause = notice
            if came < 100_000:
                await paused.wait()
            held = came
            for _ in range(100):
                await asyncio.sleep(0)
            assert came == held < 1_000_000
            client.go_on.set()
            while await client.news.get() != "flooded":
                pass
            assert client.dropped == 20_000

    run(test)


def test_a_handler_that_waits_for_an_answer_keeps_reading_going(link: Link) -> None:
    """Its answer stands behind more notifications than may be queued."""

    async def script(wire: Wire) -> None:
        await let_in(wire)
        await wire.send(update("call"))
        message = await wire.receive()
        await wire.send(*(update("x" * 1000) for _ in range(200)))
        await wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        await wire.receive()

    async def test() -> None:
        class Calling(Recorder):
            async def session_update(self, notification: Any, context: Context) -> None:
                await super().session_update(notification, context)
                if self.seen == ["call"]:
                    await context.remote.extension_request("_x", {})

        client = Calling()
        async with link.scripted(script, client, max_queued=10_000):
            for _ in range(201):
                await client.news.get()

    run(test)


def test_a_large_message_in_each_direction(link: Link) -> None:
    """30 MB pass in one message; one over the limit is refused before it is sent, and what follows passes."""

    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            answer = await agent.extension_request("_test/large", {"size": 30_000_000})
            assert len(answer["text"]) == 30_000_000
            assert await agent.extension_request("_test/double", {"number": 2, "text": "x" * 30_000_000}) == {
                "number": 4
            }
            with pytest.raises(ValueError, match=r"a message of 340000\d\d bytes is over the limit of 33554432"):
                await agent.extension_request("_test/double", {"number": 2, "text": "x" * 34_000_000})
            with pytest.raises(ValueError, match="over the limit"):
                await agent.extension_notification("_test/double", {"text": "x" * 34_000_000})
            # The agent cannot send its answer, and says so.
            with pytest.raises(v2.RequestError, match="over the limit of 33554432"):
                await agent.extension_request("_test/large", {"size": 34_000_000})
            assert await agent.extension_request("_test/double", {"number": 3}) == {"number": 6}

    run(test)


def test_an_answer_over_the_limit_fails_its_call() -> None:
    """The sender allows more than we do: the line is dropped, but whose answer it was is still told."""

    async def test() -> None:
        async with LINKS["stdio"].agent("scripted", Recorder(), max_message=100_000) as agent:
            with pytest.raises(v2.ProtocolError, match=r"a message of 2000\d\d bytes is over the limit of 100000"):
                await agent.extension_request("_test/large", {"size": 200_000})
            assert await agent.extension_request("_test/double", {"number": 3}) == {"number": 6}

    run(test)


def test_a_request_over_the_limit_is_refused_by_its_id() -> None:
    async def test() -> None:
        async with LINKS["stdio"].wire("scripted", max_message=100_000) as wire:
            await wire.initialize()
            double = {"method": "_test/double", "params": {"number": 1, "text": "x" * 200_000}}
            for frame, identity in (
                ({"jsonrpc": "2.0", "id": 3} | double, 3),
                ({"jsonrpc": "2.0"} | double | {"id": 'a,"b'}, 'a,"b'),
                (double | {"jsonrpc": "2.0", "id": 4}, 4),
            ):
                (answer,) = await wire.replies(frame)
                assert answer["id"] == identity and answer["error"]["code"] == -32600
                assert "over the limit of 100000" in answer["error"]["message"]
            # A notification gets no answer, nor does what cannot be told apart.
            assert await wire.replies({"jsonrpc": "2.0"} | double, b'{"a":"' + b"x" * 200_000 + b'"}') == []

    run(test)


def test_too_many_requests_at_once_are_refused(link: Link) -> None:
    async def test() -> None:
        async with link.wire("scripted", max_in_flight=3) as wire:
            await wire.initialize()
            waiting = [{"jsonrpc": "2.0", "id": n, "method": "_test/wait", "params": {}} for n in range(4)]
            await wire.send(*waiting)
            came = [await wire.receive() for _ in range(4)]
            (refused,) = (one for one in came if "error" in one)
            assert refused["id"] == 3 and "more than 3 requests at once" in refused["error"]["message"]
            await wire.send({"jsonrpc": "2.0", "method": "_test/release"})
            assert {(await wire.receive())["id"] for _ in range(3)} == {0, 1, 2}

    run(test)


def test_a_peer_that_does_not_read_its_answers_makes_reading_pause(way: Link) -> None:
    """Garbage is answered, and the answers are not read: they do not pile up without end, and are all there later."""

    async def test() -> None:
        async with way.wire("scripted", max_in_flight=5) as wire:
            await wire.initialize()
            count = 30_000
            sending = asyncio.create_task(wire.send(*[b"{garbage" + b"x" * 100] * count))
            for _ in range(count):
                assert (await wire.receive())["error"]["code"] == -32700
            await sending
            (answer,) = await wire.replies({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/"}})
            assert answer["result"] == {"sessionId": SESSION}

    run(test)

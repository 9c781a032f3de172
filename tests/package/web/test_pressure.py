"""Who is slow makes the other side wait, and nothing is dropped."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest
from acp_bindings.runtime.web import posting
from acp_bindings.v2 import extension

from tests.package.web.agents import Counting, Family, text_of
from tests.package.web.serving import served
from tests.package.web.test_turns import numbers, prompt
from tests.support.aio import run


def test_a_stream_that_broke_goes_on_where_it_was_left() -> None:
    """W: what had not left for the first reader comes to the second; at most what was under way is lost."""

    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream("s1") as first:
                await peer.request(1, "session/prompt", prompt("3000 2000", "s1"), "s1")
                begun = [int(text_of(one)) for one in await first.take(10)]
            async with peer.stream("s1") as second:
                rest = []
                while "id" not in (message := await second.next()):
                    rest.append(int(text_of(message)))
            assert begun == list(range(10)) and rest == list(range(rest[0], 3000))
            # Buffers of the two ends: some hundred kilobytes of six million.
            assert rest[0] < 1500

    run(test)


def test_nobody_reads_and_the_agent_waits() -> None:
    """Bounded queues push back, and nothing is dropped: another session of the same connection does not notice."""

    async def test() -> None:
        family = Family()
        async with served(family, max_output=20_000) as (_, peer):
            await peer.initialize()
            (agent,) = family.agents
            await peer.request(1, "session/prompt", prompt("500 1000", "slow"), "slow")
            async with peer.stream("quick") as quick:
                await peer.request(2, "session/prompt", prompt(100, "quick"), "quick")
                assert [text_of(one) for one in (await quick.take(101))[:100]] == numbers(100)
            # The first to be over the limit waits, so there is one more than fits.
            assert 100 + 15 < agent.written < 100 + 25 and agent.turns == 1
            async with peer.stream("slow") as slow:
                came = await slow.take(501)
            assert [text_of(one).strip() for one in came[:500]] == numbers(500) and came[500]["id"] == 1

    run(test)


def test_all_streams_together_push_back_too() -> None:
    async def test() -> None:
        family = Family()
        async with served(family, max_kept=20_000) as (_, peer):
            await peer.initialize()
            (agent,) = family.agents
            for number in range(4):
                session = f"s{number}"
                await peer.request(number, "session/prompt", prompt("500 1000", session), session)
            async with peer.stream() as stream:
                await peer.request("probe", "session/new", {"cwd": "/"})
                await stream.next()
            assert agent.written < 30 and agent.turns == 4
            async with contextlib.AsyncExitStack() as stack:
                streams = [await stack.enter_async_context(peer.stream(f"s{number}")) for number in range(4)]
                for came in await asyncio.gather(*(one.take(501) for one in streams)):
                    assert [text_of(one).strip() for one in came[:500]] == numbers(500)

    run(test)


class Slow(Counting):
    """Handles notifications one by one, each when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.handled = 0
        self.go_on = asyncio.Event()

    @extension("_test/heavy", notification=True)
    async def heavy(self, notification: Any, context: Any) -> None:
        await self.go_on.wait()
        self.handled += 1

    @extension("_test/handled")
    async def tell(self, request: Any, context: Any) -> dict[str, int]:
        return {"handled": self.handled}


def test_an_agent_that_has_more_than_enough_makes_posts_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are taken as it gets through, in order; one that waits too long is refused and may come again."""

    async def test() -> None:
        made: list[Slow] = []

        def factory() -> Slow:
            made.append(Slow())
            return made[-1]

        async with served(factory, max_queued=10_000) as (_, peer):
            await peer.initialize()
            heavy = {"jsonrpc": "2.0", "method": "_test/heavy", "params": {"text": "x" * 6000}}
            for _ in range(2):
                assert (await peer.post(heavy)).status_code == 202
            monkeypatch.setattr(posting, "PATIENCE", 0.05)
            refused = await peer.post(heavy)
            assert refused.status_code == 503 and refused.headers["retry-after"]
            monkeypatch.undo()
            waiting = asyncio.create_task(peer.post(heavy))
            made[0].go_on.set()
            assert (await waiting).status_code == 202
            async with peer.stream() as stream:
                while made[0].handled < 3:
                    await peer.request(1, "_test/handled", {})
                    await stream.next()

    run(test)


def test_large_messages_both_ways() -> None:
    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                await peer.request(1, "_test/size", {"text": "x" * 30_000_000, "answer": 30_000_000})
                answer = await stream.next()
                assert answer["result"]["size"] == len(answer["result"]["text"]) == 30_000_000

    run(test)


def test_a_silent_stream_is_kept_alive() -> None:
    async def test() -> None:
        async with served(keep_alive=0.01) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                async for line in stream.response.aiter_lines():
                    if line == ": keep-alive":
                        break

    run(test)

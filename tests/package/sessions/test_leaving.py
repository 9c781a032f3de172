"""Leaving a turn: by breaking off its loop, by cancelling, by closing the session. Facts S."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from acp_bindings import v2

from tests.package.sessions.peers import VERSIONS, Peer, drained, others, talking, texts
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)


class BodyError(Exception):
    """Raised in the body of a loop."""


async def by_break(session: Any) -> None:
    async for update in session.prompt("hi"):
        if texts([update]):
            break


async def by_return(session: Any) -> Any:
    async for update in session.prompt("hi"):
        if texts([update]):
            return update
    return None


async def by_exception(session: Any) -> None:
    with contextlib.suppress(BodyError):
        async for update in session.prompt("hi"):
            if texts([update]):
                raise BodyError


async def by_cancelling_the_task(session: Any) -> None:
    started = asyncio.Event()

    async def talk() -> None:
        async for update in session.prompt("hi"):
            if texts([update]):
                started.set()

    task = asyncio.create_task(talk())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # A task that was cancelled has waited for the end.
    assert session._turns == []


async def by_running_out_of_time(session: Any) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await session.prompt("hi")
    assert session._turns == []


async def by_its_own_limit(session: Any) -> None:
    with pytest.raises(v2.RequestTimeout, match=r"0\.05 s"):
        await session.prompt("hi", timeout=0.05)
    assert session._turns == []


async def by_word(session: Any) -> None:
    turn = session.prompt("hi")
    async for update in turn:
        if texts([update]):
            await turn.cancel()
            await turn.cancel()
    assert turn.stop_reason == "cancelled"
    # Nothing is left to stop.
    await turn.cancel()


async def by_word_of_the_session(session: Any) -> None:
    turn = session.prompt("hi")
    async for update in turn:
        if texts([update]) == ["one"]:
            await session.cancel()
    assert turn.stop_reason == "cancelled"


WAYS = [
    by_break, by_return, by_exception, by_cancelling_the_task, by_running_out_of_time, by_its_own_limit, by_word,
    by_word_of_the_session,
]  # fmt: skip


@over_versions
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_turn_is_stopped_and_the_next_one_waits_for_that(
    version: str, way: Callable[[Any], Awaitable[None]]
) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        first = await peer.take("m0")
        await peer.say("one")
        cancel = await peer.expect("session/cancel")
        assert cancel["params"] == {"sessionId": "s"}
        # The agent still has something to say, and the next prompt is not there before it is done with that.
        await peer.say("last words")
        await peer.wire.send({"jsonrpc": "2.0", "id": "ping", "method": "_ping"})
        assert (await peer.expect(None))["id"] == "ping"
        await peer.finish(first, "cancelled")
        second = await peer.take("m1")
        await peer.say("two")
        await peer.finish(second)
        await peer.closed()

    async def main() -> None:
        async with talking(script, version) as agent:
            before = asyncio.all_tasks()
            async with agent.session("/x") as session:
                await way(session)
                turn = session.prompt("again")
                # None of the last words is taken for the next turn's.
                assert texts(await drained(turn)) == ["two"]
                assert turn.stop_reason == "end_turn"
                # But none of it is lost to the state.
                assert session.state.messages["a"].text == "onelast wordstwo"
            assert others(before) == set()
            assert agent.inbox.sessions == {}

    run(main)


@over_versions
def test_a_loop_that_is_left_by_way_of_the_collector(version: str) -> None:
    """An iterator in a cycle is left when the collector finds it."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        first = await peer.take()
        await peer.say("one")
        await peer.expect("session/cancel")
        await peer.finish(first, "cancelled")

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            cycle: list[Any] = [aiter(turn)]
            cycle.append(cycle)
            while not texts([await anext(cycle[0])]):
                pass
            del cycle
            gc.collect()
            while not turn.is_over:
                await asyncio.sleep(0)
            assert turn.stop_reason == "cancelled"

    run(main)


@over_versions
def test_a_peer_that_never_ends_a_turn(version: str, caplog: pytest.LogCaptureFixture) -> None:
    """After `grace` nobody waits any more; the session can be used, and be closed."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take("m0")
        await peer.say("one")
        await peer.expect("session/cancel")
        if peer.version == 1:
            # The prompt has no answer yet: it is given up.
            await peer.expect("$/cancel_request")
        second = await peer.take("m1")
        await peer.say("two")
        await peer.finish(second)

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            session.grace = 0.05
            await by_cancelling_the_task(session)
            assert texts(await drained(session.prompt("again"))) == ["two"]

    with caplog.at_level(logging.WARNING, "acp_bindings"):
        run(main)
    assert "did not end within 0.05 s" in caplog.text


@over_versions
def test_a_peer_that_answers_nothing_any_more(version: str) -> None:
    """Neither the cancellation nor the closing is answered: leaving takes the grace of each, and no more."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take()
        await peer.say("one")
        await peer.say_nothing_more()

    async def main() -> None:
        async with talking(script, version) as agent:
            async with agent.session("/x") as session:
                session.grace = 0.05
                turns = [asyncio.create_task(drained(session.prompt("hi"))) for _ in range(3)]
                while not session.state.messages.get("a"):
                    await asyncio.sleep(0)
            found = await asyncio.gather(*turns, return_exceptions=True)
            if VERSIONS[version][0] == 1:
                # These had not been sent.
                assert [type(one) for one in found[1:]] == [v2.ConnectionClosed] * 2
            assert agent.inbox.sessions == {}

    run(main, guard=5)


def test_a_second_cancellation_waits_no_longer() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take()
        await peer.say("one")
        await peer.expect("session/cancel")

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            session.grace = 600
            task = asyncio.create_task(drained(session.prompt("hi")))
            while "a" not in session.state.messages:
                await asyncio.sleep(0)
            task.cancel()
            for _ in range(5):
                await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert session._turns == []

    run(main)


@pytest.mark.parametrize("version", ["v2", "v2.unstable"])
def test_cancelling_takes_the_held_prompts_along(version: str) -> None:
    """The protocol has one word for all of a session's work: a held prompt draws -32800."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        first = await peer.take("m0")
        held = await peer.expect("session/prompt")
        await peer.say("one")
        await peer.expect("session/cancel")
        await peer.refuse(held, -32800)
        await peer.finish(first, "cancelled")
        await peer.finish(await peer.take("m2"))

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            first, second = session.prompt("a"), session.prompt("b")
            later = None
            async for update in first:
                if later is None:
                    later = asyncio.create_task(drained(second))
                if texts([update]):
                    break
            assert later is not None
            assert await later == []
            assert second.stop_reason == "cancelled"
            assert (await session.prompt("c")).stop_reason == "end_turn"

    run(main)


def test_a_prompt_is_refused_as_cancelled_though_nobody_cancelled_it() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.refuse(await peer.expect("session/prompt"), -32800)

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            with pytest.raises(v2.RequestError):
                await session.prompt("hi")

    run(main)


@over_versions
def test_a_turn_that_is_cancelled_before_it_was_sent(version: str) -> None:
    """The word to stop would have come first, and would stop nothing: then nothing is sent."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.expect("session/cancel")
        await peer.finish(await peer.take())

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            # The second runs after the turn has begun, and before its prompt is written.
            begun, cancelled = asyncio.create_task(drained(turn)), asyncio.create_task(session.cancel())
            await cancelled
            assert await begun == []
            assert turn.stop_reason == "cancelled"
            assert (await session.prompt("again")).stop_reason == "end_turn"

    run(main)

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

from tests.package.sessions.peers import VERSIONS, GoneError, Peer, drained, others, talking, texts
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


# questions for permission


@over_versions
@pytest.mark.parametrize("own", ["a policy", "a handler"])
def test_a_pending_question_is_called_off(version: str, own: str) -> None:
    """It is answered `cancelled`, whatever the code that was asked does; so is one that crosses the cancellation."""
    asked = asyncio.Event()
    ended: list[str] = []

    async def think(*_: Any) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("thought")

    module = VERSIONS[version][1]

    class Client(module.Client):  # type: ignore[misc,name-defined]  # of which profile is open
        session_request_permission = think

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        first = await peer.ask()
        await peer.expect("session/cancel")
        assert await peer.outcome(first) == {"outcome": "cancelled"}
        assert await peer.outcome(await peer.ask()) == {"outcome": "cancelled"}
        await peer.finish(prompt, "cancelled")

    async def main() -> None:
        options = {"permissions": think} if own == "a policy" else {}
        async with talking(script, version, client=Client()) as agent, agent.session("/x", **options) as session:
            task = asyncio.create_task(drained(session.prompt("hi")))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended == ["thought"]
            assert session._asked == set()

    run(main)


@over_versions
def test_the_agent_gives_a_question_up(version: str) -> None:
    asked = asyncio.Event()

    async def think(request: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        question = await peer.ask()
        await asked.wait()
        given_up = {"method": "$/cancel_request", "params": {"requestId": question}}
        await peer.wire.send({"jsonrpc": "2.0", **given_up})
        assert await peer.outcome(question) == {"outcome": "cancelled"}
        await peer.finish(prompt)

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x", permissions=think) as session:
            assert (await session.prompt("hi")).stop_reason == "end_turn"

    run(main)


def test_a_policy_that_will_not_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody waits for it, and what becomes of it is logged."""
    asked, told, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(request: Any) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await told.wait()
        done.set()
        raise ValueError("too late")

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        question = await peer.ask()
        await peer.expect("session/cancel")
        assert await peer.outcome(question) == {"outcome": "cancelled"}
        await peer.finish(prompt, "cancelled")

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x", permissions=stubborn) as session:
            turn = session.prompt("hi")
            task = asyncio.create_task(drained(turn))
            await asked.wait()
            await session.cancel()
            await task
            assert turn.stop_reason == "cancelled"
            told.set()
            await done.wait()
            await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING, "acp_bindings"):
        run(main)
    assert "too late" in caplog.text


# closing


@over_versions
def test_closing_with_a_turn_under_way(version: str) -> None:
    """It is cancelled and has its end before the session is closed; what comes later goes to the client alone."""
    seen: list[Any] = []
    module = VERSIONS[version][1]

    class Client(module.Client):  # type: ignore[misc,name-defined]  # of which profile is open
        async def session_update(self, notification: Any, context: Any) -> None:
            seen.append(notification.update)

    late = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.say("one")
        await peer.expect("session/cancel")
        await peer.finish(prompt, "cancelled")
        await peer.closed()
        await late.wait()
        await peer.say("after the end")

    async def main() -> None:
        async with talking(script, version, client=Client()) as agent:
            async with agent.session("/x") as session:
                turn = session.prompt("hi")
                task = asyncio.create_task(drained(turn))
                while "a" not in session.state.messages:
                    await asyncio.sleep(0)
                await session.close()
                assert (turn.is_over, turn.stop_reason, session.is_closed) == (True, "cancelled", True)
                assert agent.inbox.sessions != {}
                await session.close()
                await task
                with pytest.raises(v2.ConnectionClosed, match="session s is closed"):
                    await session.prompt("more")
            assert agent.inbox.sessions == {}
            late.set()
            while texts(seen) != ["one", "after the end"]:
                await asyncio.sleep(0)
            assert session.state.messages["a"].text == "one"

    run(main)


@pytest.mark.parametrize("answer", [-32002, -32601, -32603])
def test_closing_what_the_agent_does_not_know(answer: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.refuse(await peer.expect("session/close"), answer)

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            pass
        assert session.is_closed

    run(main)


def test_a_session_that_is_left_open() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.say("one")
        await peer.expect("session/cancel")
        await peer.finish(prompt, "cancelled")
        assert await peer.wire.receive() is None
        raise GoneError

    async def main() -> None:
        async with talking(script) as agent:
            async with agent.session("/x", close=False) as session:
                async for update in session.prompt("hi"):
                    if texts([update]):
                        break
            assert (session.is_closed, agent.inbox.sessions) == (True, {})

    run(main)


@over_versions
def test_an_error_in_the_body_of_the_context(version: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.expect("session/cancel")
        await peer.finish(prompt, "cancelled")
        await peer.closed()

    async def main() -> None:
        async with talking(script, version) as agent:
            with contextlib.suppress(BodyError):
                async with agent.session("/x") as session:
                    turn = session.prompt("hi")
                    task = asyncio.create_task(drained(turn))
                    while not turn._sent:
                        await asyncio.sleep(0)
                    raise BodyError
            await task
            assert (session.is_closed, turn.stop_reason) == (True, "cancelled")

    run(main)


@pytest.mark.skipif("not hasattr(__import__('os'), 'kill')")
def test_the_agents_process_is_killed() -> None:
    """Over stdio: the turn fails with what is known of the process, and nothing waits."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take()
        await peer.say("one")
        raise GoneError

    async def main() -> None:
        async with talking(script, link="stdio") as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            seen = []
            with contextlib.suppress(v2.ConnectionClosed):
                async for update in turn:
                    seen.append(update)
            assert texts(seen) == ["one"]
            assert turn.is_over and turn.stop_reason is None

    run(main)

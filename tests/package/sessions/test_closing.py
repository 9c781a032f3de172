"""Questions that are called off, and sessions that are closed or lost in the middle of a turn. Facts S."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest
from acp_bindings import v2

from tests.package.sessions.peers import VERSIONS, GoneError, Peer, drained, talking, texts
from tests.package.sessions.test_leaving import BodyError
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)


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

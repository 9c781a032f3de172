"""A client's turns: what they yield, when they end and how, in every version. The agent is played frame by frame."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import v1, v2

from tests.package.sessions.peers import VERSIONS, GoneError, Peer, drained, talking, texts
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)


def kinds(updates: list[Any]) -> list[str]:
    return [type(one).__name__ for one in updates]


@over_versions
def test_a_turn_yields_what_comes_until_it_is_over(version: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        assert prompt["params"] == {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}
        await peer.say("one")
        await peer.say("two")
        await peer.finish(prompt, "max_tokens")
        await peer.say("late")

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            assert (turn.is_over, turn.stop_reason) == (False, None)
            assert repr(turn) == "<Turn of session s, not begun>"
            updates = await drained(turn)
            assert texts(updates) == ["one", "two"]
            assert (turn.is_over, turn.stop_reason, turn.usage, turn.error) == (True, "max_tokens", None, None)
            assert repr(turn) == "<Turn of session s, over: max_tokens>"
            if peer_is_new(version):
                assert kinds(updates)[0] == "UserMessage"
                assert isinstance(updates[-1], VERSIONS[version][1].IdleStateUpdate)
                assert turn.message_id == "m"
            # A turn that is over has nothing more, and is not sent again.
            assert await drained(turn) == []
            assert await turn is turn
            assert texts([await anext(session.updates())]) == ["late"]

    run(main)


async def collect(turn: Any, into: list[Any]) -> None:
    async for update in turn:
        into.append(update)


def peer_is_new(version: str) -> bool:
    return VERSIONS[version][0] == 2


@over_versions
def test_awaiting_a_turn_and_what_can_be_sent(version: str) -> None:
    module = VERSIONS[version][1]
    block = module.TextContent(text="a")
    sent = {"type": "text", "text": "a"}
    link = module.ResourceLink(name="b", uri="file:///b")
    prompts: list[tuple[Any, list[Any]]] = [
        ("a", [sent]),
        (block, [sent]),
        ([block, link], [sent, {"type": "resource_link", "name": "b", "uri": "file:///b"}]),
        ((block,), [sent]),
    ]
    if peer_is_new(version):
        prompts.append((module.UnknownContentBlock({"type": "_x"}), [{"type": "_x"}]))

    async def script(peer: Peer) -> None:
        await peer.opened()
        for _, expected in prompts:
            prompt = await peer.take()
            assert prompt["params"]["prompt"] == expected
            assert prompt["params"]["_meta"] == {"trace": 1}
            await peer.finish(prompt)

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            for given, _ in prompts:
                assert (await session.prompt(given, meta={"trace": 1})).stop_reason == "end_turn"
            with pytest.raises(ValueError, match="no blocks"):
                session.prompt([])

    run(main)


def test_nothing_is_sent_before_the_iteration_begins() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.closed()

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            session.prompt("never")
            await session.prompt("never").cancel()
            # Not even when a loop was made and left before its first step.
            aiter(session.prompt("never"))

    run(main)


def test_what_the_end_tells() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        for members in (
            {"reason": "error", "error": {"code": -32000, "message": "no model"}},
            {"reason": "_acme.dev/bored", "of": "this"},
            {"reason": "future"},
            {"usage": {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}},
        ):
            await peer.take()
            await peer.state("idle", **members)

    async def main() -> None:
        async with talking(script, "v2.unstable") as agent, agent.session("/x") as session:
            failed = await session.prompt("hi")
            assert failed.stop_reason == "error"
            assert failed.error == v2.unstable.Error(code=-32000, message="no model")
            assert [(await session.prompt("hi")).stop_reason for _ in range(2)] == ["_acme.dev/bored", "future"]
            last = await session.prompt("hi")
            assert (last.stop_reason, last.usage.total_tokens) == (None, 3)

    run(main)


def test_version_1_has_its_end_in_the_answer() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.answer(prompt, stopReason="end_turn", usage={"totalTokens": 3, "inputTokens": 1, "outputTokens": 2})

    async def main() -> None:
        async with talking(script, "v1.unstable") as agent, agent.session("/x") as session:
            turn = await session.prompt("hi")
            assert turn.usage.total_tokens == 3
            assert isinstance(turn.response, v1.unstable.PromptResponse)

    run(main)


@over_versions
def test_a_prompt_that_is_refused(version: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.refuse(await peer.expect("session/prompt"), -32000, "log in")
        await peer.finish(await peer.take())

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            with pytest.raises(v2.RequestError) as refused:
                await turn
            assert refused.value.code == -32000
            assert (turn.is_over, turn.stop_reason) == (True, None)
            assert (await session.prompt("again")).stop_reason == "end_turn"

    run(main)


def test_a_prompt_that_fails_before_it_is_in_the_conversation() -> None:
    """Work may have begun by then: its idle comes before or after the error."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        for first in (True, False):
            prompt = await peer.expect("session/prompt")
            await peer.state("running")
            if first:
                await peer.state("idle", "error", error={"code": 1, "message": "hook"})
            await peer.refuse(prompt, -32603, "hook")
            if not first:
                await peer.state("idle", "error", error={"code": 1, "message": "hook"})
        await peer.finish(await peer.take())

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            for _ in range(2):
                with pytest.raises(v2.RequestError, match="hook"):
                    await session.prompt("hi")
            assert (await session.prompt("again")).stop_reason == "end_turn"

    run(main)


def test_an_answer_that_is_no_answer() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.answer(await peer.expect("session/prompt"), messageId=None)

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            with pytest.raises(v2.ProtocolError, match="messageId"):
                await session.prompt("hi")

    run(main)


# several at once


def test_prompts_that_the_agent_holds() -> None:
    """Both are sent at once; each gets its own end, and every update goes to one of them."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        first, second = [await peer.expect("session/prompt") for _ in range(2)]
        for number, prompt in enumerate((first, second)):
            await peer.tell("user_message", messageId=f"m{number}")
            await peer.answer(prompt, messageId=f"m{number}")
            await peer.state("running")
            await peer.say(f"to {number}")
            await peer.state("idle", "end_turn" if number else "refusal")

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            turns = [session.prompt("a"), session.prompt("b")]
            first, second = await asyncio.gather(*map(drained, turns))
            assert (texts(first), texts(second)) == (["to 0"], ["to 1"])
            assert [turn.stop_reason for turn in turns] == ["refusal", "end_turn"]
            assert [kinds(one) for one in (first, second)] == [
                ["UserMessage", "RunningStateUpdate", "AgentMessageChunk", "IdleStateUpdate"]
            ] * 2

    run(main)


def test_a_prompt_that_is_steered_into_the_turn_before() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take("m0")
        await peer.say("one")
        second = await peer.expect("session/prompt")
        await peer.tell("user_message", messageId="m1")
        await peer.answer(second, messageId="m1")
        await peer.say("both")
        await peer.state("idle", "end_turn")

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            first = session.prompt("a")
            seen, second = [], None
            async for update in first:
                seen.append(update)
                if texts([update]) == ["one"]:
                    second = asyncio.create_task(drained(later := session.prompt("b")))
            assert second is not None
            # Its updates had been given out already, to the turn that they belong to as well.
            assert await second == []
            assert texts(seen) == ["one", "both"]
            assert (first.stop_reason, later.stop_reason) == ("end_turn", "end_turn")

    run(main)


@pytest.mark.parametrize("version", ["v1", "v1.unstable"])
def test_version_1_sends_the_next_prompt_when_the_one_before_is_over(version: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        for number in range(3):
            prompt = await peer.expect("session/prompt")
            # Nothing else has come: the answer to a ping would be behind it.
            ping = {"jsonrpc": "2.0", "id": "ping", "method": "_ping"}
            await peer.wire.send(ping)
            assert (await peer.expect(None))["id"] == "ping"
            await peer.say(prompt["params"]["prompt"][0]["text"])
            await peer.finish(prompt, "end_turn" if number else "refusal")

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turns = [session.prompt(text) for text in "abc"]
            found = await asyncio.gather(*map(drained, turns))
            assert list(map(texts, found)) == [["a"], ["b"], ["c"]]
            assert [turn.stop_reason for turn in turns] == ["refusal", "end_turn", "end_turn"]

    run(main)


def test_work_that_the_agent_begins_by_itself_is_no_turn() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.finish(await peer.take())
        await peer.state("running")
        await peer.say("by myself")
        await peer.state("idle", "end_turn")
        prompt = await peer.expect("session/prompt")
        await peer.state("idle", "end_turn")
        await peer.tell("user_message", messageId="m")
        await peer.answer(prompt, messageId="m")
        await peer.state("idle", "end_turn")
        await peer.state("running")
        await peer.say("asked for")
        await peer.state("idle", "refusal")

    async def main() -> None:
        async with talking(script) as agent, agent.session("/x") as session:
            await session.prompt("hi")
            outside = session.updates()
            own = [await anext(outside) for _ in range(3)]
            assert kinds(own) == ["RunningStateUpdate", "AgentMessageChunk", "IdleStateUpdate"]
            turn = session.prompt("hi")
            assert texts(await drained(turn)) == ["asked for"]
            assert turn.stop_reason == "refusal"

    run(main)


@over_versions
def test_a_turn_ends_before_what_comes_after_it(version: str) -> None:
    """Everything in one go: what follows the end is not the turn's, though it was there when the end was handled."""

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.say("in")
        await peer.finish(prompt)
        for _ in range(50):
            await peer.say("out")

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            assert texts(await drained(session.prompt("hi"))) == ["in"]
            outside = session.updates()
            assert texts([await anext(outside) for _ in range(50)]) == ["out"] * 50

    run(main)


# handlers


def test_no_waiting_inside_a_handler_of_updates() -> None:
    """It would wait for itself; a task of its own may."""
    found: dict[str, Any] = {}

    class Client(v2.Client):
        async def session_update(self, notification: v2.UpdateSessionNotification, context: v2.Context) -> None:
            if "error" in found:
                return
            session = found["session"]
            found["error"] = []
            outside = session.updates()
            assert texts([await anext(outside)]) == ["go on"]
            for wait in (session.prompt("inside"), session.prompt("inside"), anext(outside)):
                try:
                    await wait
                except RuntimeError as error:
                    found["error"].append(str(error))
            found["task"] = asyncio.create_task(drained(session.prompt("beside")))
            # The handler is still at it while the task begins.
            await asyncio.sleep(0)

    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.refuse(await peer.expect("session/prompt"), -32000)
        await peer.say("go on")
        prompt = await peer.take()
        assert prompt["params"]["prompt"][0]["text"] == "beside"
        await peer.finish(prompt)

    async def main() -> None:
        async with talking(script, client=Client()) as agent, agent.session("/x") as session:
            found["session"] = session
            with pytest.raises(v2.RequestError):
                await session.prompt("ready")
            while "task" not in found:
                await asyncio.sleep(0)
            updates = await found["task"]
            assert kinds(updates)[-1] == "IdleStateUpdate"
            assert all("wait for itself" in one for one in found["error"])
            assert len(found["error"]) == 3

    run(main)


@over_versions
def test_the_clients_own_handler_still_gets_everything(version: str) -> None:
    module = VERSIONS[version][1]
    seen: list[Any] = []

    class Client(module.Client):  # type: ignore[misc,name-defined]  # of which profile is open
        async def session_update(self, notification: Any, context: Any) -> None:
            # The session has it already.
            seen.append((notification.update, len(seen)))

    async def script(peer: Peer) -> None:
        await peer.opened()
        prompt = await peer.take()
        await peer.say("one")
        await peer.finish(prompt)
        await peer.say("of another", "another")

    async def main() -> None:
        async with talking(script, version, client=Client()) as agent, agent.session("/x") as session:
            updates = await drained(session.prompt("hi"))
            while texts([update for update, _ in seen]) != ["one", "of another"]:
                await asyncio.sleep(0)
            assert [update for update, _ in seen][:-1] == updates

    run(main)


# the end of the connection


@over_versions
@pytest.mark.parametrize("phase", ["before the answer", "in the middle", "before it begins"])
def test_the_connection_is_lost(version: str, phase: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        if phase == "before the answer":
            await peer.expect("session/prompt")
        elif phase == "in the middle":
            await peer.take()
            await peer.say("last words")
        raise GoneError

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x") as session:
            turn = session.prompt("hi")
            seen: list[Any] = []
            if phase == "before it begins":
                await agent.connection.wait_closed()
            with pytest.raises(v2.ConnectionClosed, match="gone"):
                await collect(turn, seen)
            assert texts(seen) == (["last words"] if phase == "in the middle" else [])
            assert turn.is_over and session.is_closed
            # The same again, however often it is asked.
            for again in (turn, session.prompt("more")):
                with pytest.raises(v2.ConnectionClosed, match="gone"):
                    await again
            assert [one async for one in session.updates()] == []
        assert agent.inbox.sessions == {}

    run(main)


def test_the_connection_is_lost_with_prompts_that_wait() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.take()
        raise GoneError

    async def main() -> None:
        async with talking(script, "v1") as agent, agent.session("/x") as session:
            turns = [asyncio.create_task(drained(session.prompt(text))) for text in "abc"]
            found = await asyncio.gather(*turns, return_exceptions=True)
            assert [type(one) for one in found] == [v1.ConnectionClosed] * 3

    run(main)

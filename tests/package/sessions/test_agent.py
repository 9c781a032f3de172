"""An agent of one function: what it tells the client, in which order, whatever its turn does. Facts S."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest
from acp_bindings import memory, permissions, v1, v2
from acp_bindings.runtime.sessions.stores import MemoryStore

from tests.package.sessions.agents import (
    PROMPT,
    agent_of,
    answer_to,
    bare,
    call,
    echo,
    endless,
    newer,
    over_versions,
    short,
    speaking,
    until,
)
from tests.package.sessions.peers import VERSIONS, drained, others, texts
from tests.support.aio import run

# the order of things


def test_the_order_on_the_wire() -> None:
    async def main() -> None:
        async with bare(agent_of(v2, echo)) as wire:
            await call(wire, 1, "session/new", cwd="/x")
            opened, before = await answer_to(wire, 1)
            assert before == []
            await call(wire, 2, "session/prompt", sessionId=opened["result"]["sessionId"], prompt=PROMPT)
            assert await until(wire, "idle end_turn") == [
                "user_message", "answer 2", "running", "agent_message_chunk", "idle end_turn",
            ]  # fmt: skip

    run(main)


def test_the_order_on_the_wire_in_version_1() -> None:
    async def main() -> None:
        async with bare(agent_of(v1, echo), 1) as wire:
            await call(wire, 1, "session/new", cwd="/x", mcpServers=[])
            opened, _ = await answer_to(wire, 1)
            await call(wire, 2, "session/prompt", sessionId=opened["result"]["sessionId"], prompt=PROMPT)
            answer, before = await answer_to(wire, 2)
            assert list(map(short, before)) == ["agent_message_chunk"]
            assert answer["result"] == {"stopReason": "end_turn"}

    run(main)


@newer
def test_the_message_is_named_alike_in_answer_and_update(version: str) -> None:
    module = VERSIONS[version][1]

    async def main() -> None:
        async with speaking(agent_of(module, echo), module) as agent, agent.session("/x") as session:
            turn = session.prompt([module.TextContent(text="a"), module.TextContent(text="b")])
            updates = await drained(turn)
            assert (updates[0].message_id, len(updates[0].content)) == (turn.message_id, 2)
            assert session.state.messages[turn.message_id].text == "ab"

    run(main)


@over_versions
def test_pieces_that_follow_each_other_are_one_message(version: str) -> None:
    module = VERSIONS[version][1]

    async def turn(session: Any, prompt: Any) -> None:
        await session.think("hm")
        await session.say("a")
        await session.say(module.TextContent(text="b"))
        await session.think("well")
        await session.say("c")
        await session.update(module.UsageUpdate(used=1, size=2))
        await session.say("d")

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            for _ in range(2):
                await session.prompt("hi")
            said = [(one.kind, one.text) for one in session.state.messages.values() if one.kind != "user"]
            assert said == [("thought", "hm"), ("agent", "ab"), ("thought", "well"), ("agent", "c"), ("agent", "d")] * 2

    run(main)


# how turns end


@over_versions
@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "refusal", "cancelled", None])
def test_stop_reasons(version: str, reason: str | None) -> None:
    module = VERSIONS[version][1]

    async def turn(session: Any, prompt: Any) -> str | None:
        return reason

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            assert (await session.prompt("hi")).stop_reason == (reason or "end_turn")

    run(main)


@over_versions
@pytest.mark.parametrize("reason", ["bored", "error", 7, "_acme.dev/bored"])
def test_stop_reasons_that_are_none(version: str, reason: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The turn has failed, for what the client is concerned; but version 2 has room for words of one's own."""
    number, module = VERSIONS[version]

    async def turn(session: Any, prompt: Any) -> Any:
        return reason

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            for _ in range(2):
                if number == 1:
                    with pytest.raises(v2.RequestError, match="internal error"):
                        await session.prompt("hi")
                    continue
                done = await session.prompt("hi")
                if reason in ("_acme.dev/bored", "error"):
                    assert (done.stop_reason, done.error) == (reason, None)
                else:
                    assert (done.stop_reason, done.error.code) == ("error", -32603)

    run(main)


@over_versions
def test_a_turn_that_fails(version: str, caplog: pytest.LogCaptureFixture) -> None:
    """Of what it did not mean to raise nothing is told; the session goes on."""
    number, module = VERSIONS[version]
    raised: list[tuple[Exception, tuple[int, str, Any]]] = [
        (ValueError("secret"), (-32603, "internal error", None)),
        (v2.RequestError(-32000, "no model", {"try": "later"}), (-32000, "no model", {"try": "later"})),
        (v2.RequestError(-32000, "no model"), (-32000, "no model", None)),
        # What has no place in a message is no more than an error.
        (v2.RequestError(-32000, "secret", object()), (-32603, "internal error", None)),
        (v2.RequestError(-32000, "secret \ud800"), (-32603, "internal error", None)),
    ]
    if number == 2:
        raised.append((v2.RequestError(2**40, "secret"), (-32603, "internal error", None)))
    errors = iter(raised)

    async def turn(session: Any, prompt: Any) -> None:
        raise next(errors)[0]

    def told(error: Any) -> tuple[Any, ...]:
        data = getattr(error, "data", None)
        return error.code, error.message, None if data is module.UNSET else data

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            for _, expected in raised:
                if number == 2:
                    done = await session.prompt("hi")
                    assert done.stop_reason == "error"
                    assert told(done.error) == expected
                else:
                    with pytest.raises(v2.RequestError) as failed:
                        await session.prompt("hi")
                    assert told(failed.value) == expected

    run(main)
    assert "secret" in caplog.text


@over_versions
@pytest.mark.parametrize("way", ["ends", "fails", "answers", "goes on", "has not begun"])
def test_cancelling_a_turn(version: str, way: str) -> None:
    """The stop reason is `cancelled`, whatever its code does about it."""
    module = VERSIONS[version][1]
    begun = asyncio.Event()

    async def turn(session: Any, prompt: Any) -> str | None:
        if prompt[0].text == "again":
            return "refusal"
        session.grace = 0.05
        await session.say("begun")
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if way == "fails":
                raise ValueError("on the way out") from None
            if way == "ends":
                raise
            while way == "goes on":
                with contextlib.suppress(asyncio.CancelledError):
                    await ending.wait()
                    break
            await session.say("anyhow")
        return "end_turn"

    ending = asyncio.Event()

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            first = session.prompt("hi")
            task = asyncio.create_task(drained(first))
            if way != "has not begun":
                await begun.wait()
            else:
                while not first._sent:
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
            await session.cancel()
            await task
            assert first.stop_reason == "cancelled"
            assert (await session.prompt("again")).stop_reason == "refusal"
            ending.set()

    run(main)


@newer
def test_held_prompts(version: str) -> None:
    """They wait their turn; a cancellation refuses those that are held, and a close too."""
    module = VERSIONS[version][1]
    gate = asyncio.Event()

    async def turn(session: Any, prompt: Any) -> None:
        await session.say(f"to {prompt[0].text}")
        await gate.wait()

    async def main() -> None:
        async with bare(agent_of(module, turn)) as wire:
            await call(wire, 1, "session/new", cwd="/x")
            session = (await answer_to(wire, 1))[0]["result"]["sessionId"]
            for ending in ("session/cancel", "session/close"):
                for identity in (2, 3, 4):
                    await call(wire, identity, "session/prompt", sessionId=session, prompt=PROMPT)
                first = await until(wire, "agent_message_chunk")
                assert first == ["user_message", "answer 2", "running", "agent_message_chunk"]
                if ending == "session/cancel":
                    await wire.send({"jsonrpc": "2.0", "method": ending, "params": {"sessionId": session}})
                    rest = [short(await wire.receive()) for _ in range(3)]
                else:
                    await call(wire, 5, ending, sessionId=session)
                    rest = [short(await wire.receive()) for _ in range(4)]
                    # After the answer nothing is said of the session.
                    assert rest.pop() == "answer 5"
                assert sorted(rest) == ["error 3 -32800", "error 4 -32800", "idle cancelled"]
            await call(wire, 6, "session/prompt", sessionId=session, prompt=PROMPT)
            assert short(await wire.receive()) == "error 6 -32002"

    run(main)


@newer
def test_a_prompt_that_is_given_up(version: str) -> None:
    """`$/cancel_request` calls off a held one; of one that is in the conversation only the word is too late."""
    module = VERSIONS[version][1]

    async def main() -> None:
        async with bare(agent_of(module, endless)) as wire:
            await call(wire, 1, "session/new", cwd="/x")
            session = (await answer_to(wire, 1))[0]["result"]["sessionId"]
            await call(wire, 2, "session/prompt", sessionId=session, prompt=PROMPT)
            await until(wire, "agent_message_chunk")
            await call(wire, 3, "session/prompt", sessionId=session, prompt=PROMPT)
            for identity in (3, 2):
                params = {"requestId": identity}
                await wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": params})
            assert short(await wire.receive()) == "error 3 -32800"
            assert await wire.replies() == []

    run(main)


def test_version_1_gives_up_a_turn_by_its_request_too() -> None:
    async def main() -> None:
        async with bare(agent_of(v1, endless), 1) as wire:
            await call(wire, 1, "session/new", cwd="/x", mcpServers=[])
            session = (await answer_to(wire, 1))[0]["result"]["sessionId"]
            await call(wire, 2, "session/prompt", sessionId=session, prompt=PROMPT)
            await until(wire, "agent_message_chunk")
            await wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 2}})
            assert short(await wire.receive()) == "error 2 -32800"
            await call(wire, 3, "session/prompt", sessionId=session, prompt=PROMPT)
            await until(wire, "agent_message_chunk")

    run(main)


@over_versions
def test_code_that_will_not_end_is_left_behind(version: str, caplog: pytest.LogCaptureFixture) -> None:
    """After the session's grace; once the session is closed it cannot say anything more."""
    module = VERSIONS[version][1]
    left, heard = asyncio.Event(), asyncio.Event()
    problem: list[Exception] = []

    async def turn(session: Any, prompt: Any) -> None:
        session.grace = 0.05
        await session.say("begun")
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await left.wait()
        try:
            await session.say("nobody listens")
        except v2.ConnectionClosed as error:
            problem.append(error)
        heard.set()

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent:
            async with agent.session("/x") as session:
                left_behind = session.prompt("hi")
                async for update in left_behind:
                    if texts([update]):
                        break
            assert left_behind.stop_reason == "cancelled"
            left.set()
            await heard.wait()
            assert "is closed" in str(problem[0])
            assert session.state.messages != {}

    with caplog.at_level(logging.ERROR, "acp_bindings"):
        run(main)
    assert "did not end within 0.05 s" in caplog.text


@over_versions
def test_the_connection_ends_in_the_middle(version: str) -> None:
    """The turn's task is cancelled, and what it had said by then is history."""
    module = VERSIONS[version][1]
    store = MemoryStore()
    ended: list[str] = []

    async def turn(session: Any, prompt: Any) -> None:
        try:
            await endless(session, prompt)
        finally:
            ended.append(session.id)

    async def main() -> None:
        before = asyncio.all_tasks()
        async with speaking(agent_of(module, turn, store=store), module) as agent:
            context = agent.session("/x", close=False)
            session = await context.__aenter__()
            task = asyncio.create_task(drained(session.prompt("hi")))
            while "begun" not in str(session.state.to_builtins()):
                await asyncio.sleep(0)
            await agent.connection.close()
            with pytest.raises(v2.ConnectionClosed):
                await task
            await context.__aexit__(None, None, None)
        assert ended == [session.id]
        history = b"".join(await store.history(session.id))
        assert b"begun" in history and b'"hi"' in history
        await asyncio.sleep(0)
        assert others(before) == set()

    run(main)


# asking


def test_the_states_around_questions() -> None:
    async def turn(session: Any, prompt: Any) -> None:
        await asyncio.gather(*(session.ask(f"May I {number}?") for number in range(3)))
        await session.ask("And in between?", blocks=False)
        await session.say("done")
        await session.ask("One more?")

    async def main() -> None:
        async with (
            speaking(agent_of(v2, turn), v2) as agent,
            agent.session("/x", permissions=permissions.allow_once) as session,
        ):
            updates = await drained(session.prompt("hi"))
            states = [getattr(one, "state", "-") for one in updates]
            assert states == ["-", "running", "requires_action", "running", "-", "requires_action", "running", "idle"]

    run(main)


@pytest.mark.parametrize("catches", [True, False])
def test_a_question_that_cannot_be_asked(catches: bool) -> None:
    """The turn goes on, and says so, or fails."""

    async def turn(session: Any, prompt: Any) -> None:
        try:
            await session.ask("May I?")
        except v2.RequestError as error:
            if not catches:
                raise
            await session.say(str(error.code))

    async def main() -> None:
        async with speaking(agent_of(v2, turn), v2) as agent, agent.session("/x") as session:
            turn_ = session.prompt("hi")
            updates = await drained(turn_)
            states = [one.state for one in updates if hasattr(one, "state")]
            assert states == ["running", "requires_action", "running", "idle"]
            assert turn_.stop_reason == ("end_turn" if catches else "error")

    run(main)


@over_versions
def test_what_is_asked(version: str) -> None:
    number, module = VERSIONS[version]
    seen: list[Any] = []

    def note(request: Any) -> None:
        seen.append(module.to_builtins(request))

    async def turn(session: Any, prompt: Any) -> None:
        await session.ask("Write?", tool_call="t", description="To disk")
        await session.ask(
            "Write?", tool_call=module.SessionToolCallUpdate(tool_call_id="t", title="Write", kind="edit")
        )
        await session.ask("Anything?")

    async def main() -> None:
        async with (
            speaking(agent_of(module, turn), module) as agent,
            agent.session("/x", permissions=note) as session,
        ):
            await session.prompt("hi")

    run(main)
    assert all(
        [one["kind"] for one in request["options"]] == ["allow_once", "allow_always", "reject_once"] for request in seen
    )
    if number == 1:
        assert seen[0]["toolCall"] == {"toolCallId": "t", "title": "Write?"}
        assert seen[1]["toolCall"] == {"toolCallId": "t", "title": "Write", "kind": "edit"}
        assert seen[2]["toolCall"]["title"] == "Anything?"
    else:
        assert [one["title"] for one in seen] == ["Write?", "Write?", "Anything?"]
        assert (seen[0]["description"], seen[0]["subject"]["toolCall"]) == ("To disk", {"toolCallId": "t"})
        assert seen[1]["subject"]["toolCall"] == {"toolCallId": "t", "title": "Write", "kind": "edit"}
        assert "subject" not in seen[2]


def test_what_is_no_update_is_refused_by_name() -> None:
    told: list[str] = []

    class Wrong(v2.SessionAgent):
        async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
            wrong: list[Any] = ["hello", None, v2.TextContent(text="hello")]
            for update in wrong:
                with pytest.raises(TypeError) as caught:
                    await session.update(update)
                told.append(str(caught.value))

    async def main() -> None:
        async with memory.connect(Wrong(), client=v2.Client()) as agent, agent.session("/x") as session:
            assert (await session.prompt("hi")).stop_reason == "end_turn"

    run(main)
    assert told[:2] == ["str is no update of a session", "NoneType is no update of a session"]
    assert "TextContent" in told[2]


@over_versions
def test_a_turn_that_loses_another_connection(version: str) -> None:
    """An agent that is another agent's client: when that one dies, it is a failure like any other."""
    number, module = VERSIONS[version]

    async def turn(session: Any, prompt: Any) -> None:
        raise module.ConnectionClosed("the secret helper is gone", 1)

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent, agent.session("/x") as session:
            if number == 2:
                done = await session.prompt("hi", timeout=10)
                assert (done.stop_reason, done.error.code) == ("error", -32603)
                assert "secret" not in str(done.error)
            else:
                with pytest.raises(v2.RequestError, match="internal error"):
                    await session.prompt("hi", timeout=10)

    run(main)

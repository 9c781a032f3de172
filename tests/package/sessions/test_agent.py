"""An agent of one function: what it tells the client, in which order, whatever its turn does. Facts S."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest
from acp_bindings import memory, permissions, v1, v2
from acp_bindings.runtime.sessions.stores import PAGE, MemoryStore
from acp_bindings.v2 import unstable

from tests.package.connection.links import _wire
from tests.package.connection.wires import Wire
from tests.package.sessions.peers import VERSIONS, drained, others, texts
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)
newer = pytest.mark.parametrize("version", ["v2", "v2.unstable"])
Turn = Callable[[Any, Any], Awaitable[Any]]


def agent_of(module: ModuleType, turn: Turn, **options: Any) -> Any:
    """An agent with this turn; `opened` and `config_changed` among the options are its hooks."""
    hooks = {name: options.pop(name) for name in ("opened", "config_changed") if name in options}

    class Made(module.SessionAgent):  # type: ignore[misc,name-defined]  # of which profile is open
        async def turn(self, session: Any, prompt: Any) -> Any:
            return await turn(session, prompt)

        async def opened(self, session: Any) -> None:
            if "opened" in hooks:
                await hooks["opened"](session)

        async def config_changed(self, session: Any, option: Any) -> None:
            if "config_changed" in hooks:
                await hooks["config_changed"](session, option)

    return Made(**options)


@contextlib.asynccontextmanager
async def speaking(agent: Any, module: ModuleType, able: Any = None, **options: Any) -> AsyncIterator[Any]:
    """A client's connection; `able` are its capabilities as on the wire."""
    capabilities = module.convert(able or {}, module.ClientCapabilities)
    async with memory.connect(agent, client=module.Client(capabilities=capabilities), **options) as remote:
        yield remote


@contextlib.asynccontextmanager
async def bare(agent: Any, version: int = 2) -> AsyncIterator[Wire]:
    """A bare end to an agent: what is on the wire, in its order."""
    from acp_bindings.runtime.door import agents_of, served
    from acp_bindings.runtime.transports.memory import MemoryTransport

    ours, theirs = MemoryTransport.pair()
    async with served(theirs, agents_of(agent), strict=False, observer=None):
        wire = _wire(ours)
        await wire.initialize(version)
        yield wire
        await ours.close()


async def call(wire: Wire, identity: int, method: str, **params: Any) -> None:
    await wire.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


async def answer_to(wire: Wire, identity: int) -> tuple[Any, list[Any]]:
    """The answer, and what came before it."""
    before = []
    while (message := await wire.receive()).get("id") != identity or "method" in message:
        before.append(message)
    return message, before


def short(message: Any) -> str:
    """What a message is, in a word or two."""
    if "method" not in message:
        return f"answer {message['id']}" if "result" in message else f"error {message['id']} {message['error']['code']}"
    update = message.get("params", {}).get("update", {})
    state = [update[key] for key in ("state", "stopReason") if key in update]
    return " ".join(state or [update.get("sessionUpdate", message["method"])])


async def until(wire: Wire, last: str) -> list[str]:
    seen: list[str] = []
    while not seen or seen[-1] != last:
        seen.append(short(await wire.receive()))
    return seen


PROMPT = [{"type": "text", "text": "hi"}]


async def echo(session: Any, prompt: Any) -> None:
    for block in prompt:
        await session.say(block)


async def endless(session: Any, prompt: Any) -> None:
    await session.say("begun")
    await asyncio.Event().wait()


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


# opening, listing, closing


@over_versions
def test_resuming_with_and_without_history(version: str) -> None:
    number, module = VERSIONS[version]
    agent_object = agent_of(module, echo)

    async def main() -> None:
        async with speaking(agent_object, module) as agent:
            async with agent.session("/x") as session:
                await session.prompt("one")
                await session.prompt("two")
                live = session.state
            assert agent_object.sessions == {}
            async with agent.session("/x", resume=session.id) as resumed:
                assert resumed.state.messages == {}
                # The state is told all the same.
                assert (resumed.state.activity is None) == (number == 1)
                assert resumed.state.is_idle
                await resumed.prompt("three")
            async with agent.session("/x", load=session.id) as loaded:
                said = [one.text for one in loaded.state.messages.values()]
                assert said == ["one", "one", "two", "two", "three", "three"]
                if number == 2:
                    known = list(live.messages)
                    assert [loaded.state.messages[key] for key in known] == list(live.messages.values())

    run(main)


def test_the_order_of_a_replay() -> None:
    """History, the state, the answer."""

    async def main() -> None:
        async with bare(agent_of(v2, echo)) as wire:
            await call(wire, 1, "session/new", cwd="/x")
            session = (await answer_to(wire, 1))[0]["result"]["sessionId"]
            await call(wire, 2, "session/prompt", sessionId=session, prompt=PROMPT)
            await until(wire, "idle end_turn")
            await call(wire, 3, "session/resume", sessionId=session, cwd="/x", replayFrom={"type": "start"})
            history = ["user_message", "agent_message", "agent_message_chunk"]
            assert await until(wire, "answer 3") == [*history, "idle", "answer 3"]
            await call(wire, 4, "session/resume", sessionId=session, cwd="/x", replayFrom=None)
            assert await until(wire, "answer 4") == ["idle", "answer 4"]
            for number, cursor in enumerate(
                ({"type": "_acme.dev/middle"}, {"type": "newer", "at": 1}, {"type": 7}, {}), 5
            ):
                await call(wire, number, "session/resume", sessionId=session, cwd="/x", replayFrom=cursor)
                assert short(await wire.receive()) == f"error {number} -32602"

    run(main)


def test_resuming_in_the_middle_of_a_turn_tells_that_it_runs() -> None:
    asked = asyncio.Event()

    class Client(v2.Client):
        async def session_request_permission(self, request: Any, context: Any) -> Any:
            asked.set()
            await asyncio.Event().wait()

    async def turn(session: Any, prompt: Any) -> None:
        await session.say("begun")
        if prompt[0].text == "ask":
            await session.ask("May I?")
        await asyncio.Event().wait()

    async def main() -> None:
        agent_object = agent_of(v2, turn)
        async with memory.connect(agent_object, client=Client()) as agent:
            for text, state in (("wait", "running"), ("ask", "requires_action")):
                async with agent.session("/x", close=False) as session:
                    task = asyncio.create_task(drained(session.prompt(text)))
                    while "begun" not in str(session.state.to_builtins()):
                        await asyncio.sleep(0)
                    if text == "ask":
                        await asked.wait()
                    seen: list[Any] = []
                    listener = asyncio.create_task(_note(session, seen))
                    request = v2.ResumeSessionRequest(session_id=session.id, cwd="/x")
                    await agent.session_resume(request)
                    assert session.state.activity.state == state
                    listener.cancel()
                await task

    run(main)


@newer
def test_what_is_said_while_history_is_told_comes_after_it(version: str) -> None:
    """The replay of a message begins with nothing: what came before that would be gone."""
    module = VERSIONS[version][1]
    said, reading, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    wire = {"cwd": "/x", "replayFrom": {"type": "start"}}

    class Store(MemoryStore):
        async def history(self, session_id: str) -> list[bytes]:
            found = await super().history(session_id)
            reading.set()
            await go_on.wait()
            return found

    async def turn(session: Any, prompt: Any) -> None:
        await session.say("one ")
        said.set()
        await reading.wait()
        await session.say("two")

    async def main() -> None:
        agent_object = agent_of(module, turn, store=Store())
        async with speaking(agent_object, module) as agent, agent.session("/x") as session:
            prompting = asyncio.create_task(drained(session.prompt("hi")))
            await said.wait()
            start = module.convert(wire | {"sessionId": session.id}, module.ResumeSessionRequest)
            resuming = asyncio.create_task(agent.session_resume(start))
            await reading.wait()
            for _ in range(20):
                await asyncio.sleep(0)
            go_on.set()
            await resuming
            await prompting
            assert [one.text for one in session.state.messages.values()] == ["hi", "one two"]

    run(main)


async def _note(session: Any, seen: list[Any]) -> None:
    async for update in session.updates():
        seen.append(update)


@over_versions
def test_sessions_that_there_are_not(version: str) -> None:
    number, module = VERSIONS[version]

    async def main() -> None:
        async with speaking(agent_of(module, echo), module, strict=False) as agent:
            block = module.TextContent(text="hi")
            for called in (
                agent.session("/x", resume="none").__aenter__(),
                agent.session("/x", load="none").__aenter__(),
                agent.session_prompt(module.PromptRequest(session_id="none", prompt=[block])),
            ):
                with pytest.raises(v2.RequestError) as refused:
                    await called
                assert refused.value.code == -32002
            # As good as done.
            await agent.session_close(module.CloseSessionRequest(session_id="none"))
            await agent.session_delete(module.DeleteSessionRequest(session_id="none"))
            cancel = module.CancelNotification if number == 1 else module.CancelSessionNotification
            await agent.session_cancel(cancel(session_id="none"))
            async with agent.session("/x") as session:
                with pytest.raises(v2.RequestError) as refused:
                    await agent.session_prompt(module.PromptRequest(session_id=session.id, prompt=[]))
                assert refused.value.code == -32602

    run(main)


@over_versions
def test_what_a_session_is_to_have_is_given_anew_each_time(version: str) -> None:
    """Servers and further folders are whole lists; another working folder is refused."""
    module = VERSIONS[version][1]
    agent_object = agent_of(module, echo)
    server = module.McpServerStdio(name="x", command="/bin/serve", args=[], env=[])

    async def main() -> None:
        async with speaking(agent_object, module, gates=False) as agent:
            options = {"mcp_servers": [server], "additional_directories": ["/a"]}
            async with agent.session("/x", close=False, **options) as session:
                (own,) = agent_object.sessions.values()
                assert (own.cwd, own.record.additional_directories, own.mcp_servers) == ("/x", ["/a"], [server])
            # Open still: resumed without them it has none.
            async with agent.session("/x/", resume=session.id):
                assert (own.record.additional_directories, own.mcp_servers) == ([], [])
            async with agent.session("/x", resume=session.id, **options):
                (own,) = agent_object.sessions.values()
                assert (own.record.additional_directories, own.mcp_servers) == (["/a"], [server])
            with pytest.raises(v2.RequestError) as refused:
                await agent.session("/y", resume=session.id).__aenter__()
            assert refused.value.code == -32602
            assert agent_object.sessions == {}

    run(main)


@over_versions
def test_listing(version: str) -> None:
    module = VERSIONS[version][1]
    count = PAGE + 10

    async def turn(session: Any, prompt: Any) -> None:
        await session.set_title(f"Title {prompt[0].text}")

    async def main() -> None:
        async with speaking(agent_of(module, turn), module) as agent:
            for number in range(count):
                async with agent.session("/a" if number % 2 else "/b", close=False) as session:
                    if not number:
                        await session.prompt("0")
                        assert session.state.info.title == "Title 0"
            first = await agent.session_list(module.ListSessionsRequest())
            second = await agent.session_list(module.ListSessionsRequest(cursor=first.next_cursor))
            assert (len(first.sessions), len(second.sessions), second.next_cursor) == (PAGE, 10, module.UNSET)
            found = [*first.sessions, *second.sessions]
            assert len({one.session_id for one in found}) == count
            times = [one.updated_at for one in found]
            assert times == sorted(times, reverse=True)
            assert [one.title for one in found if one.title is not module.UNSET] == ["Title 0"]
            only = await agent.session_list(module.ListSessionsRequest(cwd="/a"))
            assert {one.cwd for one in only.sessions} == {"/a"} and len(only.sessions) == count // 2
            assert (await agent.session_list(module.ListSessionsRequest(cwd="/c"))).sessions == []
            for cursor in ("", "nonsense", "é", "W10=", "WzEsMiwzXQ==", "bnVsbA==", "W1tbW1tbW1t" * 10_000):
                with pytest.raises(v2.RequestError) as refused:
                    await agent.session_list(module.ListSessionsRequest(cursor=cursor))
                assert refused.value.code == -32602

    run(main)


@over_versions
def test_deleting(version: str) -> None:
    module = VERSIONS[version][1]
    store = MemoryStore()
    agent_object = agent_of(module, endless, store=store)

    async def main() -> None:
        async with speaking(agent_object, module) as agent:
            context = agent.session("/x", close=False)
            session = await context.__aenter__()
            turn = session.prompt("hi")
            task = asyncio.create_task(drained(turn))
            while "begun" not in str(session.state.to_builtins()):
                await asyncio.sleep(0)
            await agent.session_delete(module.DeleteSessionRequest(session_id=session.id))
            await task
            assert turn.stop_reason == "cancelled"
            await context.__aexit__(None, None, None)
            assert (agent_object.sessions, await store.find(session.id), await store.history(session.id)) == (
                {},
                None,
                [],
            )
            assert (await agent.session_list(module.ListSessionsRequest())).sessions == []

    run(main)


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("version", ["v2.unstable", "v1.unstable"])
def test_forking(version: str, live: bool) -> None:
    """The fork has the history and goes its own way; the other one is what and where it was."""
    module = VERSIONS[version][1]
    agent_object = agent_of(module, echo)

    async def main() -> None:
        async with speaking(agent_object, module, gates=False) as agent:
            async with agent.session("/x", close=not live, additional_directories=["/a"]) as session:
                await session.prompt("one")
            opened = set(agent_object.sessions)
            async with agent.session("/y", fork=session.id) as fork:
                assert fork.id != session.id
                assert set(agent_object.sessions) == opened | {fork.id}
                own = agent_object.sessions[fork.id]
                assert (own.cwd, own.record.additional_directories) == ("/y", [])
                await fork.prompt("two")
            for identity, cwd, said in ((fork.id, "/y", ["one", "one", "two", "two"]), (session.id, "/x", ["one"] * 2)):
                async with agent.session(cwd, load=identity) as loaded:
                    assert [one.text for one in loaded.state.messages.values()] == said
            with pytest.raises(v2.RequestError) as refused:
                await agent.session("/x", fork="none").__aenter__()
            assert refused.value.code == -32002

    run(main)


@over_versions
@pytest.mark.parametrize("way", ["new", "resume"])
def test_opening_that_fails_leaves_nothing(version: str, way: str) -> None:
    module = VERSIONS[version][1]
    store, fails = MemoryStore(), [False]

    async def opened(session: Any) -> None:
        if fails[0]:
            raise v2.RequestError(-32000, "log in")

    agent_object = agent_of(module, echo, store=store, opened=opened)

    async def main() -> None:
        async with speaking(agent_object, module) as agent:
            async with agent.session("/x") as session:
                pass
            fails[0] = True
            with pytest.raises(v2.RequestError, match="log in"):
                await agent.session("/x", **({} if way == "new" else {"resume": session.id})).__aenter__()
            assert agent_object.sessions == {}
            assert [one.session_id for one in await store.page(None, None, 9)] == [session.id]
            # One that is open stays so, when opening it once more fails.
            fails[0] = False
            async with agent.session("/x", close=False) as session:
                pass
            fails[0] = True
            with pytest.raises(v2.RequestError, match="log in"):
                await agent.session("/x", resume=session.id).__aenter__()
            assert list(agent_object.sessions) == [session.id]

    run(main)


def options_of(module: ModuleType, number: int) -> list[Any]:
    name = "id" if number == 1 else "configId"
    choices = [{"value": "fast", "name": "Fast"}, {"value": "good", "name": "Good"}]
    grouped = [{"group" if number == 1 else "groupId": "g", "name": "G", "options": choices}]
    wires = [
        {name: "model", "name": "Model", "type": "select", "currentValue": "fast", "options": choices},
        {name: "grouped", "name": "Grouped", "type": "select", "currentValue": "fast", "options": grouped},
        {name: "flag", "name": "Flag", "type": "boolean", "currentValue": False},
    ]
    return [module.convert(wire, module.SessionConfigOption) for wire in wires]


@over_versions
def test_offers_and_options(version: str) -> None:
    number, module = VERSIONS[version]
    changed: list[tuple[Any, Any]] = []
    command = {"type": "command", "name": "plan", "description": "Make one"}

    async def opened(session: Any) -> None:
        session.config_options = options_of(module, number)
        session.commands = [module.convert(command, module.AvailableCommand)]

    async def config_changed(session: Any, option: Any) -> None:
        changed.append((option.name, option.current_value))
        if option.current_value == "good" and option.name == "Grouped":
            raise v2.RequestError(-32000, "sold out")

    agent_object = agent_of(module, echo, opened=opened, config_changed=config_changed)

    async def main() -> None:
        if number == 1:
            # Here switches are for clients that say that they know them.
            async with speaking(agent_object, module) as agent, agent.session("/x") as session:
                assert [one.id for one in session.state.config_options] == ["model", "grouped"]
        able: dict[str, Any] = {"session": {"configOptions": {"boolean": {}}}} if number == 1 else {}
        async with speaking(agent_object, module, able, gates=False) as agent, agent.session("/x") as session:
            while session.state.commands is None:
                # In version 1 they come right after the answer.
                assert number == 1
                await asyncio.sleep(0)
            assert [one.name for one in session.state.commands] == ["plan"]
            await session.set_config_option("model", "good")
            await session.set_config_option("flag", True)
            await session.set_config_option("grouped", "fast")
            assert [one.current_value for one in session.state.config_options] == ["good", "fast", True]
            assert changed == [("Model", "good"), ("Flag", True), ("Grouped", "fast")]
            for identity, value in (("model", "none"), ("model", True), ("flag", "fast"), ("none", "fast")):
                with pytest.raises(v2.RequestError) as refused:
                    await session.set_config_option(identity, value)
                assert refused.value.code == -32602
            with pytest.raises(v2.RequestError, match="sold out"):
                await session.set_config_option("grouped", "good")
            (own,) = agent_object.sessions.values()
            assert [one.current_value for one in own.config_options] == ["good", "fast", True]

    run(main)


def test_an_option_of_a_type_that_nobody_knows() -> None:
    async def opened(session: Any) -> None:
        session.config_options = options_of(v2, 2)

    async def main() -> None:
        async with bare(agent_of(v2, echo, opened=opened)) as wire:
            await call(wire, 1, "session/new", cwd="/x")
            session = (await answer_to(wire, 1))[0]["result"]["sessionId"]
            wrongs: list[dict[str, Any]] = [
                {"type": "_x", "value": {}},
                {"type": "newer", "value": "fast"},
                {"value": 1},
            ]
            for number, wrong in enumerate(wrongs, 2):
                await call(wire, number, "session/set_config_option", sessionId=session, configId="model", **wrong)
                assert short(await wire.receive()) == f"error {number} -32602"

    run(main)


def test_what_is_live_is_no_history() -> None:
    """Commands and options are offered anew by whoever resumes: a replay must not bring old ones in between."""

    async def turn(session: Any, prompt: Any) -> None:
        await session.update(v2.AvailableCommandsUpdate(available_commands=[]))
        await session.update(v2.ConfigOptionUpdate(config_options=[]))
        await session.update(v2.UnknownSessionUpdate({"sessionUpdate": "_acme.dev/mood"}))
        await session.update(unstable.Notice(severity="info", title="now"))

    async def main() -> None:
        agent_object = agent_of(v2, turn)
        async with speaking(agent_object, v2, strict=False) as agent:
            async with agent.session("/x") as session:
                await session.prompt("hi")
            history = await agent_object.store.history(session.id)
            assert [b"_acme.dev/mood" in one or b"user_message" in one for one in history] == [True, True]

    run(main)


def test_an_update_that_is_not_valid_is_neither_told_nor_kept() -> None:
    problem: list[Exception] = []

    async def turn(session: Any, prompt: Any) -> None:
        for wrong in (v2.AgentMessageChunk(message_id=1, content=None), v2.AgentMessage(message_id="\ud800")):  # type: ignore[arg-type]  # what a checker would have said
            try:
                await session.update(wrong)
            except ValueError as error:
                problem.append(error)

    async def main() -> None:
        agent_object = agent_of(v2, turn)
        async with speaking(agent_object, v2) as agent, agent.session("/x") as session:
            assert (await session.prompt("hi")).stop_reason == "end_turn"
            await agent_object.sessions[session.id].save()
            assert len(await agent_object.store.history(session.id)) == 1
        assert len(problem) == 2

    run(main)


@over_versions
def test_what_it_advertises(version: str) -> None:
    number, module = VERSIONS[version]

    async def main() -> None:
        async with speaking(agent_of(module, echo), module) as agent:
            able = module.to_builtins(agent.initialized)
            if number == 1:
                assert able["agentCapabilities"]["loadSession"] is True
                assert able["agentCapabilities"]["sessionCapabilities"].keys() >= {"list", "resume", "close"}
            else:
                assert ("fork" in able["capabilities"]["session"]) == (version == "v2.unstable")
                assert "delete" in able["capabilities"]["session"]
        mine = module.AgentCapabilities()
        assert agent_of(module, echo, capabilities=mine).capabilities is mine

    run(main)

"""An agent's sessions: opening, listing, forking and closing them, and what they offer. Facts S."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest
from acp_bindings import memory, v2
from acp_bindings.runtime.sessions.stores import PAGE, MemoryStore
from acp_bindings.v2 import unstable

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
from tests.package.sessions.peers import VERSIONS, drained
from tests.support.aio import run


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
                    assert getattr(session.state.activity, "state", None) == state
                    listener.cancel()
                await task

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

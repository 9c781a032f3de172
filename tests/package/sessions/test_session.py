"""A client's session: how it is opened, what reaches it, what it can be told."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from acp_bindings import memory, v1, v2
from acp_bindings.runtime.sessions import session as sessions_module
from acp_bindings.v2 import unstable

from tests.package.sessions.peers import VERSIONS, GoneError, Peer, drained, others, talking, texts
from tests.support.aio import run

over_versions = pytest.mark.parametrize("version", VERSIONS)
OPTION = {"configId": "mode", "name": "Mode", "type": "boolean", "currentValue": False}
OLD_OPTION = {"id": "mode", "name": "Mode", "type": "boolean", "currentValue": False}


@over_versions
def test_what_opening_sends(version: str) -> None:
    module = VERSIONS[version][1]

    async def script(peer: Peer) -> None:
        request = await peer.opened()
        expected: dict[str, Any] = {"cwd": "/x", "_meta": {"a": 1}}
        # Version 1 requires the list.
        assert request["params"] == expected | ({"mcpServers": []} if peer.version == 1 else {})
        await peer.closed()
        request = await peer.opened("session/resume")
        assert request["params"] == {"sessionId": "", "cwd": "/x"}

    async def main() -> None:
        async with talking(script, version, gates=False) as agent:
            async with agent.session(PurePosixPath("/x"), meta={"a": 1}) as session:
                assert session.id == "s"
                assert isinstance(session.opened, module.NewSessionResponse)
                assert type(session.state) is module.SessionState
                assert type(session) is module.Session
            # An id may be anything, nothing included.
            async with agent.session("/x", resume="", close=False) as session:
                assert session.id == ""

    run(main)


def test_further_members_and_servers() -> None:
    async def script(peer: Peer) -> None:
        request = await peer.opened()
        assert request["params"]["additionalDirectories"] == ["/a", "/b"]
        assert request["params"]["mcpServers"][0]["command"] == "/bin/serve"
        assert request["params"]["systemPrompt"]["mode"] == "append"

    async def main() -> None:
        server = unstable.McpServerStdio(name="x", command="/bin/serve", args=[], env=[])
        async with (
            talking(script, "v2.unstable", gates=False) as agent,
            agent.session(
                "/x",
                mcp_servers=[server],
                additional_directories=["/a", PurePosixPath("/b")],
                system_prompt=unstable.SystemPrompt(mode="append", content=[unstable.TextContent(text="Be kind")]),
            ),
        ):
            pass

    run(main)


@over_versions
def test_updates_before_the_answer_are_not_lost(version: str) -> None:
    """They are held for sessions that nobody knows yet, whoever's they turn out to be."""

    async def script(peer: Peer) -> None:
        first, second = [await peer.expect("session/new") for _ in range(2)]
        await peer.say("one", "a")
        await peer.say("two", "b")
        await peer.answer(first, sessionId="a")
        # Between the answers, and right behind them.
        await peer.say("three", "b")
        await peer.answer(second, sessionId="b")
        await peer.say("four", "b")
        await peer.say("of nobody", "c")

    async def main() -> None:
        async with talking(script, version) as agent:

            async def open_one() -> tuple[str, str]:
                async with agent.session("/x", close=False) as session:
                    count = 1 if session.id == "a" else 3
                    outside = session.updates()
                    said = texts([await anext(outside) for _ in range(count)])
                    assert "".join(said) == session.state.messages["a"].text
                    return session.id, " ".join(said)

            before = asyncio.all_tasks()
            found = await asyncio.gather(open_one(), open_one())
            assert dict(found) == {"a": "one", "b": "two three four"}
            assert others(before) == set()
            assert (agent.inbox.sessions, agent.inbox._held) == ({}, {})

    run(main)


@over_versions
def test_a_history_of_any_length_is_replayed(version: str) -> None:
    """It comes before the answer, when nobody can have asked for it yet."""
    count = sessions_module.UPDATES_KEPT + 500

    async def script(peer: Peer) -> None:
        request = await peer.expect("session/load" if peer.version == 1 else "session/resume")
        if peer.version == 2:
            assert request["params"]["replayFrom"] == {"type": "start"}
        for number in range(count):
            await peer.say(f"{number},", "old")
        await peer.state("idle")
        await peer.answer(request)

    async def main() -> None:
        async with talking(script, version) as agent, agent.session("/x", load="old") as session:
            assert session.id == "old"
            assert session.state.messages["a"].text == "".join(f"{number}," for number in range(count))
            outside = session.updates()
            replayed = [await anext(outside) for _ in range(count)]
            assert texts(replayed) == [f"{number}," for number in range(count)]
            assert session.state.is_idle

    run(main)


def test_opening_that_fails() -> None:
    async def script(peer: Peer) -> None:
        await peer.refuse(await peer.expect("session/new"), -32000, "log in")
        await peer.refuse(await peer.expect("session/resume"), -32002, "no such session")
        await peer.answer(await peer.expect("session/new"), sessionId=7)
        await peer.expect("session/new")
        raise GoneError

    async def main() -> None:
        async with talking(script) as agent:
            for options, error in (
                ({}, v2.RequestError),
                ({"resume": "x"}, v2.RequestError),
                ({}, v2.ProtocolError),
                ({}, v2.ConnectionClosed),
            ):
                with pytest.raises(error):
                    await agent.session("/x", **options).__aenter__()
                assert agent.inbox.sessions == {}

    run(main)


def test_ways_to_open_that_there_are_not() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()

    async def main() -> None:
        async with talking(script) as agent:
            with pytest.raises(ValueError, match="exclude each other"):
                await agent.session("/x", resume="a", load="b").__aenter__()
            with pytest.raises(ValueError, match="session/fork is not part"):
                await agent.session("/x", fork="a").__aenter__()
            for cwd, more in ((".", []), ("", []), (Path("x"), []), ("/x", ["../y"]), ("C:x", [])):
                with pytest.raises(ValueError, match="is not absolute"):
                    await agent.session(cwd, additional_directories=more).__aenter__()
            async with agent.session("/x", close=False):
                with pytest.raises(ValueError, match="session s is open"):
                    await agent.session("/x", resume="s").__aenter__()
                assert list(agent.inbox.sessions) == ["s"]

    run(main)


# updates outside turns


def test_every_update_is_given_out_once() -> None:
    async def script(peer: Peer) -> None:
        await peer.opened()
        await peer.say("1")
        prompt = await peer.take()
        await peer.say("2")
        await peer.finish(prompt)
        await peer.say("3")
        await peer.say("4")

    async def main() -> None:
        async with talking(script) as agent:
            async with agent.session("/x") as session:
                listeners = [asyncio.create_task(drained(session.updates())) for _ in range(3)]
                while "a" not in session.state.messages:
                    await asyncio.sleep(0)
                inside = texts(await drained(session.prompt("hi")))
                while session.state.messages["a"].text != "1234":
                    await asyncio.sleep(0)
            outside = [text for one in await asyncio.gather(*listeners) for text in texts(one)]
            assert (inside, sorted(outside)) == (["2"], ["1", "3", "4"])
            assert [one async for one in session.updates()] == []

    run(main)


def test_what_nobody_asks_for_is_kept_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sessions_module, "UPDATES_KEPT", 10)

    async def script(peer: Peer) -> None:
        await peer.opened()
        for number in range(25):
            await peer.say(str(number))

    async def main() -> None:
        async with talking(script) as agent:
            async with agent.session("/x") as session:
                while "a" not in session.state.messages or len(session.state.messages["a"].content) < 25:
                    await asyncio.sleep(0)
            assert texts([one async for one in session.updates()]) == [str(number) for number in range(15, 25)]

    with caplog.at_level(logging.DEBUG, "acp_bindings"):
        run(main)
    assert "the oldest goes" in caplog.text


# configuration


@over_versions
@pytest.mark.parametrize("value", [True, "fast"])
def test_setting_an_option(version: str, value: str | bool) -> None:
    number = VERSIONS[version][0]
    option = OLD_OPTION if number == 1 else OPTION

    async def script(peer: Peer) -> None:
        await peer.opened(configOptions=[option])
        request = await peer.expect("session/set_config_option")
        typed = {"type": "boolean"} if value is True else {} if peer.version == 1 else {"type": "id"}
        assert request["params"] == {"sessionId": "s", "configId": "mode", "value": value} | typed
        await peer.answer(request, configOptions=[option | {"currentValue": True}])
        request = await peer.expect("session/set_config_option")
        await peer.answer(request, configOptions=[option])
        # Right behind it, and so before whoever set the option goes on.
        await peer.tell("config_option_update", configOptions=[option | {"name": "newest"}])
        await peer.refuse(await peer.expect("session/set_config_option"), -32602)

    async def main() -> None:
        async with talking(script, version, gates=False) as agent, agent.session("/x") as session:
            assert [one.current_value for one in session.state.config_options] == [False]
            await session.set_config_option("mode", value)
            assert [one.current_value for one in session.state.config_options] == [True]
            await session.set_config_option("mode", value)
            while session.state.config_options[0].name != "newest":
                await asyncio.sleep(0)
            with pytest.raises(v2.RequestError) as refused:
                await session.set_config_option("nonsense", value)
            assert refused.value.code == -32602
            assert session.state.config_options[0].name == "newest"

    run(main)


# many


@over_versions
def test_many_sessions_on_one_connection(version: str) -> None:
    module = VERSIONS[version][1]

    class Agent(module.SessionAgent):  # type: ignore[misc,name-defined]  # of which profile is open
        async def turn(self, session: Any, prompt: Any) -> None:
            for number in range(10):
                await session.say(f"{session.cwd} {number} ")
                await asyncio.sleep(0)

    async def talk(agent: Any, cwd: str) -> None:
        async with agent.session(cwd) as session:
            for _ in range(2):
                turn = session.prompt("hi")
                expected = [f"{cwd} {number} " for number in range(10)]
                assert texts(await drained(turn)) == expected
                assert turn.stop_reason == "end_turn"
            assert all(cwd in one.text for one in session.state.messages.values() if one.kind == "agent")

    async def main() -> None:
        served = Agent()
        async with memory.connect(served, client=module.Client()) as agent:
            before = asyncio.all_tasks()
            await asyncio.gather(*(talk(agent, f"/{number}") for number in range(100)))
            assert (agent.inbox.sessions, served.sessions) == ({}, {})
            assert others(before) == set()

    run(main)


def test_profiles_have_sessions_of_their_own() -> None:
    classes = {module.Session for _, module in VERSIONS.values()}
    assert len(classes) == 4
    assert len({one.__mro__[1] for one in classes}) == 1
    assert v2.Turn is v1.Turn

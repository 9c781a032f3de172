"""How a connection opens: what may come before `initialize`, and which version it settles on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import memory, v1, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import unstable

from tests.package.connection.agents import SESSION, ScriptedAgent
from tests.package.connection.clients import OlderRecorder, Recorder
from tests.package.connection.wires import Link, Wire
from tests.support.aio import run

INFO = {"name": "wire", "version": "1"}
NEW = {"jsonrpc": "2.0", "id": 7, "method": "session/new", "params": {"cwd": "/w"}}


def initialize(version: Any, **more: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "info": INFO} | more
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


# The agent's side


def test_nothing_comes_before_initialize(way: Link) -> None:
    async def test() -> None:
        async with way.wire("scripted") as wire:
            await wire.send(NEW, NEW | {"id": 8, "method": "_no/such"}, {"jsonrpc": "2.0", "method": "_test/release"})
            answers = [await wire.receive(), await wire.receive()]
            assert [(one["id"], one["error"]["code"]) for one in answers] == [(7, -32600), (8, -32600)]
            assert (await wire.initialize())["result"]["protocolVersion"] == 2
            (answer,) = await wire.replies(NEW)
            assert answer["result"] == {"sessionId": SESSION}

    run(test)


def test_initialize_may_be_repeated_until_another_request_was_made(link: Link) -> None:
    async def test() -> None:
        async with link.wire("both") as wire:
            for version in (1, 2, 1, 2):
                await wire.send(initialize(version))
                assert (await wire.receive())["result"]["protocolVersion"] == version
            await wire.send(NEW, initialize(2))
            answers = {one["id"]: one for one in (await wire.receive(), await wire.receive())}
            assert answers[7]["result"] == {"sessionId": SESSION}
            assert answers[1]["error"]["code"] == -32600

    run(test)


# The version asked for, and what each set of agents answers: a version, or an error's code.
ASKED = [
    ("scripted", 2, 2),
    ("scripted", 3, 2),
    ("scripted", 99999, 2),
    ("scripted", 1, -32022),
    ("scripted", 0, -32022),
    ("scripted", -1, -32022),
    ("scripted", "2", -32602),
    ("scripted", True, -32602),
    ("scripted", None, -32602),
    ("older", 2, 1),
    ("older", 1, 1),
    ("older", 0, -32022),
    ("both", 1, 1),
    ("both", 2, 2),
    ("both", 3, 2),
]


@pytest.mark.parametrize(("agents", "asked", "answered"), ASKED)
def test_the_agent_answers_the_version_asked_for_or_its_newest_below(agents: str, asked: Any, answered: int) -> None:
    from tests.package.connection.links import LINKS

    async def test() -> None:
        async with LINKS["memory"].wire(agents) as wire:
            await wire.send(initialize(asked))
            answer = await wire.receive()
            if answered > 0:
                assert answer["result"]["protocolVersion"] == answered
            else:
                assert answer["error"]["code"] == answered
            if answered == -32022:
                supported = {"scripted": [2], "older": [1]}[agents]
                assert answer["error"]["data"] == {"requested": asked, "supported": supported}

    run(test)


def test_a_newer_version_may_lack_what_ours_requires(link: Link) -> None:
    """And what it says in our words is heard."""

    async def test() -> None:
        async with link.wire("scripted") as wire:
            params = {"protocolVersion": 3, "capabilities": {"elicitation": {"form": {}}}}
            await wire.send(initialize(3) | {"params": params})
            assert (await wire.receive())["result"]["protocolVersion"] == 2
            await wire.send(initialize(3) | {"params": {"protocolVersion": 3, "capabilities": 7, "info": []}})
            assert (await wire.receive())["result"]["protocolVersion"] == 2
            await wire.send(initialize(2) | {"params": {"protocolVersion": 2}})
            assert (await wire.receive())["error"]["data"]["pointer"] == "/info"

    run(test)


def test_what_a_refused_initialize_asked_for_stays_shut(link: Link) -> None:
    async def test() -> None:
        async with link.wire("picky") as wire:
            assert (await wire.initialize())["error"]["code"] == -32000
            await wire.send(NEW)
            assert (await wire.receive())["error"]["code"] == -32600
            await wire.send(initialize(2, info={"name": "friend", "version": "1"}))
            assert "result" in await wire.receive()
            (answer,) = await wire.replies(NEW)
            assert answer["result"] == {"sessionId": SESSION}

    run(test)


def test_an_agent_that_promises_more_than_it_handles_does_not_start() -> None:
    class Promising(v2.Agent):
        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

        async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
            return v2.NewSessionResponse(session_id=SESSION)

        async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
            return v2.PromptResponse(message_id="m")

    async def test() -> None:
        with pytest.raises(ValueError, match=r"Promising advertises session, .*session/list, session/resume") as caught:
            async with memory.connect(Promising(), client=Recorder()):
                pass
        # What is written is not missing.
        assert "session/new" not in str(caught.value) and "session/prompt" not in str(caught.value)

    run(test)


def test_there_must_be_an_agent_and_a_client() -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="no agent"):
            async with memory.connect([], client=Recorder()):
                pass
        with pytest.raises(ValueError, match="no client"):
            async with memory.connect(ScriptedAgent(), client=Recorder(), versions=[3]):
                pass

    run(test)


# The client's side


def test_info_and_capabilities_come_from_the_objects() -> None:
    async def test() -> None:
        said: list[v2.InitializeRequest] = []

        class Listening(ScriptedAgent):
            async def initialize(self, request: v2.InitializeRequest, context: Context) -> v2.InitializeResponse:
                said.append(request)
                return await super().initialize(request, context)

        capabilities = v2.ClientCapabilities(
            elicitation=v2.ElicitationCapabilities(form=v2.ElicitationFormCapabilities())
        )
        info = v2.Implementation(name="me", version="3")
        client = v2.Client(info=info, capabilities=capabilities)
        agent = Listening()
        agent.auth_methods = [v2.AuthMethodAgent(method_id="a", name="A")]
        async with memory.connect(agent, client=client) as remote:
            assert said == [v2.InitializeRequest(protocol_version=2, info=info, capabilities=capabilities)]
            assert remote.initialized.auth_methods == agent.auth_methods

    run(test)


def test_capabilities_of_the_wrong_class_are_not_sent() -> None:
    async def test() -> None:
        client = v2.Client(capabilities=v2.ClientCapabilities(elicitation={"form": {}}))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="/capabilities/elicitation: expected ElicitationCapabilities, got dict"):
            async with memory.connect(ScriptedAgent(), client=client):
                pass

    run(test)


def test_the_client_goes_on_in_the_older_version(link: Link) -> None:
    async def test() -> None:
        async with link.agent("older", [Recorder(), OlderRecorder()]) as agent:
            assert isinstance(agent, v1.RemoteAgent) and agent.initialized.protocol_version == 1
            answer = await agent.session_new(v1.NewSessionRequest(cwd="/w", mcp_servers=[]))
            assert answer.session_id == SESSION
            assert await agent.authenticate(v1.AuthenticateRequest(method_id="a")) == v1.AuthenticateResponse()

    run(test)


def test_an_older_version_needs_no_client_of_its_own(link: Link) -> None:
    async def test() -> None:
        async with link.agent("older", Recorder()) as agent:
            assert type(agent) is v1.RemoteAgent
        async with link.agent("older", unstable.Client()) as agent:
            assert type(agent) is v1.unstable.RemoteAgent

    run(test)


def test_versions_that_may_be_asked_for(link: Link) -> None:
    async def test() -> None:
        async with link.agent("both", Recorder(), versions=[1]) as agent:
            assert type(agent) is v1.RemoteAgent
        async with link.agent("both", Recorder(), versions=[1, 2]) as agent:
            assert type(agent) is v2.RemoteAgent
        with pytest.raises(v2.NegotiationError, match="we speak version 2, the agent answered with version 1"):
            async with link.agent("older", Recorder(), versions=[2]):
                pass

    run(test)


def test_an_agent_that_is_newer_only(link: Link) -> None:
    async def test() -> None:
        with pytest.raises(v2.NegotiationError, match=r"we speak version 1, the agent \[2\]"):
            async with link.agent("scripted", OlderRecorder()):
                pass

    run(test)


def echoing(*, twice: bool = True) -> Any:
    """An agent like Goose: whatever version it is asked for, it echoes, and answers in the words of version 1."""

    async def script(wire: Wire) -> None:
        asked = 0
        while (message := await wire.receive()) is not None:
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
            if message["method"] == "initialize":
                asked += 1
                version = message["params"]["protocolVersion"]
                answer["result"] = {"protocolVersion": version, "agentCapabilities": {"loadSession": True}}
                if asked > 1 and not twice:
                    answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32600, "message": "again?"}}
            else:
                answer["result"] = {"sessionId": SESSION}
            await wire.send(answer)

    return script


@pytest.mark.parametrize("twice", [True, False])
def test_an_agent_that_echoes_the_version_is_recognised(
    link: Link, twice: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with link.scripted(echoing(twice=twice), [Recorder(), OlderRecorder()]) as agent:
            assert isinstance(agent, v1.RemoteAgent)
            assert agent.initialized.protocol_version == 1
            assert agent.initialized.agent_capabilities.load_session is True
            answer = await agent.session_new(v1.NewSessionRequest(cwd="/w", mcp_servers=[]))
            assert answer.session_id == SESSION

    run(test)
    assert "claims protocol version 2 but answers as version 1 does; going on as 1" in caplog.text


def test_an_agent_that_echoes_the_version_is_refused_where_the_older_is_not_allowed(link: Link) -> None:
    async def test() -> None:
        with pytest.raises(v2.NegotiationError, match=r"claims protocol version 2, .* shape is of version 1"):
            async with link.scripted(echoing(), Recorder(), versions=[2]):
                pass

    run(test)


def test_an_agent_that_answers_with_a_version_that_nobody_speaks(link: Link) -> None:
    async def script(wire: Wire) -> None:
        message = await wire.receive()
        await wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": 7}})
        await wire.receive()

    async def test() -> None:
        expected = "we speak version 2 and version 1, the agent answered with version 7"
        with pytest.raises(v2.NegotiationError, match=expected):
            async with link.scripted(script, Recorder()):
                pass

    run(test)


def test_what_an_agent_sends_right_after_its_first_answer_is_handled(link: Link) -> None:
    async def test() -> None:
        client = Recorder()
        async with link.agent("eager", client) as agent:
            # Over HTTP a session's messages wait until it is asked for.
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert [await client.news.get() for _ in range(2)] == ["hello", "SelectedPermissionOutcome"]

    run(test)


def test_handlers_are_told_of_the_opening_and_the_end() -> None:
    told: list[str] = []

    class Telling(ScriptedAgent):
        async def connection_opened(self, context: Context) -> None:
            told.append(f"agent opened, {type(context.remote).__name__}")
            opened.set()

        async def connection_closed(self) -> None:
            told.append("agent closed")

    class TellingClient(Recorder):
        async def connection_opened(self, context: Context) -> None:
            told.append(f"client opened, {type(context.remote).__name__}")

        async def connection_closed(self) -> None:
            told.append("client closed")

    opened = asyncio.Event()

    async def test() -> None:
        async with memory.connect(Telling(), client=TellingClient()):
            await opened.wait()
            raise KeyError

    with pytest.raises(KeyError):
        run(test)
    assert sorted(told[:2]) == ["agent opened, RemoteClient", "client opened, RemoteAgent"]
    assert told[2:] == ["client closed", "agent closed"]


def test_a_class_in_place_of_an_object_is_named() -> None:
    """`http.app` wants what makes agents, everything else an agent: easily confused."""

    async def test() -> None:
        agent: Any
        client: Any
        for agent, client, said in (
            (ScriptedAgent, Recorder(), "got the class ScriptedAgent: write ScriptedAgent()"),
            (ScriptedAgent(), Recorder, "got the class Recorder: write Recorder()"),
            (ScriptedAgent(), [v1.Client(), v2.Client], "got the class Client"),
            (["x"], Recorder(), "expected an agent or a client, got str"),
        ):
            with pytest.raises(TypeError) as caught:
                async with memory.connect(agent, client=client):
                    pass
            assert said in str(caught.value)

    run(test)

"""What both sides said holds from the answer to `initialize` on; and auth methods go to those who can use them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import memory, v1, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.runtime.errors import CapabilityError, RequestError
from acp_bindings.v2 import unstable

from tests.package.connection.agents import AGENTS, SESSION, ScriptedAgent
from tests.package.connection.clients import OlderRecorder, Recorder
from tests.package.connection.links import LINKS
from tests.package.connection.wires import Link
from tests.package.gates.peers import handler, said, talking
from tests.support.aio import run

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 2, "info": {"name": "t", "version": "1"}},
}


class SlowAgent(ScriptedAgent):
    """Takes its time to say what it can, and says something else than its class does."""

    def __init__(self, capabilities: v2.AgentCapabilities, fails: bool = False) -> None:
        super().__init__()
        self.told = capabilities
        self.fails = fails
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()

    async def initialize(self, request: v2.InitializeRequest, context: Context) -> v2.InitializeResponse:
        self.asked.set()
        await self.answer.wait()
        if self.fails:
            raise RequestError(-32000, "not today")
        return v2.InitializeResponse(
            protocol_version=2, info=v2.Implementation(name="slow", version="1"), capabilities=self.told
        )


def request(identity: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def outline(messages: list[Any]) -> dict[int, Any]:
    return {one["id"]: one["error"]["code"] if "error" in one else "result" for one in messages}


@pytest.mark.parametrize(
    ("slow", "expected"),
    [
        (lambda: SlowAgent(v2.AgentCapabilities(session=v2.SessionCapabilities())),
         {1: "result", 2: "result", 3: -32602, 4: "result"}),
        (lambda: SlowAgent(v2.AgentCapabilities()), {1: "result", 2: -32601, 3: -32601, 4: -32601}),
        (lambda: SlowAgent(v2.AgentCapabilities(), fails=True), {1: -32000, 2: -32601, 3: -32601, 4: -32601}),
    ],
    ids=["advertised", "not advertised", "refused"],
)  # fmt: skip
def test_requests_that_do_not_wait_for_the_answer_are_held_to_it(
    slow: Any, expected: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        agent = slow()
        monkeypatch.setitem(AGENTS, "slow", lambda: [agent])
        image = {"type": "image", "data": "", "mimeType": "image/png"}
        async with LINKS["memory"].wire("slow") as wire:
            await wire.send(HELLO, request(2, "session/new", cwd="/w"))
            await wire.send(request(3, "session/prompt", sessionId=SESSION, prompt=[image]))
            await agent.asked.wait()
            agent.answer.set()
            first = [await wire.receive() for _ in range(3)]
            last = await wire.replies(request(4, "session/new", cwd="/w"))
            assert outline([*first, *last]) == expected

    run(test)


def test_a_request_that_waits_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        agent = SlowAgent(v2.AgentCapabilities())
        monkeypatch.setitem(AGENTS, "slow", lambda: [agent])
        async with LINKS["memory"].wire("slow") as wire:
            await wire.send(HELLO, request(2, "session/new", cwd="/w"))
            await agent.asked.wait()
            await wire.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 2}})
            assert outline([await wire.receive()]) == {2: -32800}
            agent.answer.set()
            assert outline([await wire.receive()]) == {1: "result"}

    run(test)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_gates_are_on_and_may_be_turned_off(link: Link) -> None:
    deleted = v2.DeleteSessionRequest(session_id=SESSION)

    async def test() -> None:
        async with link.agent("scripted", Recorder()) as agent:
            with pytest.raises(CapabilityError, match=r"session/delete needs capabilities\.session\.delete"):
                await agent.session_delete(deleted)
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
        async with link.agent("scripted", Recorder(), gates=False) as agent:
            with pytest.raises(RequestError) as caught:
                await agent.session_delete(deleted)
            assert caught.value.code == -32601

    run(test)


def test_v1_goes_by_its_own_names() -> None:
    async def test() -> None:
        async with memory.connect(AGENTS["older"](), client=[Recorder(), OlderRecorder()]) as agent:
            assert isinstance(agent, v1.RemoteAgent)
            with pytest.raises(CapabilityError) as caught:
                await agent.session_load(v1.LoadSessionRequest(session_id=SESSION, cwd="/w", mcp_servers=[]))
            assert caught.value.missing == ("agentCapabilities.loadSession",)
            await agent.authenticate(v1.AuthenticateRequest(method_id="a"))

    run(test)


def test_an_agent_calls_by_what_its_client_said_while_it_answers_initialize() -> None:
    """What it will say of itself is not said yet."""
    errors: list[CapabilityError] = []

    class Early(unstable.Agent):
        capabilities = unstable.AgentCapabilities(
            auth=unstable.AgentAuthCapabilities(status=unstable.AuthStatusCapabilities())
        )

        async def auth_status(self, request: Any, context: Context) -> Any:
            raise RequestError(-1, "handled")

        async def initialize(self, request: Any, context: Context) -> Any:
            try:
                await context.remote.auth_status_update(unstable.AuthStatusUpdateNotification(state="unauthenticated"))
            except CapabilityError as error:
                errors.append(error)
            return await super().initialize(request, context)

        async def connection_opened(self, context: Context) -> None:
            await context.remote.auth_status_update(unstable.AuthStatusUpdateNotification(state="unauthenticated"))

    async def test() -> None:
        async with memory.connect(Early(), client=unstable.Client()):
            assert [error.missing for error in errors] == [("capabilities.auth.status",)]

    run(test)


TERMINAL = {"type": "terminal", "methodId": "t", "id": "t", "name": "T"}
OTHERS = [{"type": "agent", "methodId": "a", "id": "a", "name": "A"}]


@pytest.mark.parametrize("gates", [True, False])
@pytest.mark.parametrize(
    ("profile", "able"),
    [("v2/stable", ("capabilities.auth.terminal", {})), ("v1/unstable", ("clientCapabilities.auth.terminal", True))],
)
def test_auth_methods_for_terminals_go_to_clients_that_have_one(profile: str, able: Any, gates: bool) -> None:
    """Fact S. A client that cannot is offered the rest; what was not offered cannot be asked for."""
    agent = said(("authMethods", [TERMINAL, *OTHERS]))

    async def test() -> None:
        for client, listed in (({}, 1 if gates else 2), (said(able), 2)):
            async with talking(profile, agent, client, agent_gates=gates) as pair:
                assert len(pair.agent.initialized.auth_methods) == listed

    run(test)


def test_a_client_learns_of_no_method_when_all_are_for_terminals() -> None:
    async def test() -> None:
        made = handler("v2/stable", "agent", said(("authMethods", [TERMINAL])), [])
        async with memory.connect(made, client=Recorder()) as agent:
            assert agent.initialized.auth_methods == []
            with pytest.raises(CapabilityError, match="auth/logout needs authMethods"):
                await agent.auth_logout(v2.LogoutAuthRequest())
        assert len(made.auth_methods) == 1

    run(test)

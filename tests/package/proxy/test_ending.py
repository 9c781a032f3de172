"""How a proxy ends, what it holds back, and whole conversations through it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from acp_bindings import proxy, v2
from acp_bindings.runtime import forwarding
from acp_bindings.runtime.door import agents_of, served
from acp_bindings.runtime.errors import ProtocolError
from acp_bindings.runtime.opening import opened
from acp_bindings.runtime.transports.memory import MemoryTransport
from acp_bindings.runtime.transports.process import ProcessTransport

from tests.package.connection.agents import AGENTS, SESSION, permission
from tests.package.connection.clients import Recorder, allowed
from tests.package.connection.links import AGENTS_FILE, ENVIRONMENT
from tests.package.proxy.ends import End, between, error, notification, request, result
from tests.support.aio import run

NEW = v2.NewSessionRequest(cwd="/w")


@pytest.mark.parametrize("side", ["client", "agent"])
def test_the_end_of_one_side_is_the_end_of_the_other(side: str) -> None:
    async def test() -> None:
        async with between() as (client, agent, link):
            gone, left = (client, agent) if side == "client" else (agent, client)
            # What was said before it went still arrives.
            gone.send(notification("last"))
            await gone.transport.close()
            assert (await left.receive())["method"] == "last"
            assert await left.receive() is None
            await link.wait_closed()
            assert set(link.endings) == {side}

    run(test)


def test_leaving_closes_both_sides() -> None:
    async def test() -> None:
        async with between() as (client, agent, link):
            pass
        assert await client.raw() is None and await agent.raw() is None
        await link.close()
        await link.wait_closed()
        with pytest.raises(v2.ConnectionClosed):
            await link.request("agent", "x")

    run(test)


def test_what_an_interceptor_is_busy_with_passes_before_the_end() -> None:
    async def test() -> None:
        busy, go_on = asyncio.Event(), asyncio.Event()

        async def wait(direction: str, message: proxy.Passing) -> proxy.Passing:
            busy.set()
            await go_on.wait()
            return message

        async with between(wait) as (client, agent, link):
            client.send(notification("a"), notification("b"))
            await client.transport.close()
            await busy.wait()
            go_on.set()
            assert [(await agent.receive())["method"] for _ in range(2)] == ["a", "b"]
            assert await agent.receive() is None
            await link.wait_closed()

    run(test)


def test_leaving_cancels_an_interceptor() -> None:
    cancelled: list[str] = []
    busy = asyncio.Event()

    async def wait(direction: str, message: proxy.Passing) -> proxy.Passing:
        busy.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(message.method)
            raise
        return message

    async def test() -> None:
        async with between(wait) as (client, agent, _):
            client.send(notification("a"))
            await busy.wait()
        assert await agent.raw() is None

    run(test)
    assert cancelled == ["a"]


@pytest.mark.parametrize("side", ["client", "agent"])
def test_an_interceptor_that_asks_a_side_which_ends(side: Any) -> None:
    errors: list[v2.ConnectionClosed] = []
    links: list[proxy.Link] = []

    async def ask(direction: str, message: proxy.Passing) -> proxy.Passing:
        try:
            await links[0].request(side, "_may")
        except v2.ConnectionClosed as error:
            errors.append(error)
        return message

    async def test() -> None:
        async with between(ask) as (client, agent, link):
            links.append(link)
            client.send(notification("a"))
            asked = client if side == "client" else agent
            assert (await asked.receive())["method"] == "_may"
            await asked.transport.close()
            await link.wait_closed()
            assert len(errors) == 1 and set(link.endings) == {side}

    run(test)


def test_an_agent_without_an_end_to_its_input_may_answer_what_it_was_asked() -> None:
    """As long as there is something to answer, and no longer than its last words may take."""

    async def test() -> None:
        async with between() as (client, agent, link):
            client.send(request(1, "a"), request(2, "b"))
            await client.transport.close()
            await agent.raw()
            await agent.raw()
            agent.send(result(1), error(2, -1, "no"))
            assert await agent.raw() is None
            await link.wait_closed()

    run(test)


def test_an_agent_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "LAST_WORDS", 0.01)

    async def test() -> None:
        async with between() as (client, agent, link):
            client.send(request(1, "a"))
            await client.transport.close()
            assert (await agent.receive())["id"] == 1
            assert await agent.raw() is None
            await link.wait_closed()

    run(test)


def test_an_agent_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "FAREWELL", 0.2)
    stuck = "import signal, sys; sys.stdout.write('{}\\n'); sys.stdout.flush(); signal.pause()"

    async def test() -> None:
        client, client_side = MemoryTransport.pair()
        agent = await ProcessTransport.spawn(sys.executable, "-c", stuck, limit=1000)
        async with proxy.joined(client_side, agent) as link:
            end = End(client)
            assert await end.raw() == b"{}"
            await client.close()
            await link.wait_closed()
            assert agent.process.returncode is not None and agent.process.returncode < 0

    run(test)


def test_an_agent_that_dies_in_the_middle_of_a_message() -> None:
    """Its client gets what there was of it, as without a proxy, and the end. How it died is told."""
    part = '{"jsonrpc":"2.0","id":1,"res'
    program = f"import os, sys; sys.stdin.readline(); sys.stdout.write({part!r}); sys.stdout.flush(); os._exit(3)"

    async def test() -> None:
        client, client_side = MemoryTransport.pair()
        agent = await ProcessTransport.spawn(sys.executable, "-c", program, limit=1000)
        end = End(client)
        forwarded = asyncio.create_task(proxy.forward(client_side, agent))
        end.send(request(1, "a"))
        assert await end.raw() == part.encode()
        assert await end.raw() is None
        assert (await forwarded)["agent"].exit_code == 3

    run(test)


# Too much


def test_a_message_over_the_limit_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever asked is told, and so is who waits for an answer; the connection lives on."""
    repeat = "import sys\nfor line in sys.stdin: print(line.replace('SIZE', 'x' * 2000), end='', flush=True)"

    async def test() -> None:
        client, client_side = MemoryTransport.pair(1000)
        agent = await ProcessTransport.spawn(sys.executable, "-c", repeat, limit=1000)
        async with proxy.joined(client_side, agent):
            end = End(client)
            # The agent asks and answers too much; what it asks comes back to it, and from it again.
            end.send(request(1, "a"), request(2, "b", text="SIZE"), result(1, {"text": "SIZE"}), notification("c"))
            assert await end.receive() == request(1, "a")
            refused = await end.receive()
            assert refused["id"] == 1 and refused["error"]["code"] == -32603 and "1000" in refused["error"]["message"]
            assert await end.receive() == notification("c")
            refused = await end.receive()
            assert refused["id"] == 2 and refused["error"]["code"] == -32600

    run(test)
    assert "over the limit" in caplog.text and "xxx" not in caplog.text


def test_an_answer_over_the_limit_to_a_call_of_its_own() -> None:
    repeat = "\n".join([
        "import sys, json",
        "for line in sys.stdin:",
        "    message = json.loads(line)",
        "    answer = {'jsonrpc': '2.0', 'id': message['id'], 'result': {'text': 'x' * message['params']['size']}}",
        "    print(json.dumps(answer), flush=True)",
    ])  # fmt: skip

    async def test() -> None:
        client, client_side = MemoryTransport.pair(1000)
        agent = await ProcessTransport.spawn(sys.executable, "-c", repeat, limit=1000)
        async with proxy.joined(client_side, agent) as link:
            end = End(client)
            with pytest.raises(ProtocolError, match="over the limit"):
                await link.request("agent", "a", {"size": 2000})
            end.send(request(1, "a", size=1))
            assert await end.receive() == result(1, {"text": "x"})

    run(test)


def test_what_one_side_takes_and_the_other_does_not() -> None:
    """Limits may differ, and a message may grow on its way."""

    async def test() -> None:
        client, client_side = MemoryTransport.pair(100_000)
        agent, agent_side = MemoryTransport.pair(1000)
        async with proxy.joined(client_side, agent_side):
            one, other = End(client), End(agent)
            one.send(request(1, "a", text="x" * 2000), notification("n", text="x" * 2000), request(2, "b"))
            refused = await one.receive()
            assert refused["id"] == 1 and "over the limit of 1000" in refused["error"]["message"]
            assert (await other.receive())["id"] == 2

    run(test)


@pytest.mark.parametrize("side", ["client", "agent"])
def test_a_side_that_does_not_read_holds_the_other_back(side: str) -> None:
    async def test() -> None:
        async with between(max_output=1000) as (client, agent, _):
            fast, slow = (client, agent) if side == "client" else (agent, client)
            slow.transport.pause()
            sent = 0
            # A kilobyte at the one transport and one at the other, and what is on its way.
            while not fast.transport.write(b'{"jsonrpc":"2.0","method":"n","params":"%050d"}' % sent):
                sent += 1
                for _ in range(3):
                    await asyncio.sleep(0)
                assert sent < 100
            draining = asyncio.create_task(fast.transport.drain())
            for _ in range(10):
                await asyncio.sleep(0)
            assert not draining.done()
            slow.transport.resume()
            await draining
            numbers = [int((await slow.receive())["params"]) for _ in range(sent + 1)]
            assert numbers == list(range(sent + 1))

    run(test)


def test_what_waits_for_an_interceptor_is_bounded() -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def wait(direction: str, message: proxy.Passing) -> proxy.Passing:
            await go_on.wait()
            return message

        async with between(wait, max_output=1000, max_queued=1000) as (client, agent, _):
            sent = 0
            while not client.transport.write(b'{"jsonrpc":"2.0","method":"n","params":"%050d"}' % sent):
                sent += 1
                for _ in range(3):
                    await asyncio.sleep(0)
                assert sent < 100
            go_on.set()
            await client.transport.drain()
            numbers = [int((await agent.receive())["params"]) for _ in range(sent + 1)]
            assert numbers == list(range(sent + 1))

    run(test)


# Whole conversations


@contextlib.asynccontextmanager
async def through(kind: str, client: Recorder, intercept: Any = None) -> AsyncIterator[Any]:
    """A client's connection to the scripted agent, with a proxy between."""
    ours, client_side = MemoryTransport.pair()
    async with contextlib.AsyncExitStack() as stack:
        agent_side: Any
        if kind == "memory":
            agent_side, theirs = MemoryTransport.pair()
            agents = agents_of(AGENTS["scripted"]())
            await stack.enter_async_context(served(theirs, agents, strict=False, observer=None))
        else:
            command = (sys.executable, str(AGENTS_FILE), "scripted")
            agent_side = await ProcessTransport.spawn(*command, limit=10**7, env=ENVIRONMENT)
        await stack.enter_async_context(proxy.joined(client_side, agent_side, intercept=intercept))
        yield await stack.enter_async_context(opened(ours, [client], strict=False, timeout=None, observer=None))


async def waits(direction: str, message: proxy.Passing) -> proxy.Passing:
    await asyncio.sleep(0)
    return message


@pytest.mark.parametrize("intercept", [None, waits], ids=["none", "waits"])
@pytest.mark.parametrize("kind", ["memory", "stdio"])
def test_a_conversation_is_as_without_a_proxy(kind: str, intercept: Any) -> None:
    async def test() -> None:
        client = Recorder()
        async with through(kind, client, intercept) as agent:
            await agent.session_new(NEW)
            prompt = v2.PromptRequest(session_id=SESSION, prompt=[v2.TextContent(text="200")])
            assert (await agent.session_prompt(prompt)).message_id == "m"
            # In the order of the wire, and all before the answer.
            assert client.seen == [str(number) for number in range(200)]
            answer = await agent.extension_request("_test/ask")
            assert answer == {"outcome": v2.to_builtins(allowed().outcome)} and client.asked == 1
            with pytest.raises(v2.RequestError) as caught:
                await agent.session_new(v2.NewSessionRequest(cwd="/hook-of-a-failure"))
            assert (caught.value.code, caught.value.data) == (-32000, {"hint": 1})
            # A cancelled call is cancelled at the agent, which tells so.
            waiting = asyncio.create_task(agent.extension_request("_test/wait", {}))
            while await client.news.get() != ("started", {}):
                pass
            waiting.cancel()
            while await client.news.get() != ("cancelled", {}):
                pass

    run(test)


def test_a_policy_answers_in_place_of_the_client() -> None:
    """The permission that the agent asks for never reaches the client."""

    def policy(asked: v2.RequestPermissionRequest, message: proxy.Passing) -> Any:
        assert asked.title == permission().title
        return message.answer(v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome()))

    async def test() -> None:
        client = Recorder()
        rules = proxy.by_method(v2.METHODS, {"session/request_permission": policy})
        async with through("memory", client, rules) as agent:
            assert await agent.extension_request("_test/ask") == {"outcome": {"outcome": "cancelled"}}
            assert client.asked == 0

    run(test)


def test_two_proxies_in_a_row() -> None:
    """Each asks the agent in its own name."""

    async def test() -> None:
        async with contextlib.AsyncExitStack() as stack:
            ends = [MemoryTransport.pair() for _ in range(3)]
            links = [
                await stack.enter_async_context(proxy.joined(ends[number][1], ends[number + 1][0])) for number in (0, 1)
            ]
            client, agent = End(ends[0][0]), End(ends[2][1])
            asking = [asyncio.create_task(link.request("agent", "_x", {"n": n})) for n, link in enumerate(links)]
            asked = [await agent.receive() for _ in links]
            assert len({one["id"] for one in asked}) == 2
            for one in asked:
                agent.send(result(one["id"], one["params"]))
            assert await asyncio.gather(*asking) == [{"n": 0}, {"n": 1}]
            assert client.silent

    run(test)

"""The other side goes away, in the middle of whatever: nothing hangs, and who waits learns why."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from acp_bindings import v2
from acp_bindings.runtime.connection import Context

from tests.package.connection.agents import SESSION, chunk
from tests.package.connection.clients import Recorder, allowed
from tests.package.connection.wires import Link, Wire
from tests.support.aio import run

GONE = r"other side (is gone|closed the connection)|its output|process has ended|connect anew|could not be reached"


async def let_in(wire: Wire) -> None:
    """Answer `initialize`."""
    message = await wire.receive()
    capabilities: dict[str, Any] = {"session": {}}
    result = {"protocolVersion": 2, "info": {"name": "bare", "version": "1"}, "capabilities": capabilities}
    await wire.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def update(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": v2.to_builtins(chunk(text))}


def test_it_goes_before_it_answers_at_all(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await wire.receive()

    async def test() -> None:
        with pytest.raises(v2.ConnectionClosed, match=GONE):
            async with link.scripted(script, Recorder()):
                pass

    run(test)


def test_it_goes_while_calls_wait(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await let_in(wire)
        for _ in range(3):
            await wire.receive()

    async def test() -> None:
        async with link.scripted(script, Recorder()) as agent:
            calls = [asyncio.create_task(agent.extension_request("_x", {})) for _ in range(3)]
            done = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(one) for one in done] == [v2.ConnectionClosed] * 3
            # Each has an error of its own, since a traceback is added to it.
            assert len({id(one) for one in done}) == 3
            await agent.connection.wait_closed()
            with pytest.raises(v2.ConnectionClosed, match=GONE):
                await agent.session_new(v2.NewSessionRequest(cwd="/w"))

    run(test)


def test_it_goes_in_the_middle_of_a_line(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await let_in(wire)
        message = await wire.receive()
        await wire.send(b'{"jsonrpc":"2.0","id":%d,"res' % message["id"])

    async def test() -> None:
        async with link.scripted(script, Recorder()) as agent:
            with pytest.raises((v2.ConnectionClosed, v2.ProtocolError)):
                await agent.session_new(v2.NewSessionRequest(cwd="/w"))

    run(test)


def test_it_goes_while_we_write(link: Link) -> None:
    """It never reads what is sent, so the sender waits for room, until the end."""

    async def script(wire: Wire) -> None:
        await let_in(wire)
        await sending.wait()

    async def test() -> None:
        async with link.scripted(script, Recorder()) as agent:

            async def flood() -> None:
                while True:
                    await agent.extension_notification("_x", {"text": "x" * 100_000})
                    sending.set()

            with pytest.raises(v2.ConnectionClosed):
                await flood()

    sending = asyncio.Event()
    run(test)


def test_what_came_before_the_end_is_handled(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await let_in(wire)
        message = await wire.receive()
        await wire.send(*(update(str(number)) for number in range(50)))
        await wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": SESSION}})

    async def test() -> None:
        client = Recorder()
        client.pause = lambda: asyncio.sleep(0)
        async with link.scripted(script, client) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
            assert client.seen == [str(number) for number in range(50)]
            await agent.connection.wait_closed()

    run(test)


def test_it_goes_while_a_handler_is_stuck(link: Link) -> None:
    """A notification's handler that never ends does not keep a call waiting for what will never come."""

    async def script(wire: Wire) -> None:
        await let_in(wire)
        await wire.send(update("stuck"))
        await wire.receive()

    async def test() -> None:
        client = Recorder()
        client.pause = asyncio.Event().wait
        async with link.scripted(script, client) as agent:
            with pytest.raises(v2.ConnectionClosed, match=GONE):
                await agent.session_new(v2.NewSessionRequest(cwd="/w"))

    run(test)


def test_it_goes_while_a_handler_waits_for_it(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await let_in(wire)
        await wire.send(update("call me"))
        await wire.receive()

    async def test() -> None:
        class Calling(Recorder):
            async def session_update(self, notification: Any, context: Context) -> None:
                try:
                    await context.remote.extension_request("_x", {})
                except v2.ConnectionClosed as error:
                    self.note(error)

        client = Calling()
        async with link.scripted(script, client):
            assert isinstance(await client.news.get(), v2.ConnectionClosed)

    run(test)


def test_handlers_are_cancelled_when_it_has_gone(link: Link) -> None:
    async def script(wire: Wire) -> None:
        await let_in(wire)
        params = {
            "sessionId": SESSION,
            "title": "?",
            "options": [{"optionId": "yes", "name": "Y", "kind": "allow_once"}],
        }
        await wire.send({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params})
        await asked.wait()

    async def test() -> None:
        async def answer(request: v2.RequestPermissionRequest, context: Context) -> v2.RequestPermissionResponse:
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                client.note("cancelled")
                raise
            return allowed()

        client = Recorder(answer)
        async with link.scripted(script, client):
            assert await client.news.get() == "cancelled"

    asked = asyncio.Event()
    run(test)


def test_an_agent_ends_when_its_client_does(link: Link) -> None:
    """Even one that is busy, and one that waits for an answer."""

    async def test() -> None:
        for frames in ([], ["_test/wait"], ["_test/ask"], ["_test/wait", "_test/ask"]):
            async with link.wire("scripted") as wire:
                await wire.initialize()
                for number, method in enumerate(frames):
                    await wire.send({"jsonrpc": "2.0", "id": number, "method": method, "params": {}})
                    assert "method" in await wire.receive()

    run(test)


def test_leaving_while_everything_is_busy(link: Link) -> None:
    async def test() -> None:
        client = Recorder()
        async with link.agent("scripted", client) as agent:
            calls = [asyncio.create_task(agent.extension_request("_test/wait", {})) for _ in range(5)]
            for _ in calls:
                await client.news.get()
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in done] == [v2.ConnectionClosed] * 5

    run(test)


def test_leaving_by_an_error_or_a_cancellation(link: Link) -> None:
    async def test() -> None:
        with pytest.raises(KeyError):
            async with link.agent("scripted", Recorder()):
                raise KeyError

        async def body() -> None:
            async with link.agent("scripted", Recorder()):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(body())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    inside = asyncio.Event()
    run(test)


def test_a_handler_may_close_the_connection(link: Link) -> None:
    async def test() -> None:
        class Closing(Recorder):
            async def session_update(self, notification: Any, context: Context) -> None:
                await context.connection.close("enough")

        async with link.agent("scripted", Closing()) as agent:
            prompt = v2.PromptRequest(session_id=SESSION, prompt=[v2.TextContent(text="1")])
            with pytest.raises(v2.ConnectionClosed, match="enough"):
                await agent.session_prompt(prompt)

    run(test)

"""How connections end, and that nothing of them is left: no task, no queue, no object."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from acp_bindings import http
from acp_bindings.runtime.connection import Connection
from acp_bindings.runtime.web import table
from acp_bindings.runtime.web.app import AcpApp
from acp_bindings.runtime.web.streams import Reader, Stream
from acp_bindings.runtime.web.table import Entry
from acp_bindings.runtime.web.transport import StreamsTransport

from tests.package.web.agents import Counting, Family
from tests.package.web.serving import CONNECTION, EVENTS, INITIALIZE, JSON, Peer, client, running, served
from tests.package.web.test_turns import prompt
from tests.support.aio import run

KINDS = (AcpApp, Connection, Counting, Entry, Reader, Stream, StreamsTransport)


def left() -> dict[str, int]:
    """Objects of a server that are still there, by kind."""
    gc.collect()
    found = [type(one).__name__ for one in gc.get_objects() if isinstance(one, KINDS)]
    return {name: found.count(name) for name in found}


async def until(done: Callable[[], bool]) -> None:
    """Wait for what another task brings about; the test's guard of time is the limit."""
    while not done():
        await asyncio.sleep(0.001)


async def endless(peer: Peer, session: str = "s1") -> None:
    """A turn that goes on until it is cancelled."""
    await peer.initialize()
    assert (await peer.request(1, "session/prompt", prompt(-1, session), session)).status_code == 202


async def deleted(app: AcpApp, peer: Peer) -> None:
    await peer.delete()


async def shut_down(app: AcpApp, peer: Peer) -> None:
    await app.shutdown()


async def killed(app: AcpApp, peer: Peer) -> None:
    """The client's sockets break, and it does not come back."""


@pytest.mark.parametrize("end", [deleted, shut_down, killed])
def test_the_end_of_a_turn(end: Callable[[AcpApp, Peer], Awaitable[None]]) -> None:
    """Work is cancelled, streams end, the agent is told, and then there is nothing left."""

    async def test() -> None:
        family = Family()
        async with served(family, idle_timeout=0.1 if end is killed else 300) as (app, peer):
            tasks = len(asyncio.all_tasks())
            await endless(peer)
            (agent,) = family.agents
            async with peer.stream("s1") as stream:
                await stream.take(100)
                await end(app, peer)
                if end is not killed:
                    await stream.rest()
            await agent.ended.wait()
            assert agent.cancelled == ["s1"] and agent.turns == 0 and len(app.connections) == 0
            await peer.client.aclose()
            await until(lambda: len(asyncio.all_tasks()) <= tasks)

    assert left() == {}
    run(test)
    assert left() == {}


def test_the_end_while_an_agent_waits_for_room() -> None:
    async def test() -> None:
        family = Family()
        async with served(family, max_output=1000) as (app, peer):
            await endless(peer)
            (agent,) = family.agents
            await until(lambda: agent.written > 1)
            await peer.delete()
            await agent.ended.wait()
            assert agent.cancelled == ["s1"] and len(app.connections) == 0

    run(test)


def test_what_is_left_for_an_open_stream_is_still_sent() -> None:
    """An ending connection hands its readers what is there for them."""

    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream("s1") as stream:
                await peer.request(1, "session/prompt", prompt("200 1000", "s1"), "s1")
                assert (await stream.next())["method"] == "session/update"
                async with peer.stream() as of_connection:
                    await peer.request(2, "session/new", {"cwd": "/"})
                    await of_connection.next()
                await peer.delete()
                assert (await stream.rest())[-1] == {"jsonrpc": "2.0", "id": 1, "result": {"messageId": "m"}}

    run(test)


def test_idle_connections_expire_and_used_ones_do_not(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        family = Family()
        async with served(family, idle_timeout=0.1) as (app, peer):
            await peer.initialize()
            idle = Peer(peer.client, peer.url)
            await idle.initialize()
            async with peer.stream():
                await family.agents[1].ended.wait()
                assert (await idle.request(1, "session/new", {"cwd": "/"})).status_code == 404
                assert (await peer.request(1, "session/new", {"cwd": "/"})).status_code == 202
            await family.agents[0].ended.wait()
            assert len(app.connections) == 0

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert caplog.text.count("nobody has used the connection for 0.1 s") == 2


def test_a_client_that_leaves_while_it_is_let_in() -> None:
    """A connection whose id nobody learned does not stay."""

    async def test() -> None:
        entered, ended = asyncio.Event(), asyncio.Event()

        class Slow(Counting):
            async def initialize(self, request: Any, context: Any) -> Any:
                entered.set()
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.set()

        async with served(Slow) as (app, peer):
            posting = asyncio.create_task(peer.initialize())
            await entered.wait()
            assert len(app.connections) == 1
            posting.cancel()
            await ended.wait()
            await until(lambda: len(app.connections) == 0)

    run(test)


def test_the_server_stops_while_a_client_is_let_in() -> None:
    async def test() -> None:
        entered = asyncio.Event()

        class Slow(Counting):
            async def initialize(self, request: Any, context: Any) -> Any:
                entered.set()
                await asyncio.Event().wait()

        async with served(Slow) as (app, peer):
            posting = asyncio.create_task(peer.initialize())
            await entered.wait()
            await app.shutdown()
            answer = await posting
            assert answer.status_code == 500 and answer.json()["error"]["code"] == -32603

    run(test)


def test_a_post_that_races_a_delete() -> None:
    """The connection ends while the body is under way: 404, and nothing of it reaches the agent."""

    async def test() -> None:
        family = Family()
        async with served(family) as (_, peer):
            await peer.initialize()
            begun, go_on = asyncio.Event(), asyncio.Event()

            async def body() -> Any:
                yield b'{"jsonrpc":"2.0","id":1,"method":"session/new",'
                begun.set()
                await go_on.wait()
                yield b'"params":{"cwd":"/"}}'

            posting = asyncio.create_task(peer.client.post(peer.url, content=body(), headers=JSON | peer.headers))
            await begun.wait()
            assert (await peer.delete()).status_code == 202
            await family.agents[0].ended.wait()
            go_on.set()
            assert (await posting).status_code == 404
            assert family.agents[0].sessions == 0

    run(test)


def test_after_shutting_down_everything_is_refused_until_it_is_started_again() -> None:
    async def test() -> None:
        app = http.app(Counting)
        async with client() as made:
            for _ in range(2):
                async with running(app) as root:
                    peer = Peer(made, root + "/acp")
                    assert (await peer.initialize()).status_code == 200
                    await app.shutdown()
                    assert [
                        (await made.post(peer.url, json=INITIALIZE)).status_code,
                        (await made.get(peer.url, headers=EVENTS | peer.headers)).status_code,
                        (await peer.delete()).status_code,
                    ] == [503] * 3

    run(test)


def test_without_sockets() -> None:
    """Any ASGI server will do; one in the client's own process, say."""

    async def test() -> None:
        app = http.app(Counting)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport) as made:
            peer = Peer(made, "http://127.0.0.1/acp")
            answer = await peer.initialize()
            assert answer.status_code == 200 and answer.headers[CONNECTION]
            assert (await peer.request(1, "session/new", {"cwd": "/"})).status_code == 202
            assert (await peer.delete()).status_code == 202
            await app.shutdown()

    run(test)


@pytest.mark.parametrize("how", ["hangs", "fails"])
def test_an_agent_that_does_not_end_well(
    how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It holds up nobody for long, and the log tells."""
    monkeypatch.setattr(table, "STUCK", 0.05)

    class Bad(Counting):
        async def connection_closed(self) -> None:
            if how == "fails":
                raise KeyError("oops")
            await asyncio.Event().wait()

    async def test() -> None:
        async with served(Bad) as (app, peer):
            tasks = len(asyncio.all_tasks())
            await peer.initialize()
            await app.shutdown()
            assert len(app.connections) == 0
            await until(lambda: len(asyncio.all_tasks()) <= tasks + 1)

    run(test)
    assert ("did not end" if how == "hangs" else "failed") in caplog.text


def test_no_log_tells_what_would_let_others_in(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(token="sesame") as (_, peer):
            peer.headers["Authorization"] = "Bearer sesame"
            await peer.initialize()
            seen.append(peer.headers[CONNECTION])
            await peer.request(1, "session/new", {"cwd": "/"})
            await peer.post(b"{")
            await peer.delete()
            await peer.delete()

    seen: list[str] = []
    with caplog.at_level(logging.DEBUG):
        run(test)
    assert f"connection {seen[0][:17]} is open" in caplog.text and f"connection {seen[0][:17]} has ended" in caplog.text
    ours = [one.getMessage() for one in caplog.records if one.name.startswith(("acp_bindings", "uvicorn"))]
    assert not [one for one in ours if seen[0] in one or "sesame" in one]

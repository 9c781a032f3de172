"""Upgrades: the same connection over a WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import websockets
from acp_bindings import http
from acp_bindings.runtime.web.app import AcpApp
from acp_bindings.runtime.web.socket import SocketTransport
from websockets.asyncio.client import ClientConnection

from tests.package.connection.agents import SESSION
from tests.package.web.agents import Counting, Family, text_of
from tests.package.web.raw import Raw
from tests.package.web.serving import CONNECTION, INITIALIZE, running, served
from tests.package.web.test_endings import left, until
from tests.package.web.test_turns import numbers, prompt
from tests.support.aio import run


@contextlib.asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[AcpApp, Any]]:
    """An app, and a function that opens a WebSocket to it."""
    async with served(**options) as (app, peer):
        url = peer.url.replace("http:", "ws:")

        def dial(**settings: Any) -> Any:
            return websockets.connect(url, proxy=None, max_size=None, **settings)

        yield app, dial


async def say(socket: ClientConnection, message: Any) -> None:
    await socket.send(message if isinstance(message, str | bytes) else json.dumps(message))


async def hear(socket: ClientConnection) -> Any:
    frame = await socket.recv()
    assert isinstance(frame, str)
    return json.loads(frame)


async def ask(socket: ClientConnection, identity: int, method: str, params: Any) -> Any:
    await say(socket, {"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
    return await hear(socket)


async def closing(socket: ClientConnection) -> tuple[int, str]:
    """How the server closes it: code and reason."""
    with contextlib.suppress(websockets.ConnectionClosed):
        async for _ in socket:
            pass
    assert socket.close_code is not None
    return socket.close_code, socket.close_reason or ""


def test_a_turn() -> None:
    """P, T, G: the id comes with the upgrade, and each message is one text."""

    async def test() -> None:
        async with connected(affinity="a") as (app, dial):
            async with dial() as socket:
                assert socket.response.headers[CONNECTION] and socket.subprotocol is None
                assert socket.response.headers["Set-Cookie"].startswith("acp_affinity=a;")
                await say(socket, INITIALIZE)
                assert (await hear(socket))["result"]["protocolVersion"] == 2
                assert (await ask(socket, 1, "session/new", {"cwd": "/"}))["result"] == {"sessionId": SESSION}
                assert len(app.connections) == 1
                await say(socket, {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt(50)})
                came = [await hear(socket) for _ in range(51)]
                assert [text_of(one) for one in came[:50]] == numbers(50) and came[50]["id"] == 2
            await until(lambda: len(app.connections) == 0)

    run(test)


def test_its_id_is_of_no_use_over_http() -> None:
    async def test() -> None:
        async with (
            served() as (_, peer),
            websockets.connect(peer.url.replace("http", "ws"), proxy=None) as socket,
        ):
            assert socket.response is not None
            peer.headers[CONNECTION] = socket.response.headers[CONNECTION]
            assert (await peer.request(1, "session/new", {"cwd": "/"})).status_code == 404
            assert (await peer.delete()).status_code == 404
            await say(socket, INITIALIZE)
            assert (await hear(socket))["id"] == 0

    run(test)


def test_fragments_make_one_message_and_binary_ones_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """P, T, G: text only; T: a binary message is logged and nothing else."""

    async def test() -> None:
        async with connected() as (_, dial), dial() as socket:
            text = json.dumps(INITIALIZE)
            await socket.send(text.encode())
            await socket.send([text[:10], text[10:50], text[50:]])
            assert (await hear(socket))["id"] == 0
            await socket.send(b"\x00")
            assert (await ask(socket, 1, "session/new", {"cwd": "/"}))["id"] == 1

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert [one.levelname for one in caplog.records if "binary message" in one.message] == ["WARNING"]


def test_frames_that_are_no_messages_are_answered() -> None:
    async def test() -> None:
        async with connected() as (_, dial), dial() as socket:
            await say(socket, INITIALIZE)
            assert (await hear(socket))["id"] == 0
            for frame, code in (("{garbage", -32700), ("", -32700), ("[]", -32600), ("7", -32600)):
                await socket.send(frame)
                answer = await hear(socket)
                assert (answer["id"], answer["error"]["code"]) == (None, code)
            assert (await ask(socket, 1, "session/new", {"cwd": "/"}))["id"] == 1

    run(test)


def test_an_upgrade_without_initialize(caplog: pytest.LogCaptureFixture) -> None:
    """T: another request draws -32600 and changes nothing. W: who says nothing at all is closed."""

    async def test() -> None:
        async with connected(opening_timeout=0.2) as (app, dial):
            async with dial() as early, dial() as silent:
                assert (await ask(early, 1, "session/new", {"cwd": "/"}))["error"]["code"] == -32600
                await say(early, INITIALIZE)
                assert (await hear(early))["result"]["protocolVersion"] == 2
                assert await closing(silent) == (1008, "no initialize within 0.2 s")
                assert (await ask(early, 2, "session/new", {"cwd": "/"}))["result"] == {"sessionId": SESSION}
            await until(lambda: len(app.connections) == 0)

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert caplog.text.count("closing a WebSocket with 1008") == 1


def test_silence_ends_it() -> None:
    async def test() -> None:
        async with connected(opening_timeout=0.01, silence_timeout=0.2) as (_, dial), dial() as socket:
            await say(socket, INITIALIZE)
            assert await closing(socket) == (1001, "no message for 0.2 s")

    run(test)


def test_a_dead_socket_is_closed_by_the_server() -> None:
    """Pings are the ASGI server's: who answers none is gone."""

    async def test() -> None:
        app = http.app(Counting)
        async with running(app, ws_ping_interval=0.05, ws_ping_timeout=0.05) as root:
            raw = await Raw.open(root + "/acp")
            upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
            await raw.send("GET", *upgrade, "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
            assert (await raw.answer()).status == 101 and len(app.connections) == 1
            assert await raw.reader.read() != b""
            await raw.close()
            await until(lambda: len(app.connections) == 0)

    run(test)


@pytest.mark.parametrize("whose", ["ours", "the server's"])
def test_a_message_over_the_limit(whose: str, caplog: pytest.LogCaptureFixture) -> None:
    """W: 1009 and a reason, whichever limit is the lower one."""

    async def test() -> None:
        app = http.app(Counting, max_message=100_000 if whose == "ours" else 10_000_000)
        async with running(app, ws_max_size=2**26 if whose == "ours" else 100_000) as root:
            async with websockets.connect(root.replace("http", "ws") + "/acp", proxy=None) as socket:
                await say(socket, INITIALIZE)
                await hear(socket)
                with contextlib.suppress(websockets.ConnectionClosed):
                    await socket.send("x" * 100_001)
                code, reason = await closing(socket)
                assert code == 1009 and "limit of 100000" in reason
            await until(lambda: len(app.connections) == 0)

    with caplog.at_level(logging.INFO, "acp_bindings.http"):
        run(test)
    assert [one.levelname for one in caplog.records if "1009" in one.message or "own limit" in one.message] == [
        "WARNING"
    ]


def test_large_messages_both_ways() -> None:
    async def test() -> None:
        async with connected(factory=Counting) as (_, dial), dial() as socket:
            await say(socket, INITIALIZE)
            await hear(socket)
            answer = await ask(socket, 1, "_test/size", {"text": "x" * 30_000_000, "answer": 30_000_000})
            assert answer["result"]["size"] == len(answer["result"]["text"]) == 30_000_000

    run(test)


@pytest.mark.parametrize(
    ("asked", "spoken", "chosen"),
    [(None, (), None), (["acp"], (), None), (None, ("acp",), None), (["x", "acp"], ("acp",), "acp")],
)
def test_subprotocols(asked: Any, spoken: tuple[str, ...], chosen: str | None) -> None:
    """P: none, unless it was asked for and the operator knows it."""

    async def test() -> None:
        async with connected(subprotocols=spoken) as (_, dial), dial(subprotocols=asked) as socket:
            assert socket.subprotocol == chosen

    run(test)


def test_upgrades_are_refused_with_a_status() -> None:
    async def test() -> None:
        async with connected(max_connections=1) as (app, dial):
            async with dial():
                with pytest.raises(websockets.InvalidStatus, match="503"):
                    await dial()
            await app.shutdown()
            with pytest.raises(websockets.InvalidStatus, match="503"):
                await dial()

    run(test)


def test_a_server_that_knows_no_status_for_upgrades_says_403() -> None:
    """ASGI has an extension for the status; closing before accepting is the way without it."""

    async def test() -> None:
        sent: list[Any] = []
        scope = {"type": "websocket", "path": "/acp", "headers": [], "subprotocols": [], "asgi": {"version": "3.0"}}

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await http.app(Counting, token="sesame")(scope, receive, send)
        assert [one["type"] for one in sent] == ["websocket.close"]

    run(test)


def test_the_server_says_goodbye() -> None:
    async def test() -> None:
        family = Family()
        async with connected(factory=family) as (app, dial), dial() as socket, dial() as other:
            for one in (socket, other):
                await say(one, INITIALIZE)
                await hear(one)
            await say(other, {"jsonrpc": "2.0", "id": 1, "method": "_test/leave", "params": {}})
            assert (await closing(other))[0] == 1001
            await say(socket, {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt(-1)})
            await hear(socket)
            ending = asyncio.create_task(app.shutdown())
            assert (await closing(socket))[0] == 1001
            await ending
            assert [one.turns for one in family.agents] == [0, 0] and len(app.connections) == 0

    run(test)


@pytest.mark.parametrize("how", ["closes", "breaks off"])
def test_a_client_that_goes_in_the_middle_of_a_turn(how: str) -> None:
    async def test() -> None:
        family = Family()
        async with connected(factory=family) as (app, dial):
            tasks = len(asyncio.all_tasks())
            async with dial() as socket:
                await say(socket, INITIALIZE)
                await hear(socket)
                await say(socket, {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt(-1)})
                await hear(socket)
                if how == "breaks off":
                    socket.transport.abort()
            (agent,) = family.agents
            await agent.ended.wait()
            assert agent.cancelled == [SESSION] and agent.turns == 0
            await until(lambda: len(app.connections) == 0 and len(asyncio.all_tasks()) <= tasks)

    run(test)
    assert left() == {}


def test_nobody_reads_and_the_agent_waits() -> None:
    async def test() -> None:
        family = Family()
        async with connected(factory=family, max_output=20_000) as (_, dial), dial(max_queue=1) as socket:
            await say(socket, INITIALIZE)
            await hear(socket)
            params = prompt("3000 10000", "s1")
            await say(socket, {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params})
            (agent,) = family.agents
            ahead = 0
            for number in range(3000):
                assert text_of(await hear(socket)).strip() == str(number)
                ahead = max(ahead, agent.written - number)
            assert (await hear(socket))["id"] == 1
            # What is on the way fills the buffers of both ends, a fraction of 30 MB.
            assert ahead < 1500

    run(test)


def test_a_client_that_dies_while_nothing_more_is_read_of_it() -> None:
    """It asks without ever reading the answers, until reading stops; then it is gone."""

    async def test() -> None:
        family = Family()
        async with connected(factory=family, max_output=1000) as (app, dial):
            tasks = len(asyncio.all_tasks())
            async with dial(max_queue=1, compression=None) as socket:
                await say(socket, INITIALIZE)
                await hear(socket)
                socket.transport.pause_reading()
                (entry,) = app.connections._entries.values()
                assert isinstance(entry.transport, SocketTransport)
                reading = entry.transport._reading

                async def flood() -> None:
                    for identity in itertools.count():
                        await say(socket, {"jsonrpc": "2.0", "id": identity, "method": "_no/" + "x" * 50_000})

                flooding = asyncio.create_task(flood())
                await until(lambda: not reading.is_set())
                flooding.cancel()
                socket.transport.abort()
            await until(lambda: len(app.connections) == 0 and len(asyncio.all_tasks()) <= tasks)

    run(test, guard=20)
    assert left() == {}


def test_a_server_that_tells_of_the_end_to_who_sends() -> None:
    """ASGI lets `send` raise OSError once the client is gone; reading may have paused just then."""

    async def test() -> None:
        app = http.app(Counting, max_output=1000)
        coming: asyncio.Queue[Any] = asyncio.Queue()
        gone = asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "websocket.send" and "_no/" in message["text"]:
                await gone.wait()
                raise OSError("the client is gone")

        scope = {"type": "websocket", "path": "/acp", "headers": [], "server": ("127.0.0.1", 1), "subprotocols": []}
        coming.put_nowait({"type": "websocket.connect"})
        coming.put_nowait({"type": "websocket.receive", "text": json.dumps(INITIALIZE)})
        frame = {"jsonrpc": "2.0", "id": 1, "method": "_no/" + "x" * 5000}
        coming.put_nowait({"type": "websocket.receive", "text": json.dumps(frame)})
        serving = asyncio.create_task(app(scope, coming.get, send))
        await until(lambda: len(app.connections) == 1)
        (entry,) = app.connections._entries.values()
        assert isinstance(entry.transport, SocketTransport)
        reading = entry.transport._reading
        await until(lambda: not reading.is_set())
        gone.set()
        coming.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await serving
        assert len(app.connections) == 0

    run(test, guard=20)


def test_the_limit_of_connections_holds_for_upgrades_at_once() -> None:
    async def test() -> None:
        ready = asyncio.Event()

        async def factory() -> Counting:
            waiting.append(1)
            await ready.wait()
            return Counting()

        waiting: list[int] = []
        async with connected(factory=factory, max_connections=2) as (app, dial):
            dialling = [asyncio.ensure_future(dial()) for _ in range(3)]
            await until(lambda: len(waiting) == 3 or any(one.done() for one in dialling))
            ready.set()
            found = await asyncio.gather(*dialling, return_exceptions=True)
            refused = [one for one in found if isinstance(one, websockets.InvalidStatus)]
            assert [one.response.status_code for one in refused] == [503]
            assert len(app.connections) == 2
            for one in found:
                if isinstance(one, ClientConnection):
                    await one.close()

    run(test)

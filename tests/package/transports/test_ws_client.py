"""The WebSocket client against servers that do as each test wants."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from http.cookiejar import CookieJar
from typing import Any

import pytest
from acp_bindings import v2, ws
from acp_bindings.runtime.errors import ConnectionClosed, HttpError
from acp_bindings.runtime.transports.ws import WebSocketTransport
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from tests.package.transports.http_clients import Client, call, note
from tests.support.aio import run

Talk = Callable[[ServerConnection], Awaitable[None]]


async def welcome(server: ServerConnection) -> None:
    """Answer `initialize`."""
    first = json.loads(await server.recv())
    agent = {"protocolVersion": 2, "info": {"name": "peer", "version": "1"}, "capabilities": {"session": {}}}
    await server.send(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": agent}))


@contextlib.asynccontextmanager
async def serving(talk: Talk, **options: Any) -> AsyncIterator[str]:
    """A server whose connections run `talk`; gives the URL. What fails in there fails the test."""
    talks: list[asyncio.Future[None]] = []

    async def run_talk(server: ServerConnection) -> None:
        talks.append(asyncio.ensure_future(talk(server)))
        await asyncio.wait([talks[-1]])

    settings: dict[str, Any] = {"ping_interval": None, "close_timeout": 1, **options}
    async with serve(run_talk, "127.0.0.1", 0, **settings) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/acp"
        for one in talks:
            one.cancel()
        for outcome in await asyncio.gather(*talks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


async def until_closed(server: ServerConnection) -> None:
    await server.wait_closed()


def test_messages_are_text_frames_in_both_directions() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        asked = await server.recv()
        assert isinstance(asked, str)
        params = json.loads(asked)["params"]
        await server.send(json.dumps({"jsonrpc": "2.0", "id": json.loads(asked)["id"], "result": params}))
        await until_closed(server)

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client()) as agent:
            assert await agent.extension_request("_test/echo", {"text": "Grüße \u2028 🌍"}) == {
                "text": "Grüße \u2028 🌍"
            }

    run(test)


def test_a_fragmented_message_is_one() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        text = json.dumps(note(text="Grüße 🌍"), ensure_ascii=False)
        await server.send(iter(text))
        await until_closed(server)

    async def test() -> None:
        client = Client()
        async with serving(talk) as url, ws.connect(url, client=client):
            assert await client.told.get() == {"text": "Grüße 🌍"}

    run(test)


def test_binary_frames_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """(P, T, G: text frames only)"""

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.send(json.dumps(note(binary=1)).encode())
        await server.send(json.dumps(note(text=1)))
        await until_closed(server)

    async def test() -> None:
        client = Client()
        async with serving(talk) as url, ws.connect(url, client=client):
            assert await client.told.get() == {"text": 1}
            assert client.told.empty()

    with caplog.at_level(logging.WARNING, "acp_bindings.ws"):
        run(test)
    assert [record.getMessage() for record in caplog.records] == ["ignored a binary frame of 67 bytes"]


def test_what_is_no_message_is_refused() -> None:
    refusals: list[Any] = []

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        for frame in ("{nonsense", "[]", ""):
            await server.send(frame)
            refusals.append(json.loads(await server.recv())["error"]["code"])
        await server.send(json.dumps(note(still="here")))
        await until_closed(server)

    async def test() -> None:
        client = Client()
        async with serving(talk) as url, ws.connect(url, client=client):
            assert await client.told.get() == {"still": "here"}
        assert refusals == [-32700, -32600, -32700]

    run(test)


@pytest.mark.parametrize("asked", [None, ["acp.v2", "acp"]])
def test_a_subprotocol_is_asked_for_only_if_named(asked: list[str] | None) -> None:
    offered: list[str | None] = []

    def look(connection: ServerConnection, request: Request) -> None:
        offered.append(request.headers.get("Sec-WebSocket-Protocol"))

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await until_closed(server)

    async def test() -> None:
        async with serving(talk, process_request=look) as url, ws.connect(url, client=Client(), subprotocols=asked):
            pass
        assert offered == [None if asked is None else "acp.v2, acp"]

    run(test)


def test_headers_and_cookies_of_the_upgrade() -> None:
    """Cookies lead a later connection to the same server behind a balancer."""
    came: list[Headers] = []

    def look(connection: ServerConnection, request: Request) -> None:
        came.append(request.headers)

    def set_cookie(connection: ServerConnection, request: Request, response: Response) -> None:
        response.headers["Set-Cookie"] = "node=7; Path=/; HttpOnly"
        response.headers["Set-Cookie"] = "elsewhere=1; Path=/other"

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await until_closed(server)

    async def test() -> None:
        jar = CookieJar()
        async with serving(talk, process_request=look, process_response=set_cookie) as url:
            for _ in range(2):
                async with ws.connect(url, client=Client(), headers={"X-Secret-Key": "sesame"}, cookies=jar):
                    pass
            async with ws.connect(url, client=Client(), headers={"Cookie": "mine=1"}):
                pass
        assert [one.get("X-Secret-Key") for one in came] == ["sesame", "sesame", None]
        assert [one.get("Cookie") for one in came] == [None, "node=7", "mine=1"]

    run(test)


def test_http_in_the_url_stands_for_a_websocket() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await until_closed(server)

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url.replace("ws", "http", 1), client=Client()) as agent:
            assert agent.initialized.info.name == "peer"

    run(test)


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://localhost/acp", "ws://", "/acp"])
def test_what_is_no_url(url: str) -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="no ws:// or wss:// URL"):
            async with ws.connect(url, client=Client()):
                pass

    run(test)


def refusing(status: HTTPStatus, **headers: str) -> Callable[[ServerConnection, Request], Response]:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(status, "say the word")
        for name, value in headers.items():
            response.headers[name] = value
        return response

    return refuse


@pytest.mark.parametrize("status", [HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.OK])
def test_a_server_that_lets_nobody_in(status: HTTPStatus) -> None:
    async def test() -> None:
        async with serving(until_closed, process_request=refusing(status)) as url:
            with pytest.raises(HttpError, match=f"the upgrade at {url} with {status.value} .*say the word") as refused:
                async with ws.connect(url, client=Client()):
                    pass
            assert (refused.value.status, refused.value.body) == (status.value, "say the word")

    run(test)


def test_a_redirect_elsewhere_is_named_and_not_followed() -> None:
    """The other server would get the user's secrets."""
    strangers: list[Request] = []

    def look(connection: ServerConnection, request: Request) -> None:
        strangers.append(request)

    async def test() -> None:
        async with (
            serving(until_closed, process_request=look) as other,
            serving(until_closed, process_request=refusing(HTTPStatus.TEMPORARY_REDIRECT, Location=other)) as url,
        ):
            with pytest.raises(HttpError, match=f"which leads to {other}"):
                async with ws.connect(url, client=Client(), headers={"X-Secret-Key": "x"}):
                    pass
        assert strangers == []

    run(test)


def test_a_redirect_on_the_same_server_is_followed() -> None:
    def move(connection: ServerConnection, request: Request) -> Response | None:
        if request.path == "/acp/":
            return None
        response = connection.respond(HTTPStatus.PERMANENT_REDIRECT, "")
        response.headers["Location"] = "/acp/"
        return response

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await until_closed(server)

    async def test() -> None:
        async with serving(talk, process_request=move) as url, ws.connect(url, client=Client()) as agent:
            assert agent.initialized.info.name == "peer"

    run(test)


def test_a_server_that_is_not_there() -> None:
    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with pytest.raises(ConnectionClosed, match=f"ws://127.0.0.1:{port}/acp could not be reached"):
            async with ws.connect(f"ws://127.0.0.1:{port}/acp", client=Client()):
                pass

    run(test)


def test_a_server_that_speaks_something_else() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 smtp.example.com ESMTP\r\n")
        writer.close()

    async def test() -> None:
        async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with pytest.raises(ConnectionClosed, match="could not be reached"):
                async with ws.connect(f"ws://127.0.0.1:{port}/acp", client=Client()):
                    pass

    run(test)


def test_a_message_over_the_limit_ends_the_connection_and_is_told_to_both() -> None:
    closes: list[Any] = []

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        asked = json.loads(await server.recv())
        await server.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "x" * 5000}))
        await server.wait_closed()
        closes.append((server.close_code, server.close_reason))

    async def test() -> None:
        async with serving(talk) as url:
            async with ws.connect(url, client=Client(), max_message=1000) as agent:
                with pytest.raises(ConnectionClosed, match=r"other side is over the limit of 1000 bytes \(1009"):
                    await agent.extension_request("_test/long")
                with pytest.raises(ConnectionClosed, match="1009"):
                    await agent.extension_request("_test/later")
            while not closes:
                await asyncio.sleep(0)
        ((code, reason),) = closes
        assert code == 1009
        assert "1000" in reason

    run(test)


def test_a_message_of_ours_that_the_other_side_finds_too_big() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.wait_closed()

    async def test() -> None:
        async with serving(talk, max_size=1000) as url, ws.connect(url, client=Client()) as agent:
            with pytest.raises(
                ConnectionClosed, match=r"of ours is too big for the other side, which closed \(1009: .+\)"
            ):
                await agent.extension_request("_test/long", {"text": "x" * 5000})

    run(test)


def test_a_message_over_our_own_limit_is_not_sent() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        asked = json.loads(await server.recv())
        await server.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": asked["method"]}))
        await until_closed(server)

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client(), max_message=1000) as agent:
            with pytest.raises(ValueError, match="over the limit of 1000"):
                await agent.extension_request("_test/long", {"text": "x" * 5000})
            assert await agent.extension_request("_test/short") == "_test/short"

    run(test)


def test_text_that_is_not_utf_8_ends_the_connection() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.recv()
        await server.send(b'"\xff"', text=True)
        await server.wait_closed()

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client()) as agent:
            with pytest.raises(ConnectionClosed, match=r"closed here \(1007"):
                await agent.extension_request("_test/one")

    run(test)


@pytest.mark.parametrize(("code", "reason"), [(1000, ""), (1001, "shutting down"), (1008, "not you"), (1011, "a bug")])
def test_why_the_other_side_closed_is_told(code: int, reason: str) -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.recv()
        await server.close(code, reason)

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client()) as agent:
            told = f"the other side closed the connection \\({code}{': ' if reason else ''}{reason}\\)"
            with pytest.raises(ConnectionClosed, match=told):
                await agent.extension_request("_test/one")

    run(test)


def test_a_connection_that_breaks_off() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.recv()
        server.transport.abort()

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client()) as agent:
            with pytest.raises(ConnectionClosed, match="broke off"):
                await agent.extension_request("_test/one")

    run(test)


def test_a_silent_socket_is_given_up() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await server.recv()
        server.transport.pause_reading()
        await gone.wait()

    gone = asyncio.Event()

    async def test() -> None:
        async with serving(talk) as url:
            async with ws.connect(url, client=Client(), ping_interval=0.05, ping_timeout=0.1) as agent:
                with pytest.raises(ConnectionClosed, match=r"silent: no answer to a ping within 0\.1 s"):
                    await agent.extension_request("_test/one")
            gone.set()

    run(test)


def test_a_quiet_socket_that_answers_pings_lives_on() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        asked = json.loads(await server.recv())
        await asyncio.sleep(0.5)
        await server.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": 1}))
        await until_closed(server)

    async def test() -> None:
        options: dict[str, Any] = {"ping_interval": 0.02, "ping_timeout": 0.2}
        async with serving(talk) as url, ws.connect(url, client=Client(), **options) as agent:
            assert await agent.extension_request("_test/one") == 1

    run(test)


def test_a_paused_connection_reads_nothing_and_is_not_taken_for_a_silent_one() -> None:
    """Pongs wait behind what is not read."""
    go_on = asyncio.Event()
    count = 300

    class Busy(Client):
        async def session_update(self, notification: v2.UpdateSessionNotification, context: Any) -> None:
            await go_on.wait()
            await super().session_update(notification, context)

    sent = 0

    async def talk(server: ServerConnection) -> None:
        nonlocal sent
        await welcome(server)
        content = {"type": "text", "text": "x" * 100_000}
        update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}
        params = {"sessionId": "s", "update": update}
        for _ in range(count):
            await server.send(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))
            sent += 1
        await until_closed(server)

    async def test() -> None:
        client = Busy()
        options: dict[str, Any] = {"max_queued": 10_000, "ping_interval": 0.05, "ping_timeout": 0.05}
        async with serving(talk, compression=None) as url, ws.connect(url, client=client, **options):
            await asyncio.sleep(0.5)
            assert 0 < sent < count
            go_on.set()
            for _ in range(count):
                await client.told.get()

    run(test)


def test_writing_waits_while_the_other_side_reads_nothing() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        server.transport.pause_reading()
        await go_on.wait()
        server.transport.resume_reading()
        async for message in server:
            came.append(message)

    go_on = asyncio.Event()
    came: list[Any] = []
    count, size = 200, 100_000

    async def test() -> None:
        async with (
            serving(talk, max_size=None, compression=None) as url,
            ws.connect(url, client=Client(), max_output=size, ping_interval=None) as agent,
        ):
            written = 0

            async def write() -> None:
                nonlocal written
                for _ in range(count):
                    await agent.connection.notify("_test/long", {"text": "x" * size})
                    written += 1

            writing = asyncio.create_task(write())
            done, _ = await asyncio.wait([writing], timeout=0.5)
            assert not done and written < count
            go_on.set()
            await writing
        assert len(came) == count

    run(test)


def test_a_server_that_dies_while_nothing_more_is_read_of_it() -> None:
    """It asks without ever reading the answers, until reading stops; then it is gone."""

    async def flood(server: ServerConnection) -> None:
        for identity in itertools.count():
            await server.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": "_no/" + "x" * 50_000}))

    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        server.transport.pause_reading()
        await opened.wait()
        flooding = asyncio.create_task(flood(server))
        while transports[0]._gate.is_set():
            await asyncio.sleep(0.001)
        flooding.cancel()
        server.transport.abort()

    transports: list[WebSocketTransport] = []
    opened = asyncio.Event()

    async def test() -> None:
        async with (
            serving(talk, max_size=None, compression=None) as url,
            ws.connect(url, client=Client(), max_output=1000, ping_interval=None) as agent,
        ):
            transport = agent.connection.transport
            assert isinstance(transport, WebSocketTransport)
            transports.append(transport)
            opened.set()
            with pytest.raises(v2.ConnectionClosed):
                await agent.extension_request("_test/echo")
            await agent.connection.wait_closed()

    run(test, guard=20)


def test_nothing_is_left_behind() -> None:
    async def talk(server: ServerConnection) -> None:
        await welcome(server)
        await until_closed(server)

    async def test() -> None:
        async with serving(talk) as url:
            before = asyncio.all_tasks()
            async with ws.connect(url, client=Client()) as agent:
                waiting = call(agent, "_test/one")
                await asyncio.sleep(0)
            with pytest.raises(ConnectionClosed, match="closed here"):
                await waiting
            ours = [task for task in asyncio.all_tasks() - before if "serv" not in repr(task.get_coro())]
            assert ours == []

    run(test)


def test_a_version_that_the_server_prefers_takes_a_connection_of_its_own() -> None:
    """A connection takes one initialize (T: a second one is ignored)."""
    asked: list[int] = []

    async def talk(server: ServerConnection) -> None:
        first = json.loads(await server.recv())
        asked.append(first["params"]["protocolVersion"])
        await server.send(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": {"protocolVersion": 1}}))
        await until_closed(server)

    async def test() -> None:
        async with serving(talk) as url, ws.connect(url, client=Client()) as agent:
            assert agent.initialized.protocol_version == 1
        assert asked == [2, 1]

    run(test)

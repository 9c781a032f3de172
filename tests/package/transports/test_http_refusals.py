"""Servers that refuse: what the caller is told, and what goes on."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from typing import Any

import pytest
from acp_bindings import http, v2
from acp_bindings.runtime.errors import ConnectionClosed, HttpError

from tests.package.transports.http_clients import Client, call, connected
from tests.support.aio import run
from tests.support.http_peer import Exchange, HttpPeer, ScriptedServer, answer


class Refusing(ScriptedServer):
    """Answers the messages of one method with a status."""

    def __init__(self, method: str, status: int, body: str = "", **headers: str) -> None:
        super().__init__()
        self.refused = method
        self.how = status, body, headers

    async def __call__(self, exchange: Exchange) -> None:
        if exchange.method == "POST" and exchange.message.get("method", "answer") == self.refused:
            self.requests.append(exchange)
            status, body, headers = self.how
            await exchange.reply(status, body, **headers)
        else:
            await super().__call__(exchange)


@pytest.mark.parametrize("status", [400, 401, 403, 413, 415, 429, 500, 501, 503])
def test_a_status_of_failure_fails_that_call_alone(status: int) -> None:
    async def test() -> None:
        server = Refusing("_test/bad", status, "because " * 3000)
        async with connected(server) as (agent, _, _, connection):
            other = call(agent, "_test/good")
            message = await server.taken()
            with pytest.raises(HttpError, match=rf"_test/bad with {status} [A-Z].*: because because") as refused:
                await agent.extension_request("_test/bad")
            assert refused.value.status == status
            assert refused.value.body.startswith("because because")
            assert 8 * 1024 <= len(refused.value.body) <= 24_000
            assert len(str(refused.value)) < 500
            await connection.event(answer(message, 1).encode())
            assert await other == 1

    run(test)


@pytest.mark.parametrize("method", ["_test/note", "answer"])
def test_what_nobody_waits_for_is_told_to_the_log(method: str, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        server = Refusing(method, 400, "not like that")
        async with connected(server) as (agent, _, _, connection):
            await agent.connection.notify("_test/note", {})
            await connection.event({"jsonrpc": "2.0", "id": 1, "method": "_test/ask", "params": {}})
            other = call(agent, "_test/good")
            taken = [await server.taken() for _ in range(2)]
            message = next(one for one in taken if one.get("method") == "_test/good")
            await connection.event(answer(message, 1).encode())
            assert await other == 1

    with caplog.at_level(logging.ERROR, "acp_bindings.http"):
        run(test)
    (record,) = caplog.records
    assert "400 Bad Request: not like that" in record.getMessage()


@pytest.mark.parametrize("status", [404, 410])
def test_a_connection_that_is_unknown_is_over(status: int) -> None:
    """Every call that waits is told, nothing is tried again, and the server is not told good-bye (P, T, G)."""

    async def test() -> None:
        server = Refusing("_test/bad", status, "who?")
        async with connected(server) as (agent, _, _, _):
            waiting = call(agent, "_test/good")
            await server.taken()
            for one in (call(agent, "_test/bad"), waiting):
                with pytest.raises(ConnectionClosed, match=rf"does not know this connection .*{status}.*connect anew"):
                    await one
            with pytest.raises(ConnectionClosed, match="connect anew"):
                await agent.extension_request("_test/later")
        assert [one.method for one in server.requests] == ["POST", "GET", "POST", "POST"]

    run(test)


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_server_that_lets_nobody_in(status: int) -> None:
    async def test() -> None:
        server = Refusing("initialize", status, "say the word")
        async with HttpPeer(server) as peer:
            with pytest.raises(HttpError, match=rf"initialize at {peer.url} with {status} .*: say the word") as refused:
                async with http.connect(peer.url, client=Client()):
                    pass
            assert (refused.value.status, refused.value.body) == (status, "say the word")
            assert len(server.requests) == 1
            await peer.quiet()

    run(test)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"content_type": "text/html"}),
        (200, {"content_type": "application/json"}),
        (202, {"acp_connection_id": "1"}),
        (200, {"content_type": "text/event-stream", "acp_connection_id": "1"}),
    ],
    ids=["a page", "no connection", "accepted", "a stream"],
)
def test_a_server_that_speaks_something_else(status: int, headers: dict[str, str]) -> None:
    async def test() -> None:
        async with HttpPeer(Refusing("initialize", status, "{}", **headers)) as peer:
            with pytest.raises(HttpError, match=f"no ACP server at {peer.url}: it answered with {status}"):
                async with http.connect(peer.url, client=Client()):
                    pass

    run(test)


def test_an_error_in_answer_to_initialize_is_the_agents() -> None:
    class Server(ScriptedServer):
        def welcome(self, exchange: Exchange) -> str:
            error = {"code": -32000, "message": "log in"}
            return json.dumps({"jsonrpc": "2.0", "id": exchange.message["id"], "error": error})

    async def test() -> None:
        server = Server()
        async with HttpPeer(server) as peer:
            with pytest.raises(v2.RequestError, match="log in"):
                async with http.connect(peer.url, client=Client()):
                    pass
            await server.deleted.wait()

    run(test)


def test_a_server_that_is_not_there() -> None:
    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with pytest.raises(ConnectionClosed, match=rf"http://127.0.0.1:{port}/acp could not be reached") as caught:
            async with http.connect(f"http://127.0.0.1:{port}/acp", client=Client()):
                pass
        # Why, as the operating system says it: httpx does not.
        assert "Connect call failed" in str(caught.value)

    run(test)


def test_an_error_ends_without_the_end_of_line_of_a_body() -> None:
    assert str(v2.HttpError("refused with 401", 401, "not authenticated\n")) == "refused with 401: not authenticated"
    assert str(v2.HttpError("refused with 401", 401, "\n")) == "refused with 401"


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://localhost/acp", "ws://localhost/acp", "http://", "/acp"])
def test_what_is_no_url(url: str) -> None:
    async def test() -> None:
        with pytest.raises(ValueError, match="no http:// or https:// URL"):
            async with http.connect(url, client=Client()):
                pass

    run(test)


def test_a_redirect_on_the_same_server_is_followed() -> None:
    """As an app that is mounted at a path answers, for want of a slash."""

    class Server(ScriptedServer):
        async def __call__(self, exchange: Exchange) -> None:
            if exchange.path == "/acp":
                await exchange.reply(307, location="/acp/")
            else:
                await super().__call__(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, connection):
            asked = call(agent, "_test/one")
            await connection.event(answer(await server.taken(), 1).encode())
            assert await asked == 1
        assert {one.path for one in server.requests} == {"/acp/"}

    run(test)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_elsewhere_is_named_and_not_followed(status: int) -> None:
    """The other server would get the user's secrets."""

    async def test() -> None:
        strangers = ScriptedServer()
        async with HttpPeer(strangers) as other, HttpPeer(Refusing("initialize", status, location=other.url)) as peer:
            with pytest.raises(HttpError, match=f"which leads to {other.url}"):
                async with http.connect(peer.url, client=Client(), headers={"X-Secret-Key": "x"}):
                    pass
            assert strangers.requests == []

    run(test)


def test_redirects_in_a_circle() -> None:
    async def test() -> None:
        server = Refusing("initialize", 308, location="/acp")
        async with HttpPeer(server) as peer:
            with pytest.raises(HttpError, match="redirects more than 3 times"):
                async with http.connect(peer.url, client=Client()):
                    pass
        assert len(server.requests) == 4

    run(test)


def test_a_connection_that_breaks_under_a_message() -> None:
    """Nobody knows whether it was taken, so it is not sent again."""

    class Server(ScriptedServer):
        async def post(self, exchange: Exchange) -> None:
            if exchange.message["method"] == "_test/bad":
                exchange.writer.transport.abort()
            else:
                await super().post(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, connection):
            with pytest.raises(HttpError, match="_test/bad may not have reached the server") as broken:
                await agent.extension_request("_test/bad")
            assert broken.value.status is None
            asked = call(agent, "_test/good")
            await connection.event(answer(await server.taken(), 1).encode())
            assert await asked == 1
        assert len(server.of("POST")) == 3

    run(test)


def test_a_session_whose_name_fits_no_header() -> None:
    async def test() -> None:
        server = ScriptedServer()
        async with connected(server, max_reopens=0) as (agent, _, _, _):
            with pytest.raises(HttpError):
                await call(agent, "session/resume", sessionId="one\r\nX-Injected: two")
        assert all("x-injected" not in one.headers for one in server.requests)

    run(test)


def test_a_server_that_does_not_take_leave(caplog: pytest.LogCaptureFixture) -> None:
    class Server(ScriptedServer):
        async def __call__(self, exchange: Exchange) -> None:
            if exchange.method == "DELETE":
                await exchange.reply(500)
            else:
                await super().__call__(exchange)

    async def test() -> None:
        async with connected(Server()):
            pass

    run(test)
    assert "answered the end of the connection with 500" in caplog.text


def test_a_version_that_the_server_prefers_takes_a_connection_of_its_own() -> None:
    """A connection takes one initialize (T: 400 for a second one), and the agent has to learn our capabilities."""

    class Server(ScriptedServer):
        def welcome(self, exchange: Exchange) -> str:
            return answer(exchange.message, {"protocolVersion": 1, "agentCapabilities": {}})

        def welcoming(self) -> dict[str, str]:
            return super().welcoming() | {"acp_connection_id": f"connection-{len(self.of('POST'))}"}

    async def test() -> None:
        server = Server()
        asked: list[tuple[str, Any]] = []
        async with HttpPeer(server) as peer, http.connect(peer.url, client=Client()) as agent:
            assert agent.initialized.protocol_version == 1
            await server.deleted.wait()
            for one in server.of("POST"):
                asked.append((one.headers.get("acp-connection-id", ""), one.message["params"]["protocolVersion"]))
            assert asked == [("", 2), ("", 1)]
            assert [one.headers["acp-connection-id"] for one in server.of("DELETE")] == ["connection-1"]
        assert [one.headers["acp-connection-id"] for one in server.of("DELETE")] == ["connection-1", "connection-2"]

    run(test)


def test_leaving_while_the_server_is_silent_takes_no_longer_than_it_may() -> None:
    """A message that is not taken, and a good-bye that is not answered."""

    class Server(ScriptedServer):
        async def __call__(self, exchange: Exchange) -> None:
            if exchange.method == "DELETE" or (exchange.method == "POST" and "_test" in exchange.body.decode()):
                await exchange.gone()
            else:
                await super().__call__(exchange)

    async def test() -> None:
        async with connected(Server()) as (agent, _, _, _):
            await agent.connection.notify("_test/one", {})
            await agent.connection.notify("_test/two", {})
            started = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - started < 10

    run(test)

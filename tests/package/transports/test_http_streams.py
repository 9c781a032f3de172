"""Streams that drop: told of, opened again, and not for ever."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from acp_bindings import http, v2
from acp_bindings.runtime.errors import ConnectionClosed, HttpError
from acp_bindings.runtime.transports import streams

from tests.package.transports.http_clients import Client, call, connected, note
from tests.support.aio import run
from tests.support.http_peer import Exchange, HttpPeer, ScriptedServer, answer


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long here."""
    monkeypatch.setattr(streams, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(streams, "LONGEST_DELAY", 0.02)


class Told(asyncio.Queue[tuple[str | None, Exception]]):
    """The streams that were reported lost."""

    def __call__(self, session: str | None, error: Exception) -> None:
        self.put_nowait((session, error))


async def new_session(agent: Any, server: ScriptedServer, connection: Exchange, name: str = "s") -> Exchange:
    """Make a session; its stream."""
    made = call(agent, "session/new", cwd="/")
    await connection.event(answer(await server.taken(), {"sessionId": name}).encode())
    await made
    return await server.stream(name)


def test_a_stream_that_drops_is_told_of_and_opened_again(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        server, told = ScriptedServer(), Told()
        async with connected(server, on_stream_lost=told) as (agent, client, _, connection):
            stream = await new_session(agent, server, connection)
            asked = call(agent, "session/prompt", sessionId="s")
            message = await server.taken()
            stream.end()
            session, error = await told.get()
            assert (session, str(error)) == ("s", "the server ended the stream of session s")
            stream = await server.stream("s")
            await stream.event(note(number=1))
            await stream.event(answer(message, "late").encode())
            assert await client.told.get() == {"number": 1}
            assert await asked == "late"
            connection.end()
            session, error = await told.get()
            assert (session, str(error)) == (None, "the server ended the connection's stream")
            connection = await server.stream()
            await connection.event(note(number=2))
            assert await client.told.get() == {"number": 2}
        assert told.empty()

    with caplog.at_level(logging.WARNING):
        run(test)
    assert [record.getMessage() for record in caplog.records] == [
        "the server ended the stream of session s: opening it again",
        "the server ended the connection's stream: opening it again",
    ]


def test_a_stream_that_breaks_in_the_middle_of_an_event() -> None:
    """The half is dropped: it never was a message."""

    async def test() -> None:
        server, told = ScriptedServer(), Told()
        async with connected(server, on_stream_lost=told) as (_, client, _, connection):
            await connection.send(b'data: {"jsonrpc":"2.0","method":"_test/note","params":{"half":1}}\n')
            connection.writer.transport.abort()
            assert (await told.get())[0] is None
            await (await server.stream()).event(note(whole=1))
            assert await client.told.get() == {"whole": 1}

    run(test)


def test_the_id_of_the_last_event_is_sent_when_it_is_opened_again() -> None:
    """As any reader of server-sent events does, for servers that can go on from there."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (_, client, _, connection):
            await connection.send(b'id: ev\xc3\xa9nt 7\ndata: {"jsonrpc":"2.0","method":"_test/note","params":{}}\n\n')
            await client.told.get()
            connection.end()
            again = await server.stream()
            assert again.headers["last-event-id"].encode("latin-1").decode() == "evént 7"

    run(test)


def test_the_connections_stream_is_not_opened_for_ever() -> None:
    """A server that accepts it and hangs up each time; the calls that wait are told."""

    class Server(ScriptedServer):
        async def get(self, exchange: Exchange) -> None:
            exchange.start()
            await exchange.send(b": hello\n\n")

    async def test() -> None:
        server, told, client = Server(), Told(), Client()
        async with HttpPeer(server) as peer:
            async with http.connect(peer.url, client=client, max_reopens=3, on_stream_lost=told) as agent:
                with pytest.raises(ConnectionClosed, match=r"opened 3 times more, it brought nothing.*of no use"):
                    await agent.extension_request("_test/one")
                with pytest.raises(ConnectionClosed, match="of no use"):
                    await agent.extension_request("_test/two")
            assert len(server.of("GET")) == 4
            assert told.qsize() == 3

    run(test)


def test_what_brings_something_is_opened_as_often_as_it_takes() -> None:
    """Some ways to a server end every answer after a while."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server, max_reopens=2) as (_, client, _, connection):
            for number in range(10):
                await connection.event(note(number=number))
                assert await client.told.get() == {"number": number}
                connection.end()
                connection = await server.stream()

    run(test)


def test_a_sessions_stream_that_is_not_to_be_had_fails_that_sessions_calls_alone() -> None:
    class Server(ScriptedServer):
        async def get(self, exchange: Exchange) -> None:
            if exchange.session == "bad":
                await exchange.reply(403, "not yours")
            else:
                await super().get(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, connection):
            with pytest.raises(HttpError, match="the stream of session bad with 403 Forbidden: not yours") as refused:
                await call(agent, "session/resume", sessionId="bad")
            assert (refused.value.status, refused.value.body) == (403, "not yours")
            asked = call(agent, "session/resume", sessionId="good")
            await (await server.stream("good")).event(answer(await server.taken(), "fine").encode())
            assert await asked == "fine"
            other = call(agent, "_test/one")
            await connection.event(answer(await server.taken(), 1).encode())
            assert await other == 1
        assert [one.message["method"] for one in server.of("POST")[1:]] == ["session/resume", "_test/one"]

    run(test)


def test_a_sessions_stream_that_was_given_up_is_opened_by_its_next_message() -> None:
    class Server(ScriptedServer):
        broken = False

        async def get(self, exchange: Exchange) -> None:
            if exchange.session and self.broken:
                await exchange.reply(500)
            else:
                await super().get(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server, max_reopens=2) as (agent, client, _, connection):
            stream = await new_session(agent, server, connection)
            asked = call(agent, "session/prompt", sessionId="s")
            await server.taken()
            server.broken = True
            stream.end()
            with pytest.raises(HttpError, match="500 Internal Server Error; opened 2 times more"):
                await asked
            server.broken = False
            again = call(agent, "session/prompt", sessionId="s")
            stream = await server.stream("s")
            await stream.event(note(back=1))
            await stream.event(answer(await server.taken(), "fine").encode())
            assert await again == "fine"
            assert await client.told.get() == {"back": 1}

    run(test)


@pytest.mark.parametrize("status", [409, 425, 429, 502, 503])
def test_a_passing_refusal_is_tried_again(status: int) -> None:
    """409: the server has not noticed yet that the stream before is gone (P, T, G)."""

    class Server(ScriptedServer):
        refusals = 2

        async def get(self, exchange: Exchange) -> None:
            if exchange.session and self.refusals:
                self.refusals -= 1
                await exchange.reply(status)
            else:
                await super().get(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, _):
            asked = call(agent, "session/resume", sessionId="s")
            message = await server.taken()
            await (await server.stream("s")).event(answer(message, "fine").encode())
            assert await asked == "fine"
        assert len(server.of("GET")) == 4

    run(test)


def test_a_session_that_a_server_does_not_know_before_it_is_resumed() -> None:
    """404 for its stream is no end then (P): it is asked for once more when the server has taken the message."""

    class Server(ScriptedServer):
        async def get(self, exchange: Exchange) -> None:
            if exchange.session and not self.of("POST")[1:]:
                await exchange.reply(404, "no such session")
            else:
                await super().get(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, _):
            asked = call(agent, "session/resume", sessionId="s")
            message = await server.taken()
            await (await server.stream("s")).event(answer(message, "fine").encode())
            assert await asked == "fine"

    run(test)


def test_a_silent_stream_counts_as_dropped_where_comments_were_promised() -> None:
    async def test() -> None:
        server, told = ScriptedServer(), Told()
        async with connected(server, keep_alive=0.2, on_stream_lost=told) as (_, client, _, connection):
            for _ in range(5):
                await connection.send(b": alive\n\n")
                await asyncio.sleep(0.1)
            assert told.empty()
            session, error = await told.get()
            assert session is None and "ReadTimeout" in str(error)
            await (await server.stream()).event(note(again=1))
            assert await client.told.get() == {"again": 1}

    run(test)


@pytest.mark.parametrize("kind", ["text/html", ""])
def test_a_stream_of_something_else_ends_the_connection(kind: str) -> None:
    class Server(ScriptedServer):
        async def get(self, exchange: Exchange) -> None:
            await exchange.reply(200, "<html>", **({"content_type": kind} if kind else {}))

    async def test() -> None:
        async with (
            HttpPeer(Server()) as peer,
            http.connect(peer.url, client=Client()) as agent,
        ):
            with pytest.raises(ConnectionClosed, match=f"with {kind or 'no content type'}"):
                await agent.extension_request("_test/one")

    run(test)


def test_a_hook_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(session: str | None, error: Exception) -> None:
        raise LookupError("a bug")

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server, on_stream_lost=fail) as (_, client, _, connection):
            connection.end()
            await (await server.stream()).event(note(still="here"))
            assert await client.told.get() == {"still": "here"}

    run(test)
    assert "the callback for lost streams failed" in caplog.text


def test_a_server_that_was_restarted_is_noticed() -> None:
    """It knows nothing of the connection: calls end, and a fresh connection works (P, T, G: 404)."""

    class Server(ScriptedServer):
        known = True

        async def __call__(self, exchange: Exchange) -> None:
            if self.known or (exchange.method == "POST" and exchange.message.get("method") == "initialize"):
                await super().__call__(exchange)
            else:
                await exchange.reply(404, "unknown connection")

    async def test() -> None:
        server = Server()
        async with HttpPeer(server) as peer:
            async with http.connect(peer.url, client=Client()) as agent:
                connection = await server.stream()
                asked = call(agent, "_test/one")
                await server.taken()
                server.known = False
                connection.end()
                with pytest.raises(ConnectionClosed, match=r"404 Not Found: unknown connection.*connect anew"):
                    await asked
            server.known = True
            async with http.connect(peer.url, client=Client()) as agent:
                asked = call(agent, "_test/one")
                message = await server.taken()
                await (await server.stream()).event(answer(message, v2.PROTOCOL_VERSION).encode())
                assert await asked == 2

    run(test)

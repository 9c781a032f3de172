"""The HTTP client against a server that keeps to the rules: who gets which headers, which stream brings what, in what
order messages are sent. (Streams that drop, and servers that refuse, have files of their own.)"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from acp_bindings import http, v2
from acp_bindings.runtime.errors import ProtocolError
from acp_bindings.runtime.transports import http as transport

from tests.package.transports.http_clients import Client, call, connected, note
from tests.support.aio import run
from tests.support.cli import ROOT
from tests.support.http_peer import Exchange, HttpPeer, ScriptedServer, answer


def test_headers_of_every_request() -> None:
    """The user's, the connection's and the session's, and the cookies that the server has set (P, T, G)."""

    class Server(ScriptedServer):
        def welcoming(self) -> dict[str, str]:
            return {**super().welcoming(), "set_cookie": "node=7; Path=/; HttpOnly"}

    async def test() -> None:
        server = Server()
        secret = {"X-Secret-Key": "sésame", "accept": "nothing"}
        async with connected(server, headers=secret) as (agent, _, _, connection):
            made = call(agent, "session/new", cwd="/")
            await connection.event(answer(await server.taken(), {"sessionId": "sëssion"}).encode())
            await made
            prompted = call(agent, "session/prompt", sessionId="sëssion", prompt=[])
            stream = await server.stream("sëssion".encode().decode("latin-1"))
            await stream.event(answer(await server.taken(), {}).encode())
            await prompted
        await server.deleted.wait()
        first, *others = server.requests
        assert "cookie" not in first.headers and "acp-connection-id" not in first.headers
        for request in others:
            assert request.headers["cookie"] == "node=7"
            assert request.headers["acp-connection-id"] == "connection-1"
        for request in server.requests:
            assert request.path == "/acp"
            assert request.headers["x-secret-key"].encode("latin-1").decode() == "sésame"
        for request in server.of("POST"):
            assert request.headers["content-type"] == "application/json"
        for request in server.of("GET"):
            assert request.headers["accept"] == "text/event-stream"
        scoped = [(one.method, one.session.encode("latin-1").decode()) for one in server.requests if one.session]
        assert scoped == [("GET", "sëssion"), ("POST", "sëssion")]
        assert [one.method for one in server.of("DELETE")] == ["DELETE"]

    run(test)


def test_a_sessions_stream_is_open_before_anything_is_posted_for_it() -> None:
    """As the SDK's client does, whose sessions a server learns of by that (T)."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, _, _):
            resumed = call(agent, "session/resume", sessionId="old", cwd="/")
            stream = await server.stream("old")
            message = await server.taken()
            await stream.event(answer(message, {}).encode())
            await resumed
        order = [(one.method, one.session) for one in server.requests if one.session]
        assert order == [("GET", "old"), ("POST", "old")]

    run(test)


@pytest.mark.parametrize("on", ["", "s"])
def test_an_answer_may_come_on_either_stream(on: str) -> None:
    """(P, T; the answer to session/load came on the session's stream, G, or on the connection's, T.)"""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, _, connection):
            loaded = call(agent, "session/load", sessionId="s", cwd="/")
            streams = {"": connection, "s": await server.stream("s")}
            await streams[on].event(answer(await server.taken(), {"ok": on}).encode())
            assert await loaded == {"ok": on}

    run(test)


def test_an_answer_may_come_in_the_response() -> None:
    class Server(ScriptedServer):
        async def post(self, exchange: Exchange) -> None:
            await exchange.reply(200, answer(exchange.message, {"direct": 1}), content_type="application/json")

    async def test() -> None:
        async with connected(Server()) as (agent, _, _, _):
            assert await agent.extension_request("_test/direct") == {"direct": 1}

    run(test)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (202, '{"queued":true}', "application/json"),
        (200, "", "application/json"),
        (204, "", ""),
        (200, "ok", "text/plain"),
    ],
)
def test_a_post_may_be_taken_in_other_words(status: int, body: str, kind: str) -> None:
    """Only a 200 with JSON is an answer; whatever else a success carries is none of ours."""

    class Server(ScriptedServer):
        async def post(self, exchange: Exchange) -> None:
            await exchange.reply(status, body, **({"content_type": kind} if kind else {}))
            await self.posted.put(exchange)

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, connection):
            asked = call(agent, "_test/one")
            await connection.event(answer(await server.taken(), 1).encode())
            assert await asked == 1
        assert len(server.of("POST")) == 2

    run(test)


def test_a_request_from_a_session_is_answered_in_that_session() -> None:
    """The session's header goes with the answer, though nothing in the answer names the session (T: else 400)."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, _, connection):
            made = call(agent, "session/new", cwd="/")
            await connection.event(answer(await server.taken(), {"sessionId": "s"}).encode())
            await made
            stream = await server.stream("s")
            question = {"jsonrpc": "2.0", "id": "q", "method": "_test/ask", "params": {}}
            await stream.event(question | {"params": {"sessionId": "s"}})
            first = await server.posted.get()
            await stream.event(question)
            second = await server.posted.get()
            await connection.event(question | {"params": {"sessionId": "s"}})
            third = await server.posted.get()
            await connection.event(question)
            fourth = await server.posted.get()
            assert [one.session for one in (first, second, third, fourth)] == ["s", "s", "s", ""]
            assert first.message == {"jsonrpc": "2.0", "id": "q", "result": {"asked": {"sessionId": "s"}}}

    run(test)


def test_a_question_is_answered_while_the_prompt_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that answers a POST only when the turn is over must not wait for us, nor we for it."""
    monkeypatch.setattr(transport, "PATIENCE", 0.05)

    class Server(ScriptedServer):
        async def post(self, exchange: Exchange) -> None:
            await self.posted.put(exchange)
            if exchange.message.get("method") == "session/prompt":
                await answered.wait()
                await exchange.reply(200, answer(exchange.message, {"over": True}), content_type="application/json")
            else:
                await exchange.reply(202)
                answered.set()

    answered = asyncio.Event()

    async def test() -> None:
        server = Server()
        async with connected(server) as (agent, _, _, _):
            prompted = call(agent, "session/prompt", sessionId="s", prompt=[])
            stream = await server.stream("s")
            assert (await server.taken())["method"] == "session/prompt"
            await stream.event({"jsonrpc": "2.0", "id": 1, "method": "_test/ask", "params": {}})
            assert await prompted == {"over": True}
            assert (await server.taken())["result"] == {"asked": {}}

    run(test)


class Slow(ScriptedServer):
    """Takes a message once it was let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: asyncio.Queue[Exchange] = asyncio.Queue()
        self.go: dict[str, asyncio.Event] = {}

    async def post(self, exchange: Exchange) -> None:
        await self.begun.put(exchange)
        if (gate := self.go.get(exchange.message.get("method", ""))) is not None:
            await gate.wait()
        await super().post(exchange)


def test_messages_of_a_session_are_taken_one_after_the_other() -> None:
    """A cancellation never overtakes what it cancels, and sessions do not wait for each other."""

    async def test() -> None:
        server = Slow()
        server.go = {"session/prompt": asyncio.Event()}
        async with connected(server) as (agent, _, _, _):
            prompts = [call(agent, "session/prompt", sessionId=name, prompt=[]) for name in ("a", "b")]
            assert {(await server.begun.get()).session for _ in prompts} == {"a", "b"}
            await agent.session_cancel(v2.CancelSessionNotification(session_id="a"))
            prompts[1].cancel()
            await agent.connection.notify("_test/elsewhere", {})
            assert (await server.begun.get()).message["method"] == "_test/elsewhere"
            assert server.begun.empty()
            server.go["session/prompt"].set()
            taken = [await server.taken() for _ in range(5)]
            methods = [one["method"] for one in taken]
            assert methods[:1] == ["_test/elsewhere"]
            assert sorted(methods[1:]) == ["$/cancel_request", *["session/cancel"], *["session/prompt"] * 2]
            places = {one["method"]: place for place, one in enumerate(taken) if one["params"].get("sessionId") == "a"}
            assert places["session/prompt"] < places["session/cancel"]
            prompt = next(place for place, one in enumerate(taken) if one["params"].get("sessionId") == "b")
            assert prompt < methods.index("$/cancel_request")
            assert taken[methods.index("$/cancel_request")]["params"] == {"requestId": taken[prompt]["id"]}
            prompts[0].cancel()

    run(test)


def test_what_is_long_on_its_way_is_not_overtaken() -> None:
    """Patience counts from where all of a message was sent: a slow upload is not a slow server."""
    size = 8_000_000

    async def test() -> None:
        server = Slow()
        arriving, go = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Passes bytes on to the server, but lets a long message lie."""
            host, port = peer.url.removeprefix("http://").removesuffix("/acp").split(":")
            up_reader, up_writer = await asyncio.open_connection(host, int(port))

            async def back() -> None:
                while data := await up_reader.read(65536):
                    writer.write(data)
                writer.close()

            task = asyncio.create_task(back())
            while data := await reader.read(65536):
                if b'"session/prompt"' in data:
                    arriving.set()
                    await go.wait()
                up_writer.write(data)
                await up_writer.drain()
            up_writer.close()
            await task

        async with HttpPeer(server) as peer:
            proxy = await asyncio.start_server(serve, "127.0.0.1", 0, limit=4096)
            async with proxy:
                url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/acp"
                async with http.connect(url, client=Client(), max_output=2 * size) as agent:
                    prompted = call(agent, "session/prompt", sessionId="s", prompt=["x" * size])
                    await arriving.wait()
                    await agent.session_cancel(v2.CancelSessionNotification(session_id="s"))
                    await agent.connection.notify("_test/elsewhere", {})
                    assert (await server.taken())["method"] == "_test/elsewhere"
                    next_one = asyncio.create_task(server.taken())
                    done, _ = await asyncio.wait([next_one], timeout=1.5 * transport.PATIENCE)
                    assert not done
                    go.set()
                    assert (await next_one)["method"] == "session/prompt"
                    assert (await server.taken())["method"] == "session/cancel"
                    prompted.cancel()

    run(test)


def test_writing_waits_while_the_server_takes_nothing() -> None:
    async def test() -> None:
        server = Slow()
        server.go = {"_test/first": asyncio.Event()}
        async with connected(server, max_output=1000) as (agent, _, _, _):
            await agent.connection.notify("_test/first", {})
            await server.begun.get()
            writing = asyncio.create_task(agent.connection.notify("_test/second", {"text": "x" * 2000}))
            done, _ = await asyncio.wait([writing], timeout=0.1)
            assert not done
            server.go["_test/first"].set()
            await writing
            assert [(await server.taken())["method"] for _ in range(2)] == ["_test/first", "_test/second"]

    run(test)


def test_what_was_written_goes_out_before_the_end() -> None:
    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, _, _):
            for number in range(3):
                agent.connection.write(json.dumps(note(number=number)).encode())
        assert [one.message["params"]["number"] for one in server.of("POST")[1:]] == [0, 1, 2]
        assert server.requests[-1].method == "DELETE"

    run(test)


def test_nothing_is_left_behind() -> None:
    """Neither tasks nor connections, however many streams there were."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, peer, _):
            calls = [call(agent, "session/resume", sessionId=str(number), cwd="/") for number in range(5)]
            for number in range(5):
                await server.stream(str(number))
                await server.taken()
            assert peer.connections >= 6
            for one in calls:
                one.cancel()
            await asyncio.wait(calls)
        assert peer.connections == 0
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    run(test)


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_that_is_over_has_no_stream_any_more(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LINGER", 0.01)

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, client, _, connection):
            made = call(agent, "session/new", cwd="/")
            await connection.event(answer(await server.taken(), {"sessionId": "s"}).encode())
            await made
            stream = await server.stream("s")
            over = call(agent, method, sessionId="s")
            message = await server.taken()
            await connection.event(answer(message, {}).encode())
            await stream.event(note(last="words"))
            await over
            assert await client.told.get() == {"last": "words"}
            await stream.gone()
        assert len([one for one in server.of("GET") if one.session]) == 1

    run(test)


def test_a_session_that_was_not_to_be_had_has_no_stream_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LINGER", 0.01)

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (agent, _, _, connection):
            resumed = call(agent, "session/resume", sessionId="nowhere", cwd="/")
            stream = await server.stream("nowhere")
            error = {"code": -32002, "message": "not found"}
            await connection.event({"jsonrpc": "2.0", "id": (await server.taken())["id"], "error": error})
            with pytest.raises(v2.RequestError):
                await resumed
            await stream.gone()

    run(test)


def test_a_subagents_session_gets_a_stream_too() -> None:
    """Nothing but an update of its parent tells of it."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (_, client, _, connection):
            update = {"sessionUpdate": "subagent_update", "sessionId": "child", "title": "Search"}
            params = {"sessionId": "parent", "update": update}
            await connection.event({"jsonrpc": "2.0", "method": "session/update", "params": params})
            child = await server.stream("child")
            await child.event(note(child=1))
            assert (await client.told.get()).session_id == "parent"
            assert await client.told.get() == {"child": 1}

    run(test)


def test_a_hundred_sessions_at_once() -> None:
    """More streams than httpx's default pool has connections, and messages still go out."""

    async def test() -> None:
        server = ScriptedServer()
        names = [str(number) for number in range(120)]
        async with connected(server) as (agent, _, _, _):
            calls = [call(agent, "session/resume", sessionId=name, cwd="/") for name in names]
            streams = {name: await server.stream(name) for name in names}
            for _ in names:
                exchange = await server.posted.get()
                await streams[exchange.session].event(answer(exchange.message, exchange.session).encode())
            assert await asyncio.gather(*calls) == names

    run(test)


def test_a_paused_connection_reads_no_stream() -> None:
    """A client that does not keep up is not sent more than sockets hold."""

    async def test() -> None:
        server = ScriptedServer()
        go_on = asyncio.Event()

        class Busy(Client):
            async def session_update(self, notification: v2.UpdateSessionNotification, context: Any) -> None:
                await go_on.wait()
                await super().session_update(notification, context)

        client = Busy()
        async with HttpPeer(server) as peer, http.connect(peer.url, client=client, max_queued=10_000) as agent:
            stream = await server.stream()
            chunk = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text"}}
            chunk["content"] = {"type": "text", "text": "x" * 100_000}
            params = {"sessionId": "s", "update": chunk}
            count = 400
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(count):
                    await stream.event({"jsonrpc": "2.0", "method": "session/update", "params": params})
                    sent += 1

            sending = asyncio.create_task(send())
            done, _ = await asyncio.wait([sending], timeout=1.0)
            assert not done and sent < count
            go_on.set()
            for _ in range(count):
                await client.told.get()
            await sending
            del agent

    run(test)


def test_what_is_no_message_is_refused_and_the_stream_goes_on() -> None:
    """As over any transport that carries nothing but messages: -32700, and -32600 for a batch."""

    async def test() -> None:
        server = ScriptedServer()
        async with connected(server) as (_, client, _, connection):
            await connection.event(b"{nonsense")
            assert (await server.taken())["error"]["code"] == -32700
            await connection.event([note(number=1)])
            assert (await server.taken())["error"]["code"] == -32600
            await connection.event(note(number=2))
            assert await client.told.get() == {"number": 2}

    run(test)


def test_a_message_over_the_limit_fails_the_call_that_it_answers() -> None:
    async def test() -> None:
        server = ScriptedServer()
        async with connected(server, max_message=1000) as (agent, client, _, connection):
            asked = call(agent, "_test/long")
            await connection.event(answer(await server.taken(), "x" * 5000).encode())
            with pytest.raises(ProtocolError, match="over the limit of 1000"):
                await asked
            await connection.event(note(still="here"))
            assert await client.told.get() == {"still": "here"}
            with pytest.raises(ValueError, match="over the limit of 1000"):
                await agent.extension_request("_test/long", {"x": "x" * 1000})

    run(test)


def test_a_response_over_the_limit_fails_the_call_too() -> None:
    class Server(ScriptedServer):
        async def post(self, exchange: Exchange) -> None:
            await exchange.reply(200, answer(exchange.message, "x" * 5000), content_type="application/json")

    async def test() -> None:
        async with connected(Server(), max_message=1000) as (agent, _, _, _):
            with pytest.raises(ProtocolError, match="over the limit of 1000"):
                await agent.extension_request("_test/long")

    run(test)


def test_an_httpx_client_of_the_users_own() -> None:
    """What it adds is sent, and it is not closed."""

    async def test() -> None:
        server = ScriptedServer()
        async with httpx.AsyncClient(headers={"X-Mine": "1"}) as mine, HttpPeer(server) as peer:
            async with http.connect(peer.url, client=Client(), httpx_client=mine, headers={"X-Other": "2"}):
                await server.stream()
            assert not mine.is_closed
        wanted: Mapping[str, str] = {"x-mine": "1", "x-other": "2"}
        assert all(one.headers.items() >= wanted.items() for one in server.requests)

    run(test)


def test_a_pool_that_is_too_small_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stream takes a connection of the user's client."""
    monkeypatch.setattr("acp_bindings.runtime.transports.clients.CONNECT_TIMEOUT", 0.2)

    async def test() -> None:
        server = ScriptedServer()
        async with (
            HttpPeer(server) as peer,
            httpx.AsyncClient(limits=httpx.Limits(max_connections=1)) as mine,
            http.connect(peer.url, client=Client(), httpx_client=mine) as agent,
        ):
            await server.stream()
            with pytest.raises(v2.HttpError, match="no connection left in its pool"):
                await agent.extension_request("_test/one")

    run(test)


BARE = """
import sys
from acp_bindings import http, ws, v2
heavy = {"httpx", "httpx_sse", "websockets", "starlette", "uvicorn"} & set(sys.modules)
assert not heavy, heavy
for name in ("httpx", "websockets"):
    sys.modules[name] = None
import asyncio
async def main():
    for module, extra in ((http, "http"), (ws, "ws")):
        try:
            async with module.connect("http://127.0.0.1:1/acp", client=v2.Client()):
                pass
        except ImportError as error:
            assert f"pip install acp-bindings[{extra}]" in str(error), error
        else:
            raise AssertionError("it connected")
asyncio.run(main())
"""


def test_importing_takes_no_extra_and_connecting_names_the_one_that_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BARE],
        env={"PYTHONPATH": str(ROOT / "generated")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")

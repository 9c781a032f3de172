"""What goes well over POST, GET and DELETE."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from acp_bindings import http
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.package.connection.agents import AGENTS, SESSION
from tests.package.web.agents import Counting, Family, text_of
from tests.package.web.serving import CONNECTION, INITIALIZE, Peer, client, running, served
from tests.support.aio import run


def prompt(text: int | str, session: str = SESSION) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": str(text)}]}


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_a_turn_from_initialize_to_delete() -> None:
    """P, T, G: the two headers, the two kinds of stream, 202 with an empty body for what is answered on a stream."""

    async def test() -> None:
        async with served() as (app, peer):
            answer = await peer.initialize()
            assert answer.status_code == 200 and answer.headers["content-type"] == "application/json"
            assert answer.json()["id"] == 0 and answer.json()["result"]["protocolVersion"] == 2
            assert answer.headers[CONNECTION] and "set-cookie" not in answer.headers
            async with peer.stream() as of_connection:
                accepted = await peer.request(1, "session/new", {"cwd": "/"})
                assert (accepted.status_code, accepted.content) == (202, b"")
                assert (await of_connection.next())["result"] == {"sessionId": SESSION}
                async with peer.stream(SESSION) as of_session:
                    assert (await peer.request(2, "session/prompt", prompt(50), SESSION)).status_code == 202
                    came = await of_session.take(51)
                    assert [text_of(one) for one in came[:50]] == numbers(50)
                    assert came[50] == {"jsonrpc": "2.0", "id": 2, "result": {"messageId": "m"}}
                    ended = await peer.delete()
                    assert (ended.status_code, ended.content) == (202, b"")
                    assert await of_session.rest() == [] and await of_connection.rest() == []
            assert (await peer.delete()).status_code == 404 and len(app.connections) == 0

    run(test)


def test_two_sessions_have_a_stream_each_which_may_open_late() -> None:
    """S, P: what is sent to a session before its stream opens is kept, and its order is that of the agent."""

    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            for identity in (1, 2):
                await peer.request(identity, "session/new", {"cwd": "/"})
            async with peer.stream("s2") as early:
                for identity, session in ((3, "s1"), (4, "s2")):
                    await peer.request(identity, "session/prompt", prompt(30, session), session)
                came = await early.take(31)
                async with peer.stream("s1") as late:
                    kept = await late.take(31)
            for messages, session, identity in ((came, "s2", 4), (kept, "s1", 3)):
                assert [text_of(one) for one in messages[:30]] == numbers(30) and messages[30]["id"] == identity
                assert {one["params"]["sessionId"] for one in messages[:30]} == {session}
            async with peer.stream() as of_connection:
                assert [one["id"] for one in await of_connection.take(2)] == [1, 2]

    run(test)


def test_a_stream_that_broke_goes_on_where_it_was_left() -> None:
    """W: what had not left for the first reader comes to the second; at most what was under way is lost."""

    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream("s1") as first:
                await peer.request(1, "session/prompt", prompt("3000 2000", "s1"), "s1")
                begun = [int(text_of(one)) for one in await first.take(10)]
            async with peer.stream("s1") as second:
                rest = []
                while "id" not in (message := await second.next()):
                    rest.append(int(text_of(message)))
            assert begun == list(range(10)) and rest == list(range(rest[0], 3000))
            # Buffers of the two ends: some hundred kilobytes of six million.
            assert rest[0] < 1500

    run(test)


def test_nobody_reads_and_the_agent_waits() -> None:
    """Bounded queues push back, and nothing is dropped: another session of the same connection does not notice."""

    async def test() -> None:
        family = Family()
        async with served(family, max_output=20_000) as (_, peer):
            await peer.initialize()
            (agent,) = family.agents
            await peer.request(1, "session/prompt", prompt("500 1000", "slow"), "slow")
            async with peer.stream("quick") as quick:
                await peer.request(2, "session/prompt", prompt(100, "quick"), "quick")
                assert [text_of(one) for one in (await quick.take(101))[:100]] == numbers(100)
            # The first to be over the limit waits, so there is one more than fits.
            assert 100 + 15 < agent.written < 100 + 25 and agent.turns == 1
            async with peer.stream("slow") as slow:
                came = await slow.take(501)
            assert [text_of(one).strip() for one in came[:500]] == numbers(500) and came[500]["id"] == 1

    run(test)


def test_all_streams_together_push_back_too() -> None:
    async def test() -> None:
        family = Family()
        async with served(family, max_kept=20_000) as (_, peer):
            await peer.initialize()
            (agent,) = family.agents
            for number in range(4):
                session = f"s{number}"
                await peer.request(number, "session/prompt", prompt("500 1000", session), session)
            async with peer.stream() as stream:
                await peer.request("probe", "session/new", {"cwd": "/"})
                await stream.next()
            assert agent.written < 30 and agent.turns == 4
            async with contextlib.AsyncExitStack() as stack:
                streams = [await stack.enter_async_context(peer.stream(f"s{number}")) for number in range(4)]
                for came in await asyncio.gather(*(one.take(501) for one in streams)):
                    assert [text_of(one).strip() for one in came[:500]] == numbers(500)

    run(test)


def test_the_agent_asks_and_the_answer_is_posted() -> None:
    """P, T, G: requests to the client come on the session's stream; the POST of an answer draws 202."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.stream() as of_connection, peer.stream(SESSION) as of_session:
                for identity, session in ((1, None), (2, SESSION)):
                    await peer.request(identity, "_test/ask", {})
                    asked = await of_session.next()
                    assert asked["method"] == "session/request_permission"
                    result = {"outcome": {"outcome": "selected", "optionId": "yes"}}
                    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
                    # The wrong session is a contradiction. None at all is not: an answer has no params (W).
                    assert (await peer.post(answer, "another")).status_code == 400
                    assert (await peer.post(answer, session)).status_code == 202
                    assert (await of_connection.next())["result"]["outcome"]["outcome"] == "selected"
                # An answer to nobody is dropped.
                assert (await peer.post({"jsonrpc": "2.0", "id": 99, "result": {}})).status_code == 202

    run(test)


def test_a_cancellation_by_the_agent_follows_its_request() -> None:
    """W: it goes to the stream that carried what it cancels, and so cannot overtake it."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.stream() as of_connection, peer.stream(SESSION) as of_session:
                await peer.request(1, "_test/ask_and_give_up", {})
                asked = await of_session.next()
                release = {"jsonrpc": "2.0", "method": "_test/release"}
                assert (await peer.post(release)).status_code == 202
                cancelled = await of_session.next()
                assert (cancelled["method"], cancelled["params"]) == ("$/cancel_request", {"requestId": asked["id"]})
                assert (await of_connection.next())["result"] == {"given up": True}

    run(test)


def test_a_session_header_alone_makes_a_message_the_sessions() -> None:
    """T: the answer goes to the stream of the session that the header names, where params name none."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.stream(SESSION) as of_session:
                await peer.request(1, "_test/double", {"number": 4}, SESSION)
                assert (await of_session.next())["result"] == {"number": 8}

    run(test)


@pytest.mark.parametrize("session", ["sé", "セッション", "a%20b%", "\x7f~!", "with space"])
def test_session_ids_are_any_text(session: str) -> None:
    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            as_header: Any = session.encode()
            async with peer.stream(as_header) as stream:
                await peer.request(1, "session/prompt", prompt(1, session), as_header)
                assert (await stream.next())["params"]["sessionId"] == session
                if session == "sé":
                    latin: Any = session.encode("latin-1")
                    assert (await peer.request(2, "session/prompt", prompt(0, session), latin)).status_code == 202
                    assert [one["id"] for one in await stream.take(2)] == [1, 2]

    run(test)


def test_content_types_of_json() -> None:
    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            for kind in ("application/json; charset=UTF-8", 'Application/JSON;charset="utf-8"', "application/json;a=b"):
                message = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": SESSION}}
                assert (await peer.post(message, SESSION, **{"Content-Type": kind})).status_code == 202

    run(test)


# Opening


@pytest.mark.parametrize(
    ("agent", "params", "code"),
    [
        ("picky", {"protocolVersion": 2, "info": {"name": "wire", "version": "1"}}, -32000),
        ("scripted", {"protocolVersion": 1}, -32022),
        ("scripted", {"protocolVersion": "two"}, -32602),
    ],
)
def test_a_refused_initialize_leaves_no_connection(agent: str, params: Any, code: int) -> None:
    async def test() -> None:
        async with served(AGENTS[agent]) as (app, peer):
            answer = await peer.initialize(INITIALIZE | {"params": params})
            assert answer.status_code == 200 and CONNECTION not in answer.headers
            assert answer.json()["id"] == 0 and answer.json()["error"]["code"] == code
            assert len(app.connections) == 0

    run(test)


def test_initialize_again() -> None:
    """G: 200 with the answer (T refuses it with 400). Until another request was made it may be repeated (T)."""

    async def test() -> None:
        async with served(AGENTS["both"]) as (app, peer):
            await peer.initialize()
            again = INITIALIZE | {"id": "again", "params": {"protocolVersion": 1, "clientCapabilities": {}}}
            answer = await peer.post(again)
            assert answer.status_code == 200 and answer.json()["result"]["protocolVersion"] == 1
            await peer.request(1, "session/new", {"cwd": "/", "mcpServers": []})
            answer = await peer.post(again)
            assert answer.status_code == 200 and answer.json()["error"]["code"] == -32600
            assert len(app.connections) == 1

    run(test)


def test_an_id_that_is_in_use() -> None:
    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            await peer.request(1, "_test/wait", {})
            answer = await peer.request(1, "session/new", {"cwd": "/"})
            assert answer.status_code == 400 and answer.json()["id"] is None
            assert (await peer.request("1", "session/new", {"cwd": "/"})).status_code == 202

    run(test)


def test_an_eager_agent_is_heard() -> None:
    """What it says before any stream is open is there when they open."""

    async def test() -> None:
        async with served(AGENTS["eager"]) as (_, peer):
            await peer.initialize()
            async with peer.stream(SESSION) as stream:
                first, second = await stream.take(2)
                assert text_of(first) == "hello" and second["method"] == "session/request_permission"

    run(test)


@pytest.mark.parametrize("kind", ["raises", "promises too much", "is a coroutine"])
def test_factories(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    class Promising(Counting):
        from acp_bindings import v2

        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    def raises() -> Counting:
        raise KeyError("a secret")

    async def coroutine() -> list[Counting]:
        return [Counting()]

    async def test() -> None:
        factory = {"raises": raises, "promises too much": Promising, "is a coroutine": coroutine}[kind]
        async with served(factory) as (app, peer):
            answer = await peer.initialize()
            works = kind == "is a coroutine"
            assert answer.status_code == (200 if works else 500) and "secret" not in answer.text
            assert len(app.connections) == works

    run(test)
    assert ("the agent could not be made" in caplog.text) == (kind != "is a coroutine")


def test_an_agent_that_leaves() -> None:
    """Its streams end, and its connection is unknown from then on."""

    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                assert (await peer.request(1, "_test/leave", {})).status_code == 202
                assert await stream.rest() == []
            assert (await peer.request(2, "session/new", {"cwd": "/"})).status_code == 404

    run(test)


def test_large_messages_both_ways() -> None:
    async def test() -> None:
        async with served(Counting) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                await peer.request(1, "_test/size", {"text": "x" * 30_000_000, "answer": 30_000_000})
                answer = await stream.next()
                assert answer["result"]["size"] == len(answer["result"]["text"]) == 30_000_000

    run(test)


def test_a_frame_of_several_lines_is_one_event() -> None:
    """A proxy passes frames on as they came, line ends between tokens included."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "_test/raw", "params": {}}, indent=1)
                await peer.post(text.replace("\n", "\r\n").encode())
                assert (await stream.next())["result"]["raw"].startswith("{\r\n")

    run(test)


def test_a_silent_stream_is_kept_alive() -> None:
    async def test() -> None:
        async with served(keep_alive=0.01) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                async for line in stream.response.aiter_lines():
                    if line == ": keep-alive":
                        break

    run(test)


# Where it stands


@pytest.mark.parametrize("kind", ["starlette", "fastapi"])
def test_mounted(kind: str) -> None:
    """Its owner ends it: servers tell the outermost app alone that they stop."""

    async def test() -> None:
        family = Family()
        acp = http.app(family, path="/agent")

        @contextlib.asynccontextmanager
        async def life(_: Any) -> Any:
            yield
            await acp.shutdown()

        if kind == "starlette":
            outer: Starlette = Starlette(routes=[Mount("/tools", acp)], lifespan=life)
        else:
            outer = FastAPI(lifespan=life)
            outer.mount("/tools", acp)
        async with client() as made:
            async with running(outer) as root:
                peer = Peer(made, root + "/tools/agent")
                assert (await peer.initialize()).status_code == 200
                async with peer.stream() as stream:
                    await peer.request(1, "session/new", {"cwd": "/"})
                    assert (await stream.next())["result"] == {"sessionId": "s1"}
                assert (await made.post(root + "/agent")).status_code == 404
            assert family.agents[0].ended.is_set() and len(acp.connections) == 0

    run(test)


def test_a_cookie_that_a_proxy_can_go_by() -> None:
    async def test() -> None:
        async with served(affinity="b-2", affinity_cookie="route") as (_, peer):
            answer = await peer.initialize()
            assert answer.headers["set-cookie"] == "route=b-2; HttpOnly; Path=/; SameSite=lax"
            assert peer.client.cookies["route"] == "b-2"
            assert "set-cookie" not in (await peer.delete()).headers

    run(test)

"""What goes well over POST, GET and DELETE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.package.connection.agents import SESSION
from tests.package.web.agents import Counting, text_of
from tests.package.web.serving import CONNECTION, served
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

"""Bad input over HTTP: each has its status, leaves no trace in the connection, and a record in the log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.package.connection.agents import SESSION
from tests.package.web.serving import CONNECTION, EVENTS, INITIALIZE, JSON, Peer, served
from tests.package.web.serving import SESSION as SESSION_HEADER
from tests.package.web.test_turns import prompt
from tests.support.aio import run

NEW = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/"}}
PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt(1)}


def refusals(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """Status and level of the refusals that were logged."""
    return [(one.acp_status, one.levelname) for one in caplog.records if hasattr(one, "acp_status")]


async def is_unharmed(peer: Peer) -> bool:
    """Whether the connection still works, and none of its streams brings anything but the answer to this."""
    async with peer.stream() as stream:
        await peer.request("probe", "session/new", {"cwd": "/"})
        message: dict[str, Any] = await stream.next()
        return message == {"jsonrpc": "2.0", "id": "probe", "result": {"sessionId": SESSION}}


# T, P, G: what may be wrong with a POST on a connection. Each: further headers, body, status and error of the answer.
POSTS: dict[str, tuple[dict[str, str], Any, int, int | None]] = {
    "no content type": ({"Content-Type": ""}, NEW, 415, None),
    "another content type": ({"Content-Type": "text/plain"}, NEW, 415, None),
    "another charset": ({"Content-Type": "application/json; charset=utf-16"}, NEW, 415, None),
    "a compressed body": ({"Content-Encoding": "gzip"}, NEW, 415, None),
    "no JSON": ({}, b"{garbage", 400, -32700),
    "no body": ({}, b"", 400, -32700),
    "no UTF-8": ({}, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 400, -32700),
    "too deep": ({}, b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 100_000 + b"]" * 100_000, 400, -32700),
    "an endless number": ({}, b'{"jsonrpc":"2.0","id":' + b"9" * 100_000 + b',"method":"x"}', 400, -32600),
    "a batch": ({}, [NEW, NEW], 400, -32600),
    "an empty batch": ({}, [], 400, -32600),
    "a number": ({}, 7, 400, -32600),
    "an object that is no message": ({}, {"jsonrpc": "2.0"}, 400, -32600),
    "an id that is none": ({}, NEW | {"id": True}, 400, -32600),
    "an answer without an id": ({}, {"jsonrpc": "2.0", "result": {}}, 400, None),
    "no session header": ({}, PROMPT, 400, -32600),
    "another session in the header": ({SESSION_HEADER: "s2"}, PROMPT, 400, -32600),
    "an empty session header": ({SESSION_HEADER: ""}, PROMPT, 400, None),
    "an endless session header": ({SESSION_HEADER: "x" * 2000}, PROMPT, 400, None),
    "an unknown connection": ({CONNECTION: "nobody"}, NEW, 404, None),
    "a connection of percent signs": ({CONNECTION: "%00%2e%"}, NEW, 404, None),
    "an endless connection id": ({CONNECTION: "y" * 2000}, NEW, 400, None),
}


@pytest.mark.parametrize("name", POSTS)
def test_a_wrong_post(name: str, told: pytest.LogCaptureFixture) -> None:
    beside, message, status, code = POSTS[name]

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            answer = await peer.post(message, **beside)
            assert answer.status_code == status
            if code is None:
                assert answer.headers["content-type"].startswith("text/plain") and answer.text.count("\n") == 1
            else:
                body = answer.json()
                assert body["error"]["code"] == code
                assert body["id"] == (message["id"] if "session header" in name or "in the header" in name else None)
            assert await is_unharmed(peer)

    run(test)
    assert refusals(told) == [(status, "INFO")]


def test_params_that_do_not_fit_are_answered_on_a_stream() -> None:
    """They name no session, so it is the connection's."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream:
                for params in (["s1"], {"sessionId": ["s1"], "prompt": []}, {"sessionId": None}, 7):
                    assert (await peer.request(1, "session/prompt", params)).status_code == 202
                    assert (await stream.next())["error"]["code"] == -32602

    run(test)


def test_a_first_post_that_is_no_initialize(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (app, peer):
            for message, code in ((NEW, -32600), ([INITIALIZE], -32600), (b"{", -32700)):
                answer = await peer.post(message)
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
            notification = {one: INITIALIZE[one] for one in ("jsonrpc", "method", "params")}
            for message in (notification, {"jsonrpc": "2.0", "id": 1, "result": {}}):
                assert (await peer.post(message)).status_code == 400
            assert (await peer.post(INITIALIZE, "s1")).status_code == 400
            assert len(app.connections) == 0

    run(test)
    assert [status for status, _ in refusals(told)] == [400] * 6


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("text/event-stream", 200),
        ("TEXT/Event-Stream; q=0.1", 200),
        ("application/json, text/event-stream", 200),
        ("text/*", 200),
        ("*/*", 200),
        ("text/event-stream;q=nonsense", 200),
        ("application/json", 406),
        ("", 406),
        ("text/event-stream;q=0", 406),
        ("*/*, text/event-stream;q=0.0", 406),
        ("text/event-streams", 406),
    ],
)
def test_accept(accept: str, status: int) -> None:
    """406 for a GET that does not accept SSE (T, P, G); ranges and qualities as RFC 9110 has them (W)."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            async with peer.client.stream("GET", peer.url, headers=peer.headers | {"Accept": accept}) as answer:
                assert answer.status_code == status

    run(test)


def test_a_wrong_get_or_delete(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (_, peer):
            for method in ("GET", "DELETE"):
                assert (await peer.client.request(method, peer.url, headers=EVENTS)).status_code == 400
                unknown = EVENTS | {CONNECTION: "x"}
                assert (await peer.client.request(method, peer.url, headers=unknown)).status_code == 404

    run(test)
    assert [status for status, _ in refusals(told)] == [400, 404] * 2


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "BREW"])
def test_other_methods(method: str, told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (_, peer):
            answer = await peer.client.request(method, peer.url)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")
            assert (await peer.client.request(method, peer.url + "/more")).status_code == 404

    run(test)
    assert refusals(told) == [(405, "INFO")]


def test_a_second_stream_of_one_scope(told: pytest.LogCaptureFixture) -> None:
    """T, P, G: 409; the first goes on, and once it is left there may be another."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            for session in (None, SESSION):
                given = EVENTS | peer.headers | ({} if session is None else {SESSION_HEADER: session})
                async with peer.stream(session) as first:
                    assert (await peer.client.get(peer.url, headers=given)).status_code == 409
                    async with peer.stream("another"):
                        await peer.request(1, "session/new", {"cwd": "/"}, session)
                        assert (await first.next())["id"] == 1
            assert await is_unharmed(peer)

    run(test)
    assert refusals(told) == [(409, "INFO")] * 2


def test_a_header_given_twice() -> None:
    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            body = json.dumps(NEW).encode()
            for extra, status in (([(CONNECTION, "other")], 400), ([(CONNECTION, peer.headers[CONNECTION])], 202)):
                headers = [*JSON.items(), *peer.headers.items(), *extra]
                assert (await peer.client.post(peer.url, content=body, headers=headers)).status_code == status

    run(test)


def test_a_connection_of_somebody_else(told: pytest.LogCaptureFixture) -> None:
    """It is as unknown as one that never was: nobody learns by it that it exists."""

    async def test() -> None:
        async with served(authenticate=lambda headers: headers.get("x-user")) as (app, mine):
            mine.headers["X-User"] = "me"
            await mine.initialize()
            theirs = Peer(mine.client, mine.url, {**mine.headers, "X-User": "somebody else"})
            made_up = Peer(mine.client, mine.url, {**theirs.headers, CONNECTION: "0" * 41})
            for other in (theirs, made_up):
                answers = [
                    await other.request(1, "session/new", {"cwd": "/"}),
                    await other.client.get(other.url, headers=EVENTS | other.headers),
                    await other.delete(),
                ]
                assert [(one.status_code, one.text) for one in answers] == [(404, "unknown connection\n")] * 3
            assert len(app.connections) == 1 and await is_unharmed(mine)

    run(test)
    assert refusals(told)[:3] == [(404, "WARNING")] * 3
    assert "belongs to somebody else" in told.text


def test_a_connection_of_another_process_is_told_apart(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (_, one), served() as (_, other):
            await one.initialize()
            other.headers = one.headers
            assert (await other.request(1, "session/new", {"cwd": "/"})).status_code == 404
            # No log shows enough of an id to use it.
            assert one.headers[CONNECTION] not in told.text

    run(test)
    assert refusals(told) == [(404, "WARNING")] and "opened in another process" in told.text

"""Bodies that are too large or too slow, and too many of something."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from tests.package.connection.agents import SESSION
from tests.package.web.raw import Raw
from tests.package.web.serving import EVENTS, JSON, Peer, served
from tests.package.web.serving import SESSION as SESSION_HEADER
from tests.package.web.test_refusals import PROMPT, is_unharmed, refusals
from tests.support.aio import run


@pytest.mark.parametrize("kind", ["with a length", "in chunks", "that waits for leave", "before initialize"])
def test_a_body_over_the_limit(kind: str, told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(max_message=100_000) as (app, peer):
            if kind != "before initialize":
                await peer.initialize()
            message = {"jsonrpc": "2.0", "id": 9, "method": "_test/double", "params": {"text": "x" * 150_000}}
            body = json.dumps(message).encode()
            raw = await Raw.open(peer.url)
            own = [f"{name}: {value}" for name, value in (JSON | peer.headers).items()]
            if kind == "in chunks":
                chunks = [body[start : start + 10_000] for start in range(0, len(body), 10_000)]
                coded = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
                await raw.send("POST", *own, "Transfer-Encoding: chunked", body=coded)
            elif kind == "that waits for leave":
                await raw.send("POST", *own, f"Content-Length: {len(body)}", "Expect: 100-continue")
            else:
                await raw.send("POST", *own, f"Content-Length: {len(body)}", body=body)
            answer = await raw.answer()
            assert answer.status == 413 and answer.headers["connection"] == "close"
            if kind != "that waits for leave":
                error = json.loads(answer.body)
                assert error["id"] == 9 and error["error"]["code"] == -32600
                assert "is over the limit of 100000" in error["error"]["message"]
            assert await raw.ended()
            await raw.close()
            if kind != "before initialize":
                assert await is_unharmed(peer)
            assert len(app.connections) == (kind != "before initialize")

    run(test)
    assert refusals(told) == [(413, "INFO")]


def test_an_answer_over_the_limit_fails_the_call_of_the_agent(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(max_message=100_000) as (_, peer):
            await peer.initialize()
            async with peer.stream() as stream, peer.stream(SESSION) as of_session:
                await peer.request(1, "_test/ask", {})
                asked = await of_session.next()
                answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": "x" * 150_000}}
                assert (await peer.post(answer, SESSION)).status_code == 413
                assert (await stream.next())["error"]["code"] == -32603

    run(test)
    assert refusals(told) == [(413, "INFO")]


def test_a_body_that_takes_too_long(told: pytest.LogCaptureFixture) -> None:
    """One byte after the other does not help."""

    async def test() -> None:
        async with served(body_timeout=0.2) as (_, peer):
            await peer.initialize()
            raw = await Raw.open(peer.url)
            own = [f"{name}: {value}" for name, value in (JSON | peer.headers).items()]
            await raw.send("POST", *own, "Content-Length: 1000000")

            async def drip() -> None:
                with contextlib.suppress(ConnectionError):
                    while True:
                        raw.writer.write(b" ")
                        await raw.writer.drain()
                        await asyncio.sleep(0.01)  # that is how slow it is

            dripping = asyncio.create_task(drip())
            answer = await raw.answer()
            assert answer.status == 408 and answer.headers["connection"] == "close"
            dripping.cancel()
            await raw.close()
            assert await is_unharmed(peer)

    run(test)
    assert refusals(told) == [(408, "INFO")]


@pytest.mark.parametrize("how", ["half-closed", "closed"])
def test_a_client_that_leaves_in_the_middle_of_its_body(how: str, told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            raw = await Raw.open(peer.url)
            own = [f"{name}: {value}" for name, value in (JSON | peer.headers).items()]
            await raw.send("POST", *own, "Content-Length: 1000", body=b'{"jsonrpc":"2.0","id":1,')
            if how == "half-closed":
                raw.half_close()
                assert await raw.ended()
            await raw.close()
            while "went away in the middle of its POST" not in told.text:
                await asyncio.sleep(0)
            assert await is_unharmed(peer)

    run(test)
    assert refusals(told) == []


def test_a_stream_that_is_half_closed_is_left() -> None:
    """What the agent says then is kept for the next reader."""

    async def test() -> None:
        async with served() as (_, peer):
            await peer.initialize()
            raw = await Raw.open(peer.url)
            own = [f"{name}: {value}" for name, value in (EVENTS | peer.headers).items()]
            await raw.send("GET", *own)
            assert b"200 OK" in await raw.reader.readuntil(b"\r\n\r\n")
            raw.half_close()
            assert await raw.ended()
            await raw.close()
            assert await is_unharmed(peer)

    run(test)


def test_too_many_connections(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(max_connections=1) as (_, peer):
            await peer.initialize()
            other = Peer(peer.client, peer.url)
            answer = await other.initialize()
            assert answer.status_code == 503 and "retry-after" in answer.headers
            await peer.delete()
            assert (await other.initialize()).status_code == 200

    run(test)
    assert refusals(told) == [(503, "WARNING")]


def test_too_many_sessions(told: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(max_sessions=2) as (_, peer):
            await peer.initialize()
            async with peer.stream("a"), peer.stream("b"):
                given = EVENTS | peer.headers | {SESSION_HEADER: "c"}
                assert (await peer.client.get(peer.url, headers=given)).status_code == 429
                assert (await peer.post(PROMPT, SESSION)).status_code == 429
            # Sessions whose streams were left count no more.
            async with peer.stream("c"), peer.stream("d"):
                pass
            assert await is_unharmed(peer)

    run(test)
    assert refusals(told)[:2] == [(429, "INFO")] * 2

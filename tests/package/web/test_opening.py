"""How connections begin, and where the app may stand."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from acp_bindings import http, v2
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.package.connection.agents import AGENTS, SESSION
from tests.package.web.agents import Counting, Family, text_of
from tests.package.web.serving import CONNECTION, INITIALIZE, Peer, client, running, served
from tests.support.aio import run


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
            # T: the SDK's client wants an id with whatever answer, though there is nothing behind it.
            assert answer.status_code == 200 and CONNECTION in answer.headers
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
    class Promising(v2.Agent):
        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    def raises() -> v2.Agent:
        raise KeyError("a secret")

    async def coroutine() -> list[v2.Agent]:
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


@pytest.mark.parametrize("kind", ["starlette", "fastapi"])
def test_mounted(kind: str) -> None:
    """Its owner starts and ends it: servers tell the outermost app alone."""

    async def test() -> None:
        family = Family()
        acp = http.app(family, path="/agent")

        @contextlib.asynccontextmanager
        async def life(_: Any) -> Any:
            async with acp.running():
                yield

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


def test_an_agent_in_place_of_what_makes_one() -> None:
    agent: Any = Counting()
    with pytest.raises(TypeError, match="expected what makes the agent of a connection, such as a class; got Counting"):
        http.app(agent)


@pytest.mark.parametrize("entered", [True, False])
def test_mounted_and_forgotten(entered: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Without `running()` the server would wait for open streams for good: that is said, once, before it happens."""

    async def test() -> None:
        acp = http.app(Counting, path="/agent")
        life: Any = (lambda _: acp.running()) if entered else None
        async with client() as made, running(Starlette(routes=[Mount("/tools", acp)], lifespan=life)) as root:
            for _ in range(2):
                peer = Peer(made, root + "/tools/agent")
                assert (await peer.initialize()).status_code == 200
                await peer.delete()

    run(test)
    assert caplog.text.count("`running()` in the lifespan") == (0 if entered else 1)


def test_a_cookie_that_a_proxy_can_go_by() -> None:
    async def test() -> None:
        async with served(affinity="b-2", affinity_cookie="route") as (_, peer):
            answer = await peer.initialize()
            assert answer.headers["set-cookie"] == "route=b-2; HttpOnly; Path=/; SameSite=lax"
            assert peer.client.cookies["route"] == "b-2"
            assert "set-cookie" not in (await peer.delete()).headers

    run(test)

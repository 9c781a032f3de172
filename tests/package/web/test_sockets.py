"""Upgrades: the same connection over a WebSocket."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import websockets
from acp_bindings.runtime.web.app import AcpApp
from websockets.asyncio.client import ClientConnection

from tests.package.connection.agents import SESSION
from tests.package.web.serving import CONNECTION, INITIALIZE, served
from tests.package.web.test_turns import prompt
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


def test_a_turn() -> None:
    async def test() -> None:
        async with connected() as (app, dial), dial() as socket:
            assert socket.response.headers[CONNECTION] and socket.subprotocol is None
            await say(socket, INITIALIZE)
            assert (await hear(socket))["result"]["protocolVersion"] == 2
            assert (await ask(socket, 1, "session/new", {"cwd": "/"}))["result"] == {"sessionId": SESSION}
            assert len(app.connections) == 1
            await say(socket, {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt(50)})
            came = [await hear(socket) for _ in range(51)]
            texts = [one["params"]["update"]["content"]["text"] for one in came[:50]]
            assert texts == [str(number) for number in range(50)] and came[50]["id"] == 2

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

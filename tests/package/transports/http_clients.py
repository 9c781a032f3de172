"""What the tests of the HTTP client share: a client that remembers, and a connection to a scripted server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from acp_bindings import http, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import extension

from tests.support.http_peer import Exchange, HttpPeer, ScriptedServer


class Client(v2.Client):
    """Remembers what it is told."""

    info = v2.Implementation(name="client", version="1")

    def __init__(self) -> None:
        super().__init__()
        self.told: asyncio.Queue[Any] = asyncio.Queue()

    async def session_update(self, notification: v2.UpdateSessionNotification, context: Context) -> None:
        await self.told.put(notification)

    @extension("_test/note", notification=True)
    async def note(self, params: Any, context: Context) -> None:
        await self.told.put(params)

    @extension("_test/ask")
    async def ask(self, params: Any, context: Context) -> Any:
        return {"asked": params}


def note(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "_test/note", "params": params}


@contextlib.asynccontextmanager
async def connected(server: ScriptedServer, **options: Any) -> AsyncIterator[tuple[Any, Client, HttpPeer, Exchange]]:
    """A client's connection, the client, the peer, and the connection's stream."""
    client = Client()
    async with HttpPeer(server) as peer:
        async with http.connect(peer.url, client=client, **options) as agent:
            yield agent, client, peer, await server.stream()
        await peer.quiet()


def call(agent: Any, method: str, **params: Any) -> asyncio.Task[Any]:
    """A call that waits for its answer."""
    return asyncio.create_task(agent.connection.request(method, params))

"""HTTP/2, where a server offers it: streams that stay open must not keep each other, or messages, waiting."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from acp_bindings import http, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.runtime.transports import clients
from hypercorn.asyncio import serve
from hypercorn.config import Config

from tests.package.connection.clients import Recorder
from tests.package.transports.http_clients import Client
from tests.support.aio import run

SESSIONS = 120


class Agent(v2.Agent):
    """Makes sessions, each of which says its name when it is prompted."""

    info = v2.Implementation(name="many", version="1")
    made = 0

    async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
        self.made += 1
        return v2.NewSessionResponse(session_id=f"s{self.made}")

    async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
        content = v2.TextContent(text=request.session_id)
        update = v2.AgentMessageChunk(message_id="m", content=content)
        await context.remote.session_update(v2.UpdateSessionNotification(session_id=request.session_id, update=update))
        return v2.PromptResponse(message_id="m")


@contextlib.asynccontextmanager
async def serving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, list[str]]]:
    """Our app over TLS, with HTTP/2; the URL, and the versions of HTTP of the requests."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    clients._trust.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    app = http.app(Agent, gates=False, max_sessions=2 * SESSIONS)
    versions: list[str] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            versions.append(scope["http_version"])
        await app(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.certfile = config.keyfile = str(folder / "server.pem")
    config.graceful_timeout = 1
    over = asyncio.Event()
    task = asyncio.create_task(serve(noting, config, shutdown_trigger=over.wait))
    try:
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            await asyncio.sleep(0.01)
        yield f"https://127.0.0.1:{port}/acp", versions
    finally:
        await app.shutdown()
        over.set()
        await task
        clients._trust.cache_clear()


def test_more_sessions_than_a_connection_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        client = Recorder()
        async with serving(tmp_path, monkeypatch) as (url, versions):
            async with http.connect(url, client=client, gates=False) as agent:
                made = [await agent.session_new(v2.NewSessionRequest(cwd="/")) for _ in range(SESSIONS)]
                names = [one.session_id for one in made]
                prompts = [v2.PromptRequest(session_id=name, prompt=[v2.TextContent(text="?")]) for name in names]
                await asyncio.gather(*(agent.session_prompt(prompt) for prompt in prompts))
                assert sorted(client.seen) == sorted(names)
            assert set(versions) == {"2"}

    run(test)


def test_a_server_that_nobody_vouches_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with serving(tmp_path, monkeypatch) as (url, _):
            monkeypatch.delenv("SSL_CERT_FILE")
            clients._trust.cache_clear()
            with pytest.raises(v2.ConnectionClosed, match=r"could not be reached: .*certificate"):
                async with http.connect(url, client=Client()):
                    pass

    run(test)

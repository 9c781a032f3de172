"""Goose as the tests drive it: a process with a scratch home and a scripted model, and a client that remembers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_bindings import http, stdio, ws
from acp_bindings.runtime.connection import Context
from acp_bindings.runtime.transports.stdio import ProcessTransport
from acp_bindings.v1 import unstable as v1
from acp_bindings.v2 import unstable as v2

from tests.interop.goose.audit import Finding, Frame, findings
from tests.interop.goose.model import Model

LIMIT = 60.0
"""Seconds for one conversation. None takes a tenth of that: what takes longer hangs."""

BUILTIN = ("--with-builtin", "developer")

# Goose and us: what of its messages does not fit, and why that is so.
EXCEPTIONS: dict[Finding, str] = {}


class Client(v1.Client):
    """Remembers what it is told, and answers permission requests by `choose`: an option's kind, or "cancelled"."""

    def __init__(self, choose: str = "allow_once") -> None:
        super().__init__(info=v1.Implementation(name="interop", version="1"))
        self.choose = choose
        self.updates: list[v1.SessionNotification] = []
        self.asked: list[v1.RequestPermissionRequest] = []
        self._news = asyncio.Condition()

    async def session_update(self, notification: v1.SessionNotification, context: Context) -> None:
        async with self._news:
            self.updates.append(notification)
            self._news.notify_all()

    async def session_request_permission(
        self, request: v1.RequestPermissionRequest, context: Context
    ) -> v1.RequestPermissionResponse:
        self.asked.append(request)
        if self.choose == "cancelled":
            await context.remote.session_cancel(v1.CancelNotification(session_id=request.session_id))
            return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
        option = next(option for option in request.options if option.kind == self.choose)
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=option.option_id))

    def of(self, session: str) -> list[v1.SessionUpdate]:
        """The updates of one session."""
        return [one.update for one in self.updates if one.session_id == session]

    def text(self, session: str, kind: type[v1.ContentChunk] = v1.AgentMessageChunk) -> str:
        """What has been said in a session, put together."""
        contents = [update.content for update in self.of(session) if isinstance(update, kind)]
        return "".join(content.text for content in contents if isinstance(content, v1.TextContent))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for an update after which something has happened."""
        async with self._news:
            await self._news.wait_for(happened)


def settings(home: Path, model: Model) -> dict[str, str]:
    """The environment in which Goose finds the scripted model, and nothing of the user's own."""
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return folders | {
        "HOME": str(home),
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "gpt-4o",
        "GOOSE_MODE": "approve",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_OFF": "1",
        "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
        "NO_PROXY": "127.0.0.1",
        "OPENAI_HOST": model.url,
        "OPENAI_API_KEY": "x",
    }


@dataclass(frozen=True)
class Goose:
    """The binary, and how it is spoken to: over "stdio", "http" or "ws", the latter two with a key or without."""

    path: Path
    over: str = "stdio"
    key: str = ""


@contextlib.asynccontextmanager
async def conversation(goose: Goose, home: Path, model: Model, client: Client) -> AsyncIterator[v1.RemoteAgent]:
    """A Goose of its own. Leaving checks that its process ended in good order and that all it sent was understood."""
    frames: list[Frame] = []
    clients = [v2.Client(info=v2.Implementation(name="interop", version="1")), client]
    options: dict[str, Any] = {
        "client": clients,
        "strict": True,
        "observer": lambda direction, frame: frames.append((direction, frame)),
    }
    async with asyncio.timeout(LIMIT):
        async with (_started if goose.over == "stdio" else _reached)(goose, settings(home, model), options) as agent:
            assert isinstance(agent, v1.RemoteAgent)
            yield agent
    assert [found for found in findings(frames, v1) if found not in EXCEPTIONS] == []


@contextlib.asynccontextmanager
async def _started(goose: Goose, env: dict[str, str], options: dict[str, Any]) -> AsyncIterator[Any]:
    """As a child process, which ends when we leave."""
    async with stdio.connect(str(goose.path), "acp", *BUILTIN, env=env, **options) as agent:
        yield agent
    transport = agent.connection.transport
    assert isinstance(transport, ProcessTransport)
    assert transport.process.returncode == 0


@contextlib.asynccontextmanager
async def _reached(goose: Goose, env: dict[str, str], options: dict[str, Any]) -> AsyncIterator[Any]:
    """Behind its own server, on a port that was free a moment ago."""
    async with serving(goose, env) as url:
        headers = {"X-Secret-Key": goose.key} if goose.key else {}
        connect = http.connect if goose.over == "http" else ws.connect
        async with connect(url, headers=headers, **options) as agent:
            yield agent


@contextlib.asynccontextmanager
async def serving(goose: Goose, env: dict[str, str]) -> AsyncIterator[str]:
    """`goose serve` as long as it takes; gives the URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    key = {"GOOSE_SERVER__SECRET_KEY": goose.key} if goose.key else {}
    open_to_all = [] if goose.key else ["--dangerously-unauthenticated"]
    command = [str(goose.path), "serve", "--port", str(port), *BUILTIN, *open_to_all]
    silent = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, env=os.environ | env | key, stdout=silent, stderr=silent)
    try:
        await _listens(process, port)
        yield f"{goose.over}://127.0.0.1:{port}/acp"
        assert process.returncode is None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _listens(process: asyncio.subprocess.Process, port: int) -> None:
    """Wait until somebody listens: Goose does not say when it does."""
    while True:
        assert process.returncode is None
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            await writer.wait_closed()
            return


async def new_session(agent: v1.RemoteAgent, home: Path) -> str:
    answer = await agent.session_new(v1.NewSessionRequest(cwd=str(home), mcp_servers=[]))
    return answer.session_id


async def say(agent: v1.RemoteAgent, session: str, text: str) -> v1.PromptResponse:
    return await agent.session_prompt(v1.PromptRequest(session_id=session, prompt=[v1.TextContent(text=text)]))

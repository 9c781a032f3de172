"""Goose as the tests drive it: a process with a scratch home and a scripted model, and sessions with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp_bindings import http, stdio, ws
from acp_bindings.permissions import Policy
from acp_bindings.runtime.transports.stdio import ProcessTransport
from acp_bindings.v1 import unstable as v1
from acp_bindings.v2 import unstable as v2

from tests.interop.goose.audit import Finding, Frame, findings
from tests.interop.goose.model import Model, Turn

LIMIT = 60.0
"""Seconds for one conversation. None takes a tenth of that: what takes longer hangs."""

BUILTIN = ("--with-builtin", "developer")

# Goose and us: what of its messages does not fit, and why that is so.
EXCEPTIONS: dict[Finding, str] = {}


class Client(v1.Client):
    info = v1.Implementation(name="interop", version="1")


class Choosing:
    """A policy: the first option of a kind, None for none of them. Remembers what it was asked."""

    def __init__(self, kind: str | None = "allow_once") -> None:
        self.kind = kind
        self.asked: list[v1.RequestPermissionRequest] = []

    def __call__(self, request: v1.RequestPermissionRequest) -> v1.PermissionOption | None:
        self.asked.append(request)
        return next((option for option in request.options if option.kind == self.kind), None)


def said(session: v1.Session, kind: str = "agent") -> str:
    """What has been said in a session, put together."""
    return "".join(message.text for message in session.state.messages.values() if message.kind == kind)


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
async def conversation(goose: Goose, home: Path, model: Model, client: v1.Client) -> AsyncIterator[v1.RemoteAgent]:
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


@contextlib.asynccontextmanager
async def session(
    goose: Goose, home: Path, script: Mapping[str, Turn], policy: Policy | None = None, client: v1.Client | None = None
) -> AsyncIterator[tuple[v1.Session, Model]]:
    """One session of a Goose of its own, with the model that it speaks to."""
    async with (
        Model(script) as model,
        conversation(goose, home, model, client or Client()) as agent,
        agent.session(home, permissions=policy) as opened,
    ):
        yield opened, model

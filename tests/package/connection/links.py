"""The transports that the suite runs over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from acp_bindings import memory, stdio
from acp_bindings.runtime.door import agents_of, served
from acp_bindings.runtime.errors import AcpError, ConnectionClosed
from acp_bindings.runtime.opening import opened, with_older
from acp_bindings.runtime.transports.lines import Oversized
from acp_bindings.runtime.transports.memory import MemoryTransport

from tests.package.connection.agents import AGENTS
from tests.package.connection.remote_links import Http, WebSocket
from tests.package.connection.wires import Link, Script, Wire
from tests.support.cli import ROOT

AGENTS_FILE = Path(__file__).with_name("agents.py")
SCRIPT_FILE = Path(__file__).with_name("bridge.py")
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "generated"))), "PYTHONWARNINGS": "default"}


class Collector:
    """A receiver for a bare end."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[bytes | None] = asyncio.Queue()

    def received(self, frames: Iterable[bytes | Oversized]) -> None:
        for frame in frames:
            assert isinstance(frame, bytes)
            self.frames.put_nowait(frame)

    def undelivered(self, identity: int | str | None, error: AcpError) -> None:
        raise AssertionError("a bare end looks after itself") from error

    def ended(self, error: ConnectionClosed) -> None:
        self.frames.put_nowait(None)


class Memory:
    """Both sides in this process."""

    one_way = True
    text = False

    def agent(self, name: str, client: Any, **options: Any) -> AbstractAsyncContextManager[Any]:
        return memory.connect(AGENTS[name](), client=client, **{"strict": False, **options})

    @contextlib.asynccontextmanager
    async def wire(self, name: str, **limits: int) -> AsyncIterator[Wire]:
        ours, theirs = MemoryTransport.pair()
        async with served(theirs, agents_of(AGENTS[name]()), strict=False, observer=None, gates=True, **limits):
            yield _wire(ours)
            await ours.close()

    @contextlib.asynccontextmanager
    async def scripted(self, script: Script, client: Any, **options: Any) -> AsyncIterator[Any]:
        ours, theirs = MemoryTransport.pair()
        settings: dict[str, Any] = {"strict": False, "timeout": None, "observer": None, **options}
        versions = settings.pop("versions", None)
        wire = _wire(theirs)
        running = asyncio.create_task(_script(script, wire, theirs))
        try:
            async with opened(ours, with_older(client, versions), **settings) as remote:
                yield remote
        finally:
            await running


def _wire(transport: MemoryTransport) -> Wire:
    collector = Collector()
    transport.start(collector)

    async def write(frame: bytes) -> None:
        with contextlib.suppress(ConnectionClosed):
            transport.write(frame)

    return Wire(write, collector.frames.get)


async def _script(script: Script, wire: Wire, transport: MemoryTransport) -> None:
    try:
        await script(wire)
    finally:
        await transport.close()


class Stdio:
    """The agent as a child process."""

    one_way = True
    text = False

    def agent(self, name: str, client: Any, **options: Any) -> AbstractAsyncContextManager[Any]:
        return stdio.connect(sys.executable, str(AGENTS_FILE), name, client=client, env=ENVIRONMENT, **options)

    @contextlib.asynccontextmanager
    async def wire(self, name: str, **limits: int) -> AsyncIterator[Wire]:
        pipe = asyncio.subprocess.PIPE
        settings = [f"{limit}={value}" for limit, value in limits.items()]
        command = (sys.executable, str(AGENTS_FILE), name, *settings)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env=os.environ | ENVIRONMENT, limit=2**26
        )
        assert process.stdin is not None and process.stdout is not None
        yield _streams(process.stdout, process.stdin)
        process.stdin.close()
        # Agents stop by themselves once nobody speaks to them.
        assert await process.wait() == 0

    @contextlib.asynccontextmanager
    async def scripted(self, script: Script, client: Any, **options: Any) -> AsyncIterator[Any]:
        """The script runs here; the child process passes lines between its own streams and a socket to it.

        A client may start the process again, which runs the script again.
        """
        runs: list[asyncio.Task[None]] = []

        async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await script(_streams(reader, writer))
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            runs.append(asyncio.create_task(play(reader, writer)))

        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**26)
        async with server:
            port = server.sockets[0].getsockname()[1]
            command = (sys.executable, str(SCRIPT_FILE), str(port))
            try:
                async with stdio.connect(*command, client=client, env=ENVIRONMENT, **options) as remote:
                    yield remote
            finally:
                await asyncio.gather(*runs)


def _streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Wire:
    async def write(frame: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(frame + b"\n")
            await writer.drain()

    async def read() -> bytes | None:
        with contextlib.suppress(ConnectionError):
            return await reader.readline() or None
        return None

    return Wire(write, read)


LINKS: dict[str, Link] = {"memory": Memory(), "stdio": Stdio(), "http": Http(), "websocket": WebSocket()}

"""A proxy over two pairs of memory transports, with a bare end on either side."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from acp_bindings import proxy
from acp_bindings.runtime.errors import AcpError, ConnectionClosed
from acp_bindings.runtime.transports import MAX_MESSAGE, MAX_OUTPUT
from acp_bindings.runtime.transports.lines import Oversized
from acp_bindings.runtime.transports.memory import MemoryTransport


class End:
    """A bare end: frames out and in, byte for byte."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        transport.start(self)

    def received(self, frames: Iterable[bytes | Oversized]) -> None:
        for frame in frames:
            assert isinstance(frame, bytes)
            self._frames.put_nowait(frame)

    def undelivered(self, identity: int | str | None, error: AcpError) -> None:
        raise AssertionError("memory delivers everything") from error

    def ended(self, error: ConnectionClosed) -> None:
        self._frames.put_nowait(None)

    def send(self, *frames: Any) -> None:
        """Bytes as they are, anything else as JSON."""
        for frame in frames:
            self.transport.write(frame if isinstance(frame, bytes) else json.dumps(frame).encode())

    async def raw(self) -> bytes | None:
        """The next frame; None at the end."""
        return await self._frames.get()

    async def receive(self) -> Any:
        frame = await self.raw()
        return None if frame is None else json.loads(frame)

    @property
    def silent(self) -> bool:
        return self._frames.empty()


class Between(NamedTuple):
    client: End
    agent: End
    link: proxy.Link


@contextlib.asynccontextmanager
async def between(
    intercept: Any = None, *, limit: int = MAX_MESSAGE, max_output: int = MAX_OUTPUT, **options: Any
) -> AsyncIterator[Between]:
    client, client_side = MemoryTransport.pair(limit, max_output)
    agent, agent_side = MemoryTransport.pair(limit, max_output)
    async with proxy.joined(client_side, agent_side, intercept=intercept, **options) as link:
        yield Between(End(client), End(agent), link)


def request(identity: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(identity: Any, value: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": {} if value is None else value}


def error(identity: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}

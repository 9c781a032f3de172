"""The suite's view of a transport: the same agents, clients and bare ends over each of them.

A `Link` opens three things: a client's connection to one of our agents, a bare end (`Wire`) to one of our agents, and a
client's connection to a bare end that a test scripts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class Wire:
    """A bare end: frames out and in, as bytes or as JSON values."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], read: Callable[[], Awaitable[bytes | None]]) -> None:
        self._write = write
        self._read = read
        self._next = 1000

    async def send(self, *frames: Any) -> None:
        """Send frames: bytes as they are, anything else as JSON."""
        for frame in frames:
            await self._write(frame if isinstance(frame, bytes) else json.dumps(frame).encode())

    async def receive(self) -> Any:
        """The next frame as a JSON value; None at the end."""
        frame = await self._read()
        return None if frame is None else json.loads(frame)

    async def replies(self, *frames: Any) -> list[Any]:
        """What comes back for these frames, up to the answer to a last request that is sure to get one.

        That request belongs to the session that a frame belongs to, where sessions come back on ways of their own.
        """
        self._next += 1
        params = next((_session(frame) for frame in frames if _session(frame)), {})
        await self.send(*frames, {"jsonrpc": "2.0", "id": self._next, "method": "_test/last", "params": params})
        found = []
        while (message := await self.receive()) is not None and message.get("id") != self._next:
            found.append(message)
        return found

    async def initialize(self, version: int = 2) -> Any:
        """Get in; what the agent answered."""
        info = {"name": "wire", "version": "1"}
        params = {"protocolVersion": version, "info": info}
        await self.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        return await self.receive()


def _session(frame: Any) -> dict[str, Any]:
    params = frame.get("params") if isinstance(frame, dict) else None
    return {"sessionId": params["sessionId"]} if isinstance(params, dict) and "sessionId" in params else {}


Script = Callable[[Wire], Awaitable[None]]


class Link(Protocol):
    """One transport.

    `one_way` says that there is one way for all messages of a side, in one order. Over HTTP each goes out in a request
    of its own, which may draw a mere status, and comes in on the stream of its session. `text` says that what is not
    UTF-8 ends the connection.
    """

    one_way: bool
    text: bool

    def agent(self, name: str, client: Any, **options: Any) -> AbstractAsyncContextManager[Any]:
        """A client's connection to one of our agents."""
        ...

    def wire(self, name: str, **limits: int) -> AbstractAsyncContextManager[Wire]:
        """A bare end to one of our agents."""
        ...

    def scripted(self, script: Script, client: Any, **options: Any) -> AbstractAsyncContextManager[Any]:
        """A client's connection to a bare end, which runs `script` meanwhile."""
        ...

"""An agent and a client in one process, for tests of your own agents.

    async with memory.connect(MyAgent(), client=MyClient()) as agent:
        session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))

Frames are real JSON. Both sides validate what they send (`strict`).
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from .runtime.connection import Connection, Observer
from .runtime.opening import Door, open_client, with_older
from .runtime.routing import Handler
from .runtime.transports.memory import MemoryTransport


@contextlib.asynccontextmanager
async def connect(
    agent: Handler | Sequence[Handler],
    *,
    client: Handler | Sequence[Handler],
    versions: Sequence[int] | None = None,
    strict: bool = True,
    timeout: float | None = None,
    observer: Observer | None = None,
) -> AsyncIterator[Any]:
    """Connect a client to an agent; gives the `RemoteAgent` of the version agreed on.

    `agent` and `client` may be lists, one object for each protocol version. `versions` are those to ask for, newest first.
    `timeout` is the default for calls, in seconds; `observer(direction, frame)` sees the client's frames. Raises
    NegotiationError when no version is common, ValueError for an agent that promises more than it handles.
    """
    ours, theirs = MemoryTransport.pair()
    agents = [agent] if isinstance(agent, Handler) else list(agent)
    async with Connection(theirs, {}) as served:
        door = Door(served, agents, strict)
        async with Connection(ours, {}, timeout=timeout, observer=observer) as connection:
            yield await open_client(connection, with_older(client, versions), strict)
    if door.agent is not None:
        await door.agent.connection_closed()

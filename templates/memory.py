"""An agent and a client in one process, for tests of your own agents.

    async with memory.connect(MyAgent(), client=MyClient()) as agent:
        session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))

Frames are real JSON. Both sides validate what they send (`strict`).
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

from .runtime.connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from .runtime.door import agents_of, served
from .runtime.opening import opened, with_older
from .runtime.remote import Calls, Remote
from .runtime.routing import Handler
from .runtime.transports.memory import MemoryTransport

R = TypeVar("R", bound=Remote)


@contextlib.asynccontextmanager
async def connect(
    agent: Handler | Sequence[Handler],
    *,
    client: Calls[R] | Sequence[Calls[R]],
    versions: Sequence[int] | None = None,
    strict: bool = True,
    timeout: float | None = None,
    observer: Observer | None = None,
    gates: bool = True,
    max_message: int = MAX_MESSAGE,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
) -> AsyncIterator[R]:
    """Connect a client to an agent; gives the `RemoteAgent` of the version agreed on.

    `agent` and `client` may be lists, one object for each protocol version. `versions` are those that may be asked for,
    the newest first. `timeout` is the default for calls, in seconds; `observer(direction, frame)` sees the client's
    frames. `gates=False` lets both sides ask for what was not advertised. The limits are bytes of a message, the other
    side's unanswered requests, bytes of notifications that wait for their handlers, bytes on the way. Raises
    NegotiationError when no version is common, ValueError for an agent that promises more than it handles.
    """
    agents, clients = agents_of(agent), with_older(client, versions)
    ours, theirs = MemoryTransport.pair(max_message, max_output)
    async with (
        served(
            theirs,
            agents,
            strict=strict,
            observer=None,
            gates=gates,
            max_in_flight=max_in_flight,
            max_queued=max_queued,
        ),
        opened(
            ours,
            clients,
            strict=strict,
            timeout=timeout,
            observer=observer,
            gates=gates,
            max_in_flight=max_in_flight,
            max_queued=max_queued,
        ) as remote,
    ):
        yield remote

"""Agents as child processes, over their stdin and stdout.

async with stdio.connect("some-agent", client=MyClient(info=...)) as agent:
    session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))

asyncio.run(stdio.serve(MyAgent()))
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from .runtime.connection import MAX_MESSAGE, Connection, Observer
from .runtime.opening import Door, open_client, with_older
from .runtime.routing import Handler
from .runtime.transports.stdio import OwnStreams, ProcessTransport


@contextlib.asynccontextmanager
async def connect(
    command: str,
    *args: str,
    client: Handler | Sequence[Handler],
    versions: Sequence[int] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_stderr: Callable[[str], object] | None = None,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    timeout: float | None = None,
    observer: Observer | None = None,
) -> AsyncIterator[Any]:
    """Start an agent and connect to it; gives the `RemoteAgent` of the version agreed on.

    `env` is added to this process's environment. Each line of the agent's stderr goes to `on_stderr`, else to the log
    `acp_bindings.stdio`. `versions` are those to ask for, newest first; by default the client's own and the older ones.
    `timeout` is the default for calls, in seconds. Leaving the context closes the agent's stdin, then terminates and at
    last kills its process group.

    Raises ConnectionClosed (with exit code and stderr) when the agent cannot be started or ends early, NegotiationError
    when no version is common.
    """
    clients = with_older(client, versions)
    transport = await ProcessTransport.spawn(command, *args, env=env, cwd=cwd, limit=max_message, on_stderr=on_stderr)
    async with Connection(transport, {}, timeout=timeout, observer=observer) as connection:
        yield await open_client(connection, clients, strict)


async def serve(
    agent: Handler | Sequence[Handler],
    *,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    threads: bool | None = None,
    observer: Observer | None = None,
) -> None:
    """Serve an agent on this process's stdin and stdout until the client closes them.

    `agent` may be a list, one object for each protocol version. While it runs, what anything prints goes to stderr.
    `threads` forces reading and writing by threads, which is chosen by itself where the event loop cannot watch the
    streams. Raises ValueError for an agent that promises more than it handles.
    """
    agents = [agent] if isinstance(agent, Handler) else list(agent)
    transport = await OwnStreams.open(max_message, threads)
    connection = Connection(transport, {}, observer=observer)
    try:
        door = Door(connection, agents, strict)
        async with connection:
            await connection.wait_closed()
        if door.agent is not None:
            await door.agent.connection_closed()
    finally:
        await transport.close()

"""Agents as child processes, over their stdin and stdout.

async with stdio.connect("some-agent", client=MyClient(info=...)) as agent:
    session = await agent.session_new(v2.NewSessionRequest(cwd="/home/me/project"))

asyncio.run(stdio.serve(MyAgent()))
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from .runtime.connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from .runtime.door import agents_of, served
from .runtime.opening import dialled, with_older
from .runtime.remote import Calls, Remote
from .runtime.routing import Handler
from .runtime.transports.process import ProcessTransport
from .runtime.transports.stdio import OwnStreams

R = TypeVar("R", bound=Remote)


@contextlib.asynccontextmanager
async def connect(
    command: str,
    *args: str,
    client: Calls[R] | Sequence[Calls[R]],
    versions: Sequence[int] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_stderr: Callable[[str], object] | None = None,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    timeout: float | None = None,
    observer: Observer | None = None,
    gates: bool = True,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
) -> AsyncIterator[R]:
    """Start an agent and connect to it; gives the `RemoteAgent` of the version agreed on.

    `env` is added to this process's environment. Each line of the agent's stderr goes to `on_stderr`, else to the log
    `acp_bindings.stdio`. `versions` are those that may be asked for, the newest first; by default the client's own and
    the older ones. `timeout` is the default for calls, in seconds. `gates=False` lets both sides ask for what was not
    advertised, which tools that probe want. The limits are bytes of a message, the agent's unanswered requests, bytes
    of notifications that wait for their handlers, bytes that wait to be written. Leaving the context closes the agent's
    stdin, then terminates and at last kills its process group.

    Raises ConnectionClosed (with exit code and stderr) when the agent cannot be started or ends early, NegotiationError
    when no version is common.
    """
    clients = with_older(client, versions)
    dial = partial(
        ProcessTransport.spawn,
        command,
        *args,
        env=env,
        cwd=cwd,
        limit=max_message,
        on_stderr=on_stderr,
        max_output=max_output,
    )
    async with dialled(
        dial,
        clients,
        strict=strict,
        timeout=timeout,
        observer=observer,
        gates=gates,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    ) as remote:
        yield remote


async def serve(
    agent: Handler | Sequence[Handler],
    *,
    max_message: int = MAX_MESSAGE,
    strict: bool = False,
    threads: bool | None = None,
    observer: Observer | None = None,
    gates: bool = True,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
) -> None:
    """Serve an agent on this process's stdin and stdout until the client closes them.

    `agent` may be a list, one object for each protocol version. While it runs, what anything prints goes to stderr, and
    what anything reads from stdin is empty. `threads` forces reading and writing by threads, which is chosen by itself
    where the event loop cannot watch the streams. `gates=False` answers what was not advertised too. The limits are
    those of `connect`. Raises ValueError for an agent that promises more than it handles.
    """
    agents = agents_of(agent)
    transport = await OwnStreams.open(max_message, threads, max_output)
    async with served(
        transport,
        agents,
        strict=strict,
        observer=observer,
        gates=gates,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    ) as connection:
        await connection.wait_closed()

"""Proxies: between a client and an agent, to look at what passes, to change it, to answer in place of either.

    def shout(direction, message):
        if message.method == "session/prompt" and message.kind == "request":
            return message.changed(louder(message.decode(v2.PromptRequest)))
        return message

    async with proxy.stdio("some-agent", intercept=shout) as link:
        await link.wait_closed()

What an interceptor returns unchanged passes byte for byte: methods, variants and properties of any version.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping

from .runtime.errors import ConnectionClosed
from .runtime.forwarding import Link
from .runtime.ordering import MAX_QUEUED
from .runtime.passing import Answer, Direction, Intercept, Passing, by_method
from .runtime.routing import Side
from .runtime.transports import MAX_MESSAGE, MAX_OUTPUT, Transport
from .runtime.transports.process import ProcessTransport
from .runtime.transports.stdio import OwnStreams

__all__ = ["Answer", "Direction", "Intercept", "Link", "Passing", "by_method", "forward", "joined", "stdio"]


def joined(
    client_side: Transport,
    agent_side: Transport,
    *,
    intercept: Intercept | None = None,
    max_queued: int = MAX_QUEUED,
) -> Link:
    """Join two transports, which must not have been started; an async context manager.

    `client_side` leads to a client, `agent_side` to an agent, over whatever transports. `intercept(direction, message)`
    decides on each message, direction being "to_agent" or "to_client": it returns the message, which then passes byte
    for byte; another one (`message.changed(params)`); an answer of its own to a request (`message.answer(result)`,
    `message.refuse(error)`); or None, which drops it. A dropped request is answered with -32601, an answer that was
    dropped becomes error -32603, so that nobody waits for ever. The same becomes of what it fails at; a RequestError
    that it raises is the answer. It may be a coroutine function: what comes behind waits, up to `max_queued` bytes
    before reading pauses, and `$/cancel_request` for what it is busy with cancels it.

    Ids are left as they are, so cancellations pass as they are too. When a side ends, the other is closed.
    """
    return Link(client_side, agent_side, intercept, max_queued)


async def forward(
    client_side: Transport,
    agent_side: Transport,
    *,
    intercept: Intercept | None = None,
    max_queued: int = MAX_QUEUED,
) -> Mapping[Side, ConnectionClosed]:
    """`joined`, until both sides are closed. Returns how each ended by itself: of a process, with its exit code."""
    async with joined(client_side, agent_side, intercept=intercept, max_queued=max_queued) as link:
        await link.wait_closed()
    return link.endings


@contextlib.asynccontextmanager
async def stdio(
    command: str,
    *args: str,
    intercept: Intercept | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    on_stderr: Callable[[str], object] | None = None,
    max_message: int = MAX_MESSAGE,
    max_queued: int = MAX_QUEUED,
    max_output: int = MAX_OUTPUT,
    threads: bool | None = None,
) -> AsyncIterator[Link]:
    """Start an agent and stand between it and the client at this process's stdin and stdout.

    `intercept` and `max_queued` are those of `joined`, the rest those of `stdio.connect` and `stdio.serve`; what the
    agent writes to stderr goes to ours. Raises ConnectionClosed when the agent cannot be started.
    """
    client_side = await OwnStreams.open(max_message, threads, max_output)
    try:
        agent_side = await ProcessTransport.spawn(
            command,
            *args,
            env=env,
            cwd=cwd,
            limit=max_message,
            on_stderr=_pass_on if on_stderr is None else on_stderr,
            max_output=max_output,
        )
    except BaseException:
        await client_side.close()
        raise
    async with joined(client_side, agent_side, intercept=intercept, max_queued=max_queued) as link:
        yield link


def _pass_on(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

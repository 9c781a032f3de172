"""A connection's cost over stdio: single requests, a streamed turn, and getting an agent to answer at all.

Both peers speak protocol version 1, which is what the official SDK speaks.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import acp_bindings
import msgspec
from acp_bindings import stdio, v1
from acp_bindings.runtime.connection import Context

CHUNKS = 20_000
_PEERS = Path(__file__).parent / "peers"
_ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(acp_bindings.__file__).parents[1])}
Prompt = Callable[[int], Awaitable[int]]
"""Asks for a number of chunks; says how many had been handled when the answer was there."""


@dataclass(frozen=True)
class Seconds:
    """One comparison, in seconds, the best of some rounds. `note` is for the reader."""

    ours: float
    theirs: float
    note: str = ""


def requests() -> tuple[Seconds, Seconds]:
    """One request and its answer: ours beside a bare pipe, ours beside the official SDK."""

    async def measure() -> dict[str, float]:
        async with AsyncExitStack() as stack:
            prompts = {name: await stack.enter_async_context(one()) for name, one in _PROMPTS.items()}
            return await _best(prompts, count=0, loops=25, rounds=250)

    best = asyncio.run(measure())
    return Seconds(best["ours"], best["bare"]), Seconds(best["ours"], best["sdk"])


def streaming() -> Seconds:
    """A turn of many chunks, until the prompt call returns. Fails when ours does so before every chunk was handled."""
    handled: dict[str, set[int]] = {}

    async def measure() -> dict[str, float]:
        async with AsyncExitStack() as stack:
            prompts = {name: await stack.enter_async_context(_PROMPTS[name]()) for name in ("ours", "sdk")}
            return await _best(prompts, count=CHUNKS, loops=1, rounds=4, handled=handled)

    best = asyncio.run(measure())
    assert handled["ours"] == {CHUNKS}, f"the prompt returned with {handled['ours']} chunks handled"
    note = f"handled before it returned: ours {_range(handled['ours'])}, theirs {_range(handled['sdk'])}"
    return Seconds(best["ours"], best["sdk"], note)


def opening() -> Seconds:
    """From nothing to an initialized connection. Ending it again is not counted."""

    async def measure() -> dict[str, float]:
        best = dict.fromkeys(("ours", "sdk"), float("inf"))
        for _ in range(7):
            for name, opened in (("ours", _ours), ("sdk", _sdk)):
                start = time.perf_counter()
                async with opened():
                    best[name] = min(best[name], time.perf_counter() - start)
        return best

    best = asyncio.run(measure())
    return Seconds(best["ours"], best["sdk"])


async def _best(
    prompts: Mapping[str, Prompt], count: int, loops: int, rounds: int, handled: dict[str, set[int]] | None = None
) -> dict[str, float]:
    """Seconds for one prompt of each. The peers take turns, in rounds short enough that some meet a quiet machine; the
    first only warms up.
    """
    best = dict.fromkeys(prompts, float("inf"))
    for number in range(rounds + 1):
        for name, prompt in prompts.items():
            start = time.perf_counter()
            for _ in range(loops):
                seen = await prompt(count)
            seconds = (time.perf_counter() - start) / loops
            if handled is not None:
                handled.setdefault(name, set()).add(seen)
            if number:
                best[name] = min(best[name], seconds)
    return best


def _range(counts: set[int]) -> str:
    return f"{min(counts):,}" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,}"


def _command(peer: str) -> list[str]:
    return [sys.executable, str(_PEERS / f"{peer}.py")]


class _Client(v1.Client):
    handled = 0

    async def session_update(self, notification: v1.SessionNotification, context: Context) -> None:
        self.handled += 1


@asynccontextmanager
async def _ours() -> AsyncIterator[Prompt]:
    client = _Client()
    async with stdio.connect(*_command("ours"), client=client, env=_ENVIRONMENT) as agent:

        async def prompt(count: int) -> int:
            client.handled = 0
            request = v1.PromptRequest(session_id="s", prompt=[v1.TextContent(text=str(count))])
            await agent.session_prompt(request)
            return client.handled

        yield prompt


class _SdkClient:
    handled = 0

    async def session_update(self, **_: Any) -> None:
        self.handled += 1


@asynccontextmanager
async def _sdk() -> AsyncIterator[Prompt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from acp import spawn_agent_process, text_block
    client = _SdkClient()
    async with spawn_agent_process(client, *_command("sdk"), env=_ENVIRONMENT) as (agent, _):
        await agent.initialize(protocol_version=1)

        async def prompt(count: int) -> int:
            client.handled = 0
            await agent.prompt(session_id="s", prompt=[text_block(str(count))])
            return client.handled

        yield prompt


class _Answer(msgspec.Struct):
    id: int
    result: msgspec.Raw


@asynccontextmanager
async def _bare() -> AsyncIterator[Prompt]:
    """The least that a client has to do: one pipe, our codec, and nobody else to wait for."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*_command("bare"), stdin=pipe, stdout=pipe, env=_ENVIRONMENT)
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    encoder, decoder = msgspec.json.Encoder(), msgspec.json.Decoder(_Answer)

    async def prompt(count: int) -> int:
        request = v1.PromptRequest(session_id="s", prompt=[v1.TextContent(text=str(count))])
        params = msgspec.Raw(v1.encode(request))
        stdin.write(encoder.encode({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params}) + b"\n")
        await stdin.drain()
        v1.decode(decoder.decode(await stdout.readline()).result, v1.PromptResponse)
        return 0

    try:
        yield prompt
    finally:
        stdin.close()
        await process.wait()


_PROMPTS = {"bare": _bare, "ours": _ours, "sdk": _sdk}

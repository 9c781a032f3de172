"""Agents of ours for tests, and two ways to speak to them: as a client, and frame by frame."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest
from acp_bindings import memory

from tests.package.connection.links import _wire
from tests.package.connection.wires import Wire
from tests.package.sessions.peers import VERSIONS

over_versions = pytest.mark.parametrize("version", VERSIONS)
newer = pytest.mark.parametrize("version", ["v2", "v2.unstable"])
Turn = Callable[[Any, Any], Awaitable[Any]]


def agent_of(module: ModuleType, turn: Turn, **options: Any) -> Any:
    """An agent with this turn; `opened` and `config_changed` among the options are its hooks."""
    hooks = {name: options.pop(name) for name in ("opened", "config_changed") if name in options}

    class Made(module.SessionAgent):  # type: ignore[misc,name-defined]  # of which profile is open
        async def turn(self, session: Any, prompt: Any) -> Any:
            return await turn(session, prompt)

        async def opened(self, session: Any) -> None:
            if "opened" in hooks:
                await hooks["opened"](session)

        async def config_changed(self, session: Any, option: Any) -> None:
            if "config_changed" in hooks:
                await hooks["config_changed"](session, option)

    return Made(**options)


@contextlib.asynccontextmanager
async def speaking(agent: Any, module: ModuleType, able: Any = None, **options: Any) -> AsyncIterator[Any]:
    """A client's connection; `able` are its capabilities as on the wire."""
    capabilities = module.convert(able or {}, module.ClientCapabilities)
    async with memory.connect(agent, client=module.Client(capabilities=capabilities), **options) as remote:
        yield remote


@contextlib.asynccontextmanager
async def bare(agent: Any, version: int = 2) -> AsyncIterator[Wire]:
    """A bare end to an agent: what is on the wire, in its order."""
    from acp_bindings.runtime.door import agents_of, served
    from acp_bindings.runtime.transports.memory import MemoryTransport

    ours, theirs = MemoryTransport.pair()
    async with served(theirs, agents_of(agent), strict=False, observer=None):
        wire = _wire(ours)
        await wire.initialize(version)
        yield wire
        await ours.close()


async def call(wire: Wire, identity: int, method: str, **params: Any) -> None:
    await wire.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})


async def answer_to(wire: Wire, identity: int) -> tuple[Any, list[Any]]:
    """The answer, and what came before it."""
    before = []
    while (message := await wire.receive()).get("id") != identity or "method" in message:
        before.append(message)
    return message, before


def short(message: Any) -> str:
    """What a message is, in a word or two."""
    if "method" not in message:
        return f"answer {message['id']}" if "result" in message else f"error {message['id']} {message['error']['code']}"
    update = message.get("params", {}).get("update", {})
    state = [update[key] for key in ("state", "stopReason") if key in update]
    return " ".join(state or [update.get("sessionUpdate", message["method"])])


async def until(wire: Wire, last: str) -> list[str]:
    seen: list[str] = []
    while not seen or seen[-1] != last:
        seen.append(short(await wire.receive()))
    return seen


PROMPT = [{"type": "text", "text": "hi"}]


async def echo(session: Any, prompt: Any) -> None:
    for block in prompt:
        await session.say(block)


async def endless(session: Any, prompt: Any) -> None:
    await session.say("begun")
    await asyncio.Event().wait()

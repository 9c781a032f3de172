"""Many clients of one server at once, some of them killed in the middle of a turn: what comes, and what is left.

`python -m tests.package.web.soak` runs the full figure, several rounds of it; the test runs a small one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import resource
import time
from dataclasses import dataclass

from acp_bindings import http

from tests.package.web.agents import Family, text_of
from tests.package.web.serving import Peer, client, running
from tests.package.web.test_endings import left, until
from tests.package.web.test_turns import numbers, prompt

IDLE = 1.0
"""Seconds after which the server gives up a client that was killed."""


@dataclass(frozen=True)
class Load:
    """How much is asked of the server in one round."""

    connections: int
    sessions: int
    updates: int
    killed: int


@dataclass(frozen=True)
class Found:
    """What a round took, and what is there after it."""

    seconds: float
    messages: int
    tasks: int
    objects: int
    resident: int

    def __str__(self) -> str:
        return (
            f"{self.messages:,} messages in {self.seconds:.1f} s ({self.messages / self.seconds:,.0f} a second);"
            f" afterwards {self.tasks} tasks, {self.objects:,} objects, at most {self.resident:,} KiB so far"
        )


async def converse(root: str, load: Load, everybody: asyncio.Barrier) -> int:
    """One client: its sessions stream at once, each in order and to the last. The messages that came."""
    async with client() as made, contextlib.AsyncExitStack() as stack:
        peer = Peer(made, root + "/acp")
        await peer.initialize()
        of_connection = await stack.enter_async_context(peer.stream())
        for number in range(load.sessions):
            await peer.request(number, "session/new", {"cwd": "/"})
        sessions = sorted(one["result"]["sessionId"] for one in await of_connection.take(load.sessions))
        assert sessions == [f"s{number + 1}" for number in range(load.sessions)]
        streams = {session: await stack.enter_async_context(peer.stream(session)) for session in sessions}
        await everybody.wait()
        for session in sessions:
            await peer.request(session, "session/prompt", prompt(load.updates, session), session)
        for session, stream in streams.items():
            came = await stream.take(load.updates + 1)
            assert [text_of(one) for one in came[:-1]] == numbers(load.updates)
            assert {one["params"]["sessionId"] for one in came[:-1]} == {session}
            assert came[-1] == {"jsonrpc": "2.0", "id": session, "result": {"messageId": "m"}}
        await everybody.wait()
        assert (await peer.delete()).status_code == 202
        assert await of_connection.rest() == []
    return load.sessions * (load.updates + 2) + 1


async def be_killed(root: str, load: Load, everybody: asyncio.Barrier) -> int:
    """One client whose sockets break while its turns go on."""
    came = 0
    async with client() as made, contextlib.AsyncExitStack() as stack:
        peer = Peer(made, root + "/acp")
        await peer.initialize()
        sessions = [f"s{number + 1}" for number in range(load.sessions)]
        streams = [await stack.enter_async_context(peer.stream(session)) for session in sessions]
        await everybody.wait()
        for session in sessions:
            await peer.request(session, "session/prompt", prompt(-1, session), session)
        for stream in streams:
            came += len(await stream.take(5))
        await everybody.wait()
    return came + 1


async def round_of(root: str, load: Load) -> int:
    """All clients at once; returns when every one of them has left."""
    everybody = asyncio.Barrier(load.connections + load.killed)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(converse(root, load, everybody)) for _ in range(load.connections)]
        tasks += [group.create_task(be_killed(root, load, everybody)) for _ in range(load.killed)]
    return sum(task.result() for task in tasks)


async def soak(load: Load, rounds: int = 1) -> list[Found]:
    """Rounds on one server, each of which leaves it as if nobody had been there."""
    found: list[Found] = []
    family = Family()
    app = http.app(family, idle_timeout=IDLE)
    async with running(app) as root:
        tasks = len(asyncio.all_tasks())
        for _ in range(rounds):
            start = time.perf_counter()
            messages = await round_of(root, load)
            seconds = time.perf_counter() - start
            await until(lambda: len(app.connections) == 0 and len(asyncio.all_tasks()) <= tasks)
            assert len(family.agents) == load.connections + load.killed
            assert sum(len(one.cancelled) for one in family.agents) == load.killed * load.sessions
            assert not [one for one in family.agents if one.turns or not one.ended.is_set()]
            family.agents.clear()
            assert left() == {"AcpApp": 1}
            resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found.append(Found(seconds, messages, len(asyncio.all_tasks()), len(gc.get_objects()), resident))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("connections", 200), ("sessions", 2), ("updates", 50), ("killed", 50), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = vars(parser.parse_args())
    rounds = asked.pop("rounds")
    for found in asyncio.run(soak(Load(**asked), rounds)):
        print(found)


if __name__ == "__main__":
    main()

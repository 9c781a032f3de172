"""Two processes behind nginx: every client stays with the process that it began with."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from acp_bindings import http, v2, ws

from tests.interop.deployment.processes import free_port, nginx, serving
from tests.support.aio import run

pytestmark = pytest.mark.interop
CONNECTIONS = 200
AT_ONCE = 50
"""Connections that are open at the same time: more would only measure this machine."""
GUARD = 300.0


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


async def process_of(session: v2.Session) -> int:
    """The process that answers in a session."""
    said = len(session.state.messages)
    turn = await session.prompt("where are you?")
    assert turn.stop_reason == "end_turn"
    text = list(session.state.messages.values())[said:][-1].text
    found = re.fullmatch(r"process (\d+): where are you\?", text)
    assert found is not None, text
    return int(found[1])


async def converse(url: str, number: int) -> int:
    """One client: two sessions, two prompts each. Gives the process that answered all of them."""
    client = v2.Client(info=v2.Implementation(name="c", version="1"))
    connect = ws.connect if number % 4 == 0 else http.connect
    async with (
        connect(url, client=client) as agent,
        agent.session("/home/me") as one,
        agent.session("/home/me") as other,
    ):
        answers = [await process_of(session) for session in (one, other, one, other)]
    assert len(set(answers)) == 1
    return answers[0]


def test_clients_stay_with_their_process(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving("--affinity", "a") as (first, a), serving("--affinity", "b") as (second, b):
            port = free_port()
            ports = {"127.0.0.1:8001": port_of(first), "127.0.0.1:8002": port_of(second)}
            async with nginx(tmp_path, ports, port):
                room = asyncio.Semaphore(AT_ONCE)

                async def one(number: int) -> int:
                    async with room:
                        return await converse(f"http://127.0.0.1:{port}/acp", number)

                answered = Counter(await asyncio.gather(*map(one, range(CONNECTIONS))))
        assert set(answered) == {a, b}
        assert min(answered.values()) > CONNECTIONS // 10, answered

    run(main, GUARD)
    # The log names the process of every request: a connection's requests have one.
    processes: dict[str, set[str]] = {}
    statuses = Counter[str]()
    for line in (tmp_path / "acp.log").read_text().splitlines():
        found = re.search(r" (\d{3}) [\d.]+ process=(\S+) connection=(\S*) ", line)
        assert found is not None, line
        statuses[found[1]] += 1
        if found[3] not in ("", "-", "--"):
            processes.setdefault(found[3].strip("-"), set()).add(found[2])
    assert len(processes) >= CONNECTIONS
    assert {len(ports) for ports in processes.values()} == {1}
    assert set(statuses) <= {"101", "200", "202"}, statuses


def test_a_cookie_that_names_no_process(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving("--affinity", "a") as (first, a), serving("--affinity", "b") as (second, b):
            port = free_port()
            ports = {"127.0.0.1:8001": port_of(first), "127.0.0.1:8002": port_of(second)}
            async with nginx(tmp_path, ports, port):
                client = v2.Client(info=v2.Implementation(name="c", version="1"))
                async with httpx.AsyncClient(timeout=None) as browser:
                    browser.cookies.set("acp_affinity", "of-yesterday", "127.0.0.1", "/")
                    where = f"http://127.0.0.1:{port}/acp"
                    connecting = http.connect(where, client=client, httpx_client=browser)
                    async with connecting as agent, agent.session("/home/me") as session:
                        assert await process_of(session) in (a, b)

    run(main, GUARD)

"""Where an agent keeps its sessions: the same rules for each store, and SQLite's own."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from acp_bindings import memory, stdio, v2
from acp_bindings.runtime.sessions.stores import MemoryStore, SessionRecord, SessionStore, SqliteStore

from tests.package.connection.links import ENVIRONMENT
from tests.package.sessions.peers import drained
from tests.support.aio import run

KEEPER = Path(__file__).with_name("keeper.py")
Make = Callable[[], Any]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    return MemoryStore if request.param == "memory" else lambda: SqliteStore(tmp_path / "kept.db")


def record(identity: str, cwd: str = "/x", at: str = "2025-01-01T00:00:00.000Z", **more: Any) -> SessionRecord:
    return SessionRecord(session_id=identity, cwd=cwd, updated_at=at, **more)


def close(store: Any) -> None:
    if isinstance(store, SqliteStore):
        store.close()


def test_records(make: Make) -> None:
    async def main() -> None:
        store: SessionStore = make()
        assert await store.find("a") is None
        kept = record("a", additional_directories=["/y", "/é\u2028"], title="T'); drop table sessions; --")
        await store.save(kept)
        assert await store.find("a") == kept
        # What is kept is a copy, both ways.
        found = await store.find("a")
        assert found is not None
        found.title = "changed"
        found.additional_directories.append("/z")
        kept.additional_directories.append("/z")
        again = await store.find("a")
        assert again is not None
        assert (again.title, again.additional_directories) == ("T'); drop table sessions; --", ["/y", "/é\u2028"])
        await store.save(record("a", title=None))
        assert await store.find("a") == record("a")
        close(store)

    run(main)


def test_histories(make: Make) -> None:
    async def main() -> None:
        store: SessionStore = make()
        assert await store.history("a") == []
        await store.append("a", [b"1", b"2"])
        await store.append("b", [b"x"])
        await store.append("a", [])
        await store.append("a", [b'"\xc3\xa9\\u0000"'])
        assert await store.history("a") == [b"1", b"2", b'"\xc3\xa9\\u0000"']
        (await store.history("a")).append(b"3")
        assert len(await store.history("a")) == 3
        await store.save(record("a"))
        await store.delete("a")
        await store.delete("a")
        assert (await store.find("a"), await store.history("a"), await store.history("b")) == (None, [], [b"x"])
        close(store)

    run(main)


def test_pages(make: Make) -> None:
    """The latest first, ids where times are equal; what a cursor names need not be there any more."""

    async def main() -> None:
        store: SessionStore = make()
        for number in range(9):
            await store.save(
                record(f"s{number}", "/even" if number % 2 == 0 else "/odd", f"2025-01-0{number // 3 + 1}")
            )
        whole = await store.page(None, None, 100)
        assert [one.session_id for one in whole] == [f"s{number}" for number in range(8, -1, -1)]
        paged, after = [], None
        while found := await store.page(None, after, 2):
            paged += found
            after = found[-1]
            await store.delete(after.session_id)
        assert paged == whole
        for one in whole:
            await store.save(one)
        assert [one.session_id for one in await store.page("/odd", whole[2], 2)] == ["s5", "s3"]
        assert await store.page("/none", None, 2) == []
        close(store)

    run(main)


def test_many_at_once(make: Make) -> None:
    """The updates of each call stay together, and those of a session in the order in which they were given."""

    async def main() -> None:
        store: SessionStore = make()

        async def write(session: str) -> None:
            for number in range(0, 40, 2):
                await store.append(session, [b"%d" % number, b"%d" % (number + 1)])
                await store.save(record(session, at=f"{number:02}"))

        await asyncio.gather(*(write(f"s{number}") for number in range(8)))
        for number in range(8):
            assert await store.history(f"s{number}") == [b"%d" % one for one in range(40)]
        assert {one.updated_at for one in await store.page(None, None, 99)} == {"38"}
        close(store)

    run(main)


def test_a_file_that_was_kept(tmp_path: Path) -> None:
    async def main() -> None:
        first = SqliteStore(tmp_path / "kept.db")
        await first.save(record("a"))
        await first.append("a", [b"1"])
        # Two at a time on one file see each other's.
        second = SqliteStore(tmp_path / "kept.db")
        await second.append("a", [b"2"])
        assert await first.history("a") == [b"1", b"2"]
        first.close()
        first.close()
        second.close()
        with pytest.raises(sqlite3.ProgrammingError):
            await first.find("a")
        third = SqliteStore(tmp_path / "kept.db")
        assert (await third.find("a"), await third.history("a")) == (record("a"), [b"1", b"2"])
        third.close()

    run(main)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.Error):
        SqliteStore(tmp_path / "none" / "kept.db")
    (tmp_path / "text.db").write_text("this is no database, and long enough to be seen as none" * 50)
    with pytest.raises(sqlite3.Error):
        SqliteStore(tmp_path / "text.db")


WRITER = """
import asyncio, sys
from acp_bindings.runtime.sessions.stores import SessionRecord, SqliteStore
async def main():
    store = SqliteStore(sys.argv[1])
    for number in range(100):
        await store.append("shared", [f"{sys.argv[2]}{number}".encode()])
        await store.save(SessionRecord(session_id=sys.argv[2] + str(number), cwd="/x"))
    store.close()
asyncio.run(main())
"""


def test_several_processes_on_one_file(tmp_path: Path) -> None:
    """They start together, on a file that is not there yet; nothing is lost, and each one's order is kept."""
    file = tmp_path / "kept.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), name], env=os.environ | ENVIRONMENT, stderr=subprocess.PIPE
        )
        for name in "abc"
    ]
    for writer in writers:
        _, stderr = writer.communicate(timeout=60)
        assert (writer.returncode, stderr) == (0, b"")

    async def main() -> None:
        store = SqliteStore(file)
        history = await store.history("shared")
        for name in (b"a", b"b", b"c"):
            assert [one for one in history if one.startswith(name)] == [name + b"%d" % number for number in range(100)]
        assert len(await store.page(None, None, 1000)) == 300
        store.close()

    run(main)


def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    """Resumed with its history it is, for a client, what it was; two processes may even have it open in turns."""
    command = (sys.executable, str(KEEPER), str(tmp_path / "kept.db"))

    async def main() -> None:
        async with stdio.connect(*command, client=v2.Client(), env=ENVIRONMENT) as agent:
            async with agent.session("/x") as session:
                for text in ("one", "two"):
                    await session.prompt(text)
            before = session.state
        async with stdio.connect(*command, client=v2.Client(), env=ENVIRONMENT) as agent:
            (listed,) = (await agent.session_list(v2.ListSessionsRequest())).sessions
            assert (listed.session_id, listed.title, listed.cwd) == (session.id, "Kept", "/x")
            async with agent.session("/x", load=session.id) as again:
                # All but what is told anew.
                before.activity = again.state.activity
                assert again.state == before
                replayed = [update async for update in _so_far(again)]
                state = v2.SessionState()
                for update in replayed:
                    state.apply(update)
                state.opened(again.opened)
                assert state == again.state
                await again.prompt("three")
        assert [one.text for one in again.state.messages.values()][-3:] == ["three", "hm", "three"]

    run(main)


async def _so_far(session: Any) -> Any:
    while session._outside:
        yield await anext(session.updates())


class SlowStore(MemoryStore):
    """Takes its time to write, as one over a network, and gives up when it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.writing = asyncio.Event()
        self.go_on = asyncio.Event()

    async def append(self, session_id: str, updates: Any) -> None:
        self.writing.set()
        await self.go_on.wait()
        await super().append(session_id, updates)


def test_a_turn_that_is_cancelled_while_it_is_written_down() -> None:
    """What the client has seen is history."""
    store = SlowStore()

    class Agent(v2.SessionAgent):
        async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
            await session.say("before")
            await session.save()

    async def main() -> None:
        async with memory.connect(Agent(store=store), client=v2.Client()) as agent:
            store.go_on.set()
            async with agent.session("/x") as session:
                store.writing.clear()
                store.go_on.clear()
                turn = session.prompt("hi")
                ending = asyncio.create_task(drained(turn))
                await store.writing.wait()
                await turn.cancel()
                for _ in range(20):
                    await asyncio.sleep(0)
                store.go_on.set()
                await ending
                assert turn.stop_reason == "cancelled"
                kept = [msgspec.json.decode(one)["sessionUpdate"] for one in await store.history(session.id)]
                assert kept == ["user_message", "agent_message_chunk"]

    run(main)


class FailingStore(MemoryStore):
    """Cannot write for a while, as a full disk."""

    fails = False

    async def append(self, session_id: str, updates: Any) -> None:
        if self.fails:
            raise OSError("no space left")
        await super().append(session_id, updates)


def test_a_store_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """The turn ends, the session goes on, and what could not be written is written later."""
    store = FailingStore()

    class Agent(v2.SessionAgent):
        async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
            store.fails = prompt == [v2.TextContent(text="fail")]
            for number in range(100 if store.fails else 1):
                await session.say(f"{number} ")

    async def main() -> None:
        agent_object = Agent(store=store)
        async with memory.connect(agent_object, client=v2.Client()) as agent, agent.session("/x") as session:
            turn = session.prompt("fail")
            await drained(turn)
            assert (turn.stop_reason, turn.error.code) == ("error", -32603)
            store.fails = False
            assert (await session.prompt("hi")).stop_reason == "end_turn"
            await agent_object.sessions[session.id].save()
            kept = [msgspec.json.decode(one) for one in await store.history(session.id)]
            said = [one["content"]["text"] for one in kept if one["sessionUpdate"] == "agent_message_chunk"]
            assert "".join(said) == "".join(one.text for one in session.state.messages.values() if one.kind == "agent")

    run(main)
    assert "no space left" in caplog.text

"""Where an agent keeps its sessions: in memory, in a SQLite file, or in a `SessionStore` of one's own."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

PAGE = 50
"""Sessions in one answer to `session/list`."""
T = TypeVar("T")


class SessionRecord(msgspec.Struct, kw_only=True):
    """What is known of a session beside its history. `updated_at` is RFC 3339, in UTC."""

    session_id: str
    cwd: str
    additional_directories: list[str] = msgspec.field(default_factory=list)
    title: str | None = None
    updated_at: str = ""


class SessionStore(Protocol):
    """Keeps records by session id, and each session's history: its updates, as JSON, in order."""

    async def save(self, record: SessionRecord) -> None:
        """Keep a record, in place of one with the same id."""
        ...

    async def find(self, session_id: str) -> SessionRecord | None: ...

    async def page(self, cwd: str | None, after: SessionRecord | None, limit: int) -> list[SessionRecord]:
        """Records, the latest first (`updated_at`, then the id), those `after` one in that order; only of a `cwd`."""
        ...

    async def append(self, session_id: str, updates: Sequence[bytes]) -> None: ...

    async def history(self, session_id: str) -> list[bytes]: ...

    async def delete(self, session_id: str) -> None:
        """Forget a session and its history; nothing happens for one that is not there."""
        ...


def _rank(record: SessionRecord) -> tuple[str, str]:
    return record.updated_at, record.session_id


class MemoryStore:
    """Keeps sessions for as long as the process lives. Connections of one process may share one."""

    def __init__(self) -> None:
        self._records: dict[str, SessionRecord] = {}
        self._histories: dict[str, list[bytes]] = {}

    async def save(self, record: SessionRecord) -> None:
        self._records[record.session_id] = msgspec.structs.replace(record)

    async def find(self, session_id: str) -> SessionRecord | None:
        found = self._records.get(session_id)
        return msgspec.structs.replace(found) if found is not None else None

    async def page(self, cwd: str | None, after: SessionRecord | None, limit: int) -> list[SessionRecord]:
        found = [one for one in self._records.values() if cwd is None or one.cwd == cwd]
        found = [one for one in found if after is None or _rank(one) < _rank(after)]
        return sorted(found, key=_rank, reverse=True)[:limit]

    async def append(self, session_id: str, updates: Sequence[bytes]) -> None:
        self._histories.setdefault(session_id, []).extend(updates)

    async def history(self, session_id: str) -> list[bytes]:
        return list(self._histories.get(session_id, ()))

    async def delete(self, session_id: str) -> None:
        self._records.pop(session_id, None)
        self._histories.pop(session_id, None)


_SCHEMA = """
create table if not exists sessions (
    id text primary key, cwd text not null, directories text not null, title text, updated_at text not null
);
create table if not exists updates (
    number integer primary key, session text not null, body blob not null
);
create index if not exists updates_of on updates (session, number);
"""


class SqliteStore:
    """Keeps sessions in a SQLite file, which several processes may share. Every call runs in a thread."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the file, and makes it where there is none. Raises sqlite3.Error."""
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=30)
        self._database.execute("pragma journal_mode = wal")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._database.close()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def locked() -> T:
            # As a context manager a connection commits, or rolls back.
            with self._lock, self._database as database:
                return work(database)

        return await asyncio.to_thread(locked)

    async def save(self, record: SessionRecord) -> None:
        row = (
            record.session_id,
            record.cwd,
            json.dumps(record.additional_directories),
            record.title,
            record.updated_at,
        )
        await self._run(
            lambda database: database.execute("insert or replace into sessions values (?, ?, ?, ?, ?)", row)
        )

    async def find(self, session_id: str) -> SessionRecord | None:
        found = await self._select("where id = ?", (session_id,))
        return found[0] if found else None

    async def page(self, cwd: str | None, after: SessionRecord | None, limit: int) -> list[SessionRecord]:
        where, values = ["true"], []
        if cwd is not None:
            where.append("cwd = ?")
            values.append(cwd)
        if after is not None:
            where.append("(updated_at, id) < (?, ?)")
            values.extend(_rank(after))
        text = f"where {' and '.join(where)} order by updated_at desc, id desc limit ?"
        return await self._select(text, (*values, limit))

    async def _select(self, clauses: str, values: Sequence[str | int]) -> list[SessionRecord]:
        text = f"select id, cwd, directories, title, updated_at from sessions {clauses}"
        rows = await self._run(lambda database: database.execute(text, values).fetchall())
        return [
            SessionRecord(
                session_id=row[0],
                cwd=row[1],
                additional_directories=json.loads(row[2]),
                title=row[3],
                updated_at=row[4],
            )
            for row in rows
        ]

    async def append(self, session_id: str, updates: Sequence[bytes]) -> None:
        rows = [(session_id, update) for update in updates]
        await self._run(
            lambda database: database.executemany("insert into updates (session, body) values (?, ?)", rows)
        )

    async def history(self, session_id: str) -> list[bytes]:
        text = "select body from updates where session = ? order by number"
        rows = await self._run(lambda database: database.execute(text, (session_id,)).fetchall())
        return [row[0] for row in rows]

    async def delete(self, session_id: str) -> None:
        def forget(database: sqlite3.Connection) -> None:
            database.execute("delete from updates where session = ?", (session_id,))
            database.execute("delete from sessions where id = ?", (session_id,))

        await self._run(forget)

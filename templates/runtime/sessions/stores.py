"""Where an agent keeps its sessions: in memory, in a SQLite file, or in a `SessionStore` of one's own."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

BUSY = 30.0
"""Seconds that one process waits for another that writes to the same file."""
PAGE = 50
"""Sessions in one answer to `session/list`."""


class SessionRecord(msgspec.Struct, kw_only=True):
    """What is known of a session beside its history. `updated_at` is RFC 3339, in UTC."""

    session_id: str
    cwd: str
    additional_directories: list[str] = msgspec.field(default_factory=list)
    title: str | None = None
    updated_at: str = ""


class SessionStore(Protocol):
    """Keeps records by session id, and each session's history: its updates, as JSON, in order.

    Whatever a method raises fails the turn or the request that needed it.
    """

    async def save(self, record: SessionRecord) -> None:
        """Keep a copy of a record, in place of one with the same id."""
        ...

    async def find(self, session_id: str) -> SessionRecord | None:
        """A record of its own for each call; None for a session that is not there."""
        ...

    async def page(self, cwd: str | None, after: SessionRecord | None, limit: int) -> list[SessionRecord]:
        """Records, the latest first (`updated_at`, then the id), those `after` one in that order; only of a `cwd`.

        `after` need not be there any more.
        """
        ...

    async def append(self, session_id: str, updates: Sequence[bytes]) -> None:
        """Add updates to a session's history, all of them or none."""
        ...

    async def history(self, session_id: str) -> list[bytes]:
        """A session's updates, none for a session that is not there."""
        ...

    async def delete(self, session_id: str) -> None:
        """Forget a session and its history; nothing happens for one that is not there."""
        ...


def _rank(record: SessionRecord) -> tuple[str, str]:
    return record.updated_at, record.session_id


def _copy(record: SessionRecord) -> SessionRecord:
    return msgspec.structs.replace(record, additional_directories=list(record.additional_directories))


class MemoryStore:
    """Keeps sessions for as long as the process lives. Connections of one process may share one."""

    def __init__(self) -> None:
        self._records: dict[str, SessionRecord] = {}
        self._histories: dict[str, list[bytes]] = {}

    async def save(self, record: SessionRecord) -> None:
        self._records[record.session_id] = _copy(record)

    async def find(self, session_id: str) -> SessionRecord | None:
        found = self._records.get(session_id)
        return _copy(found) if found is not None else None

    async def page(self, cwd: str | None, after: SessionRecord | None, limit: int) -> list[SessionRecord]:
        found = [one for one in self._records.values() if cwd is None or one.cwd == cwd]
        found = [one for one in found if after is None or _rank(one) < _rank(after)]
        return [_copy(one) for one in sorted(found, key=_rank, reverse=True)[:limit]]

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
        self._database = sqlite3.connect(path, check_same_thread=False, timeout=BUSY)
        try:
            self._prepare()
        except sqlite3.Error:
            self._database.close()
            raise

    def _prepare(self) -> None:
        """Make the tables. SQLite waits for other processes everywhere but in changing the journal's mode."""
        until = time.monotonic() + BUSY
        while True:
            try:
                self._database.execute("pragma journal_mode = wal")
                self._database.executescript(_SCHEMA)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def close(self) -> None:
        """Close the file. Idempotent."""
        with self._lock:
            self._database.close()

    async def _write(self, *statements: tuple[str, Sequence[Sequence[str | bytes | None]]]) -> None:
        """Run statements, each for its rows, all of them or none."""

        def write() -> None:
            # As a context manager a connection commits, or rolls back.
            with self._lock, self._database as database:
                for text, rows in statements:
                    database.executemany(text, rows)

        await asyncio.to_thread(write)

    async def _read(self, text: str, values: Sequence[str | int]) -> list[Any]:
        def read() -> list[Any]:
            # A cursor must not be there any more when the next thread has its turn.
            with self._lock:
                return self._database.execute(text, values).fetchall()

        return await asyncio.to_thread(read)

    async def save(self, record: SessionRecord) -> None:
        directories = json.dumps(record.additional_directories)
        row = (record.session_id, record.cwd, directories, record.title, record.updated_at)
        await self._write(("insert or replace into sessions values (?, ?, ?, ?, ?)", [row]))

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
        rows = await self._read(f"select id, cwd, directories, title, updated_at from sessions {clauses}", values)
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
        await self._write(("insert into updates (session, body) values (?, ?)", rows))

    async def history(self, session_id: str) -> list[bytes]:
        rows = await self._read("select body from updates where session = ? order by number", (session_id,))
        return [row[0] for row in rows]

    async def delete(self, session_id: str) -> None:
        row = (session_id,)
        await self._write(
            ("delete from updates where session = ?", [row]), ("delete from sessions where id = ?", [row])
        )

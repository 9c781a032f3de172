"""The connections that are open, each with its agent, from the first request to the end."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from .. import door
from ..connection import GRACE, Connection
from ..errors import ConnectionClosed
from ..routing import Handler
from . import log
from .gate import is_same
from .refusals import Refused
from .settings import Settings
from .socket import SocketTransport
from .transport import StreamsTransport

STUCK = 2 * GRACE
"""Seconds that shutting down waits for agents to end."""
UNKNOWN = "unknown connection"


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{32}")


class Entry:
    """One connection: its id, whose it is, and the task that serves it."""

    def __init__(self, identity: str, transport: StreamsTransport | SocketTransport, principal: Any) -> None:
        self.id = identity
        self.transport = transport
        self.principal = principal
        self.connection: Connection | None = None
        self.task: asyncio.Task[None] | None = None
        self.expire: asyncio.TimerHandle | None = None
        self.busy = 0

    @property
    def label(self) -> str:
        """As much of the id as a log may show: who knows all of it may use the connection."""
        return self.id[:17]


class Table:
    """Connections by their ids. An id begins with a mark of the process, so that one of another process is noticed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._mark = secrets.token_hex(4)
        self._entries: dict[str, Entry] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._coming = 0
        self.closing = False
        self.watched = False
        """Whether somebody says when the server stops."""

    def __len__(self) -> int:
        return len(self._entries)

    def make_room(self) -> None:
        """Raises Refused where no further connection may be opened."""
        if self.closing:
            raise Refused(503, "the server is shutting down")
        if len(self._entries) + self._coming >= self._settings.max_connections:
            raise Refused(503, "too many connections", headers={"Retry-After": "10"})

    @contextlib.contextmanager
    def room(self) -> Iterator[None]:
        """Keep a place free for a connection that takes its time to be opened. Raises Refused."""
        self.make_room()
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    def new_id(self) -> str:
        return f"{self._mark}-{secrets.token_hex(16)}"

    def open(
        self, identity: str, transport: StreamsTransport | SocketTransport, principal: Any, agents: Sequence[Handler]
    ) -> Entry:
        """Serve agents over a transport."""
        if not self.watched:
            self.watched = True
            log.warning(
                "nobody will tell this app that the server stops, which then waits for its streams for good: enter "
                "`running()` in the lifespan of the app that it is mounted in"
            )
        entry = Entry(identity, transport, principal)
        entry.task = asyncio.get_running_loop().create_task(self._serve(entry, agents), name=f"acp {entry.label}")
        self._entries[entry.id] = entry
        log.info("connection %s is open", entry.label, extra={"acp_connection": entry.label})
        self._let_expire(entry)
        return entry

    async def served(self, entry: Entry) -> None:
        """Wait for the end of a connection, which ends with whoever waits."""
        assert entry.task is not None
        if self.closing:
            self.drop(entry, "the server is shutting down")
        try:
            await asyncio.wait([entry.task])
        finally:
            self.drop(entry, "the server has given it up")

    async def _serve(self, entry: Entry, agents: Sequence[Handler]) -> None:
        settings = self._settings
        try:
            async with door.served(
                entry.transport,
                agents,
                strict=settings.strict,
                gates=settings.gates,
                observer=settings.observer,
                max_in_flight=settings.max_in_flight,
                max_queued=settings.max_queued,
            ) as connection:
                entry.connection = connection
                await connection.wait_closed()
        except Exception:
            log.exception("connection %s failed", entry.label)
        finally:
            self._forget(entry)
            # Where serving could not begin.
            await entry.transport.close()
            log.info("connection %s has ended", entry.label, extra={"acp_connection": entry.label})

    def _forget(self, entry: Entry) -> None:
        self._entries.pop(entry.id, None)
        if entry.expire is not None:
            entry.expire.cancel()
            entry.expire = None

    def find(self, identity: str, principal: Any) -> tuple[Entry, StreamsTransport]:
        """The connection over HTTP of this id, if it is the principal's own. Raises Refused."""
        entry = self._entries.get(identity)
        if entry is not None and entry.transport.closed:
            entry = None
        if entry is not None and isinstance(entry.transport, StreamsTransport):
            if is_same(entry.principal, principal):
                return entry, entry.transport
            raise Refused(404, UNKNOWN, detail=f"connection {entry.label} belongs to somebody else", suspect=True)
        if entry is not None:
            raise Refused(404, UNKNOWN, detail=f"connection {entry.label} is a WebSocket's")
        if _ID.fullmatch(identity) and not identity.startswith(self._mark):
            detail = (
                "the connection was opened in another process, or before a restart: connections live in one process, "
                "which is to have a port of its own, and a proxy that keeps clients to it by the affinity cookie"
            )
            raise Refused(404, UNKNOWN, detail=detail, suspect=True)
        raise Refused(404, UNKNOWN, detail="unknown connection, or one that has ended")

    @contextlib.contextmanager
    def using(self, entry: Entry) -> Iterator[None]:
        """While a request is served the connection does not expire."""
        entry.busy += 1
        if entry.expire is not None:
            entry.expire.cancel()
            entry.expire = None
        try:
            yield
        finally:
            entry.busy -= 1
            self._let_expire(entry)

    def _let_expire(self, entry: Entry) -> None:
        if entry.busy or entry.id not in self._entries or not isinstance(entry.transport, StreamsTransport):
            return
        reason = f"nobody has used the connection for {self._settings.idle_timeout:g} s"
        loop = asyncio.get_running_loop()
        entry.expire = loop.call_later(self._settings.idle_timeout, self.drop, entry, reason)

    def drop(self, entry: Entry, reason: str) -> None:
        """End a connection and cancel its work. Who asks for it from now on does not find it."""
        if entry.id not in self._entries:
            return
        log.info("connection %s ends: %s", entry.label, reason, extra={"acp_connection": entry.label})
        self._forget(entry)
        task = asyncio.get_running_loop().create_task(self._end(entry, reason))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, entry: Entry, reason: str) -> None:
        assert entry.task is not None
        # Its first step makes the connection.
        while entry.connection is None and not entry.task.done():
            await asyncio.sleep(0)
        if entry.connection is not None:
            await entry.connection.close(reason)
        _, stuck = await asyncio.wait([entry.task], timeout=STUCK)
        for task in stuck:
            log.error("the agent of connection %s did not end", entry.label)
            task.cancel()
            await asyncio.wait([task], timeout=STUCK)

    async def shut_down(self, reason: str = "the server is shutting down") -> None:
        """End all connections, and refuse new ones. Returns when none of them has a task left."""
        self.closing = True
        for entry in list(self._entries.values()):
            self.drop(entry, reason)
        while self._ending:
            await asyncio.wait(self._ending)


def gone(error: ConnectionClosed) -> Refused:
    """What a request draws whose connection ended meanwhile."""
    return Refused(404, UNKNOWN, detail=f"the connection ended during the request: {error.reason}")

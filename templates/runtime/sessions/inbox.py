"""Where a client's session updates and questions for permission go: to the session that they are for.

Installed on a connection when its first session is opened. The client's own handlers still get everything, after the
session has.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from ..connection import Connection
from ..context import Context
from ..errors import ConnectionClosed
from ..remote import Remote
from ..routing import MethodNotFound, Route
from .permissions import answered
from .session import Session

UPDATE = ("notification", "session/update")
ASK = ("request", "session/request_permission")
Call = Callable[[Any, Context], Awaitable[Any]]


class Known(NamedTuple):
    """What is known of a session; None for what is not."""

    tool_calls: Any = None
    terminals: Any = None
    config_options: Any = None
    subagent: Any = None


class Inbox:
    """The sessions of one connection. Updates of sessions that are being opened are held until their ids are known."""

    def __init__(self, agent: Remote) -> None:
        self.sessions: dict[str, Session[Any, Any, Any]] = {}
        self._opening = 0
        self._held: dict[str, list[Any]] = {}
        self._connection: Connection = agent.connection
        routes = self._connection.routes
        self._on_update: Call | None = routes[UPDATE].call if UPDATE in routes else None
        self._on_ask: Call | None = routes[ASK].call if ASK in routes else None
        self._ask_spec = agent._methods["client", "request", ASK[1]]
        routes[UPDATE] = Route(self._update, agent._methods["client", "notification", UPDATE[1]])
        routes[ASK] = Route(self._ask, self._ask_spec)
        self._connection.at_end(self._ended)
        agent._state_of = self.known

    @classmethod
    def of(cls, agent: Remote) -> Inbox:
        """The one of this connection."""
        inbox = agent.inbox
        if inbox is None:
            inbox = agent.inbox = cls(agent)
        found: Inbox = inbox
        return found

    def known(self, session_id: str) -> Known | None:
        """What gates go by: the state of a session that is open here, and what its parent says of it."""
        session = self.sessions.get(session_id)
        told = (one.state.subagents.get(session_id) for one in self.sessions.values())
        child = next((one for one in told if one is not None), None)
        if session is None:
            return None if child is None else Known(subagent=child)
        state = session.state
        return Known(state.tool_calls, state.terminals, state.config_options, child)

    @contextlib.asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        """While a session is being opened, updates of sessions that are not known are held."""
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1
            if not self._opening:
                self._held.clear()

    def add(self, session: Session[Any, Any, Any]) -> None:
        """Whatever has come for it already is handed over. Raises ValueError when it is open here already."""
        if session.id in self.sessions:
            raise ValueError(f"session {session.id} is open on this connection already")
        self.sessions[session.id] = session
        for update in self._held.pop(session.id, ()):
            session._take(update)

    def remove(self, session: Session[Any, Any, Any]) -> None:
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]

    async def _update(self, notification: Any, context: Context) -> None:
        session = self.sessions.get(notification.session_id)
        if session is not None:
            session._take(notification.update)
        elif self._opening:
            self._held.setdefault(notification.session_id, []).append(notification.update)
        if self._on_update is not None:
            await self._on_update(notification, context)

    async def _ask(self, request: Any, context: Context) -> Any:
        if self._opening and request.session_id not in self.sessions:
            # It may be one whose opening was answered before this, behind updates that are not handled yet.
            await self._connection.caught_up()
        session = self.sessions.get(request.session_id)
        form = self._ask_spec.result
        if session is not None and session.permissions is not None:
            policy = session.permissions
            return await session._answer(lambda: answered(policy, request, form), form)
        on_ask = self._on_ask
        if on_ask is None:
            raise MethodNotFound(ASK[1])
        if session is None:
            return await on_ask(request, context)
        return await session._answer(lambda: on_ask(request, context), form)

    def _ended(self, error: ConnectionClosed) -> None:
        for session in list(self.sessions.values()):
            session._lost(error)
        self.sessions.clear()
        self._held.clear()

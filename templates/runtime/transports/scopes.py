"""What belongs to which session, over a transport that has a stream for each: bookkeeping without I/O."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .outline import Outline, given_up, outline, subagent
from .streams import EventStream

CANCEL = "$/cancel_request"
ENDING = frozenset({"session/close", "session/delete"})
"""Methods after which a session needs no stream any more."""


class Outgoing(NamedTuple):
    """A message that waits to be sent; `session` is the one that it belongs to."""

    frame: bytes
    outline: Outline
    session: str

    @property
    def what(self) -> str:
        """What to call it."""
        return self.outline.method or "an answer"


class Scope:
    """A session, or what belongs to none (an empty `session`): what goes out in order, and what comes in on a stream.

    `known` says that the session exists, as far as answers told; `asked` holds our requests without an answer yet.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self.waiting: deque[Outgoing] = deque()
        self.sending: asyncio.Task[None] | None = None
        self.stream: EventStream | None = None
        self.listening: asyncio.Task[None] | None = None
        self.known = not session
        self.asked: dict[bytes, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether the session does not exist, or no longer, and nothing about it is under way."""
        return not (self.known or self.asked or self.waiting or self.sending)


class Scopes:
    """All scopes of a connection, and the requests of both sides by theirs."""

    def __init__(self) -> None:
        self._all: dict[str, Scope] = {}
        self._asked: dict[bytes, Scope] = {}
        self._answering: dict[bytes, str] = {}

    def __iter__(self) -> Iterator[Scope]:
        return iter(list(self._all.values()))

    def get(self, session: str) -> Scope:
        scope = self._all.get(session)
        if scope is None:
            scope = self._all[session] = Scope(session)
        return scope

    def forget(self, scope: Scope) -> None:
        self._all.pop(scope.session, None)

    def put(self, frame: bytes) -> Scope:
        """Queue a message where it has its turn: after those of its session, or after the request that it cancels."""
        seen = outline(frame)
        # An answer belongs where the request came from.
        session = seen.session if seen.method else self._answering.pop(seen.id, "")
        scope = self.get(session)
        if seen.is_request:
            scope.asked[seen.id] = seen.method
            self._asked[seen.id] = scope
        elif seen.method == CANCEL:
            scope = self._asked.get(given_up(frame), scope)
        scope.waiting.append(Outgoing(frame, seen, session))
        return scope

    def settle(self, identity: bytes) -> tuple[Scope, str] | None:
        """Our request gets no other answer: its scope and its method. None if it had one."""
        scope = self._asked.pop(identity, None)
        return None if scope is None else (scope, scope.asked.pop(identity))

    def came(self, frame: bytes, stream: Scope) -> list[Scope]:
        """Note what a message tells of sessions, whatever stream it came on: the scopes that it says something of."""
        seen = outline(frame)
        if seen.is_request:
            self._answering[seen.id] = seen.session or stream.session
        elif seen.is_answer:
            return self._answered(seen)
        elif child := subagent(frame):
            return [self._made(child)]
        return []

    def _answered(self, seen: Outline) -> list[Scope]:
        settled = self.settle(seen.id)
        if settled is None:
            return []
        scope, method = settled
        if seen.failed:
            return [scope]
        scope.known = not scope.session or method not in ENDING
        return [scope, self._made(seen.session)] if seen.session else [scope]

    def _made(self, session: str) -> Scope:
        scope = self.get(session)
        scope.known = True
        return scope

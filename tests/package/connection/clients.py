"""Clients for the behaviour suite: they remember, and let a test wait for what it is about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from acp_bindings import v1, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import extension

Answer = Callable[[v2.RequestPermissionRequest, Context], Awaitable[v2.RequestPermissionResponse]]


def allowed() -> v2.RequestPermissionResponse:
    return v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="yes"))


class Recorder(v2.Client):
    """Remembers updates and extension notifications in the order in which they were handled."""

    info = v2.Implementation(name="friend", version="1")

    def __init__(self, answer: Answer | None = None) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.news: asyncio.Queue[Any] = asyncio.Queue()
        self.answer = answer
        self.pause: Callable[[], Awaitable[object]] | None = None
        self.asked = 0

    def note(self, what: Any) -> None:
        self.seen.append(what)
        self.news.put_nowait(what)

    async def session_update(self, notification: v2.UpdateSessionNotification, context: Context) -> None:
        if self.pause is not None:
            await self.pause()
        update = notification.update
        is_text = isinstance(update, v2.AgentMessageChunk) and isinstance(update.content, v2.TextContent)
        self.note(update.content.text if is_text else type(update).__name__)  # type: ignore[union-attr]

    async def session_request_permission(
        self, request: v2.RequestPermissionRequest, context: Context
    ) -> v2.RequestPermissionResponse:
        self.asked += 1
        return allowed() if self.answer is None else await self.answer(request, context)

    @extension("_test/started", notification=True)
    async def started(self, notification: Any, context: Context) -> None:
        self.note(("started", notification))

    @extension("_test/cancelled", notification=True)
    async def cancelled(self, notification: Any, context: Context) -> None:
        self.note(("cancelled", notification))

    @extension("_test/noticed", notification=True)
    async def noticed(self, notification: Any, context: Context) -> None:
        self.note(("noticed", notification))

    @extension("_test/flooded", notification=True)
    async def flooded(self, notification: Any, context: Context) -> None:
        self.note("flooded")


class OlderRecorder(v1.Client):
    """The same for version 1."""

    info = v1.Implementation(name="older friend", version="1")

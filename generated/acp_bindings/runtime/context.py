"""What a handler may want beside its params, and which handler a piece of code runs in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from . import jsonrpc

if TYPE_CHECKING:
    from .connection import Connection

current: ContextVar[Context | None] = ContextVar("acp_handler", default=None)
"""The context of the handler that runs, in the tasks that it started too."""


class Context:
    """What a handler may want beside its params: the message as it came, and the other side."""

    __slots__ = ("active", "after", "connection", "message", "remote")

    def __init__(self, connection: Connection, message: jsonrpc.Request | jsonrpc.Notification) -> None:
        self.connection = connection
        self.message = message
        self.remote: Any = connection.remote
        self.active = True
        self.after: list[Callable[[], Awaitable[object]]] | None = None

    @property
    def raw(self) -> bytes:
        """The frame, byte for byte."""
        return self.message.raw

    def after_response(self, call: Callable[[], Awaitable[object]]) -> None:
        """Run `call` once the result was written; not at all when an error is the answer.

        context.after_response(lambda: context.remote.session_update(commands))
        """
        self.after = [*(self.after or ()), call]


def waits_for_itself(connection: Connection) -> bool:
    """Whether the answer to a call made here must not wait for the notifications before it.

    They may be waiting for the very handler that makes the call. Of another connection's handlers that holds for its
    notifications alone, which are handled one at a time: two connections that call each other would else be stuck.
    """
    context = current.get()
    if context is None or not context.active:
        return False
    return context.connection is connection or isinstance(context.message, jsonrpc.Notification)


def is_stray_cancellation() -> bool:
    """Whether a CancelledError that was caught came out of something awaited, and this task itself goes on."""
    task = asyncio.current_task()
    return task is None or not task.cancelling()

"""The base of the generated callers: what the other side's methods look like from here."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .checking import refuse_wrong
from .routing import Kind, MethodSpec, Side

if TYPE_CHECKING:
    from .calls import Then
    from .connection import Connection
    from .sessions.inbox import Inbox


class Remote:
    """Calls the other side over one connection. `initialized` is what it answered to `initialize`, `inbox` has the
    sessions that are open with it.

    `strict` validates every message before it is sent (`check`); what is wrong raises ValueError and nothing is sent.
    """

    _side: ClassVar[Side]
    _methods: ClassVar[Mapping[tuple[Side, Kind, str], MethodSpec]]

    def __init__(self, connection: Connection, initialized: Any = None, *, strict: bool = False) -> None:
        self.connection = connection
        self.initialized = initialized
        self.strict = strict
        self.inbox: Inbox | None = None

    def _call(self, method: str, request: Any, timeout: float | None, then: Then | None = None) -> Awaitable[Any]:
        spec = self._methods[self._side, "request", method]
        refuse_wrong(request, spec.params, self.strict)
        return self.connection.request(method, request, spec.result, timeout=timeout, then=then)

    def _notify(self, method: str, notification: Any) -> Awaitable[None]:
        refuse_wrong(notification, self._methods[self._side, "notification", method].params, self.strict)
        return self.connection.notify(method, notification)

    async def extension_request(
        self, method: str, params: Any = None, result: Any = Any, *, timeout: float | None = None
    ) -> Any:
        """Call an extension method, whose name starts with an underscore; the answer is decoded to `result`."""
        _must_be_extension(method)
        return await self.connection.request(method, params, result, timeout=timeout)

    async def extension_notification(self, method: str, params: Any = None) -> None:
        """Send an extension notification, whose name starts with an underscore."""
        _must_be_extension(method)
        await self.connection.notify(method, params)


def _must_be_extension(method: str) -> None:
    if not method.startswith("_"):
        raise ValueError(f"{method!r} is no extension method: the name has to start with an underscore")

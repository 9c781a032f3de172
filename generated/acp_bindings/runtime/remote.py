"""The base of the generated callers: what the other side's methods look like from here."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from .checking import refuse_wrong
from .routing import Kind, MethodSpec, Side

if TYPE_CHECKING:
    from .calls import Then
    from .connection import Connection
    from .needs import StateOf
    from .sessions.inbox import Inbox


R_co = TypeVar("R_co", bound="Remote", covariant=True)


class Calls(Protocol[R_co]):
    """A handler, as type checkers see whom it is connected with: its caller for the other side is an R."""

    def _caller(self) -> R_co: ...


class Remote:
    """Calls the other side over one connection. `initialized` is what it said in `initialize`, `inbox` has the
    sessions that are open with it.

    A call that needs what was not advertised raises CapabilityError, and nothing is sent; extensions are free.
    `strict` validates every message before it is sent (`check`); what is wrong raises ValueError and nothing is sent.
    """

    _side: ClassVar[Side]
    _methods: ClassVar[Mapping[tuple[Side, Kind, str], MethodSpec]]
    # Whoever keeps the state of sessions says so; what a call needs of it is not asked before.
    _state_of: StateOf | None = None

    def __init__(self, connection: Connection, initialized: Any = None, *, strict: bool = False) -> None:
        self.connection = connection
        self.initialized = initialized
        self.strict = strict
        self.inbox: Inbox | None = None

    def _call(self, method: str, request: Any, timeout: float | None, then: Then | None = None) -> Awaitable[Any]:
        spec = self._methods[self._side, "request", method]
        refuse_wrong(request, spec.params, self.strict)
        if spec.needs:
            self._check(spec, request)
        return self.connection.request(method, request, spec.result, timeout=timeout, then=then)

    def _notify(self, method: str, notification: Any) -> Awaitable[None]:
        spec = self._methods[self._side, "notification", method]
        refuse_wrong(notification, spec.params, self.strict)
        if spec.needs:
            self._check(spec, notification)
        return self.connection.notify(method, notification)

    def _check(self, spec: MethodSpec, params: Any) -> None:
        gates = self.connection.gates
        if gates is not None:
            gates.check(spec, params, self._state_of)

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

"""Who answers what: the handler classes' base, and the table from wire methods to their code."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from .errors import DecodeError, RequestError
from .jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from .connection import Context
    from .needs import Advertised, Need

Side = Literal["agent", "client", "proxy", "protocol"]
Kind = Literal["request", "notification"]
F = TypeVar("F", bound=Callable[..., Any])


class MethodSpec(NamedTuple):
    """One wire method, as the side that receives it sees it.

    `params` and `result` are classes or union aliases; `result` is None for a notification. `needs` is what must be
    there before it may be called. `unhandled` is the error code of a request without a handler.
    """

    side: Side
    kind: Kind
    name: str
    params: Any
    result: Any = None
    needs: tuple[Need, ...] = ()
    unhandled: int = METHOD_NOT_FOUND


def method_table(*specs: MethodSpec) -> Mapping[tuple[Side, Kind, str], MethodSpec]:
    """Methods by side, kind and name: a name alone is not unique."""
    return {(spec.side, spec.kind, spec.name): spec for spec in specs}


class Opening(NamedTuple):
    """How a version spells `initialize`: member names of its request and its response.

    `offered` are auth methods, by their tags, that only clients with a capability are offered.
    """

    version: int
    request: Any
    response: Any
    client_info: str
    client_capabilities: str
    agent_info: str
    agent_capabilities: str
    auth_methods: str
    offered: Mapping[str, Advertised] = {}


class MethodNotFound(RequestError):
    """The method is not handled here."""

    def __init__(self, method: str) -> None:
        super().__init__(METHOD_NOT_FOUND, f"method not found: {method}", {"method": method})


class InvalidParams(RequestError):
    """Params that do not decode, or that hold what is not supported."""

    def __init__(self, error: DecodeError) -> None:
        data = {"pointer": error.pointer, "reason": error.reason}
        super().__init__(INVALID_PARAMS, f"invalid params: {error}", data)


class Route(NamedTuple):
    """A method with the code that handles it."""

    call: Callable[[Any, Any], Awaitable[Any]]
    spec: MethodSpec


def extension(name: str, *, params: Any = Any, result: Any = Any, notification: bool = False) -> Callable[[F], F]:
    """Marks a handler's method as the code for an extension method, whose wire name starts with an underscore.

        @extension("_acme.dev/index", params=IndexRequest)
        async def index(self, request, context): ...

    Raises ValueError for another name.
    """
    if not name.startswith("_"):
        raise ValueError(f"{name!r} is no extension method: the name has to start with an underscore")

    def mark(function: F) -> F:
        function.__dict__["_extension"] = (name, "notification" if notification else "request", params, result)
        return function

    return mark


def advertise(capabilities: Any, namespace: str, value: Any) -> Any:
    """Advertise an extension: put `value` under the `_meta` of a capabilities object, at the root or nested.

    Returns the object, so that it can be passed on. Raises ValueError for a namespace without a dot or slash, which
    would not be one's own.

        advertise(v2.AgentCapabilities(), "acme.dev", {"index": True})
    """
    if "." not in namespace and "/" not in namespace:
        raise ValueError(f"{namespace!r} is no namespace of one's own, such as acme.dev")
    known = capabilities.meta if isinstance(capabilities.meta, dict) else {}
    capabilities.meta = {**known, namespace: value}
    return capabilities


def stub(function: F) -> F:
    """Marks a generated method that stands for "not handled"."""
    function.__dict__["_is_stub"] = True
    return function


def _refusal(spec: MethodSpec) -> Callable[[Any, Any], Awaitable[Any]]:
    """Code that answers a request that nobody handles with the error that its method has for that."""

    async def refuse(params: Any, context: Any) -> Any:
        raise RequestError(spec.unhandled, f"nothing here that {spec.name} could apply to")

    return refuse


class Handler:
    """Base of the generated handler classes: override what you support, the rest is refused.

    `info` and `capabilities` go into `initialize`; set them here or as class attributes.
    """

    _side: ClassVar[Side]
    _methods: ClassVar[Mapping[tuple[Side, Kind, str], MethodSpec]]
    _names: ClassVar[Mapping[tuple[Kind, str], str]]
    _opening: ClassVar[Opening]
    _remote: ClassVar[Any]
    _baseline: ClassVar[Mapping[str, tuple[tuple[Any, str], ...]]]
    info: Any = None
    capabilities: Any = None
    auth_methods: Any = ()

    if TYPE_CHECKING:

        def _caller(self) -> Any:
            """What it is connected with; each generated class says which caller that is."""

    def __init__(self, *, info: Any = None, capabilities: Any = None, auth_methods: Any = None) -> None:
        if info is not None:
            self.info = info
        if capabilities is not None:
            self.capabilities = capabilities
        if auth_methods is not None:
            self.auth_methods = auth_methods

    def handles(self, kind: Kind, method: str) -> bool:
        """Whether this object has code of its own for a method of its side."""
        name = self._names.get((kind, method))
        return name is not None and not getattr(getattr(type(self), name), "_is_stub", False)

    def routes(self) -> dict[tuple[Kind, str], Route]:
        """Everything that this object handles, extensions included."""
        found: dict[tuple[Kind, str], Route] = {}
        for (kind, method), name in self._names.items():
            spec = self._methods[self._side, kind, method]
            if self.handles(kind, method):
                found[kind, method] = Route(getattr(self, name), spec)
            elif spec.unhandled != METHOD_NOT_FOUND:
                found[kind, method] = Route(_refusal(spec), spec)
        for name in dir(type(self)):
            marked = getattr(getattr(type(self), name, None), "_extension", None)
            if marked is not None:
                wire, kind, params, result = marked
                found[kind, wire] = Route(getattr(self, name), MethodSpec(self._side, kind, wire, params, result))
        return found

    async def connection_opened(self, context: Context) -> None:
        """Called once, when both sides have agreed on a version; for an agent, after its answer was written."""

    async def connection_closed(self) -> None:
        """Called once, when the connection has ended."""


def listed(given: Handler | Sequence[Handler]) -> list[Handler]:
    """One handler or several. Raises TypeError for what is none: a class that should be an object, most of all."""
    handlers = [given] if isinstance(given, Handler | type) else list(given)
    for one in handlers:
        if isinstance(one, type):
            raise TypeError(f"expected an object, got the class {one.__name__}: write {one.__name__}()")
        if not isinstance(one, Handler):
            raise TypeError(f"expected an agent or a client, got {type(one).__name__}")
    return handlers

"""How a client opens a connection: `initialize`, and which protocol version it settles on.

A client asks for the newest version that it speaks. The agent answers with that one, or with its own newest below it;
the client goes on with what was answered, or gives up. One connection speaks one version.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import msgspec

from . import jsonrpc
from .checking import refuse_wrong
from .codec import convert, to_builtins
from .connection import MAX_IN_FLIGHT, MAX_QUEUED, Connection, Context, Observer
from .errors import DecodeError, NegotiationError, ProtocolError, RequestError, RequestTimeout
from .gates import Gates
from .routing import Handler, Opening, listed
from .transports import Transport

log = logging.getLogger("acp_bindings")
INITIALIZE = "initialize"
AGAIN = 5.0
"""Seconds that an agent which has answered one `initialize` gets to answer a second."""


class SpeaksOlderError(Exception):
    """The agent speaks another version than asked for: open again as `client`, on a new connection.

    An agent that claims one version and speaks another may keep what the first `initialize` told it of our
    capabilities, whatever a second one says (Goose does). Over HTTP and WebSocket a connection takes no second one.
    """

    def __init__(self, client: Handler) -> None:
        super().__init__(client)
        self.client = client


def with_older(clients: Any, versions: Sequence[int] | None) -> list[Handler]:
    """The clients to negotiate with, newest first; an older version that was not given gets a bare client.

    `versions` restricts them. Raises ValueError when nothing is left, TypeError for what is no client.
    """
    given = listed(clients)
    by_version = {client._opening.version: client for client in given}
    newest = max(by_version)
    for version in range(newest - 1, 0, -1):
        if version not in by_version and (versions is None or version in versions):
            older = _sibling(by_version[newest], version)
            if older is not None:
                by_version[version] = older
    order = sorted((one for one in by_version if versions is None or one in versions), reverse=True)
    if not order:
        raise ValueError(f"no client for any of the versions {list(versions or ())}")
    return [by_version[version] for version in order]


def _sibling(client: Handler, version: int) -> Handler | None:
    """A bare client of another version in the same channel, with the same info."""
    base = next(cls for cls in client.__class__.__mro__ if "_opening" in cls.__dict__)
    package, _, rest = base.__module__.rpartition(f".v{client._opening.version}")
    try:
        module = importlib.import_module(f"{package}.v{version}{rest}")
    except ImportError:
        return None
    made: Handler = getattr(module, base.__name__)(info=client.info)
    return made


@contextlib.asynccontextmanager
async def dialled(
    dial: Callable[[], Awaitable[Transport]], clients: Sequence[Handler], *, once: bool = False, **options: Any
) -> AsyncIterator[Any]:
    """`opened`, over transports that `dial` makes: a second one where the agent turns out to speak another version.

    `once` says that a connection takes one `initialize` only, so that every change of version needs a second one.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            remote = await stack.enter_async_context(opened(await dial(), clients, may_dial=True, once=once, **options))
        except SpeaksOlderError as found:
            remote = await stack.enter_async_context(opened(await dial(), [found.client], **options))
        yield remote


@contextlib.asynccontextmanager
async def opened(
    transport: Transport,
    clients: Sequence[Handler],
    *,
    strict: bool,
    timeout: float | None,
    observer: Observer | None,
    gates: bool = True,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
    may_dial: bool = False,
    once: bool = False,
) -> AsyncIterator[Any]:
    """A client's connection over any transport, from `initialize` to the end; gives the caller for the other side.

    With `may_dial`, an agent that speaks another version than it claims raises SpeaksOlderError; with `once` too, so
    does one that speaks another than it was asked for.
    """
    connection = Connection(
        transport,
        {},
        strict=strict,
        timeout=timeout,
        observer=observer,
        max_in_flight=max_in_flight,
        max_queued=max_queued,
    )
    client: Handler | None = None
    try:
        async with connection:
            answer, client = await _ask(connection, clients, may_dial, once)
            connection.routes = dict(client.routes())
            connection.null_ids = client._opening.version == 1
            connection.remote = client._remote(connection, answer, strict=strict)
            connection.gates = Gates(answer, hello(client)) if gates else None
            connection.release()
            await client.connection_opened(Context(connection, jsonrpc.Notification(INITIALIZE, jsonrpc.EMPTY, b"")))
            yield connection.remote
    finally:
        if client is not None:
            await client.connection_closed()


async def _ask(connection: Connection, clients: Sequence[Handler], may_dial: bool, once: bool) -> tuple[Any, Handler]:
    """Ask for the newest version, and for an older one where that is what the other side turns out to speak."""
    newest = clients[0]
    for client in clients:
        refuse_wrong(hello(client), client._opening.request, connection.strict)
    try:
        raw = await connection.request(INITIALIZE, hello(newest), Any, holds=True)
    except RequestError as error:
        if error.code != jsonrpc.UNSUPPORTED_VERSION or not isinstance(error.data, dict):
            raise
        supported = error.data.get("supported")
        fitting = [one for one in clients[1:] if isinstance(supported, list) and one._opening.version in supported]
        if not fitting:
            raise NegotiationError(f"we speak {_spoken(clients)}, the agent {supported}") from error
        if may_dial and once:
            raise SpeaksOlderError(fitting[0]) from None
        return await _again(connection, fitting[0], None)
    version = raw.get("protocolVersion") if isinstance(raw, dict) else None
    named = next((one for one in clients if type(version) is int and one._opening.version == version), None)
    if named is not None:
        try:
            answer = convert(raw, named._opening.response)
        except DecodeError as error:
            other = _speaker(raw, named, clients, error)
            if may_dial:
                raise SpeaksOlderError(other) from None
            return await _again(connection, other, _shaped(raw, other._opening))
        if named is not newest and may_dial and once:
            raise SpeaksOlderError(named)
        return (answer, named) if named is newest else await _again(connection, named, answer)
    raise NegotiationError(f"we speak {_spoken(clients)}, the agent answered with version {version!r:.40}")


def _speaker(raw: Any, named: Handler, clients: Sequence[Handler], error: DecodeError) -> Handler:
    """The answer names a version but is not shaped like it: the client whose version it is shaped like."""
    for other in clients:
        if other is not named and _shaped(raw, other._opening) is not None:
            ours, theirs = named._opening.version, other._opening.version
            log.warning(
                "the agent claims protocol version %d but answers as version %d does; going on as %d",
                ours,
                theirs,
                theirs,
            )
            return other
    version = named._opening.version
    hint = " (its shape is of version 1)" if isinstance(raw, dict) and "agentCapabilities" in raw else ""
    raise NegotiationError(
        f"the agent claims protocol version {version}, but its answer is not of version {version}{hint}: {error}; "
        f"we speak {_spoken(clients)}"
    ) from error


def _shaped(raw: Any, opening: Opening) -> Any:
    """The answer as one of this version, if it has the properties that this version spells otherwise than others."""
    struct = {field.name: field.encode_name for field in msgspec.structs.fields(opening.response)}
    wires = [struct[name] for name in (opening.agent_info, opening.agent_capabilities) if name in struct]
    if not isinstance(raw, dict) or not any(wire in raw for wire in wires):
        return None
    with contextlib.suppress(DecodeError):
        return convert(raw | {"protocolVersion": opening.version}, opening.response)
    return None


async def _again(connection: Connection, client: Handler, answer: Any) -> tuple[Any, Handler]:
    """Initialize once more in the words of the version agreed on, so that the agent learns our capabilities.

    An agent that does not like to be asked twice has answered already.
    """
    opening = client._opening
    limit = AGAIN if answer is not None else None
    try:
        again = await connection.request(INITIALIZE, hello(client), opening.response, timeout=limit, holds=True)
    except (RequestError, RequestTimeout, ProtocolError) as error:
        if answer is None:
            raise
        log.warning("the agent did not take a second initialize: %s", error)
        return answer, client
    if again.protocol_version != opening.version:
        raise NegotiationError(
            f"asked for version {opening.version}, the agent answered with version {again.protocol_version}"
        )
    return again, client


def hello(client: Handler) -> Any:
    """A client's `initialize` request."""
    opening = client._opening
    members: dict[str, Any] = {"protocol_version": opening.version}
    members |= _members(client, opening.client_info, opening.client_capabilities, opening.request)
    return opening.request(**members)


def _members(handler: Handler, info: str, capabilities: str, target: Any) -> dict[str, Any]:
    fields = {field.name: field.type for field in msgspec.structs.fields(target)}
    members: dict[str, Any] = {}
    if info:
        given = handler.info or {"name": type(handler).__name__, "version": "0"}
        members[info] = convert(to_builtins(given), fields[info])
    if capabilities and handler.capabilities is not None:
        members[capabilities] = handler.capabilities
    return members


def welcome(agent: Handler) -> Any:
    """An agent's answer to `initialize`."""
    opening = agent._opening
    members: dict[str, Any] = {"protocol_version": opening.version}
    members |= _members(agent, opening.agent_info, opening.agent_capabilities, opening.response)
    if opening.auth_methods and agent.auth_methods:
        members[opening.auth_methods] = list(agent.auth_methods)
    return opening.response(**members)


def _spoken(handlers: Sequence[Handler]) -> str:
    return " and ".join(f"version {one._opening.version}" for one in handlers)

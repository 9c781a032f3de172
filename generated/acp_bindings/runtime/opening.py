"""How a connection begins: `initialize`, from both sides, and which protocol version it settles on.

A client asks for the newest version that it speaks. The agent answers with that one, or with its own newest below it; the
client goes on with what was answered, or gives up. One connection speaks one version.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from . import jsonrpc
from .codec import convert, decode, to_builtins
from .connection import Connection, Context
from .errors import DecodeError, NegotiationError, RequestError
from .routing import Handler, Opening, Route

log = logging.getLogger("acp_bindings")
INITIALIZE = "initialize"


def with_older(clients: Handler | Sequence[Handler], versions: Sequence[int] | None) -> list[Handler]:
    """The clients to negotiate with, newest first; an older version that was not given gets a bare client.

    `versions` restricts and orders them. Raises ValueError when nothing is left.
    """
    given = [clients] if isinstance(clients, Handler) else list(clients)
    by_version = {client._opening.version: client for client in given}
    newest = max(by_version)
    for version in range(newest - 1, 0, -1):
        if version not in by_version and (versions is None or version in versions):
            older = _sibling(by_version[newest], version)
            if older is not None:
                by_version[version] = older
    order = sorted(by_version, reverse=True) if versions is None else [one for one in versions if one in by_version]
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


async def open_client(connection: Connection, clients: Sequence[Handler], strict: bool) -> Any:
    """Initialize the other side; returns the caller for the version agreed on. Raises NegotiationError."""
    asked = list(clients)
    answer, client = await _ask(connection, asked)
    opening = client._opening
    connection.routes = dict(client.routes())
    connection.null_ids = opening.version == 1
    remote = client._remote(connection, answer, strict=strict)  # type: ignore[attr-defined]
    connection.remote = remote
    await client.connection_opened(Context(connection, jsonrpc.Notification(INITIALIZE, jsonrpc.EMPTY, b"")))
    return remote


async def _ask(connection: Connection, clients: list[Handler]) -> tuple[Any, Handler]:
    """Ask for the newest version, and for an older one where that is what the other side turns out to speak."""
    newest = clients[0]
    try:
        raw = await connection.request(INITIALIZE, hello(newest), Any)
    except RequestError as error:
        if error.code != jsonrpc.UNSUPPORTED_VERSION or not isinstance(error.data, dict):
            raise
        supported = error.data.get("supported")
        fitting = [one for one in clients if isinstance(supported, list) and one._opening.version in supported]
        if not fitting:
            raise NegotiationError(f"we speak {_spoken(clients)}, the agent {supported}") from error
        return await _again(connection, fitting[0], None)
    version = raw.get("protocolVersion") if isinstance(raw, dict) else None
    named = next((one for one in clients if one._opening.version == version), None)
    if named is not None:
        try:
            answer = convert(raw, named._opening.response)
        except DecodeError as error:
            return await _shaped_otherwise(connection, raw, named, clients, error)
        return (answer, named) if named is newest else await _again(connection, named, answer)
    raise NegotiationError(f"we speak {_spoken(clients)}, the agent answered with version {version!r:.40}")


async def _shaped_otherwise(
    connection: Connection, raw: Any, named: Handler, clients: list[Handler], error: DecodeError
) -> tuple[Any, Handler]:
    """The answer names a version but is not shaped like it: go by its shape."""
    for other in clients:
        if other is not named and _is_shaped(raw, other._opening):
            ours, theirs = named._opening.version, other._opening.version
            log.warning(
                "the agent claims protocol version %d but answers as version %d does; going on as %d",
                ours,
                theirs,
                theirs,
            )
            return await _again(connection, other, None)
    version = named._opening.version
    hint = " (its shape is of version 1)" if isinstance(raw, dict) and "agentCapabilities" in raw else ""
    raise NegotiationError(
        f"the agent claims protocol version {version}, but its answer is not of version {version}{hint}: {error}; "
        f"we speak {_spoken(clients)}"
    ) from error


def _is_shaped(raw: Any, opening: Opening) -> bool:
    """Whether an answer has the properties by which this version spells what others spell otherwise."""
    struct = {field.name: field.encode_name for field in msgspec.structs.fields(opening.response)}
    wires = [struct[name] for name in (opening.agent_info, opening.agent_capabilities) if name in struct]
    if not isinstance(raw, dict) or not any(wire in raw for wire in wires):
        return False
    try:
        convert(raw | {"protocolVersion": opening.version}, opening.response)
    except DecodeError:
        return False
    return True


async def _again(connection: Connection, client: Handler, answer: Any) -> tuple[Any, Handler]:
    """Initialize once more in the words of the version agreed on, so that the agent learns our capabilities."""
    try:
        return await connection.request(INITIALIZE, hello(client), client._opening.response), client
    except RequestError:
        if answer is None:
            raise
        return answer, client


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


class Door:
    """The agent's side: lets nothing in before `initialize`, then hands over to the agent of the version asked for."""

    def __init__(self, connection: Connection, agents: Sequence[Handler], strict: bool) -> None:
        self.connection = connection
        self.agents = sorted(agents, key=lambda agent: agent._opening.version, reverse=True)
        self.strict = strict
        self.agent: Handler | None = None
        self.used = False
        for agent in self.agents:
            check_baseline(agent)
        connection.before = self.route

    def route(self, message: jsonrpc.Request) -> Route | None:
        """The code for a request, as far as the connection has got. Raises RequestError."""
        if message.method == INITIALIZE:
            if self.used:
                raise RequestError(jsonrpc.INVALID_REQUEST, "initialize after other requests")
            agent, params = self._choose(message)
            opening = agent._opening
            spec = agent._methods[agent._side, "request", INITIALIZE]
            self._admit(agent, params)

            async def call(_: Any, context: Context) -> Any:
                answer = await agent.initialize(params, context)  # type: ignore[attr-defined]
                if answer.protocol_version != opening.version:
                    log.warning("initialize answers with version %s", answer.protocol_version)
                return answer

            return Route(call, spec._replace(params=Any))
        if self.agent is None:
            raise RequestError(jsonrpc.INVALID_REQUEST, f"{message.method} before initialize")
        self.used = True
        return self.connection.routes.get(("request", message.method))

    def _choose(self, message: jsonrpc.Request) -> tuple[Handler, Any]:
        raw = decode(message.params, dict[str, Any])
        asked = raw.get("protocolVersion")
        if not isinstance(asked, int) or isinstance(asked, bool):
            return self.agents[0], decode(message.params, self.agents[0]._opening.request)
        agent = next((one for one in self.agents if one._opening.version <= asked), None)
        if agent is None:
            supported = [one._opening.version for one in self.agents]
            text = f"protocol version {asked} is not supported"
            raise RequestError(jsonrpc.UNSUPPORTED_VERSION, text, {"requested": asked, "supported": supported})
        opening = agent._opening
        try:
            return agent, decode(message.params, opening.request)
        except DecodeError:
            if asked == opening.version:
                raise
        # A newer version may say things otherwise; what we cannot read of it counts as not said.
        info = {opening.client_info: {"name": "unknown", "version": "0"}} if opening.client_info else {}
        return agent, convert({"protocolVersion": asked} | info, opening.request)

    def _admit(self, agent: Handler, params: Any) -> None:
        self.agent = agent
        self.connection.routes = dict(agent.routes())
        self.connection.null_ids = agent._opening.version == 1
        self.connection.remote = agent._remote(self.connection, params, strict=self.strict)  # type: ignore[attr-defined]


def check_baseline(agent: Handler) -> None:
    """Refuse an agent that advertises a capability without code for what the capability promises. Raises ValueError."""
    for capability, methods in agent._baseline.items():  # type: ignore[attr-defined]
        offered: Any = agent.capabilities
        for step in capability.split("."):
            offered = getattr(offered, step, None)
        if offered is None or offered is msgspec.UNSET:
            continue
        missing = [name for kind, name in methods if not agent.handles(kind, name)]
        if missing:
            raise ValueError(
                f"{type(agent).__name__} advertises {capability}, which promises {', '.join(missing)} too: write handlers for them"
            )

"""How an agent is opened: nothing before `initialize`, then the agent of the version asked for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from . import jsonrpc
from .codec import convert, decode
from .connection import MAX_IN_FLIGHT, MAX_QUEUED, Connection, Context, Observer
from .errors import DecodeError, RequestError
from .gates import Gates
from .needs import member
from .opening import INITIALIZE
from .routing import Handler, InvalidParams, Route, listed
from .transports import Transport

log = logging.getLogger("acp_bindings")


def agents_of(agent: Handler | Sequence[Handler]) -> list[Handler]:
    """The agents to serve, newest version first.

    Raises TypeError for what is none, ValueError for one that promises more than it handles.
    """
    agents = listed(agent)
    if not agents:
        raise ValueError("no agent to serve")
    for one in agents:
        check_baseline(one)
    return sorted(agents, key=lambda one: one._opening.version, reverse=True)


@contextlib.asynccontextmanager
async def served(
    transport: Transport,
    agents: Sequence[Handler],
    *,
    strict: bool,
    observer: Observer | None,
    gates: bool = True,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_queued: int = MAX_QUEUED,
) -> AsyncIterator[Connection]:
    """An agent's connection over any transport, up to its end."""
    connection = Connection(
        transport, {}, strict=strict, observer=observer, max_in_flight=max_in_flight, max_queued=max_queued
    )
    door = Door(connection, agents, gates)
    try:
        async with connection:
            yield connection
    finally:
        for agent in door.opened:
            await agent.connection_closed()


class Door:
    """Lets nothing in before `initialize`, then hands over to the agent of the version asked for.

    `initialize` may be repeated until another request was made. With `gates`, what comes before its answer was given
    waits for it, since it says what may come.
    """

    def __init__(self, connection: Connection, agents: Sequence[Handler], gates: bool) -> None:
        self.connection = connection
        self.agents = agents
        self.gates = gates
        self.answered = asyncio.Event()
        self.agent: Handler | None = None
        self.opened: list[Handler] = []
        self.used = False
        connection.before = self.route
        connection.null_ids = any(agent._opening.version == 1 for agent in agents)

    def route(self, message: jsonrpc.Request) -> Route:
        """The code for a request, as far as the connection has got. Raises RequestError, DecodeError."""
        if message.method == INITIALIZE and not self.used:
            return self._initialize(message)
        if self.agent is None:
            raise RequestError(jsonrpc.INVALID_REQUEST, f"{message.method} before initialize")
        connection = self.connection
        if not self.used:
            self.used = True
            spec = self.agent._methods[self.agent._side, "request", INITIALIZE]
            connection.routes["request", INITIALIZE] = Route(_too_late, spec._replace(params=Any))
        if self.gates and not self.answered.is_set():
            return self._early(connection.find(message))
        # The door is open: what comes from now on goes its own way.
        connection.before = None
        return connection.find(message)

    def _early(self, route: Route) -> Route:
        """The code for a request that did not wait for the answer to `initialize`: it waits here."""

        async def call(params: Any, context: Context) -> Any:
            await self.answered.wait()
            gates = self.connection.gates
            assert gates is not None
            gates.refuse(route.spec)
            try:
                gates.refuse_params(route.spec, params, context.remote._state_of)
            except DecodeError as error:
                raise InvalidParams(error) from None
            return await route.call(params, context)

        return Route(call, route.spec._replace(needs=()))

    def _initialize(self, message: jsonrpc.Request) -> Route:
        agent, params = self._choose(message)
        spec = agent._methods[agent._side, "request", INITIALIZE]
        self._admit(agent, params)

        async def call(_: Any, context: Context) -> Any:
            try:
                # Every generated agent class has it; their common base knows no method by name.
                answer = await agent.initialize(params, context)  # type: ignore[attr-defined]
                answer = self._said(agent, params, answer)
            except BaseException:
                if not self.used:
                    self.agent = None
                raise
            finally:
                self.answered.set()
            if answer.protocol_version != agent._opening.version:
                log.warning("initialize answers with version %s", answer.protocol_version)
            if agent not in self.opened:
                self.opened.append(agent)
                context.after_response(lambda: agent.connection_opened(context))
            return answer

        return Route(call, spec._replace(params=Any))

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
        ours: dict[str, Any] = {"protocolVersion": opening.version}
        if opening.client_info:
            ours |= {opening.client_info: {"name": "unknown", "version": "0"}}
        with contextlib.suppress(DecodeError):
            return agent, convert(ours | raw | {"protocolVersion": opening.version}, opening.request)
        return agent, convert(ours, opening.request)

    def _said(self, agent: Handler, params: Any, answer: Any) -> Any:
        """The answer without auth methods that this client cannot use. From now on both are held to what they said."""
        if not self.gates:
            return answer
        opening, gates = agent._opening, Gates(answer, params)
        listed = getattr(answer, opening.auth_methods) if opening.offered else []
        needs = [(method, opening.offered.get(member(method, "type"))) for method in listed]
        kept = [method for method, need in needs if need is None or gates.has(need)]
        if len(kept) < len(listed):
            answer = msgspec.structs.replace(answer, **{opening.auth_methods: kept})
            gates = Gates(answer, params)
        self.connection.gates = gates
        return answer

    def _admit(self, agent: Handler, params: Any) -> None:
        self.agent = agent
        self.answered.clear()
        connection = self.connection
        connection.gates = Gates(None, params) if self.gates else None
        connection.routes = dict(agent.routes())
        connection.null_ids = agent._opening.version == 1
        connection.remote = agent._remote(connection, params, strict=connection.strict)


async def _too_late(_: Any, context: Context) -> Any:
    raise RequestError(jsonrpc.INVALID_REQUEST, "initialize after other requests")


def check_baseline(agent: Handler) -> None:
    """Refuse an agent that advertises a capability without code for what the capability promises. Raises ValueError."""
    for capability, methods in agent._baseline.items():
        offered: Any = agent.capabilities
        for step in capability.split("."):
            offered = getattr(offered, step, None)
        if offered is None or offered is msgspec.UNSET:
            continue
        missing = [name for kind, name in methods if not agent.handles(kind, name)]
        if missing:
            raise ValueError(
                f"{type(agent).__name__} advertises {capability}, which promises {', '.join(missing)} too: "
                "write handlers for them"
            )

"""Two sides that handle every method of a profile, and say in `initialize` what a test makes them say."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from acp_bindings.runtime.connection import Connection, Context
from acp_bindings.runtime.door import served
from acp_bindings.runtime.opening import opened
from acp_bindings.runtime.routing import Handler
from acp_bindings.runtime.transports.memory import MemoryTransport

HANDLED = -1
"""The error code by which a handler tells that it was asked."""
PARAMS: dict[str, Any] = {
    "sessionId": "s", "cwd": "/w", "mcpServers": [], "prompt": [{"type": "text", "text": "t"}], "methodId": "m",
    "providerId": "p", "apiType": "openai", "baseUrl": "http://localhost", "title": "t", "serverId": "x",
    "method": "ping", "toolCallId": "c", "terminalId": "t", "command": "ls", "path": "/p",
    "content": "c",
    "options": [{"optionId": "o", "name": "O", "kind": "allow_once"}], "elicitationId": "e",
    "state": "unauthenticated", "modeId": "m",
    "configId": "c", "value": "v", "toolCall": {"toolCallId": "c"}, "message": "m", "mode": "form",
    "requestedSchema": {"type": "object", "properties": {}}, "url": "http://localhost",
    "update": {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "t"}},
}  # fmt: skip
"""What the methods' params require, all in one: each takes what it knows. Of `type`, v1 and v2 know other values."""


def module(profile: str) -> Any:
    version, channel = profile.split("/")
    return importlib.import_module(f"acp_bindings.{version}" + ("" if channel == "stable" else ".unstable"))


def params(profile: str, spec: Any, more: Mapping[str, Any] = {}) -> Any:
    """A method's params with something more in them, as a model."""
    base = dict(PARAMS) if profile.startswith("v1") else {**PARAMS, "type": "id"}
    if spec.name == "mcp/message":
        # What an elicitation may have in place of its session.
        base["requestId"] = "r"
    return module(profile).convert({**base, **more}, spec.params)


def said(*capabilities: tuple[str, Any]) -> dict[str, Any]:
    """What a side says in `initialize`, from dotted paths of wire names and what stands there."""
    found: dict[str, Any] = {}
    for path, value in capabilities:
        *way, last = path.split(".")
        place = found
        for step in way:
            place = place.setdefault(step, {})
        place.setdefault(last, copy.deepcopy(value))
    return found


def handler(profile: str, side: str, told: Mapping[str, Any], seen: list[str]) -> Handler:
    """A side that handles whatever there is, and says `told` of itself."""
    base = getattr(module(profile), side.capitalize())

    def code(kind: str, wire: str) -> Any:
        async def handle(self: Any, request: Any, context: Context) -> Any:
            seen.append(wire)
            if kind == "request":
                raise module(profile).RequestError(HANDLED, "handled")

        return handle

    methods = {name: code(kind, wire) for (kind, wire), name in base._names.items() if wire != "initialize"}
    made: Handler = type("Everything", (base,), methods)()
    opening = base._opening
    own = opening.response if side == "agent" else opening.request
    least = {"protocolVersion": opening.version, "info": {"name": side, "version": "1"}}
    whole = module(profile).convert({**least, **told}, own)
    made.capabilities = getattr(whole, getattr(opening, f"{side}_capabilities"))
    if side == "agent":
        made.auth_methods = getattr(whole, opening.auth_methods)
    return made


class Pair(NamedTuple):
    """A conversation: both sides' callers, what was handled on either, and the frames that the client saw."""

    agent: Any
    client: Any
    handled: list[str]
    frames: list[dict[str, Any]]

    def remote(self, side: str) -> Any:
        return self.agent if side == "agent" else self.client


@contextlib.asynccontextmanager
async def talking(
    profile: str,
    agent: Mapping[str, Any] = {},
    client: Mapping[str, Any] = {},
    *,
    agent_gates: bool = True,
    client_gates: bool = True,
) -> AsyncIterator[Pair]:
    handled: list[str] = []
    frames: list[dict[str, Any]] = []
    ours, theirs = MemoryTransport.pair()
    agents = [handler(profile, "agent", agent, handled)]
    clients = [handler(profile, "client", client, handled)]
    connection: Connection
    async with (
        served(theirs, agents, strict=False, observer=None, gates=agent_gates) as connection,
        opened(
            ours,
            clients,
            strict=False,
            timeout=None,
            observer=lambda way, frame: frames.append(json.loads(frame)),
            gates=client_gates,
        ) as remote,
    ):
        frames.clear()
        yield Pair(remote, connection.remote, handled, frames)

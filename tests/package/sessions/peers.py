"""A client's side of a connection to an agent that a test plays, frame by frame."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any

from acp_bindings import v1, v2

from tests.package.connection.links import LINKS
from tests.package.connection.wires import Wire

TEXT = {"type": "text", "text": "hi"}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "ever", "name": "Ever", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
VERSIONS: dict[str, tuple[int, ModuleType]] = {
    "v1": (1, v1), "v1.unstable": (1, v1.unstable), "v2": (2, v2), "v2.unstable": (2, v2.unstable),
}  # fmt: skip


@dataclasses.dataclass
class Peer:
    """The agent that a test plays. What the client sent is read with `expect`, in order."""

    wire: Wire
    version: int
    session: str = "s"
    asked: int = 0

    async def expect(self, method: str | None) -> Any:
        """The next message, which has this method; None is for an answer."""
        message = await self.wire.receive()
        assert message is not None, f"the client went away instead of sending {method}"
        assert message.get("method") == method, message
        return message

    async def answer(self, message: Any, **result: Any) -> None:
        await self.wire.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def refuse(self, message: Any, code: int, text: str = "no") -> None:
        await self.wire.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}})

    async def tell(self, kind: str, /, session: str | None = None, **members: Any) -> None:
        update = {"sessionUpdate": kind, **members}
        params = {"sessionId": session or self.session, "update": update}
        await self.wire.send({"jsonrpc": "2.0", "method": "session/update", "params": params})

    async def say(self, text: str, session: str | None = None) -> None:
        await self.tell("agent_message_chunk", session, messageId="a", content={"type": "text", "text": text})

    async def state(self, state: str, reason: str | None = None, **members: Any) -> None:
        """A state update; version 1 has none."""
        if self.version == 2:
            members |= {} if reason is None else {"stopReason": reason}
            await self.tell("state_update", state=state, **members)

    async def ask(self, **members: Any) -> int:
        """Ask for permission; its id."""
        self.asked += 1
        params = {"sessionId": self.session, "options": OPTIONS, **members}
        named = {"toolCall": {"toolCallId": "t", "title": "May I?"}} if self.version == 1 else {"title": "May I?"}
        frame = {"method": "session/request_permission", "params": named | params}
        await self.wire.send({"jsonrpc": "2.0", "id": self.asked, **frame})
        return self.asked

    async def outcome(self, identity: int) -> Any:
        message = await self.expect(None)
        assert message["id"] == identity
        return message["result"]["outcome"] if "result" in message else message["error"]

    async def opened(self, method: str = "session/new", **result: Any) -> Any:
        """Answer what opens the session."""
        request = await self.expect(method)
        await self.answer(request, **({"sessionId": self.session} if method == "session/new" else {}), **result)
        return request

    async def take(self, message_id: str = "m") -> Any:
        """Take a prompt up, and begin: the prompt."""
        prompt = await self.expect("session/prompt")
        if self.version == 2:
            await self.tell("user_message", messageId=message_id, content=prompt["params"]["prompt"])
            await self.answer(prompt, messageId=message_id)
            await self.state("running")
        return prompt

    async def finish(self, prompt: Any, reason: str = "end_turn") -> None:
        """End a turn."""
        if self.version == 2:
            await self.state("idle", reason)
        else:
            await self.answer(prompt, stopReason=reason)

    async def closed(self) -> None:
        """Answer what closes the session."""
        await self.answer(await self.expect("session/close"))

    async def to_the_end(self) -> None:
        """Close whatever is closed, until the client has gone."""
        while (message := await self.wire.receive()) is not None:
            if message.get("method") == "session/close":
                await self.answer(message)


Script = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def talking(
    script: Script, version: str = "v2", client: Any = None, link: str = "memory", **options: Any
) -> AsyncIterator[Any]:
    """The caller for an agent that runs `script`, up to its end; then it only closes sessions."""
    number, module = VERSIONS[version]

    async def play(wire: Wire) -> None:
        hello = await wire.receive()
        if number == 1:
            able = {"agentCapabilities": {"loadSession": True, "sessionCapabilities": {"close": {}, "resume": {}}}}
        else:
            able = {"info": {"name": "peer", "version": "1"}, "capabilities": {"session": {}}}
        await wire.send({"jsonrpc": "2.0", "id": hello["id"], "result": {"protocolVersion": number, **able}})
        peer = Peer(wire, number)
        with contextlib.suppress(GoneError):
            await script(peer)
            await peer.to_the_end()

    async with LINKS[link].scripted(play, client or module.Client(), **options) as agent:
        yield agent


class GoneError(Exception):
    """Raised by a script to go away in the middle."""


def texts(updates: list[Any]) -> list[str]:
    """The texts of the chunks among updates."""
    return [one.content.text for one in updates if type(one).__name__ == "AgentMessageChunk"]


async def drained(turn: Any) -> list[Any]:
    return [update async for update in turn]


def others(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Tasks that were not there before."""
    return asyncio.all_tasks() - before

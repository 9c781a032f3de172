"""Agents for the behaviour suite. Each transport serves the same ones; `python agents.py NAME` serves one on stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from acp_bindings import stdio, v1, v2
from acp_bindings.runtime.connection import Context
from acp_bindings.runtime.routing import Handler
from acp_bindings.v2 import RequestError, extension
from msgspec import Struct

SESSION = "s1"


class Doubling(Struct):
    """Typed params of an extension method."""

    number: int


class Doubled(Struct):
    number: int


def chunk(text: str, session: str = SESSION) -> v2.UpdateSessionNotification:
    content = v2.TextContent(text=text)
    return v2.UpdateSessionNotification(
        session_id=session, update=v2.AgentMessageChunk(message_id="m", content=content)
    )


def permission() -> v2.RequestPermissionRequest:
    return v2.RequestPermissionRequest(
        session_id=SESSION,
        title="May I?",
        subject=v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id="t")),
        options=[v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")],
    )


class Last(Handler):
    """Answers the request by which a bare end knows that all before it has been answered."""

    @extension("_test/last")
    async def last(self, request: Any, context: Context) -> dict[str, Any]:
        return {}


class ScriptedAgent(Last, v2.Agent):
    """Does what it is asked to: the working folder of session/new and the text of a prompt name it."""

    info = v2.Implementation(name="scripted", version="1")
    capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()
        self.cancelled_sessions: list[str] = []

    async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
        answer = v2.NewSessionResponse(session_id=SESSION)
        if request.cwd == "/early":
            await context.remote.session_update(chunk("before the answer"))
        elif request.cwd == "/commands":
            commands = v2.AvailableCommandsUpdate(available_commands=[])
            update = v2.UpdateSessionNotification(session_id=SESSION, update=commands)
            context.after_response(lambda: context.remote.session_update(update))
        elif request.cwd == "/hook-of-a-failure":
            context.after_response(lambda: context.remote.session_update(chunk("never")))
            raise RequestError(-32000, "log in first", {"hint": 1})
        elif request.cwd == "/none":
            return None  # type: ignore[return-value]
        elif request.cwd == "/wrong":
            return v2.ListSessionsResponse(sessions=[])  # type: ignore[return-value]
        elif request.cwd == "/bug":
            raise KeyError("a secret")
        elif request.cwd == "/bad-data":
            raise RequestError(-32000, "of no JSON form", {"set": {1, object()}})
        elif request.cwd == "/stray":
            raise asyncio.CancelledError
        elif request.cwd == "/meta":
            return v2.NewSessionResponse(session_id=SESSION, meta=request.meta)
        return answer

    async def session_close(self, request: v2.CloseSessionRequest, context: Context) -> v2.CloseSessionResponse:
        return None  # type: ignore[return-value]

    async def session_list(self, request: v2.ListSessionsRequest, context: Context) -> v2.ListSessionsResponse:
        return v2.ListSessionsResponse(sessions=[])

    async def session_resume(self, request: v2.ResumeSessionRequest, context: Context) -> v2.ResumeSessionResponse:
        return v2.ResumeSessionResponse()

    async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
        for number in range(int(getattr(request.prompt[0], "text", "0"))):
            await context.remote.session_update(chunk(str(number)))
        return v2.PromptResponse(message_id="m")

    async def session_cancel(self, notification: v2.CancelSessionNotification, context: Context) -> None:
        self.cancelled_sessions.append(notification.session_id)

    @extension("_test/wait")
    async def wait(self, request: dict[str, Any], context: Context) -> dict[str, Any]:
        """Say that it began, then wait until released. Cancelled, answer in its own way if it was asked to."""
        await context.remote.extension_notification("_test/started", request)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            if "own answer" in request:
                return {"outcome": "cancelled"}
            await context.remote.extension_notification("_test/cancelled", request)
            raise
        return {"outcome": "released"}

    @extension("_test/release", notification=True)
    async def release(self, notification: Any, context: Context) -> None:
        self.released.set()

    @extension("_test/ask")
    async def ask(self, request: Any, context: Context) -> dict[str, Any]:
        """Call back from inside a request."""
        answer = await context.remote.session_request_permission(permission())
        return {"outcome": v2.to_builtins(answer.outcome)}

    @extension("_test/ask_and_give_up")
    async def ask_and_give_up(self, request: Any, context: Context) -> dict[str, Any]:
        """Ask, and stop waiting once the client says that it was asked."""
        asking = asyncio.ensure_future(context.remote.session_request_permission(permission()))
        await self.released.wait()
        asking.cancel()
        await asyncio.wait([asking])
        return {"given up": asking.cancelled()}

    @extension("_test/notice", notification=True)
    async def notice(self, notification: Any, context: Context) -> None:
        """Call back from inside a notification."""
        answer = await context.remote.session_request_permission(permission())
        await context.remote.extension_notification("_test/noticed", v2.to_builtins(answer.outcome))

    @extension("_test/double", params=Doubling, result=Doubled)
    async def double(self, request: Doubling, context: Context) -> Doubled:
        return Doubled(request.number * 2)

    @extension("_test/raw")
    async def raw(self, request: Any, context: Context) -> dict[str, Any]:
        return {"raw": context.raw.decode()}

    @extension("_test/large")
    async def large(self, request: dict[str, Any], context: Context) -> dict[str, Any]:
        return {"text": "x" * request["size"]}

    @extension("_test/cancelled_sessions")
    async def sessions(self, request: Any, context: Context) -> list[str]:
        return self.cancelled_sessions

    @extension("_test/flood", notification=True)
    async def flood(self, notification: dict[str, Any], context: Context) -> None:
        for number in range(notification["count"]):
            await context.remote.extension_notification("_test/drop", {"number": number, "text": "x" * 1000})
        await context.remote.extension_notification("_test/flooded", {})


class OlderAgent(Last, v1.Agent):
    """Speaks version 1."""

    info = v1.Implementation(name="older", version="1")
    auth_methods = (v1.AuthMethodAgent(id="a", name="A"),)

    async def session_new(self, request: v1.NewSessionRequest, context: Context) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id=SESSION)

    async def authenticate(self, request: v1.AuthenticateRequest, context: Context) -> v1.AuthenticateResponse:
        return None  # type: ignore[return-value]


class EagerAgent(ScriptedAgent):
    """Talks as soon as it may."""

    async def connection_opened(self, context: Context) -> None:
        await context.remote.session_update(chunk("hello"))
        answer = await context.remote.session_request_permission(permission())
        await context.remote.session_update(chunk(type(answer.outcome).__name__))


class PickyAgent(ScriptedAgent):
    """Does not let everybody in."""

    async def initialize(self, request: v2.InitializeRequest, context: Context) -> v2.InitializeResponse:
        if request.info.name != "friend":
            raise RequestError(-32000, "who are you?")
        return await super().initialize(request, context)


AGENTS: dict[str, Callable[[], list[Handler]]] = {
    "scripted": lambda: [ScriptedAgent()],
    "older": lambda: [OlderAgent()],
    "both": lambda: [OlderAgent(), ScriptedAgent()],
    "eager": lambda: [EagerAgent()],
    "picky": lambda: [PickyAgent()],
}

if __name__ == "__main__":
    limits = {name: int(value) for name, value in (one.split("=") for one in sys.argv[2:])}
    asyncio.run(stdio.serve(AGENTS[sys.argv[1]](), **limits))  # type: ignore[arg-type]

"""Our agents on this process's stdin and stdout, for the SDK's clients to talk to; or over HTTP and WebSocket.

python -m tests.interop.typescript.our_agent v2 | v2-unstable | v1, or several of them. With `serve` among them it
prints its URL, and serves until it is terminated.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable
from typing import Any, ClassVar

from acp_bindings import http, stdio, v1, v2

from tests.interop.typescript import turns
from tests.interop.typescript.node import wire

u = v2.unstable


class Logging:
    """What agents of all versions have in common: the extension methods, and a log of what reached a handler, typed."""

    p: ClassVar[Any]

    def __init__(self) -> None:
        super().__init__()
        self.log: list[list[Any]] = []

    def note(self, name: str, value: Any) -> None:
        """Log a model with its class, or plain JSON."""
        plain = value if isinstance(value, dict | list | str | None) else self.p.to_builtins(value)
        self.log.append([name, type(value).__name__, plain])

    async def settled(self, name: str, call: Any) -> None:
        """Log what a call comes to."""
        try:
            self.note(name, await call)
        except v2.RequestError as error:
            self.note(name, {"code": error.code, "message": error.message, "data": error.data})

    async def initialize(self, request: Any, context: Any) -> Any:
        self.note("initialize", request)
        return await super().initialize(request, context)  # type: ignore[misc]

    async def session_new(self, request: Any, context: Any) -> Any:
        self.note("session/new", request)
        return self.p.NewSessionResponse(session_id="session-1")

    @v2.extension("_acme.dev/echo")
    async def echo(self, params: Any, context: Any) -> Any:
        return params

    @v2.extension("_acme.dev/log")
    async def tell_log(self, params: Any, context: Any) -> Any:
        return self.log

    @v2.extension("_acme.dev/silent")
    async def silent(self, params: Any, context: Any) -> None:
        return None

    @v2.extension("_acme.dev/note", notification=True)
    async def noted(self, params: Any, context: Any) -> None:
        self.note("_acme.dev/note", params)

    def refuse(self, text: str) -> None:
        """The prompts that come to nothing."""
        print("a line that is no message:", text)
        if text == "fail":
            raise v2.RequestError(-32050, "out of quota", {"retryAfter": 30, "tags": ["a", None]})
        if text == "break":
            raise LookupError("a bug, which is nobody's business")


class AgentV2(Logging):
    """Version 2, either channel."""

    def __init__(self) -> None:
        super().__init__()
        self.turn: asyncio.Task[None] | None = None

    async def session_list(self, request: Any, context: Any) -> Any:
        info = self.p.SessionInfo(session_id="session-1", cwd="/project", title=None, meta={"acme.dev": []})
        return self.p.ListSessionsResponse(sessions=[info], next_cursor="")

    async def session_resume(self, request: Any, context: Any) -> Any:
        raise v2.RequestError(-32002, "Resource not found", {"sessionId": request.session_id})

    async def session_close(self, request: Any, context: Any) -> Any:
        self.note("session/close", request)

    async def session_prompt(self, request: Any, context: Any) -> Any:
        self.note("session/prompt", request)
        text = request.prompt[0].text
        self.refuse(text)

        async def start() -> None:
            self.turn = asyncio.create_task(self.loudly(self.stall if text == "stall" else self.run, context))

        context.after_response(start)
        return v2.PromptResponse(message_id="message-1")

    async def session_cancel(self, notification: Any, context: Any) -> None:
        self.note("session/cancel", notification)
        assert self.turn is not None
        self.turn.cancel()

    async def loudly(self, turn: Any, context: Any) -> None:
        """Run a turn; when it fails, so does the conversation."""
        try:
            await turn(context.remote)
        except Exception:
            traceback.print_exc()
            await context.connection.close("the turn failed")

    async def tell(self, remote: Any, updates: list[Any]) -> None:
        for update in updates:
            await remote.session_update(self.p.UpdateSessionNotification(session_id="session-1", update=update))

    async def run(self, remote: Any) -> None:
        await self.tell(remote, turns.opening_v2(self.p))
        await self.settled("permission", remote.session_request_permission(turns.permission_v2()))
        await self.settled("asked", remote.extension_request("_acme.dev/ask", {"question": "why"}))
        await self.settled("refused", remote.extension_request("_acme.dev/refuse"))
        await self.settled("unheard of", remote.extension_request("_acme.dev/unheard_of"))
        await remote.extension_notification("_acme.dev/note", {"n": 1})
        await self.tell(remote, turns.news_v2(self.p))
        await self.more(remote)
        await self.tell(remote, [turns.ending_v2(self.p)])

    async def more(self, remote: Any) -> None:
        """What a channel adds."""

    async def stall(self, remote: Any) -> None:
        try:
            await self.tell(remote, turns.stalled_v2(self.p))
            await remote.session_request_permission(turns.permission_v2("Go on?"))
        except asyncio.CancelledError:
            self.note("turn", "cancelled")
            await self.tell(remote, [self.p.IdleStateUpdate(stop_reason="cancelled")])

    @v2.extension("_acme.dev/slow")
    async def slow(self, params: Any, context: Any) -> Any:
        await context.remote.extension_notification("_acme.dev/started")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.note("slow", "cancelled")
            raise


class StableAgent(AgentV2, v2.Agent):
    p: ClassVar[Any] = v2
    info = v2.Implementation(name="python", version="1")
    capabilities = v2.advertise(v2.AgentCapabilities(session=v2.SessionCapabilities()), "acme.dev", {"echo": True})


class UnstableAgent(AgentV2, u.Agent):
    p: ClassVar[Any] = u
    info = u.Implementation(name="python", version="1")
    capabilities = u.advertise(
        u.AgentCapabilities(
            session=u.SessionCapabilities(
                title=u.SessionTitleCapabilities(), mcp=u.McpCapabilities(acp=u.McpAcpCapabilities())
            )
        ),
        "acme.dev",
        {"echo": True},
    )

    async def more(self, remote: Any) -> None:
        request = u.MessageMcpRequest(
            server_id="server-1", request_id="7", method="tools/list", params={"cursor": None}
        )
        await self.settled("mcp", remote.mcp_message(request))
        await self.tell(remote, turns.experiments())

    async def session_set_title(self, request: Any, context: Any) -> Any:
        return u.SetSessionTitleResponse(title=request.title.strip())

    async def mcp_message(self, notification: Any, context: Any) -> None:
        self.note("mcp/message", notification)


class AgentV1(Logging, v1.Agent):
    """Version 1."""

    p: ClassVar[Any] = v1
    info = v1.Implementation(name="python", version="1")
    capabilities = v1.advertise(v1.AgentCapabilities(load_session=True), "acme.dev", {"echo": True})

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = asyncio.Event()

    async def session_load(self, request: Any, context: Any) -> Any:
        self.note("session/load", request)

    async def session_prompt(self, request: Any, context: Any) -> Any:
        self.note("session/prompt", request)
        text = request.prompt[0].text
        self.refuse(text)
        remote = context.remote
        if text == "stall":
            await self.tell(remote, [turns.STALLED_V1])
            await self.settled("permission", remote.session_request_permission(turns.permission_v1()))
            await self.cancelled.wait()
            return v1.PromptResponse(stop_reason="cancelled")
        await self.tell(remote, turns.opening_v1())
        await self.settled("permission", remote.session_request_permission(turns.permission_v1()))
        file = v1.ReadTextFileRequest(session_id="session-1", path="/project/a.txt", limit=1)
        await self.settled("read", remote.fs_read_text_file(file))
        written = v1.WriteTextFileRequest(session_id="session-1", path="/a", content="")
        await self.settled("write", remote.fs_write_text_file(written))
        terminal = v1.CreateTerminalRequest(session_id="session-1", command="ls")
        await self.settled("terminal", remote.terminal_create(terminal))
        await self.settled("asked", remote.extension_request("_acme.dev/ask", {"question": "why"}))
        await self.settled("silent", remote.extension_request("_acme.dev/silent"))
        await remote.extension_notification("_acme.dev/note", {"n": 1})
        await self.tell(remote, turns.news_v1())
        # Version 1 has no class for these: its set of updates is closed.
        for update in wire("v1")["unknown"]:
            await context.connection.notify("session/update", {"sessionId": "session-1", "update": update})
        await self.tell(remote, turns.ending_v1())
        return v1.PromptResponse(stop_reason="end_turn")

    async def session_cancel(self, notification: Any, context: Any) -> None:
        self.note("session/cancel", notification)
        self.cancelled.set()

    async def tell(self, remote: Any, updates: list[Any]) -> None:
        for update in updates:
            await remote.session_update(v1.SessionNotification(session_id="session-1", update=update))


AGENTS: dict[str, Any] = {"v2": StableAgent, "v2-unstable": UnstableAgent, "v1": AgentV1}


async def serve(make: Callable[[], list[Any]]) -> None:
    def tell(url: str) -> None:
        print(url, flush=True)
        # As over stdio, what agents print is no message.
        sys.stdout = sys.stderr

    options = {"access_log": False, "log_level": "warning"}
    await http.serve(make, port=0, strict=True, on_start=tell, uvicorn_options=options)


def main(*names: str) -> None:
    def make() -> list[Any]:
        return [AGENTS[name]() for name in names if name != "serve"]

    asyncio.run(serve(make) if "serve" in names else stdio.serve(make(), strict=True))


if __name__ == "__main__":
    main(*sys.argv[1:])

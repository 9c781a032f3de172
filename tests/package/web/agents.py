"""Agents for the tests of the server, beside those of the behaviour suite."""

from __future__ import annotations

import asyncio
from typing import Any

from acp_bindings import v2
from acp_bindings.runtime.connection import Context
from acp_bindings.v2 import extension


def chunk(session: str, text: str) -> v2.UpdateSessionNotification:
    update = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text=text))
    return v2.UpdateSessionNotification(session_id=session, update=update)


def text_of(message: Any) -> str:
    """The text of an update that `chunk` made."""
    text: str = message["params"]["update"]["content"]["text"]
    return text


class Counting(v2.Agent):
    """Makes sessions, and streams the numbers that a prompt asks for: `COUNT` or `COUNT SIZE`, the bytes of each.

    A count below zero goes on until the turn is cancelled.
    """

    info = v2.Implementation(name="counting", version="1")
    capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())

    def __init__(self) -> None:
        super().__init__()
        self.sessions = 0
        self.turns = 0
        self.written = 0
        self.cancelled: list[str] = []
        self.ended = asyncio.Event()

    async def session_new(self, request: v2.NewSessionRequest, context: Context) -> v2.NewSessionResponse:
        self.sessions += 1
        return v2.NewSessionResponse(session_id=f"s{self.sessions}")

    async def session_prompt(self, request: v2.PromptRequest, context: Context) -> v2.PromptResponse:
        count, _, size = getattr(request.prompt[0], "text", "0").partition(" ")
        self.turns += 1
        try:
            number = 0
            while number != int(count):
                await context.remote.session_update(chunk(request.session_id, str(number).rjust(int(size or 0))))
                number += 1
                self.written += 1
                if int(count) < 0:
                    await asyncio.sleep(0)
        except (asyncio.CancelledError, v2.ConnectionClosed) as error:
            self.cancelled.append(request.session_id)
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self.turns -= 1
        return v2.PromptResponse(message_id="m")

    async def session_list(self, request: v2.ListSessionsRequest, context: Context) -> v2.ListSessionsResponse:
        return v2.ListSessionsResponse(sessions=[])

    async def session_resume(self, request: v2.ResumeSessionRequest, context: Context) -> v2.ResumeSessionResponse:
        return v2.ResumeSessionResponse()

    async def session_close(self, request: v2.CloseSessionRequest, context: Context) -> v2.CloseSessionResponse:
        return v2.CloseSessionResponse()

    async def session_cancel(self, notification: v2.CancelSessionNotification, context: Context) -> None:
        self.cancelled.append(f"asked for {notification.session_id}")

    @extension("_test/size")
    async def size(self, request: Any, context: Context) -> dict[str, Any]:
        return {"size": len(request.get("text", "")), "text": "y" * request.get("answer", 0)}

    @extension("_test/leave")
    async def leave(self, request: Any, context: Context) -> dict[str, Any]:
        await context.connection.close("enough")
        return {}

    async def connection_closed(self) -> None:
        self.ended.set()


class Family:
    """A factory that remembers what it made."""

    def __init__(self) -> None:
        self.agents: list[Counting] = []

    def __call__(self) -> Counting:
        self.agents.append(Counting())
        return self.agents[-1]

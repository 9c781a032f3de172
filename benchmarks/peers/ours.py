"""An agent on acp_bindings: a prompt that says "5" is answered with five chunks."""

from __future__ import annotations

import asyncio

from acp_bindings import stdio, v1
from acp_bindings.runtime.connection import Context


class Agent(v1.Agent):
    info = v1.Implementation(name="ours", version="0")

    async def session_new(self, request: v1.NewSessionRequest, context: Context) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id="s")

    async def session_prompt(self, request: v1.PromptRequest, context: Context) -> v1.PromptResponse:
        block = request.prompt[0]
        assert isinstance(block, v1.TextContent)
        for number in range(int(block.text)):
            chunk = v1.AgentMessageChunk(content=v1.TextContent(text=f"chunk {number} of an answer of some length"))
            await context.remote.session_update(v1.SessionNotification(session_id=request.session_id, update=chunk))
        return v1.PromptResponse(stop_reason="end_turn")

    async def session_cancel(self, notification: v1.CancelNotification, context: Context) -> None:
        """A turn is over before anybody could cancel it."""


if __name__ == "__main__":
    asyncio.run(stdio.serve(Agent()))

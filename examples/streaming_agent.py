"""An agent whose turns take a while: it streams words, runs a tool that needs permission, and can be cancelled.

Try it: python examples/print_client.py python examples/streaming_agent.py
"""

import asyncio
from typing import Any
from uuid import uuid4

from acp_bindings import stdio, v1, v2


class Streaming:
    """One turn for both versions; `acp` has the models of the one that is spoken."""

    acp: Any

    async def turn(self, session: Any, prompt: list[Any]) -> None:
        await say(session, "I will write that down.")
        written = await self.write(session)
        if self.acp is v2:
            # What the protocol has no word for gets a tag of one's own; clients that do not know it lose nothing.
            await session.update(v2.UnknownSessionUpdate({"sessionUpdate": "_example.dev/mood", "mood": "content"}))
        await say(session, "Done." if written else "Then I leave it.")

    async def write(self, session: Any) -> bool:
        """A tool call, from its announcement to its end, which comes when the turn is cancelled too."""
        acp, call = self.acp, uuid4().hex
        announced = v1.ToolCall if acp is v1 else acp.SessionToolCallUpdate
        await session.update(announced(tool_call_id=call, title="Write notes.txt", kind="edit", status="pending"))
        end = acp.SessionToolCallUpdate(tool_call_id=call, status="failed" if acp is v1 else "cancelled")
        try:
            answer = await session.ask("Write to notes.txt?", tool_call=call)
            if answer.allowed:
                await session.update(acp.SessionToolCallUpdate(tool_call_id=call, status="in_progress"))
                end.content = [acp.Content(content=acp.TextContent(text="1 line written"))]
                end.status = "completed"
        finally:
            await session.update(end)
        return bool(answer.allowed)


async def say(session: Any, text: str) -> None:
    for word in text.split(" "):
        await session.say(f"{word} ")


class StreamingAgent(Streaming, v2.SessionAgent):
    info = v2.Implementation(name="streaming", version="1.0")
    acp = v2


class OlderStreamingAgent(Streaming, v1.SessionAgent):
    """The same for clients that speak version 1 only."""

    info = v1.Implementation(name="streaming", version="1.0")
    acp = v1


if __name__ == "__main__":
    asyncio.run(stdio.serve([StreamingAgent(), OlderStreamingAgent()]))

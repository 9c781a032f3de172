"""An agent whose turns take a while: it streams words, runs a tool that needs permission, and can be cancelled.

Try it: python examples/print_client.py python examples/streaming_agent.py
"""

import asyncio
from uuid import uuid4

from acp_bindings import stdio, v1, v2


def words(text: str) -> list[str]:
    """A text in the pieces that a model would say it in."""
    return [f"{word} " for word in text.split(" ")]


class StreamingAgent(v2.SessionAgent):
    info = v2.Implementation(name="streaming", version="1.0")

    async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
        for word in words("I will write that down."):
            await session.say(word)
        call = uuid4().hex
        await session.update(
            v2.SessionToolCallUpdate(tool_call_id=call, title="Write notes.txt", kind="edit", status="pending")
        )
        status = "cancelled"
        try:
            answer = await session.ask("Write to notes.txt?", tool_call=call)
            if answer.allowed:
                await session.update(v2.SessionToolCallUpdate(tool_call_id=call, status="in_progress"))
                written = v2.Content(content=v2.TextContent(text="1 line written"))
                await session.update(v2.ToolCallContentChunk(tool_call_id=call, content=written))
                status = "completed"
        finally:
            # A turn that is cancelled gets here too.
            await session.update(v2.SessionToolCallUpdate(tool_call_id=call, status=status))
        # What the protocol has no word for gets a tag of one's own; clients that do not know it lose nothing.
        await session.update(v2.UnknownSessionUpdate({"sessionUpdate": "_example.dev/mood", "mood": "content"}))
        for word in words("Done." if status == "completed" else "Then I leave it."):
            await session.say(word)


class StreamingAgentV1(v1.SessionAgent):
    """The same for clients that speak version 1, which has fewer words for it."""

    info = v1.Implementation(name="streaming", version="1.0")

    async def turn(self, session: v1.AgentSession, prompt: list[v1.ContentBlock]) -> None:
        for word in words("I will write that down."):
            await session.say(word)
        call = uuid4().hex
        await session.update(v1.ToolCall(tool_call_id=call, title="Write notes.txt", kind="edit", status="pending"))
        status: v1.ToolCallStatus = "failed"
        try:
            if (await session.ask("Write to notes.txt?", tool_call=call)).allowed:
                await session.update(v1.SessionToolCallUpdate(tool_call_id=call, status="in_progress"))
                status = "completed"
        finally:
            await session.update(v1.SessionToolCallUpdate(tool_call_id=call, status=status))
        for word in words("Done." if status == "completed" else "Then I leave it."):
            await session.say(word)


if __name__ == "__main__":
    asyncio.run(stdio.serve([StreamingAgent(), StreamingAgentV1()]))

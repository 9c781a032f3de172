"""Talk to Goose: one prompt, what it does about it, and a question before each tool that it runs.

    python examples/goose_client.py PATH_TO_GOOSE "what is in this folder?"

Goose works in the current folder, with the model that `goose configure` has set up. Needs acp-bindings.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from acp_bindings import stdio, v1


class Terminal(v1.Client):
    """Shows a session to whoever sits at the terminal, and asks there for permission."""

    info = v1.Implementation(name="goose_client", version="1")

    async def session_update(self, notification: v1.SessionNotification, context: Any) -> None:
        match notification.update:
            case v1.AgentMessageChunk(content=v1.TextContent(text=text)):
                print(text, end="", flush=True)
            case v1.ToolCall(title=title):
                print(f"\n[tool] {title}")
            case v1.ToolCallUpdate(status="completed" | "failed" as status, content=content):
                print(f"[{status}] {shown(content)}")
            case v1.SessionInfoUpdate(title=str(title)):
                print(f"\n[title] {title}")
            case _:
                pass  # commands, usage, plans, and what newer agents may send

    async def session_request_permission(
        self, request: v1.RequestPermissionRequest, context: Any
    ) -> v1.RequestPermissionResponse:
        names = ", ".join(f"{number} {option.name}" for number, option in enumerate(request.options, 1))
        print(f"\n[may I?] {request.tool_call.title}: {names}")
        try:
            # In a thread: the connection goes on while somebody thinks.
            chosen = request.options[int(await asyncio.to_thread(input)) - 1]
        except (EOFError, ValueError, IndexError):
            return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=chosen.option_id))


def shown(content: Any) -> str:
    """The text in a tool's output."""
    blocks = [item.content for item in content or [] if isinstance(item, v1.Content)]
    return " ".join(block.text for block in blocks if isinstance(block, v1.TextContent))


async def main(goose: str, prompt: str) -> None:
    # GOOSE_MODE makes it ask; by itself it approves every tool call.
    arguments = ("acp", "--with-builtin", "developer")
    async with stdio.connect(goose, *arguments, client=Terminal(), env={"GOOSE_MODE": "approve"}) as agent:
        print(f"[agent] {agent.initialized.agent_info.name} {agent.initialized.agent_info.version}")
        session = await agent.session_new(v1.NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=[]))
        request = v1.PromptRequest(session_id=session.session_id, prompt=[v1.TextContent(text=prompt)])
        answer = await agent.session_prompt(request)
        print(f"\n[end] {answer.stop_reason}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2]))

"""Talk to Goose: one prompt, what it does about it, and a question before each tool that it runs.

    python examples/goose_client.py PATH_TO_GOOSE "what is in this folder?"

Goose works in the current folder, with the model that `goose configure` has set up. Needs acp-bindings.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from acp_bindings import stdio, v1


def show(update: v1.SessionUpdate) -> None:
    match update:
        case v1.AgentMessageChunk(content=v1.TextContent(text=text)):
            print(text, end="", flush=True)
        case v1.ToolCall(title=title):
            print(f"\n[tool] {title}")
        case v1.SessionToolCallUpdate(status="completed" | "failed" as status, content=content):
            print(f"[{status}] {' '.join(map(v1.describe, content or []))}")
        case v1.SessionInfoUpdate(title=str(title)):
            print(f"\n[title] {title}")
        case _:
            pass  # commands, usage, plans, and what newer agents may send


async def ask(request: v1.RequestPermissionRequest) -> Any:
    names = ", ".join(f"{number} {option.name}" for number, option in enumerate(request.options, 1))
    print(f"\n[may I?] {request.tool_call.title}: {names}")
    try:
        # In a thread: the connection goes on while somebody thinks.
        return request.options[int(await asyncio.to_thread(input)) - 1]
    except (EOFError, ValueError, IndexError):
        return None


async def main(goose: str, prompt: str) -> None:
    client = v1.Client(info=v1.Implementation(name="goose_client", version="1"))
    # GOOSE_MODE makes it ask; by itself it approves every tool call.
    arguments = ("acp", "--with-builtin", "developer")
    async with stdio.connect(goose, *arguments, client=client, env={"GOOSE_MODE": "approve"}) as agent:
        if info := agent.initialized.agent_info:
            print(f"[agent] {info.name} {info.version}")
        async with agent.session(Path.cwd(), permissions=ask) as session:
            turn = session.prompt(prompt)
            async for update in turn:
                show(update)
            print(f"\n[end] {turn.stop_reason}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2]))

"""Starts an agent, sends one prompt, and prints everything that it reports, one line each.

    python examples/print_client.py python examples/echo_agent.py
    python examples/print_client.py --prompt "What is in this folder?" goose acp

Speaks protocol version 2, or 1 with agents that know no newer one. It allows once whatever it is asked for: use it in a
folder that you can lose. Ctrl-C cancels the turn.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from acp_bindings import permissions, stdio, v2


async def talk(agent: Any, text: str) -> None:
    async with agent.session(Path.cwd(), permissions=allow) as session:
        turn = session.prompt(text)
        telling = asyncio.ensure_future(tell(turn))
        try:
            await asyncio.shield(telling)
        except asyncio.CancelledError:
            # The agent still has the last word.
            await turn.cancel()
            await telling


async def tell(turn: Any) -> None:
    async for update in turn:
        # What this version does not know is shown as far as anybody can tell.
        if isinstance(update, v2.UnknownVariant):
            print("unknown", v2.describe(update), flush=True)
        else:
            print(type(update).__name__, v2.encode(update).decode(), flush=True)
    print("end", turn.stop_reason, flush=True)


def allow(request: Any) -> Any:
    chosen = permissions.allow_once(request)
    title = request.title if hasattr(request, "title") else request.tool_call.title
    print("permission", json.dumps(title), chosen.option_id if chosen else "cancelled", flush=True)
    return chosen


async def converse(command: list[str], text: str) -> None:
    client = v2.Client(info=v2.Implementation(name="print-client", version="1.0"))
    async with stdio.connect(*command, client=client, on_stderr=print_error) as agent:
        await talk(agent, text)


def print_error(line: str) -> None:
    print("agent:", line, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description="Start an agent, send one prompt, print what it reports.")
    parser.add_argument("--prompt", default="Hello there")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the agent's command and its arguments")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("which agent? give a command")
    try:
        asyncio.run(converse(arguments.command, arguments.prompt))
    except v2.AcpError as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

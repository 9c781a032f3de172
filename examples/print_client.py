"""Starts an agent, sends one prompt, and prints everything that it reports, one line each.

    python examples/print_client.py python examples/echo_agent.py
    python examples/print_client.py --prompt "What is in this folder?" goose acp

Speaks protocol version 2, or 1 with agents that know no newer one. Ctrl-C cancels the turn.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from acp_bindings import stdio, v1, v2
from acp_bindings.runtime.connection import Context


def show(update: Any) -> None:
    """One line: what it is, and its content as JSON. What this version does not know is shown as it came."""
    if isinstance(update, v2.UnknownVariant):
        print("unknown", update.tag, json.dumps(update.raw), flush=True)
    else:
        print(type(update).__name__, v2.encode(update).decode(), flush=True)


def first_allowing(options: list[Any]) -> Any:
    return next((option for option in options if option.kind == "allow_once"), None)


class PrintClient(v2.Client):
    """Prints updates, and allows once whatever it is asked for: use it in a folder that you can lose."""

    info = v2.Implementation(name="print-client", version="1.0")

    def __init__(self) -> None:
        super().__init__()
        self.turn_over = asyncio.Event()

    async def session_update(self, notification: v2.UpdateSessionNotification, context: Context) -> None:
        show(notification.update)
        match notification.update:
            case v2.IdleStateUpdate(stop_reason=str()) | v2.IdleErrorStateUpdate() | v2.UnknownIdleStateUpdate():
                self.turn_over.set()

    async def session_request_permission(
        self, request: v2.RequestPermissionRequest, context: Context
    ) -> v2.RequestPermissionResponse:
        chosen = first_allowing(request.options)
        print("permission", json.dumps(request.title), chosen.option_id if chosen else "cancelled", flush=True)
        if chosen is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        return v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id=chosen.option_id))

    async def talk(self, agent: v2.RemoteAgent, text: str) -> None:
        session_id = (await agent.session_new(v2.NewSessionRequest(cwd=str(Path.cwd())))).session_id
        prompt = v2.PromptRequest(session_id=session_id, prompt=[v2.TextContent(text=text)])
        cancelled = v2.CancelSessionNotification(session_id=session_id)
        await finish(self.turn(agent, prompt), lambda: agent.session_cancel(cancelled))

    async def turn(self, agent: v2.RemoteAgent, prompt: v2.PromptRequest) -> None:
        """The answer says that the prompt was taken. An `idle` update ends the turn, or the agent's own end does."""
        await agent.session_prompt(prompt)
        over, closed = (asyncio.create_task(one.wait()) for one in (self.turn_over, agent.connection.closed))
        await asyncio.wait((over, closed), return_when=asyncio.FIRST_COMPLETED)
        if not over.done():
            # Whatever is sent now raises ConnectionClosed, which tells why the agent has gone.
            await agent.session_cancel(v2.CancelSessionNotification(session_id=prompt.session_id))


class PrintClientV1(v1.Client):
    """The same in version 1, where the answer to the prompt ends the turn."""

    info = v1.Implementation(name="print-client", version="1.0")

    async def session_update(self, notification: v1.SessionNotification, context: Context) -> None:
        show(notification.update)

    async def session_request_permission(
        self, request: v1.RequestPermissionRequest, context: Context
    ) -> v1.RequestPermissionResponse:
        chosen = first_allowing(request.options)
        print(
            "permission", json.dumps(request.tool_call.title), chosen.option_id if chosen else "cancelled", flush=True
        )
        if chosen is None:
            return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id=chosen.option_id))

    async def talk(self, agent: v1.RemoteAgent, text: str) -> None:
        session_id = (await agent.session_new(v1.NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=[]))).session_id
        prompt = v1.PromptRequest(session_id=session_id, prompt=[v1.TextContent(text=text)])
        cancelled = v1.CancelNotification(session_id=session_id)
        await finish(self.turn(agent, prompt), lambda: agent.session_cancel(cancelled))

    async def turn(self, agent: v1.RemoteAgent, prompt: v1.PromptRequest) -> None:
        show(await agent.session_prompt(prompt))


async def finish(turn: Awaitable[None], cancel: Callable[[], Awaitable[None]]) -> None:
    """Wait for a turn. Ctrl-C cancels it; the agent still has the last word."""
    running = asyncio.ensure_future(turn)
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await cancel()
        await running


async def converse(command: list[str], text: str) -> None:
    clients = PrintClient(), PrintClientV1()
    async with stdio.connect(*command, client=clients, on_stderr=print_error) as agent:
        await clients[0 if isinstance(agent, v2.RemoteAgent) else 1].talk(agent, text)


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

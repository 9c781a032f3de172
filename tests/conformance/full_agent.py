"""An agent that has and says whatever an agent can, for the points that the examples do not touch; in both versions.

The first word of a prompt is what a turn does: `everything`, `wait`, `fail`, `ask`, `reach`, `retell`; else it says how
many blocks it was given.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any

from acp_bindings import stdio, v1, v2
from acp_bindings.runtime.sessions.stores import SqliteStore

STEP = {"content": "look around", "priority": "high", "status": "in_progress"}
TEXT = {"type": "text", "text": "found"}
CALL = {"toolCallId": "call", "title": "Look around", "kind": "search", "status": "in_progress"}
MODES = [{"value": "slow", "name": "Slow"}, {"value": "fast", "name": "Fast"}]
SMALL = [{"value": "small", "name": "Small"}]
# What version 1 knows; version 2 says the same, and more, in its own words.
SAID_1: list[dict[str, Any]] = [
    {"sessionUpdate": "tool_call", **CALL},
    {"sessionUpdate": "tool_call_update", "toolCallId": "call", "content": [{"type": "content", "content": TEXT}]},
    {"sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "completed"},
    {"sessionUpdate": "plan", "entries": [STEP]},
    {"sessionUpdate": "usage_update", "used": 10, "size": 100},
]
SAID_2: list[dict[str, Any]] = [
    {"sessionUpdate": "tool_call_update", "name": "look", "_meta": {"example.dev/from": "here"}, **CALL},
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "call", "content": {"type": "content", "content": TEXT}},
    {"sessionUpdate": "tool_call_update", "toolCallId": "call", "status": "completed"},
    {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "plan", "entries": [STEP]}},
    {"sessionUpdate": "plan_update", "plan": {"type": "_example.dev/tree", "planId": "tree", "root": STEP}},
    {"sessionUpdate": "terminal_update", "terminalId": "shell", "command": "ls", "cwd": "/tmp"},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "shell", "data": "bm90ZXM="},
    {"sessionUpdate": "terminal_update", "terminalId": "shell", "output": {"data": "bm90ZXMK"}},
    {"sessionUpdate": "terminal_update", "terminalId": "shell", "exitStatus": {"exitCode": 0}},
    {"sessionUpdate": "usage_update", "used": 10, "size": 100},
    {"sessionUpdate": "_example.dev/mood", "mood": "content"},
]


def options(version: int) -> list[dict[str, Any]]:
    """A flat list, a list of groups, and a switch; the versions spell ids differently."""
    config, group = ("id", "group") if version == 1 else ("configId", "groupId")
    models = [{group: "ours", "name": "Ours", "options": SMALL}]
    return [
        {"type": "select", config: "pace", "name": "Pace", "currentValue": "slow", "options": MODES},
        {"type": "select", config: "model", "name": "Model", "currentValue": "small", "options": models},
        {"type": "boolean", config: "loud", "name": "Loud", "currentValue": False},
    ]


class Full:
    """What both versions do alike."""

    version: int
    updates: Any
    option: Any
    command: Any
    convert = staticmethod(v2.convert)

    async def opened(self, session: Any) -> None:
        if session.config_options:
            return
        session.config_options += [self.convert(wire, self.option) for wire in options(self.version)]
        command = {"name": "web", "description": "Search the web"} | ({"type": "command"} if self.version > 1 else {})
        session.commands.append(self.convert(command, self.command))

    async def turn(self, session: Any, prompt: list[Any]) -> str | None:
        match getattr(prompt[0], "text", "").split():
            case ["everything", *_]:
                await self.everything(session)
            case ["wait", *_]:
                await session.say("waiting")
                await asyncio.Event().wait()
            case ["fail", *_]:
                raise RuntimeError("a secret")
            case ["ask", *_]:
                answer = await session.ask("May I?", tool_call="call")
                await session.say("allowed" if answer.allowed else "cancelled" if answer.cancelled else "denied")
            case ["reach", *_]:
                await self.reach(session)
            case ["retell", *_]:
                listed = [v2.to_builtins(one) for one in session.config_options]
                await self.tell(session, {"sessionUpdate": "config_option_update", "configOptions": listed})
            case _:
                await session.say(f"{len(prompt)} blocks")
        return None

    async def tell(self, session: Any, wire: dict[str, Any]) -> None:
        await session.update(self.convert(wire, self.updates))

    async def everything(self, session: Any) -> None:
        await session.think("hm")
        await session.say("one ")
        await session.say("two")
        for wire in SAID_1 if self.version == 1 else SAID_2:
            await self.tell(session, wire)
        await session.set_title("Everything")
        await session.say("three")

    async def reach(self, session: Any) -> None:
        """Calls what the client has not offered; nothing of that may leave this process."""
        calls: list[Any] = [self.form(session)]
        if self.version == 1:
            where: dict[str, Any] = {"session_id": session.id, "path": "/tmp/notes"}
            calls += [
                session.remote.fs_read_text_file(v1.ReadTextFileRequest(**where)),
                session.remote.fs_write_text_file(v1.WriteTextFileRequest(content="", **where)),
                session.remote.terminal_create(v1.CreateTerminalRequest(session_id=session.id, command="ls")),
            ]
        refused = await asyncio.gather(*calls, return_exceptions=True)
        await session.say(" ".join(type(one).__name__ for one in refused))

    async def form(self, session: Any) -> None:
        schema = {"type": "object", "properties": {}}
        wire = {"mode": "form", "sessionId": session.id, "message": "Who are you?", "requestedSchema": schema}
        form = (v1 if self.version == 1 else v2).METHODS["client", "request", "elicitation/create"].params
        await session.remote.elicitation_create(self.convert(wire, form))


class Full1(Full, v1.SessionAgent):
    version = 1
    updates, option, command = v1.SessionUpdate, v1.SessionConfigOption, v1.AvailableCommand

    def __init__(self) -> None:
        capabilities = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True},
            "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
            "auth": {"logout": {}},
        }
        super().__init__(
            info=v1.Implementation(name="full", version="1"),
            capabilities=v1.convert(capabilities, v1.AgentCapabilities),
            auth_methods=[
                v1.AuthMethodAgent(id="key", name="Key"),
                v1.AuthMethodTerminal(id="shell", name="Shell", args=["login"], env={"A": "1"}),
            ],
        )

    async def authenticate(self, request: v1.AuthenticateRequest, context: Any) -> v1.AuthenticateResponse:
        return v1.AuthenticateResponse()

    async def logout(self, request: v1.LogoutRequest, context: Any) -> v1.LogoutResponse:
        return v1.LogoutResponse()


class Full2(Full, v2.SessionAgent):
    version = 2
    updates, option, command = v2.SessionUpdate, v2.SessionConfigOption, v2.AvailableCommand

    def __init__(self) -> None:
        capabilities = {
            "session": {
                "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
                "mcp": {"stdio": {}, "http": {}},
                "delete": {},
                "additionalDirectories": {},
            },
            "_meta": {"example.dev/moods": {}},
        }
        super().__init__(
            info=v2.Implementation(name="full", version="1"),
            capabilities=v2.convert(capabilities, v2.AgentCapabilities),
            auth_methods=[
                v2.AuthMethodAgent(method_id="key", name="Key"),
                v2.AuthMethodTerminal(
                    method_id="shell", name="Shell", args=["login"], env=[v2.EnvVariable(name="A", value="1")]
                ),
                v2.UnknownAuthMethod({"type": "_example.dev/card", "methodId": "card", "name": "Card"}),
            ],
        )

    async def auth_login(self, request: v2.LoginAuthRequest, context: Any) -> v2.LoginAuthResponse:
        return v2.LoginAuthResponse()

    async def auth_logout(self, request: v2.LogoutAuthRequest, context: Any) -> v2.LogoutAuthResponse:
        return v2.LogoutAuthResponse()


async def main(path: str | None) -> None:
    """Serve; with the path of a file, sessions are kept in it, and shared with whoever else has it open."""
    newer, older = Full2(), Full1()
    with contextlib.ExitStack() as stack:
        if path is not None:
            newer.store = older.store = stack.enter_context(contextlib.closing(SqliteStore(path)))
        await stdio.serve([newer, older])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else None))

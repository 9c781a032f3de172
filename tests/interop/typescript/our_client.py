"""Our clients, and the conversations that they have with the SDK's agents. Tests then look at what was `Seen`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from acp_bindings import http, stdio, v1, v2, ws

from tests.interop.typescript.node import TIMEOUT, agent_command, server_command

u = v2.unstable


class Recorder:
    """What clients of all versions have in common: they remember what they were told and asked."""

    p: ClassVar[Any]

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[Any] = []
        self.questions: list[Any] = []
        self.heard: list[Any] = []
        self.stops: asyncio.Queue[Any] = asyncio.Queue()
        self.started = asyncio.Event()

    async def session_update(self, notification: Any, context: Any) -> None:
        self.updates.append(notification.update)

    @v2.extension("_acme.dev/ask")
    async def ask(self, params: Any, context: Any) -> Any:
        return {"answer": 42, "to": params["question"]}

    @v2.extension("_acme.dev/refuse")
    async def refuse(self, params: Any, context: Any) -> Any:
        raise v2.RequestError(-32051, "not today", {"until": "tomorrow", "tags": [None, 1]})

    @v2.extension("_acme.dev/silent")
    async def silent(self, params: Any, context: Any) -> None:
        return None

    @v2.extension("_acme.dev/note", notification=True)
    async def noted(self, params: Any, context: Any) -> None:
        self.heard.append(("_acme.dev/note", params))

    @v2.extension("_acme.dev/started", notification=True)
    async def slow_started(self, params: Any, context: Any) -> None:
        self.started.set()

    def selected(self) -> Any:
        return self.p.RequestPermissionResponse(outcome=self.p.SelectedPermissionOutcome(option_id="yes"))

    def cancelled(self) -> Any:
        return self.p.RequestPermissionResponse(outcome=self.p.CancelledPermissionOutcome())


class ClientV2(Recorder):
    """Version 2, either channel. Asked whether to go on, it cancels the turn and waits until nobody asks any more."""

    async def session_update(self, notification: Any, context: Any) -> None:
        await super().session_update(notification, context)
        if isinstance(notification.update, self.p.IdleStateUpdate):
            await self.stops.put(notification.update)

    async def session_request_permission(self, request: Any, context: Any) -> Any:
        self.questions.append(request)
        if request.title != "Go on?":
            return self.selected()
        await context.remote.session_cancel(self.p.CancelSessionNotification(session_id=request.session_id))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.heard.append("the question was withdrawn")
            return self.cancelled()


class StableClient(ClientV2, v2.Client):
    p: ClassVar[Any] = v2
    info = v2.Implementation(name="python", version="1")


class UnstableClient(ClientV2, u.Client):
    p: ClassVar[Any] = u
    info = u.Implementation(name="python", version="1")

    async def mcp_message(self, request: Any, context: Any) -> Any:
        self.heard.append(request)
        return u.MessageMcpError(error=u.McpError(code=-32601, message="no such tool", acme=True))


class ClientV1(Recorder, v1.Client):
    """Version 1. Asked for the second time, it cancels the turn."""

    p: ClassVar[Any] = v1
    info = v1.Implementation(name="python", version="1")
    capabilities = v1.ClientCapabilities(
        fs=v1.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
    )

    async def session_request_permission(self, request: Any, context: Any) -> Any:
        self.questions.append(request)
        if len(self.questions) == 1:
            return self.selected()
        await context.remote.session_cancel(v1.CancelNotification(session_id=request.session_id))
        return self.cancelled()

    async def fs_read_text_file(self, request: Any, context: Any) -> Any:
        return v1.ReadTextFileResponse(content=f"{request.path}:{request.limit}")

    async def fs_write_text_file(self, request: Any, context: Any) -> Any:
        raise v2.RequestError(-32051, "read only", {"disk": "full", "tags": [None, 1]})


CLIENTS = {"v2": StableClient, "v2-unstable": UnstableClient, "v1": ClientV1}


@dataclass
class Seen:
    """What a conversation brought: the answers by name, the agent's own log, and what went wrong on the way."""

    p: Any
    client: Any
    answers: dict[str, Any] = field(default_factory=dict)
    log: Any = None
    stderr: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    exit_code: int | None = None


@contextlib.asynccontextmanager
async def driving(client: Any, *agents: str, over: str = "stdio", **options: Any) -> AsyncIterator[tuple[Any, Seen]]:
    """Drive an SDK agent with a client of ours; fails when all of it takes longer than it may."""
    seen = Seen((client[0] if isinstance(client, list) else client).p, client)

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.warnings.append(record.getMessage())

    collect = Collect(logging.WARNING)
    logging.getLogger("acp_bindings").addHandler(collect)
    try:
        async with asyncio.timeout(TIMEOUT):
            async with (_started if over == "stdio" else _reached)(seen, over, agents, **options) as agent:
                yield agent, seen
    finally:
        logging.getLogger("acp_bindings").removeHandler(collect)


@contextlib.asynccontextmanager
async def _started(seen: Seen, _: str, agents: tuple[str, ...], **options: Any) -> AsyncIterator[Any]:
    """The agent as a process of our own."""
    command = agent_command(*agents)
    async with stdio.connect(*command, client=seen.client, on_stderr=seen.stderr.append, **options) as agent:
        transport = agent.connection.transport
        yield agent
    seen.exit_code = transport.process.returncode


@contextlib.asynccontextmanager
async def _reached(seen: Seen, over: str, agents: tuple[str, ...], **options: Any) -> AsyncIterator[Any]:
    """The agent behind the SDK's server, which has to be on good terms with us to the end."""
    pipe = asyncio.subprocess.PIPE
    command = server_command(*agents)
    server = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert server.stdout is not None
    url = f"{over}://127.0.0.1:{int(await server.stdout.readline())}/acp"
    connect = http.connect if over == "http" else ws.connect
    try:
        async with connect(url, client=seen.client, **options) as agent:
            yield agent
    finally:
        _, complaints = await server.communicate(b"")
        seen.stderr += complaints.decode().splitlines()
        seen.exit_code = server.returncode


async def settled(call: Any) -> Any:
    """What a call comes to: its result, or the error that the other side answered."""
    try:
        return await call
    except v2.RequestError as error:
        return error


async def converse_v2(channel: str, agent_channel: str, over: str = "stdio") -> Seen:
    """The conversation in version 2; the channels of both sides may differ."""
    client: Any = CLIENTS[channel]()
    p = client.p
    async with driving(client, agent_channel, over=over, strict=True) as (agent, seen):
        answers = seen.answers

        async def say(text: str) -> Any:
            prompt = p.PromptRequest(session_id="session-1", prompt=[p.TextContent(text=text)])
            return await settled(agent.session_prompt(prompt))

        answers["initialized"] = agent.initialized
        answers["session"] = await agent.session_new(p.NewSessionRequest(cwd="/project"))
        answers["list"] = await agent.session_list(p.ListSessionsRequest())
        answers["turn"] = await say("turn")
        await client.stops.get()
        answers["fail"] = await say("fail")
        answers["broken"] = await say("break")
        wrong = {"sessionId": "session-1", "prompt": [{"type": "text"}]}
        answers["malformed"] = await settled(agent.connection.request("session/prompt", wrong))
        answers["stall"] = await say("stall")
        await client.stops.get()
        await _extensions(agent, answers)
        call = p.CancelToolCallRequest(session_id="session-1", tool_call_id="call-1")
        answers["tool call"] = await settled(agent.tool_call_cancel(call))
        slow = asyncio.create_task(agent.extension_request("_acme.dev/slow"))
        await client.started.wait()
        slow.cancel()
        answers["slow"] = (await asyncio.gather(slow, return_exceptions=True))[0]
        if p is u:
            title = u.SetSessionTitleRequest(session_id="session-1", title=" A title ")
            answers["title"] = await agent.session_set_title(title)
            note = u.MessageMcpNotification(server_id="server-1", request_id="r", method="notifications/progress")
            await agent.mcp_message(note)
        nowhere = p.ResumeSessionRequest(session_id="nowhere", cwd="/project")
        answers["nowhere"] = await settled(agent.session_resume(nowhere))
        answers["closed"] = await agent.session_close(p.CloseSessionRequest(session_id="session-1"))
        seen.log = await agent.extension_request("_acme.dev/log")
    return seen


async def converse_v1(*agents: str, over: str = "stdio") -> Seen:
    """The conversation in version 1."""
    client = ClientV1()
    async with driving(client, *agents, over=over, strict=True) as (agent, seen):
        answers = seen.answers

        async def say(text: str) -> Any:
            prompt = v1.PromptRequest(session_id="session-1", prompt=[v1.TextContent(text=text)])
            return await settled(agent.session_prompt(prompt))

        answers["initialized"] = agent.initialized
        answers["session"] = await agent.session_new(v1.NewSessionRequest(cwd="/project", mcp_servers=[]))
        answers["turn"] = await say("turn")
        answers["updates"] = len(client.updates)
        answers["fail"] = await say("fail")
        answers["broken"] = await say("break")
        answers["stall"] = await say("stall")
        await _extensions(agent, answers)
        request = v1.LoadSessionRequest(session_id="session-1", cwd="/project", mcp_servers=[])
        answers["loaded"] = await agent.session_load(request)
        seen.log = await agent.extension_request("_acme.dev/log")
    return seen


async def _extensions(agent: Any, answers: dict[str, Any]) -> None:
    """Methods that the protocol does not know, and one that this agent does not."""
    await agent.extension_notification("_acme.dev/note", {"n": 2})
    params = {"text": "Grüße \u2028", "none": None, "many": [1, 2.5]}
    answers["echo"] = await agent.extension_request("_acme.dev/echo", params)
    answers["silent"] = await agent.extension_request("_acme.dev/silent")
    answers["unheard of"] = await settled(agent.extension_request("_acme.dev/unheard_of"))
    answers["unhandled"] = await settled(agent.connection.request("session/delete", {"sessionId": "session-1"}))

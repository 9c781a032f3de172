"""Every example runs as its docstring says, and does what it is there to show."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import acp_bindings
import pytest
from acp_bindings import memory, v2
from acp_bindings.runtime.connection import Context

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMIT = 30.0
"""Seconds after which something hangs."""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(acp_bindings.__file__).parents[1])}
ECHO, STREAMING, CLIENT, PROXY = (
    [sys.executable, str(EXAMPLES / f"{name}.py")]
    for name in ("echo_agent", "streaming_agent", "print_client", "logging_proxy")
)
WORDS = ("unknown", "permission", "end")
TOLD = {
    "tool": ["pending", "in_progress", "completed"],
    "states": ["running", "requires_action", "running", "idle"],
    "text": "I will write that down. Done. ",
}


def run(*command: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=given, capture_output=True, timeout=LIMIT, env=ENVIRONMENT, check=False)


def printed(*command: str) -> list[tuple[str, Any]]:
    """What print_client prints of a turn that goes well: name and JSON of each line."""
    ran = run(*CLIENT, *command)
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stderr == b""
    return parsed(ran.stdout)


def parsed(output: bytes) -> list[tuple[str, Any]]:
    """Lines of JSON with a name before it; those of permissions, unknown variants and the end are words."""
    found = []
    for line in output.decode().removesuffix("\n").split("\n"):
        name, _, rest = line.partition(" ")
        found.append((name, rest if name in WORDS else json.loads(rest)))
    return found


def summary(updates: list[Any]) -> dict[str, Any]:
    """The course of a streaming agent's turn."""
    chunks = [one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"]
    return {
        "tool": [one["status"] for one in updates if one["sessionUpdate"] == "tool_call_update"],
        "states": [one["state"] for one in updates if one["sessionUpdate"] == "state_update"],
        "text": "".join(chunks),
    }


def script(folder: Path, text: str) -> list[str]:
    path = folder / "agent.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n{text}", encoding="utf-8")
    return [sys.executable, str(path)]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"examples_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_echo_agent_says_back_what_it_was_told() -> None:
    said = "two\nlines, a separator \u2028, and \U0001f600"
    lines = printed("--prompt", said, *ECHO)
    assert [name for name, _ in lines] == [
        "UserMessage", "RunningStateUpdate", "AgentMessageChunk", "IdleStateUpdate", "end",
    ]  # fmt: skip
    assert lines[2][1]["content"] == {"type": "text", "text": said}
    assert lines[3][1]["stopReason"] == lines[4][1] == "end_turn"


def test_the_streaming_agent_streams_asks_and_does() -> None:
    lines = printed(*STREAMING)
    assert summary([one for name, one in lines if name not in WORDS]) == TOLD
    assert [one for name, one in lines if name == "permission"] == ['"Write to notes.txt?" allow_once']
    unknown = [one for name, one in lines if name == "unknown"]
    assert unknown == ['_example.dev/mood (extension): {"mood": "content"}']
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    assert lines[-2:] == [("IdleStateUpdate", idle), ("end", "end_turn")]


@pytest.mark.parametrize("agent", ["echo", "streaming"])
def test_the_agents_speak_version_1_too(agent: str, tmp_path: Path) -> None:
    """The same turn, in the words of that version."""
    older = script(
        tmp_path,
        f"""
import asyncio
from acp_bindings import stdio
import {agent}_agent
asyncio.run(stdio.serve({agent}_agent.{agent.capitalize()}AgentV1()))
""",
    )
    lines = printed(*older)
    updates = [one for name, one in lines if name not in WORDS]
    assert lines[-1] == ("end", "end_turn")
    if agent == "echo":
        assert [one["content"]["text"] for one in updates] == ["Hello there"]
    else:
        assert summary(updates) == TOLD | {"states": [], "tool": TOLD["tool"][1:]}
        assert [one["status"] for one in updates if one["sessionUpdate"] == "tool_call"] == ["pending"]
        assert [one for name, one in lines if name == "permission"] == ['"Write to notes.txt?" allow_once']


def test_the_proxy_logs_a_turn_and_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "frames.log"
    lines = printed(*PROXY, "--log", str(log), *STREAMING)
    assert summary([one for name, one in lines if name not in WORDS]) == TOLD
    seen = [line.split(maxsplit=3) for line in log.read_text().splitlines()]
    assert all(agent == "agent" and int(size) > 20 for _, agent, size, _ in seen)
    assert [what for arrow, _, _, what in seen if arrow == "->"] == [
        "initialize #1",
        "session/new #2",
        "session/prompt #3",
        "answer #1",
        "session/close #4",
    ]
    back = [what for arrow, _, _, what in seen if arrow == "<-"]
    assert [what for what in back if what != "session/update"] == [
        "answer #1",
        "answer #2",
        "answer #3",
        "session/request_permission #1",
        "answer #4",
    ]
    # Every line that was printed but the permission's and the end's was one update.
    assert back.count("session/update") == len(lines) - 2


def test_the_proxy_passes_what_it_cannot_read_too(tmp_path: Path) -> None:
    """Odd messages, an unfinished last one, bytes that are no text come out as they went in, both ways.

    What is around them is the lines' own: blank ones, line ends, a byte order mark, and what an agent prints beside.
    """
    log = tmp_path / "frames.log"
    request = '{ "jsonrpc": "2.0",  "id": "a\u2028", "method": "session/new", "params": {} }'.encode()
    odd, rest = b'{"noise":\xff\xfe', b'{"jsonrpc":"2.0","id":7,"result":' + b"1" * 300_000
    given = b"\xef\xbb\xbf" + request + b"\r\n\n  " + odd + b"\nnoise\n" + rest
    repeat = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer); sys.exit(7)"
    ran = run(*PROXY, "--log", str(log), sys.executable, "-c", repeat, given=given)
    assert ran.returncode == 7
    assert ran.stdout == b"\n".join((request, odd, rest, b""))
    lines = log.read_text(encoding="utf-8").split("\n")
    for arrow, count in (("->", 4), ("<-", 3)):
        first, *others, last = (line.split(maxsplit=3) for line in lines if line.startswith(arrow))
        assert first[2:] == [str(len(request)), "session/new #a\u2028"] and len(others) == count - 2
        assert all(one[3] == "(no message)" for one in (*others, last)) and last[2] == str(len(rest))


def test_the_client_goes_on_as_version_1_with_an_older_agent(tmp_path: Path) -> None:
    agent = script(
        tmp_path,
        """
import asyncio
from acp_bindings import stdio, v1
class Old(v1.Agent):
    async def session_new(self, request, context):
        return v1.NewSessionResponse(session_id="s")
    async def session_prompt(self, request, context):
        chunk = v1.AgentMessageChunk(content=request.prompt[0])
        await context.remote.session_update(v1.SessionNotification(session_id="s", update=chunk))
        options = [v1.PermissionOption(option_id="no", name="No", kind="reject_once")]
        question = v1.RequestPermissionRequest(
            session_id="s", tool_call=v1.ToolCallUpdate(tool_call_id="t", title="Sing"), options=options
        )
        answer = await context.remote.session_request_permission(question)
        return v1.PromptResponse(stop_reason=answer.outcome.__struct_config__.tag)
    async def session_cancel(self, notification, context):
        pass
asyncio.run(stdio.serve(Old()))
""",
    )
    assert printed(*agent) == [
        (
            "AgentMessageChunk",
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello there"}},
        ),
        ("permission", '"Sing" cancelled'),
        ("end", "cancelled"),
    ]


def test_the_client_says_why_when_the_agent_dies_in_mid_turn(tmp_path: Path) -> None:
    agent = script(
        tmp_path,
        """
import asyncio, os
from acp_bindings import stdio, v2
from echo_agent import EchoAgent
class Dying(EchoAgent):
    async def session_prompt(self, request, context):
        async def die():
            print("no memory left", file=sys.stderr, flush=True)
            os._exit(5)
        context.after_response(die)
        return v2.PromptResponse(message_id="m")
asyncio.run(stdio.serve(Dying()))
""",
    )
    ran = run(*CLIENT, *agent)
    assert ran.returncode == 1
    assert b"exit code 5" in ran.stderr and b"no memory left" in ran.stderr


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-command-here"], b"could not be started"),
        ([sys.executable, "-c", "raise SystemExit(3)"], b"exit code 3"),
    ],
)
def test_the_client_says_why_when_there_is_no_agent(command: list[str], reason: bytes) -> None:
    ran = run(*CLIENT, *command)
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"ConnectionClosed") and reason in ran.stderr


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent another way on Windows")
def test_control_c_cancels_the_turn(tmp_path: Path) -> None:
    """The agent never stops of itself, so that the turn is still on when the signal comes."""
    agent = script(
        tmp_path,
        """
import asyncio
from acp_bindings import stdio
from streaming_agent import StreamingAgent
class Endless(StreamingAgent):
    async def turn(self, session, prompt):
        await session.say("Once upon a time")
        await asyncio.Event().wait()
asyncio.run(stdio.serve(Endless()))
""",
    )
    with subprocess.Popen([*CLIENT, *agent], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as client:
        try:
            assert client.stdout is not None
            while line := client.stdout.readline():
                if b"time" in line:
                    client.send_signal(signal.SIGINT)
                    break
            rest, stderr = client.communicate(timeout=LIMIT)
        finally:
            client.kill()
    assert (client.returncode, stderr) == (0, b"")
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
    assert parsed(rest)[-2:] == [("IdleStateUpdate", idle), ("end", "cancelled")]


class Watching(v2.Client):
    """Keeps updates, and answers a permission request with what `decide` says."""

    def __init__(self, decide: Callable[[v2.RemoteAgent, str], Awaitable[str | None]]) -> None:
        super().__init__()
        self.decide = decide
        self.updates: list[Any] = []
        self.idle = asyncio.Event()

    async def session_update(self, notification: v2.UpdateSessionNotification, context: Context) -> None:
        self.updates.append(v2.to_builtins(notification.update))
        if isinstance(notification.update, v2.IdleStateUpdate):
            self.idle.set()

    async def session_request_permission(
        self, request: v2.RequestPermissionRequest, context: Context
    ) -> v2.RequestPermissionResponse:
        chosen = await self.decide(context.remote, request.session_id)
        if chosen is None:
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        return v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id=chosen))


def prompt(session_id: str) -> v2.PromptRequest:
    return v2.PromptRequest(session_id=session_id, prompt=[v2.TextContent(text="Write this down")])


def converse(client: Watching, talk: Callable[[v2.RemoteAgent, str], Awaitable[None]]) -> None:
    """Talk to a streaming agent in this process."""

    async def main() -> None:
        async with (
            asyncio.timeout(LIMIT),
            memory.connect(load("streaming_agent").StreamingAgent(), client=client) as agent,
        ):
            session = await agent.session_new(v2.NewSessionRequest(cwd="/work"))
            await talk(agent, session.session_id)

    asyncio.run(main())


def test_a_rejected_tool_call_is_not_run() -> None:
    async def reject(agent: v2.RemoteAgent, session_id: str) -> str:
        return "reject_once"

    async def talk(agent: v2.RemoteAgent, session_id: str) -> None:
        await agent.session_prompt(prompt(session_id))
        await client.idle.wait()

    client = Watching(reject)
    converse(client, talk)
    assert summary(client.updates)["tool"] == ["pending", "cancelled"]
    assert summary(client.updates)["text"].endswith("Then I leave it. ")
    assert client.updates[-1]["stopReason"] == "end_turn"


def test_a_turn_is_cancelled_while_it_waits_for_permission() -> None:
    """The tool call and the turn end as cancelled, a held prompt is refused, and the session works afterwards."""

    async def cancel(agent: v2.RemoteAgent, session_id: str) -> str | None:
        if held:
            return "allow_once"
        held.append(asyncio.create_task(agent.session_prompt(prompt(session_id))))
        # An answer to anything sent later shows that the agent has read the prompt too.
        await agent.session_list(v2.ListSessionsRequest())
        await agent.session_cancel(v2.CancelSessionNotification(session_id=session_id))
        return None

    async def talk(agent: v2.RemoteAgent, session_id: str) -> None:
        await agent.session_prompt(prompt(session_id))
        await client.idle.wait()
        with pytest.raises(v2.RequestError) as refused:
            await held[0]
        assert refused.value.code == v2.ErrorCode.REQUEST_CANCELLED
        assert summary(client.updates)["tool"] == ["pending", "cancelled"]
        assert client.updates[-1]["stopReason"] == "cancelled"
        client.idle.clear()
        await agent.session_prompt(prompt(session_id))
        await client.idle.wait()

    held: list[asyncio.Task[Any]] = []
    client = Watching(cancel)
    converse(client, talk)
    assert summary(client.updates)["tool"] == ["pending", "cancelled", *TOLD["tool"]]
    assert client.updates[-1]["stopReason"] == "end_turn"


def test_a_session_is_listed_resumed_and_closed() -> None:
    """Resuming reports the state before it is answered; a closed session is gone."""

    async def allow(agent: v2.RemoteAgent, session_id: str) -> str:
        return "allow_once"

    async def talk(agent: v2.RemoteAgent, session_id: str) -> None:
        listed = await agent.session_list(v2.ListSessionsRequest())
        assert [(one.session_id, one.cwd) for one in listed.sessions] == [(session_id, "/work")]
        await agent.session_resume(v2.ResumeSessionRequest(session_id=session_id, cwd="/work"))
        assert client.updates == [{"sessionUpdate": "state_update", "state": "idle"}]
        await agent.session_close(v2.CloseSessionRequest(session_id=session_id))
        with pytest.raises(v2.RequestError) as refused:
            await agent.session_prompt(prompt(session_id))
        assert refused.value.code == v2.ErrorCode.RESOURCE_NOT_FOUND

    client = Watching(allow)
    converse(client, talk)

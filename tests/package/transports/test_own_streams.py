"""Our own stdin and stdout: taken over, watched by the event loop or by threads, given back."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from acp_bindings import v2

from tests.package.transports.programs import ENVIRONMENT, agent_program, connected
from tests.support.aio import run

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 2, "info": {"name": "t", "version": "1"}},
}
NEW = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w"}}
GUARD = 60


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def spoken(program: str, stdin: bytes) -> list[dict[str, object]]:
    """What an agent says to all of this input and its end. It has to end by itself, and well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", program],
        input=stdin,
        capture_output=True,
        timeout=GUARD,
        env=os.environ | ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("threads", [False, True, None])
def test_pipes_are_served_by_the_loop_and_by_threads(threads: bool | None) -> None:
    said = spoken(agent_program(f"serve(Agent(), threads={threads})"), lines(INITIALIZE, NEW))
    assert [one["id"] for one in said] == [1, 2] and said[1]["result"] == {"sessionId": "s1"}


@pytest.mark.parametrize("threads", [False, True])
def test_the_last_line_may_lack_its_end(threads: bool) -> None:
    program = agent_program(f"serve(Agent(), threads={threads})")
    said = spoken(program, b"\xef\xbb\xbf" + lines(INITIALIZE).replace(b"\n", b"\r\n\r\n") + lines(NEW)[:-1])
    assert [one["id"] for one in said] == [1, 2]


@pytest.mark.parametrize("threads", [False, True])
def test_a_conversation_with_large_messages_both_ways(threads: bool) -> None:
    """Larger than a pipe holds, so that both sides have to wait for room."""
    program = agent_program(
        f"serve(Agent(), threads={threads}, max_output=10_000)",
        body="""
for number in range(100):
    await context.remote.extension_notification("_x", {"number": number, "text": "x" * 30_000})
""",
    )

    class Counting(v2.Client):
        seen: list[int]

        @v2.extension("_x", notification=True)
        async def x(self, notification: dict[str, int], context: object) -> None:
            self.seen.append(notification["number"])

    async def test() -> None:
        client = Counting()
        client.seen = []
        async with connected(program, client=client) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w", meta={"acme.dev": "x" * 3_000_000}))
            assert client.seen == list(range(100))

    run(test)


@pytest.mark.parametrize("threads", [False, True])
def test_what_is_printed_goes_to_stderr_by_threads_too(threads: bool) -> None:
    body = """
print("from Python")
os.write(1, b"from the file descriptor\\n")
assert sys.stdin.read() == ""
"""

    async def test() -> None:
        heard: list[str] = []
        program = agent_program(f"serve(Agent(), threads={threads})", body)
        async with connected(program, on_stderr=heard.append) as agent:
            await agent.session_new(v2.NewSessionRequest(cwd="/w"))
        assert sorted(heard) == ["from Python", "from the file descriptor"]

    run(test)


def test_both_streams_are_given_back() -> None:
    main = 'serve(Agent()); print(json.dumps({"id": "after", "stdin": sys.stdin.read()}))'
    said = spoken("import json\n" + agent_program(main), lines(INITIALIZE))
    assert [one["id"] for one in said] == [1, "after"] and said[1]["stdin"] == ""


def test_an_agent_that_does_not_start_leaves_the_streams_alone() -> None:
    main = """
Agent.capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())
try:
    serve(Agent())
except ValueError as error:
    print(json.dumps({"id": "refused", "why": str(error), "stdin": sys.stdin.read()}))
"""
    (said,) = spoken("import json\n" + agent_program(main), b"left alone")
    assert "Agent advertises session" in str(said["why"]) and said["stdin"] == "left alone"


def test_files_are_served_by_threads_of_themselves(tmp_path: Path) -> None:
    """The event loop cannot watch a file; asked to do so all the same, it says so and gives the streams back."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(lines(INITIALIZE, NEW))
    command = [sys.executable, "-W", "error", "-c", agent_program()]
    with source.open("rb") as stdin, target.open("wb") as stdout:
        subprocess.run(command, stdin=stdin, stdout=stdout, timeout=GUARD, env=os.environ | ENVIRONMENT, check=True)
    assert [json.loads(line)["id"] for line in target.read_bytes().splitlines()] == [1, 2]
    main = """
try:
    serve(Agent(), threads=False)
except ValueError as error:
    print("refused:", error)
"""
    command[-1] = agent_program(main)
    with source.open("rb") as stdin, target.open("wb") as stdout:
        subprocess.run(command, stdin=stdin, stdout=stdout, timeout=GUARD, env=os.environ | ENVIRONMENT, check=True)
    assert target.read_text().startswith("refused: Pipe transport is only for pipes")


def test_no_input_at_all() -> None:
    """/dev/null is no pipe either."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", agent_program()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        env=os.environ | ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_client_closes_its_end_of_the_output_first() -> None:
    """An agent that can no longer answer ends when its input does, without a traceback."""

    async def test() -> None:
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-c", agent_program())
        ours, theirs = os.pipe()
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=theirs, stderr=pipe, env=os.environ | ENVIRONMENT
        )
        os.close(theirs)
        os.close(ours)
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(lines(INITIALIZE, NEW))
        process.stdin.close()
        assert await process.stderr.read() == b""
        assert await process.wait() == 0

    run(test)

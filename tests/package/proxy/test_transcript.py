"""What passes untouched is equal byte for byte, whatever it says."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from acp_bindings import proxy, v2

from tests.package.proxy.ends import between
from tests.package.transports.programs import ENVIRONMENT
from tests.support.aio import run

# Objects: what a line of stdio may be on either side.
OBJECTS = [
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"n","version":"1"}}}',
    b'{  "params" : { } ,\t"method" : "session/new","id":"1", "jsonrpc":"2.0"   }',
    b'{"id":0,"jsonrpc":"2.0","method":"some/future_method","params":{"b":1,"a":2,"b":3}}',
    b'{"jsonrpc":"2.0","id":"","method":"_acme.dev/x","params":[1,2,[3]]}',
    b'{"jsonrpc":"2.0","id":null,"method":"session/close"}',
    b'{"jsonrpc":"2.0","id":-9007199254740993,"method":"session/list","params":null}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"hologram","depth":1e400,"n":123456789012345678901234567890,"f":1.000}}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
    b'"agent_message_chunk","messageId":"m","content":{"type":"_acme.dev/x","y":"\\u0041\\ud83d\\ude00\\/"}}}}',
    '{"jsonrpc":"2.0","method":"_n","params":{"text":"e\u0301 \u2028 \U0001f600"}}'.encode(),
    b'{"jsonrpc":"2.0","id":7,"result":{"stopReason":"not yet known","usage":{"x":-0.0}},"more":{"of":"it"}}',
    b'{"jsonrpc":"2.0","id":8,"error":{"code":-32000,"message":"no","data":{"z":1,"a":[null]}}}',
    b'{"jsonrpc":"2.0","id":9,"result":null,"error":null}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"1"}}',
    b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":9999}}',
    b'{"jsonrpc":"2.0","method":"$/something"}',
    b'{"jsonrpc":"1.0","id":1,"method":"x"}',
    b'{"level":"info","id":1}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"x"}',
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"lone":"\\ud800"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"unfinished',
    b"{" + b"\xff\xfe" + b"}",
    b'{"jsonrpc":"2.0","id":2,"method":"x","params":' + b"[" * 2000 + b"]" * 2000 + b"}",
    b'{"jsonrpc":"2.0","id":3,"method":"large","params":{"text":"' + b"x" * 300_000 + b'"}}',
]
OTHERS = [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', b"42", b"plain words", b'"text"']


async def untouched(direction: str, message: proxy.Passing) -> proxy.Passing:
    return message


def looked(model: Any, message: proxy.Passing) -> Any:
    return model


METHODS = ("initialize", "session/new", "session/close", "session/list", "session/update", "session/prompt")
INTERCEPTS = {
    "none": None,
    "one that returns it": lambda direction, message: message,
    "one that waits": untouched,
    "one that decodes": proxy.by_method(v2.METHODS, dict.fromkeys(METHODS, looked), dict.fromkeys(METHODS, looked)),
}


@pytest.mark.parametrize("name", INTERCEPTS)
def test_a_transcript_is_byte_equal_both_ways(name: str) -> None:
    frames = [*OBJECTS, *OTHERS]

    async def test() -> None:
        async with between(INTERCEPTS[name]) as (client, agent, _):
            client.send(*frames)
            agent.send(*frames)
            for end in (agent, client):
                assert [await end.raw() for _ in frames] == frames
            assert client.silent and agent.silent

    run(test)


ECHO = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer); sys.exit(7)"
PROGRAM = """
import asyncio, sys
from acp_bindings import proxy

async def main():
    async with proxy.stdio(sys.executable, "-c", {agent!r}, intercept={intercept}, threads={threads}) as link:
        await link.wait_closed()
    assert link.endings["client"].exit_code is None
    sys.exit(link.endings["agent"].exit_code)

asyncio.run(main())
"""


def piped(
    agent: str, given: bytes, *, intercept: str = "None", threads: Any = None
) -> subprocess.CompletedProcess[bytes]:
    program = PROGRAM.format(agent=agent, intercept=intercept, threads=threads)
    return subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", program],
        input=given,
        capture_output=True,
        timeout=60,
        env=os.environ | ENVIRONMENT,
        check=False,
    )


@pytest.mark.parametrize("threads", [None, True])
@pytest.mark.parametrize("intercept", ["None", "lambda direction, message: message"])
def test_the_same_over_pipes(intercept: str, threads: Any) -> None:
    """To an agent that repeats it all once its input has ended, and ends with a code of its own."""
    given = b"".join(frame + b"\n" for frame in OBJECTS)
    done = piped(ECHO, given, intercept=intercept, threads=threads)
    assert (done.returncode, done.stderr) == (7, b"")
    assert done.stdout == given


def test_what_is_no_line_of_a_message_stays_behind() -> None:
    """Blank lines, line ends, a byte order mark, an end that is missing; noise that an agent prints."""
    frame = OBJECTS[1]
    given = b"\xef\xbb\xbf\n\r\n" + frame + b"\r\n  noise  \n" + OBJECTS[2]
    done = piped(ECHO, given)
    assert done.returncode == 7 and done.stdout == frame + b"\n" + OBJECTS[2] + b"\n"


def test_what_the_agent_writes_to_stderr_goes_to_ours() -> None:
    done = piped("import sys; print('a word', file=sys.stderr)", b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"a word\n")


def test_an_agent_that_cannot_be_started_leaves_the_streams_alone() -> None:
    program = """
import asyncio
from acp_bindings import proxy, v2

async def main():
    try:
        async with proxy.stdio("no-such-agent-anywhere"):
            pass
    except v2.ConnectionClosed as error:
        print("said:", error)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env=os.environ | ENVIRONMENT,
        check=False,
    )
    assert done.stdout.startswith(b"said: no-such-agent-anywhere could not be started") and done.stderr == b""

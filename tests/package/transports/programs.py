"""Small agents as program text, for what only a process of its own shows."""

from __future__ import annotations

import os
import sys
import textwrap
from contextlib import AbstractAsyncContextManager
from typing import Any

from acp_bindings import stdio, v2

from tests.support.cli import ROOT

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "generated")))}
_AGENT = """
import asyncio, os, subprocess, sys, time
from acp_bindings import stdio, v2
from acp_bindings.v2 import extension

class Agent(v2.Agent):
    info = v2.Implementation(name="program", version="1")
    async def session_new(self, request, context):
        {body}
        return v2.NewSessionResponse(session_id="s1")
    @extension("_pid")
    async def pid(self, request, context):
        return os.getpid()

def serve(*args, **options):
    # What it advertises is not what these programs are for.
    asyncio.run(stdio.serve(*args, gates=False, **options))

{main}
"""


def agent_program(main: str = "serve(Agent())", body: str = "pass") -> str:
    """A program with an agent; `body` runs in its session/new, `main` is how it starts."""
    return _AGENT.format(body=textwrap.indent(body, " " * 8).strip(), main=main)


def bare_program(answer: str = "", before: str = "", after: str = "") -> str:
    """A program without our package, which answers `initialize`: statements before, instead of and after the answer."""
    answer = answer or "say({'jsonrpc': '2.0', 'id': 1, 'result': RESULT})"
    return "\n".join(
        (
            "import json, os, sys, time",
            "RESULT = {'protocolVersion': 2, 'info': {'name': 'bare', 'version': '1'}}",
            "out = sys.stdout.buffer",
            "def say(*messages):",
            "    out.write(b''.join(json.dumps(one).encode() + b'\\n' for one in messages)); out.flush()",
            before,
            "sys.stdin.buffer.readline()",
            answer,
            after,
            "while sys.stdin.buffer.readline(): pass",
        )
    )


def connected(program: str, *, client: Any = None, **options: Any) -> AbstractAsyncContextManager[Any]:
    """A connection to a program."""
    settings: dict[str, Any] = {"env": ENVIRONMENT, "versions": [2], "gates": False, **options}
    return stdio.connect(sys.executable, "-c", program, client=client or v2.Client(), **settings)

"""Node and the pinned SDK: what the tests of this folder need, and how they run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import npm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SDK = "@agentclientprotocol/sdk"
WEB_SOCKETS = "ws"
OVER = ("stdio", "http", "ws")
"""The ways on which the conversations are held."""
TIMEOUT = 60  # seconds, for one conversation; it takes about one


def pinned() -> str:
    """The SDK version that package.json asks for."""
    return npm.pinned(HERE, SDK)


def install() -> None:
    """Install the pinned SDK and what its server needs, unless they are there. Raises as `npm.install` does."""
    for package in (SDK, WEB_SOCKETS):
        npm.install(HERE, package)


def agent_command(*names: str) -> list[str]:
    """The command of the SDK's agent: `v2`, `v2-unstable` or `v1`; or `router`, then those that it chooses between."""
    return ["node", str(HERE / "agent.mjs"), *names]


def server_command(*names: str) -> list[str]:
    """The command of the SDK's server for the same agents. It prints its port, and ends with its stdin."""
    return ["node", str(HERE / "server.mjs"), *names]


def converse(script: str, argument: str, *agents: str, over: str = "stdio") -> tuple[dict[str, Any], str]:
    """Let an SDK client talk to our agent of some versions: its report, and what came on stderr.

    Over HTTP and WebSocket, our server's exit code stands for our agent's; 0 where it is the signal that ended it.
    """
    ours = [sys.executable, "-m", "tests.interop.typescript.our_agent", *agents]
    if over == "stdio":
        return _report(script, argument, *ours)
    with subprocess.Popen([*ours, "serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_SETTINGS) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip().replace("http", over, 1)
        try:
            report, complaints = _report(script, argument, url)
        finally:
            server.terminate()
            _, told = server.communicate(timeout=TIMEOUT)
        report["exitCode"] = 0 if server.returncode == -signal.SIGTERM else server.returncode
        return report, complaints + told


_SETTINGS: dict[str, Any] = {
    "cwd": ROOT,
    "env": {**os.environ, "PYTHONPATH": str(ROOT / "generated")},
    "encoding": "utf-8",
}


def _report(script: str, *arguments: str) -> tuple[dict[str, Any], str]:
    command = ["node", str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, **_SETTINGS)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report, done.stderr


def wire(version: str) -> dict[str, Any]:
    """The updates of a turn as they stand on the wire; the SDK's agents send these."""
    turn: dict[str, Any] = json.loads((HERE / f"turn.{version}.json").read_text(encoding="utf-8"))
    return turn

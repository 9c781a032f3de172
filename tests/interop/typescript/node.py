"""Node and the pinned SDK: what the tests of this folder need, and how they run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import npm

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SDK = "@agentclientprotocol/sdk"
TIMEOUT = 60  # seconds, for one conversation; it takes about one


def pinned() -> str:
    """The SDK version that package.json asks for."""
    return npm.pinned(HERE, SDK)


def install() -> None:
    """Install the pinned SDK, unless it is there. Raises as `npm.install` does."""
    npm.install(HERE, SDK)


def agent_command(*names: str) -> list[str]:
    """The command of the SDK's agent: `v2`, `v2-unstable` or `v1`; or `router`, then those that it chooses between."""
    return ["node", str(HERE / "agent.mjs"), *names]


def converse(script: str, argument: str, *agents: str) -> tuple[dict[str, Any], str]:
    """Let an SDK client talk to our agent of some versions: its report, and what came on stderr."""
    return converse_with(script, argument, sys.executable, "-m", "tests.interop.typescript.our_agent", *agents)


def converse_with(script: str, argument: str, *agent: str) -> tuple[dict[str, Any], str]:
    """Let an SDK client talk to an agent: the one that a command starts, or the one behind a URL."""
    done = subprocess.run(
        ["node", str(HERE / script), argument, *agent],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "generated")},
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report, done.stderr


def wire(version: str) -> dict[str, Any]:
    """The updates of a turn as they stand on the wire; the SDK's agents send these."""
    turn: dict[str, Any] = json.loads((HERE / f"turn.{version}.json").read_text(encoding="utf-8"))
    return turn

"""Node and the pinned SDK: what the tests of this folder need, and how they run it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SDK = "@agentclientprotocol/sdk"
INSTALL_TIMEOUT = 300  # seconds
TIMEOUT = 60  # seconds, for one conversation; it takes about one


class UnavailableError(Exception):
    """Node or the SDK cannot be had on this machine."""


def pinned() -> str:
    """The SDK version that package.json asks for."""
    version: str = json.loads((HERE / "package.json").read_text())["dependencies"][SDK]
    return version


def install() -> None:
    """Install the pinned SDK, unless it is there.

    Raises UnavailableError; RuntimeError where npm found something else than what the lock names.
    """
    if shutil.which("node") is None:
        raise UnavailableError("node was not found")
    manifest = HERE / "node_modules" / SDK / "package.json"
    if manifest.is_file() and json.loads(manifest.read_text())["version"] == pinned():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("npm was not found")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not bring it within {INSTALL_TIMEOUT} s") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        if "EINTEGRITY" in said or "EUSAGE" in said:
            raise RuntimeError(f"what npm found is not what package-lock.json names: {said}") from error
        raise UnavailableError(f"npm could not bring it: {said.partition(chr(10))[0]}") from error


def agent_command(*names: str) -> list[str]:
    """The command of the SDK's agent: `v2`, `v2-unstable` or `v1`; or `router`, then those that it chooses between."""
    return ["node", str(HERE / "agent.mjs"), *names]


def converse(script: str, argument: str, *agents: str) -> tuple[dict[str, Any], str]:
    """Let an SDK client talk to our agent of some versions: its report, and what came on stderr."""
    ours = [sys.executable, "-m", "tests.interop.typescript.our_agent", *agents]
    done = subprocess.run(
        ["node", str(HERE / script), argument, *ours],
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

"""Running the command line of the package, and transcripts in few words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from acp_bindings.runtime.explain.cli import main
from click.testing import CliRunner, Result

from tests.support.cli import ROOT

DATA = ROOT / "tests/data/explain"
TURN = DATA / "turn.ndjson"


def explain(
    *arguments: str | Path, stdin: str | bytes | None = None, width: int = 100, code: int = 0, **env: str
) -> str:
    """What the command line prints, whose exit code is `code`; for 2, what it has to say."""
    done = run(*arguments, stdin=stdin, width=width, **env)
    assert done.exit_code == code, done.output
    assert not done.stderr or code == 2, done.stderr
    return done.stderr if code == 2 else done.stdout


def run(*arguments: str | Path, stdin: str | bytes | None = None, width: int = 100, **env: str) -> Result:
    """The command line in this process; nothing but SystemExit may leave it."""
    runner = CliRunner(env={"COLUMNS": str(width), "FORCE_COLOR": None, "NO_COLOR": None, **env})
    result = runner.invoke(main, [str(argument) for argument in arguments], input=stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def program(*arguments: str | Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """`python -m acp_bindings` in a process of its own."""
    ours = {"COLUMNS": "100", "PYTHONPATH": str(ROOT / "generated"), "PYTHONIOENCODING": "utf-8"}
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    command = [sys.executable, "-m", "acp_bindings", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, encoding="utf-8", env=kept | ours | env, check=False, timeout=60
    )


def as_json(*arguments: str | Path, stdin: str | bytes | None = None, code: int = 0) -> tuple[list[Any], Any]:
    """The messages that `explain --json` prints, and the object at the end."""
    lines = explain("explain", "--json", *arguments, stdin=stdin, code=code).splitlines()
    *messages, last = map(json.loads, lines)
    return messages, last


def request(identity: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params or {}}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def answer(identity: Any, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def error(identity: Any, code: int = -32603) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": "no"}}

"""The command line, run in this process or as a user runs it; the repository, and a working folder to run it in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codegen.cli import main
from codegen.cli.common import MAX_PROBLEMS

ROOT = Path(__file__).resolve().parents[2]
_DEFS = {
    "Thing": {"type": "object", "properties": {"fullName": {"type": "string"}}, "required": ["fullName"]},
    "Shape": {
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": kind, "type": "string"}}, "required": ["kind"]}
            for kind in ("round", "flat")
        ]
    },
    "Colour": {"enum": ["red", "blue"], "type": "string"},
}
_EXPERIMENT = {"Experiment": {"type": "object", "properties": {"thing": {"$ref": "#/$defs/Thing"}}}}
_PROGRAM = Path(sys.executable).with_name("acp-codegen")
_SCREEN = 3 * MAX_PROBLEMS + 2


def work_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with ./schema, which has both channels of v2, the working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    schema(folder / "schema", json.dumps({"$defs": _DEFS}))
    text = json.dumps({"$defs": _DEFS | _EXPERIMENT})
    (folder / "schema/v2/schema.unstable.json").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return folder


def run(*arguments: str | Path, **env: str) -> Result:
    """Run a command in this process, whatever its exit code; nothing but SystemExit may leave it."""
    result = CliRunner(env=env).invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def ok(*arguments: str | Path) -> str:
    """What a command that succeeds prints."""
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def problem(*arguments: str | Path, steps: bool = False) -> str:
    """What a command has to say against its input: one screen on stderr, nothing raw in it, exit code 2.

    `steps`: it told what it was doing, and what it was doing last comes before that.
    """
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.split("\n")
    if steps:
        lines = lines[next(place for place, line in enumerate(lines) if line.startswith("error ")) :]
    assert len(lines) <= _SCREEN + 1 and all(line.isprintable() and len(line) < 500 for line in lines)
    assert lines[0].startswith("error ") and lines[1].startswith("  found     ") and lines[2].startswith("  expected  ")
    assert lines[-2:] == ["Nothing was written.", ""]
    return "\n".join(lines)


def program(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the installed program in a process of its own."""
    return subprocess.run(
        [_PROGRAM, *arguments], cwd=cwd, env={**os.environ, **env}, capture_output=True, encoding="utf-8", check=False
    )


def schema(folder: Path, text: str) -> Path:
    """A schema folder whose v2/schema.json holds `text`."""
    (folder / "v2").mkdir(parents=True)
    (folder / "v2/schema.json").write_text(text, encoding="utf-8")
    return folder

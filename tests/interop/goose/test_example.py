"""`examples/goose_client.py`, run as its docstring says, holds its conversation with Goose."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.interop.goose.harness import LIMIT, settings
from tests.interop.goose.model import Calls, Model, Says

pytestmark = pytest.mark.interop
ROOT = Path(__file__).resolve().parents[3]
TURN = Calls("shell", {"command": "echo made by the tool"}, then=Says(("that ", "was it")))


async def run(goose: Path, home: Path, typed: bytes) -> str:
    """What the example prints while somebody types."""
    async with Model({"use the tool": TURN}) as model:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-Werror",
            str(ROOT / "examples" / "goose_client.py"),
            str(goose),
            "use the tool",
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT / "generated"), **settings(home, model)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(LIMIT):
                printed, complaints = await process.communicate(typed)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
    assert (process.returncode, complaints.decode()) == (0, "")
    return printed.decode()


def test_it_shows_the_turn_and_asks_before_the_tool_runs(goose: Path, home: Path) -> None:
    printed = asyncio.run(run(goose, home, b"2\n"))
    expected = ["[agent] goose ", "[tool] shell", "[may I?] shell", "2 allow_once", "[completed] made by the tool"]
    places = [printed.find(text) for text in [*expected, "that was it", "[end] end_turn"]]
    assert -1 not in places, printed
    assert places == sorted(places), printed


def test_without_an_answer_the_tool_does_not_run(goose: Path, home: Path) -> None:
    printed = asyncio.run(run(goose, home, b""))
    assert "[may I?] shell" in printed
    assert "[completed]" not in printed
    assert "[end] " in printed

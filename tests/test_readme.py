"""The Python of READMEs and docs runs as it stands, and prints what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("readme", ["README.md", "generated/README.md", "docs/deploying.md"])
def test_python_runs(readme: str) -> None:
    blocks = _BLOCK.findall((ROOT / readme).read_text(encoding="utf-8"))
    code = "".join(text for language, text in blocks if language == "python")
    expected = "".join(text for language, text in blocks if language == "text")
    assert code
    command = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(command, cwd=ROOT / "generated", capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == expected

"""What mypy and pyright say of the package, and of programs that use it well or badly."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.cli import ROOT

SNIPPETS = sorted((ROOT / "tests/data/typing").glob("*.py"))
PACKAGE = "acp_bindings"
MARKS = {"mypy": re.compile(r"  # type: ignore\[(.*?)\]"), "pyright": re.compile(r"  # pyright: ignore\[(.*?)\]")}
# File, line and the name of the error.
Errors: TypeAlias = Mapping[str, set[tuple[int, str]]]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and the snippets side by side, without the marks that silence their errors."""
    folder = tmp_path_factory.mktemp("typing")
    shutil.copytree(ROOT / "generated" / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for snippet in SNIPPETS:
        text = snippet.read_text(encoding="utf-8")
        for mark in MARKS.values():
            text = mark.sub("", text)
        (folder / snippet.name).write_text(text, encoding="utf-8")
    return folder


def run(work: Path, *command: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=work, env={**os.environ, **env}, capture_output=True, encoding="utf-8"
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def errors(work: Path) -> dict[str, Errors]:
    """By checker, what it reports of the whole folder; strict, but for the package in pyright's standard mode."""
    found: dict[str, dict[str, set[tuple[int, str]]]] = {"mypy": {}, "pyright": {}}
    # Not the project's own settings, nor its cache.
    options = ["--strict", "--config-file=", f"--cache-dir={work / 'cache'}", "--output=json", "."]
    for line in run(work, "mypy", *options).splitlines():
        one = json.loads(line)
        if one["severity"] == "error":
            found["mypy"].setdefault(one["file"].removeprefix("./"), set()).add((one["line"], one["code"]))
    strict = [snippet.name for snippet in SNIPPETS]
    settings = {"include": ["."], "typeCheckingMode": "standard", "strict": strict}
    (work / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    report = run(work, "pyright", "--outputjson", f"--pythonpath={sys.executable}", PYRIGHT_PYTHON_IGNORE_WARNINGS="1")
    for one in json.loads(report)["generalDiagnostics"]:
        file = Path(one["file"]).relative_to(work.resolve()).as_posix()
        found["pyright"].setdefault(file, set()).add((one["range"]["start"]["line"] + 1, one.get("rule", "")))
    return dict(found)


@pytest.mark.parametrize("checker", MARKS)
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda path: path.stem)
def test_errors_of_a_program(errors: dict[str, Errors], checker: str, snippet: Path) -> None:
    expected = {
        (number, code)
        for number, line in enumerate(snippet.read_text(encoding="utf-8").splitlines(), 1)
        for codes in MARKS[checker].findall(line)
        for code in codes.split(", ")
    }
    assert errors[checker].get(snippet.name, set()) == expected


@pytest.mark.parametrize("checker", MARKS)
def test_package_is_clean(errors: dict[str, Errors], checker: str) -> None:
    names = {snippet.name for snippet in SNIPPETS}
    assert {file: found for file, found in errors[checker].items() if file not in names} == {}


def test_snippets_expect_errors_of_both() -> None:
    marked = {name: sum(len(mark.findall(one.read_text())) for one in SNIPPETS) for name, mark in MARKS.items()}
    assert min(marked.values()) > 10

"""Which test holds which point of the list in README.md beside this file."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import NamedTuple, TypeVar

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
F = TypeVar("F", bound=Callable[..., None])
HEADING = re.compile(r"## Version (?P<version>\d+): (?P<count>\d+) points")
ROW = re.compile(r"\| `(?P<id>ACP-[A-Z0-9-]+)` \| (?P<asks>[^|]+) \| (?P<where>[^|]+) \|")
HELD = re.compile(r"`(?P<test>test_\w+\.py::test_\w+)`")
LEFT_OUT = "left out: "


class Point(NamedTuple):
    """One id of one protocol version's list: versions share ids that do not ask the same."""

    version: int
    id: str


def holds(*, v1: str = "", v2: str = "", both: str = "") -> Callable[[F], F]:
    """Says of a test which points it holds: ids without their common beginning, with spaces between them."""
    listed = [(1, v1), (1, both), (2, v2), (2, both)]
    points = {Point(version, f"ACP-{name}") for version, names in listed for name in names.split()}

    def mark(test: F) -> F:
        vars(test)["points"] = points
        return test

    return mark


def held() -> list[tuple[Point, str]]:
    """Every point that a test says it holds, with the test's name as the README has it."""
    found = []
    for path in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(f"tests.conformance.{path.stem}")
        tests = [one for one in vars(module).values() if isinstance(one, FunctionType)]
        found += [(point, f"{path.name}::{one.__name__}") for one in tests for point in vars(one).get("points", ())]
    return found


class Row(NamedTuple):
    """A line of the list."""

    point: Point
    asks: str
    where: str


def rows() -> tuple[list[Row], dict[int, int]]:
    """The list, and how many points each version's heading promises."""
    found, counts, version = [], {}, 0
    for line in README.read_text(encoding="utf-8").splitlines():
        if heading := HEADING.fullmatch(line):
            version = int(heading["version"])
            counts[version] = int(heading["count"])
        elif line.startswith("| `"):
            row = ROW.fullmatch(line)
            assert row is not None and version, f"not a row of the list: {line}"
            found.append(Row(Point(version, row["id"]), row["asks"], row["where"]))
    return found, counts

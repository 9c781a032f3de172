"""The output for one small schema that has every kind of definition, word for word.

It shows what a change of the generator does to what it writes. Once the difference is meant to be:
UPDATE_GOLDEN=1 pytest tests/codegen/test_golden.py
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, get_args

import pytest

from codegen import ir
from codegen.pipeline import bundled, generate, load
from codegen.write import Change, write
from tests.support.cli import ROOT

GOLDEN = ROOT / "tests/data/golden"
SCHEMA = GOLDEN / "schema"
EXPECTED = GOLDEN / "expected"
PROFILES = ["v2/stable", "v2/unstable"]
# Kept as .txt, so that no tool takes them for code of this project.
SUFFIX = ".txt"


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return generate(SCHEMA, PROFILES, "painter", project=False)


def original(path: str) -> Path:
    """Where a file comes from that is no product of a template."""
    return bundled("templates") / path.removeprefix("painter/")


def test_golden(generated: dict[str, str]) -> None:
    output = {path: text for path, text in generated.items() if not original(path).is_file()}
    if os.environ.get("UPDATE_GOLDEN"):
        for stale in EXPECTED.rglob("*.*"):
            stale.unlink()
        for path, text in output.items():
            (EXPECTED / path).parent.mkdir(parents=True, exist_ok=True)
            (EXPECTED / (path + SUFFIX)).write_bytes(text.encode())
    expected = {
        path.relative_to(EXPECTED).as_posix().removesuffix(SUFFIX): path.read_text(encoding="utf-8")
        for path in EXPECTED.rglob("*" + SUFFIX)
    }
    differing = [
        Change(path, expected.get(path), output.get(path))
        for path in sorted(expected.keys() | output)
        if expected.get(path) != output.get(path)
    ]
    if differing:
        diff = "".join(change.diff() for change in differing)
        pytest.fail(
            f"the output is not the golden one:\n{diff}\nIf it is right: see the top of {__file__}", pytrace=False
        )


def test_every_kind_of_definition_is_shown() -> None:
    stable, _ = load(SCHEMA, PROFILES)
    kinds = {type(definition) for definition in stable.definitions.values()}
    assert kinds == set(get_args(ir.Definition))
    assert stable.methods and stable.envelopes
    enums = {(one.kind, one.open) for one in stable.definitions.values() if isinstance(one, ir.Enum)}
    assert enums == {("string", True), ("string", False), ("integer", True)}
    unions = [one for one in stable.definitions.values() if isinstance(one, ir.TaggedUnion)]
    assert {bool(one.fallback) for one in unions} == {True, False}
    fallbacks = [one for one in stable.definitions.values() if isinstance(one, ir.Fallback)]
    assert any(one.fields for one in fallbacks)
    assert any(isinstance(one, ir.Struct) and one.groups for one in stable.definitions.values())


def test_all_else_is_copied_as_it_is(generated: dict[str, str]) -> None:
    copied = [path for path in generated if original(path).is_file()]
    assert {"painter/py.typed", "painter/runtime/codec.py", "painter/runtime/models.py"} <= set(copied)
    for path in copied:
        assert generated[path] == original(path).read_text(encoding="utf-8"), path


def test_golden_output_runs(generated: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "painter", generated)
    monkeypatch.syspath_prepend(tmp_path)
    painter: Any = importlib.import_module("painter.v2")
    request = painter.decode(
        b'{"pictureId": "p", "shapes": ['
        b' {"kind": "circle", "centre": {"x": 1, "y": 2.5}, "radius": 1, "colour": "teal"},'
        b' {"kind": "note", "text": "hi"}, {"kind": "_blob", "size": 3, "more": [1]}]}',
        painter.PaintRequest,
    )
    assert request == painter.PaintRequest(
        picture_id="p",
        shapes=[
            painter.ShapeCircle(centre=painter.Point(x=1, y=2.5), radius=1, colour="teal"),
            painter.Title(kind="note", text="hi"),
            painter.UnknownShape(kind="_blob", size=3, more=[1]),
        ],
        origin=painter.Point(x=0, y=0),
    )
    assert painter.decode(painter.encode(request), painter.PaintRequest) == request
    assert painter.unstable.Point is painter.Point and painter.unstable.Title is not painter.Title

"""`acp-codegen inspect`: the IR shown to people and as data, with nothing cut, nothing raw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegen.inspect import as_data
from codegen.pipeline import load
from tests.support.cli import ok, problem, program, schema, work_folder


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_folder(tmp_path, monkeypatch)


def test_inspect_one() -> None:
    shown = ok("inspect", "Thing", "--profile", "v2/stable")
    assert "Thing Struct" in shown and "* full_name (fullName): str" in shown
    assert "Shape" not in shown and "v2/unstable" not in shown
    assert "red, blue" in ok("inspect", "Colour")
    assert "v2/stable" not in ok("inspect", "Experiment")


def test_inspect_all() -> None:
    shown = ok("inspect")
    assert "round: ShapeRound" in shown and shown.count("Thing Struct") == 2 and shown.count("methods") == 4
    assert not re.search(r" \n", shown)


def test_inspect_cuts_nothing(work: Path) -> None:
    values = [f"value_number_{number}" for number in range(200)]
    folder = schema(work / "wide", json.dumps({"$defs": {"Wide": {"enum": values}}}))
    assert ", ".join(values) in ok("inspect", "Wide", "--schema-dir", folder)


def test_inspect_json_is_complete() -> None:
    shown = json.loads(ok("inspect", "--json"))
    profiles = load(Path("schema"), ["v2/stable", "v2/unstable"])
    for one, profile in zip(shown, profiles, strict=True):
        assert one["profile"] == profile.name
        wanted = {name: as_data(definition) for name, definition in profile.definitions.items()}
        assert one["definitions"] == json.loads(json.dumps(wanted))
    (one,) = json.loads(ok("inspect", "--json", "Thing", "--profile", "v2/stable"))
    assert list(one["definitions"]) == ["Thing"] and one["methods"] == []
    assert (
        one["definitions"]["Thing"]["fields"][0] | {"kind": "Field", "wire": "fullName", "required": True}
        == (one["definitions"]["Thing"]["fields"][0])
    )


def test_inspect_undocumented(work: Path) -> None:
    (work / "schema/v2/docs.toml").write_text('[Thing]\ndoc = "A thing."\n[Colour]\ndoc = "A colour."\n')
    shown = ok("inspect", "--undocumented", "--profile", "v2/stable")
    assert shown.splitlines() == [
        "v2/stable: 4 without docs",
        *(f"  {place}" for place in ("Thing.fullName", "Shape", "ShapeFlat", "ShapeRound")),
    ]
    assert json.loads(ok("inspect", "--undocumented", "--json", "Thing"))["v2/unstable"] == ["Thing.fullName"]


def test_inspect_unknown() -> None:
    for options in ([], ["--json"], ["--undocumented"]):
        assert r"named 'No\x1b'" in problem("inspect", "No\x1b", *options)


def test_inspect_prints_nothing_raw(work: Path) -> None:
    hostile = "\x1b]0;t\x07 :bug: [red]x[/]"
    wire = ":bug: [red]x[/]"
    field = {"type": "string", "description": hostile + "\ud800"}
    defs: dict[str, Any] = {
        "A": {
            "type": "object",
            "description": hostile + "\ud800",
            "properties": {"a": field, wire: {"type": "string"}},
        },
        "B": {"enum": [hostile]},
        "C": {
            "oneOf": [
                {"type": "object", "properties": {wire: {"type": "string", "const": tag}}, "required": [wire]}
                for tag in (hostile, "x")
            ]
        },
    }
    folder = schema(work / "bad", json.dumps({"$defs": defs}))
    shown = ok("inspect", "--schema-dir", folder)
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count(r"\x1b]0;t\x07 :bug: [red]x[/]") >= 3 and r"[/]\ud800" in shown
    assert f"({wire}): str" in shown and f"by {wire}\n" in shown
    assert f"  A.{wire}\n" in ok("inspect", "--schema-dir", folder, "--undocumented")
    assert json.loads(ok("inspect", "--schema-dir", folder, "--json"))


def test_terminal_without_unicode(work: Path) -> None:
    (work / "schema/v2/docs.toml").write_text('[Thing]\ndoc = "é😀"\n', encoding="utf-8")
    done = program("inspect", "Thing", cwd=work, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "") and r"\xe9\U0001f600" in done.stdout

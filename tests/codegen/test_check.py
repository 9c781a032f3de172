"""`acp-codegen check`: each thing that it looks for, its table, its data and its exit codes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from codegen.checking import CHECKS
from codegen.cli.check_command import MAX_ROWS
from tests.support.cli import ROOT, ok, problem, program, run
from tests.support.pinned import DOCS, NAMES, pinned_folder, state

METHODS = '[needs.agent]\n"thing/get" = []\n'


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return pinned_folder(tmp_path, monkeypatch)


def found(*arguments: str | Path) -> dict[str, Any]:
    """The checks of `--json` by name; holds that the exit code goes with them, and that nothing was written."""
    before = state(Path())
    result = run("check", "--json", *arguments)
    assert state(Path()) == before and result.stderr == ""
    data = json.loads(result.stdout)
    assert [one["check"] for one in data["checks"]] == [name for name in CHECKS if name not in arguments]
    bad = [one for one in data["checks"] if one["state"] == "found"]
    assert data["clean"] == (not bad) and result.exit_code == (1 if bad else 0)
    return {one["check"]: one for one in data["checks"]}


def only(check: str, *arguments: str | Path) -> list[tuple[str, str]]:
    """Place and finding of the one check that has any."""
    checks = found(*arguments)
    assert [name for name, one in checks.items() if one["state"] == "found"] == [check], checks
    assert all(one["expected"] for one in checks[check]["findings"])
    return [(one["place"], one["found"]) for one in checks[check]["findings"]]


def add(path: Path, text: str) -> None:
    path.write_text((path.read_text() if path.exists() else "") + text)


# Clean


def test_clean(work: Path) -> None:
    states = {name: one["state"] for name, one in found().items()}
    assert states == dict.fromkeys(CHECKS, "clean") | {"gates": "off"}
    table = ok("check").splitlines()
    assert [line.split()[:2] for line in table[1:]] == [[name, states[name]] for name in CHECKS]
    assert not any(line.endswith(" ") for line in table)


def test_this_repository_is_clean() -> None:
    """What `make check` runs, and what CI trusts."""
    done = program("check", "--json", cwd=ROOT)
    assert {one["check"]: one["state"] for one in json.loads(done.stdout)["checks"]} == dict.fromkeys(CHECKS, "clean")
    assert (done.returncode, done.stderr) == (0, "")


# Findings


def test_lock(work: Path) -> None:
    path = work / "schema/v2/schema.json"
    add(path, "\n")
    ((place, text),) = only("lock")
    assert place == "schema/v2/schema.json" and "a changed file" in text
    # Nothing else can be said then, and it says so.
    checks = found()
    assert {one["state"] for name, one in checks.items() if name != "lock"} == {"off"}


def test_lock_of_a_schema_that_is_gone(work: Path) -> None:
    (work / "schema/v2/schema.unstable.json").unlink()
    assert [place for place, _ in only("lock")] == ["schema/v2/schema.unstable.json"]


def test_lock_that_lacks_a_schema(work: Path) -> None:
    (work / "schema/v1").mkdir()
    (work / "schema/v1/schema.json").write_text("{}")
    ((place, text),) = only("lock")
    assert place == "schema/v1/schema.json" and "does not list" in text


def test_no_lock_is_no_finding(work: Path) -> None:
    (work / "schema/lock.toml").unlink()
    ok("generate")  # its headers say where the schemas are from
    assert found()["lock"]["state"] == "off"


def test_drift(work: Path) -> None:
    (work / "generated/acp_bindings/v2/models.py").write_text("x = 1\n")
    (work / "generated/acp_bindings/py.typed").unlink()
    (work / "generated/acp_bindings/old.py").write_text("x = 1\n")
    assert only("drift") == [
        ("generated/acp_bindings/old.py", "a file that is not generated"),
        ("generated/acp_bindings/py.typed", "missing"),
        ("generated/acp_bindings/v2/models.py", "another text"),
    ]


def test_drift_of_nothing(work: Path) -> None:
    assert {text for _, text in only("drift", "--out", "absent")} == {"missing"}


def test_docs(work: Path) -> None:
    path = work / "schema/v2/docs.toml"
    path.write_text(DOCS.replace('[Thing]\ndoc = "A thing."\n', "").replace("flat =", "# flat ="))
    ok("generate")
    assert only("docs") == [
        ("schema/v2/docs.toml", "nothing on Thing"),
        ("schema/v2/docs.toml", "nothing on FlatShape"),
    ]


def test_stale(work: Path) -> None:
    add(work / "schema/v2/docs.toml", '[Thing.variants]\nx = "x"\n[Gone]\ndoc = "x"\n["*".fields]\nfullName = "x"\n')
    add(work / "schema/v2/docs.toml", '[Colour.fields]\nfullName = "x"\n')
    add(work / "schema/v2/names.toml", 'Gone = ["gone"]\n[Other]\nX = ["x"]\n')
    add(work / "schema/v2/capabilities.toml", '[baseline]\nsession = ["x/y"]\n[unhandled]\n"x/z" = -32602\n')
    assert sorted(only("stale")) == [
        ("schema/v2/capabilities.toml [baseline] session", "the method x/y, which no schema of this version has"),
        ("schema/v2/capabilities.toml [unhandled]", "the method x/z, which no schema of this version has"),
        (
            "schema/v2/docs.toml [*]",
            "the property 'fullName', which every definition that has it documents itself, or none has",
        ),
        ("schema/v2/docs.toml [Colour]", "the property 'fullName', which no schema of this version has"),
        ("schema/v2/docs.toml [Gone]", "the definition, which no schema of this version has"),
        ("schema/v2/docs.toml [Thing]", "the variant 'x', which no schema of this version has"),
        ("schema/v2/names.toml [Other] X", "the variant 'x', which no schema of this version has"),
        ("schema/v2/names.toml [Shape] Gone", "the variant 'gone', which no schema of this version has"),
    ]


def test_stale_needs_both_channels(work: Path) -> None:
    """An entry may be for the other channel only."""
    add(work / "schema/v2/docs.toml", '[Gone]\ndoc = "Gone."\n')
    ok("generate", "--profile", "v2/stable")
    assert found("--profile", "v2/stable")["stale"]["state"] == "off"


def test_docs_of_a_tag_are_not_stale(work: Path) -> None:
    """They have no place in the package, and still say something of what is there."""
    add(work / "schema/v2/docs.toml", '[Shape.fields]\nkind = "Which shape."\n')
    assert found()["stale"]["state"] == "clean"


def test_names(work: Path) -> None:
    (work / "schema/v2/names.toml").write_text(NAMES.replace('RoundShape = ["round"]\n', ""))
    ok("generate")
    assert only("names") == [("schema/v2/names.toml", "nothing on [Shape] 'round'")]


def test_gates(work: Path) -> None:
    defs = {
        **json.loads((work / "schema/v2/schema.json").read_text())["$defs"],
        "GetThing": {"type": "object", "x-method": "thing/get", "x-side": "agent"},
        "DropThing": {"type": "object", "x-method": "thing/drop", "x-side": "agent"},
        "AgentNotification": {
            "type": "object",
            "properties": {
                "method": {"type": "string"},
                "params": {"anyOf": [{"$ref": "#/$defs/GetThing"}, {"$ref": "#/$defs/DropThing"}]},
            },
            "required": ["method"],
        },
    }
    for channel in ("", ".unstable"):
        (work.parent / f"old/schema/v2/schema{channel}.json").write_text(json.dumps({"$defs": defs}))
    ok("import", "../old")
    add(work / "schema/v2/docs.toml", '[GetThing]\ndoc = "Get."\n[DropThing]\ndoc = "Drop."\n')
    run("generate")
    assert found()["gates"]["state"] == "off"
    add(work / "schema/v2/capabilities.toml", METHODS)
    run("generate")
    assert only("gates") == [
        ('schema/v2/capabilities.toml [needs.agent] "thing/drop"', "no entry for the notification thing/drop")
    ]


# Options and output


@pytest.mark.parametrize(("file", "check"), [("docs.toml", "docs"), ("names.toml", "names")])
def test_a_file_that_is_not_kept_is_not_missed(work: Path, file: str, check: str) -> None:
    (work / "schema/v2" / file).unlink()
    ok("generate")
    one = found()[check]
    assert (one["state"], one["summary"]) == ("off", f"no {file}")


def test_skip(work: Path) -> None:
    (work / "generated/acp_bindings/py.typed").unlink()
    assert found("--skip", "drift")["names"]["state"] == "clean"
    assert run("check", "--skip", "nothing").exit_code == 2


def test_stubs(work: Path) -> None:
    (work / "schema/v2/docs.toml").write_text('[Shape.variants]\nround = "Round."\n')
    (work / "schema/v2/names.toml").write_text(NAMES.replace('RoundShape = ["round"]\n', ""))
    ok("generate")
    result = run("check", "--stubs")
    assert result.exit_code == 1
    before, docs, names = result.stdout.split("# schema/v2/")
    assert before == "" and docs.startswith("docs.toml\n") and names.startswith("names.toml\n")
    assert tomllib.loads(docs.partition("\n")[2]) == {
        "Thing": {"doc": "", "fields": {"fullName": ""}},
        "Colour": {"doc": ""},
        "Shape": {"doc": "", "variants": {"flat": ""}},
    }
    assert tomllib.loads(names.partition("\n")[2]) == {"Shape": {"ShapeRound": ["round"]}}


def test_many_findings_fit_on_a_screen(work: Path) -> None:
    extra = "".join(f'[Gone{number}]\ndoc = "x"\n' for number in range(MAX_ROWS + 5))
    add(work / "schema/v2/docs.toml", extra)
    lines = run("check").stdout.splitlines()
    assert sum(line.startswith("stale") for line in lines) == MAX_ROWS + 1
    assert any("and 5 more" in line and "--json" in line for line in lines)
    assert len(only("stale")) == MAX_ROWS + 5


def test_nothing_raw_is_printed(work: Path) -> None:
    add(work / "schema/v2/docs.toml", '["\\u001b[31m [red]"]\ndoc = "x"\n')
    result = run("check")
    assert all(line.isprintable() for line in result.stdout.split("\n")) and "[red]" in result.stdout


def test_terminal(work: Path) -> None:
    result = run("check", FORCE_COLOR="1", TERM="xterm")
    assert result.exit_code == 0 and "\x1b[32mclean" in result.stdout


def test_input_that_cannot_be_used(work: Path) -> None:
    for name, text in (("lock.toml", "["), ("v2/docs.toml", "["), ("v2/names.toml", "x = 1")):
        before = (work / "schema" / name).read_text()
        (work / "schema" / name).write_text(text)
        assert name.rpartition("/")[2] in problem("check")
        (work / "schema" / name).write_text(before)
    assert "no schema" in problem("check", "--schema-dir", "absent")
    assert "identifier" in problem("check", "--package", "a-b")

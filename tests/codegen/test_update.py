"""`acp-codegen update`: what it takes, writes and says, and that it is all or nothing."""

from __future__ import annotations

import json
import os
import re
import tomllib
from itertools import count
from pathlib import Path

import pytest
from click.testing import Result

from codegen.pipeline import generate
from codegen.schema.lock import read_lock
from codegen.write import changes
from tests.support.cli import ok, run, schema
from tests.support.packages import FakeNpm, fake_npm, package
from tests.support.pinned import OLD, newer, pinned_folder, state, upstream
from tests.support.web import plain, serving

BOTH = ["v2/stable", "v2/unstable"]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return pinned_folder(tmp_path, monkeypatch)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    return fake_npm(tmp_path / "bin", monkeypatch)


def update(*arguments: str | Path, **env: str) -> str:
    result = run("update", *arguments, **env)
    assert result.exit_code == 0, result.output
    return result.stdout


def versions(work: Path) -> dict[str, str]:
    return {name: f"{entry.source} {entry.version}" for name, entry in (read_lock(work / "schema") or {}).items()}


def packed(root: Path) -> bytes:
    """What npm would make of an upstream folder."""
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.json")}
    return package(files, files["package.json"])


# What is taken and written


def test_update_from_a_folder(work: Path) -> None:
    update("../new")
    assert versions(work) == dict.fromkeys(BOTH, "folder:new 1.1.0")
    assert json.loads((work / "schema/v2/schema.json").read_text()) == {"$defs": newer()}
    files = generate(Path("schema"), BOTH, "acp_bindings", project=True)
    assert changes(work / "generated", "acp_bindings", files) == []
    assert sorted(path.name for path in work.iterdir()) == ["generated", "schema"]
    assert "class SquareShape" not in "".join(files.values()) and "ShapeSquare" in "".join(files.values())


def test_what_it_says(work: Path) -> None:
    result = run("update", "../new")
    assert [line.split()[0] for line in result.stderr.splitlines()] == "fetch check compare generate write".split()
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "source  folder:new",
        "profile      version         definitions",
        "v2/stable    1.0.0 -> 1.1.0  4",
        "v2/unstable  1.0.0 -> 1.1.0  4",
    ]
    assert "v2/stable, v2/unstable" in lines and any("value green" in line for line in lines)
    assert "updated  generated/acp_bindings/v2/models.py" in lines
    assert all(line.isprintable() for line in lines)
    assert lines[-1].startswith("Done. Next: read the diff, fill in what is to do, run the tests")


def test_what_is_to_do_is_toml_to_paste(work: Path) -> None:
    said = update("../new")
    found = dict(re.findall(r"add to (\S+)\n((?:.+\n|\n(?=\[))+)", said))
    docs, names = tomllib.loads(found["schema/v2/docs.toml"]), tomllib.loads(found["schema/v2/names.toml"])
    assert docs == {
        "Extra": {"doc": "", "fields": {"size": ""}},
        "Thing": {"fields": {"extra": ""}},
        "Shape": {"variants": {"square": ""}},
    }
    assert names == {"Shape": {"ShapeSquare": ["square"]}}
    # Filled in and added, each table to the one that is there, it does what it promised.
    for file, text in found.items():
        whole = (work / file).read_text()
        for table in re.findall(r"\[.+\]\n(?:[^\[\n].*\n)+", text):
            header, entries = table.replace('""', '"Said."').split("\n", 1)
            whole = (
                whole.replace(f"{header}\n", f"{header}\n{entries}")
                if header in whole
                else f"{whole}{header}\n{entries}"
            )
        (work / file).write_text(whole)
    ok("generate")
    ok("check")


def test_dry_run_shows_the_same_and_writes_nothing(work: Path) -> None:
    before = state(work)
    shown = update("../new", "--dry-run").splitlines()
    assert state(work) == before
    assert shown[-1] == "Nothing was written: --dry-run."
    assert update("../new").splitlines()[:-1] == shown[:-1]


def test_again_there_is_nothing_new(work: Path) -> None:
    update("../new")
    before = state(work)
    lines = update("../new").splitlines()
    assert state(work) == before
    assert lines[2:] == [
        "v2/stable    1.1.0    4            as it was",
        "v2/unstable  1.1.0    4            as it was",
        "Nothing is new; nothing was written.",
    ]


def test_new_version_of_the_same_schemas_is_recorded(work: Path) -> None:
    upstream(work.parent / "old", "1.0.1", OLD)
    schemas = {path: path.stat().st_mtime_ns for path in (work / "schema/v2").glob("*.toml")}
    said = update("../old")
    assert versions(work) == dict.fromkeys(BOTH, "folder:old 1.0.1")
    assert "1.0.0 -> 1.0.1" in said and "version 1.0.1" in (work / "generated/acp_bindings/v2/models.py").read_text()
    assert schemas == {path: path.stat().st_mtime_ns for path in schemas}


def test_drift_is_mended_although_nothing_is_new(work: Path) -> None:
    (work / "generated/acp_bindings/v2/models.py").write_text("x = 1\n")
    before = state(work / "schema")
    assert "updated  generated/acp_bindings/v2/models.py" in update("../old")
    assert state(work / "schema") == before
    ok("generate", "--check")


def test_first_update_pins_all(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    monkeypatch.chdir(fresh)
    update("../new", "--package", "my_acp")
    assert versions(fresh) == dict.fromkeys(BOTH, "folder:new 1.1.0")
    assert [path.name for path in (fresh / "generated").iterdir()] == ["my_acp"]
    ok("generate", "--check", "--package", "my_acp")


def test_profiles_and_places(work: Path) -> None:
    said = update("../new", "--profile", "v2/stable", "--schema-dir", "elsewhere", "--out", "out", "--package", "pkg")
    assert "v2/unstable" in said and "--profile v2/unstable takes it" in said
    assert sorted(path.name for path in (work / "elsewhere/v2").iterdir()) == ["schema.json"]
    assert not (work / "out/pkg/v2/unstable").exists() and (work / "out/pkg/v2").exists()


def test_only_pinned_profiles_are_taken(work: Path, tmp_path: Path) -> None:
    """A newer package may bring further profiles; a package that was generated without them stays so."""
    (tmp_path / "new/schema/v1").mkdir()
    (tmp_path / "new/schema/v1/schema.json").write_text("{}")
    said = update("../new")
    assert "v1/stable" in said and "offered, not taken" in said
    assert not (work / "schema/v1").exists() and not (work / "generated/acp_bindings/v1").exists()


def test_profile_that_the_source_lacks_stays(work: Path, tmp_path: Path) -> None:
    upstream(tmp_path / "half", "1.1.0", newer(), channels=("",))
    said = update("../half")
    assert versions(work) == {"v2/stable": "folder:half 1.1.0", "v2/unstable": "folder:old 1.0.0"}
    assert "not in the source, kept" in said
    ok("generate", "--check")


def test_single_file(work: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"$defs": newer()}))
    update(path, "--as", "v2/unstable")
    assert versions(work) == {"v2/stable": "folder:old 1.0.0", "v2/unstable": "file:mine.json unknown"}
    assert "class Extra" in (work / "generated/acp_bindings/v2/unstable/models.py").read_text()


def test_file_of_a_profile_that_is_not_pinned_is_taken(work: Path) -> None:
    update(schema(work.parent / "x", json.dumps({"$defs": newer()})) / "v2/schema.json")
    text = json.dumps({"$defs": OLD})
    (work.parent / "x/v1").mkdir()
    (work.parent / "x/v1/schema.json").write_text(text)
    update(work.parent / "x/v1/schema.json")
    assert sorted(versions(work)) == ["v1/stable", *BOTH]


def test_back_to_an_older_version(work: Path) -> None:
    before = (work / "generated/acp_bindings/v2/models.py").read_bytes()
    update("../new")
    assert "1.1.0 -> 1.0.0" in update("../old")
    assert (work / "generated/acp_bindings/v2/models.py").read_bytes() == before


def test_names_that_go_stale_are_told_and_do_not_stop_it(work: Path, tmp_path: Path) -> None:
    defs = newer()
    del defs["Shape"]["anyOf"][0]
    upstream(tmp_path / "new", "2.0.0", defs)
    said = update("../new")
    assert "names.toml [Shape] RoundShape" in said and "take the entry out" in said
    assert versions(work)["v2/stable"] == "folder:new 2.0.0"


def test_what_was_to_mend_before_is_not_told_again(work: Path) -> None:
    (work / "schema/v2/docs.toml").write_text('[Colour]\ndoc = "A colour."\n[Gone]\ndoc = "Gone."\n')
    said = update("../new")
    assert "[Extra]" in said and "fullName" not in said and "Gone" not in said


# Sources


def test_npm_package(work: Path, npm: FakeNpm) -> None:
    npm(packed(work.parent / "new"))
    update("npm:@scope/pkg@1.1.0")
    assert versions(work) == dict.fromkeys(BOTH, "npm:@scope/pkg@1.1.0 1.1.0")


def test_without_a_source_it_is_the_locked_package(work: Path, npm: FakeNpm) -> None:
    npm(packed(work.parent / "old"))
    update("npm:pkg@1.0.0")
    args = npm(packed(work.parent / "new"), shown='"1.1.0"')
    args.unlink()
    update()
    assert versions(work) == dict.fromkeys(BOTH, "npm:pkg@1.1.0 1.1.0")
    assert args.read_text().split() == "view --json -- pkg@latest version pack --ignore-scripts -- pkg@1.1.0".split()


@pytest.mark.parametrize("newest", ["1.1.0", "1.0.9", "1.1.0-rc.1"])
def test_without_anything_newer_nothing_is_downloaded(work: Path, npm: FakeNpm, newest: str) -> None:
    """The latest version may be older than the one that is pinned, which was then pinned on purpose."""
    npm(packed(work.parent / "new"))
    update("npm:pkg@1.1.0")
    args = npm(shown=f'"{newest}"')
    args.unlink()
    before = state(work)
    said = update()
    assert f"the latest version of npm:pkg is {newest}" in said and "Nothing is new" in said
    assert "pack" not in args.read_text() and state(work) == before


def test_url(work: Path) -> None:
    with serving() as server:
        server.answers["/v2/schema.json"] = plain(body=json.dumps({"$defs": newer()}).encode())
        update(server.url("/v2/schema.json"))
        assert versions(work)["v2/stable"] == f"{server.url('/v2/schema.json')} unknown"
        # The lock names it, so it can be asked again.
        server.answers["/v2/schema.json"] = plain(body=json.dumps({"$defs": OLD}).encode())
        update("--profile", "v2/stable")
    assert json.loads((work / "schema/v2/schema.json").read_text()) == {"$defs": OLD}


def test_url_of_a_package(work: Path) -> None:
    with serving() as server:
        server.answers["/pkg.tgz"] = plain(body=packed(work.parent / "new"))
        update(server.url("/pkg.tgz"))
        assert versions(work) == dict.fromkeys(BOTH, f"{server.url('/pkg.tgz')} 1.1.0")


# The report


@pytest.mark.parametrize("ending", [".md", ".json", ".txt"])
def test_report(work: Path, ending: str) -> None:
    path = work.parent / f"report{ending}"
    before = state(work)
    steps = run("update", "../new", "--dry-run", "--report", path).stderr
    # What is written is the report, and nothing else.
    assert "generate " in steps and f"write     {path}" in steps
    text = path.read_text()
    assert "Extra" in text and "1.1.0" in text and state(work) == before
    if ending == ".json":
        json.loads(text)


def test_report_of_another_format(work: Path) -> None:
    before = state(work)
    result = run("update", "../new", "--report", "report.pdf")
    assert result.exit_code == 2 and "--report" in result.stderr and ".md" in result.stderr
    assert state(work) == before


# On a terminal


def test_terminal_shows_progress_and_colours(work: Path) -> None:
    result = run("update", "../new", FORCE_COLOR="1", TERM="xterm")
    assert result.exit_code == 0 and "\x1b[" in result.stdout and "\x1b[" in result.stderr
    plain_text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", result.stdout)
    assert "v2/stable" in plain_text and "1.0.0 -> 1.1.0" in plain_text


# All or nothing


def failing_at(moment: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count()
    replace = os.replace

    def replaced(old: Path, new: Path) -> None:
        if next(calls) == moment:
            raise error
        replace(old, new)

    monkeypatch.setattr(os, "replace", replaced)


def moves(work: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many renames an update takes: package twice, project files, schemas, lock."""
    calls = count()
    replace = os.replace
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda old, new: (next(calls), replace(old, new)))
        update("../new")
    update("../old")
    return next(calls)


def test_failure_at_any_moment_puts_all_back(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total = moves(work, monkeypatch)
    assert total == 2 + 2 + 3
    for moment in range(total):
        before = state(work)
        with monkeypatch.context() as patched:
            failing_at(moment, OSError(28, "No space left on device", "there"), patched)
            result = run("update", "../new")
        assert result.exit_code == 2 and "No space left on device" in result.stderr
        assert state(work) == before, moment


def test_interruption_puts_all_back(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state(work)
    failing_at(5, KeyboardInterrupt(), monkeypatch)
    result: Result = run("update", "../new")
    assert result.exit_code == 1 and "Aborted" in result.stderr
    assert state(work) == before

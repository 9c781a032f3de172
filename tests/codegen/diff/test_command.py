"""`acp-codegen diff`: sources, formats, exit codes; and git revisions, in repositories of their own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest

from codegen.diff import FORMATS
from tests.support.cli import ok, problem, program, run, work_folder
from tests.support.tiny import INTEGER, STRING, Defs, obj, schema_folder

THING = {"Thing": obj({"id": STRING}, "id")}
MORE = {"Thing": obj({"id": STRING, "n": INTEGER}, "id")}
BROKEN = {"Thing": obj({"id": STRING, "n": INTEGER}, "id", "n")}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with ./schema, outside of any repository."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    return work_folder(tmp_path, monkeypatch)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, to see that none stay."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def folder(name: str, defs: Defs, *, names: str = "", docs: str = "") -> str:
    schema_folder(Path(name), defs, names=names, docs=docs)
    return name


def commit(defs: Defs, docs: str = "") -> None:
    """Make ./pinned hold these definitions, and commit it."""
    if not Path(".git").exists():
        git("init", "--quiet")
    subprocess.run(["rm", "-rf", "pinned"], check=True)
    folder("pinned", defs, docs=docs)
    git("add", "--all", "pinned")
    git("commit", "--quiet", "--message", "x")


# formats and exit codes


def test_text_by_default() -> None:
    printed = ok("diff", folder("a", THING), folder("b", MORE))
    assert printed.startswith("folder:a -> folder:b\n1 change: 1 additive\n")
    assert "  + field n is new  integer" in printed


@pytest.mark.parametrize("form", FORMATS)
def test_output_to_a_file_is_what_is_printed(form: str) -> None:
    arguments = ["diff", folder("a", THING), folder("b", MORE), "--format", form]
    printed = ok(*arguments)
    assert ok(*arguments, "--output", "report") == ""
    assert Path("report").read_text(encoding="utf-8") == printed != ""


def test_colours_go_to_a_terminal_only() -> None:
    arguments = ["diff", folder("a", THING), folder("b", BROKEN)]
    assert "\x1b" not in ok(*arguments)
    assert "\x1b[1;31mbreaking" in run(*arguments, FORCE_COLOR="1", COLUMNS="90").stdout


@pytest.mark.parametrize(
    ("new", "fail_on", "status"),
    [
        (THING, "additive", 0),
        (MORE, "additive", 1),
        (MORE, "breaking", 0),
        (BROKEN, "additive", 1),
        (BROKEN, "breaking", 1),
        (BROKEN, None, 0),
    ],
)
def test_fail_on(new: Defs, fail_on: str | None, status: int) -> None:
    arguments = ["diff", folder("a", THING), folder("b", new)] + (["--fail-on", fail_on] if fail_on else [])
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (status, "")
    # The report is there whatever the answer.
    assert result.stdout.startswith("folder:a -> folder:b\n")
    assert run(*arguments, "--output", "report").exit_code == status and Path("report").exists()


def test_fail_on_counts_what_breaks_python_alone() -> None:
    old, new = ({name: obj({"a": STRING, "b": INTEGER})} for name in ("Old", "New"))
    assert run("diff", folder("a", old), folder("b", new), "--fail-on", "breaking").exit_code == 1


def test_as_a_program(work: Path) -> None:
    done = program("diff", folder("a", THING), folder("b", BROKEN), "--fail-on", "breaking", cwd=work)
    assert (done.returncode, done.stderr) == (1, "") and "constructor asks for it" in done.stdout


# what is compared


def test_profiles_and_their_restriction() -> None:
    schema_folder(Path("a"), THING, unstable=THING)
    schema_folder(Path("b"), MORE, unstable=BROKEN)
    whole = json.loads(ok("diff", "a", "b", "--format", "json"))
    assert whole["profiles"] == ["v2/stable", "v2/unstable"]
    chosen = json.loads(ok("diff", "a", "b", "--format", "json", "--profile", "v2/unstable"))
    assert chosen["profiles"] == ["v2/unstable"]
    assert {one["kind"] for one in chosen["changes"]} == {"field-added-required"}


def test_single_files_are_compared_whatever_their_profiles() -> None:
    """Two channels, and a file whose path does not tell its profile."""
    schema_folder(Path("a"), THING, unstable=MORE)
    assert "field n is new" in ok("diff", "a/v2/schema.json", "a/v2/schema.unstable.json")
    Path("loose.json").write_bytes(Path("a/v2/schema.unstable.json").read_bytes())
    assert "field n is new" in ok("diff", "a/v2/schema.json", "loose.json", "--profile", "v2/stable")
    assert "does not tell its profile" in problem("diff", "a/v2/schema.json", "loose.json")


def test_names_beside_each_schema() -> None:
    """Curated names are heeded on the side that has them: another name in names.toml is another class."""
    closed = {
        "Shape": {
            "anyOf": [
                obj({"kind": {"const": kind, "type": "string"}, "n": INTEGER}, "kind") for kind in ("round", "flat")
            ]
        }
    }
    old = folder("a", closed, names='[Shape]\nRound = ["round"]\nFlat = ["flat"]\n')
    new = folder("b", closed, names='[Shape]\nCircle = ["round"]\nFlat = ["flat"]\n')
    data = json.loads(ok("diff", old, new, "--format", "json"))
    assert [(one["kind"], one["before"], one["after"]) for one in data["changes"]] == [
        ("definition-renamed", "Round", "Circle")
    ]
    # One that has none takes those of the schema folder, so that both sides use the same words.
    bare = folder("c", closed)
    assert json.loads(ok("diff", old, bare, "--format", "json", "--schema-dir", old))["changes"] == []
    # What does not fit is used for neither side, and that is said.
    odd = folder("d", THING | closed, names='[Shape]\nThing = ["round"]\nFlat = ["flat"]\n')
    data = json.loads(ok("diff", odd, bare, "--format", "json", "--schema-dir", old))
    assert data["notes"] == ["Read without names.toml of v2, which does not fit both schemas."]
    assert [one["kind"] for one in data["changes"]] == ["definition-removed"]


def test_docs_of_both_sides() -> None:
    """docs.toml is compared with docs.toml, and a schema's own descriptions with those of another schema."""
    old = folder("a", THING, docs='[Thing]\ndoc = "One."\n')
    new = folder("b", THING, docs='[Thing]\ndoc = "Two."\n')
    assert "documented otherwise: Thing" in ok("diff", old, new)
    described = folder("c", {"Thing": obj({"id": STRING}, "id", description="Their words.")})
    assert "0 changes" in ok("diff", old, described)


# git revisions


def test_revision_of_a_folder_and_of_a_file(scratch: Path) -> None:
    commit(THING)
    commit(MORE)
    file = "HEAD~1:pinned/v2/schema.json"
    for old, new in (("HEAD~1:pinned", "HEAD:pinned"), (file, "pinned"), ("HEAD~1:pinned/v2", "pinned/v2")):
        printed = ok("diff", old, new)
        assert printed.startswith(f"git:{old} (") and "field n is new" in printed
    assert list(scratch.iterdir()) == []


def test_revision_of_the_root_and_of_a_folder_called_schema() -> None:
    git("init", "--quiet")
    git("add", "--all", "schema")
    git("commit", "--quiet", "--message", "x")
    assert "0 changes" in ok("diff", "HEAD:", "HEAD:schema")
    assert "0 changes" in ok("diff", "HEAD:schema", "schema")


def test_revision_from_a_folder_below(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are the repository's own, as git has them; `./` is where we are."""
    commit(THING)
    commit(MORE)
    monkeypatch.chdir(work / "pinned")
    assert "field n is new" in ok("diff", "HEAD~1:pinned", "HEAD:./")
    monkeypatch.chdir(work / "pinned/v2")
    assert "field n is new" in ok("diff", "HEAD~1:../../pinned", "HEAD:./schema.json")
    assert "no such path" in problem("diff", "HEAD:../../../pinned", "HEAD:./schema.json")


def test_overlays_of_a_revision_are_its_own() -> None:
    commit(THING, docs='[Thing]\ndoc = "One."\n')
    commit(THING, docs='[Thing]\ndoc = "Two."\n')
    assert "documented otherwise: Thing" in ok("diff", "HEAD~1:pinned", "HEAD:pinned")
    assert "documented otherwise: Thing" in ok("diff", "HEAD~1:pinned/v2/schema.json", "HEAD:pinned/v2/schema.json")


def test_only_schema_files_are_taken_from_a_revision(scratch: Path) -> None:
    """A link is not followed, and nothing but schema and TOML files leaves the repository."""
    commit(THING)
    Path("pinned/v2/schema.unstable.json").symlink_to("schema.json")
    Path("pinned/v2/hook.sh").write_text("exit 1")
    git("add", "--all", "pinned")
    git("commit", "--quiet", "--message", "x")
    assert "0 changes" in ok("diff", "HEAD~1:pinned", "HEAD:pinned")
    assert list(scratch.iterdir()) == []


# bad input


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("nothing", "no such file or folder"),
        ("npm:not/a/package", "no package name"),
        ("HEAD:nothing", "no such path in that revision"),
        ("nobody:pinned", "no such revision"),
        ("HEAD~9:pinned", "no such revision"),
        (":pinned", "no revision in front of the colon"),
        ("--help:pinned", "no revision in front of the colon"),
        ("HEAD:other", "no schema file"),
        ("HEAD:other/x.txt", "does not tell its profile"),
    ],
)
def test_bad_sources(source: str, found: str, scratch: Path) -> None:
    commit(THING)
    Path("other").mkdir()
    Path("other/x.txt").write_text("x")
    git("add", "--all", "other")
    git("commit", "--quiet", "--message", "x")
    for arguments in ((source, "pinned"), ("pinned", source)):
        text = problem("diff", "--", *arguments)
        assert found in text and source in text.replace("\n", "") and str(scratch) not in text
    assert list(scratch.iterdir()) == []


def test_no_repository() -> None:
    assert "no git repository around the working folder" in problem("diff", "HEAD:schema", "schema")


def test_no_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "no git on the PATH" in problem("diff", "HEAD:schema", "schema")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", "JSON"),
        ("[]", "no object"),
        ('{"$defs": {"A": {"type": 3}}}', "3"),
        ('{"$defs": {"A": {"$ref": "#/$defs/B"}}}', "reference to nothing"),
        ('{"$defs": {"A": {"$ref": "other.json"}}}', "out of the file"),
        ('{"$defs": {"A": {"type": "object", "minProperties": 2}}}', "minProperties"),
    ],
)
def test_invalid_schemas(text: str, found: str) -> None:
    """All problems of both sides are shown, each with the source that it is in."""
    Path("bad/v2").mkdir(parents=True)
    Path("bad/v2/schema.json").write_text(text)
    shown = problem("diff", folder("good", THING), "bad", "--output", "report")
    assert found in shown and "folder:bad v2/schema.json" in shown
    assert not Path("report").exists()


def test_invalid_overlays() -> None:
    assert "names.toml" in problem("diff", folder("a", THING), folder("b", THING, names="[broken"))


def test_a_profile_that_neither_side_has() -> None:
    text = problem("diff", folder("a", THING), folder("b", THING), "--profile", "v1/stable")
    assert "which neither side has" in text and "v2/stable" in text
    assert "unknown profile" in problem("diff", "a", "b", "--profile", "v9/stable")


def test_an_output_that_cannot_be_written() -> None:
    assert "missing/report" in problem("diff", folder("a", THING), folder("b", THING), "--output", "missing/report")

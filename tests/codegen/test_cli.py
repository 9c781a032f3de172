"""The command line: what it does, prints and exits with. Most of it in this process, some as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from codegen import __version__
from codegen.cli import COMMANDS, main
from codegen.cli.common import MAX_PROBLEMS
from codegen.pipeline import generate
from codegen.schema.lock import LockEntry, lock_text
from codegen.write import changes
from tests.support.cli import ROOT, ok, problem, program, run, schema, work_folder


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_folder(tmp_path, monkeypatch)


# generate


def test_generate_writes_and_says_what(work: Path) -> None:
    printed = ok("generate")
    files = generate(Path("schema"), ["v2/stable", "v2/unstable"], "acp_bindings", project=True)
    assert {path: (work / "generated" / path).read_text() for path in files} == files
    assert printed.splitlines() == [
        *(f"wrote    generated/{path}" for path in files),
        f"{len(files)} files in generated, {len(files)} changed",
    ]


def test_generate_again_says_what_changed(work: Path) -> None:
    count = len(ok("generate").splitlines()) - 1
    assert ok("generate") == f"{count} files in generated, 0 changed\n"
    (work / "generated/README.md").unlink()
    (work / "generated/acp_bindings/v2/models.py").write_text("x = 1\n")
    (work / "generated/acp_bindings/v2/old.py").write_text("x = 1\n")
    assert ok("generate").splitlines() == [
        "wrote    generated/README.md",
        "updated  generated/acp_bindings/v2/models.py",
        "removed  generated/acp_bindings/v2/old.py",
        f"{count} files in generated, 3 changed",
    ]


def test_generate_with_options(work: Path) -> None:
    moved = work / "elsewhere"
    (work / "schema").rename(moved)
    out = work / "a/b"
    ok("generate", "--schema-dir", moved, "--out", out, "--package", "my_acp", "--profile", "v2/stable")
    assert [path.name for path in out.iterdir()] == ["my_acp"]
    assert not (out / "my_acp/v2/unstable").exists()
    # Repeated, in any order; with what makes it a project.
    chosen = ["--profile", "v2/unstable", "--profile", "v2/stable", "--profile", "v2/stable"]
    ok("generate", "--schema-dir", moved, "--out", out, "--package", "my_acp", *chosen, "--project")
    files = generate(moved, ["v2/stable", "v2/unstable"], "my_acp", project=True)
    assert changes(out, "my_acp", files) == []
    assert 'name = "my-acp"' in (out / "pyproject.toml").read_text()


def test_acp_bindings_without_project(work: Path) -> None:
    ok("generate", "--no-project")
    assert [path.name for path in (work / "generated").iterdir()] == ["acp_bindings"]


@pytest.mark.parametrize("channels", [["unstable"], ["stable"], ["stable", "unstable"]])
def test_any_channels_import(work: Path, channels: list[str]) -> None:
    chosen = [argument for channel in channels for argument in ("--profile", f"v2/{channel}")]
    ok("generate", "--package", "pkg", *chosen)
    modules = {"stable": "pkg.v2", "unstable": "pkg.v2.unstable"}
    checks = [f'import {modules[one]} as m; print(m.decode(\'{{"fullName": "x"}}\', m.Thing))' for one in channels]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(checks)], cwd="generated", capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("Thing(full_name='x')\n" * len(channels), "")


# generate --check


def test_check_clean() -> None:
    ok("generate")
    assert ok("generate", "--check") == "generated is what the generator writes\n"


def test_check_shows_a_diff_and_writes_nothing(work: Path) -> None:
    ok("generate")
    package = work / "generated/acp_bindings"
    models = package / "v2/models.py"
    models.write_text(models.read_text().replace("class Thing(", "class Thing2("))
    (package / "py.typed").unlink()
    (package / "stale.py").write_text("a\tb :bug: [red]c[/]\n")
    files = generate(Path("schema"), ["v2/stable", "v2/unstable"], "acp_bindings", project=True)
    before = changes(work / "generated", "acp_bindings", files)
    result = run("generate", "--check")
    assert result.exit_code == 1
    assert result.stdout == "".join(change.diff() for change in before).replace("\t", "\\t")
    assert "\n-class Thing2(Model, kw_only=True):\n+class Thing(Model, kw_only=True):\n" in result.stdout
    assert "--- /dev/null\n+++ b/acp_bindings/py.typed\n" in result.stdout
    assert "--- a/acp_bindings/stale.py\n+++ /dev/null\n" in result.stdout
    assert result.stderr.count("\n") == 1 and "3" in result.stderr and "acp-codegen generate" in result.stderr
    assert changes(work / "generated", "acp_bindings", files) == before


def test_check_without_output(work: Path) -> None:
    result = run("generate", "--check", "--profile", "v2/stable")
    assert result.exit_code == 1 and result.stdout.startswith("--- /dev/null\n+++ b/README.md\n")
    assert not (work / "generated").exists()


def test_check_prints_nothing_raw(work: Path) -> None:
    ok("generate", "--package", "pkg")
    (work / "generated/pkg/\x1b[31m.py").write_text("\x1b]0;title\x07\r\n")
    Path(os.fsdecode(os.fsencode(work) + b"/generated/pkg/\xff.py")).write_bytes(b"\xff\n")
    result = run("generate", "--check", "--package", "pkg")
    assert all(line.isprintable() for line in result.stdout.split("\n"))
    assert "\n--- a/pkg/\\udcff.py\n" in result.stdout
    assert "\n-\\x1b]0;title\\x07\\r\n" in result.stdout


def test_diff_is_coloured_on_a_terminal(work: Path) -> None:
    ok("generate")
    (work / "generated/acp_bindings/v2/models.py").write_text("x = 1\n")
    plain = run("generate", "--check").stdout
    coloured = run("generate", "--check", FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[31m-x = 1" in coloured and "\x1b[32m+class Thing(" in coloured
    assert plain in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", coloured)


# Input that cannot be used


@pytest.mark.parametrize(
    "name", ["class", "None", "1a", "a-b", "a/b", "../a", "a.b", "", "a b", "é", "a\x1b[31m", "a\n"]
)
def test_bad_package_name(work: Path, name: str) -> None:
    text = problem("generate", "--package", name)
    assert "error --package\n" in text and "identifier" in text
    assert sorted(path.name for path in work.iterdir()) == ["schema"]


def test_unknown_profile(work: Path) -> None:
    for command in ("generate", "inspect"):
        text = problem(command, "--profile", "v3/\x1b[31m")
        assert "error --profile\n" in text and "v2/unstable" in text


def test_missing_profile_and_folder(work: Path) -> None:
    text = problem("generate", "--profile", "v1/stable")
    assert "error schema/v1/schema.json\n" in text and "v2/stable, v2/unstable" in text
    assert "acp-codegen import" in problem("generate", "--schema-dir", "absent")
    assert "no such file" in problem("inspect", "--schema-dir", "absent", "--profile", "v2/stable")


def test_changed_schema(work: Path) -> None:
    entry = LockEntry("v2/schema.json", "npm:x@1", "1", "0" * 64, "1" * 64)
    (work / "schema/lock.toml").write_text(lock_text({"v2/stable": entry}))
    text = problem("generate", "--profile", "v2/stable")
    assert "error schema/v2/schema.json\n" in text and "1" * 64 in text
    both = problem("generate")
    assert "1" * 64 in both and "error schema/v2/schema.unstable.json\n" in both and "lock.toml does not list" in both


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("{", "/v2/schema.json", "column"),
        ("[]", "/v2/schema.json", "no object"),
        ('{"$defs": {"A": {"type": "strin"}}}', "/v2/schema.json#/$defs/A/type", "'strin'"),
        ('{"$defs": {"A": {"$ref": "#/$defs/B"}}}', "/v2/schema.json#/$defs/A/$ref", "'#/$defs/B'"),
        ('{"$defs": {"A": {"if": true}}}', "/v2/schema.json#/$defs/A/if", "'if'"),
        (
            '{"$defs": {"\\u001b[31m :bug: [red]": {}}}',
            "/v2/schema.json#/$defs/\\x1b[31m :bug: [red]",
            r"'\x1b[31m :bug: [red]'",
        ),
        ('{"$defs": {"\\ud800\\u202e": {"if": true}}}', "/v2/schema.json#/$defs/\\ud800\\u202e", r"'\ud800\u202e'"),
        ('{"$defs": {"A": {"x\\u001b": true}}}', "/v2/schema.json#/$defs/A/x\\x1b", r"'x\x1b'"),
    ],
)
def test_malformed_schema(work: Path, text: str, place: str, found: str) -> None:
    schema(work / "bad", text)
    first, second, *_ = problem("generate", "--schema-dir", "bad").split("\n")
    assert first == f"error bad{place}" and found in second
    assert not (work / "generated").exists()


def test_many_problems_fit_on_a_screen(work: Path) -> None:
    defs = {f"{'X' * 500}{number}": {"if": True} for number in range(MAX_PROBLEMS + 7)}
    said = problem("generate", "--schema-dir", schema(work / "bad", json.dumps({"$defs": defs})))
    assert said.count("error ") == MAX_PROBLEMS
    assert "\n... and 7 more problems\n" in said


def test_a_problem_of_both_channels_is_told_once(work: Path) -> None:
    (work / "schema/v2/names.toml").write_text("[")
    assert problem("generate").count("error ") == 1


def test_output_that_cannot_be_written(work: Path) -> None:
    (work / "file").write_text("")
    assert "error file" in problem("generate", "--out", "file/out")
    result = run("generate", "--out", "file")
    assert result.exit_code == 2 and "'--out'" in result.stderr


def test_output_of_somebody_else(work: Path) -> None:
    (work / "generated").mkdir()
    (work / "generated/README.md").write_text("# Mine\n")
    text = problem("generate")
    assert "error generated/README.md\n" in text and "--no-project" in text
    assert [path.name for path in (work / "generated").iterdir()] == ["README.md"]


# import


def test_import_then_generate(work: Path) -> None:
    target = work / ("a" * 100) / "pinned"
    printed = ok("import", "schema", "--schema-dir", target).splitlines()
    assert printed[0].split() == ["profile", "definitions", "version", "file"]
    assert [line.split() for line in printed[1:]] == [
        ["v2/stable", "3", "unknown", str(target / "v2/schema.json")],
        ["v2/unstable", "4", "unknown", str(target / "v2/schema.unstable.json")],
    ]
    assert ok("import", "schema", "--schema-dir", target).count(" (unchanged)") == 2
    assert "pinned" not in ok("generate", "--schema-dir", target)
    header, _ = (work / "generated/acp_bindings/v2/models.py").read_text().split("\n", 1)
    assert "from folder:schema" in header and "v2/stable" in header and str(work) not in header


def test_import_one_profile(work: Path) -> None:
    ok("import", "schema", "--schema-dir", "pinned", "--profile", "v2/unstable")
    assert sorted(path.name for path in (work / "pinned/v2").iterdir()) == ["schema.unstable.json"]


def test_import_several_profiles(work: Path) -> None:
    (work / "schema/v1").mkdir()
    shutil.copy(work / "schema/v2/schema.json", work / "schema/v1/schema.json")
    ok("import", "schema", "--schema-dir", "pinned", "--profile", "v2/unstable", "--profile", "v2/stable")
    found = [path.relative_to(work / "pinned").as_posix() for path in (work / "pinned").rglob("*.json")]
    assert sorted(found) == ["v2/schema.json", "v2/schema.unstable.json"]
    more = ("--profile", "v2/stable", "--profile", "v1/unstable")
    assert "v1/unstable, which --profile asks for" in problem("import", "schema", "--schema-dir", "other", *more)
    assert not (work / "other").exists()


@pytest.mark.parametrize(
    ("source", "place"), [("absent\x1b", r"absent\x1b"), ("npm:../x", "npm:../x"), ("schema/v2/names.toml", "schema")]
)
def test_import_of_nothing(work: Path, source: str, place: str) -> None:
    assert f"error {place}" in problem("import", source, "--schema-dir", "pinned")
    assert not (work / "pinned").exists()


# As a user runs it


def test_help() -> None:
    main_help = ok("--help")
    assert re.findall(r"^  ([a-z]+) {2,}\S", main_help, re.MULTILINE) == sorted(COMMANDS)
    wanted = {
        "check": ("--schema-dir", "--profile", "--out", "--package", "--skip", "--json", "--stubs", "Exit code"),
        "diff": ("OLD", "NEW", "--format", "--output", "--fail-on"),
        "update": ("[SOURCE]", "--schema-dir", "--profile", "--out", "--package", "--as", "--dry-run", "--report"),
        "import": ("SOURCE", "npm:PACKAGE@VERSION", "--schema-dir", "--profile", "lock.toml"),
        "generate": ("--schema-dir", "--profile", "--out", "--package", "--project / --no-project", "--check"),
        "inspect": ("[DEFINITION]", "--schema-dir", "--profile", "--json", "--undocumented"),
    }
    assert set(wanted) == set(COMMANDS)
    for command, words in wanted.items():
        text = ok(command, "-h")
        assert all(word in text for word in words)
    assert __version__ in ok("--version")


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None and command.name == name
    assert command.get_short_help_str(limit=1000).removesuffix(".") == COMMANDS[name].removesuffix(".")
    assert "Commands:" not in ok(name, "--help")


def test_every_command_is_listed() -> None:
    modules = (ROOT / "codegen/cli").glob("*_command.py")
    assert sorted(path.stem.removesuffix("_command") for path in modules) == sorted(COMMANDS)
    assert run("mend").exit_code == 2


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_no_command(option: str) -> None:
    """That is why it takes no time."""
    code = (
        "import sys; from codegen.cli import main; main([sys.argv[1]], standalone_mode=False);"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, option], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = done.stderr.split()
    ours = [name for name in loaded if name.startswith("codegen")]
    assert ours == ["codegen", "codegen.cli"]
    assert not {"rich", "jinja2", "black", "jsonschema", "ssl", "asyncio"} & set(loaded)


def test_bundled_schemas_from_anywhere(tmp_path: Path, work: Path) -> None:
    done = program("inspect", "ContentBlock", "--profile", "v2/stable", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "text: TextContent" in done.stdout
    done = program("inspect", "ContentBlock", cwd=work)
    assert done.returncode == 2 and "no definition named 'ContentBlock'" in done.stderr and done.stdout == ""


def test_exit_codes_of_the_program(work: Path) -> None:
    assert program("generate", "--check", cwd=work).returncode == 1
    assert program("generate", cwd=work).returncode == 0
    assert program("generate", "--check", cwd=work).returncode == 0
    assert program("generate", "--package", "class", cwd=work).returncode == 2


def test_installed_program_is_this_one() -> None:
    assert program("--version", cwd=ROOT).stdout.strip().endswith(__version__)

"""What we offer to CI: the workflow and the pre-commit hook, read, held to our command line, and run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from codegen.cli import main
from tests.support.cli import ROOT
from tests.support.packages import fake_npm, package
from tests.support.pinned import newer, pinned_folder, upstream

WORKFLOW = ROOT / ".github/workflows/update-schema.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
# In place of GitHub's own: it says what it was asked, and keeps the text of a pull request.
GH = """\
#!/bin/sh
echo "$@" >> "$GH_LOG"
if [ "$2" = list ]; then cat "$GH_OPEN"; fi
while [ $# -gt 0 ]; do if [ "$1" = --body-file ]; then cp "$2" "$GH_LOG.body"; fi; shift; done
"""


def workflow() -> dict[Any, Any]:
    found = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = workflow()["jobs"]["update"]["steps"]
    return found


def calls(script: str) -> Iterator[list[str]]:
    """The arguments of each call of our program in a script."""
    for line in script.splitlines():
        found = re.search(r"\bacp-codegen (.+)", line)
        if found and not line.lstrip().startswith(("#", "printf")):
            yield shlex.split(re.split(r"[|>]|\|\|", found[1])[0])


def accepted(arguments: list[str]) -> None:
    """Fails unless the command line has this command, with these options."""
    context = click.Context(main)
    command = main.get_command(context, arguments[0])
    assert command is not None, arguments
    command.make_context(arguments[0], arguments[1:], parent=context)


# What they say


def test_commands_exist() -> None:
    found = [call for step in steps() for call in calls(step.get("run", ""))]
    assert [call[0] for call in found] == ["update", "check"]
    for call in found:
        accepted(call)


def test_hook() -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    program, *arguments = shlex.split(hook["entry"])
    assert program == "acp-codegen" and hook["language"] == "python" and not hook["pass_filenames"]
    accepted(arguments)
    comment = re.search(r"args: \[(.+)\]", HOOKS.read_text(encoding="utf-8"))
    assert comment
    accepted([*arguments, *comment[1].split(", ")])
    wanted = ["schema/lock.toml", "schema/v2/schema.unstable.json", "v1/docs.toml", "src/my_acp/v2/models.py"]
    assert all(re.search(hook["files"], name) for name in wanted)
    assert not any(re.search(hook["files"], name) for name in ["README.md", "package.json", "v2/other.json"])


def test_workflow_may_do_little() -> None:
    found = workflow()
    assert found["permissions"] == {}
    assert [job["permissions"] for job in found["jobs"].values()] == [{"contents": "write", "pull-requests": "write"}]
    # PyYAML reads the key `on` as a truth value.
    assert set(found[True]) == {"schedule", "workflow_dispatch"}
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps() if "uses" in step)
    # What somebody types in is never part of a script.
    assert not any("${{" in step.get("run", "") for step in steps())


# What they do


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with schemas pinned from npm:pkg at 1.0.0, and a `gh` and an `npm` of ours on the PATH."""
    work = pinned_folder(tmp_path, monkeypatch)
    files = {
        path.relative_to(tmp_path / "new").as_posix(): path.read_bytes() for path in (tmp_path / "new").rglob("*.json")
    }
    fake_npm(tmp_path / "bin", monkeypatch)(package(files, files["package.json"]), shown='"1.1.0"')
    lock = work / "schema/lock.toml"
    lock.write_text(lock.read_text().replace("folder:old", "npm:pkg@1.0.0"))
    subprocess.run([Path(sys.executable).with_name("acp-codegen"), "generate"], check=True, capture_output=True)
    (tmp_path / "bin/gh").write_text(GH)
    (tmp_path / "bin/gh").chmod(0o755)
    (tmp_path / "open").write_text("0\n")
    for name, value in {
        "GH_LOG": str(tmp_path / "gh.log"),
        "GH_OPEN": str(tmp_path / "open"),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "PATH": os.pathsep.join([str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
    }.items():
        monkeypatch.setenv(name, value)
    git("init", "--quiet", "--bare", "../origin.git")
    git("init", "--quiet", "--initial-branch", "main")
    git("remote", "add", "origin", "../origin.git")
    git("add", "--all")
    git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message", "Pinned")
    git("push", "--quiet", "origin", "main")
    return work


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, encoding="utf-8").stdout


def run_workflow(tmp_path: Path, source: str = "") -> subprocess.CompletedProcess[str] | None:
    """Run its scripts as GitHub does; the first that fails ends it and is returned."""
    (tmp_path / "output").write_text("")
    job = workflow()["jobs"]["update"]
    given = {"${{ inputs.source }}": source, "${{ github.token }}": "token"}
    for step in steps():
        if "uses" in step or step.get("name") == "Install":
            continue
        condition = step.get("if", "")
        assert condition in ("", "steps.new.outputs.found == 'true'")
        if condition and "found=true" not in (tmp_path / "output").read_text():
            continue
        own = {name: given.get(value, str(value)) for name, value in step.get("env", {}).items()}
        assert not any("${{" in value for value in own.values())
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**os.environ, **job["env"], **own},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            return done
    return None


def asked(tmp_path: Path) -> list[str]:
    log = tmp_path / "gh.log"
    return [line.split(" ")[1] for line in log.read_text().splitlines()] if log.exists() else []


def test_proposal(work: Path, tmp_path: Path) -> None:
    assert run_workflow(tmp_path) is None
    assert asked(tmp_path) == ["list", "create"]
    body = (tmp_path / "gh.log.body").read_text()
    assert "Extra" in body and r"npm:pkg\@1.1.0" in body and "nothing on [Shape] 'square'" in body
    changed = git("diff", "--name-only", "main", "origin/update-schema").split()
    assert {"schema/lock.toml", "schema/v2/schema.json", "generated/acp_bindings/v2/models.py"} <= set(changed)
    assert all(name.startswith(("schema/", "generated/")) for name in changed)
    assert git("log", "--format=%s", "main..origin/update-schema").splitlines() == ["Update the schema"]


def test_proposal_that_is_open_is_renewed(work: Path, tmp_path: Path) -> None:
    (tmp_path / "open").write_text("1\n")
    assert run_workflow(tmp_path) is None
    assert asked(tmp_path) == ["list", "edit"]


def test_nothing_new_is_no_proposal(work: Path, tmp_path: Path) -> None:
    fake = tmp_path / "bin/shown"
    fake.write_text('"1.0.0"')
    assert run_workflow(tmp_path) is None
    assert asked(tmp_path) == [] and git("status", "--porcelain") == ""


def test_source_that_somebody_types_in(work: Path, tmp_path: Path) -> None:
    done = run_workflow(tmp_path, "$(touch /tmp/x) ../new")
    assert done is not None and done.returncode == 2 and "no such file or folder" in done.stderr
    assert asked(tmp_path) == [] and git("status", "--porcelain") == ""
    upstream(tmp_path / "newest", "3.0.0", newer())
    assert run_workflow(tmp_path, "../newest") is None
    assert "folder:newest" in (tmp_path / "gh.log.body").read_text()


def test_update_that_fails_fails_the_run(work: Path, tmp_path: Path) -> None:
    (tmp_path / "bin/npm").write_text("#!/bin/sh\nexit 1\n")
    done = run_workflow(tmp_path)
    assert done is not None and done.returncode == 2 and "npm view failing" in done.stderr
    assert asked(tmp_path) == []

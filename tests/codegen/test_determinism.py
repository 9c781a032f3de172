"""Same input, same bytes: whatever the hash seed, the locale, the working folder; and generated/ is up to date.

Other Pythons than this one are tried by tools/test_all, which runs `generate --check` under each.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from codegen.pipeline import bundled, generate
from codegen.sources import PROFILE_FILES
from codegen.write import changes, write
from tests.support.cli import ROOT, program

GOLDEN = ROOT / "tests/data/golden/schema"
DUMP = """\
import json, sys
from pathlib import Path
from codegen.pipeline import generate
schema, *profiles = sys.argv[1:]
files = generate(Path(schema), profiles, "acp_bindings", project=True)
sys.stdout.buffer.write(json.dumps(files).encode())
"""
BARE_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def profiles_of(schema: Path) -> list[str]:
    return [name for name, file in PROFILE_FILES.items() if (schema / file).is_file()]


def dumped(schema: Path | str, profiles: list[str], cwd: Path, **env: str) -> dict[str, str]:
    """What `generate` returns in a process of its own, in the order in which it does."""
    done = subprocess.run(
        [sys.executable, "-c", DUMP, schema, *profiles],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdout=subprocess.PIPE,
        check=True,
    )
    files: dict[str, str] = json.loads(done.stdout)
    return files


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """All that is generated from the pinned schemas, made in this process."""
    schema = bundled("schema")
    return generate(schema, profiles_of(schema), "acp_bindings", project=True)


@pytest.fixture(scope="module")
def small() -> dict[str, str]:
    return generate(GOLDEN, profiles_of(GOLDEN), "acp_bindings", project=True)


def locales() -> list[str]:
    """Installed locales in which text is treated in another way: letters without case in Turkish, commas in numbers."""
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    return [name for name in listed if re.match(r"(tr|az|de|ja|ar)_", name)]


def test_committed_package_is_what_the_generator_writes(generated: dict[str, str]) -> None:
    found = changes(ROOT / "generated", "acp_bindings", generated)
    assert not found, "run: acp-codegen generate\n" + "".join(change.diff() for change in found)


def test_full_output_in_another_process(generated: dict[str, str], tmp_path: Path) -> None:
    schema = bundled("schema")
    found = dumped(schema, profiles_of(schema), tmp_path, PYTHONHASHSEED="4711", **BARE_LOCALE)
    assert list(found.items()) == list(generated.items())


@pytest.mark.parametrize("seed", ["0", "1", "2", "3", "random"])
def test_hash_seeds(small: dict[str, str], tmp_path: Path, seed: str) -> None:
    assert list(dumped(GOLDEN, profiles_of(GOLDEN), tmp_path, PYTHONHASHSEED=seed).items()) == list(small.items())


def test_locales(small: dict[str, str], tmp_path: Path) -> None:
    for env in (BARE_LOCALE, *({"LC_ALL": name} for name in locales())):
        assert dumped(GOLDEN, profiles_of(GOLDEN), tmp_path, **env) == small


def test_options_of_python(small: dict[str, str], tmp_path: Path) -> None:
    # -OO drops assertions and docstrings.
    assert dumped(GOLDEN, profiles_of(GOLDEN), tmp_path, PYTHONOPTIMIZE="2", COLUMNS="20", TZ="Asia/Tokyo") == small


def test_schema_folder_by_another_name(small: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "büro").mkdir()
    (tmp_path / "büro/x").symlink_to(GOLDEN)
    (tmp_path / "lib").mkdir()
    assert dumped("../büro/x", profiles_of(GOLDEN), tmp_path / "lib", LC_ALL="C") == small


def test_order_of_the_profiles_asked_for(small: dict[str, str], tmp_path: Path) -> None:
    for name, order in {"a": ("v2/stable", "v2/unstable"), "b": ("v2/unstable", "v2/stable")}.items():
        chosen = [argument for profile in order for argument in ("--profile", profile)]
        assert program("generate", "--schema-dir", GOLDEN, "--out", name, *chosen, cwd=tmp_path).returncode == 0
        assert changes(tmp_path / name, "acp_bindings", small) == []


def test_nothing_of_this_machine_or_moment(generated: dict[str, str], small: dict[str, str]) -> None:
    places = [str(ROOT), str(Path.home()), sys.prefix, tempfile.gettempdir(), "C:\\", time.strftime("%Y-%m-%d")]
    # Not the bare name, which may be a word of the protocol.
    user = re.compile(rf"[/\\]{re.escape(getpass.getuser())}\b")
    clock = re.compile(r"\b\d\d:\d\d:\d\d\b")
    for path, text in {**generated, **{f"small/{path}": text for path, text in small.items()}}.items():
        assert not [place for place in places if len(place) > 3 and place in text], path
        assert not user.search(text) and not clock.search(text), path


def test_text_files_have_one_form(generated: dict[str, str]) -> None:
    for path, text in generated.items():
        assert "\r" not in text and "\t" not in text and "\ufeff" not in text, path
        assert text == "" or (text.endswith("\n") and not text.endswith("\n\n")), path
        assert not re.search(r"[ \t]+$", text, re.MULTILINE), path


def test_writing_twice_writes_nothing(generated: dict[str, str], tmp_path: Path) -> None:
    assert len(write(tmp_path, "acp_bindings", generated)) == len(generated)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert write(tmp_path, "acp_bindings", generated) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before

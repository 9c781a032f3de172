"""Both distributions as they are installed: what their wheels hold, and that the generator runs from its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from codegen import __version__
from codegen.write import changes
from tests.support.cli import ROOT

GOLDEN = ROOT / "tests/data/golden/schema"
# What a release has; everything else of the repository must not be needed.
PARTS = ("codegen", "templates", "schema", "README.md", "LICENSE", "pyproject.toml", ".gitignore")


def build(source: Path, kind: str, target: Path) -> Path:
    """Build the project in `source` with the hatchling that is installed here: no isolation, no network."""
    target.mkdir(exist_ok=True)
    call = f"import sys; from hatchling.build import build_{kind}; print(build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", call, target], cwd=source, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def unpacked(wheel: Path, target: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def from_wheel(site: Path, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the generator that lies in `site`, and hold that it is that one."""
    code = (
        "import codegen, sys; from codegen.cli import main;"
        " assert codegen.__file__.startswith(sys.argv.pop(1)), codegen.__file__; main()"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, site, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository, with compiled files lying about."""
    copy = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, copy / part)
    for folder in ("codegen", "templates/runtime"):
        (copy / folder / "__pycache__").mkdir()
        (copy / folder / "__pycache__/x.cpython-311.pyc").write_bytes(b"")
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(wheel, tmp_path_factory.mktemp("site"))


# The generator


def test_wheel_holds_code_templates_and_schemas(source: Path, wheel: Path) -> None:
    wanted = {f"codegen/{name}" for name in below(source / "codegen")}
    for part in ("templates", "schema"):
        wanted |= {f"codegen/_data/{part}/{name}" for name in below(source / part)}
    assert names(wheel) == wanted
    assert {"codegen/py.typed", "codegen/_data/schema/lock.toml", "codegen/_data/templates/py.typed"} <= wanted


def test_wheel_metadata(wheel: Path) -> None:
    found = metadata(wheel)
    assert (found["Name"], found["Version"], found["Requires-Python"]) == ("acp-codegen", __version__, ">=3.11")
    assert found["License-Expression"] == "Apache-2.0" and found.get_all("License-File") == ["LICENSE"]
    needed = {re.split(r"[<>=!~ ]", one)[0] for one in found.get_all("Requires-Dist") or ()}
    assert needed == {"black", "click", "jinja2", "jsonschema", "rich"}
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "acp-codegen = codegen.cli:main" in archive.read(name).decode()


def test_wheel_from_the_source_distribution(source: Path, wheel: Path, tmp_path: Path) -> None:
    sdist = build(source, "sdist", tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    again = build(tmp_path / sdist.name.removesuffix(".tar.gz"), "wheel", tmp_path / "again")
    assert names(again) == names(wheel)


def test_installed_generator_writes_the_committed_package(site: Path, tmp_path: Path) -> None:
    done = from_wheel(site, "generate", "--check", "--out", ROOT / "generated", cwd=tmp_path)
    assert done.stderr == "" and done.returncode == 0, done.stdout
    assert list(tmp_path.iterdir()) == []


def test_installed_generator_with_schemas_of_the_user(site: Path, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "schema")
    done = from_wheel(site, "generate", "--package", "painter", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    files = {path: (tmp_path / "generated" / path).read_text() for path in below(tmp_path / "generated")}
    assert "painter/v2/unstable/models.py" in files and "painter/runtime/codec.py" in files
    assert changes(tmp_path / "generated", "painter", files) == []


# The bindings


@pytest.fixture(scope="module")
def bindings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of generated/, from a copy, since building may leave things behind."""
    copy = tmp_path_factory.mktemp("bindings") / "generated"
    shutil.copytree(ROOT / "generated", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "acp_bindings/__pycache__").mkdir()
    (copy / "acp_bindings/__pycache__/x.cpython-311.pyc").write_bytes(b"")
    return build(copy, "wheel", copy.parent / "dist")


def test_bindings_hold_the_package_and_nothing_else(bindings: Path) -> None:
    wanted = {f"acp_bindings/{name}" for name in below(ROOT / "generated/acp_bindings")}
    assert names(bindings) == wanted
    assert {"acp_bindings/py.typed", "acp_bindings/v2/models.py", "acp_bindings/runtime/codec.py"} <= wanted
    assert not any("test" in name for name in wanted)


def test_bindings_metadata(bindings: Path) -> None:
    found = metadata(bindings)
    assert (found["Name"], found["Version"], found["Requires-Python"]) == ("acp-bindings", __version__, ">=3.11")
    needed: dict[str, list[str]] = {}
    for one in found.get_all("Requires-Dist") or ():
        name, _, condition = one.partition(";")
        extra = re.search(r"extra == '(\w+)'", condition)
        needed.setdefault(extra[1] if extra else "", []).append(re.split(r"[<>=!~ ]", name)[0])
    assert needed == {
        "": ["msgspec"],
        "cli": ["click", "rich"],
        "http": ["httpx-sse", "httpx[http2]", "starlette", "uvicorn"],
        "ws": ["websockets"],
    }
    assert found["License-Expression"] == "Apache-2.0"
    assert found["Description-Content-Type"] == "text/markdown" and "# acp-bindings" in str(found.get_payload())
    assert "Typing :: Typed" in (found.get_all("Classifier") or ())


def test_bindings_run_with_msgspec_alone(bindings: Path, tmp_path: Path) -> None:
    # -S leaves out site-packages; what is needed of them is named by path.
    import msgspec

    site = unpacked(bindings, tmp_path / "site")
    (tmp_path / "needed").mkdir()
    (tmp_path / "needed/msgspec").symlink_to(Path(msgspec.__file__).parent)
    code = 'from acp_bindings import v2; print(v2.decode(b\'{"type": "text", "text": "hi"}\', v2.ContentBlock))'
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(tmp_path / "needed")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("TextContent(text='hi')\n", "")

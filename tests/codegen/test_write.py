"""Writing: what counts as a difference, what is refused, and that a failure leaves everything as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.contexts import MARK
from codegen.errors import CodegenError, Diagnostic
from codegen.write import Change, changes, write

FILES = {
    "README.md": f"<!-- {MARK} 1 -->\nhello\n",
    "pkg/__init__.py": f"# {MARK} 1\nfirst = 1\n",
    "pkg/deep/er/models.py": "x = 'é😀'\n",
    "pkg/py.typed": "",
    "pyproject.toml": f"# {MARK} 1\n",
}
NEWER = FILES | {"pkg/__init__.py": f"# {MARK} 2\n", "pyproject.toml": f"# {MARK} 2\n", "pkg/new.py": "y = 1\n"}
# What is moved: the package out of the way and into place, each project file over the old one.
MOVES = 4
FIRST_MOVES = 3


def snapshot(root: Path) -> dict[str, bytes | Path | None]:
    """Everything below `root`, hidden files too: bytes of files, targets of links, None for folders."""

    def contents(path: Path) -> bytes | Path | None:
        return path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None

    return {path.relative_to(root).as_posix(): contents(path) for path in root.rglob("*")}


def on_disk(root: Path) -> dict[str, str]:
    return {name: data.decode() for name, data in snapshot(root).items() if isinstance(data, bytes)}


def refusal(out: Path, package: str = "pkg", files: dict[str, str] = NEWER) -> tuple[Diagnostic, ...]:
    """What is said against writing; holds that nothing was changed by it."""
    before = snapshot(out)
    with pytest.raises(CodegenError) as raised:
        write(out, package, files)
    assert snapshot(out) == before
    return raised.value.diagnostics


def failing_after(
    good: int, error: Callable[[str, str], BaseException], times: int = 1
) -> Callable[[Path, Path], None]:
    """An `os.replace` that works `good` times, fails `times` times and works again."""
    calls = 0
    replace = os.replace

    def replaced(old: Path, new: Path) -> None:
        nonlocal calls
        calls += 1
        if good < calls <= good + times:
            raise error(str(old), str(new))
        replace(old, new)

    return replaced


def disk_full(old: str, new: str) -> OSError:
    return OSError(28, "No space left on device", old, None, new)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output folder with FILES, as written before."""
    folder = tmp_path / "out"
    write(folder, "pkg", FILES)
    return folder


# What is written


def test_first_write(tmp_path: Path) -> None:
    found = write(tmp_path / "a/b", "pkg", FILES)
    assert on_disk(tmp_path / "a/b") == FILES
    assert found == [Change(path, None, text) for path, text in FILES.items()]


def test_only_what_changed_is_reported(out: Path) -> None:
    found = write(out, "pkg", NEWER)
    assert on_disk(out) == NEWER
    assert [change.path for change in found] == ["pkg/__init__.py", "pkg/new.py", "pyproject.toml"]
    assert found[0] == Change("pkg/__init__.py", FILES["pkg/__init__.py"], NEWER["pkg/__init__.py"])


def test_unchanged_output_is_not_touched(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: object) -> None:
        raise AssertionError

    identity = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out, *out.rglob("*"))}
    monkeypatch.setattr(os, "replace", touched)
    assert write(out, "pkg", FILES) == []
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (out, *out.rglob("*"))} == identity


def test_stale_files_go(out: Path) -> None:
    (out / "pkg/old/er").mkdir(parents=True)
    (out / "pkg/old/er/x.py").write_text("stale")
    (out / "pkg/.hidden").write_text("stale")
    assert write(out, "pkg", FILES) == [Change("pkg/.hidden", "stale", None), Change("pkg/old/er/x.py", "stale", None)]
    assert on_disk(out) == FILES
    assert not (out / "pkg/old").exists()


def test_files_beside_the_package_are_the_users_own(out: Path) -> None:
    (out / "tests").mkdir()
    (out / "tests/test_mine.py").write_text("mine")
    (out / "pkg2").mkdir()
    (out / "pkg2/__init__.py").write_text("mine")
    write(out, "pkg", NEWER)
    assert on_disk(out) == NEWER | {"tests/test_mine.py": "mine", "pkg2/__init__.py": "mine"}


def test_project_files_stay_when_only_the_package_is_written(out: Path) -> None:
    package = {path: text for path, text in NEWER.items() if path.startswith("pkg/")}
    write(out, "pkg", package)
    assert on_disk(out) == FILES | package


def test_compiled_files_are_no_difference(out: Path) -> None:
    for folder in ("pkg/__pycache__", "pkg/deep/__pycache__/x"):
        (out / folder).mkdir(parents=True)
        (out / folder / "models.cpython-311.pyc").write_bytes(b"\xff")
    assert changes(out, "pkg", FILES) == []


def test_output_below_a_folder_of_that_name(tmp_path: Path) -> None:
    out = tmp_path / "__pycache__"
    write(out, "pkg", FILES)
    (out / "pkg/stale.py").write_text("stale")
    assert [change.path for change in changes(out, "pkg", FILES)] == ["pkg/stale.py"]


def test_nothing_but_compiled_files_is_a_free_place(tmp_path: Path) -> None:
    (tmp_path / "pkg/__pycache__").mkdir(parents=True)
    (tmp_path / "pkg/__pycache__/x.pyc").write_bytes(b"\xff")
    write(tmp_path, "pkg", FILES)
    assert on_disk(tmp_path) == FILES


def test_unicode_paths(tmp_path: Path) -> None:
    out = tmp_path / "büro 😀\n"
    files = {"pkg/__init__.py": f"# {MARK}\n", "pkg/ünï😀.py": "x = 1\n"}
    write(out, "pkg", files)
    assert on_disk(out) == files
    assert changes(out, "pkg", files) == []


def test_name_that_is_no_text(out: Path) -> None:
    Path(os.fsdecode(os.fsencode(out) + b"/pkg/\xff.py")).write_text("stale")
    assert [change.path for change in write(out, "pkg", FILES)] == ["pkg/\udcff.py"]
    assert on_disk(out) == FILES


def test_written_files_can_be_read_by_others(out: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "file").touch()
    assert (out / "pkg").stat().st_mode == plain.stat().st_mode
    assert (out / "pkg/__init__.py").stat().st_mode == (plain / "file").stat().st_mode


# What counts as a difference


@pytest.mark.parametrize(
    "data",
    [
        FILES["pkg/__init__.py"].replace("\n", "\r\n").encode(),
        FILES["pkg/__init__.py"].encode() + b"\n",
        FILES["pkg/__init__.py"].rstrip().encode(),
        b"\xef\xbb\xbf" + FILES["pkg/__init__.py"].encode(),
        FILES["pkg/__init__.py"].encode() + b"\xff",
    ],
    ids=["crlf", "blank line", "no newline", "byte order mark", "no text"],
)
def test_drift(out: Path, data: bytes) -> None:
    (out / "pkg/__init__.py").write_bytes(data)
    assert [change.path for change in changes(out, "pkg", FILES)] == ["pkg/__init__.py"]
    write(out, "pkg", FILES)
    assert on_disk(out) == FILES


def test_missing_empty_file(out: Path) -> None:
    (out / "pkg/py.typed").unlink()
    assert changes(out, "pkg", FILES) == [Change("pkg/py.typed", None, "")]


@pytest.mark.parametrize(
    ("old", "new", "diff"),
    [
        ("a\nb\n", "a\nc\n", "--- a/p\n+++ b/p\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (None, "a\n", "--- /dev/null\n+++ b/p\n@@ -0,0 +1 @@\n+a\n"),
        ("a\n", None, "--- a/p\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        (None, "", "--- /dev/null\n+++ b/p\n"),
        ("", None, "--- a/p\n+++ /dev/null\n"),
        ("a", "a\n", "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        ("a\r\n", "a\n", "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\r\n+a\n"),
        ("a\x0cb\u2028c\n", "a\n", "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-a\x0cb\u2028c\n+a\n"),
    ],
)
def test_diff(old: str | None, new: str | None, diff: str) -> None:
    assert Change("p", old, new).diff() == diff


# What is refused


def test_folder_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/mine.py").write_text("mine")
    (problem,) = refusal(tmp_path)
    assert problem.place == str(tmp_path / "pkg") and "did not write" in problem.found and "--out" in problem.expected


def test_mark_counts_in_the_first_line_only(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text(f'"""Mine."""\n# Beside it: {MARK}\n')
    (tmp_path / "README.md").write_text(f"# Mine\n{MARK}\n")
    assert [problem.place for problem in refusal(tmp_path)] == [str(tmp_path / "pkg"), str(tmp_path / "README.md")]


def test_every_file_of_somebody_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "README.md").write_bytes(b"\xff")
    problems = refusal(tmp_path)
    assert [problem.place for problem in problems] == [str(tmp_path / "README.md"), str(tmp_path / "pyproject.toml")]
    assert all("--no-project" in problem.expected for problem in problems)


def test_file_where_the_package_should_be(tmp_path: Path) -> None:
    (tmp_path / "pkg").write_text("a file")
    (problem,) = refusal(tmp_path)
    assert (problem.place, problem.found) == (str(tmp_path / "pkg"), "a file")


def test_file_where_the_output_should_be(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    (problem,) = refusal(tmp_path / "out", files={"pkg/__init__.py": f"# {MARK}\n"})
    assert problem.place.startswith(str(tmp_path / "out")) and problem.found == "Not a directory"
    assert (tmp_path / "out").read_text() == "a file"


@pytest.mark.parametrize("name", ["pkg/__init__.py", "pkg/deep/er/models.py", "README.md"])
def test_folder_where_a_file_should_be(out: Path, name: str) -> None:
    (out / name).unlink()
    (out / name).mkdir()
    (out / name / "mine").write_text("mine")
    (problem,) = refusal(out)
    assert (problem.place, problem.found) == (str(out / name), "Is a directory")


@pytest.mark.parametrize("exists", [True, False])
def test_package_that_is_a_link(tmp_path: Path, exists: bool) -> None:
    if exists:
        write(tmp_path / "elsewhere", "pkg", FILES)
    out = tmp_path / "out"
    out.mkdir()
    (out / "pkg").symlink_to(tmp_path / "elsewhere/pkg")
    (problem,) = refusal(out)
    assert (problem.place, problem.found) == (str(out / "pkg"), "a symbolic link")


# Links inside the package


def test_links_are_replaced_and_what_they_lead_to_is_not_touched(out: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    (mine / "deep").mkdir(parents=True)
    (mine / "file.py").write_text("mine")
    (out / "pkg/__init__.py").rename(mine / "marked.py")
    (out / "pkg/__init__.py").symlink_to(mine / "marked.py")
    for name, target in {"folder": mine, "file.py": mine / "file.py", "dangling.py": mine / "gone", "up": out}.items():
        (out / "pkg" / name).symlink_to(target)
    before = snapshot(mine)
    stale = [change.path for change in changes(out, "pkg", FILES)]
    assert stale == ["pkg/dangling.py", "pkg/file.py", "pkg/folder", "pkg/up"]
    write(out, "pkg", NEWER)
    assert on_disk(out) == NEWER
    assert not any(path.is_symlink() for path in out.rglob("*"))
    assert snapshot(mine) == before


# Failures


@pytest.mark.parametrize("good", range(MOVES))
def test_failure_between_moves_puts_all_back(out: Path, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    monkeypatch.setattr(os, "replace", failing_after(good, disk_full))
    (problem,) = refusal(out)
    assert "No space left on device" in problem.found and "can be written" in problem.expected


@pytest.mark.parametrize("good", range(FIRST_MOVES))
def test_failure_at_first_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    (tmp_path / "mine").write_text("mine")
    monkeypatch.setattr(os, "replace", failing_after(good, disk_full))
    refusal(tmp_path)


@pytest.mark.parametrize("good", range(MOVES))
def test_interruption_puts_all_back(out: Path, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    before = snapshot(out)
    monkeypatch.setattr(os, "replace", failing_after(good, lambda old, new: KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        write(out, "pkg", NEWER)
    assert snapshot(out) == before


def test_failure_to_stage_leaves_all(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bytes = Path.write_bytes

    def failing(path: Path, data: bytes) -> int:
        if path.name == "new.py":
            write_bytes(path, data[:2])
            raise OSError(28, "No space left on device", str(path))
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", failing)
    assert refusal(out)[0].place.endswith("new.py")


def test_what_cannot_be_put_back_is_kept_and_named(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", failing_after(1, disk_full, times=1000))
    with pytest.raises(CodegenError) as raised:
        write(out, "pkg", NEWER)
    kept = Path(raised.value.diagnostics[0].place)
    assert {f"pkg/{name}": text for name, text in on_disk(kept).items()} == {
        path: text for path, text in FILES.items() if path.startswith("pkg/")
    }

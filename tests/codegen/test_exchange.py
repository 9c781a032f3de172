"""Things replaced together: what is there afterwards, and that any failure leaves what was there before."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from codegen.errors import CodegenError, Diagnostic
from codegen.exchange import Replacement, exchange
from tests.support.pinned import state

# A file, a folder and a file below another, in two roots.
MOVES = 4


def replacements(root: Path) -> list[Replacement]:
    return [
        Replacement(root / "one", {"file": b"new", "deep/er/file": b"new"}, ("file", "deep/er/file")),
        Replacement(root / "two", {"pkg/a": b"new", "pkg/b/c": b"new"}, ("pkg",)),
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with old contents in all those places, and others beside them."""
    root = tmp_path / "root"
    for name in ("one/file", "one/deep/er/file", "one/deep/mine", "two/pkg/a", "two/pkg/old/x", "two/mine"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"old")
    return root


def files(root: Path) -> dict[str, bytes]:
    return {name: data for name, (data, _) in state(root).items() if data is not None}


def refusal(wanted: list[Replacement]) -> Diagnostic:
    with pytest.raises(CodegenError) as raised:
        exchange(wanted)
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def failing(moments: set[int], error: Callable[[], BaseException]) -> Callable[[Path, Path], None]:
    calls = count()
    replace = os.replace

    def replaced(old: Path, new: Path) -> None:
        if next(calls) in moments:
            raise error()
        replace(old, new)

    return replaced


def full() -> OSError:
    return OSError(28, "No space left on device", "somewhere")


NEW = {"one/file": b"new", "one/deep/er/file": b"new", "two/pkg/a": b"new", "two/pkg/b/c": b"new"}


def test_exchange(root: Path) -> None:
    exchange(replacements(root))
    assert files(root) == {**NEW, "one/deep/mine": b"old", "two/mine": b"old"}
    assert not list(root.rglob(".acp*")) and not (root / "two/pkg/old").exists()


def test_places_that_are_not_there_yet(tmp_path: Path) -> None:
    exchange(replacements(tmp_path / "a/b"))
    assert files(tmp_path / "a/b") == NEW


@pytest.mark.parametrize("moment", range(MOVES))
@pytest.mark.parametrize("error", [full, KeyboardInterrupt])
def test_failure_puts_all_back(
    root: Path, monkeypatch: pytest.MonkeyPatch, moment: int, error: Callable[[], BaseException]
) -> None:
    before = state(root)
    monkeypatch.setattr(os, "replace", failing({moment}, error))
    with pytest.raises((CodegenError, KeyboardInterrupt)):
        exchange(replacements(root))
    assert state(root) == before


@pytest.mark.parametrize("moment", range(3))
def test_failure_takes_new_folders_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    before = state(tmp_path)
    monkeypatch.setattr(os, "replace", failing({moment}, full))
    assert refusal(replacements(tmp_path / "a/b")).found == "no way to write there (No space left on device)"
    assert state(tmp_path) == before


def test_file_system_without_second_names(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    before = state(root)
    for moment in range(6):
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", failing({moment}, full))
            refusal(replacements(root))
        assert state(root) == before, moment
    exchange(replacements(root))
    assert files(root) == {**NEW, "one/deep/mine": b"old", "two/mine": b"old"}


def test_folder_where_a_file_should_be(root: Path) -> None:
    (root / "one/file").unlink()
    (root / "one/file").mkdir()
    (root / "one/file/mine").write_bytes(b"mine")
    before = state(root)
    said = refusal(replacements(root))
    assert said.place == str(root / "one/file") and "Is a directory" in said.found
    assert state(root) == before


def test_links_are_replaced_and_what_they_lead_to_is_not_touched(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (root / "one/file").unlink()
    (root / "one/file").symlink_to(tmp_path / "mine")
    exchange(replacements(root))
    assert not (root / "one/file").is_symlink() and (tmp_path / "mine").read_bytes() == b"mine"


def test_what_cannot_be_put_back_is_kept_and_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The folder is out of the way, the new one does not come in its place, and the old one not back.
    monkeypatch.setattr(os, "replace", failing({3, 4}, full))
    said = refusal(replacements(root))
    assert str(root / "two/pkg") in said.found and said.expected == "a move by hand"
    assert files(Path(said.place)) == {"a": b"old", "old/x": b"old"}
    # All else is as it was.
    assert {name: data for name, data in files(root).items() if ".acp" not in name} == dict.fromkeys(
        ("one/file", "one/deep/er/file", "one/deep/mine", "two/mine"), b"old"
    )

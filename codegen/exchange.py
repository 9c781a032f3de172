"""Files and folders replaced together: all of them or, whatever interrupts that, none.

What is new is written beside its targets first, so that nothing but renaming is left to do; what is old is kept until
all of it is done. Each thing is renamed by itself, as file systems offer no more, so another process may see a mixture
for a moment.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import fail


@dataclass(frozen=True, slots=True)
class Replacement:
    """New contents below a folder: `files` by path, and `units`, the files and whole folders to be exchanged."""

    root: Path
    files: Mapping[str, bytes]
    units: tuple[str, ...]


def exchange(replacements: Iterable[Replacement]) -> None:
    """Make all of it what it is to be. Raises CodegenError for a place that cannot be written; then nothing changed.

    Should putting back fail too, the error names where the old content is kept.
    """
    listed = list(replacements)
    try:
        with ExitStack() as folders:
            with ExitStack() as stages, ExitStack() as moves:
                staged = [_stage(one, folders, stages) for one in listed]
                for one, stage in zip(listed, staged, strict=True):
                    for unit in one.units:
                        _make_folder((one.root / unit).parent, folders)
                        _move(one.root / unit, stage / "new" / unit, stage / "old" / unit, moves)
                moves.pop_all()
                for stage in staged:
                    shutil.rmtree(stage / "old")
            folders.pop_all()
    except OSError as error:
        place = str(error.filename2 or error.filename or listed[0].root)
        found = f"no way to write there ({error.strerror or error})"
        raise fail(place, found, "a place that can be written to; nothing was changed") from None


def _stage(one: Replacement, folders: ExitStack, stages: ExitStack) -> Path:
    """A folder in the root, hence on its file system, with new/ and old/."""
    _make_folder(one.root, folders)
    stage = Path(tempfile.mkdtemp(prefix=".acp-codegen-", dir=one.root))
    stages.callback(_discard, stage)
    (stage / "old").mkdir()
    for path, data in one.files.items():
        staged = stage / "new" / path
        staged.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(data)
    return stage


def _discard(stage: Path) -> None:
    # What could not be put back is not thrown away either.
    if all(path.is_dir() and not path.is_symlink() for path in (stage / "old").rglob("*")):
        shutil.rmtree(stage, ignore_errors=True)


def _move(target: Path, new: Path, old: Path, moves: ExitStack) -> None:
    old.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not new.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    moves.callback(_put_back, target, new, old)
    if os.path.lexists(target):
        try:
            # A second name, so that the file is there at every moment. Folders have none, nor do all file systems.
            os.link(target, old, follow_symlinks=False)
        except OSError:
            os.replace(target, old)
    os.replace(new, target)


def _put_back(target: Path, new: Path, old: Path) -> None:
    """Undo the exchange of one thing, however far it got."""
    try:
        kept = os.path.lexists(old)
        if os.path.lexists(new):
            if kept and os.path.lexists(target):
                old.unlink()  # the second name
                return
        elif not kept or old.is_dir():
            os.replace(target, new)
        if kept:
            os.replace(old, target)
    except OSError as error:
        found = f"what was {target}, which could not be put back ({error.strerror})"
        raise fail(str(old), found, "a move by hand") from None


def _make_folder(folder: Path, undo: ExitStack) -> None:
    """Make a folder and those above it; undone, those made are gone, and the others have their time of change back."""
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            _keep_time(path.parent, undo)
            path.mkdir()
            undo.callback(path.rmdir)
    _keep_time(folder, undo)


def _keep_time(folder: Path, undo: ExitStack) -> None:
    before = folder.stat()

    def restore() -> None:
        with suppress(OSError):
            os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))

    undo.callback(restore)

"""The output: compare, replace, remove what is stale. All or nothing.

The generator owns `OUT/PACKAGE` whole, and the project files beside it that carry its mark. A folder or file of that
name that it did not write is never replaced. Where the package is None, the files beside it are all there is.
"""

from __future__ import annotations

import difflib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from codegen.contexts import MARK
from codegen.errors import CodegenError, Diagnostic, fail
from codegen.exchange import Replacement, exchange

_IGNORED = "__pycache__"


@dataclass(frozen=True)
class Change:
    """One file that is not as generated: `old` is None when it is missing, `new` is None when it is stale."""

    path: str
    old: str | None
    new: str | None

    @property
    def verb(self) -> str:
        """What writing does to the file."""
        return "removed" if self.new is None else "wrote" if self.old is None else "updated"

    def diff(self) -> str:
        """Unified diff, from what is there to what would be written; a bare header for an empty file."""
        old = f"a/{self.path}" if self.old is not None else "/dev/null"
        new = f"b/{self.path}" if self.new is not None else "/dev/null"
        lines = list(difflib.unified_diff(_lines(self.old or ""), _lines(self.new or ""), old, new))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines or (f"--- {old}\n", f"+++ {new}\n")
        )


def _lines(text: str) -> list[str]:
    # Not `splitlines`, which ends lines at form feeds and the like too.
    return io.StringIO(text, newline="\n").readlines()


def changes(out: Path, package: str | None, files: Mapping[str, str]) -> list[Change]:
    """What writing would change, by path. Raises CodegenError for an output that cannot be read."""
    found = []
    there = {path: _read(out / path) for path in files}
    for path in _existing(out, package):
        if path not in files:
            there[path] = "" if (out / path).is_dir() else _read(out / path) or ""
    for path in sorted(there):
        new = files.get(path)
        if there[path] != new:
            found.append(Change(path, there[path], new))
    return found


def write(out: Path, package: str | None, files: Mapping[str, str]) -> list[Change]:
    """Make the output what was generated; returns what changed. Raises CodegenError, and then nothing was replaced."""
    check_owned(out, package, files)
    found = changes(out, package, files)
    if found:
        exchange([replacement(out, package, files)])
    return found


def replacement(out: Path, package: str | None, files: Mapping[str, str]) -> Replacement:
    """The whole output as what `exchange` takes: the package as one thing, and each project file."""
    units = _beside(package, files) if package is None else [package, *_beside(package, files)]
    return Replacement(out, {path: text.encode("utf-8") for path, text in files.items()}, tuple(units))


def _beside(package: str | None, files: Mapping[str, str]) -> list[str]:
    """Paths outside of the package."""
    return [path for path in files if package is None or not path.startswith(f"{package}/")]


def check_owned(out: Path, package: str | None, files: Mapping[str, str]) -> None:
    """Refuse to replace what the generator did not write."""
    problems = [] if package is None else list(_check_package(out, package))
    for path in _beside(package, files):
        text = _read(out / path)
        if text is not None and not _is_marked(text):
            expected = "a file that acp-codegen wrote; choose another --out, or --no-project"
            problems.append(Diagnostic(str(out / path), "a file that acp-codegen did not write", expected))
    if problems:
        raise CodegenError(problems)


def _check_package(out: Path, package: str) -> Iterator[Diagnostic]:
    folder = out / package
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        found = "a symbolic link" if folder.is_symlink() else "a file"
        yield Diagnostic(str(folder), found, "a folder, or nothing there yet")
    elif any(_existing(out, package)) and not _is_marked(_read(folder / "__init__.py")):
        yield Diagnostic(str(folder), "a folder that acp-codegen did not write", "another --out or --package")


def _is_marked(text: str | None) -> bool:
    return text is not None and MARK in text.split("\n", 1)[0]


def _existing(out: Path, package: str | None) -> Iterator[str]:
    """Files and links of the package that is there; a link to a folder counts as one thing, its contents do not."""
    if package is None:
        return
    folder = out / package
    for path in sorted(folder.rglob("*")):
        if _IGNORED not in path.relative_to(folder).parts and (path.is_symlink() or not path.is_dir()):
            yield path.relative_to(out).as_posix()


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise fail(str(path), error.strerror or str(error), "a readable file in a readable folder") from None

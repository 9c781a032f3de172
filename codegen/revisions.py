"""Schemas of a git revision, as `git show` names them: `HEAD~1:schema`, `main:./schema.json`.

The schema files and the TOML files beside them are written to a temporary folder of the same shape. Git is asked for
objects only: nothing is checked out, and no hook or filter of the repository runs.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen.errors import fail
from codegen.sources import limits

GIT_TIMEOUT: Final = 60
"""Seconds that one git command may take."""
FORM: Final = "REVISION:PATH, as `git show` takes it: HEAD~1:schema"

# All that a source of schemas consists of, and the folders that it may be in.
_FILES: Final = re.compile(r"schema(\.unstable)?\.json|[a-z]+\.toml|package\.json")
_FOLDERS: Final = frozenset({"schema", "v1", "v2"})
_DEEPEST: Final = 2
_ENTRY: Final = re.compile(rb"(100\d{3} blob|040000 tree) (?P<id>[0-9a-f]+)\t(?P<name>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Revision:
    """What was found: `path` is the temporary file or folder, `commit` the full hash."""

    path: Path
    commit: str


def is_revision(source: str) -> bool:
    """Whether a source names a git revision: it has a colon, and is no npm package, URL or existing path."""
    return ":" in source and not source.startswith("npm:") and "://" not in source and not os.path.lexists(source)


@contextmanager
def read_revision(source: str) -> Iterator[Revision]:
    """The file or folder that REVISION:PATH names, for as long as the context lasts.

    CodegenError where there is no git, no repository around the working folder, no such revision or no such path.
    """
    revision, _, path = source.partition(":")
    if not revision or revision.startswith("-") or "\0" in source:
        raise fail(source, "no revision in front of the colon", FORM)
    commit = _git(source, "no such revision", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    hashed = commit.decode().strip()
    if path.startswith(("./", "../")):
        prefix = _git(source, "no working folder", "rev-parse", "--show-prefix").decode().strip()
        path = posixpath.normpath(prefix + path).removeprefix(".")
    where = f"{hashed}:{path}"
    kind = _git(source, "no such path in that revision", "cat-file", "-t", where).decode().strip()
    with tempfile.TemporaryDirectory(prefix="acp-codegen-") as scratch:
        folder, _, name = path.strip("/").rpartition("/") if kind == "blob" else (path.strip("/"), "", "")
        # The name of the folder tells the protocol version.
        root = Path(scratch, folder.rpartition("/")[2] or "root")
        _write_tree(source, f"{hashed}:{folder}", root, 0)
        if kind == "blob":
            (root / name).write_bytes(_blob(source, where))
        yield Revision(root / name, hashed)


def _write_tree(source: str, tree: str, root: Path, depth: int) -> None:
    """Write what is wanted of a tree below `root`."""
    root.mkdir()
    for entry in _git(source, "a tree that cannot be listed", "ls-tree", "--full-tree", "-z", tree).split(b"\0"):
        found = _ENTRY.fullmatch(entry)
        if found is None:
            continue
        name, object_id = os.fsdecode(found["name"]), found["id"].decode()
        if entry.startswith(b"100") and _FILES.fullmatch(name):
            (root / name).write_bytes(_blob(source, object_id))
        elif entry.startswith(b"040") and name in _FOLDERS and depth < _DEEPEST:
            _write_tree(source, object_id, root / name, depth + 1)


def _blob(source: str, name: str) -> bytes:
    size = int(_git(source, "a file that git cannot read", "cat-file", "-s", name))
    if size > limits.MAX_SCHEMA_SIZE:
        raise fail(source, "an oversized file", f"at most {limits.MAX_SCHEMA_SIZE} bytes")
    return _git(source, "a file that git cannot read", "cat-file", "blob", name)


def _git(source: str, fault: str, *arguments: str) -> bytes:
    """What a git command prints; `fault` says what its failure means."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise fail(source, "no git on the PATH", f"git, for a source like {FORM}; or a folder or a file") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise fail(source, f"a git that does not answer ({error!r:.100})", "a working git on the PATH") from None
    if done.returncode == 0:
        return done.stdout
    if b"not a git repository" in done.stderr:
        raise fail(source, "no git repository around the working folder", FORM)
    raise fail(source, fault, FORM)

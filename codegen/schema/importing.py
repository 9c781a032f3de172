"""Import: fetch, check, strip and store schemas together with their lock, all of them or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import CodegenError, Diagnostic, fail
from codegen.schema.canonical import canonical, check_metaschema, parse, strip
from codegen.schema.lock import LOCK_FILE, LockEntry, lock_text, read_lock, sha256
from codegen.sources import PROFILE_FILES, Fetched, check_profile, fetch


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """One stored schema: where, from what, how many definitions, and whether its bytes differ from what was there."""

    profile: str
    path: Path
    source: str
    version: str
    definitions: int
    changed: bool


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is to be stored for one profile."""

    data: bytes
    entry: LockEntry
    definitions: int


def import_schemas(
    source: str, schema_dir: Path, profile: str | None = None, only: Sequence[str] = ()
) -> list[ImportedFile]:
    """Store the schemas of `source` below `schema_dir` and record them in its lock, which keeps its other profiles.

    `profile` is as for `fetch`; `only` restricts which profiles are taken. A CodegenError (from `fetch`, a schema that
    does not pass its checks, a lock that makes no sense, a place that cannot be written) means that nothing changed.
    """
    for name in only:
        check_profile(name, "--only")
    prepared = _prepare(_restrict(fetch(source, profile), only))
    entries = {**(read_lock(schema_dir) or {}), **{name: item.entry for name, item in prepared.items()}}
    contents = {schema_dir / item.entry.path: item.data for item in prepared.values()}
    contents[schema_dir / LOCK_FILE] = lock_text(entries).encode()
    try:
        before = _write_all(schema_dir, contents)
    except OSError as error:
        expected = "a schema folder that can be written; nothing was changed"
        place = str(error.filename2 or error.filename or schema_dir)
        raise fail(place, f"no way to write there ({error.strerror})", expected) from None
    return [
        ImportedFile(name, path, item.entry.source, item.entry.version, item.definitions, before[path] != item.data)
        for name, item in prepared.items()
        for path in (schema_dir / item.entry.path,)
    ]


def _restrict(fetched: Fetched, only: Sequence[str]) -> Fetched:
    missing = [name for name in only if name not in fetched.files]
    if missing:
        raise fail(fetched.source, "only " + ", ".join(fetched.files), ", ".join(missing) + ", which --only asks for")
    files = {name: data for name, data in fetched.files.items() if not only or name in only}
    return Fetched(fetched.source, fetched.version, files)


def _prepare(fetched: Fetched) -> dict[str, _Prepared]:
    """Check and strip every file; the problems of all of them in one CodegenError."""
    prepared: dict[str, _Prepared] = {}
    problems: list[Diagnostic] = []
    for name, original in fetched.files.items():
        path = PROFILE_FILES[name]
        place = f"{fetched.source} {path}"
        try:
            schema = parse(original, place)
            check_metaschema(schema, place)
        except CodegenError as error:
            problems += error.diagnostics
            continue
        data = canonical(strip(schema))
        entry = LockEntry(path, fetched.source, fetched.version, sha256(original), sha256(data))
        prepared[name] = _Prepared(data, entry, len(schema.get("$defs", {})))
    if problems:
        raise CodegenError(problems)
    return prepared


def _write_all(folder: Path, contents: Mapping[Path, bytes]) -> dict[Path, bytes | None]:
    """Write all files (below `folder`) or, on any failure, none; their bytes from before, None for new ones.

    Each file appears whole or not at all, and what an OSError interrupts is put back.
    """
    before: dict[Path, bytes | None] = {}
    with ExitStack() as undo:
        for parent in (folder, *(path.parent for path in contents)):
            _make_folder(parent, undo)
        # A folder for the new files, and not tempfile's own files, which nobody else may read.
        with tempfile.TemporaryDirectory(prefix=".acp-codegen-", dir=folder) as scratch:
            staged = {path: Path(scratch, str(number)) for number, path in enumerate(contents)}
            for path, data in contents.items():
                staged[path].write_bytes(data)
                before[path] = path.read_bytes() if path.exists() else None
            for path in contents:
                os.replace(staged[path], path)
                undo.callback(_put_back, path, before[path])
        undo.pop_all()
    return before


def _make_folder(folder: Path, undo: ExitStack) -> None:
    for path in (*reversed(folder.parents), folder):
        if not path.is_dir():
            path.mkdir()
            undo.callback(path.rmdir)


def _put_back(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)

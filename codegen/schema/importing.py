"""Import: fetch, check, strip and store schemas together with their lock, all of them or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import CodegenError, Diagnostic, fail
from codegen.exchange import Replacement, exchange
from codegen.schema.canonical import canonical, check_metaschema, parse, strip
from codegen.schema.lock import LOCK_FILE, LoadedSchema, LockEntry, lock_text, read_lock, sha256
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
class Prepared:
    """What is to be stored for one profile: the file's bytes, its lock entry, and the same as a loaded schema."""

    data: bytes
    entry: LockEntry
    loaded: LoadedSchema

    @property
    def definitions(self) -> int:
        return len(self.loaded.schema.get("$defs", {}))


def import_schemas(
    source: str, schema_dir: Path, profile: str | None = None, only: Sequence[str] = ()
) -> list[ImportedFile]:
    """Store the schemas of `source` below `schema_dir` and record them in its lock, which keeps its other profiles.

    `profile` is as for `fetch`; `only` restricts which profiles are taken. A CodegenError (from `fetch`, a schema that
    does not pass its checks, a lock that makes no sense, a place that cannot be written) means that nothing changed.
    """
    for name in only:
        check_profile(name, "--profile")
    prepared = prepare(_restrict(fetch(source, profile), only))
    stored = replacement(schema_dir, prepared)
    before = {path: stored_bytes(schema_dir / path) for path in stored.files}
    exchange([stored])
    return [
        ImportedFile(
            name,
            schema_dir / item.entry.path,
            item.entry.source,
            item.entry.version,
            item.definitions,
            before[item.entry.path] != item.data,
        )
        for name, item in prepared.items()
    ]


def stored_bytes(path: Path) -> bytes | None:
    """What is there now; None for what cannot be read, which writing then complains of."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def replacement(schema_dir: Path, prepared: Mapping[str, Prepared]) -> Replacement:
    """Schemas and the lock that records them beside the folder's others, as what `exchange` takes; the lock comes last.

    Raises CodegenError for a lock that makes no sense.
    """
    entries = {**(read_lock(schema_dir) or {}), **{name: item.entry for name, item in prepared.items()}}
    files = {item.entry.path: item.data for item in prepared.values()}
    files[LOCK_FILE] = lock_text(entries).encode()
    return Replacement(schema_dir, files, tuple(files))


def _restrict(fetched: Fetched, only: Sequence[str]) -> Fetched:
    missing = [name for name in only if name not in fetched.files]
    if missing:
        raise fail(
            fetched.source, f"only {', '.join(fetched.files)}", f"{', '.join(missing)}, which --profile asks for"
        )
    files = {name: data for name, data in fetched.files.items() if not only or name in only}
    return Fetched(fetched.source, fetched.version, files)


def prepare(fetched: Fetched, checked: Collection[str] = ()) -> dict[str, Prepared]:
    """Check and strip every file; the problems of all of them in one CodegenError.

    `checked` has hashes of originals that passed the metaschema before, as a lock lists them.
    """
    prepared: dict[str, Prepared] = {}
    problems: list[Diagnostic] = []
    for name, original in fetched.files.items():
        path = PROFILE_FILES[name]
        place = f"{fetched.source} {path}"
        digest = sha256(original)
        try:
            schema = parse(original, place)
            if digest not in checked:
                check_metaschema(schema, place)
        except CodegenError as error:
            problems += error.diagnostics
            continue
        facts = strip(schema)
        data = canonical(facts)
        entry = LockEntry(path, fetched.source, fetched.version, digest, sha256(data))
        loaded = LoadedSchema(name, facts, entry.source, entry.version, entry.stored_sha256, place)
        prepared[name] = Prepared(data, entry, loaded)
    if problems:
        raise CodegenError(problems)
    return prepared

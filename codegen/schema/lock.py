"""The lock: which source and version each stored schema came from, and hashes that prove it was not touched since."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from codegen.errors import CodegenError, Diagnostic, fail
from codegen.schema.canonical import check_metaschema, parse
from codegen.sources import PROFILE_FILES, check_profile

LOCK_FILE: Final = "lock.toml"
"""The lock's name in a schema folder."""
UNLOCKED: Final = "unlocked"
"""Source and version of a schema in a folder without a lock."""

_HEADER: Final = """\
# Where each schema file came from. Written by `acp-codegen import SOURCE`; do not edit.
# original_sha256 is of the file as published, stored_sha256 of the file here, without its prose.
"""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_IMPORT: Final = "run `acp-codegen import SOURCE` to write it anew"


@dataclass(frozen=True, slots=True)
class LockEntry:
    """One stored schema. `path` is relative to the schema folder; the hashes are SHA-256 in lowercase hex."""

    path: str
    source: str
    version: str
    original_sha256: str
    stored_sha256: str


@dataclass(frozen=True, slots=True)
class LoadedSchema:
    """A checked schema. `sha256` is of the file's bytes; `place` is for messages and may be a path of this machine."""

    profile: str
    schema: dict[str, Any]
    source: str
    version: str
    sha256: str
    place: str


def sha256(data: bytes) -> str:
    """SHA-256 of `data` in lowercase hex."""
    return hashlib.sha256(data).hexdigest()


def read_lock(schema_dir: Path) -> dict[str, LockEntry] | None:
    """The lock's entries by profile; None when the folder has no lock. A lock that makes no sense is a CodegenError."""
    path = schema_dir / LOCK_FILE
    place = str(path)
    try:
        tables = tomllib.loads(path.read_bytes().decode())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise fail(place, f"a lock that cannot be read ({error.strerror})", "a readable file") from None
    except (ValueError, RecursionError) as error:
        raise fail(place, f"no valid TOML: {str(error) or 'nested too deep'}", f"a lock; {_IMPORT}") from None
    problems = [problem for profile, table in tables.items() for problem in _problems(place, profile, table)]
    if problems:
        raise CodegenError(problems)
    return {profile: LockEntry(**table) for profile, table in tables.items()}


def _problems(place: str, profile: str, table: object) -> Iterator[Diagnostic]:
    if profile not in PROFILE_FILES:
        yield Diagnostic(place, f"the unknown profile {profile!r}", "one of " + ", ".join(PROFILE_FILES))
        return
    names = [field.name for field in fields(LockEntry)]
    if not isinstance(table, dict) or set(table) != set(names) or not all(isinstance(v, str) for v in table.values()):
        yield Diagnostic(f"{place}#/{profile}", "another set of values", f"strings {', '.join(names)}; {_IMPORT}")
        return
    if table["path"] != PROFILE_FILES[profile]:
        yield Diagnostic(f"{place}#/{profile}/path", repr(table["path"]), repr(PROFILE_FILES[profile]))
    for name in ("original_sha256", "stored_sha256"):
        if not _SHA256.fullmatch(table[name]):
            yield Diagnostic(f"{place}#/{profile}/{name}", repr(table[name]), f"64 lowercase hex digits; {_IMPORT}")


def lock_text(entries: Mapping[str, LockEntry]) -> str:
    """The lock file that holds `entries`: same entries, same text, whatever their order."""
    tables = [
        f'["{profile}"]\n'
        + "".join(f"{name} = {toml_text(value)}\n" for name, value in asdict(entries[profile]).items())
        for profile in sorted(entries)
    ]
    return "\n".join([_HEADER, *tables])


def toml_text(text: str) -> str:
    """`text` as a TOML basic string."""
    # TOML's basic strings have JSON's escapes, and want DEL escaped too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def verify(entry: LockEntry, data: bytes, place: str) -> None:
    """Raise a CodegenError at `place` unless `data` is what the lock says was stored."""
    found = sha256(data)
    if found != entry.stored_sha256:
        expected = f"{entry.stored_sha256}, as locked from {entry.source}; "
        mend = "restore the file, or run `acp-codegen import SOURCE` to take a new version"
        raise fail(place, f"a changed file, sha256 {found}", expected + mend)


def check_stored(schema_dir: Path, profile: str, lock: Mapping[str, LockEntry]) -> bytes:
    """The bytes of a profile's schema. CodegenError unless the file is there and what the lock says was stored."""
    path = schema_dir / PROFILE_FILES[check_profile(profile, "profile")]
    data = _stored(schema_dir, path)
    if profile not in lock:
        expected = "an entry there; run `acp-codegen import SOURCE`"
        raise fail(str(path), f"a schema that {LOCK_FILE} does not list", expected)
    verify(lock[profile], data, str(path))
    return data


def load_profile(schema_dir: Path, profile: str) -> LoadedSchema:
    """Read one profile's schema from a schema folder; check it against the lock, or the metaschema if there is no lock.

    CodegenError for an unknown or missing profile, a file that the lock does not cover or that was changed since, and
    all that `parse` and `check_metaschema` refuse.
    """
    path = schema_dir / PROFILE_FILES[check_profile(profile, "profile")]
    place = str(path)
    lock = read_lock(schema_dir)
    if lock is not None:
        # What the lock vouches for passed the metaschema when it was imported.
        data = check_stored(schema_dir, profile, lock)
        return LoadedSchema(
            profile, parse(data, place), lock[profile].source, lock[profile].version, sha256(data), place
        )
    data = _stored(schema_dir, path)
    schema = parse(data, place)
    check_metaschema(schema, place)
    return LoadedSchema(profile, schema, UNLOCKED, UNLOCKED, sha256(data), place)


def _stored(schema_dir: Path, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        there = [name for name, file in PROFILE_FILES.items() if (schema_dir / file).is_file()]
        expected = f"one of the profiles that {schema_dir} has: {', '.join(there) or 'none'}"
        raise fail(str(path), "no such file", expected + "; `acp-codegen import SOURCE` adds others") from None
    except OSError as error:
        raise fail(str(path), f"a file that cannot be read ({error.strerror})", "a readable schema file") from None

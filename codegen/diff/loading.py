"""What OLD and NEW name, as profiles that can be compared: the same sources as for `import`, and git revisions.

Nothing is pinned, and nothing is written but to temporary folders. The TOML files beside the schemas say how classes
are called; a source that has none (an npm package, say) takes those of our own schema folder, so that names are
comparable. Where they do not fit one of the two schemas, neither is read with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from codegen import ir
from codegen.annotations import Docs, Names, load_docs, load_names
from codegen.capabilities import Capabilities, load_capabilities
from codegen.errors import CodegenError, Diagnostic, fail
from codegen.lower import lower
from codegen.revisions import is_revision, read_revision
from codegen.schema.canonical import check_metaschema, parse
from codegen.schema.lock import read_lock, sha256
from codegen.sources import PROFILE_FILES, Fetched, check_profile, fetch

OVERLAYS: Final = ("names.toml", "docs.toml", "capabilities.toml")
"""Our own facts beside the schemas of a version."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Both sides, lowered, and what a reader of the diff should know about how."""

    old: list[ir.Profile]
    new: list[ir.Profile]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class _Side:
    """One source: its files, the folder of the TOML files beside them by protocol version where it has any, and its
    schemas, checked.
    """

    fetched: Fetched
    beside: Mapping[str, Path]
    schemas: Mapping[str, dict[str, Any]]


def load_both(old: str, new: str, schema_dir: Path, only: Sequence[str] = ()) -> Loaded:
    """Read two sources. `only` restricts the profiles; `schema_dir` has the TOML files for who brings none.

    CodegenError for all that `fetch`, `read_revision`, `parse`, `check_metaschema` and `lower` refuse, and for profiles
    that neither side has.
    """
    for profile in only:
        check_profile(profile, "--profile")
    with ExitStack() as stack:
        found = [_read(source, only, stack) for source in (old, new)]
        there = {name for _, fetched in found for name in fetched.files}
        missing = ", ".join(name for name in only if name not in there)
        if missing:
            raise fail("--profile", f"{missing}, which neither side has", "one of " + ", ".join(sorted(there)))
        checked: dict[str, dict[str, Any]] = {}
        sides = [_side(path, fetched, only, checked) for path, fetched in found]
        lowered: tuple[list[ir.Profile], list[ir.Profile]] = ([], [])
        notes: list[str] = []
        problems: list[Diagnostic] = []
        for version in dict.fromkeys(name.partition("/")[0] for name in PROFILE_FILES):
            try:
                both, without = _version(sides, version, schema_dir / version)
            except CodegenError as error:
                problems += error.diagnostics
                continue
            if without:
                notes.append(f"Read without {without} of {version}, which does not fit both schemas.")
            for profiles, more in zip(lowered, both, strict=True):
                profiles += more
        if problems:
            raise CodegenError(problems)
    return Loaded(*lowered, notes)


def _read(source: str, only: Sequence[str], stack: ExitStack) -> tuple[Path, Fetched]:
    """Where the files of a source are, for as long as `stack` is open, and what they hold."""
    place = source
    commit = ""
    if is_revision(source):
        revision = stack.enter_context(read_revision(source))
        place, commit = str(revision.path), revision.commit
    # A single file may need to be told its profile; of other sources the restriction is ours.
    profile = only[0] if len(only) == 1 and os.path.isfile(place) else None
    try:
        fetched = fetch(place, profile)
    except CodegenError as error:
        # Not the temporary path, which says nothing to anybody.
        raise CodegenError(replace(one, place=one.place.replace(place, source)) for one in error.diagnostics) from None
    if commit:
        fetched = replace(fetched, source=f"git:{source}", version=commit[:12])
    return Path(place), fetched


def _side(path: Path, fetched: Fetched, only: Sequence[str], checked: dict[str, dict[str, Any]]) -> _Side:
    if only:
        fetched = replace(fetched, files={name: data for name, data in fetched.files.items() if name in only})
    versions = {name.partition("/")[0] for name in fetched.files}
    beside = {version: folder for version in versions if (folder := _beside(path, version)) is not None}
    return _Side(fetched, beside, _checked(fetched, _vouched(path), checked))


def _vouched(path: Path) -> frozenset[str]:
    """The hashes of schemas that a lock around `path` lists: what was imported was checked then."""
    for folder in (path, path / "schema", path.parent, path.parent.parent):
        if lock := read_lock(folder):
            return frozenset(entry.stored_sha256 for entry in lock.values())
    return frozenset()


def _checked(fetched: Fetched, vouched: frozenset[str], known: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The schemas by profile. `known` holds those read before, by their hash: two sources may have many in common."""
    problems: list[Diagnostic] = []
    for profile, data in fetched.files.items():
        place, key = f"{fetched.source} {PROFILE_FILES[profile]}", sha256(data)
        try:
            if key not in known:
                schema = parse(data, place)
                if key not in vouched:
                    check_metaschema(schema, place)
                known[key] = schema
        except CodegenError as error:
            problems += error.diagnostics
    if problems:
        raise CodegenError(problems)
    return {profile: known[sha256(data)] for profile, data in fetched.files.items()}


def _beside(path: Path, version: str) -> Path | None:
    """The folder of the TOML files that belong to the schemas of a version, if there are any."""
    folder = path if path.is_dir() else path.parent
    places = [folder / version, folder / "schema" / version]
    if path.is_file() or folder.name == version:
        places.insert(0, folder)
    return next((one for one in places if any((one / name).is_file() for name in OVERLAYS)), None)


def _version(sides: Sequence[_Side], version: str, ours: Path) -> tuple[list[list[ir.Profile]], str]:
    """The profiles of one protocol version on both sides, and which of the TOML files were left out."""
    folders = [side.beside.get(version, ours) for side in sides]
    names, capabilities = [load_names(one) for one in folders], [load_capabilities(one) for one in folders]
    # Docstrings are compared where they come from the same kind of place: our own words, or upstream's.
    documented = all(version in side.beside for side in sides)
    docs = [load_docs(one) if documented else Docs() for one in folders]
    # What does not fit one side is left out of both, or it would seem to have changed.
    for without in (), ("capabilities.toml",), ("names.toml",), ("names.toml", "capabilities.toml"):
        own_names = [Names(), Names()] if "names.toml" in without else names
        own_capabilities = [Capabilities(), Capabilities()] if "capabilities.toml" in without else capabilities
        try:
            found = [
                list(_lowered(side, version, named, told, promised))
                for side, named, told, promised in zip(sides, own_names, docs, own_capabilities, strict=True)
            ]
        except CodegenError:
            if len(without) == 2:
                raise
        else:
            return found, " and ".join(without)
    raise AssertionError  # the last of them returns or raises


def _lowered(side: _Side, version: str, names: Names, docs: Docs, capabilities: Capabilities) -> Iterator[ir.Profile]:
    fetched = side.fetched
    for profile, data in fetched.files.items():
        if profile.partition("/")[0] == version:
            place = f"{fetched.source} {PROFILE_FILES[profile]}"
            source = ir.Source(fetched.source, fetched.version, sha256(data))
            yield lower(side.schemas[profile], profile, source, names, docs, place, capabilities)

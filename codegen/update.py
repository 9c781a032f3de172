"""A new schema taken: fetched, checked, compared with the pinned one, and generated from.

`plan` reads and computes everything, in memory, and touches nothing. What it returns says what changes, and has the
replacements for codegen/exchange.py to make, together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen.checking import Result, check_annotations
from codegen.diff import Report, compare
from codegen.errors import CodegenError, fail
from codegen.exchange import Replacement
from codegen.pipeline import Loaded, emit, load_with_overlays
from codegen.schema.importing import Prepared, prepare, stored_bytes
from codegen.schema.importing import replacement as schemas_replacement
from codegen.schema.lock import LOCK_FILE, LoadedSchema, LockEntry, read_lock
from codegen.sources import PROFILE_FILES, Fetched, check_profile, fetch
from codegen.sources.npm import is_older, latest, split
from codegen.write import Change, changes, check_owned
from codegen.write import replacement as package_replacement

STEPS: Final = ("fetch", "check", "compare", "generate")
"""What `plan` tells of, in this order."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where things are, and what is to be there: the schema folder, the output folder, the package in it.

    `profiles` are those of the package; none means all that the schema folder has.
    """

    schema_dir: Path
    out: Path
    package: str
    project: bool
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """One profile of the source beside what was pinned before, if anything was."""

    name: str
    old: LockEntry | None
    new: Prepared
    is_new: bool

    @property
    def versions(self) -> str:
        """`2.2.0 -> 2.4.0`."""
        if self.old is None or self.old.version == self.new.entry.version:
            return self.new.entry.version
        return f"{self.old.version} -> {self.new.entry.version}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What an update would do.

    `offered` are profiles that the source has and that are not taken, `kept` those that stay as they were. `results`
    are our own checks of what comes after, without what they would have found before. `note` says why nothing was
    fetched.
    """

    source: str
    taken: tuple[Taken, ...]
    offered: tuple[str, ...]
    kept: tuple[str, ...]
    report: Report
    files: int
    changes: tuple[Change, ...]
    results: tuple[Result, ...]
    replacements: tuple[Replacement, ...]
    note: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.replacements


def plan(
    source: str | None,
    target: Target,
    profile: str | None = None,
    step: Callable[[str, str], None] = lambda name, detail: None,
) -> Plan:
    """Everything that an update from `source` does, short of doing it. Raises CodegenError for whatever is in its way.

    Without a source it is the one that the lock names, at its latest version. `profile` says what a single file is.
    `step` is told what begins: one of STEPS, and a word on it.
    """
    for name in target.profiles:
        check_profile(name, "--profile")
    lock = read_lock(target.schema_dir) or {}
    pinned = tuple(name for name, file in PROFILE_FILES.items() if (target.schema_dir / file).is_file())
    fetched, note = _fetched(source, lock, target, profile, step)
    chosen = _chosen(fetched, target, pinned)
    _check_lock_covers(target.schema_dir, {*pinned} - {*chosen}, lock)
    step("check", ", ".join(chosen) or "nothing new")
    new = prepare(
        Fetched(fetched.source, fetched.version, {name: fetched.files[name] for name in chosen}),
        {entry.original_sha256 for entry in lock.values()},
    )
    taken = tuple(_taken(name, one, lock.get(name), target.schema_dir) for name, one in new.items())
    package = [name for name in PROFILE_FILES if name in (target.profiles or {*pinned, *chosen})]
    step("compare", ", ".join(dict.fromkeys(one.versions for one in taken)))
    instead = {name: one.loaded for name, one in new.items()}
    now = load_with_overlays(target.schema_dir, package, instead)
    old, report = _compared(target.schema_dir, [name for name in package if name in pinned], now, instead)
    step("generate", target.package)
    files = emit(now.profiles, target.package, target.project)
    _check_syntax(files)
    check_owned(target.out, target.package, files)
    differ = tuple(changes(target.out, target.package, files))
    return Plan(
        fetched.source,
        taken,
        tuple(name for name in fetched.files if name not in chosen),
        tuple(name for name in package if name not in chosen),
        report,
        len(files),
        differ,
        tuple(check_annotations(now, target.schema_dir, old)),
        tuple(_replacements(target, files if differ else {}, taken)),
        note,
    )


def _fetched(
    source: str | None,
    lock: Mapping[str, LockEntry],
    target: Target,
    profile: str | None,
    step: Callable[[str, str], None],
) -> tuple[Fetched, str]:
    """What the source has; or nothing, and why, when the lock says that we have its latest version already."""
    if source is not None:
        step("fetch", source)
        return fetch(source, profile), ""
    entries = [entry for name, entry in lock.items() if name in (target.profiles or lock)]
    source = _locked_source(target.schema_dir, entries)
    step("fetch", f"{source}, latest version")
    if source.startswith("npm:"):
        newest = latest(source)
        if all(not is_older(entry.version, newest) for entry in entries):
            note = f"the latest version of {source} is {newest}"
            return Fetched(source, newest, {}), note
        source = f"{source}@{newest}"
    return fetch(source, profile), ""


def _locked_source(schema_dir: Path, entries: Sequence[LockEntry]) -> str:
    """The one source of these entries, without its version. A CodegenError where none can be fetched again."""
    place = str(schema_dir / LOCK_FILE)
    expected = "SOURCE: npm:PACKAGE, a folder, a file or a URL"
    sources = {f"npm:{split(one.source)[0]}" if one.source.startswith("npm:") else one.source for one in entries}
    if not sources:
        raise fail(place, "no entry that says where its schema is from", expected)
    if len(sources) > 1:
        raise fail(place, f"several sources: {', '.join(sorted(sources))}", f"{expected}; or --profile")
    (source,) = sources
    if not source.startswith(("npm:", "https://", "http://")):
        raise fail(place, f"{source}, which does not say where that is", expected)
    return source


def _chosen(fetched: Fetched, target: Target, pinned: Sequence[str]) -> list[str]:
    """The profiles to take: those asked for, else those that are pinned, else all. A single file is always meant."""
    wanted = set(target.profiles or pinned or fetched.files)
    if len(fetched.files) == 1 and not target.profiles:
        wanted |= set(fetched.files)
    chosen = [name for name in PROFILE_FILES if name in fetched.files and name in wanted]
    missing = wanted - set(fetched.files) - set(pinned)
    if fetched.files and (missing or not chosen):
        expected = ", ".join(sorted(missing or wanted))
        raise fail(fetched.source, "only " + ", ".join(fetched.files), expected)
    return chosen


def _check_lock_covers(schema_dir: Path, others: Collection[str], lock: Mapping[str, LockEntry]) -> None:
    """A lock that an update begins must cover what lay there without one, which would be refused from then on."""
    unlocked = sorted(name for name in others if name not in lock)
    if unlocked:
        found = f"no entry for {', '.join(unlocked)}, which this update does not take"
        raise fail(str(schema_dir / LOCK_FILE), found, "acp-codegen import SOURCE for that first")


def _taken(name: str, new: Prepared, old: LockEntry | None, schema_dir: Path) -> Taken:
    same = old == new.entry and stored_bytes(schema_dir / new.entry.path) == new.data
    return Taken(name, old, new, is_new=not same)


def _compared(
    schema_dir: Path, pinned: Sequence[str], now: Loaded, instead: Mapping[str, LoadedSchema]
) -> tuple[Loaded, Report]:
    """What is pinned, and what changes."""
    try:
        old = load_with_overlays(schema_dir, pinned)
    except CodegenError:
        # capabilities.toml may be mended for the new schema already, and say what the old one contradicts.
        old = load_with_overlays(schema_dir, pinned, is_gated=False)
        now = load_with_overlays(schema_dir, [one.name for one in now.profiles], instead, is_gated=False)
    return old, compare(old.profiles, now.profiles)


def _check_syntax(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        if path.endswith(".py"):
            try:
                compile(text, path, "exec", dont_inherit=True)
            except SyntaxError as error:
                raise fail(path, f"generated code that is no Python ({error})", "a generator without bugs") from None


def _replacements(target: Target, files: Mapping[str, str], taken: Sequence[Taken]) -> Iterator[Replacement]:
    """What differs: the package, then the schemas, and the lock last of all."""
    if files:
        yield package_replacement(target.out, target.package, files)
    new = {one.name: one.new for one in taken if one.is_new}
    if new:
        yield schemas_replacement(target.schema_dir, new)

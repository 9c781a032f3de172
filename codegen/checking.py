"""What there is to mend, as findings.

    lock      the stored schemas are what lock.toml says
    drift     the output is what the generator writes
    docs      every definition and property has a docstring
    stale     every entry of docs.toml, names.toml and capabilities.toml names something
    names     every class that the schema leaves anonymous has a curated name
    gates     every method has an entry on what it needs

Nothing here prints or writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from codegen.capabilities import FILE
from codegen.errors import CodegenError, Diagnostic
from codegen.inspect import undocumented
from codegen.lower import ungated
from codegen.pipeline import Loaded, emit, load_with_overlays
from codegen.schema.lock import LOCK_FILE, check_stored, read_lock
from codegen.stubs import docs_stubs, names_stubs
from codegen.write import changes

CHECKS: Final = ("lock", "drift", "docs", "stale", "names", "gates")
State = Literal["clean", "found", "off"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend: where, what is wrong, and what would be right."""

    place: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found. `off` means that it had nothing to look at, and `summary` says why.

    `stubs` is what to paste into which file, as (path below the schema folder, TOML).
    """

    check: str
    summary: str
    findings: tuple[Finding, ...] = ()
    is_off: bool = False
    stubs: tuple[tuple[str, str], ...] = ()

    @property
    def state(self) -> State:
        return "off" if self.is_off else "found" if self.findings else "clean"


def check(
    schema_dir: Path, profiles: Sequence[str], out: Path, package: str, project: bool, skip: Iterable[str] = ()
) -> list[Result]:
    """Every check but those of `skip`, in the order of CHECKS. Raises CodegenError for input that cannot be used.

    What a broken lock leaves open is not looked at: the other checks are then `off`.
    """
    wanted = [name for name in CHECKS if name not in set(skip)]
    lock = check_lock(schema_dir, profiles)
    results = [lock] if "lock" in wanted else []
    if lock.findings:
        return results + [Result(name, "not looked at: lock", is_off=True) for name in wanted if name != "lock"]
    loaded = load_with_overlays(schema_dir, profiles)
    if "drift" in wanted:
        results.append(_check_drift(loaded, out, package, project))
    return results + [one for one in check_annotations(loaded, schema_dir) if one.check in wanted]


def check_lock(schema_dir: Path, profiles: Sequence[str]) -> Result:
    """Whether the stored schemas are the ones that the lock lists. A lock that is no lock is a CodegenError."""
    lock = read_lock(schema_dir)
    if lock is None:
        return Result("lock", f"no {LOCK_FILE} in {schema_dir}", is_off=True)
    problems: list[Diagnostic] = []
    listed = dict.fromkeys([*profiles, *lock])
    for profile in listed:
        try:
            check_stored(schema_dir, profile, lock)
        except CodegenError as error:
            problems.extend(error.diagnostics)
    return Result("lock", f"{len(listed)} schemas as locked", _findings(problems))


def _check_drift(loaded: Loaded, out: Path, package: str, project: bool) -> Result:
    files = emit(loaded.profiles, package, project)
    said = {"wrote": "missing", "updated": "another text", "removed": "a file that is not generated"}
    findings = tuple(
        Finding(str(out / change.path), said[change.verb], "what the generator writes; run: acp-codegen generate")
        for change in changes(out, package, files)
    )
    return Result("drift", f"{len(files)} files as generated", findings)


def check_annotations(loaded: Loaded, schema_dir: Path, before: Loaded | None = None) -> list[Result]:
    """The checks of our own words beside the schemas, each off for a version that keeps no such file.

    What is to be mended in `before` already is left out.
    """
    return [check(loaded, schema_dir, before) for check in (_check_docs, _check_stale, _check_names, _check_gates)]


def _check_docs(loaded: Loaded, schema_dir: Path, before: Loaded | None) -> Result:
    kept = {version for version, overlay in loaded.overlays.items() if overlay.docs.entries}
    known = set(_undocumented(before)) if before else set()
    places = [one for one in _undocumented(loaded) if one[0] in kept and one not in known]
    findings = tuple(
        Finding(str(schema_dir / version / "docs.toml"), f"nothing on {place}", "a sentence of its own")
        for version, place in places
    )
    stubs = tuple(
        (f"{version}/docs.toml", docs_stubs(loaded.profiles, version, [name for of, name in places if of == version]))
        for version in dict.fromkeys(version for version, _ in places)
    )
    count = sum(len(one.definitions) for one in loaded.profiles if one.version in kept)
    return _kept("docs", kept, f"{count} definitions documented", findings, stubs)


def _undocumented(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Version and place, each once."""
    found: dict[tuple[str, str], None] = {}
    for profile in loaded.profiles:
        found |= {(profile.version, place): None for place in undocumented(profile, list(profile.definitions))}
    yield from found


def _check_stale(loaded: Loaded, schema_dir: Path, before: Loaded | None) -> Result:
    complete = tuple(loaded.complete())
    known = set(_stale(before, schema_dir)) if before else set()
    findings = tuple(one for one in _stale(loaded, schema_dir) if one not in known)
    overlays = [loaded.overlays[version] for version in complete]
    count = sum(len(one.docs.used) + len(one.names.used) + len(one.capabilities.used) for one in overlays)
    summary = f"{count} entries name something" if complete else "needs both channels of a version"
    return Result("stale", summary, findings, is_off=not complete)


def _stale(loaded: Loaded, schema_dir: Path) -> Iterator[Finding]:
    for version in loaded.complete():
        overlay = loaded.overlays[version]
        stale = (*overlay.docs.unused(), *overlay.names.unused(), *overlay.capabilities.unused())
        yield from _findings((*stale, *_unknown_methods(loaded, version)), f"{schema_dir / version}/")


def _unknown_methods(loaded: Loaded, version: str) -> Iterator[Diagnostic]:
    capabilities = loaded.overlays[version].capabilities
    known = {method.name for profile in loaded.profiles if profile.version == version for method in profile.methods}
    tables = {f"[baseline] {name}": set(methods) for name, methods in capabilities.baseline.items()}
    for table, listed in (tables | {"[unhandled]": set(capabilities.unhandled)}).items():
        for name in sorted(listed - known):
            found = f"the method {name}, which no schema of this version has"
            yield Diagnostic(f"{FILE} {table}", found, "a method; take it out or mend it")


def _check_names(loaded: Loaded, schema_dir: Path, before: Loaded | None) -> Result:
    kept = {version for version, overlay in loaded.overlays.items() if overlay.names.entries}
    findings: list[Finding] = []
    stubs = []
    for version in sorted(kept):
        known = before.overlays[version].names.uncurated if before and version in before.overlays else {}
        new = {key: rule for key, rule in loaded.overlays[version].names.uncurated.items() if key not in known}
        place = str(schema_dir / version / "names.toml")
        for (union, path), rule in new.items():
            findings.append(Finding(place, f"nothing on [{union}] {path!r}", f"a class name; {rule} by the rule"))
        if new:
            stubs.append((f"{version}/names.toml", names_stubs(new)))
    count = sum(len(loaded.overlays[version].names.used) for version in kept)
    return _kept("names", kept, f"{count} anonymous classes named", tuple(findings), tuple(stubs))


def _check_gates(loaded: Loaded, schema_dir: Path, before: Loaded | None) -> Result:
    kept = {version for version, overlay in loaded.overlays.items() if overlay.capabilities.needs}
    known = set(ungated(before.profiles)) if before else set()
    profiles = [one for one in loaded.profiles if one.version in kept]
    missing = [one for one in ungated(profiles) if one not in known]
    methods = {(one.version, method.side, method.name) for one in profiles for method in one.methods}
    summary = f"{len(methods)} methods with an entry" if kept else f"no {FILE}"
    return Result("gates", summary, _findings(missing, f"{schema_dir}/"), not kept)


def _kept(
    name: str, kept: set[str], summary: str, findings: tuple[Finding, ...], stubs: tuple[tuple[str, str], ...]
) -> Result:
    return Result(name, summary if kept else f"no {name}.toml", findings, not kept, stubs)


def _findings(problems: Iterable[Diagnostic], before: str = "") -> tuple[Finding, ...]:
    return tuple(Finding(before + one.place, one.found, one.expected) for one in dict.fromkeys(problems))

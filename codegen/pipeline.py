"""The generator as one function: a schema folder in, {path: text} out. Nothing here prints or touches the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen import ir
from codegen.annotations import Docs, Names, load_docs, load_names
from codegen.capabilities import Capabilities, load_capabilities
from codegen.errors import CodegenError, Diagnostic
from codegen.lower import lower
from codegen.overlay import read_overlay
from codegen.render import render
from codegen.schema.lock import LoadedSchema, load_profile

_HERE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """A folder that ships with the generator: inside its wheel, or beside it in a checkout."""
    inside = _HERE / "_data" / name
    return inside if inside.is_dir() else _HERE.parent / name


@dataclass(frozen=True, slots=True)
class Overlay:
    """Our annotations of one protocol version, which know after lowering what of them was used."""

    names: Names
    docs: Docs
    capabilities: Capabilities


@dataclass(frozen=True, slots=True)
class Loaded:
    """Profiles lowered, and the annotations that went into them by protocol version."""

    profiles: list[ir.Profile]
    overlays: dict[str, Overlay]

    def complete(self) -> Iterator[str]:
        """The versions of which both channels are there. An annotation may be for one channel, so only then it is stale
        when it was not used.
        """
        names = {one.name for one in self.profiles}
        return (one for one in self.overlays if {f"{one}/stable", f"{one}/unstable"} <= names)


def load(schema_dir: Path, profiles: Sequence[str]) -> list[ir.Profile]:
    """Profiles lowered, in the order given. Raises CodegenError with the problems of all of them."""
    loaded = load_with_overlays(schema_dir, profiles)
    stale = [
        problem
        for version in loaded.complete()
        for one in (loaded.overlays[version].names, loaded.overlays[version].capabilities)
        for problem in one.unused()
    ]
    if stale:
        raise CodegenError(stale)
    return loaded.profiles


def load_with_overlays(
    schema_dir: Path,
    profiles: Sequence[str],
    instead: Mapping[str, LoadedSchema] | None = None,
    is_gated: bool = True,
) -> Loaded:
    """As `load`, but stale annotations are no problem. `instead` has schemas to take in place of the folder's.

    Without `is_gated`, capabilities.toml is left aside.
    """
    overlays: dict[str, Overlay] = {}
    found: list[ir.Profile] = []
    problems: list[Diagnostic] = []
    for name in profiles:
        version = name.partition("/")[0]
        try:
            loaded = (instead or {}).get(name) or load_profile(schema_dir, name)
            overlay = overlays.get(version) or _overlay(schema_dir / version, is_gated)
            overlays[version] = overlay
            source = ir.Source(loaded.source, loaded.version, loaded.sha256)
            lowered = lower(
                loaded.schema, name, source, overlay.names, overlay.docs, loaded.place, overlay.capabilities
            )
            found.append(lowered)
        except CodegenError as error:
            problems.extend(error.diagnostics)
    if problems:
        raise CodegenError(problems)
    return Loaded(found, overlays)


def _overlay(folder: Path, is_gated: bool) -> Overlay:
    capabilities = load_capabilities(folder) if is_gated else Capabilities()
    return Overlay(load_names(folder), load_docs(folder), capabilities)


def generate(schema_dir: Path, profiles: Sequence[str], package: str, project: bool) -> dict[str, str]:
    """Every file of the package, by path below the output folder. Raises CodegenError."""
    return emit(load(schema_dir, profiles), package, project)


def emit(
    profiles: Sequence[ir.Profile],
    package: str,
    project: bool,
    own_templates: Path | None = None,
    beside_only: bool = False,
) -> dict[str, str]:
    """`generate`, for profiles that are loaded. `own_templates` is laid over the templates that ship (`overlay`)."""
    templates = bundled("templates")
    own = read_overlay(own_templates, templates) if own_templates is not None else None
    return render(profiles, package, templates, project, own, beside_only)

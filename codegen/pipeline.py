"""The generator as one function: a schema folder in, {path: text} out. Nothing here prints or touches the output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codegen import ir
from codegen.annotations import Names, load_docs, load_names
from codegen.capabilities import Capabilities, load_capabilities
from codegen.errors import CodegenError, Diagnostic
from codegen.lower import lower
from codegen.render import render
from codegen.schema.lock import load_profile

_HERE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """A folder that ships with the generator: inside its wheel, or beside it in a checkout."""
    inside = _HERE / "_data" / name
    return inside if inside.is_dir() else _HERE.parent / name


def load(schema_dir: Path, profiles: Sequence[str]) -> list[ir.Profile]:
    """Profiles lowered, in the order given. Raises CodegenError with the problems of all of them."""
    curated: dict[str, Names] = {}
    promised: dict[str, Capabilities] = {}
    found: list[ir.Profile] = []
    problems: list[Diagnostic] = []
    for name in profiles:
        version = name.partition("/")[0]
        try:
            loaded = load_profile(schema_dir, name)
            names = curated.setdefault(version, load_names(schema_dir / version))
            source = ir.Source(loaded.source, loaded.version, loaded.sha256)
            docs = load_docs(schema_dir / version)
            capabilities = promised.setdefault(version, load_capabilities(schema_dir / version))
            found.append(lower(loaded.schema, name, source, names, docs, loaded.place, capabilities))
        except CodegenError as error:
            problems.extend(error.diagnostics)
    if problems:
        raise CodegenError(problems)
    for version, names in curated.items():
        # An entry may be for one channel only, so staleness shows when all of a version is there.
        if {f"{version}/stable", f"{version}/unstable"} <= set(profiles):
            problems.extend((*names.unused(), *promised[version].unused()))
    if problems:
        raise CodegenError(problems)
    return found


def generate(schema_dir: Path, profiles: Sequence[str], package: str, project: bool) -> dict[str, str]:
    """Every file of the package, by path below the output folder. Raises CodegenError."""
    return emit(load(schema_dir, profiles), package, project)


def emit(profiles: Sequence[ir.Profile], package: str, project: bool) -> dict[str, str]:
    """`generate`, for profiles that are loaded."""
    return render(profiles, package, bundled("templates"), project)

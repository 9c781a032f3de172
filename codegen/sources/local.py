"""Sources on this machine: a schema file, or a folder that has some."""

from __future__ import annotations

from pathlib import Path

from codegen.sources.layout import NAMES, VERSIONS, Fetched, layout, manifest_version, profile_of, read


def from_file(source: str, profile: str | None) -> Fetched:
    """One schema file; `profile` wins over what its path says."""
    path = Path(source).absolute()
    name = profile_of(path.parent.name, path.name, profile, source)
    return Fetched(f"file:{_portable(path)}", _version_around(path.parent), {name: read(path)})


def from_folder(source: str) -> Fetched:
    """A schema folder, one version's folder in it, or the root of an npm package."""
    folder = Path(source).absolute()
    names = NAMES
    if folder.name in VERSIONS:
        names = {f"{folder.name}/stable": ("schema.json",), f"{folder.name}/unstable": ("schema.unstable.json",)}
    found = layout(names, lambda name: (folder / name).is_file(), source)
    files = {profile: read(folder / name) for profile, name in found.items()}
    return Fetched(f"folder:{_portable(folder)}", _version_around(folder), files)


def _version_around(folder: Path) -> str:
    """The version of the npm package that `folder` is, or whose schema/ or schema/v*/ it is; else "unknown"."""
    root = next((parent.parent for parent in (folder, folder.parent) if parent.name == "schema"), folder)
    manifest = root / "package.json"
    return (manifest.is_file() and manifest_version(read(manifest))) or "unknown"


def _portable(path: Path) -> str:
    """The last component of a path; bytes in it that are no text become question marks."""
    return path.name.encode(errors="replace").decode()

"""Where schemas come from: an npm package, a folder or a single file, read as original bytes, one file per profile.

    npm:PACKAGE@VERSION   what `npm pack` downloads; npm:PACKAGE is its latest version, recorded by number
    FOLDER                v1/ and v2/ with schema.json and schema.unstable.json; one of these two; an npm package's root
    FILE                  its profile is read off its path (.../v2/schema.unstable.json), or given

This module imports nothing of codegen but `errors`, so that everything else may use its list of profiles.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen.errors import CodegenError, fail

PROFILE_FILES: Final[dict[str, str]] = {
    "v1/stable": "v1/schema.json",
    "v1/unstable": "v1/schema.unstable.json",
    "v2/stable": "v2/schema.json",
    "v2/unstable": "v2/schema.unstable.json",
}
"""Every profile, and its schema file below a schema folder."""

NPM_TIMEOUT: Final = 120
"""Seconds that `npm pack` may take."""
MAX_SCHEMA_SIZE: Final = 16 * 2**20
"""Bytes of one schema file; published ones are below half a MiB."""
MAX_PACKAGE_SIZE: Final = 128 * 2**20
"""Bytes of an unpacked npm package; published ones are below 10 MiB."""

# Packages from before v2 keep v1 at the top. The first name that exists is the profile's file.
_NAMES: Final = {
    "v1/stable": (PROFILE_FILES["v1/stable"], "schema.json"),
    "v1/unstable": (PROFILE_FILES["v1/unstable"], "schema.unstable.json"),
    "v2/stable": (PROFILE_FILES["v2/stable"],),
    "v2/unstable": (PROFILE_FILES["v2/unstable"],),
}
_VERSIONS: Final = ("v1", "v2")
_FORMS: Final = "npm:PACKAGE@VERSION, a folder or a schema file"
_BY_HAND: Final = "or run `npm pack` elsewhere, unpack what it makes and give that folder"
_PACKAGE: Final = re.compile(r"(@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*", re.ASCII)
_VERSION: Final = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
_WANTED: Final = re.compile(r"package/(package\.json\Z|schema/)")
_NPM_CODE: Final = re.compile(r"^npm (?:error|ERR!) code (\w+)", re.MULTILINE)
_NPM_FAULTS: Final = {
    "E404": "no such package",
    "ETARGET": "no such version of the package",
    "ENOVERSIONS": "a package without versions",
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """The original bytes by profile, and the source and version to record, which hold no path of this machine."""

    source: str
    version: str
    files: dict[str, bytes]


def check_profile(profile: str, place: str) -> str:
    """`profile` itself when it is one; else a CodegenError at `place` that lists them."""
    if profile not in PROFILE_FILES:
        raise fail(place, f"the unknown profile {profile!r}", "one of " + ", ".join(PROFILE_FILES))
    return profile


def fetch(source: str, profile: str | None = None) -> Fetched:
    """Read the schemas of `source` (see the top of this module).

    `profile` says what a single file is, whatever its path says; of a folder or a package it picks one. A source that
    cannot be read, holds no schema or lacks that profile is a CodegenError.
    """
    if profile is not None:
        check_profile(profile, "--profile")
    if source.startswith("npm:"):
        fetched = _from_npm(source)
    elif os.path.isdir(source):
        fetched = _from_folder(source)
    elif os.path.isfile(source):
        return _from_file(source, profile)
    else:
        raise fail(source, "no such file or folder", _FORMS)
    if profile is None:
        return fetched
    if profile not in fetched.files:
        raise fail(source, "only " + ", ".join(fetched.files), f"{profile}, which --profile asks for")
    return Fetched(fetched.source, fetched.version, {profile: fetched.files[profile]})


def _from_file(source: str, profile: str | None) -> Fetched:
    path = Path(source).absolute()
    if profile is None:
        if path.parent.name not in _VERSIONS:
            raise fail(source, "a path that does not tell its profile", "a folder v1 or v2 around it, or --profile")
        profile = f"{path.parent.name}/{'unstable' if 'unstable' in path.name else 'stable'}"
    return Fetched(f"file:{_portable(path)}", _version_around(path.parent), {profile: _read(path)})


def _from_folder(source: str) -> Fetched:
    folder = Path(source).absolute()
    names: dict[str, tuple[str, ...]] = _NAMES
    if folder.name in _VERSIONS:
        names = {f"{folder.name}/stable": ("schema.json",), f"{folder.name}/unstable": ("schema.unstable.json",)}
    found = _layout(names, lambda name: (folder / name).is_file(), source)
    files = {profile: _read(folder / name) for profile, name in found.items()}
    return Fetched(f"folder:{_portable(folder)}", _version_around(folder), files)


def _from_npm(source: str) -> Fetched:
    package, version = _split(source)
    tarball = _npm_pack(source, f"{package}@{version}" if version else package)
    members = _unpack(tarball, source)
    found = _layout(_NAMES, members.__contains__, source)
    resolved = _manifest_version(members.get("package.json", b""))
    if resolved is None:
        raise fail(source, "a package without a usable version", "a package.json with a version")
    return Fetched(f"npm:{package}@{resolved}", resolved, {profile: members[name] for profile, name in found.items()})


def _split(source: str) -> tuple[str, str]:
    """Package and version ("" for the latest). Nothing else that npm takes (git, URLs, folders) gets past this."""
    spec = source.removeprefix("npm:")
    at = spec.find("@", 1)  # an @ in front belongs to the scope
    package, version = (spec, "") if at < 0 else (spec[:at], spec[at + 1 :])
    if not _PACKAGE.fullmatch(package) or (at >= 0 and not _VERSION.fullmatch(version)):
        raise fail(source, "no package name and exact version", "npm:PACKAGE@VERSION or npm:PACKAGE")
    return package, version


def _npm_pack(source: str, spec: str) -> bytes:
    """Download a package without running any of its scripts; the tarball's bytes."""
    npm = shutil.which("npm")
    if npm is None:
        raise fail(source, "no npm on the PATH", f"npm, which comes with Node.js; {_BY_HAND}")
    command = [npm, "pack", "--ignore-scripts", "--", spec]
    with tempfile.TemporaryDirectory(prefix="acp-codegen-") as scratch:
        try:
            done = subprocess.run(
                command, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, timeout=NPM_TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            expected = f"a reachable npm registry; {_BY_HAND}"
            raise fail(source, f"no answer from npm within {NPM_TIMEOUT} seconds", expected) from None
        except OSError as error:
            raise fail(source, f"an npm that does not start ({error.strerror})", "a working npm on the PATH") from None
        if done.returncode != 0:
            raise _npm_fault(source, done.returncode, done.stderr.decode(errors="replace"))
        tarballs = list(Path(scratch).glob("*.tgz"))
        if len(tarballs) != 1:
            raise fail(source, f"{len(tarballs)} archives from npm pack", "one")
        return tarballs[0].read_bytes()


def _npm_fault(source: str, status: int, stderr: str) -> CodegenError:
    match = _NPM_CODE.search(stderr)
    code = match[1] if match else f"exit status {status}"
    if code in _NPM_FAULTS:
        return fail(source, f"{_NPM_FAULTS[code]} (npm says {code})", "a published npm:PACKAGE@VERSION")
    lines = [line for line in stderr.splitlines() if line.strip() and not _NPM_CODE.match(line)]
    found = f"npm pack failing with {code}: {(lines or [''])[0][:200]!r}"
    return fail(source, found, f"npm pack to succeed; {_BY_HAND}")


def _unpack(tarball: bytes, source: str) -> dict[str, bytes]:
    """The package's regular files package.json and schema/**, by their path in the package.

    Nothing is extracted to disk, so no member's name can lead anywhere; unpacking stops at MAX_PACKAGE_SIZE.
    """
    try:
        with gzip.open(io.BytesIO(tarball)) as stream:
            unpacked = stream.read(MAX_PACKAGE_SIZE + 1)
        if len(unpacked) > MAX_PACKAGE_SIZE:
            raise fail(source, "an oversized package", f"at most {MAX_PACKAGE_SIZE} bytes unpacked")
        members = {}
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for member in archive:
                if not member.isreg() or not _WANTED.match(member.name):
                    continue
                # Not said by the bound above: a sparse member may claim any size.
                if member.size > MAX_SCHEMA_SIZE:
                    raise fail(source, f"an oversized {member.name!r}", f"at most {MAX_SCHEMA_SIZE} bytes")
                content = archive.extractfile(member)
                members[member.name.removeprefix("package/")] = content.read() if content else b""
        return members
    # A hostile archive reaches corners of tarfile that raise more than its own errors.
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise fail(source, f"an archive that cannot be unpacked ({error!r:.100})", "an npm package's .tgz") from None


def _layout(names: dict[str, tuple[str, ...]], has: Callable[[str], bool], source: str) -> dict[str, str]:
    """The file of each profile that is there, at the top or else under schema/; CodegenError when there is none."""
    for base in ("", "schema/"):
        found = {profile: [base + name for name in tries if has(base + name)] for profile, tries in names.items()}
        if any(found.values()):
            return {profile: there[0] for profile, there in found.items() if there}
    raise fail(source, "no schema file", "one of " + ", ".join(PROFILE_FILES.values()) + ", there or under schema/")


def _version_around(folder: Path) -> str:
    """The version of the npm package that `folder` is, or whose schema/ or schema/v*/ it is; else "unknown"."""
    root = next((parent.parent for parent in (folder, folder.parent) if parent.name == "schema"), folder)
    manifest = root / "package.json"
    return (manifest.is_file() and _manifest_version(_read(manifest))) or "unknown"


def _manifest_version(data: bytes) -> str | None:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return None
    version = manifest.get("version") if isinstance(manifest, dict) else None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else None


def _portable(path: Path) -> str:
    """The last component of a path; bytes in it that are no text become question marks."""
    return path.name.encode(errors="replace").decode()


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_SCHEMA_SIZE + 1)
    except OSError as error:
        raise fail(str(path), f"a file that cannot be read ({error.strerror})", "a readable file") from None
    if len(data) > MAX_SCHEMA_SIZE:
        raise fail(str(path), "an oversized file", f"at most {MAX_SCHEMA_SIZE} bytes")
    return data

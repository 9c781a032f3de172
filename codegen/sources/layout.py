"""Which file is which profile's, in a folder or a package; and what was fetched, as the other modules hand it on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegen.errors import fail
from codegen.sources import limits

PROFILE_FILES: Final[dict[str, str]] = {
    "v1/stable": "v1/schema.json",
    "v1/unstable": "v1/schema.unstable.json",
    "v2/stable": "v2/schema.json",
    "v2/unstable": "v2/schema.unstable.json",
}
"""Every profile, and its schema file below a schema folder."""
VERSIONS: Final = ("v1", "v2")
# Packages from before v2 keep v1 at the top. The first name that exists is the profile's file.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "v1/stable": (PROFILE_FILES["v1/stable"], "schema.json"),
    "v1/unstable": (PROFILE_FILES["v1/unstable"], "schema.unstable.json"),
    "v2/stable": (PROFILE_FILES["v2/stable"],),
    "v2/unstable": (PROFILE_FILES["v2/unstable"],),
}
GIVEN: Final = "--profile (of update: --as)"
"""The option that says what a single file is."""
VERSION_TEXT: Final = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)
"""What a package's version or tag looks like."""


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


def profile_of(folder: str, name: str, profile: str | None, source: str) -> str:
    """The profile of a single file: the one given, else what its own name and its folder's say."""
    if profile is not None:
        return profile
    if folder not in VERSIONS:
        raise fail(source, "a path that does not tell its profile", f"a folder v1 or v2 around it, or {GIVEN}")
    return f"{folder}/{'unstable' if 'unstable' in name else 'stable'}"


def layout(names: dict[str, tuple[str, ...]], has: Callable[[str], bool], source: str) -> dict[str, str]:
    """The file of each profile that is there, at the top or else under schema/; CodegenError when there is none."""
    for base in ("", "schema/"):
        found = {profile: [base + name for name in tries if has(base + name)] for profile, tries in names.items()}
        if any(found.values()):
            return {profile: there[0] for profile, there in found.items() if there}
    raise fail(source, "no schema file", "one of " + ", ".join(PROFILE_FILES.values()) + ", there or under schema/")


def manifest_version(data: bytes) -> str | None:
    """The version that a package.json tells; None where it tells none that can be used."""
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        return None
    version = manifest.get("version") if isinstance(manifest, dict) else None
    return version if isinstance(version, str) and VERSION_TEXT.fullmatch(version) else None


def read(path: Path) -> bytes:
    """The bytes of a file of at most MAX_SCHEMA_SIZE."""
    try:
        with path.open("rb") as stream:
            data = stream.read(limits.MAX_SCHEMA_SIZE + 1)
    except OSError as error:
        raise fail(str(path), f"a file that cannot be read ({error.strerror})", "a readable file") from None
    if len(data) > limits.MAX_SCHEMA_SIZE:
        raise fail(str(path), "an oversized file", f"at most {limits.MAX_SCHEMA_SIZE} bytes")
    return data

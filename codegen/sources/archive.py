"""An npm package's tarball: its schemas and its version, read without unpacking anything to disk."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from typing import Final

from codegen.errors import fail
from codegen.sources import limits
from codegen.sources.layout import NAMES, layout, manifest_version

_WANTED: Final = re.compile(r"package/(package\.json\Z|schema/)")


def read_package(tarball: bytes, source: str) -> tuple[str, dict[str, bytes]]:
    """The version that the package gives itself, and its schemas by profile. CodegenError if it has none."""
    members = _unpack(tarball, source)
    found = layout(NAMES, members.__contains__, source)
    version = manifest_version(members.get("package.json", b""))
    if version is None:
        raise fail(source, "a package without a usable version", "a package.json with a version")
    return version, {profile: members[name] for profile, name in found.items()}


def _unpack(tarball: bytes, source: str) -> dict[str, bytes]:
    """The package's regular files package.json and schema/**, by their path in the package.

    Nothing is extracted to disk, so no member's name can lead anywhere; unpacking stops at MAX_PACKAGE_SIZE.
    """
    try:
        with gzip.open(io.BytesIO(tarball)) as stream:
            unpacked = stream.read(limits.MAX_PACKAGE_SIZE + 1)
        if len(unpacked) > limits.MAX_PACKAGE_SIZE:
            raise fail(source, "an oversized package", f"at most {limits.MAX_PACKAGE_SIZE} bytes unpacked")
        members = {}
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as archive:
            for member in archive:
                if not member.isreg() or not _WANTED.match(member.name):
                    continue
                # Not said by the bound above: a sparse member may claim any size.
                if member.size > limits.MAX_SCHEMA_SIZE:
                    raise fail(source, f"an oversized {member.name!r}", f"at most {limits.MAX_SCHEMA_SIZE} bytes")
                content = archive.extractfile(member)
                members[member.name.removeprefix("package/")] = content.read() if content else b""
        return members
    # A hostile archive reaches corners of tarfile that raise more than its own errors.
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        raise fail(source, f"an archive that cannot be unpacked ({error!r:.100})", "an npm package's .tgz") from None

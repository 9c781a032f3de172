"""What a profile tells about its own origin."""

from __future__ import annotations

from typing import NamedTuple


class SchemaInfo(NamedTuple):
    """The schema that a profile was generated from: where it came from, its version, sha256 of the pinned file."""

    source: str
    version: str
    sha256: str

"""Where schemas come from, read as original bytes, one file per profile.

    npm:PACKAGE@VERSION   what `npm pack` downloads; a tag for a version, or none for the latest, is recorded by number
    FOLDER                v1/ and v2/ with schema.json and schema.unstable.json; one of these two; an npm package's root
    FILE                  its profile is read off its path (.../v2/schema.unstable.json), or given
    https://HOST/...      such a file, or an npm package's .tgz; http:// on this machine's own loopback only

This package imports nothing of codegen but `errors`, so that everything else may use its list of profiles.
"""

from __future__ import annotations

import os
import re

from codegen.errors import fail
from codegen.sources.layout import GIVEN, PROFILE_FILES, Fetched, check_profile

__all__ = ["PROFILE_FILES", "Fetched", "check_profile", "fetch"]

_FORMS = "npm:PACKAGE@VERSION, a folder, a schema file or an https:// URL"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def fetch(source: str, profile: str | None = None) -> Fetched:
    """Read the schemas of `source` (see the top of this module).

    `profile` says what a single file is, whatever its path says; of a folder or a package it picks one. A source that
    cannot be read, holds no schema or lacks that profile is a CodegenError.
    """
    if profile is not None:
        check_profile(profile, GIVEN)
    fetched = _fetch(source, profile)
    if profile is None:
        return fetched
    if profile not in fetched.files:
        raise fail(source, "only " + ", ".join(fetched.files), f"{profile}, which {GIVEN} asks for")
    return Fetched(fetched.source, fetched.version, {profile: fetched.files[profile]})


def _fetch(source: str, profile: str | None) -> Fetched:
    # Imported where they are used: most of what uses this package wants its list of profiles only.
    if source.startswith("npm:"):
        from codegen.sources.npm import from_npm

        return from_npm(source)
    if _URL.match(source):
        from codegen.sources.web import from_url

        return from_url(source, profile)
    from codegen.sources.local import from_file, from_folder

    if os.path.isdir(source):
        return from_folder(source)
    if os.path.isfile(source):
        return from_file(source, profile)
    raise fail(source, "no such file or folder", _FORMS)

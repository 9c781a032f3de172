"""How large and how slow a source may be. Read as attributes, so that there is one value of each."""

from __future__ import annotations

MAX_SCHEMA_SIZE = 16 * 2**20
"""Bytes of one schema file; published ones are below half a MiB."""
MAX_ARCHIVE_SIZE = 32 * 2**20
"""Bytes of an npm package as it is downloaded; published ones are below 2 MiB."""
MAX_PACKAGE_SIZE = 128 * 2**20
"""Bytes of an unpacked npm package; published ones are below 10 MiB."""
NPM_TIMEOUT = 120.0
"""Seconds that one call of npm may take."""
CONNECT_TIMEOUT = 10.0
"""Seconds that a web server may be silent, from connecting to its last byte."""
DOWNLOAD_TIMEOUT = 60.0
"""Seconds that a download may take as a whole, redirects included."""
MAX_REDIRECTS = 5
"""Redirects that a download follows."""

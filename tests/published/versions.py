"""Which versions there are, in the order in which they were published."""

from __future__ import annotations

import json
import subprocess
from functools import cmp_to_key

from codegen.sources.npm import is_older

PACKAGES = ("@zed-industries/agent-client-protocol", "@agentclientprotocol/sdk")
"""The package, under its first name and its second."""


def published() -> list[str]:
    """`npm:PACKAGE@VERSION` of every version on npm, prereleases too. Raises CalledProcessError where npm fails."""
    return [f"npm:{package}@{version}" for package in PACKAGES for version in _versions(package)]


def _versions(package: str) -> list[str]:
    command = ["npm", "view", "--json", package, "versions"]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)
    versions: list[str] = shown if isinstance(shown, list) else [shown]
    return sorted(versions, key=cmp_to_key(_compared))


def _compared(one: str, other: str) -> int:
    return is_older(other, one) - is_older(one, other)

"""The pinned Goose, brought by npm into this folder's node_modules; git ignores it."""

from __future__ import annotations

import platform
from pathlib import Path

from tests.support import npm

HERE = Path(__file__).resolve().parent
PACKAGE = "@aaif/goose-binary-linux-x64"


def pinned() -> str:
    """The version that package.json asks for."""
    return npm.pinned(HERE, PACKAGE)


def install() -> Path:
    """Goose's path, installed unless it is there. Raises as `npm.install` does."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise npm.UnavailableError(f"made for Linux on x86_64, not for {platform.system()} on {platform.machine()}")
    return npm.install(HERE, PACKAGE) / "bin" / "goose"

"""The pinned Goose, brought by npm into this folder's node_modules; git ignores it."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "@aaif/goose-binary-linux-x64"
INSTALL_TIMEOUT = 600  # seconds; the package has about 300 MB
BINARY = HERE / "node_modules" / PACKAGE / "bin" / "goose"


class UnavailableError(Exception):
    """Goose cannot be had on this machine."""


def pinned() -> str:
    """The version that package.json asks for."""
    version: str = json.loads((HERE / "package.json").read_text())["dependencies"][PACKAGE]
    return version


def install() -> Path:
    """Goose's path, installed unless it is there.

    Raises UnavailableError; RuntimeError where npm found something else than what the lock names.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise UnavailableError(f"made for Linux on x86_64, not for {platform.system()} on {platform.machine()}")
    import fcntl  # not everywhere

    # Test processes that run side by side install once.
    with (HERE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_there():
            _bring()
    return BINARY


def _is_there() -> bool:
    manifest = HERE / "node_modules" / PACKAGE / "package.json"
    return BINARY.is_file() and manifest.is_file() and json.loads(manifest.read_text())["version"] == pinned()


def _bring() -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableError("npm was not found")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not bring it within {INSTALL_TIMEOUT} s") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        if "EINTEGRITY" in said or "EUSAGE" in said:
            raise RuntimeError(f"what npm found is not what package-lock.json names: {said}") from error
        raise UnavailableError(f"npm could not bring it: {said.partition(chr(10))[0]}") from error

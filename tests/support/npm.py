"""Packages that tests bring by npm: pinned in the package.json beside them, installed once, reused while they fit."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

INSTALL_TIMEOUT = 600  # seconds; the largest package has about 300 MB


class UnavailableError(Exception):
    """The package cannot be had on this machine."""


def pinned(folder: Path, package: str) -> str:
    """The version that the folder's package.json asks for."""
    version: str = json.loads((folder / "package.json").read_text())["dependencies"][package]
    return version


def install(folder: Path, package: str) -> Path:
    """The installed package's folder, brought by npm unless it is there in the pinned version.

    Raises UnavailableError; RuntimeError where npm found something else than what the lock names.
    """
    import fcntl  # not everywhere

    found = folder / "node_modules" / package
    # Test processes that run side by side install once.
    with (folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        manifest = found / "package.json"
        if not manifest.is_file() or json.loads(manifest.read_text())["version"] != pinned(folder, package):
            _bring(folder)
    return found


def _bring(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise UnavailableError(f"{'npm' if npm is None else 'node'} was not found")
    how = ["ci"] if (folder / "package-lock.json").is_file() else ["install", "--no-package-lock"]
    command = [npm, *how, "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"npm did not bring it within {INSTALL_TIMEOUT} s") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip()
        if "EINTEGRITY" in said or "EUSAGE" in said:
            raise RuntimeError(f"what npm found is not what package-lock.json names: {said}") from error
        raise UnavailableError(f"npm could not bring it: {said.partition(chr(10))[0]}") from error

"""npm packages: which version is the latest, and what `npm pack` downloads. No script of a package is ever run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from codegen.errors import CodegenError, fail
from codegen.sources import limits
from codegen.sources.archive import read_package
from codegen.sources.layout import VERSION_TEXT, Fetched

_BY_HAND: Final = "or run `npm pack` elsewhere, unpack what it makes and give that folder"
_PACKAGE: Final = re.compile(r"(@[A-Za-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*", re.ASCII)
_SEMVER: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([\w.-]+))?(?:\+[\w.-]+)?", re.ASCII)
_NPM_CODE: Final = re.compile(r"^npm (?:error|ERR!) code (\w+)", re.MULTILINE)
_NPM_FAULTS: Final = {
    "E404": "no such package",
    "ETARGET": "no such version of the package",
    "ENOVERSIONS": "a package without versions",
}


def from_npm(source: str) -> Fetched:
    """The schemas of a published package."""
    package, version = split(source)
    tarball = _pack(source, f"{package}@{version}" if version else package)
    resolved, files = read_package(tarball, source)
    return Fetched(f"npm:{package}@{resolved}", resolved, files)


def split(source: str) -> tuple[str, str]:
    """Package and version ("" for the latest). Nothing else that npm takes (git, URLs, folders) gets past this."""
    spec = source.removeprefix("npm:")
    at = spec.find("@", 1)  # an @ in front belongs to the scope
    package, version = (spec, "") if at < 0 else (spec[:at], spec[at + 1 :])
    if not _PACKAGE.fullmatch(package) or (at >= 0 and not VERSION_TEXT.fullmatch(version)):
        raise fail(source, "no package name and exact version", "npm:PACKAGE@VERSION or npm:PACKAGE")
    return package, version


def latest(source: str) -> str:
    """The version that npm's tag `latest` of this source's package stands for now; nothing is downloaded."""
    package, _ = split(source)
    with tempfile.TemporaryDirectory(prefix="acp-codegen-") as scratch:
        shown = _npm(source, ["view", "--json", "--", f"{package}@latest", "version"], scratch)
    try:
        version = json.loads(shown)
    except ValueError:
        version = None
    if not isinstance(version, str) or not VERSION_TEXT.fullmatch(version):
        raise fail(source, f"{shown[:80]!r} as its latest version", "a version from `npm view`")
    return version


def is_older(version: str, other: str) -> bool:
    """Whether a version comes before another by the precedence of semantic versions; what is none comes first."""
    return _precedence(version) < _precedence(other)


def _precedence(version: str) -> tuple[int | bool | tuple[tuple[int, int, str], ...], ...]:
    match = _SEMVER.fullmatch(version)
    if not match:
        return ()
    major, minor, patch, before = match.groups()
    parts = before.split(".") if before else []
    # Numbers come before words, and a version without any such part comes after all that have some.
    ranked = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
    return int(major), int(minor), int(patch), not parts, ranked


def _pack(source: str, spec: str) -> bytes:
    """The tarball's bytes."""
    with tempfile.TemporaryDirectory(prefix="acp-codegen-") as scratch:
        _npm(source, ["pack", "--ignore-scripts", "--", spec], scratch)
        tarballs = list(Path(scratch).glob("*.tgz"))
        if len(tarballs) != 1:
            raise fail(source, f"{len(tarballs)} archives from npm pack", "one")
        with tarballs[0].open("rb") as stream:
            data = stream.read(limits.MAX_ARCHIVE_SIZE + 1)
    if len(data) > limits.MAX_ARCHIVE_SIZE:
        raise fail(source, "an oversized archive", f"at most {limits.MAX_ARCHIVE_SIZE} bytes")
    return data


def _npm(source: str, arguments: list[str], folder: str) -> bytes:
    """What npm prints when it is run in `folder`; a CodegenError when it fails, hangs or is not there."""
    npm = shutil.which("npm")
    if npm is None:
        raise fail(source, "no npm on the PATH", f"npm, which comes with Node.js; {_BY_HAND}")
    try:
        # A session of its own: npm starts processes, which hold its pipes open and must end with it.
        process = subprocess.Popen(
            [npm, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise fail(source, f"an npm that does not start ({error.strerror})", "a working npm on the PATH") from None
    with process:
        try:
            shown, complaint = process.communicate(timeout=limits.NPM_TIMEOUT)
        except subprocess.TimeoutExpired:
            found = f"no answer from npm within {limits.NPM_TIMEOUT:g} seconds"
            raise fail(source, found, f"a reachable npm registry; {_BY_HAND}") from None
        finally:
            _end(process)
    if process.returncode != 0:
        raise _fault(source, arguments[0], process.returncode, complaint.decode(errors="replace"))
    return shown


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of npm and whatever it started."""
    if process.returncode is not None:
        return
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _fault(source: str, command: str, status: int, stderr: str) -> CodegenError:
    match = _NPM_CODE.search(stderr)
    code = match[1] if match else f"exit status {status}"
    if code in _NPM_FAULTS:
        return fail(source, f"{_NPM_FAULTS[code]} (npm says {code})", "a published npm:PACKAGE@VERSION")
    lines = [line for line in stderr.splitlines() if line.strip() and not _NPM_CODE.match(line)]
    found = f"npm {command} failing with {code}: {(lines or [''])[0][:200]!r}"
    return fail(source, found, f"npm {command} to succeed; {_BY_HAND}")

"""Packages, archives and npms for tests that fetch: what they hold is said by the test, not by a registry."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

ALL = {
    "schema/v1/schema.json": b"1s",
    "schema/v1/schema.unstable.json": b"1u",
    "schema/v2/schema.json": b"2s",
    "schema/v2/schema.unstable.json": b"2u",
}
BY_PROFILE = {"v1/stable": b"1s", "v1/unstable": b"1u", "v2/stable": b"2s", "v2/unstable": b"2u"}
MANIFEST = b'{"name": "pkg", "version": "7.8.9"}'

FakeNpm = Callable[..., Path]


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def tarball(files: dict[str, bytes], *members: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for info in members:
            archive.addfile(info)
    return out.getvalue()


def package(files: dict[str, bytes], manifest: bytes = MANIFEST) -> bytes:
    return tarball({f"package/{name}": data for name, data in {"package.json": manifest, **files}.items()})


def link(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def fake_npm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNpm:
    """Puts an `npm` on the PATH that delivers `archive`, or fails; the file that gets its arguments is returned.

    Asked by `npm view`, it prints `shown`.
    """

    def install(
        archive: bytes | None = None, status: int = 0, stderr: str = "", copies: int = 1, shown: str = ""
    ) -> Path:
        tree(folder, {"archive": archive or b"", "stderr": stderr.encode(), "shown": shown.encode(), "npm": b""})
        deliver = "".join(f"cp '{folder}/archive' {n}.tgz\n" for n in range(copies if archive is not None else 0))
        script = (
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{folder}/args'\ncat '{folder}/stderr' >&2\n"
            f"if [ \"$1\" = view ]; then cat '{folder}/shown'; else :\n{deliver}fi\nexit {status}\n"
        )
        (folder / "npm").write_text(script)
        (folder / "npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder / "args"

    return install

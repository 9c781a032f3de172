"""A working folder with schemas pinned, annotated and generated from, and newer ones to update to."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ok

_COLOUR = {"enum": ["red", "blue"], "type": "string"}
OLD: dict[str, Any] = {
    "Thing": {"type": "object", "properties": {"fullName": {"type": "string"}}, "required": ["fullName"]},
    "Colour": _COLOUR,
    "Shape": {
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": kind, "type": "string"}}, "required": ["kind"]}
            for kind in ("round", "flat")
        ]
    },
}
DOCS = """\
[Thing]
doc = "A thing."
[Thing.fields]
fullName = "Its name."
[Colour]
doc = "A colour."
[Shape]
doc = "A shape."
[Shape.variants]
round = "Round."
flat = "Flat."
"""
NAMES = '[Shape]\nRoundShape = ["round"]\nFlatShape = ["flat"]\n'


def newer() -> dict[str, Any]:
    """OLD with a definition, a property, a variant and a value more."""
    defs = copy.deepcopy(OLD)
    defs["Extra"] = {"type": "object", "properties": {"size": {"type": "integer"}}}
    defs["Thing"]["properties"]["extra"] = {"$ref": "#/$defs/Extra"}
    square = {"type": "object", "properties": {"kind": {"const": "square", "type": "string"}}, "required": ["kind"]}
    defs["Shape"]["anyOf"].append(square)
    defs["Colour"]["enum"].append("green")
    return defs


def upstream(folder: Path, version: str, defs: dict[str, Any], channels: tuple[str, ...] = ("", ".unstable")) -> Path:
    """A package's root with schemas of v2."""
    for channel in channels:
        path = folder / f"schema/v2/schema{channel}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"$defs": defs}), encoding="utf-8")
    (folder / "package.json").write_text(json.dumps({"name": "pkg", "version": version}), encoding="utf-8")
    return folder


def pinned_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with schema/ of version 1.0.0 and generated/ the working folder. Beside it: old/, new/."""
    upstream(tmp_path / "old", "1.0.0", OLD)
    upstream(tmp_path / "new", "1.1.0", newer())
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    ok("import", "../old")
    (work / "schema/v2/docs.toml").write_text(DOCS, encoding="utf-8")
    (work / "schema/v2/names.toml").write_text(NAMES, encoding="utf-8")
    ok("generate")
    return work


def state(root: Path) -> dict[str, tuple[bytes | None, int]]:
    """Bytes and times of change of everything below a folder, itself and hidden files too; None for folders."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
        for path in (root, *root.rglob("*"))
    }

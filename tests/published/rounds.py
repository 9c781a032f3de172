"""What a published package is put through, and what a pair of them is."""

from __future__ import annotations

import importlib
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from codegen import ir
from codegen.diff import FORMATS, Report, compare, render, summary
from codegen.lower.methods import envelopes
from codegen.pipeline import generate, load
from codegen.schema.importing import import_schemas
from codegen.sources import PROFILE_FILES
from tests.support.values import Values, validator

VALUES = 6
"""Random values of each definition."""


@dataclass(frozen=True)
class Round:
    """What a package went through: its profiles, definitions of all of them, and how many values came back the same."""

    profiles: tuple[str, ...]
    definitions: int
    values: int


def profiles_in(folder: Path) -> list[str]:
    return [profile for profile, file in PROFILE_FILES.items() if (folder / file).is_file()]


def go_round(source: str, folder: Path) -> Round:
    """Import a source's schemas into `folder`, generate, compile, import and round-trip. Raises whatever goes wrong."""
    imported = import_schemas(source, folder / "schema")
    name = "published_" + "".join(char if char.isalnum() else "_" for char in source)
    for path, text in generate(folder / "schema", [one.profile for one in imported], name, project=False).items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        if target.suffix == ".py":
            compile(text, path, "exec", dont_inherit=True)
    values = 0
    with importable(folder, name):
        for one in imported:
            version, _, channel = one.profile.partition("/")
            module = importlib.import_module(f"{name}.{version}" + (".unstable" if channel == "unstable" else ""))
            importlib.import_module(f"{module.__name__}.methods")
            values += round_trips(module, json.loads(one.path.read_bytes()))
    return Round(tuple(one.profile for one in imported), sum(one.definitions for one in imported), values)


@contextmanager
def importable(folder: Path, name: str) -> Iterator[None]:
    """While it lasts, the package `name` in `folder` can be imported; afterwards nothing of it is left."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == name]:
            del sys.modules[loaded]


def round_trips(module: ModuleType, schema: dict[str, Any]) -> int:
    """Decode and encode valid values of every definition; the number of values."""
    values = Values(schema)
    names = [name for name in schema["$defs"] if name not in envelopes(schema)]
    for name in names:
        is_valid = validator(schema, name)
        target = getattr(module, name)
        for seed in range(VALUES):
            value = values.valid(name, random.Random(f"{name}{seed}"))
            model = module.decode(json.dumps(value), target)
            written = module.encode(model)
            assert is_valid(json.loads(written)), (name, value)
            assert module.decode(written, target) == model, (name, value)
    return len(names) * VALUES


def lowered(folder: Path) -> list[ir.Profile]:
    """The profiles of a schema folder that has no TOML."""
    return load(folder, profiles_in(folder))


def differ(old: Path, new: Path) -> Report:
    """The diff of two schema folders, printed in every format. Raises whatever goes wrong; nothing may be lost."""
    before, after = lowered(old), lowered(new)
    report = compare(before, after)
    for form in FORMATS:
        assert render(report, form).endswith("\n"), form
    assert summary(report) and json.loads(render(report, "json"))
    back = compare(after, before)
    # What came one way went the other way.
    added, removed = (
        {(one.profiles, one.owner) for one in of.changes if one.kind == f"definition-{what}"}
        for of, what in ((report, "added"), (back, "removed"))
    )
    assert added == removed
    assert compare(before, before).changes == ()
    return report

"""Tiny schemas made into packages and imported: what the generator writes is tested by running it.

`build` makes one package, `rejected` tells why one cannot be made. `Tinies` collects the schemas of a test module, so
that one run of mypy covers them all.
"""

from __future__ import annotations

import atexit
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import pytest

from codegen.errors import CodegenError
from codegen.pipeline import generate
from codegen.schema.canonical import DIALECT
from codegen.write import write

Defs: TypeAlias = Mapping[str, Any]

USE: Final = "use.py"
"""A module of a profile that only type checkers read."""
# Without quotes, so that it survives inside any: leaves a file beside whatever runs it.
CODE = "open(__file__+chr(46)+chr(112)+chr(119)+chr(110),chr(119))"
PWNED = "*.pwn"
ALONE = """
import importlib, json, sys
folder, name = sys.argv[1:]
sys.path.insert(0, folder)
module = importlib.import_module(name)
for name, value in json.load(sys.stdin):
    form = getattr(module, name)
    found = json.loads(module.encode(module.decode(json.dumps(value), form)))
    assert found == value, (name, ascii(value), ascii(found))
classes = (name for name in module.__all__ if isinstance(getattr(module, name), type))
print(json.dumps({name: getattr(module, name).__doc__ for name in classes}))
"""
_CACHE = shutil.ignore_patterns("__pycache__")
_numbers = itertools.count(1)


def build(
    tmp_path: Path, defs: Defs, *, unstable: Defs | None = None, names: str = "", docs: str = "", lock: str = ""
) -> ModuleType:
    """Generate a package from `$defs`, write it below `tmp_path` and import it; the module of its v2/stable.

    `unstable` are the definitions of the other channel, which is then `module.unstable`; `names`, `docs` and `lock` are
    the texts of the TOML files. No other package of this process has the package's name.
    """
    package = f"tiny_{next(_numbers)}"
    schema = schema_folder(tmp_path / f"{package}_schema", defs, unstable=unstable, names=names, docs=docs, lock=lock)
    write(tmp_path, package, generate(schema, _profiles(unstable), package, project=False))
    sys.path.insert(0, str(tmp_path))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(f"{package}.v2")
    finally:
        sys.path.remove(str(tmp_path))


def rejected(
    tmp_path: Path, defs: Defs, *, unstable: Defs | None = None, names: str = "", docs: str = ""
) -> list[tuple[str, str, str]]:
    """What the generator has against these definitions, as place, found and expected.

    A place in the stable schema is the pointer alone; one elsewhere begins with its file's name.
    """
    folder = schema_folder(Path(tempfile.mkdtemp(dir=tmp_path), "s"), defs, unstable=unstable, names=names, docs=docs)
    with pytest.raises(CodegenError) as raised:
        generate(folder, _profiles(unstable), "tiny", project=False)
    found = []
    for one in raised.value.diagnostics:
        place = one.place.removeprefix(str(folder / "v2") + os.sep).removeprefix("schema.json#")
        found.append((place, one.found, one.expected))
    return found


def schema_folder(
    folder: Path, defs: Defs, *, unstable: Defs | None = None, names: str = "", docs: str = "", lock: str = ""
) -> Path:
    """Write a schema folder of v2, the TOML files only where they say something; returns the folder."""
    version = folder / "v2"
    version.mkdir(parents=True)
    for file, definitions in (("schema.json", defs), ("schema.unstable.json", unstable)):
        if definitions is not None:
            (version / file).write_text(json.dumps({"$schema": DIALECT, "$defs": definitions}), encoding="utf-8")
    for path, text in ((version / "names.toml", names), (version / "docs.toml", docs), (folder / "lock.toml", lock)):
        if text:
            path.write_text(text, encoding="utf-8")
    return folder


def _profiles(unstable: Defs | None) -> list[str]:
    return ["v2/stable"] if unstable is None else ["v2/stable", "v2/unstable"]


def package_of(module: ModuleType) -> Path:
    """The folder of the package that a stable profile's module belongs to."""
    return Path(str(module.__file__)).parents[1]


def source_of(module: ModuleType) -> str:
    """The text of a profile's models."""
    return Path(str(module.__file__)).with_name("models.py").read_text(encoding="utf-8")


def strict(*packages: Path) -> list[str]:
    """What `mypy --strict` has to say of the profiles in generated packages, all in one run; empty when it is content.

    They are laid beside each other over the runtime of the first, since that is the same in all of them and many times
    their size. What mypy has to say of the runtime itself is left to the check of the whole project.
    """
    with tempfile.TemporaryDirectory() as scratch:
        together = Path(scratch, "together")
        shutil.copytree(packages[0], together, ignore=_CACHE)
        for package in packages[1:]:
            shutil.copytree(package / "v2", together / package.name, ignore=_CACHE)
        checked = [str(together / name) for name in ("__init__.py", "v2", *(one.name for one in packages[1:]))]
        # Not by its API, which leaves the recursion limit of this process changed.
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={os.devnull}"]
        command += ["--follow-imports=silent", "--no-error-summary", *checked]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode < 2 and not done.stderr, done.stdout + done.stderr
    return [line.removeprefix(scratch + os.sep) for line in done.stdout.splitlines()]


def alone(module: ModuleType, checks: list[tuple[str, object]]) -> dict[str, str]:
    """Import a module in a fresh interpreter and round-trip values; returns the docstrings of its classes."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-B", "-c", ALONE, str(package_of(module).parent), module.__name__],
        input=json.dumps(checks),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    docs: dict[str, str] = json.loads(done.stdout)
    return docs


class Tiny:
    """A schema, and the module that it becomes once that is asked for."""

    def __init__(self, folder: Path, use: str, defs: Defs, **more: Any) -> None:
        self.folder = folder
        self.use = use
        self.defs = defs
        self.more = more

    @cached_property
    def module(self) -> Any:
        module = build(self.folder, self.defs, **self.more)
        if self.use:
            text = f"from typing import assert_type\nfrom . import *\n\n{self.use}"
            Path(str(module.__file__)).with_name(USE).write_text(text, encoding="utf-8")
        return module

    def decode(self, type_name: str, value: object) -> Any:
        """`value` decoded to a definition, after a look that `decode` and `convert` agree."""
        form = getattr(self.module, type_name)
        found = self.module.decode(json.dumps(value), form)
        assert found == self.module.convert(value, form)
        return found

    def encoded(self, type_name: str, value: object) -> Any:
        """What `value` comes back as after a decode and an encode."""
        return json.loads(self.module.encode(self.decode(type_name, value)))

    def pointer(self, type_name: str, value: object) -> str:
        """Where decoding `value` fails; the same for `decode` and `convert`."""
        form = getattr(self.module, type_name)
        with pytest.raises(self.module.DecodeError) as converted:
            self.module.convert(value, form)
        with pytest.raises(self.module.DecodeError) as decoded:
            self.module.decode(json.dumps(value), form)
        assert (decoded.value.pointer, decoded.value.reason) == (converted.value.pointer, converted.value.reason)
        return str(decoded.value.pointer)


class Tinies:
    """The tiny schemas of one test module."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tiny-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.schemas: list[Tiny] = []

    def add(self, defs: Defs, *, unstable: Defs | None = None, names: str = "", docs: str = "", use: str = "") -> Tiny:
        """Declare a schema. `use` is code that uses what the module exports; it is type-checked and never run."""
        self.schemas.append(Tiny(self.folder, use, defs, unstable=unstable, names=names, docs=docs))
        return self.schemas[-1]

    def strict(self) -> list[str]:
        """What mypy finds in all of them."""
        return strict(*(package_of(one.module) for one in self.schemas))


# Schemas in few words

STRING: Final[Defs] = {"type": "string"}
INTEGER: Final[Defs] = {"type": "integer"}


def ref(name: str) -> Defs:
    return {"$ref": f"#/$defs/{name}"}


def const(value: str | int, title: str = "") -> Defs:
    named = {"title": title} if title else {}
    return {"const": value, "type": "string" if isinstance(value, str) else "integer", **named}


def array(items: Defs, **keywords: Any) -> Defs:
    return {"type": "array", "items": items, **keywords}


def nullable(schema: Defs) -> Defs:
    return {"anyOf": [schema, {"type": "null"}]}


def obj(properties: Mapping[str, Any], *required: str, **keywords: Any) -> dict[str, Any]:
    """An object; `required` are property names."""
    always = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), **always, **keywords}


def variant(tag: str, value: str, payload: str = "", **keywords: Any) -> dict[str, Any]:
    """A branch whose property `tag` is `value`, with a definition's properties by allOf."""
    by = {"allOf": [ref(payload)]} if payload else {}
    return obj({tag: const(value)}, tag, **by, **keywords)


def fallback(tag: str, *excluded: str, required: tuple[str, ...] = (), **properties: Any) -> Defs:
    """The branch for unknown tags, as ACP's schema writes it; with properties of its own it is an envelope."""
    ruled_out = {"not": {"anyOf": [obj({tag: const(value)}, tag) for value in excluded]}} if excluded else {}
    return obj({tag: STRING, **properties}, tag, *required, title="other", additionalProperties=True, **ruled_out)

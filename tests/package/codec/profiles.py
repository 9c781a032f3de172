"""The profiles that the codec's tests run over: all that have a schema here, each with its generated module."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from tests.support.values import Values

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Profile:
    """One schema file and the module that was generated from it."""

    name: str
    file: Path

    @cached_property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.file.read_text())
        return schema

    @cached_property
    def module(self) -> ModuleType:
        version, _, channel = self.name.partition("/")
        return importlib.import_module(f"acp_bindings.{version}{'' if channel == 'stable' else '.' + channel}")

    @cached_property
    def values(self) -> Values:
        return Values(self.schema)

    @cached_property
    def definitions(self) -> tuple[str, ...]:
        """Every definition but the envelopes of JSON-RPC, which the schema hides from its own documentation too."""
        return tuple(name for name, one in self.schema["$defs"].items() if not one.get("x-docs-ignore"))

    def type(self, name: str) -> Any:
        """The class or union alias of a definition."""
        return getattr(self.module, name)


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    files = sorted((ROOT / "schema").glob("v*/schema*.json"))
    found = {}
    for file in files:
        channel = "unstable" if "unstable" in file.name else "stable"
        name = f"{file.parent.name}/{channel}"
        found[name] = Profile(name, file)
    return found


def every_definition() -> list[tuple[str, str]]:
    """All definitions of all profiles, as (profile, definition)."""
    return [(name, one) for name, profile in profiles().items() for one in profile.definitions]


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same classes all the way down: 1 is neither True nor 1.0, an unknown variant is no dict."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Struct):
        return all(same(getattr(left, name), getattr(right, name)) for name in left.__struct_fields__)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left is right or bool(left == right) or (left != left and right != right)


def same_json(left: Any, right: Any) -> bool:
    """Equal as JSON values: 1 and 1.0 are one number, True is none."""
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, str) or left is None:
        return type(left) is type(right) and left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)

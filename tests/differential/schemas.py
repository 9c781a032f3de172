"""What the kinds need to know of the schemas, read off the raw JSON."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from codegen.sources import PROFILE_FILES

SCHEMA_DIR = Path(__file__).resolve().parents[2] / "schema"


@cache
def schema(profile: str) -> dict[str, Any]:
    """The schema document of a profile."""
    document: dict[str, Any] = json.loads((SCHEMA_DIR / PROFILE_FILES[profile]).read_text())
    return document


def definitions(profile: str) -> dict[str, Any]:
    found: dict[str, Any] = schema(profile)["$defs"]
    return found


def _nodes(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _nodes(part)


@cache
def properties(profile: str, name: str) -> frozenset[str]:
    """The properties that a definition lists itself, in the branches of a union too."""
    return frozenset(key for node in _nodes(definitions(profile)[name]) for key in node.get("properties", {}))


@cache
def members(profile: str, name: str) -> frozenset[str]:
    """The properties that a value of a definition may have, those of payloads and branches included."""
    return frozenset(_members(profile, definitions(profile)[name]))


def _members(profile: str, node: dict[str, Any]) -> Iterator[str]:
    yield from node.get("properties", {})
    if "$ref" in node:
        yield from members(profile, node["$ref"].removeprefix("#/$defs/"))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in node.get(keyword, ()):
            yield from _members(profile, part)


@cache
def users(profile: str) -> dict[str, list[str]]:
    """The definitions that refer to each one: of a variant's payload, the union."""
    found: dict[str, list[str]] = {}
    for user, definition in definitions(profile).items():
        for node in _nodes(definition):
            found.setdefault(str(node.get("$ref", "")).removeprefix("#/$defs/"), []).append(user)
    return found


@cache
def formatted(profile: str, name: str) -> frozenset[str]:
    """The names of properties that have this `format` somewhere."""
    listed = [item for node in _nodes(schema(profile)) for item in node.get("properties", {}).items()]
    return frozenset(key for key, part in listed if isinstance(part, dict) and part.get("format") == name)


@cache
def constants(profile: str) -> tuple[str, ...]:
    """The properties that are a constant somewhere, such as tags."""
    listed = [item for node in _nodes(schema(profile)) for item in node.get("properties", {}).items()]
    return tuple(sorted({key for key, part in listed if isinstance(part, dict) and "const" in part}))


@cache
def defaulted_tags(profile: str) -> frozenset[tuple[str, str]]:
    """The tags, with their values, of unions that also have a branch without the tag."""
    found = set()
    for definition in definitions(profile).values():
        branches = definition.get("anyOf", definition.get("oneOf", []))
        tags = [_tags(branch) for branch in branches]
        if any(tags) and not all(tags):
            found |= {item for tag in tags for item in tag.items() if item[1] is not None}
    return frozenset(found)


def _tags(branch: dict[str, Any]) -> dict[str, str]:
    """The string constants among the properties of a branch; of one that takes other strings, None."""
    listed = branch.get("properties", {}).items()
    return {key: part.get("const") for key, part in listed if part.get("type") == "string"}

"""What decodes, as a schema: the published one with our wire rules written into it.

`relaxed` accepts what the codec decodes, tolerance and all; `untouched` accepts what it decodes without dropping
anything. Both take some `format`s of integers for bounds. The one difference that a schema cannot say is left to the
caller: `has_whole_float`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tests.support.values import validator

Schema: TypeAlias = dict[str, Any]

NULL: Schema = {"type": "null"}
RANGES = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1), "uint16": (0, 2**16 - 1)}


def has_whole_float(value: object) -> bool:
    """Whether 1.0 is somewhere inside: an integer to JSON Schema, none to us."""
    if isinstance(value, float):
        return value.is_integer()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(has_whole_float, parts))


def relaxed(schema: Schema) -> Schema:
    """The document with every tolerance keyword made into what it tolerates."""
    return _Rewriter(copy.deepcopy(schema), tolerant=True).run()


def untouched(schema: Schema) -> Schema:
    """The document without the values that a union reads as an earlier alternative than the one that fits."""
    return _Rewriter(copy.deepcopy(schema), tolerant=False).run()


class Judges:
    """Whether a value is valid for one property of a schema document."""

    def __init__(self, schema: Schema) -> None:
        self.definitions = schema["$defs"]
        self.known: dict[str, Callable[[object], bool]] = {}

    def __call__(self, definition: str, wire: str, value: object) -> bool:
        part = self.definitions[definition]["properties"][wire]
        key = json.dumps(part)
        if key not in self.known:
            self.known[key] = validator({"$defs": {**self.definitions, "_": part}}, "_")
        return self.known[key](value)


class _Rewriter:
    def __init__(self, schema: Schema, tolerant: bool) -> None:
        self.schema = schema
        self.tolerant = tolerant

    def run(self) -> Schema:
        for definition in self.schema["$defs"].values():
            self._rewrite(definition)
        return self.schema

    def _rewrite(self, node: Schema) -> None:
        if node.get("format") in RANGES:
            low, high = RANGES[node["format"]]
            node["minimum"], node["maximum"] = max(low, node.get("minimum", low)), min(high, node.get("maximum", high))
        for part in [node.get("items"), node.get("additionalProperties"), *node.get("allOf", ())]:
            if isinstance(part, dict):
                self._rewrite(part)
        for keyword in ("anyOf", "oneOf"):
            for branch in node.get(keyword, ()):
                self._rewrite(branch)
            if keyword in node:
                self._alternatives(node, keyword)
        for name, part in node.get("properties", {}).items():
            self._rewrite(part)
            if self.tolerant:
                node["properties"][name] = self._tolerant(part, name in node.get("required", ()))

    def _tolerant(self, part: Schema, required: bool) -> Schema:
        kinds = part.get("type", ())
        # A required property has a default to fall back on where it is a plain array or object.
        if part.get("x-deserialize-default-on-error") and (not required or kinds in ("array", "object")):
            return {}
        if part.get("x-deserialize-skip-invalid-items"):
            item = part.pop("items")
            if "minItems" in part:
                part |= {"contains": item, "minContains": part["minItems"]}
        return {"anyOf": [part, NULL]} if part.get("x-deserialize-default-on-null") else part

    def _alternatives(self, node: Schema, keyword: str) -> None:
        branches = node[keyword]
        properties = [one for branch in branches for one in branch.get("properties", {}).items()]
        tag = next((name for name, part in properties if "const" in part), None)
        if tag is not None:
            self._tagged(node, branches, tag)
        elif keyword == "oneOf" and all(map(self._required, branches)):
            self._groups(branches)
        elif not self.tolerant:
            self._untagged(branches)

    def _tagged(self, node: Schema, branches: list[Schema], tag: str) -> None:
        """An untagged branch is for objects without a string as their tag, in a closed union for unknown ones too."""
        parts = [branch.get("properties", {}).get(tag, {}) for branch in branches]
        known = [part["const"] for part in parts if "const" in part]
        is_open = {"type": "string"} in parts
        for branch, part in zip(branches, parts, strict=True):
            if "const" in part or part == {"type": "string"}:
                continue
            # Null is what the branch may say itself; where the property is tolerant, so is anything but a string.
            shared = node.get("properties", {}).get(tag, {})
            if self.tolerant and shared.get("x-deserialize-default-on-error"):
                branch.get("properties", {}).pop(tag, None)
            taken = {"properties": {tag: {"type": "string"} if is_open else {"enum": known}}, "required": [tag]}
            branch["not"] = taken

    def _groups(self, branches: list[Schema]) -> None:
        """Exactly one group of properties is there, by its required ones, whatever they hold."""
        needs = [sorted(self._required(branch)) for branch in branches]
        for index, branch in enumerate(branches):
            branch["not"] = {"anyOf": [{"required": need} for i, need in enumerate(needs) if i != index]}

    def _untagged(self, branches: list[Schema]) -> None:
        """Objects that have what an earlier alternative requires are read as that one, if they can be."""
        for index, branch in enumerate(branches):
            earlier = [sorted(self._required(one)) for one in branches[:index]]
            if any(earlier):
                branch["not"] = {"type": "object", "anyOf": [{"required": need} for need in earlier if need]}

    def _required(self, branch: Schema) -> set[str]:
        names = set(branch.get("required", ()))
        for part in [branch, *branch.get("allOf", ())]:
            if "$ref" in part:
                names |= self._required(self.schema["$defs"][part["$ref"].removeprefix("#/$defs/")])
        return names

"""Every combination of tolerance keywords that the published schemas have, and every property with junk in it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from acp_bindings import v1

from tests.package.codec.profiles import profiles, same_json
from tests.package.codec.relaxed import Judges, Schema, relaxed
from tests.package.codec.test_properties import Outcome

# A property's keywords, what sort of type it has, and what more bears on what it falls back to.
Combination: TypeAlias = tuple[frozenset[str], str, frozenset[str]]
Reports: TypeAlias = list[tuple[str, str]]

PREFIX = "x-deserialize-"
KEYWORDS = {PREFIX + name for name in ("default-on-error", "skip-invalid-items", "default-on-null")}
CALL = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T"}


def row(keywords: str, sort: str, more: str = "") -> Combination:
    return frozenset(keywords.split()), sort, frozenset(more.split())


# For each combination: profile, definition, what comes in, what it is written as, what is reported.
ROWS: dict[Combination, list[tuple[str, str, Any, Any, Reports]]] = {
    row("default-on-error", "other", "nullable"): [
        ("v2/stable", "TerminalExitStatus", {"exitCode": "1"}, {}, [("/exitCode", "expected integer, got string")]),
        ("v2/stable", "TerminalExitStatus", {"exitCode": None}, {"exitCode": None}, []),
    ],
    row("default-on-error", "other"): [
        (
            "v1/stable",
            "SessionUpdate",
            {**CALL, "status": None, "kind": "x"},
            CALL,
            [
                (
                    "/kind",
                    "expected 'read' or 'edit' or 'delete' or 'move' or 'search' or 'execute' or 'think' or 'fetch' "
                    "or 'switch_mode' or 'other', got 'x'",
                ),
                ("/status", "expected 'pending' or 'in_progress' or 'completed' or 'failed', got null"),
            ],
        ),
    ],
    row("default-on-error", "other", "default"): [
        (
            "v1/stable",
            "FileSystemCapabilities",
            {"readTextFile": "yes"},
            {"readTextFile": False, "writeTextFile": False},
            [("/readTextFile", "expected boolean, got string")],
        ),
        (
            "v2/stable",
            "InitializeRequest",
            {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "capabilities": []},
            {"protocolVersion": 2, "info": {"name": "n", "version": "1"}, "capabilities": {}},
            [("/capabilities", "expected object, got array")],
        ),
    ],
    row("default-on-error", "any"): [
        ("v2/stable", "ToolCallUpdate", {"toolCallId": "t", "rawInput": []}, {"toolCallId": "t", "rawInput": []}, []),
    ],
    row("default-on-error", "map", "nullable"): [
        ("v2/stable", "PromptResponse", {"messageId": "m", "_meta": []}, {"messageId": "m"}, [
            ("/_meta", "expected object, got array"),
        ]),
    ],
    row("default-on-error", "array", "nullable"): [
        (
            "v2/stable",
            "RequiresActionStateUpdate",
            {"background": [{"type": "terminal", "terminalId": "t"}, {"type": "_x"}, {"type": "tool_call"}, {}]},
            {"sessionUpdate": "state_update", "state": "requires_action"},
            [("/background", "/2/toolCallId: missing")],
        ),
    ],
    row("default-on-error skip-invalid-items", "array", "nullable"): [
        (
            "v2/stable",
            "Annotations",
            {"audience": ["user", None, 5, "_bot"]},
            {"audience": ["user", "_bot"]},
            [("/audience/1", "expected string, got null"), ("/audience/2", "expected string, got integer")],
        ),
        ("v2/stable", "Annotations", {"audience": "user"}, {}, [("/audience", "expected array, got string")]),
        ("v2/stable", "Annotations", {"audience": None}, {"audience": None}, []),
        ("v2/stable", "Annotations", {"audience": [[]]}, {"audience": []}, [
            ("/audience/0", "expected string, got array"),
        ]),
    ],
    row("default-on-error skip-invalid-items", "array"): [
        ("v2/stable", "ResumeSessionResponse", {"configOptions": None}, {}, [
            ("/configOptions", "expected array, got null"),
        ]),
        ("v2/stable", "ResumeSessionResponse", {"availableCommands": [{"type": "_x", "name": 5}]}, {}, [
            ("/availableCommands/0", "/name: expected string, got integer"),
        ]),
    ],
    row("default-on-error skip-invalid-items", "array", "default"): [
        (
            "v1/stable",
            "InitializeResponse",
            {"protocolVersion": 1, "authMethods": [{"id": "a"}], "agentCapabilities": 5},
            v1.to_builtins(v1.InitializeResponse(protocol_version=1)),
            [
                ("/agentCapabilities", "expected object, got integer"),
                ("/authMethods/0", "/name: missing"),
            ],
        ),
    ],
    row("default-on-error skip-invalid-items", "array", "required"): [
        ("v2/stable", "ListSessionsResponse", {"sessions": None}, {"sessions": []}, [
            ("/sessions", "expected array, got null"),
        ]),
        ("v2/stable", "ListSessionsResponse", {"sessions": [{"sessionId": "s"}]}, {"sessions": []}, [
            ("/sessions/0", "/cwd: missing"),
        ]),
    ],
    row("default-on-error skip-invalid-items", "array", "required minimum"): [
        (
            "v2/stable",
            "SessionConfigSelectGroup",
            {"groupId": "g", "name": "n", "options": [{"value": "v"}]},
            {"groupId": "g", "name": "n", "options": []},
            [("/options", "expected an array of at least 1 items, got 0")],
        ),
    ],
    row("default-on-null", "array"): [
        ("v2/stable", "NewSessionRequest", {"cwd": "/w", "mcpServers": None}, {"cwd": "/w"}, [
            ("/mcpServers", "expected array, got null"),
        ]),
    ],
    row("default-on-null", "array", "required"): [
        (
            "v1/stable",
            "NewSessionRequest",
            {"cwd": "/w", "mcpServers": None},
            {"cwd": "/w", "mcpServers": []},
            [("/mcpServers", "expected array, got null")],
        ),
    ],
    row("default-on-null", "map"): [
        (
            "v1/stable",
            "AuthMethodTerminal",
            {"id": "i", "name": "n", "env": None},
            {"type": "terminal", "id": "i", "name": "n"},
            [("/env", "expected object, got null")],
        ),
    ],
    row("skip-invalid-items", "array", "required"): [
        (
            "v2/stable",
            "PlanItems",
            {"planId": "p", "entries": [5, {"content": "c", "priority": "low", "status": "_x"}]},
            {
                "type": "items",
                "planId": "p",
                "entries": [{"content": "c", "priority": "low", "status": "_x"}],
            },
            [("/entries/0", "expected object, got integer")],
        ),
    ],
}  # fmt: skip


def properties(node: Schema) -> Iterator[tuple[Schema, str, Schema]]:
    """Every property below a schema: the object that declares it, its name, its own schema."""
    parts = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
    parts += [part for keyword in ("allOf", "anyOf", "oneOf") for part in node.get(keyword, ())]
    for name, part in node.get("properties", {}).items():
        yield node, name, part
    for part in parts:
        if isinstance(part, dict):
            yield from properties(part)


def combination(holder: Schema, name: str, part: Schema) -> Combination:
    kinds = part.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    sort = "array" if "array" in kinds else "map" if "object" in kinds else "other" if set(part) - KEYWORDS else "any"
    facts = {
        "nullable": "null" in kinds or {"type": "null"} in part.get("anyOf", ()),
        "required": name in holder.get("required", ()),
        "default": "default" in part,
        "minimum": "minItems" in part,
    }
    keywords = frozenset(key.removeprefix(PREFIX) for key in part if key.startswith(PREFIX))
    return keywords, sort, frozenset(fact for fact, holds in facts.items() if holds)


def test_every_combination_of_the_schemas_has_its_row() -> None:
    found = {
        combination(*one)
        for profile in profiles().values()
        for definition in profile.schema["$defs"].values()
        for one in properties(definition)
        if KEYWORDS & one[2].keys()
    }
    assert found == set(ROWS)


@pytest.mark.parametrize(
    "case", [case for cases in ROWS.values() for case in cases], ids=lambda case: f"{case[1]}-{next(iter(case[2]))}"
)
def test_combination(case: tuple[str, str, Any, Any, Reports]) -> None:
    name, definition, value, written, reports = case
    for how, data in (("convert", value), ("decode", json.dumps(value))):
        outcome = Outcome(profiles()[name], definition, data, how)
        assert outcome.error is None
        assert outcome.reports == reports
        assert same_json(profiles()[name].module.to_builtins(outcome.found), written)


JUNK: list[Any] = [None, True, 0, -1, 1.5, "x", "", [], {}, [5], ["x"], [None], {"a": 5}, [{}], {"type": "text"}]


@pytest.mark.parametrize("name", profiles())
def test_each_property_with_junk_in_it(name: str) -> None:
    """Junk in a property is fine where the schema says so, reported where a keyword saves it, an error at it elsewhere.

    So request parameters, and all that carries no keyword, are strict.
    """
    profile = profiles()[name]
    fine, saved = Judges(profile.schema), Judges(relaxed(profile.schema))
    seen = {"fine": 0, "saved": 0, "error": 0}
    for definition in profile.definitions:
        schema = profile.schema["$defs"][definition]
        if not schema.keys() & {"anyOf", "oneOf"}:
            base = smallest(profile.schema, schema)
            for wire, junk in itertools.product(schema.get("properties", {}), JUNK):
                outcome = Outcome(profile, definition, {**base, wire: junk})
                inside = [(pointer + "/").startswith(f"/{wire}/") for pointer in outcome.pointers]
                if fine(definition, wire, junk):
                    seen["fine"] += 1
                    assert (outcome.error, outcome.reports) == (None, [])
                elif saved(definition, wire, junk):
                    seen["saved"] += 1
                    assert outcome.error is None
                    assert outcome.reports and all(inside)
                else:
                    seen["error"] += 1
                    assert outcome.error is not None
                    assert inside == [True]
    assert min(seen.values()) > 300


def smallest(schema: Schema, node: Schema) -> Any:
    """The least valid value for one of the plain shapes that required properties have here."""
    while "$ref" in node or "allOf" in node:
        reference = node.get("$ref") or node["allOf"][0]["$ref"]
        node = schema["$defs"][reference.removeprefix("#/$defs/")]
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            first = node[keyword][0]
            inner = smallest(schema, first) if "allOf" in first or "$ref" in first else {}
            if "const" in first:
                return first["const"]
            if "properties" not in first and "allOf" not in first:
                return smallest(schema, first)
            shared = {wire: smallest(schema, node["properties"][wire]) for wire in node.get("required", ())}
            tags = {wire: part["const"] for wire, part in first.get("properties", {}).items() if "const" in part}
            return {**inner, **shared, **tags}
    match node.get("type"):
        case "object":
            return {wire: smallest(schema, node["properties"][wire]) for wire in node.get("required", ())}
        case "array":
            return [smallest(schema, node["items"])] * node.get("minItems", 0)
        case kind:
            return {"string": "x", "integer": 1, "number": 1, "boolean": False, "null": None}.get(str(kind), {})
    raise AssertionError(node)

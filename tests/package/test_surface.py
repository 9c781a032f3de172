"""What users of acp_bindings import: modules, names, docs."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import acp_bindings
import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.models import Model
from acp_bindings.v2 import unstable

from tests.support.cli import ROOT

MODULES = {"v1/stable": v1, "v1/unstable": v1.unstable, "v2/stable": v2, "v2/unstable": v2.unstable}
LOCK = tomllib.loads((ROOT / "schema/lock.toml").read_text(encoding="utf-8"))
every_profile = pytest.mark.parametrize("profile", MODULES)


def schema(profile: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "schema" / LOCK[profile]["path"]).read_text(encoding="utf-8"))
    return loaded


def models(profile: str) -> dict[str, type[Model]]:
    found = {name: getattr(MODULES[profile], name) for name in MODULES[profile].__all__}
    return {name: one for name, one in found.items() if isinstance(one, type) and issubclass(one, Model)}


def in_process(code: str) -> str:
    """What `code` prints in a process that has nothing imported yet; warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", f"import sys; sys.path.insert(0, 'generated')\n{code}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


# Imports


def test_profiles_are_imported_when_they_are_asked_for() -> None:
    code = """
import acp_bindings
PROFILES = ("v1", "v1.unstable", "v2", "v2.unstable")
there = lambda: [name for name in PROFILES if f"acp_bindings.{name}" in sys.modules]
print(there())
from acp_bindings import v2
print(there())
v2.unstable
print(there())
"""
    assert in_process(code).splitlines() == ["[]", "['v2']", "['v2', 'v2.unstable']"]


def test_import_costs_msgspec_and_little_else() -> None:
    code = """
import msgspec
before = set(sys.modules)
import acp_bindings.v2
print(*(name for name in set(sys.modules) - before))
"""
    found = set(in_process(code).split())
    ours = {name for name in found if name.startswith("acp_bindings")}
    assert found - ours <= {"_weakrefset", "copy", "dataclasses", "threading", "weakref"}
    assert ours - {name for name in ours if name.startswith(("acp_bindings.v2", "acp_bindings.runtime"))} == {
        "acp_bindings"
    }


def test_names_that_are_not_there() -> None:
    for module in (acp_bindings, v2, v2.unstable):
        with pytest.raises(AttributeError, match="has no attribute 'nope'"):
            _ = module.nope
    assert unstable is v2.unstable is importlib.import_module("acp_bindings.v2.unstable")


# Names


@every_profile
def test_exports(profile: str) -> None:
    module = MODULES[profile]
    names = module.__all__
    assert names == sorted(set(names))
    assert not [name for name in names if name.startswith("_") or not hasattr(module, name)]
    namespace: dict[str, object] = {}
    exec(f"from {module.__name__} import *", namespace)  # noqa: S102 - the only way to see what a star takes
    assert namespace.keys() - {"__builtins__"} == set(names)
    common = ["DecodeError", "EncodeError", "METHODS", "PROTOCOL_VERSION", "SCHEMA", "UnknownVariant"]
    assert {*common, "convert", "decode", "encode", "is_extension", "to_builtins"} <= set(names)
    assert {"Agent", "Client", "RemoteAgent", "RemoteClient"} <= set(names)


@every_profile
def test_every_definition_has_a_name(profile: str) -> None:
    frames = {
        f"{side}{kind}" for side in ("Agent", "Client", "Proxy") for kind in ("Request", "Response", "Notification")
    }
    frames |= {"AgentOutgoingMessage", "ClientOutgoingMessage"}
    assert set(schema(profile)["$defs"]) - frames <= set(MODULES[profile].__all__)


@every_profile
def test_origin(profile: str) -> None:
    info = MODULES[profile].SCHEMA
    assert (info.source, info.version) == (LOCK[profile]["source"], LOCK[profile]["version"])
    assert info.sha256 == LOCK[profile]["stored_sha256"]
    assert f"v{MODULES[profile].PROTOCOL_VERSION}" == profile.partition("/")[0]


def test_methods_name_their_types() -> None:
    prompt = v2.METHODS["agent", "request", "session/prompt"]
    assert (prompt.side, prompt.kind, prompt.name) == ("agent", "request", "session/prompt")
    assert (prompt.params, prompt.result) == (v2.PromptRequest, v2.PromptResponse)
    assert v2.METHODS["client", "notification", "session/update"].params is v2.UpdateSessionNotification
    # One name, a request to one side and a notification to the other.
    assert {key[:2] for key in unstable.METHODS if key[2] == "mcp/message"} >= {
        ("agent", "notification"),
        ("client", "request"),
    }


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rpartition("/")[2]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from references(item)


@pytest.mark.parametrize(("version", "count"), [("v1", None), ("v2", 171)])
def test_what_both_channels_have_is_one_class(version: str, count: int | None) -> None:
    stable, other = (MODULES[f"{version}/{channel}"] for channel in ("stable", "unstable"))
    mine, theirs = (schema(f"{version}/{channel}")["$defs"] for channel in ("stable", "unstable"))
    equal = {name for name in mine if mine[name] == theirs.get(name)}
    while leaving := {name for name in equal if any(one not in equal for one in references(mine[name]))}:
        equal -= leaving
    names = [name for name in mine if hasattr(stable, name) and hasattr(other, name)]
    assert {name for name in names if getattr(stable, name) is getattr(other, name)} == equal & set(names)
    assert count is None or len(equal) == count


def test_shared_and_experimental() -> None:
    assert unstable.TextContent is v2.TextContent and unstable.ContentBlock is v2.ContentBlock
    assert unstable.decode is v2.decode and unstable.DecodeError is v2.DecodeError is v1.DecodeError
    assert unstable.InitializeResponse not in models("v2/stable").values()
    assert not set(v2.__all__) - set(unstable.__all__) and not hasattr(v2, "MessageMcpResult")


def test_open_enums() -> None:
    kinds = [branch["const"] for branch in schema("v2/stable")["$defs"]["ToolKind"]["anyOf"] if "const" in branch]
    assert frozenset(kinds) == v2.KNOWN_TOOL_KIND and "execute" in kinds
    assert v2.decode('"_mine"', v2.ToolKind) == "_mine"
    assert v2.is_extension("_mine") and not v2.is_extension("execute") and not v2.is_extension("later")
    code = v2.decode("-1", v2.ErrorCode)
    assert_type(code, int)
    assert v2.ErrorCode.PARSE_ERROR == -32700 and code == -1


# Docs


def documented(path: Path) -> Iterator[tuple[str, bool]]:
    """Classes and their fields, but for tags, and whether a docstring stands below each."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        yield node.name, ast.get_docstring(node) is not None
        for line, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id[0] != "_":
                is_tag = "constant(" in ast.unparse(line) or "Literal[" in ast.unparse(line.annotation)
                if not is_tag and "Final" not in ast.unparse(line.annotation):
                    yield f"{node.name}.{line.target.id}", isinstance(after, ast.Expr)


@every_profile
def test_docs(profile: str) -> None:
    module = MODULES[profile]
    assert module.__doc__ and all(one.__doc__ for one in models(profile).values())
    found = dict(documented(Path(str(module.__file__)).with_name("models.py")))
    assert not [name for name, there in found.items() if "." not in name and not there]
    fields = [there for name, there in found.items() if "." in name]
    assert fields and sum(fields) >= 0.98 * len(fields)
    for name in ("decode", "convert", "encode", "to_builtins", "is_extension"):
        assert inspect.getdoc(getattr(module, name))

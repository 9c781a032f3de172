"""The tree of one value: classes, names, states, and every mark in its place. `test_laws` holds the rest."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.explain.findings import Item
from acp_bindings.runtime.explain.tree import explained

from tests.support.tiny import STRING, array, build, fallback, nullable, obj, package_of, ref, variant

FORM = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}


def look(value: Any, form: Any) -> tuple[Item, list[tuple[str, str]]]:
    tree, findings = explained(value, form)
    return tree, [(one.mark, one.pointer) for one in findings]


def at(item: Item, *steps: str | int) -> Item:
    for step in steps:
        (item,) = (child for child in item.children if child.wire == step)
    return item


def test_names_types_tags_and_values() -> None:
    value = {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}], "_meta": {"a": [1]}}
    tree, marks = look(value, v2.PromptRequest)
    assert (tree.pointer, tree.name, tree.wire, tree.type, marks) == ("", None, None, "PromptRequest", [])
    text = at(tree, "prompt", 0)
    assert (text.pointer, text.type, text.tag) == ("/prompt/0", "TextContent", "type")
    assert [(one.wire, one.name, one.value) for one in text.children] == [
        ("type", None, "text"),
        ("text", "text", "hi"),
    ]
    assert (at(tree, "sessionId").name, at(tree, "_meta").name) == ("session_id", "meta")
    # What is free-form is shown as it is.
    assert at(tree, "_meta", "a").value == [1]


def test_pointers_are_escaped() -> None:
    tree, marks = look({"a/b": 1, "c~d": 2, "": 3}, v2.CloseSessionResponse)
    assert [one.pointer for one in tree.children] == ["/a~1b", "/c~0d", "/"]
    assert marks == [("ignored", "/a~1b"), ("ignored", "/c~0d"), ("ignored", "/")]


def test_defaults_of_the_schema_are_shown() -> None:
    tree, _ = look({"image": True}, v1.PromptCapabilities)
    assert [(one.name, one.value, one.state) for one in tree.children] == [
        ("image", True, "given"),
        ("audio", False, "default"),
        ("embedded_context", False, "default"),
    ]
    # Lists that are absent read as empty, and are not worth a line.
    assert not at(look({"protocolVersion": 1}, v1.InitializeRequest)[0]).tag
    assert [one.wire for one in look({"cwd": "/"}, v2.NewSessionRequest)[0].children] == ["cwd"]


def test_what_is_missing_is_in_the_tree() -> None:
    tree, marks = look({}, v2.NewSessionRequest)
    assert marks == [("invalid", "/cwd")]
    assert [(one.wire, one.name, one.state) for one in tree.children] == [("cwd", "cwd", "missing")]
    # A tag, too, which is nobody's attribute.
    tree, marks = look({"text": "x"}, v2.ContentBlock)
    assert marks == [("invalid", "/type")] and (at(tree, "type").name, at(tree, "type").state) == (None, "missing")


def test_every_cause_is_found() -> None:
    value = {"sessionId": 1, "prompt": [{"type": "text"}, {"type": "image", "data": 1, "mimeType": 2}, 3], "more": 1}
    _, marks = look(value, v2.PromptRequest)
    assert marks == [
        ("invalid", "/sessionId"),
        ("invalid", "/prompt/0/text"),
        ("invalid", "/prompt/1/data"),
        ("invalid", "/prompt/1/mimeType"),
        ("invalid", "/prompt/2"),
        ("ignored", "/more"),
    ]


def test_tolerated_values_of_what_fails_are_told_apart() -> None:
    _, marks = look({"_meta": 5, "prompt": []}, v2.PromptRequest)
    assert ("tolerated", "/_meta") in marks and ("invalid", "/sessionId") in marks


def test_groups() -> None:
    _, marks = look(FORM | {"sessionId": "s"}, v2.CreateElicitationRequest)
    assert marks == []
    # A stray member of the group that is not there.
    _, marks = look(FORM | {"requestId": 1, "toolCallId": "t"}, v2.CreateElicitationRequest)
    assert marks == [("ignored", "/toolCallId")]
    for both in ({}, {"sessionId": "s", "requestId": 1}):
        tree, marks = look(FORM | both, v2.CreateElicitationRequest)
        assert ("invalid", "") in marks and tree.type == "CreateFormElicitationRequest"


def test_unknown_variants_keep_everything() -> None:
    value = {"type": "hologram", "name": "n", "more": {"x": 1}, "methodId": "m"}
    tree, marks = look(value, v2.AuthMethod)
    assert (tree.type, marks) == ("UnknownAuthMethod", [("unknown", "")])
    # Its envelope has attributes, the rest is as it came.
    assert {one.wire: one.name for one in tree.children} == {
        "type": None, "name": "name", "more": None, "methodId": "method_id"
    }  # fmt: skip
    assert look(value | {"type": "_acme"}, v2.AuthMethod)[1] == [("extension", "")]
    # Tolerated inside, and kept all the same.
    option = {"type": "slider", "configId": "c", "name": "n", "description": 5}
    assert look(option, v2.SessionConfigOption)[1] == [("unknown", ""), ("tolerated", "/description")]


def test_unknown_values_of_open_enums() -> None:
    assert look("levitate", v2.ToolKind)[1] == [("unknown", "")]
    assert look("_levitate", v2.ToolKind)[1] == [("extension", "")]
    assert look("read", v2.ToolKind)[1] == []


def test_nested_unknown_variants() -> None:
    tree, marks = look({"sessionUpdate": "state_update", "state": "dreaming", "x": 1}, v2.SessionUpdate)
    assert tree.type == "UnrecognizedStateUpdate" or tree.type.startswith("Unknown")
    assert marks == [("unknown", "")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    defs = {
        "Tree": obj({"left": ref("Tree"), "right": nullable(ref("Tree")), "items": array(ref("Shape"))}),
        "Round": obj({"size": {"type": "integer"}}, "size"),
        "Shape": {"anyOf": [variant("kind", "round", "Round"), fallback("kind", "round")]},
        "Either": {"anyOf": [obj({"a": STRING}, "a"), obj({"b": ref("Tree")}, "b"), array(STRING)]},
        "Bag": {"type": "object", "additionalProperties": ref("Round")},
        "Open": obj({"tree": ref("Tree")}, additionalProperties=True),
    }
    return build(tmp_path_factory.mktemp("tiny"), defs)


def told(tiny: Any, name: str, value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The same by another package's own runtime."""
    module = importlib.import_module(f"{tiny.__name__.partition('.')[0]}.runtime.explain.tree")
    tree, findings = module.explained(value, getattr(tiny, name))
    return tree, [(one.mark, one.pointer) for one in findings]


def test_unions_without_a_tag(tiny: Any) -> None:
    assert told(tiny, "Either", {"b": {"x": 1}})[1] == [("ignored", "/b/x")]
    assert told(tiny, "Either", {"a": "x", "c": 1})[1] == [("ignored", "/c")]
    # When one alternative is left, what is wrong inside is said.
    assert told(tiny, "Either", [1])[1] == [("invalid", "/0")]
    assert told(tiny, "Either", {"b": {"left": 5}})[1] == [("invalid", "/b/left")]
    assert told(tiny, "Either", {"c": 1})[1] == [("invalid", "")]
    assert told(tiny, "Either", 5)[1] == [("invalid", "")]


def test_maps_and_open_records(tiny: Any) -> None:
    tree, marks = told(tiny, "Bag", {"a": {"size": 1, "x": 2}, "b": {"size": "x"}})
    assert marks == [("ignored", "/a/x"), ("invalid", "/b/size")] and tree.children[0].type == "Round"
    # An open record keeps what nobody reads, inside too.
    tree, marks = told(tiny, "Open", {"tree": {"x": 1}, "more": 2})
    assert (marks, tree.type, tree.children[0].type) == ([], "Open", "Tree")


def nested(levels: int) -> Any:
    value: Any = {"x": 1}
    for _ in range(levels):
        value = {"left": value}
    return value


def test_what_contains_itself(tiny: Any) -> None:
    assert told(tiny, "Tree", nested(50))[1] == [("ignored", "/left" * 50 + "/x")]
    for levels in range(100, 2000, 100):
        _, marks = told(tiny, "Tree", nested(levels))
        # Shown, or said that it was not; never in silence, and never a crash.
        if marks != [("ignored", "/left" * levels + "/x")]:
            break
    assert marks in ([("unread", "")], [("invalid", "")])
    value = nested(5)
    value["left"]["left"]["left"]["left"]["left"]["items"] = [{"kind": "square"}, {"kind": "round"}]
    assert told(tiny, "Tree", value)[1] == [
        ("ignored", "/left" * 5 + "/x"),
        ("unknown", "/left" * 5 + "/items/0"),
        ("invalid", "/left" * 5 + "/items/1/size"),
    ]


def test_another_package_explains_its_own_types(tiny: Any) -> None:
    package = package_of(tiny)
    folder = package.parent

    def main(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", package.name, *arguments]
        return subprocess.run(command, cwd=folder, input=stdin, capture_output=True, text=True, check=False)

    assert {"Tree", "Round", "Shape", "Either", "Bag"} <= {
        line.split()[0] for line in main("types").stdout.splitlines()
    }
    done = main("explain", "--json", "Round", "-", stdin='{"size": 1, "x": 2}')
    assert json.loads(done.stdout.splitlines()[0])["findings"][0]["pointer"] == "/x"
    # It has one profile, and no methods.
    done = main("explain", "--profile", "v1", "-")
    assert done.returncode == 2 and "there are v2" in done.stderr
    assert "unknown /method" in main("explain", "-", stdin='{"jsonrpc":"2.0","method":"x"}').stdout


def test_a_version_without_a_stable_channel(tmp_path: Path) -> None:
    from codegen.pipeline import generate
    from codegen.write import write
    from tests.support.tiny import schema_folder

    folder = schema_folder(tmp_path / "schema", {"Thing": obj({"a": STRING})}, unstable={"Thing": obj({"a": STRING})})
    write(tmp_path, "only", generate(folder, ["v2/unstable"], "only", project=False))
    command = [sys.executable, "-m", "only", "explain", "Thing", "-"]
    done = subprocess.run(command, cwd=tmp_path, input="{}", capture_output=True, text=True, check=True)
    assert "1 message, all valid" in done.stdout

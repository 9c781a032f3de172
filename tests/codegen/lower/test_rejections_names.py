"""Names that cannot be, TOML files that make no sense, methods that do not pair: refused, with the place of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegen.errors import CodegenError
from codegen.pipeline import generate
from tests.support.tiny import (
    INTEGER,
    STRING,
    build,
    const,
    fallback,
    obj,
    ref,
    rejected,
    schema_folder,
    variant,
)

UNION: dict[str, Any] = {
    "U": {
        "anyOf": [variant("t", "a", "P"), variant("t", "b", "P"), variant("t", "c", "Q"), fallback("t", "a", "b", "c")]
    },
    "P": obj({"p": STRING}),
    "Q": obj({"q": STRING}),
    "Free": obj({"f": STRING}),
    "Used": obj({"free": ref("Free")}),
}


def found_at(problems: list[tuple[str, str, str]], place: str, found: str) -> bool:
    return any(one[0] == place and found in one[1] for one in problems)


# Definitions


@pytest.mark.parametrize(
    "name", ["foo-bar", "日本", "1x", "_hidden", "a.b", "a b", "", "naïve", "ﬁne", "x\n", "a/b", "~"]
)
def test_definitions_without_a_usable_name(tmp_path: Path, name: str) -> None:
    pointer = "/$defs/" + name.replace("~", "~0").replace("/", "~1")
    problems = rejected(tmp_path, {name: STRING, "Good": STRING})
    assert problems == [(pointer, f"the definition name {name!r}", "a name that is a Python identifier")]


@pytest.mark.parametrize("name", ["None", "class", "True", "match_", "import", "Any", "list", "type", "Model", "print"])
def test_reserved_names_get_an_underscore(tmp_path: Path, name: str) -> None:
    module = build(tmp_path, {name: obj({"a": STRING}, "a"), "Holder": obj({"it": ref(name)}, "it")})
    cls = getattr(module, name if name == "match_" else f"{name}_")
    assert module.decode('{"it": {"a": "x"}}', module.Holder).it == cls(a="x")


def test_two_definitions_that_want_one_name(tmp_path: Path) -> None:
    problems = rejected(tmp_path, {"Any": STRING, "Any_": INTEGER})
    assert problems == [("/$defs/Any_", "'Any_' and 'Any', which both want the name Any_", "other names")]


def test_definition_called_like_the_known_values_of_an_enum(tmp_path: Path) -> None:
    kind = {"anyOf": [const("a"), STRING]}
    problems = rejected(tmp_path, {"ToolKind": kind, "KNOWN_TOOL_KIND": STRING})
    assert found_at(problems, "/$defs/ToolKind", "KNOWN_TOOL_KIND, which is a definition already")
    problems = rejected(tmp_path, {"ToolKind": kind, "Tool_Kind": kind})
    assert found_at(problems, "/$defs/Tool_Kind", "KNOWN_TOOL_KIND, which is ToolKind already")


# names.toml


@pytest.mark.parametrize(
    ("names", "place", "found"),
    [
        ('[U]\nFree = ["a"]', "/$defs/U/anyOf/0", "Free as the class of a variant and as a definition"),
        ('[U]\nUsed = ["c"]', "/$defs/U/anyOf/2", "Used as the class of a variant"),
        ('[U]\nU = ["*"]', "/$defs/U", "two things that want the name U"),
        ('[U]\nQ = ["*"]', "/$defs/Q", "two things that want the name Q"),
        ('[U]\nX = ["a", "*"]', "/$defs/X", "two things that want the name X"),
        ('[U]\nX = ["a", "c"]', "/$defs/U/anyOf/2", "X for variants of different shapes"),
        ('[U]\n"no-name" = ["a"]', "/$defs/U/anyOf/0", "the class name 'no-name'"),
        ('[U]\nNone = ["a"]', "/$defs/U/anyOf/0", "the class name 'None'"),
        ('[U]\nAny = ["a"]', "/$defs/U/anyOf/0", "the class name 'Any'"),
        ('[U]\n"X\\nimport os" = ["a"]', "/$defs/U/anyOf/0", "the class name"),
        ('[U]\n"no-name" = ["*"]', "/$defs/U", "the class name 'no-name'"),
        ("[U]\nX = [1]", "names.toml [U] X", "[1]"),
        ('[U]\nX = "a"', "names.toml [U] X", "'a'"),
        ('[U]\nX = ["a"]\nY = ["a"]', "names.toml [U]", "the variant 'a' twice"),
        ('U = "x"', "names.toml U", "a value"),
        ("[U", "names.toml", ""),
        ("[U]\n[U]", "names.toml", ""),
        ("x = " + "[" * 50_000, "names.toml", ""),
    ],
)
def test_names_that_make_no_sense(tmp_path: Path, names: str, place: str, found: str) -> None:
    assert found_at(rejected(tmp_path, UNION, names=names), place, found)


def test_one_curated_name_for_two_unions(tmp_path: Path) -> None:
    defs = {**UNION, "V": {"anyOf": [variant("k", "a", "P"), variant("k", "b")]}}
    problems = rejected(tmp_path, defs, names='[U]\nX = ["a"]\n[V]\nX = ["a"]')
    assert found_at(problems, "/$defs/V/anyOf/0", "X for variants of unrelated unions")


def test_one_curated_name_at_two_depths(tmp_path: Path) -> None:
    defs = {
        "U": {"anyOf": [variant("t", "a", "V"), variant("t", "b")]},
        "V": {"anyOf": [variant("k", "x"), variant("k", "y")]},
    }
    problems = rejected(tmp_path, defs, names='[U]\nX = ["b", "a/x"]')
    assert any("X for variants of unrelated unions" in found for _, found, _ in problems)


def test_stale_names(tmp_path: Path) -> None:
    names = '[U]\nGood = ["a"]\nGone = ["z"]\n[W]\nAlien = ["a"]\n'
    problems = rejected(tmp_path, UNION, unstable=UNION, names=names)
    assert found_at(problems, "names.toml [U] Gone", "the variant 'z', which no schema of this version has")
    assert found_at(problems, "names.toml [W] Alien", "the variant 'a'")
    assert len(problems) == 2


def test_names_may_be_for_one_channel(tmp_path: Path) -> None:
    """An entry is stale when no channel has it, and that shows only where all channels are there."""
    names = '[U]\nFirst = ["a"]\nOnlyUnstable = ["d"]\n'
    more = {**UNION, "U": {"anyOf": [*UNION["U"]["anyOf"][:3], variant("t", "d"), fallback("t", "a", "b", "c", "d")]}}
    module = build(tmp_path, UNION, unstable=more, names=names)
    assert type(module.unstable.decode('{"t": "d"}', module.unstable.U)).__name__ == "OnlyUnstable"
    assert build(tmp_path, UNION, names=names + '[Other]\nX = ["x"]\n').First


def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = schema_folder(tmp_path / "s", UNION)
    for file in ("names.toml", "docs.toml"):
        (folder / "v2" / file).write_bytes(b"# \xff\n")
        with pytest.raises(CodegenError) as raised:
            generate(folder, ["v2/stable"], "tiny", project=False)
        assert [(one.place, one.expected) for one in raised.value.diagnostics] == [(file, "a TOML file in UTF-8")]
        (folder / "v2" / file).unlink()


# docs.toml


@pytest.mark.parametrize(
    ("docs", "place"),
    [
        ('P = "x"', "docs.toml P"),
        ("[P]\ndoc = 1", "docs.toml [P]"),
        ("[P]\nfields = 1", "docs.toml [P]"),
        ("[P]\nvariants = []", "docs.toml [P]"),
        ("[P.fields]\np = 1", "docs.toml [P]"),
        ("[P.fields.p]\ndoc = 'x'", "docs.toml [P]"),
        ("[P.variants]\np = []", "docs.toml [P]"),
        ("[P]\nnotes = 'x'", "docs.toml [P]"),
        ("[P", "docs.toml"),
        ("x = " + "{a = " * 50_000, "docs.toml"),
    ],
)
def test_docs_that_make_no_sense(tmp_path: Path, docs: str, place: str) -> None:
    assert found_at(rejected(tmp_path, UNION, docs=docs), place, "")


# Methods


def methods(**sides: Any) -> dict[str, Any]:
    """A request of the agent with its response; `sides` replace keywords of the two."""
    return {
        "DoRequest": obj({"a": STRING}, **{"x-method": "do", "x-side": "agent", **sides.get("request", {})}),
        "DoResponse": obj({"b": STRING}, **{"x-method": "do", "x-side": "agent", **sides.get("response", {})}),
        "ClientRequest": obj({"id": {}, "method": STRING, "params": {"anyOf": [ref("DoRequest")]}}),
        "AgentResponse": {"anyOf": [obj({"result": {"anyOf": [ref("DoResponse")]}})]},
    }


def test_methods_that_pair(tmp_path: Path) -> None:
    module = build(tmp_path, methods())
    assert hasattr(module, "DoRequest") and not hasattr(module, "ClientRequest")


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in methods().items() if key != name}


METHODS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no response": (
        {**without("AgentResponse"), "DoResponse": obj({"b": STRING})},
        "/$defs/DoRequest",
        "the request do without a response",
    ),
    "a response of another side": (
        methods(response={"x-side": "client"}),
        "/$defs/DoRequest",
        "the request do without a response",
    ),
    "a response alone": (
        {**without("ClientRequest"), "DoRequest": obj({"a": STRING})},
        "/$defs/DoResponse",
        "a response of do for the agent side, without a request",
    ),
    "an unknown side": (methods(request={"x-side": "server"}), "/$defs/DoRequest", "x-side 'server'"),
    "a side that is no text": (methods(request={"x-side": ["agent"]}), "/$defs/DoRequest", "x-side ['agent']"),
    "no side": (methods(request={"x-side": None}), "/$defs/DoRequest", "x-side None"),
    "a method that is no text": (methods(request={"x-method": 5}), "/$defs/DoRequest", "x-method 5"),
    "an empty method": (methods(request={"x-method": ""}), "/$defs/DoRequest", "x-method ''"),
    "in no envelope": (without("ClientRequest"), "/$defs/DoRequest", "DoRequest in 0 kinds of envelope"),
    "in two kinds of envelope": (
        {**methods(), "ClientNotification": obj({"method": STRING, "params": ref("DoRequest")})},
        "/$defs/DoRequest",
        "DoRequest in 2 kinds of envelope",
    ),
    "two requests of one method": (
        {
            **methods(),
            "MoreRequest": obj({}, **{"x-method": "do", "x-side": "agent"}),
            "AgentRequest": obj({"id": {}, "params": ref("MoreRequest")}),
        },
        "/$defs/MoreRequest",
        "a second request of do for the agent side",
    ),
}


def notified(method: str) -> dict[str, Any]:
    """The request and a notification of the agent side."""
    return {
        **methods(),
        "Notice": obj({}, **{"x-method": method, "x-side": "agent"}),
        "ClientNotification": obj({"method": STRING, "params": ref("Notice")}),
    }


def test_methods_that_want_one_name(tmp_path: Path) -> None:
    for method in ("Do", "_do", "do/", "$/do"):
        problems = rejected(tmp_path, notified(method))
        assert found_at(problems, "/$defs/Notice", f"{method!r} and 'do', which both want the name do")
    module = build(tmp_path, notified("do"))
    assert module.Agent.do is not module.Agent.do_notification


@pytest.mark.parametrize("row", METHODS.values(), ids=METHODS)
def test_methods_that_do_not_pair(tmp_path: Path, row: tuple[dict[str, Any], str, str]) -> None:
    defs, place, found = row
    problems = rejected(tmp_path, defs)
    assert found_at(problems, place, found), problems

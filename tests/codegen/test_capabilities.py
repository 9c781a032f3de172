"""capabilities.toml: its vocabulary, and that what it says of the schema is so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.errors import CodegenError
from codegen.lower import ungated
from codegen.pipeline import load
from tests.support.cli import run
from tests.support.tiny import STRING, Defs, array, const, fallback, nullable, obj, ref, schema_folder, variant


def method(name: str, side: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return obj(properties, *required, **{"x-method": name, "x-side": side})


# An agent that opens and paints; of the unstable channel alone is that it varnishes, and what that needs.
STABLE: dict[str, Any] = {
    "ClientRequest": obj({"id": {}, "params": {"anyOf": [ref("InitializeRequest"), ref("PaintRequest")]}}),
    "AgentResponse": {"anyOf": [obj({"result": {"anyOf": [ref("InitializeResponse"), ref("PaintResponse")]}})]},
    "InitializeRequest": method("initialize", "agent", {"capabilities": ref("ClientCapabilities")}),
    "InitializeResponse": method(
        "initialize", "agent", {"capabilities": ref("AgentCapabilities"), "authMethods": array(ref("AuthMethod"))}
    ),
    "PaintRequest": method(
        "paint",
        "agent",
        {"sessionId": STRING, "colour": ref("Colour"), "strokes": array(ref("Stroke")), "frame": STRING},
    ),
    "PaintResponse": method("paint", "agent", {}),
    "ClientCapabilities": obj({"easel": nullable(obj({}))}),
    "AgentCapabilities": obj({"paint": nullable(ref("Paint"))}),
    "Paint": obj({"oil": nullable(obj({})), "water": {"type": "boolean"}}),
    "AuthMethod": {"anyOf": [variant("type", "key", "Key"), fallback("type", "key")]},
    "Key": obj({"id": STRING}, "id"),
    "Colour": {"anyOf": [const("red"), const("blue"), STRING]},
    "Stroke": {"anyOf": [variant("type", "line"), variant("type", "dot"), fallback("type", "line", "dot")]},
    "Picture": obj({"id": STRING, "can": obj({"undo": nullable(obj({}))})}),
}  # fmt: skip
UNSTABLE = {
    **STABLE,
    "ClientRequest": obj(
        {"id": {}, "params": {"anyOf": [ref("InitializeRequest"), ref("PaintRequest"), ref("VarnishRequest")]}}
    ),
    "AgentResponse": {
        "anyOf": [obj({"result": {"anyOf": [ref("InitializeResponse"), ref("PaintResponse"), ref("VarnishResponse")]}})]
    },
    "VarnishRequest": method("varnish", "agent", {"coats": array(STRING)}),
    "VarnishResponse": method("varnish", "agent", {}),
    "AgentCapabilities": obj({"paint": nullable(ref("Paint")), "varnish": nullable(obj({}))}),
    "Stroke": {
        "anyOf": [variant("type", one) for one in ("line", "dot", "spray")] + [fallback("type", "line", "dot", "spray")]
    },
}
FINE = """
[auth_methods]
key = "client.capabilities.easel"

[needs.agent]
initialize = []
paint = ["agent.capabilities.paint", "strokes", "colour", "frame", "picture", "login"]
varnish = ["agent.capabilities.varnish"]

[rules.strokes]
value = "strokes[].type"
free = ["line"]
needs = { dot = "agent.capabilities.paint.oil" }
never = ["spray"]

[rules.colour]
value = "colour"
free = ["red", "blue"]

[rules.frame]
has = "frame"
needs = "client.capabilities.easel"

[rules.picture]
state = "pictures"
of = "Picture"
id = "frame"
as = "id"
needs = "can.undo"

[rules.login]
listed = "frame"
in = "agent.authMethods[].id"
except = { type = "key" }
"""


def folder(tmp_path: Path, toml: str, unstable: Defs | None = UNSTABLE) -> Path:
    found = schema_folder(tmp_path / "schema", STABLE, unstable=unstable)
    (found / "v2" / "capabilities.toml").write_text(toml, encoding="utf-8")
    return found


BOTH = ["v2/stable", "v2/unstable"]


def problems(tmp_path: Path, toml: str, profiles: list[str] = BOTH) -> list[tuple[str, str]]:
    """What is wrong with a file, as place and what was found there."""
    with pytest.raises(CodegenError) as caught:
        load(folder(tmp_path, toml), profiles)
    return [(one.place, one.found) for one in caught.value.diagnostics]


def needs(profile: ir.Profile, name: str) -> tuple[ir.Need, ...] | None:
    return next(one.needs for one in profile.methods if one.name == name)


def test_what_the_file_says_is_in_the_methods(tmp_path: Path) -> None:
    stable, unstable = load(folder(tmp_path, FINE), BOTH)
    paint, oil = ir.Advertised("agent", "capabilities.paint"), ir.Advertised("agent", "capabilities.paint.oil")
    easel = ir.Advertised("client", "capabilities.easel")
    assert needs(stable, "initialize") == ()
    assert needs(stable, "paint") == (
        paint,
        ir.ByValue("strokes[].type", ("line",), (("dot", oil),), ()),
        ir.ByValue("colour", ("red", "blue"), (), ()),
        ir.IfHeld("frame", easel),
        ir.InState("pictures", "frame", "id", "can.undo"),
        ir.Listed("frame", ir.Advertised("agent", "authMethods"), "id", (("type", "key"),)),
    )
    # What only one channel has applies there.
    assert (needs(unstable, "paint") or ())[1] == ir.ByValue("strokes[].type", ("line",), (("dot", oil),), ("spray",))
    assert needs(unstable, "varnish") == (ir.Advertised("agent", "capabilities.varnish"),)
    assert stable.opening is not None and stable.opening.offered == (("key", easel),)
    assert ungated([stable, unstable]) == []
    # One channel alone does not know what the other has.
    assert load(folder(tmp_path / "again", FINE), ["v2/stable"])[0] == stable


# What is wrong: text in place of other text, the place, and what is found there.
MISTAKES: dict[str, tuple[str, str, str, str]] = {
    "a path that is not there": (
        '["agent.capabilities.varnish"]', '["agent.capabilities.gloss"]', '[needs.agent] "varnish"',
        "the path 'agent.capabilities.gloss': InitializeResponse does not have it"),
    "a path of the other side": (
        '["agent.capabilities.varnish"]', '["client.capabilities.varnish"]', '[needs.agent] "varnish"',
        "the path 'client.capabilities.varnish': InitializeRequest does not have it"),
    "a path through a scalar": (
        "agent.capabilities.paint.oil", "agent.capabilities.paint.water.more", "[rules] strokes",
        "the path 'agent.capabilities.paint.water.more': InitializeResponse does not have it"),
    "a path of no side": (
        '["agent.capabilities.varnish"]', '["proxy.capabilities.varnish"]', '[needs.agent] "varnish"',
        "'proxy.capabilities.varnish'"),
    "a path with nothing in it": (
        '["agent.capabilities.varnish"]', '["agent..varnish"]', '[needs.agent] "varnish"', "'agent..varnish'"),
    "a method that nobody has": (
        "varnish = [", "polish = [", '[needs.agent] "polish"', "a method that no schema of this version has"),
    "a side that nobody is": ("[needs.agent]", "[needs.server]", "[needs.server]", "no table of a side's methods"),
    "a list of something else": (
        "initialize = []", "initialize = [1]", '[needs.agent] "initialize"', "[1]"),
    "no list": ("initialize = []", 'initialize = "agent.x"', '[needs.agent] "initialize"', "'agent.x'"),
    "a rule that is not there": ('"strokes",', '"lines",', '[needs.agent] "paint"', "the unknown rule 'lines'"),
    "a rule that nobody names": ('"strokes",', "", "[rules] strokes", "a rule that no method names"),
    "a field that nobody has": (
        'has = "frame"', 'has = "wall"', '[needs.agent] "paint"',
        "something in the params (frame) that no schema of this version has"),
    "a field that is no list": (
        'value = "strokes[].type"', 'value = "frame[].type"', '[needs.agent] "paint"',
        "something in the params (strokes) that no schema of this version has"),
    "a field without known values": (
        'value = "colour"', 'value = "frame"', "[rules] colour", "frame of PaintRequest, which lists no values"),
    "a value that nobody has": (
        'free = ["red", "blue"]', 'free = ["red", "blue", "green"]', "[rules] colour",
        "the value 'green' that no schema of this version has"),
    "a value that is not named": (
        'free = ["red", "blue"]', 'free = ["red"]', "[rules] colour", "nothing about the value 'blue' of PaintRequest"),
    "a value of one channel that is not named": (
        'never = ["spray"]', "", "[rules] strokes", "nothing about the value 'spray' of PaintRequest"),
    "a value twice": ('never = ["spray"]', 'never = ["spray", "dot"]', "[rules] strokes", "a value twice"),
    "a rule of two kinds": (
        'has = "frame"', 'has = "frame"\nvalue = "colour"', "[rules] frame",
        "{'has': 'frame', 'value': 'colour', 'needs': 'client.capabilities.easel'}"),
    "a rule of no kind": ('has = "frame"', 'with = "frame"', "[rules] frame", "{'with': 'frame', 'needs': "
                          "'client.capabilities.easel'}"),
    "a rule that is no table": ("[rules.frame]", "[rules]\nwall = 1\n[rules.frame]", "[rules] wall", "1"),
    "a key that means nothing": (
        'has = "frame"', 'has = "frame"\nunless = "x"', "[rules] frame", "the keys has, needs, unless"),
    "a key that is missing": (
        'has = "frame"\nneeds = "client.capabilities.easel"', 'has = "frame"', "[rules] frame", "the keys has"),
    "a key of another kind": (
        'needs = "can.undo"', "needs = { a = 1 }", "[rules] picture needs", "{'a': 1}"),
    "a table that is none": (
        'needs = { dot = "agent.capabilities.paint.oil" }', 'needs = "dot"', "[rules] strokes needs", "'dot'"),
    "a definition without that member": (
        'as = "id"', 'as = "name"', "[rules] picture", "'name', which Picture does not have"),
    "a definition without that path": (
        'needs = "can.undo"', 'needs = "can.redo"', "[rules] picture", "'can.redo', which Picture does not have"),
    "a definition that nobody has": (
        'of = "Picture"', 'of = "Poem"', '[needs.agent] "paint"',
        "something in the params (picture) that no schema of this version has"),
    "another name for no id": ('id = "frame"\n', "", "[rules] picture", "as without id"),
    "a list without a member": (
        "agent.authMethods[].id", "agent.authMethods", "[rules] login in", "'agent.authMethods'"),
    "a list that is not there": (
        "agent.authMethods[].id", "agent.brushes[].id", "[rules] login",
        "the path 'agent.brushes[].id': InitializeResponse does not have it"),
    "an exception that is not there": (
        'except = { type = "key" }', 'except = { size = "key" }', "[rules] login",
        "the path 'agent.authMethods[].size': InitializeResponse does not have it"),
    "an auth method that nobody has": (
        'key = "client.capabilities.easel"', 'word = "client.capabilities.easel"', "[auth_methods] word",
        "an auth method that no schema of this version has"),
    "an auth method's path": (
        'key = "client.capabilities.easel"', 'key = "client.capabilities.stool"', "[auth_methods] key",
        "the path 'client.capabilities.stool': InitializeRequest does not have it"),
    "a table that means nothing": ("[auth_methods]", "[auth]", "auth", "a table that has no meaning"),
    "an error code that is none": (
        "[auth_methods]", "[unhandled]\npaint = true\n[auth_methods]", "[unhandled] paint", "True"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_its_entry(tmp_path: Path, name: str) -> None:
    before, after, place, found = MISTAKES[name]
    assert before in FINE
    listed = problems(tmp_path, FINE.replace(before, after, 1))
    assert any(where.startswith(f"capabilities.toml {place}") and what == found for where, what in listed), listed


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    assert problems(tmp_path, "[needs")[0][0] == "capabilities.toml"


def test_state_needs_a_session(tmp_path: Path) -> None:
    toml = FINE.replace('"picture"', '"frame"').replace("varnish = [", 'varnish = ["coat", ')
    toml = toml.replace("[rules.picture]", "[rules.coat]").replace('id = "frame"', 'id = "coats"')
    ((place, found),) = problems(tmp_path, toml)
    assert place.startswith("capabilities.toml [rules] coat (") and found == "VarnishRequest, which names no session"


def test_methods_without_an_entry_are_told_once(tmp_path: Path) -> None:
    """When generating, on stderr; `ungated` is for whoever takes it for an error."""
    toml = FINE.replace("initialize = []", "").replace('varnish = ["agent.capabilities.varnish"]', "")
    schema = folder(tmp_path, toml)
    found = ungated(load(schema, BOTH))
    assert [(one.place, one.found) for one in found] == [
        ('v2/capabilities.toml [needs.agent] "initialize"', "no entry for the request initialize"),
        ('v2/capabilities.toml [needs.agent] "varnish"', "no entry for the request varnish"),
    ]
    result = run("generate", "--schema-dir", schema, "--out", tmp_path / "out", "--package", "tiny_needs")
    assert result.exit_code == 0 and result.stderr == (
        "warning: 2 methods may be called whatever is advertised, for want of an entry: "
        'v2/capabilities.toml [needs.agent] "initialize", v2/capabilities.toml [needs.agent] "varnish"\n'
    )
    checked = run("generate", "--check", "--schema-dir", schema, "--out", tmp_path / "out", "--package", "tiny_needs")
    assert checked.exit_code == 0 and "2 methods" in checked.stderr


def test_a_profile_alone_is_not_asked_for_what_the_other_has(tmp_path: Path) -> None:
    toml = FINE.replace("varnish = [", "polish = [")
    (stable,) = load(folder(tmp_path, toml), ["v2/stable"])
    assert needs(stable, "paint")

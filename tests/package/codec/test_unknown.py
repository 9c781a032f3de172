"""Unknown variants: what they demand, hold and say, at every level; and classes that are variants and definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.v2 import unstable
from msgspec import UNSET

from tests.package.codec.profiles import Profile, profiles, same, same_json
from tests.package.codec.relaxed import Schema
from tests.package.codec.test_properties import Outcome
from tests.package.codec.test_tolerance_rows import JUNK, smallest
from tests.support.tiny import build

NAMES = {"StateUpdate": "UnrecognizedStateUpdate"}  # UnknownStateUpdate is a definition of its own


def open_unions(profile: Profile) -> dict[str, tuple[str, Schema, list[str]]]:
    """Unions with a fallback: its tag, what else is in such an object, and the tags that are known."""
    found = {}
    for name in profile.definitions:
        definition = profile.schema["$defs"][name]
        branches = definition.get("anyOf", definition.get("oneOf", ()))
        for branch in branches:
            if "not" in branch:
                tags = [item for one in branches for item in one.get("properties", {}).items() if "const" in item[1]]
                shape: Schema = {
                    "properties": {**definition.get("properties", {}), **branch["properties"]},
                    "required": [*definition.get("required", ()), *branch["required"]],
                }
                if "oneOf" in branch or "anyOf" in branch:  # a scope: the first will do
                    scope = smallest(profile.schema, (branch.get("oneOf") or branch["anyOf"])[0])
                    shape["properties"].update((wire, {"const": item}) for wire, item in scope.items())
                found[name] = (tags[0][0], shape, [part["const"] for _, part in tags])
    return found


def payload(profile: Profile, tag: str, shape: Schema, value: str) -> dict[str, Any]:
    made = {wire: smallest(profile.schema, part) for wire, part in shape["properties"].items() if "const" not in part}
    scope = {wire: part["const"] for wire, part in shape["properties"].items() if "const" in part}
    return {wire: item for wire, item in made.items() if wire in shape["required"]} | scope | {tag: value}


UNTAGGED_TOO = ("IdleStateUpdate", "MultiSelectItems")  # have a branch without the tag
UNIONS = [(name, union) for name, profile in profiles().items() for union in open_unions(profile)]
each_union = pytest.mark.parametrize(("name", "union"), UNIONS)


@each_union
def test_fallback(name: str, union: str) -> None:
    """Any tag that is not known gives the fallback, with the whole payload; a known one never does."""
    profile = profiles()[name]
    tag, shape, known = open_unions(profile)[union]
    fallback = getattr(profile.module, NAMES.get(union, f"Unknown{union}"))
    for value in ("_acme.dev/x", "_", "future", "", known[0].upper(), known[0] + " "):
        given = payload(profile, tag, shape, value) | {"more": [1, {"a": None}], "type2": "text"}
        for data, how in ((given, "convert"), (json.dumps(given), "decode")):
            found = Outcome(profile, union, data, how).found
            assert type(found) is fallback
            assert isinstance(found, profile.module.UnknownVariant)
            assert (found.tag, found.is_extension, found.raw) == (value, value.startswith("_"), given)
            assert same_json(json.loads(profile.module.encode(found)), given)
            assert list(found) == list(given)
    for value in known:
        outcome = Outcome(profile, union, payload(profile, tag, shape, value) | {"more": 1})
        assert not isinstance(outcome.found, profile.module.UnknownVariant)


@each_union
def test_envelope(name: str, union: str) -> None:
    """What the fallback requires must be there, and what it declares must fit or be tolerated."""
    profile = profiles()[name]
    tag, shape, _ = open_unions(profile)[union]
    base = payload(profile, tag, shape, "_x")
    fallback = getattr(profile.module, NAMES.get(union, f"Unknown{union}"))
    for wire in {*shape["required"]} - ({tag} if union in UNTAGGED_TOO else set()):
        outcome = Outcome(profile, union, {key: item for key, item in base.items() if key != wire})
        assert outcome.error is not None
        assert (outcome.error.pointer, outcome.error.reason) == (f"/{wire}", "missing")
    for wire, part in shape["properties"].items():
        for junk in JUNK if wire != tag else ():
            outcome = Outcome(profile, union, base | {wire: junk})
            assert all((pointer + "/").startswith(f"/{wire}/") for pointer in outcome.pointers)
            if outcome.error is None:
                assert type(outcome.found) is fallback
                assert same(outcome.found.raw[wire], junk)
                assert outcome.reports == [] or part["x-deserialize-default-on-error"]
            else:
                assert "x-deserialize-default-on-error" not in part


def test_there_are_enough() -> None:
    assert len(UNIONS) > 40
    assert {name for name, _ in UNIONS} == set(profiles())


def test_typed_attributes() -> None:
    method = v2.decode('{"type": "_sso", "methodId": "a", "name": "SSO", "realm": "x"}', v2.AuthMethod)
    assert isinstance(method, v2.UnknownAuthMethod)
    assert (method.method_id, method.name, method["realm"]) == ("a", "SSO", "x")
    with pytest.raises(AttributeError):
        method.realm  # type: ignore[attr-defined]  # noqa: B018
    change = v2.convert({"operation": "_chmod", "fileType": "fifo", "mimeType": None}, v2.DiffChange)
    assert isinstance(change, v2.UnknownDiffChange)
    assert (change.file_type, change.mime_type, change.meta) == ("fifo", None, UNSET)
    idle = v2.convert({"stopReason": "_x", "background": [{"type": "_y"}, {"type": "terminal", "terminalId": "t"}]},
                      v2.IdleStateUpdate)  # fmt: skip
    assert isinstance(idle, v2.UnknownIdleStateUpdate)
    assert idle.background == [v2.UnknownBackgroundWork(type="_y"), v2.BackgroundTerminal(terminal_id="t")]
    asked = v2.convert({"mode": "_v", "message": "m", "requestId": 1, "toolCallId": 5}, v2.CreateElicitationRequest)
    assert isinstance(asked, v2.UnknownCreateElicitationRequest)
    assert (asked.message, asked.request_id, asked.session_id, asked.tool_call_id) == ("m", 1, UNSET, UNSET)


def test_a_malformed_tolerant_attribute_reads_as_unset_and_stays_in_the_payload() -> None:
    given = {"operation": "_chmod", "fileType": 5, "mimeType": [], "_meta": "x"}
    reports: list[str] = []
    change = v2.convert(given, v2.DiffChange, on_tolerated=lambda pointer, _: reports.append(pointer))
    assert isinstance(change, v2.UnknownDiffChange)
    assert (change.file_type, change.mime_type, change.meta) == (UNSET, UNSET, UNSET)
    assert change.raw == given
    assert reports == ["/fileType", "/mimeType", "/_meta"]
    assert v2.to_builtins(change) == given
    # The attributes are read from the payload, which is there to be changed.
    change["fileType"] = "text"
    assert change.file_type == "text"
    del change["_meta"]
    assert json.loads(v2.encode(change)) == {"operation": "_chmod", "fileType": "text", "mimeType": []}


LEVELS = [
    ({"sessionUpdate": "_a", "state": 5}, "UnknownSessionUpdate", "_a"),
    ({"sessionUpdate": "future"}, "UnknownSessionUpdate", "future"),
    ({"sessionUpdate": "state_update", "state": "_b", "stopReason": 5}, "UnrecognizedStateUpdate", "_b"),
    (
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "_c", "usage": 1},
        "UnknownIdleStateUpdate",
        "_c",
    ),
    ({"sessionUpdate": "state_update", "state": "idle", "stopReason": "Error"}, "UnknownIdleStateUpdate", "Error"),
    ({"sessionUpdate": "_a", "state": "idle", "stopReason": "_c"}, "UnknownSessionUpdate", "_a"),
]


@pytest.mark.parametrize("module", [v2, unstable])
@pytest.mark.parametrize(("given", "name", "tag"), LEVELS)
def test_levels_of_session_update(module: Any, given: dict[str, Any], name: str, tag: str) -> None:
    """The outermost tag that is unknown decides; the object keeps those above it."""
    notification = module.convert({"sessionId": "s", "update": given}, module.UpdateSessionNotification)
    update = notification.update
    assert type(update) is getattr(module, name)
    assert (update.tag, update.raw) == (tag, given)
    assert json.loads(module.encode(notification)) == {"sessionId": "s", "update": given}


def test_excluded_tags_match_nothing(tmp_path: Any) -> None:
    """Older schemas rule tags out of a fallback that no branch lists."""

    def tagged(name: str) -> Schema:
        return {"type": "object", "properties": {"type": {"const": name, "type": "string"}}, "required": ["type"]}

    ruled_out = {"not": {"anyOf": [tagged("a"), tagged("b")]}, "additionalProperties": True}
    bare = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
    fields = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    union = {"anyOf": [{**tagged("a"), "allOf": [{"$ref": "#/$defs/A"}]}, {"title": "other", **bare, **ruled_out}]}
    tiny = build(tmp_path, {"A": fields, "Open": union})
    assert isinstance(tiny.convert({"type": "c"}, tiny.Open), tiny.UnknownOpen)
    for data in ({"type": "b"}, {"type": "b", "x": "x"}):
        with pytest.raises(tiny.DecodeError) as failed:
            tiny.convert(data, tiny.Open)
        assert (failed.value.pointer, failed.value.reason) == ("/type", "expected one of 'a', got 'b'")


def test_a_leaf_class_on_its_own() -> None:
    """Its own tags may be absent; where it is nothing but a variant, they may not be another's."""
    value = {"messageId": "m", "content": {"type": "text", "text": "x"}}
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="x"))
    tagged = {"sessionUpdate": "agent_message_chunk", **value}
    assert v2.convert(value, v2.AgentMessageChunk) == v2.convert(tagged, v2.AgentMessageChunk) == chunk
    assert v2.to_builtins(chunk) == tagged
    for tag in ("user_message_chunk", "_x", 5, None):
        with pytest.raises(v2.DecodeError) as failed:
            v2.convert({**value, "sessionUpdate": tag}, v2.AgentMessageChunk)
        assert failed.value.pointer == "/sessionUpdate"
    # A definition has no tag of its own: there it is an unknown property.
    assert v2.convert({"type": "image", "text": "x"}, v2.TextContent) == v2.TextContent(text="x")
    assert v2.convert({**value, "sessionUpdate": 5}, v2.ContentChunk) == v2.ContentChunk(
        message_id="m", content=chunk.content
    )


def test_a_leaf_class_with_groups_on_its_own() -> None:
    value = {"message": "m", "elicitationId": "e", "url": "u", "sessionId": "s"}
    for tag in ({}, {"mode": "url"}):
        found = v2.convert(value | tag, v2.CreateUrlElicitationRequest)
        assert v2.to_builtins(found) == {"mode": "url", **value}
    with pytest.raises(v2.DecodeError) as failed:
        v2.decode(json.dumps(value | {"mode": "form"}), v2.CreateUrlElicitationRequest)
    assert (failed.value.pointer, failed.value.reason) == ("/mode", "expected 'url'")


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", None, UNSET])
def test_idle_state_update_as_a_definition(stop: Any) -> None:
    value = {} if stop is UNSET else {"stopReason": stop}
    for data in (value, value | {"state": "idle"}, value | {"state": 5, "sessionUpdate": []}):
        found = v2.convert(data, v2.IdleStateUpdate)
        assert type(found) is v2.IdleStateUpdate
        assert (found.stop_reason, found.state) == (stop, "idle")
    inside = v2.convert({"sessionUpdate": "state_update", "state": "idle", **value}, v2.SessionUpdate)
    assert same(inside, v2.IdleStateUpdate(stop_reason=stop))
    assert v2.to_builtins(inside) == {"sessionUpdate": "state_update", "state": "idle", **value}


def test_idle_state_update_of_other_shapes() -> None:
    error = {"code": -32603, "message": "boom"}
    found: Any = v2.convert({"stopReason": "error", "error": error}, v2.IdleStateUpdate)
    assert same(found, v2.IdleErrorStateUpdate(error=v2.Error(code=-32603, message="boom")))
    found = v2.convert({"stopReason": "_budget", "limit": 3}, v2.IdleStateUpdate)
    assert same(found, v2.UnknownIdleStateUpdate(stopReason="_budget", limit=3))
    reports: list[tuple[str, str]] = []
    found = v2.convert({"stopReason": 5}, v2.IdleStateUpdate, on_tolerated=lambda *report: reports.append(report))
    assert same(found, v2.IdleStateUpdate())
    assert [pointer for pointer, _ in reports] == ["/stopReason"]


def test_definitions_that_double_as_variants() -> None:
    running = v2.convert({"background": []}, v2.RunningStateUpdate)
    assert same(running, v2.RunningStateUpdate(background=[]))
    assert same(v2.convert({"state": "idle", "background": []}, v2.RunningStateUpdate), running)
    path = v2.convert({"path": "/a"}, v2.DiffPathChange)
    assert v2.to_builtins(path) == {"path": "/a"}
    assert v2.to_builtins(v2.convert({"operation": 5, "path": "/a", "fileType": 5}, v2.DiffPathChange)) == {
        "path": "/a"
    }
    for operation in ("add", "delete", "modify"):
        value = {"operation": operation, "path": "/a"}
        inside = v2.convert(value, v2.DiffChange)
        assert same(inside, v2.DiffPathChange(operation=operation, path="/a"))
        assert v2.to_builtins(inside) == value


def test_what_may_be_built() -> None:
    """An implementation's own variants, with what the fallback requires; never another version's, nor a known one."""
    block = v2.UnknownContentBlock({"type": "_chart", "data": [1]}, title="t")
    assert block == {"type": "_chart", "data": [1], "title": "t"}
    assert same(v2.convert(v2.to_builtins(block), v2.ContentBlock), block)
    assert same(v2.convert(block, v2.ContentBlock), block)
    for tag in ("chart", "text", "", None, 5):
        with pytest.raises(ValueError, match="leading underscore"):
            v2.UnknownContentBlock(type=tag)
    with pytest.raises(ValueError, match="leading underscore"):
        v2.UnknownContentBlock()
    with pytest.raises(ValueError, match="/name: missing"):
        v2.UnknownAuthMethod(type="_sso", methodId="a")
    with pytest.raises(ValueError, match="exactly one of"):
        v2.UnknownCreateElicitationRequest(mode="_v", message="m")
    assert v1.UnknownCreateElicitationRequest(mode="_v", message="m", requestId=None).request_id is None


def test_an_unknown_variant_on_its_own_needs_its_tag() -> None:
    assert v2.convert({"type": "future"}, v2.UnknownContentBlock).tag == "future"
    for value, reason in (({}, "missing"), ({"type": 5}, "expected string, got integer")):
        with pytest.raises(v2.DecodeError) as failed:
            v2.decode(json.dumps(value), v2.UnknownContentBlock)
        assert (failed.value.pointer, failed.value.reason) == ("/type", reason)

"""What models and unknown variants can do as Python objects: states, changes, copies, pickles, equality, repr."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.v2 import unstable
from msgspec import UNSET

from tests.support.cli import ROOT
from tests.support.values import Values

MODULES = {"v1": v1, "v1.unstable": v1.unstable, "v2": v2, "v2.unstable": v2.unstable}
FUTURE = {"type": "hologram", "frames": [1, 2.5, None], "_meta": {"a": {}}}

duplicates = pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, *(lambda one, p=p: pickle.loads(pickle.dumps(one, p)) for p in (2, 5))],
    ids=["copy", "deepcopy", "pickle2", "pickle5"],
)


def decoded(module: Any, name: str, draws: Iterable[object]) -> Any:
    """The first of some valid values that is none of the known differences from JSON Schema, decoded."""
    for value in draws:
        try:
            return module.convert(value, getattr(module, name))
        except module.DecodeError as error:
            last = error
    raise last


# Models


def test_absent_null_and_value_are_three_states() -> None:
    for wire, held in (({}, UNSET), ({"title": None}, None), ({"title": ""}, "")):
        call = v2.decode(json.dumps({"toolCallId": "t"} | wire), v2.ToolCallUpdate)
        assert call.title is held if held != "" else call.title == ""
        assert v2.to_builtins(call) == {"toolCallId": "t"} | wire
        assert call == v2.ToolCallUpdate(tool_call_id="t", title=held)
    states = [v2.ToolCallUpdate(tool_call_id="t", title=held) for held in (UNSET, None, "")]
    assert [one == other for one in states for other in states].count(True) == len(states)


def test_optional_lists_read_as_empty_and_are_not_shared() -> None:
    first, second = (v2.NewSessionRequest(cwd="/w") for _ in range(2))
    first.mcp_servers.append(v2.McpServerStdio(name="n", command="c"))
    assert second.mcp_servers == [] and v2.to_builtins(second) == {"cwd": "/w"}
    assert "mcpServers" in v2.to_builtins(first)


def test_models_can_be_changed() -> None:
    content = v2.TextContent(text="a")
    content.text = "b"
    content.meta = {"acme.dev/x": 1}
    assert v2.to_builtins(content) == {"type": "text", "text": "b", "_meta": {"acme.dev/x": 1}}
    content.meta = UNSET
    assert content == v2.TextContent(text="b")
    with pytest.raises(AttributeError):
        content.colour = "red"  # type: ignore[attr-defined]


def test_equality_is_of_class_and_members() -> None:
    content = v2.TextContent(text="a")
    assert content == v2.TextContent(text="a") != v2.TextContent(text="b")
    ours: v2.SessionUpdate = v2.UserMessageChunk(message_id="m", content=content)
    theirs: v2.SessionUpdate = v2.AgentMessageChunk(message_id="m", content=content)
    assert ours != theirs


def test_repr_shows_what_is_set() -> None:
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="hi"))
    assert repr(chunk) == "AgentMessageChunk(message_id='m', content=TextContent(text='hi'))"
    assert repr(v2.ToolCallUpdate(tool_call_id="t", title=None)) == "ToolCallUpdate(tool_call_id='t', title=None)"
    assert eval(repr(chunk), vars(v2)) == chunk  # noqa: S307 - a repr of our own making


def test_models_have_no_place_for_stray_attributes() -> None:
    assert not hasattr(v2.TextContent(text="a"), "__dict__")
    assert not hasattr(v2.UnknownContentBlock(type="_x"), "__dict__")


@duplicates
@pytest.mark.parametrize("profile", MODULES)
def test_any_value_can_be_copied_and_pickled(profile: str, duplicate: Callable[[Any], Any]) -> None:
    module = MODULES[profile]
    version, _, channel = profile.partition(".")
    file = "schema.unstable.json" if channel else "schema.json"
    schema = json.loads((ROOT / "schema" / version / file).read_text(encoding="utf-8"))
    values, rng = Values(schema), random.Random(1)
    for name in sorted(set(schema["$defs"]) & set(module.__all__)):
        value = decoded(module, name, (values.valid(name, rng) for _ in range(10)))
        again = duplicate(value)
        assert again == value and type(again) is type(value), name
        assert module.to_builtins(again) == module.to_builtins(value), name


def test_deep_copies_share_nothing() -> None:
    chunk = v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="a", meta={"k": []}))
    shallow, deep = copy.copy(chunk), copy.deepcopy(chunk)
    assert shallow.content is chunk.content and deep.content is not chunk.content
    assert isinstance(deep.content, v2.TextContent) and isinstance(deep.content.meta, dict)
    deep.content.meta["k"].append(1)
    assert chunk.content == v2.TextContent(text="a", meta={"k": []})


def test_pickle_keeps_the_states() -> None:
    call = pickle.loads(pickle.dumps(v2.ToolCallUpdate(tool_call_id="t", title=None)))
    assert call.title is None and call.status is UNSET


# Unknown variants


def test_decoded_unknown_variant() -> None:
    block = v2.decode(json.dumps(FUTURE), v2.ContentBlock)
    assert isinstance(block, v2.UnknownContentBlock)
    assert (block.tag, block.raw, block.is_extension) == ("hologram", FUTURE, False)
    assert json.loads(v2.encode(block)) == v2.to_builtins(block) == FUTURE
    prompt = v2.PromptRequest(session_id="s", prompt=[block])
    assert v2.decode(v2.encode(prompt), v2.PromptRequest) == prompt


@duplicates
def test_a_variant_of_the_future_survives_what_could_not_build_it(duplicate: Callable[[Any], Any]) -> None:
    block = v2.convert(FUTURE, v2.ContentBlock)
    again = duplicate(block)
    assert type(again) is v2.UnknownContentBlock and again == block and again is not block
    assert again.tag == "hologram" and json.loads(v2.encode(again)) == FUTURE


def test_building_an_unknown_variant() -> None:
    block = v2.UnknownContentBlock({"type": "_acme.dev/chart"}, series=[1])
    assert block == v2.UnknownContentBlock(type="_acme.dev/chart", series=[1])
    assert block.is_extension and block.tag == "_acme.dev/chart"
    assert repr(block) == "UnknownContentBlock({'type': '_acme.dev/chart', 'series': [1]})"
    assert v2.encode(block) == b'{"type":"_acme.dev/chart","series":[1]}'


@pytest.mark.parametrize(
    ("cls", "properties"),
    [
        (v2.UnknownContentBlock, {"type": "hologram"}),
        (v2.UnknownContentBlock, {"type": "text", "text": "a"}),
        (v2.UnknownContentBlock, {"type": 1}),
        (v2.UnknownContentBlock, {}),
        (v2.UnknownSessionUpdate, {"sessionUpdate": "later"}),
        (v2.UnknownPlanUpdateContent, {"type": "later", "planId": "p"}),
        (v2.UnknownPlanUpdateContent, {"type": "_mine"}),
        (v2.UnknownPlanUpdateContent, {"type": "_mine", "planId": 1}),
        (v2.UnknownAuthMethod, {"type": "later", "methodId": "m", "name": "n"}),
        (v2.UnknownAuthMethod, {"type": "_mine", "methodId": "m"}),
        (unstable.UnrecognizedStateUpdate, {"state": "later"}),
    ],
)
def test_what_may_not_be_invented(cls: type[v2.UnknownVariant], properties: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=cls.__name__):
        cls(properties)


def test_typed_members_of_an_unknown_variant() -> None:
    method = v2.UnknownAuthMethod(type="_sso", methodId="m", name="n", realm="r")
    assert (method.method_id, method.name) == ("m", "n")
    method["name"] = "other"
    assert method.name == "other"
    with pytest.raises(AttributeError, match="realm"):
        _ = getattr(method, "realm")  # noqa: B009 - no checker knows it
    # Malformed, where the schema tolerates that: reads as absent, and is kept.
    change = v2.UnknownDiffChange(operation="_touch", fileType=5, mimeType=None)
    assert (change.file_type, change.mime_type) == (UNSET, None)
    assert change.raw["fileType"] == 5 and b'"fileType":5' in v2.encode(change)

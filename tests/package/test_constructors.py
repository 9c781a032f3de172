"""What users of acp_bindings build: the curated classes, by the keywords and names that people type."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from acp_bindings import v1, v2
from acp_bindings.runtime.models import Model
from acp_bindings.v2 import unstable

CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": {"type": "text", "text": "hi"}}
SCHEMA_OF_FORM = {"type": "object", "properties": {}}
STATE = {"sessionUpdate": "state_update"}
OPTION = {"configId": "c", "name": "n"}
BUILT: list[tuple[Any, str, Any, dict[str, Any]]] = [
    (v2, "SessionUpdate", v2.AgentMessageChunk(message_id="m1", content=v2.TextContent(text="hi")), CHUNK),
    (v2, "SessionUpdate", v2.RunningStateUpdate(), STATE | {"state": "running"}),
    (v2, "SessionUpdate", v2.IdleStateUpdate(), STATE | {"state": "idle"}),
    (
        v2,
        "SessionUpdate",
        v2.IdleStateUpdate(stop_reason="end_turn"),
        STATE | {"state": "idle", "stopReason": "end_turn"},
    ),
    (
        v2,
        "SessionUpdate",
        v2.IdleErrorStateUpdate(error=v2.Error(code=v2.ErrorCode.INTERNAL_ERROR, message="no")),
        STATE | {"state": "idle", "stopReason": "error", "error": {"code": -32603, "message": "no"}},
    ),
    (v2, "SessionUpdate", v2.RequiresActionStateUpdate(), STATE | {"state": "requires_action"}),
    (
        v2,
        "SessionUpdate",
        v2.SessionToolCallUpdate(tool_call_id="t", kind="read"),
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "kind": "read"},
    ),
    (v2, "ToolCallUpdate", v2.ToolCallUpdate(tool_call_id="t", title=None), {"toolCallId": "t", "title": None}),
    (v2, "DiffChange", v2.DiffPathChange(operation="add", path="/a"), {"operation": "add", "path": "/a"}),
    (
        v2,
        "DiffChange",
        v2.DiffPathPairChange(operation="move", old_path="/a", path="/b"),
        {"operation": "move", "oldPath": "/a", "path": "/b"},
    ),
    (
        v2,
        "CreateElicitationRequest",
        v2.CreateFormElicitationRequest(
            message="?", session_id="s", requested_schema=v2.ElicitationSchema(type="object", properties={})
        ),
        {"mode": "form", "message": "?", "sessionId": "s", "requestedSchema": SCHEMA_OF_FORM},
    ),
    (
        v2,
        "CreateElicitationRequest",
        v2.CreateUrlElicitationRequest(message="?", session_id="s", elicitation_id="e", url="https://x.example"),
        {"mode": "url", "message": "?", "sessionId": "s", "elicitationId": "e", "url": "https://x.example"},
    ),
    (v2, "CreateElicitationResponse", v2.AcceptElicitationResponse(), {"action": "accept"}),
    (v2, "CreateElicitationResponse", v2.DeclineElicitationResponse(), {"action": "decline"}),
    (v2, "CreateElicitationResponse", v2.CancelElicitationResponse(), {"action": "cancel"}),
    (
        v2,
        "SessionConfigOption",
        v2.BooleanConfigOption(config_id="c", name="n", current_value=True),
        OPTION | {"type": "boolean", "currentValue": True},
    ),
    (
        v2,
        "SessionConfigOption",
        v2.SelectConfigOption(
            config_id="c", name="n", current_value="a", options=[v2.SessionConfigSelectOption(value="a", name="A")]
        ),
        OPTION | {"type": "select", "currentValue": "a", "options": [{"value": "a", "name": "A"}]},
    ),
    (
        v2,
        "SetSessionConfigOptionRequest",
        v2.SetSelectConfigOptionRequest(session_id="s", config_id="c", value="a"),
        {"type": "id", "sessionId": "s", "configId": "c", "value": "a"},
    ),
    (
        v2,
        "SetSessionConfigOptionRequest",
        v2.SetBooleanConfigOptionRequest(session_id="s", config_id="c", value=False),
        {"type": "boolean", "sessionId": "s", "configId": "c", "value": False},
    ),
    (unstable, "SessionUpdate", unstable.UnknownStateUpdate(), STATE | {"state": "unknown"}),
    (unstable, "StateUpdate", unstable.RunningState(), {"state": "running"}),
    (unstable, "StateUpdate", unstable.IdleState(stop_reason="refusal"), {"state": "idle", "stopReason": "refusal"}),
    (unstable, "StateUpdate", unstable.RequiresActionState(), {"state": "requires_action"}),
    (unstable, "StateUpdate", unstable.UnknownState(), {"state": "unknown"}),
    (unstable, "StateUpdate", unstable.UnrecognizedStateUpdate(state="_nap"), {"state": "_nap"}),
    (unstable, "MessageMcpResponse", unstable.MessageMcpResult(result=[1]), {"result": [1]}),
    (
        unstable,
        "MessageMcpResponse",
        unstable.MessageMcpError(error=unstable.McpError(code=1, message="no", more=[2])),
        {"error": {"code": 1, "message": "no", "more": [2]}},
    ),
]


@pytest.mark.parametrize(("module", "union", "value", "wire"), BUILT, ids=lambda one: type(one).__name__)
def test_curated_names(module: Any, union: str, value: Any, wire: dict[str, Any]) -> None:
    assert type(value).__name__ in module.__all__
    assert json.loads(module.encode(value)) == module.to_builtins(value) == wire
    decoded = module.decode(json.dumps(wire), getattr(module, union))
    assert decoded == value and type(decoded) is type(value)
    assert module.convert(wire, getattr(module, union)) == value


def test_match_on_an_update() -> None:
    def described(update: v2.SessionUpdate) -> str:
        match update:
            case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                return f"text {text}"
            case v2.IdleStateUpdate(stop_reason="end_turn"):
                return "done"
            case v2.UnknownSessionUpdate(tag=tag, raw=raw):
                return f"unknown {tag} {raw['x']}"
        return "other"

    updates = [
        CHUNK,
        STATE | {"state": "idle", "stopReason": "end_turn"},
        {"sessionUpdate": "_x", "x": 1},
        STATE | {"state": "running"},
    ]
    found = [described(v2.decode(json.dumps(one), v2.SessionUpdate)) for one in updates]
    assert found == ["text hi", "done", "unknown _x 1", "other"]


@pytest.mark.parametrize("module", [v1, v1.unstable, v2, v2.unstable], ids=lambda module: module.__name__)
def test_constructors_take_keywords_only(module: Any) -> None:
    exported = [getattr(module, name) for name in module.__all__]
    models = [one for one in exported if isinstance(one, type) and issubclass(one, Model)]
    assert len(models) > 100
    for cls in models:
        kinds = {one.kind for one in inspect.signature(cls).parameters.values()}
        assert kinds <= {inspect.Parameter.KEYWORD_ONLY}, cls
        assert not cls.__struct_config__.frozen, cls
    with pytest.raises(TypeError):
        v2.TextContent("hi")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        v2.TextContent(text="hi", nope=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        v2.TextContent()  # type: ignore[call-arg]

"""What type checkers make of the codec's results. Read by tests/package/test_typing.py, never run."""

from typing import Any, Literal, assert_type

from acp_bindings import v1, v2
from acp_bindings.v2 import unstable
from msgspec import UnsetType

DATA = b"{}"

# A class, a tagged union, an untagged one, an open enum, an alias of a scalar, a container.
assert_type(v2.decode(DATA, v2.TextContent), v2.TextContent)
assert_type(v2.decode("{}", v2.ContentBlock), v2.ContentBlock)
assert_type(v2.decode(DATA, v2.SessionUpdate), v2.SessionUpdate)
assert_type(v2.decode(DATA, v2.EmbeddedResourceResource), v2.EmbeddedResourceResource)
assert_type(v2.decode(DATA, v2.SessionConfigSelectOptions), v2.SessionConfigSelectOptions)
assert_type(v2.decode(DATA, v2.ToolKind), v2.ToolKind)
assert_type(v2.decode(DATA, v2.SessionId), str)
assert_type(v2.decode(DATA, v2.RequestId), int | str)
assert_type(v2.decode(DATA, v2.ErrorCode), int)
assert_type(v2.decode(DATA, list[v2.ContentBlock]), list[v2.ContentBlock])
assert_type(v2.decode(DATA, v2.UnknownContentBlock), v2.UnknownContentBlock)
assert_type(v2.convert({}, v2.ContentBlock), v2.ContentBlock)
assert_type(v2.convert({}, v2.PromptRequest), v2.PromptRequest)
assert_type(v2.convert(-1, v2.ErrorCode), int)
assert_type(unstable.decode(DATA, unstable.StateUpdate), unstable.StateUpdate)
assert_type(v1.decode(DATA, v1.ContentBlock), v1.ContentBlock)


def dropped(pointer: str, reason: str) -> None: ...


assert_type(v2.decode(DATA, v2.ToolCallUpdate, on_tolerated=dropped), v2.ToolCallUpdate)
assert_type(v2.encode(v2.TextContent(text="")), bytes)
assert_type(v2.is_extension("_x"), bool)
assert_type(v2.SCHEMA.sha256, str)
assert_type(v2.DecodeError("/a", "b").pointer, str)

# Members. Literal types of a field stay literal.
call = v2.ToolCallUpdate(tool_call_id="t")
assert_type(call.title, str | UnsetType | None)
assert_type(call.content, list[v2.ToolCallContent] | UnsetType | None)
assert_type(call.meta, dict[str, Any] | UnsetType | None)
assert_type(v2.NewSessionRequest(cwd="/").mcp_servers, list[v2.McpServer])
assert_type(v2.RunningStateUpdate().state, Literal["running"])
assert_type(v2.DiffPathChange(operation="add", path="/a").operation, Literal["add", "delete", "modify"])
assert_type(v2.AgentMessageChunk(message_id="m", content=v2.TextContent(text="")).content, v2.ContentBlock)

# Unknown variants.
unknown = v2.UnknownAuthMethod(type="_x", methodId="m", name="n")
assert_type(unknown.tag, str)
assert_type(unknown.raw, dict[str, Any])
assert_type(unknown.is_extension, bool)
assert_type(unknown.method_id, str)
assert_type(unknown["realm"], Any)

"""Wrong arguments and members. Read by tests/package/test_typing.py, never run.

The comments at the ends of lines are the errors that each checker must report there, and nowhere else.
"""

from acp_bindings import v2
from msgspec import UNSET

v2.TextContent(text=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
v2.TextContent()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
v2.TextContent("a")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
v2.TextContent(text="a", colour=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
v2.DiffPathChange(operation="rename", path="/a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
v2.IdleStateUpdate(stop_reason="error")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
v2.RunningStateUpdate(state="idle")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
v2.PromptRequest(session_id="s", prompt=["hi"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
v2.PromptRequest(session_id="s", prompt=[v2.Annotations()])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
v2.ToolCallUpdate(tool_call_id=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
v2.decode(5, v2.TextContent)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]

call = v2.ToolCallUpdate(
    tool_call_id="t", kind="_own", status="completed", title=None, raw_input={"a": [1]}, content=UNSET
)
call.title = "new"
call.title = UNSET
call.title = 5  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
call.titel = "new"  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
call.kind = "_mine"
if call.title is not UNSET and call.title is not None:
    call.title.upper()

v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="hi"), v2.UnknownContentBlock(type="_x")])
v2.Error(code=v2.ErrorCode.INTERNAL_ERROR, message="no")
v2.Error(code=-1, message="no")

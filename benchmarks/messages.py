"""The messages that are measured: one of each kind that a connection carries, in v2 and (for the official SDK) v1."""

from __future__ import annotations

from typing import Any

_SESSION = "sess_01hx3y7q9k"


def update(body: dict[str, Any]) -> dict[str, Any]:
    return {"sessionId": _SESSION, "update": body}


_TOOL = {
    "sessionUpdate": "tool_call_update",
    "toolCallId": "call_01hx3y7q",
    "title": "Reading src/main.rs",
    "kind": "read",
    "status": "completed",
    "content": [{"type": "content", "content": {"type": "text", "text": 'fn main() {\n    println!("hi");\n}\n'}}],
    "locations": [{"path": "/home/me/project/src/main.rs", "line": 12}],
    "rawInput": {"path": "/home/me/project/src/main.rs", "limit": 200},
}
_TEXT = {"type": "text", "text": "I will look at how the parser treats empty lines before I change anything."}

V2: dict[str, dict[str, Any]] = {
    "text chunk": update({"sessionUpdate": "agent_message_chunk", "messageId": "msg_1", "content": _TEXT}),
    "tool call": update(_TOOL),
    "state update": update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}),
    "unknown variant": update({"sessionUpdate": "_acme.dev/progress", "percent": 40, "label": "indexing"}),
    "one tolerated field": update({**_TOOL, "title": 5}),
    "untagged resource": update(
        {
            "sessionUpdate": "agent_message_chunk",
            "messageId": "msg_1",
            "content": {
                "type": "resource",
                "resource": {
                    "uri": "file:///home/me/project/README.md",
                    "text": "# Project\n",
                    "mimeType": "text/markdown",
                },
            },
        }
    ),
}

V1: dict[str, dict[str, Any]] = {
    "text chunk": update({"sessionUpdate": "agent_message_chunk", "content": _TEXT}),
    "tool call": update(_TOOL),
    "one tolerated field": update({**_TOOL, "title": 5}),
    "untagged resource": update(
        {"sessionUpdate": "agent_message_chunk", "content": V2["untagged resource"]["update"]["content"]}
    ),
}

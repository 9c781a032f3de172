"""The turns of turn.v2.json and turn.v1.json once more, as our own classes.

Our agent sends these, and the SDK's client has to see the JSON; the SDK's agent sends the JSON, and our client has to
see these. So the two are held equal from both ends.
"""

from __future__ import annotations

from typing import Any

from acp_bindings import v1, v2

TEXT = ("Grüße \u2028 ", "🌍\n")
RAW_INPUT = {"path": "/project/a.txt", "ratio": 0.5, "dry": False}
RAW_OUTPUT = [1, None, "two", {"three": 3.25}]
MARKED = {"acme.dev": {"final": True}}


def opening_v2(p: Any) -> list[Any]:
    """What comes before the question, in the classes of a channel: `v2` or `v2.unstable`."""
    return [
        p.RunningStateUpdate(),
        v2.AgentThoughtChunk(message_id="thought-1", content=v2.TextContent(text="Hm.")),
        v2.AgentMessageChunk(message_id="message-2", content=v2.TextContent(text=TEXT[0])),
        v2.AgentMessageChunk(message_id="message-2", content=v2.TextContent(text=TEXT[1], meta=MARKED)),
        v2.SessionToolCallUpdate(
            tool_call_id="call-1",
            title="Edit a.txt",
            kind="edit",
            status="pending",
            locations=[v2.ToolCallLocation(path="/project/a.txt", line=3)],
            raw_input=RAW_INPUT,
        ),
        p.RequiresActionStateUpdate(),
    ]


def permission_v2(title: str = "Edit a.txt?") -> v2.RequestPermissionRequest:
    """The question."""
    return v2.RequestPermissionRequest(
        session_id="session-1",
        title=title,
        description="It is not under version control.",
        subject=v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id="call-1", status="paused")),
        options=[
            v2.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
            v2.PermissionOption(option_id="ask", name="Show me first", kind="_acme.dev/preview"),
            v2.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
        ],
    )


def news_v2(p: Any) -> list[Any]:
    """What comes after it; the last three are not of this version."""
    # What a newer version brings can be passed on, but not made up: it has to be decoded.
    future = {"sessionUpdate": "hologram_update", "colour": "green", "_meta": {"acme.dev": 1}}
    state = {"sessionUpdate": "state_update", "state": "daydreaming", "about": "electric sheep"}
    return [
        p.RunningStateUpdate(),
        v2.SessionToolCallUpdate(tool_call_id="call-1", status="in_progress", kind=None),
        v2.ToolCallContentChunk(
            tool_call_id="call-1", content=v2.Content(content=v2.TextContent(text="1 line changed"))
        ),
        v2.SessionToolCallUpdate(tool_call_id="call-1", status="completed", raw_output=RAW_OUTPUT),
        p.PlanUpdate(
            plan=v2.PlanItems(
                plan_id="plan-1", entries=[v2.PlanEntry(content="Edit", priority="high", status="completed")]
            )
        ),
        v2.UsageUpdate(used=1200, size=200000, cost=v2.Cost(amount=0.05, currency="EUR")),
        p.UnknownSessionUpdate({"sessionUpdate": "_acme.dev/progress", "percent": 50, "steps": [{"done": True}, None]}),
        p.convert(future, p.SessionUpdate),
        p.convert(state, p.SessionUpdate),
    ]


def experiments() -> list[Any]:
    """What only the unstable channel knows."""
    u = v2.unstable
    return [
        u.SessionMessageChunk(message_id="message-3", content=v2.TextContent(text="from a subagent")),
        u.SubagentUpdate(
            session_id="child-1",
            title="Search",
            capabilities=u.SubagentSessionCapabilities(cancel=u.SessionCancelCapabilities()),
            state=u.IdleState(stop_reason="end_turn"),
        ),
        u.PlanUpdate(plan=u.PlanMarkdown(plan_id="plan-2", content="# Next")),
        u.PlanRemoved(plan_id="plan-1"),
    ]


def ending_v2(p: Any) -> Any:
    """The end of the turn; the unstable channel counts tokens."""
    if p is v2:
        return v2.IdleStateUpdate(stop_reason="end_turn")
    usage = p.Usage(total_tokens=30, input_tokens=20, output_tokens=10)
    return p.IdleStateUpdate(stop_reason="end_turn", usage=usage)


def stalled_v2(p: Any) -> list[Any]:
    """A turn that gets no further than this."""
    return [
        p.RunningStateUpdate(),
        v2.AgentMessageChunk(message_id="message-4", content=v2.TextContent(text="One moment")),
    ]


def turn_v2(p: Any) -> list[Any]:
    """All updates of the turn in a channel."""
    tried = [] if p is v2 else experiments()
    return [*opening_v2(p), *news_v2(p), *tried, ending_v2(p)]


def opening_v1() -> list[v1.SessionUpdate]:
    """What comes before the question."""
    return [
        v1.AgentThoughtChunk(content=v1.TextContent(text="Hm.")),
        v1.AgentMessageChunk(content=v1.TextContent(text=TEXT[0])),
        v1.AgentMessageChunk(content=v1.TextContent(text=TEXT[1], meta=MARKED)),
        v1.ToolCall(
            tool_call_id="call-1",
            title="Edit a.txt",
            kind="edit",
            status="pending",
            locations=[v1.ToolCallLocation(path="/project/a.txt", line=3)],
            raw_input=RAW_INPUT,
        ),
    ]


def permission_v1() -> v1.RequestPermissionRequest:
    """The question."""
    return v1.RequestPermissionRequest(
        session_id="session-1",
        tool_call=v1.ToolCallUpdate(tool_call_id="call-1", title="Edit a.txt", status="pending"),
        options=[
            v1.PermissionOption(option_id="yes", name="Allow", kind="allow_once"),
            v1.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
        ],
    )


def news_v1() -> list[v1.SessionUpdate]:
    """What comes after it."""
    return [
        v1.SessionToolCallUpdate(
            tool_call_id="call-1",
            status="completed",
            content=[
                v1.Content(content=v1.TextContent(text="1 line changed")),
                v1.Diff(path="/project/a.txt", old_text=None, new_text="new"),
            ],
            raw_output=RAW_OUTPUT,
        ),
        v1.Plan(entries=[v1.PlanEntry(content="Edit", priority="high", status="completed")]),
    ]


def ending_v1() -> list[v1.SessionUpdate]:
    """The last updates before the answer to the prompt."""
    return [
        v1.AvailableCommandsUpdate(available_commands=[v1.AvailableCommand(name="undo", description="Take it back")]),
        v1.AgentMessageChunk(content=v1.TextContent(text="Done.")),
    ]


STALLED_V1 = v1.AgentMessageChunk(content=v1.TextContent(text="One moment"))

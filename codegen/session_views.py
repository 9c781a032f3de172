"""What the sessions template prints: the definitions that a profile's sessions are made of."""

from __future__ import annotations

from dataclasses import dataclass, fields

from codegen import ir

EXPORTS = ("AgentSession", "Session", "SessionAgent", "SessionState", "Turn")
"""The public names of a profile's sessions module."""
NEEDED = frozenset(
    {
        ("agent", "request", "session/new"),
        ("agent", "request", "session/prompt"),
        ("agent", "notification", "session/cancel"),
        ("client", "notification", "session/update"),
        ("client", "request", "session/request_permission"),
    }
)
"""Without these there are no sessions to speak of."""
ANY = "Any"


@dataclass(frozen=True)
class SessionWords:
    """Names of definitions, `Any` where the schema has none."""

    update: str
    block: str
    tool_content: str
    location: str
    plan: str
    command: str
    option: str
    activity: str
    server: str
    permission_option: str

    def definitions(self) -> frozenset[str]:
        return frozenset(getattr(self, one.name) for one in fields(self)) - {ANY}


def session_words(profile: ir.Profile) -> SessionWords | None:
    """The words of a profile; None for a schema without sessions."""
    methods = {(one.side, one.kind, one.name) for one in profile.methods}
    if profile.opening is None or not methods >= NEEDED:
        return None

    def first(*names: str) -> str:
        return next((name for name in names if name in profile.definitions), ANY)

    return SessionWords(
        update=first("SessionUpdate"),
        block=first("ContentBlock"),
        tool_content=first("ToolCallContent"),
        location=first("ToolCallLocation"),
        # Version 1 has one plan, which is an update itself.
        plan=first("PlanUpdateContent", "Plan"),
        command=first("AvailableCommand"),
        option=first("SessionConfigOption"),
        activity=first("StateUpdate"),
        server=first("McpServer"),
        permission_option=first("PermissionOption"),
    )

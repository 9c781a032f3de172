"""What each method needs, written down from protocol-facts ("What a call needs", fact S) and from v1's schema (S).

An `Own` row is a method that needs a capability; a `Held` row is something in the params that needs one, or that none
allows. Whatever is named nowhere here needs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

YES: dict[str, Any] = {}


class Own(NamedTuple):
    """A method and the capability that it needs. `kind` and the side that it is called on are the method's."""

    side: str
    kind: str
    method: str
    who: str
    path: str
    value: Any = YES
    channels: tuple[str, ...] = ("stable", "unstable")


class Held(NamedTuple):
    """Something in a method's params, where it is, and the capability that it needs of a side (None: none will do).

    `given` are the capabilities that the method itself needs.
    """

    side: str
    method: str
    more: dict[str, Any]
    pointer: str
    who: str
    path: str | None
    value: Any = YES
    given: tuple[tuple[str, Any], ...] = ()
    channels: tuple[str, ...] = ("stable", "unstable")


UNSTABLE = ("unstable",)
LOGIN = [{"type": "agent", "id": "m", "methodId": "m", "name": "M"}]
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///x", "text": "x"}}
LINK = {"type": "resource_link", "uri": "file:///x", "name": "x"}
TEXT = {"type": "text", "text": "t"}
STDIO = {"type": "stdio", "name": "n", "command": "/c", "args": [], "env": []}
HTTP = {"type": "http", "name": "n", "url": "http://localhost", "headers": []}
SSE = {**HTTP, "type": "sse"}
ACP = {"type": "acp", "name": "n", "serverId": "x"}


def asks(*names: str) -> list[str]:
    return [f"session/{name}" for name in names]


def a(method: str, path: str, value: Any = YES, kind: str = "request", channels: Any = ("stable", "unstable")) -> Own:
    return Own("agent", kind, method, "agent", path, value, channels)


def c(method: str, who: str, path: str, value: Any = YES, kind: str = "request", channels: Any = ()) -> Own:
    return Own("client", kind, method, who, path, value, channels or ("stable", "unstable"))


V2 = [
    *[a(name, "authMethods", LOGIN) for name in ("auth/login", "auth/logout")],
    *[a(name, "capabilities.session")
      for name in asks("new", "list", "resume", "close", "prompt", "set_config_option")],
    a("session/cancel", "capabilities.session", kind="notification"),
    a("session/delete", "capabilities.session.delete"),
    a("session/fork", "capabilities.session.fork", channels=UNSTABLE),
    *[a(name, "capabilities.session.archive", channels=UNSTABLE) for name in asks("archive", "unarchive")],
    a("session/status", "capabilities.session.status", channels=UNSTABLE),
    a("session/set_title", "capabilities.session.title", channels=UNSTABLE),
    *[a(f"providers/{name}", "capabilities.providers", channels=UNSTABLE) for name in ("list", "set", "disable")],
    a("auth/status", "capabilities.auth.status", channels=UNSTABLE),
    c("mcp/message", "agent", "capabilities.session.mcp.acp", channels=UNSTABLE),
    a("mcp/message", "capabilities.session.mcp.acp", kind="notification", channels=UNSTABLE),
    c("elicitation/create", "client", "capabilities.elicitation", {"form": {}}),
    c("elicitation/complete", "client", "capabilities.elicitation.url", kind="notification"),
    c("auth/status_update", "agent", "capabilities.auth.status", kind="notification", channels=UNSTABLE),
]  # fmt: skip

SESSION = (("capabilities.session", YES),)
FORK = (("capabilities.session.fork", YES),)
STARTS = [("session/new", SESSION, ("stable", "unstable")), ("session/resume", SESSION, ("stable", "unstable")),
          ("session/fork", FORK, UNSTABLE)]  # fmt: skip
PROMPTED = (*SESSION, ("capabilities.session.systemPrompt", YES))


def system_prompt(mode: str = "append", *content: Any) -> dict[str, Any]:
    return {"systemPrompt": {"mode": mode, "content": list(content) or [TEXT]}}


V2_HELD = [
    *[Held("agent", method, more, pointer, "agent", path, YES, given, channels)
      for method, given, those in STARTS
      for more, pointer, path, channels in (
          ({"additionalDirectories": ["/x"]}, "/additionalDirectories",
           "capabilities.session.additionalDirectories", those),
          ({"mcpServers": [STDIO]}, "/mcpServers/0/type", "capabilities.session.mcp.stdio", those),
          ({"mcpServers": [HTTP]}, "/mcpServers/0/type", "capabilities.session.mcp.http", those),
          ({"mcpServers": [ACP]}, "/mcpServers/0/type", "capabilities.session.mcp.acp", UNSTABLE),
          (system_prompt(), "/systemPrompt", "capabilities.session.systemPrompt", UNSTABLE))],
    *[Held("agent", method, system_prompt("override"), "/systemPrompt/mode", "agent",
           "capabilities.session.systemPrompt.mode.override", YES, PROMPTED + given, UNSTABLE)
      for method, given, _ in STARTS],
    *[Held("agent", "session/new", system_prompt("append", TEXT, block), "/systemPrompt/content/1/type", "agent", None,
           YES, PROMPTED, UNSTABLE) for block in (IMAGE, AUDIO, RESOURCE, LINK)],
    Held("agent", "session/list", {"archived": "only"}, "/archived", "agent", "capabilities.session.archive", YES,
         SESSION, UNSTABLE),
    *[Held("agent", "session/prompt", {"prompt": [TEXT, LINK, block]}, "/prompt/2/type", "agent",
           f"capabilities.session.prompt.{name}", YES, SESSION)
      for block, name in ((IMAGE, "image"), (AUDIO, "audio"), (RESOURCE, "embeddedContext"))],
    Held("client", "elicitation/create", {}, "/mode", "client", "capabilities.elicitation.form", YES,
         (("capabilities.elicitation", {}),)),
    Held("client", "elicitation/create", {"mode": "url"}, "/mode", "client", "capabilities.elicitation.url", YES,
         (("capabilities.elicitation", {}),)),
]  # fmt: skip

_V1 = "agentCapabilities"
_SESSIONS = f"{_V1}.sessionCapabilities"
V1 = [
    a("authenticate", "authMethods", LOGIN),
    a("logout", f"{_V1}.auth.logout"),
    a("session/load", f"{_V1}.loadSession", True),
    *[a(f"session/{name}", f"{_SESSIONS}.{name}") for name in ("list", "delete", "resume", "close")],
    *[a(f"session/{method}", f"{_SESSIONS}.{name}", channels=UNSTABLE)
      for method, name in (("fork", "fork"), ("archive", "archive"), ("unarchive", "archive"), ("status", "status"),
                           ("set_title", "title"))],
    *[a(f"providers/{name}", f"{_V1}.providers", channels=UNSTABLE) for name in ("list", "set", "disable")],
    a("auth/status", f"{_V1}.auth.status", channels=UNSTABLE),
    a("mcp/message", f"{_V1}.mcpCapabilities.acp", True, kind="notification", channels=UNSTABLE),
    c("mcp/message", "agent", f"{_V1}.mcpCapabilities.acp", True, channels=UNSTABLE),
    c("fs/read_text_file", "client", "clientCapabilities.fs.readTextFile", True),
    c("fs/write_text_file", "client", "clientCapabilities.fs.writeTextFile", True),
    *[c(f"terminal/{name}", "client", "clientCapabilities.terminal", True)
      for name in ("create", "output", "release", "wait_for_exit", "kill")],
    c("elicitation/create", "client", "clientCapabilities.elicitation", {"form": {}}),
    c("elicitation/complete", "client", "clientCapabilities.elicitation.url", kind="notification"),
    c("auth/status_update", "agent", f"{_V1}.auth.status", kind="notification", channels=UNSTABLE),
]  # fmt: skip

V1_STARTS: list[tuple[str, tuple[tuple[str, Any], ...], tuple[str, ...]]] = [
    ("session/new", (), ("stable", "unstable")),
    ("session/load", ((f"{_V1}.loadSession", True),), ("stable", "unstable")),
    ("session/resume", ((f"{_SESSIONS}.resume", YES),), ("stable", "unstable")),
    ("session/fork", ((f"{_SESSIONS}.fork", YES),), UNSTABLE),
]
V1_HELD = [
    *[Held("agent", method, more, pointer, "agent", path, value, given, channels)
      for method, given, those in V1_STARTS
      for more, pointer, path, value, channels in (
          ({"additionalDirectories": ["/x"]}, "/additionalDirectories", f"{_SESSIONS}.additionalDirectories", YES,
           those),
          ({"mcpServers": [HTTP]}, "/mcpServers/0/type", f"{_V1}.mcpCapabilities.http", True, those),
          ({"mcpServers": [SSE]}, "/mcpServers/0/type", f"{_V1}.mcpCapabilities.sse", True, those),
          ({"mcpServers": [ACP]}, "/mcpServers/0/type", f"{_V1}.mcpCapabilities.acp", True, UNSTABLE),
          (system_prompt(), "/systemPrompt", f"{_SESSIONS}.systemPrompt", YES, UNSTABLE))],
    Held("agent", "session/new", system_prompt("override"), "/systemPrompt/mode", "agent",
         f"{_SESSIONS}.systemPrompt.mode.override", YES, ((f"{_SESSIONS}.systemPrompt", YES),), UNSTABLE),
    Held("agent", "session/list", {"archived": "only"}, "/archived", "agent", f"{_SESSIONS}.archive", YES,
         ((f"{_SESSIONS}.list", YES),), UNSTABLE),
    *[Held("agent", "session/prompt", {"prompt": [TEXT, LINK, block]}, "/prompt/2/type", "agent",
           f"{_V1}.promptCapabilities.{name}", True)
      for block, name in ((IMAGE, "image"), (AUDIO, "audio"), (RESOURCE, "embeddedContext"))],
    Held("client", "elicitation/create", {}, "/mode", "client", "clientCapabilities.elicitation.form", YES,
         (("clientCapabilities.elicitation", {}),)),
    Held("client", "elicitation/create", {"mode": "url"}, "/mode", "client", "clientCapabilities.elicitation.url", YES,
         (("clientCapabilities.elicitation", {}),)),
    *[Held("client", "session/update", {"update": {"sessionUpdate": kind, **update}}, "/update/sessionUpdate", "client",
           f"clientCapabilities.{path}", YES, (), channels)
      for kind, update, path, channels in (
          ("notice", {"severity": "info", "title": "t"}, "session.notices", ("stable", "unstable")),
          ("compaction_update", {"compactionId": "c", "status": "completed"}, "session.compaction",
           ("stable", "unstable")),
          ("compaction_summary_chunk", {"compactionId": "c", "content": TEXT}, "session.compaction",
           ("stable", "unstable")),
          ("plan_update", {"plan": {"type": "items", "planId": "p", "entries": []}}, "plan", UNSTABLE),
          ("plan_removed", {"planId": "p"}, "plan", UNSTABLE),
          ("subagent_update", {"sessionId": "child"}, "subagents", UNSTABLE),
          ("session_message", {"messageId": "m"}, "subagents", UNSTABLE),
          ("session_message_chunk", {"messageId": "m", "content": TEXT}, "subagents", UNSTABLE))],
]  # fmt: skip

PROFILES = ("v1/stable", "v1/unstable", "v2/stable", "v2/unstable")
OWN = [
    (f"{version}/{channel}", row)
    for version, rows in (("v1", V1), ("v2", V2))
    for row in rows
    for channel in row.channels
]
HELD = [
    (f"{version}/{channel}", row)
    for version, rows in (("v1", V1_HELD), ("v2", V2_HELD))
    for row in rows
    for channel in row.channels
]

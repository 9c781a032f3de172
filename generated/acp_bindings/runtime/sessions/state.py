"""What a session's updates add up to. Pure: no connection, no clock.

    state = v2.SessionState()
    for update in recorded:
        state.apply(update)
    print(state.messages["m1"].text)

One rule for each kind of update, by its tag on the wire. What has no rule, because this version does not know it, is
kept in `unknown`, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET, field

from ..models import UnknownVariant
from .entries import (
    Activity,
    Block,
    Compaction,
    ContextUsage,
    Entry,
    Info,
    Location,
    Message,
    Subagent,
    Terminal,
    ToolCall,
    ToolContent,
)
from .rules import RULES, TAKE_UNKNOWN, activity_of, kind_of

PlanContent = TypeVar("PlanContent")
Command = TypeVar("Command")
Option = TypeVar("Option")
Update = TypeVar("Update")
E = TypeVar("E", bound=Entry)


class SessionState(
    msgspec.Struct,
    Generic[Block, ToolContent, Location, PlanContent, Command, Option, Activity, Update],
    kw_only=True,
    omit_defaults=True,
    rename="camel",
):
    """A session as it stands. States are equal when their sessions are; `to_builtins` gives plain data.

    Messages, tool calls, terminals, plans, compactions and subagents are by id, in the order in which they were first
    heard of; `timeline` has `(kind, id)` of all of them in that order. A chunk, or an update of something that was not
    heard of before, begins it. A message without an id, which version 1 allows, has a key such as `agent/1`, and should
    two kinds of message share an id, the later one's key is `kind/id`. `activity` is the newest state update, None
    while there was none (a new session is idle). Notices are events, and no part of it. `mode` is version 1's current
    mode, whose one plan has the id `plan`.

    `unknown` has what could not be applied, in order: updates that this version does not know, and those of a terminal
    whose output is not base64 (of which the rest is applied).
    """

    version: ClassVar[int]

    messages: dict[str, Message[Block]] = field(default_factory=dict)
    tool_calls: dict[str, ToolCall[ToolContent, Location]] = field(default_factory=dict)
    terminals: dict[str, Terminal] = field(default_factory=dict)
    plans: dict[str, PlanContent] = field(default_factory=dict)
    compactions: dict[str, Compaction[Block]] = field(default_factory=dict)
    subagents: dict[str, Subagent[Activity]] = field(default_factory=dict)
    timeline: list[tuple[str, str]] = field(default_factory=list)
    commands: list[Command] | None = None
    config_options: list[Option] | None = None
    modes: Any = None
    mode: str | None = None
    info: Info = field(default_factory=Info)
    usage: ContextUsage | None = None
    activity: Update | None = None
    unknown: list[Update] = field(default_factory=list)

    @property
    def is_idle(self) -> bool:
        """Whether the agent has nothing in the foreground, as far as it has told."""
        return self.activity is None or activity_of(self.activity) == "idle"

    def apply(self, update: Update) -> None:
        """Take over one update; raises nothing for one that was decoded. The update itself is never changed."""
        rule = RULES.get(kind_of(update))
        if rule is None or (isinstance(update, UnknownVariant) and rule not in TAKE_UNKNOWN):
            self.unknown.append(update)
        else:
            rule(self, update)

    def opened(self, response: Any) -> None:
        """Take over what the answer that opened the session says of it, as far as no update has said it already."""
        for name, member in (("config_options", "config_options"), ("available_commands", "commands")):
            value = getattr(response, name, UNSET)
            if isinstance(value, list) and getattr(self, member) is None:
                setattr(self, member, list(value))
        modes = getattr(response, "modes", UNSET)
        if modes not in (UNSET, None):
            self.modes = modes
            if self.mode is None:
                self.mode = modes.current_mode_id

    def to_builtins(self) -> Any:
        """The state as dicts, lists and scalars, with names as on the wire; bytes as base64."""
        plain = msgspec.to_builtins(self)
        if self.timeline:
            plain["timeline"] = [list(one) for one in self.timeline]
        return plain

    # how the rules find entries

    def _entry(self, known: dict[str, E], kind: str, identity: str, make: Callable[[], E]) -> E:
        found = known.get(identity)
        if found is None:
            found = known[identity] = make()
            self.timeline.append((kind, identity))
        return found

    def _message(self, kind: str, identity: str | None) -> Message[Block]:
        key = self._nameless(kind) if identity is None else identity
        found = self.messages.get(key)
        # Most chunks go on with what they began: the key is looked for with care where the plain one does not fit.
        while found is not None and (found.kind != kind or found.message_id != identity):
            key = f"{kind}/{key}"
            found = self.messages.get(key)
        if found is None:
            found = self.messages[key] = Message(kind=kind, message_id=identity)
            self.timeline.append(("message", key))
        return found

    def _nameless(self, kind: str) -> str:
        """Chunks without an id belong to the message before them, if that is of their kind and nothing came between."""
        if self.timeline:
            what, key = self.timeline[-1]
            if what == "message" and self.messages[key].kind == kind and self.messages[key].message_id is None:
                return key
        return f"{kind}/{len(self.messages) + 1}"

    def _tool_call(self, identity: str) -> ToolCall[ToolContent, Location]:
        return self._entry(self.tool_calls, "tool_call", identity, lambda: ToolCall(tool_call_id=identity))

    def _terminal(self, identity: str) -> Terminal:
        return self._entry(self.terminals, "terminal", identity, lambda: Terminal(terminal_id=identity))

    def _compaction(self, identity: str) -> Compaction[Block]:
        return self._entry(self.compactions, "compaction", identity, lambda: Compaction(compaction_id=identity))

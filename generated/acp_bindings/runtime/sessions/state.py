"""What a session's updates add up to. Pure: no connection, no clock.

    state = v2.SessionState()
    for update in recorded:
        state.apply(update)
    print(state.messages["m1"].text)

One rule for each kind of update, by its tag on the wire. What has no rule, because this version does not know it, is
kept in `unknown`, in order.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
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

PlanContent = TypeVar("PlanContent")
Command = TypeVar("Command")
Option = TypeVar("Option")
Update = TypeVar("Update")
E = TypeVar("E", bound=Entry)

V1_PLAN = "plan"
"""Version 1 has one plan a session, without an id."""


def kind_of(update: Any) -> str:
    """The tag of an update, known or not: `agent_message_chunk`, `tool_call_update`, `_acme.dev/mood`."""
    if isinstance(update, UnknownVariant):
        # A known kind with a nested tag that is not known has both.
        return str(update.raw["sessionUpdate"])
    try:
        return str(update.__struct_config__.tag)
    except AttributeError:
        raise TypeError(f"{type(update).__name__} is no update of a session") from None


def activity_of(update: Any) -> str | None:
    """What a state update says: `running`, `requires_action`, `idle`, another; None for any other update."""
    if kind_of(update) != "state_update":
        return None
    state = update.get("state") if isinstance(update, dict) else update.state
    return str(state)


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
        rule = _RULES.get(kind_of(update))
        if rule is None or (isinstance(update, UnknownVariant) and rule not in _TAKE_UNKNOWN):
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


State = SessionState[Any, Any, Any, Any, Any, Any, Any, Any]
Rule = Callable[[State, Any], None]


def _identity(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _chunk(kind: str) -> Rule:
    def rule(state: State, update: Any) -> None:
        state._message(kind, _identity(update.message_id)).content.append(update.content)

    return rule


def _message(kind: str) -> Rule:
    def rule(state: State, update: Any) -> None:
        state._message(kind, update.message_id).patch(update, identity="message_id")

    return rule


def _tool_call(state: State, update: Any) -> None:
    """Version 1 announces a call whole: whatever was known of that id is replaced."""
    state._tool_call(update.tool_call_id)
    call = state.tool_calls[update.tool_call_id] = ToolCall(tool_call_id=update.tool_call_id)
    call.patch(update, identity="tool_call_id", null_clears=False)


def _tool_call_update(state: State, update: Any) -> None:
    call = state._tool_call(update.tool_call_id)
    call.patch(update, identity="tool_call_id", null_clears=state.version > 1)


def _tool_call_content_chunk(state: State, update: Any) -> None:
    state._tool_call(update.tool_call_id).content.append(update.content)


def _terminal_update(state: State, update: Any) -> None:
    terminal = state._terminal(update.terminal_id)
    output: bytearray | None = terminal.output
    if update.output is None:
        output = bytearray()
    elif update.output is not UNSET:
        output = _bytes(update.output.data)
    terminal.patch(update, identity="terminal_id", without="output")
    if output is None:
        state.unknown.append(update)
    else:
        terminal.output = output


def _terminal_output_chunk(state: State, update: Any) -> None:
    data = _bytes(update.data)
    if data is None:
        state.unknown.append(update)
    else:
        state._terminal(update.terminal_id).output += data


def _bytes(text: str) -> bytearray | None:
    try:
        return bytearray(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _plan_update(state: State, update: Any) -> None:
    plan = update.plan
    # The unknown kinds of plan have an id too.
    if plan.plan_id not in state.plans:
        state.timeline.append(("plan", plan.plan_id))
    state.plans[plan.plan_id] = plan


def _plan_removed(state: State, update: Any) -> None:
    if state.plans.pop(update.plan_id, None) is not None:
        state.timeline.remove(("plan", update.plan_id))


def _plan(state: State, update: Any) -> None:
    if V1_PLAN not in state.plans:
        state.timeline.append(("plan", V1_PLAN))
    state.plans[V1_PLAN] = update


def _available_commands_update(state: State, update: Any) -> None:
    state.commands = list(update.available_commands)


def _config_option_update(state: State, update: Any) -> None:
    state.config_options = list(update.config_options)


def _current_mode_update(state: State, update: Any) -> None:
    state.mode = update.current_mode_id


def _session_info_update(state: State, update: Any) -> None:
    state.info.patch(update)


def _usage_update(state: State, update: Any) -> None:
    if state.usage is None:
        state.usage = ContextUsage(used=update.used, size=update.size)
    # Its metadata is about this report, and patches nothing.
    state.usage.patch(update, without="meta", null_clears=state.version > 1)


def _compaction_update(state: State, update: Any) -> None:
    state._compaction(update.compaction_id).patch(update, identity="compaction_id")


def _compaction_summary_chunk(state: State, update: Any) -> None:
    state._compaction(update.compaction_id).summary.append(update.content)


def _subagent_update(state: State, update: Any) -> None:
    identity = update.session_id
    child = state._entry(state.subagents, "subagent", identity, lambda: Subagent(session_id=identity))
    child.patch(update, identity="session_id")


def _state_update(state: State, update: Any) -> None:
    state.activity = update


def _notice(state: State, update: Any) -> None:
    """An event, which leaves nothing behind."""


_RULES: Mapping[str, Rule] = {
    "user_message_chunk": _chunk("user"),
    "agent_message_chunk": _chunk("agent"),
    "agent_thought_chunk": _chunk("thought"),
    "session_message_chunk": _chunk("session"),
    "user_message": _message("user"),
    "agent_message": _message("agent"),
    "agent_thought": _message("thought"),
    "session_message": _message("session"),
    "state_update": _state_update,
    "tool_call": _tool_call,
    "tool_call_update": _tool_call_update,
    "tool_call_content_chunk": _tool_call_content_chunk,
    "terminal_update": _terminal_update,
    "terminal_output_chunk": _terminal_output_chunk,
    "plan": _plan,
    "plan_update": _plan_update,
    "plan_removed": _plan_removed,
    "available_commands_update": _available_commands_update,
    "config_option_update": _config_option_update,
    "current_mode_update": _current_mode_update,
    "session_info_update": _session_info_update,
    "usage_update": _usage_update,
    "compaction_update": _compaction_update,
    "compaction_summary_chunk": _compaction_summary_chunk,
    "subagent_update": _subagent_update,
    "notice": _notice,
}
_TAKE_UNKNOWN: tuple[Rule, ...] = (_state_update,)
"""Rules that take variants too whose nested tag is not known."""

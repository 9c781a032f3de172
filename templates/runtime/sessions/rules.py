"""The rules by which updates change a session's state: one for each kind, by its tag on the wire."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET

from ..models import UnknownVariant
from .entries import ContextUsage, Subagent, ToolCall

if TYPE_CHECKING:
    from .state import SessionState

    State: TypeAlias = SessionState[Any, Any, Any, Any, Any, Any, Any, Any]
    Rule: TypeAlias = Callable[[State, Any], None]

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


RULES: Mapping[str, Rule] = {
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
TAKE_UNKNOWN: tuple[Rule, ...] = (_state_update,)
"""Rules that take variants too whose nested tag is not known."""

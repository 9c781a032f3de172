"""What a value of the protocol is, in one line, for interfaces that show whatever comes, known or not."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .models import UnknownVariant, is_extension

LINE = 160
"""Characters of a description, beyond which it is cut."""
ITEMS = 160
"""Members of an object and items of a list that are looked at."""
DEPTH = 8
"""Levels of a value that are looked at."""
_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"
_CUT = "…"
Wire = Mapping[str, Any]


def describe(value: Any, limit: int = LINE) -> str:
    """An update, a content block, a tool kind or any other value in one line of 1 to `limit` characters.

    It holds nothing that moves a cursor or turns text around: what is not printable is escaped. What this version does
    not know is shown by its tag and its members. Raises nothing, whatever a model holds.

        describe(update)   # tool call t1 (edit, completed): Write notes.txt
    """
    said = _said(value)
    # A little more than can be shown, since spaces are joined: cost does not grow with the size of a text.
    text = printable(said[: 4 * limit]) or "nothing"
    return text if len(text) <= limit and len(said) <= 4 * limit else text[: max(limit, 1) - 1] + _CUT


def printable(text: str) -> str:
    """Text in one line, with what is not printable escaped."""
    line = _SPACE.sub(" ", text).strip()
    if line.isprintable():
        return line
    # A joiner makes one picture of several; everything else of its kind could hide or turn text.
    return "".join(one if one.isprintable() or one == _JOINER else ascii(one)[1:-1] for one in line)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return f"{value} (extension)" if is_extension(value) else value
    if isinstance(value, UnknownVariant):
        return _unknown(value)
    if isinstance(value, msgspec.Struct):
        return _known(value)
    return _json(value)


def _known(model: msgspec.Struct) -> str:
    wire, tag_field = _wire(model), model.__struct_config__.tag_field
    if tag_field is None:
        return f"{type(model).__name__} {_json(wire)}"
    tag = str(wire[tag_field])
    rules = _UPDATES if tag_field == "sessionUpdate" else _BLOCKS
    rule = rules.get(tag)
    if rule is not None:
        # Unions share tags, and models that were not decoded hold anything.
        with contextlib.suppress(LookupError, TypeError, AttributeError):
            return rule(wire)
    return f"{_spaced(tag)}{_rest(wire, tag_field)}"


def _wire(value: Any) -> Any:
    """A model's members by their names on the wire, as they are; what is no model is itself."""
    if not isinstance(value, msgspec.Struct):
        return value
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    members = {wire: getattr(value, name) for wire, name in names}
    config = value.__struct_config__
    tag = {} if config.tag_field is None else {config.tag_field: config.tag}
    return tag | {wire: one for wire, one in members.items() if one is not msgspec.UNSET and one != []}


def _unknown(value: UnknownVariant) -> str:
    # Of a known kind with a nested tag that is not known, the kind says more than the tag.
    if value.get("sessionUpdate") == "state_update" and value.get("state") == "idle":
        return _state(value)
    kind = "extension" if value.is_extension else "unknown kind"
    fields = [name for name in ("sessionUpdate", "state", "type") if isinstance(value.get(name), str)]
    shown = [name for name in fields if value[name] in (value.tag, "state_update")]
    return f"{value.tag} ({kind}){_rest(value, *shown)}"


def _rest(wire: Wire, *without: str) -> str:
    members = {key: one for key, one in wire.items() if key not in without and key != "_meta"}
    return f": {_json(members)}" if members else ""


def _json(value: Any) -> str:
    return json.dumps(_shortened(value), ensure_ascii=False, default=str)


def _shortened(value: Any, depth: int = DEPTH) -> Any:
    """A value of which not much more is left than what a line can show, so that cost does not grow with its size."""
    value = _wire(value)
    if isinstance(value, str):
        return value if len(value) <= 4 * LINE else value[: 4 * LINE] + _CUT
    if not isinstance(value, Mapping | list | tuple):
        return value
    if not depth:
        return _CUT
    cut = len(value) > ITEMS
    if isinstance(value, Mapping):
        found = {_shortened(str(key)): _shortened(value[key], depth - 1) for key in itertools.islice(value, ITEMS)}
        return found | {_CUT: _CUT} if cut else found
    return [_shortened(one, depth - 1) for one in value[:ITEMS]] + [_CUT] * cut


def _spaced(tag: str) -> str:
    return tag.replace("_", " ")


def _blocks(content: Any) -> str:
    """A content block, anything else with a type, or several of them."""
    listed = content if isinstance(content, list) else [content] if content else []
    return " ".join(map(_said, listed[:ITEMS])) or "nothing"


def _text(wire: Wire) -> str:
    return str(wire["text"])


def _data(wire: Wire) -> str:
    size = len(str(wire.get("data", ""))) * 3 // 4
    return f"[{wire['type']} {wire.get('mimeType', '')}, {_bytes(size)}]"


def _bytes(size: int) -> str:
    return f"{size} bytes" if size < 10_000 else f"{size // 1000} kB"


def _link(wire: Wire) -> str:
    return f"[{wire.get('title') or wire['name']}: {wire['uri']}]"


def _resource(wire: Wire) -> str:
    return f"[resource {_wire(wire['resource']).get('uri', '')}]"


def _content(wire: Wire) -> str:
    return _blocks(wire["content"])


def _diff(wire: Wire) -> str:
    changes = [wire] if "path" in wire else wire.get("changes", [])
    return f"[diff of {', '.join(str(_wire(one).get('path')) for one in changes[:ITEMS]) or 'nothing'}]"


def _terminal(wire: Wire) -> str:
    return f"[terminal {wire['terminalId']}]"


def _who(name: str, member: str) -> Callable[[Wire], str]:
    def rule(wire: Wire) -> str:
        return f"{name}: {_blocks(wire.get(member))}"

    return rule


def _tool_call(wire: Wire) -> str:
    details = ", ".join(str(wire[name]) for name in ("kind", "status") if wire.get(name))
    title = wire.get("title") or wire.get("name") or ""
    text = f"tool call {wire['toolCallId']}{f' ({details})' if details else ''}{f': {title}' if title else ''}"
    content = wire.get("content")
    return f"{text} {_blocks(content)}" if content else text


def _tool_call_content(wire: Wire) -> str:
    return f"tool call {wire['toolCallId']}: {_blocks(wire['content'])}"


def _terminal_update(wire: Wire) -> str:
    status = wire.get("exitStatus")
    ended = f" exited with {_json(status)}" if status else ""
    return f"terminal {wire['terminalId']}{': ' + str(wire['command']) if wire.get('command') else ''}{ended}"


def _terminal_output(wire: Wire) -> str:
    return f"terminal {wire['terminalId']}: {_bytes(len(wire['data']) * 3 // 4)} of output"


def _plan(wire: Wire) -> str:
    plan = wire.get("plan", wire)
    if isinstance(plan, UnknownVariant):
        return f"plan: {_unknown(plan)}"
    plan = _wire(plan)
    if said := plan.get("uri") or plan.get("content"):
        return f"plan {plan.get('planId', '')}: {said}"
    entries = plan.get("entries", [])
    left = [one for one in entries if one.status != "completed"]
    done = f"{len(entries) - len(left)} of {len(entries)} done"
    return f"plan: {done}, next: {left[0].content}" if left else f"plan: {done}"


def _state(wire: Wire) -> str:
    reason, error = wire.get("stopReason"), _wire(wire.get("error"))
    text = f"{wire.get('state')}{f' ({reason})' if reason else ''}"
    return f"{text}: {error.get('message')}" if isinstance(error, Mapping) else text


def _listed(name: str, member: str, label: str) -> Callable[[Wire], str]:
    def rule(wire: Wire) -> str:
        return f"{name}: {', '.join(str(_wire(one).get(label)) for one in wire.get(member, [])[:ITEMS]) or 'none'}"

    return rule


def _info(wire: Wire) -> str:
    return f"session is called {wire['title']}" if wire.get("title") else f"session info{_rest(wire, 'sessionUpdate')}"


def _amount(value: Any) -> str:
    """Sums of floats without the digits that are noise."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _usage(wire: Wire) -> str:
    cost = _wire(wire.get("cost"))
    spent = f", {_amount(cost['amount'])} {cost['currency']}" if cost else ""
    return f"usage: {wire['used']} of {wire['size']} tokens{spent}"


def _notice(wire: Wire) -> str:
    return f"{wire['severity']}: {wire['title']}{' ' + wire['description'] if wire.get('description') else ''}"


def _compaction(wire: Wire) -> str:
    error = wire.get("error")
    return f"compaction {wire['compactionId']}: {wire['status']}{f', {error}' if error else ''}"


def _compaction_summary(wire: Wire) -> str:
    return f"compaction {wire['compactionId']}: {_blocks(wire['content'])}"


_BLOCKS: Mapping[str, Callable[[Wire], str]] = {
    "text": _text,
    "image": _data,
    "audio": _data,
    "resource_link": _link,
    "resource": _resource,
    "content": _content,
    "diff": _diff,
    "terminal": _terminal,
}
_UPDATES: Mapping[str, Callable[[Wire], str]] = {
    "user_message_chunk": _who("user", "content"),
    "user_message": _who("user", "content"),
    "agent_message_chunk": _who("agent", "content"),
    "agent_message": _who("agent", "content"),
    "agent_thought_chunk": _who("thought", "content"),
    "agent_thought": _who("thought", "content"),
    "session_message_chunk": _who("message", "content"),
    "session_message": _who("message", "content"),
    "state_update": _state,
    "tool_call": _tool_call,
    "tool_call_update": _tool_call,
    "tool_call_content_chunk": _tool_call_content,
    "terminal_update": _terminal_update,
    "terminal_output_chunk": _terminal_output,
    "plan": _plan,
    "plan_update": _plan,
    "available_commands_update": _listed("commands", "availableCommands", "name"),
    "config_option_update": _listed("settings", "configOptions", "name"),
    "session_info_update": _info,
    "usage_update": _usage,
    "notice": _notice,
    "compaction_update": _compaction,
    "compaction_summary_chunk": _compaction_summary,
}

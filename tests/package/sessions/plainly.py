"""A plain reading of the rules that updates follow, over JSON as it is on the wire, with nothing of ours in it.

Slow and simple on purpose: an entry is a dict, a patch is a loop, and all of it is forgotten and read again each time.
It reads updates that are valid for the schema.
"""

from __future__ import annotations

import base64
from typing import Any

Json = Any
# By kind of update: where its entries are, what names them, and what they start with.
UPSERTS: dict[str, tuple[str, str, dict[str, Json]]] = {
    "tool_call_update": (
        "toolCalls",
        "toolCallId",
        {"kind": "other", "status": "pending", "content": [], "locations": []},
    ),
    "terminal_update": ("terminals", "terminalId", {"output": ""}),
    "compaction_update": ("compactions", "compactionId", {"status": "in_progress", "summary": []}),
    "subagent_update": ("subagents", "sessionId", {}),
}
MESSAGES = {"user_message": "user", "agent_message": "agent", "agent_thought": "thought", "session_message": "session"}
CHUNKS = {f"{tag}_chunk": who for tag, who in MESSAGES.items()}
NAMES = {place: identity for place, identity, _ in UPSERTS.values()}
REPLACED = {
    "available_commands_update": ("commands", "availableCommands"),
    "config_option_update": ("configOptions", "configOptions"),
    "current_mode_update": ("mode", "currentModeId"),
}
DEFAULTS = {place: defaults for place, _, defaults in UPSERTS.values()} | {"messages": {"content": []}}
WORDS = {
    "toolCalls": "tool_call", "terminals": "terminal", "compactions": "compaction", "subagents": "subagent",
    "messages": "message", "plans": "plan",
}  # fmt: skip


def reading(updates: list[Json], version: int) -> Json:
    """The state after these updates, with every default left out."""
    state: dict[str, Any] = {place: {} for place in WORDS} | {"timeline": [], "unknown": [], "info": {}}
    for update in updates:
        take(state, update, version)
    return tidy(state)


def take(state: Json, update: Json, version: int) -> None:
    tag = update["sessionUpdate"]
    members = {key: value for key, value in update.items() if key != "sessionUpdate"}
    if version == 1:
        # What is as old as version 1 knows no null that clears; later kinds are as in version 2.
        if tag in ("tool_call", "tool_call_update", "usage_update"):
            members = {key: value for key, value in members.items() if value is not None}
        if tag == "tool_call":
            entry(state, "toolCalls", members["toolCallId"]).clear()
            tag = "tool_call_update"
    if tag in UPSERTS:
        place, identity, defaults = UPSERTS[tag]
        patch(entry(state, place, members[identity]), members, defaults)
    elif tag in MESSAGES:
        patch(message(state, MESSAGES[tag], members["messageId"]), members, {"content": []})
    elif tag in CHUNKS:
        found = message(state, CHUNKS[tag], members.get("messageId"))
        found["content"] = [*found.get("content", []), members["content"]]
    elif tag == "tool_call_content_chunk":
        found = entry(state, "toolCalls", members["toolCallId"])
        found["content"] = [*found.get("content", []), members["content"]]
    elif tag == "compaction_summary_chunk":
        found = entry(state, "compactions", members["compactionId"])
        found["summary"] = [*found.get("summary", []), members["content"]]
    elif tag == "terminal_output_chunk":
        found = entry(state, "terminals", members["terminalId"])
        found["output"] = joined(found.get("output", ""), members["data"])
    else:
        take_of_session(state, tag, update, members)


def take_of_session(state: Json, tag: str, update: Json, members: Json) -> None:
    if tag == "plan_update":
        put(state, "plans", members["plan"]["planId"], members["plan"])
    elif tag == "plan":
        put(state, "plans", "plan", update)
    elif tag == "plan_removed":
        if state["plans"].pop(members["planId"], None) is not None:
            state["timeline"].remove(["plan", members["planId"]])
    elif tag in REPLACED:
        place, member = REPLACED[tag]
        state[place] = members[member]
    elif tag == "session_info_update":
        patch(state["info"], members, {})
    elif tag == "usage_update":
        members.pop("_meta", None)
        state["usage"] = patched(state.get("usage", {}), members)
    elif tag == "state_update":
        state["activity"] = update
    elif tag != "notice":
        state["unknown"].append(update)


def entry(state: Json, place: str, key: str) -> Json:
    if key not in state[place]:
        put(state, place, key, {NAMES[place]: key})
    return state[place][key]


def put(state: Json, place: str, key: str, value: Json) -> None:
    if key not in state[place]:
        state["timeline"].append([WORDS[place], key])
    state[place][key] = value


def message(state: Json, who: str, identity: str | None) -> Json:
    """Without an id it is the last thing that was heard of, if that is such a message too, or else a new one."""
    messages = state["messages"]
    if identity is None:
        last = state["timeline"][-1] if state["timeline"] else ["", ""]
        before = messages[last[1]] if last[0] == "message" else {}
        if before.get("kind") == who and "messageId" not in before:
            return before
    for found in messages.values():
        if identity is not None and (found["kind"], found.get("messageId")) == (who, identity):
            return found
    key = identity if identity is not None else f"{who}/{len(messages) + 1}"
    while key in messages:
        key = f"{who}/{key}"
    put(state, "messages", key, {"kind": who} | ({} if identity is None else {"messageId": identity}))
    return messages[key]


def patch(found: Json, members: Json, defaults: Json) -> None:
    new = patched({**defaults, **found}, members)
    for key, value in defaults.items():
        if new.get(key) is None:
            new[key] = value
    if isinstance(new.get("output"), dict):
        new["output"] = new["output"]["data"]
    found.clear()
    found.update(new)


def patched(old: Json, members: Json) -> Json:
    new = {**old, **members}
    if members.get("_meta") is not None:
        both = {**(old.get("_meta") or {}), **members["_meta"]}
        new["_meta"] = {key: value for key, value in both.items() if value is not None}
    return new


def joined(first: str, second: str) -> str:
    return base64.b64encode(base64.b64decode(first) + base64.b64decode(second)).decode()


def tidy(state: Json) -> Json:
    """Without what says nothing: places without entries, and members that are null or at their defaults."""
    found = {key: value for key, value in state.items() if value not in ({}, [])}
    for place, defaults in DEFAULTS.items():
        if place in found:
            found[place] = {key: trimmed(one, defaults) for key, one in found[place].items()}
    for place in ("info", "usage"):
        if place in found:
            found[place] = trimmed(found[place], {})
    return {key: value for key, value in found.items() if key != "info" or value}


def trimmed(members: Json, defaults: Json) -> Json:
    defaults = {"_meta": {}, **defaults}
    return {
        key: one for key, one in members.items() if one is not None and (key not in defaults or one != defaults[key])
    }

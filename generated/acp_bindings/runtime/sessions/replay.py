"""A session's history in the words of the version that asks for it: agents of several versions may share a store."""

from __future__ import annotations

import logging
from typing import Any

from ..codec import convert, decode
from ..errors import DecodeError
from ..models import UnknownVariant
from .words import Words, new_id

MESSAGES = frozenset({"user_message", "agent_message", "agent_thought"})
CHUNKS = frozenset(f"{kind}_chunk" for kind in MESSAGES)
PLAN = "plan"
"""The id of version 1's one plan, where it needs one."""
log = logging.getLogger("acp_bindings")
Wire = dict[str, Any]


class Replay:
    """Turns updates as they were kept into updates to send, one after the other."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._begun: set[str] = set()
        self._contents: dict[str, list[Any]] = {}
        self._nameless: tuple[str, str] | None = None

    def told(self, body: bytes) -> list[Any]:
        """What to send for one update: none for what this version has no words for, which is logged."""
        kept = decode(body, Wire)
        found = []
        for wire in self._older(kept) if self._words.version == 1 else self._newer(kept):
            try:
                notification: Any = convert({"sessionId": "", "update": wire}, self._words.update_form)
            except DecodeError as error:
                log.info("a %s of the history is left out of the replay: %s", wire["sessionUpdate"], error)
                continue
            update = notification.update
            if isinstance(update, UnknownVariant) and not update.is_extension:
                log.info("a %s of the history is left out of the replay", update.tag)
                continue
            found.append(update)
        return found

    def _newer(self, wire: Wire) -> list[Wire]:
        """In the words of version 2."""
        kind = wire["sessionUpdate"]
        if kind in CHUNKS:
            return self._piece(wire, kind)
        self._nameless = None
        if kind in MESSAGES:
            self._begun.add(wire["messageId"])
        elif kind == "tool_call":
            return [wire | {"sessionUpdate": "tool_call_update"}]
        elif kind == "plan":
            plan = {"type": "items", "planId": PLAN, "entries": wire["entries"]}
            return [{"sessionUpdate": "plan_update", "plan": plan}]
        return [wire]

    def _piece(self, wire: Wire, kind: str) -> list[Wire]:
        """A piece of a message, after the message itself: a client that has it already would add the piece to that."""
        message = wire.get("messageId")
        if message is None:
            if self._nameless is None or self._nameless[0] != kind:
                self._nameless = kind, new_id()
            message = self._nameless[1]
        else:
            self._nameless = None
        piece = wire | {"messageId": message}
        if message in self._begun:
            return [piece]
        self._begun.add(message)
        return [{"sessionUpdate": kind.removesuffix("_chunk"), "messageId": message, "content": []}, piece]

    def _older(self, wire: Wire) -> list[Wire]:
        """In the words of version 1, where everything but a message is told whole."""
        kind = wire["sessionUpdate"]
        if kind in MESSAGES:
            head = {"sessionUpdate": f"{kind}_chunk", "messageId": wire["messageId"]}
            return [head | {"content": block} for block in wire.get("content") or ()]
        if kind == "tool_call_content_chunk":
            call = wire["toolCallId"]
            self._contents.setdefault(call, []).append(wire["content"])
            return [{"sessionUpdate": "tool_call_update", "toolCallId": call, "content": self._contents[call]}]
        if kind in ("tool_call", "tool_call_update"):
            return [self._call(wire)]
        if kind == "plan_update" and "entries" in wire["plan"]:
            return [{"sessionUpdate": "plan", "entries": wire["plan"]["entries"]}]
        return [wire]

    def _call(self, wire: Wire) -> Wire:
        call = wire["toolCallId"]
        if "content" in wire:
            self._contents[call] = list(wire["content"] or ())
        if wire.get("status") == "cancelled":
            wire = wire | {"status": "failed"}
        if call not in self._begun and wire.get("title"):
            wire = wire | {"sessionUpdate": "tool_call"}
        self._begun.add(call)
        return wire

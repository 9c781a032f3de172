"""What a session is made of, as its updates have left it: messages, tool calls, terminals and the rest.

Every entry starts at the protocol's defaults, and is patched by the updates that name it: a property that an update
leaves out stays, null resets it to its default, a value replaces it; `_meta` is patched key by key.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, field

Block = TypeVar("Block")
ToolContent = TypeVar("ToolContent")
Location = TypeVar("Location")
Activity = TypeVar("Activity")


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """Anything that updates patch. `extra` has properties that this version of the state has no member for, by their
    Python names."""

    meta: dict[str, Any] = field(default_factory=dict, name="_meta")
    extra: dict[str, Any] = field(default_factory=dict)

    def patch(self, update: Any, *, identity: str = "", without: str = "", null_clears: bool = True) -> None:
        """Take over what an update says. `identity` is the member that says which entry is meant; `without` one that
        is not taken over.

        For some kinds of version 1 null means what absent means: `null_clears` is off for them.
        """
        for name in update.__struct_fields__:
            value = getattr(update, name)
            if value is UNSET or name in (identity, without) or (value is None and not null_clears):
                continue
            if name == "meta":
                self.patch_meta(value)
            elif name not in self.__struct_fields__:
                self._patch_extra(name, value)
            elif value is None:
                setattr(self, name, _default(type(self), name))
            else:
                # The update's own list stays as it came: what is appended later is not part of it.
                setattr(self, name, list(value) if isinstance(value, list) else value)

    def patch_meta(self, value: dict[str, Any] | UnsetType | None) -> None:
        """Patch `_meta` by top-level keys: null removes one, null for the whole clears it."""
        if value is None:
            self.meta = {}
        elif isinstance(value, dict):
            known = {**self.meta, **value}
            self.meta = {key: one for key, one in known.items() if one is not None}

    def _patch_extra(self, name: str, value: Any) -> None:
        if value is None:
            self.extra.pop(name, None)
        else:
            self.extra[name] = value


def _default(form: type[Entry], name: str) -> Any:
    found = next(one for one in msgspec.structs.fields(form) if one.name == name)
    return found.default if found.default_factory is msgspec.NODEFAULT else found.default_factory()


class Message(Entry, Generic[Block]):
    """A message: `kind` is `user`, `agent`, `thought`, or `session` for one between sessions.

    `message_id` is None where the agent gave none, which version 1 allows.
    """

    kind: str
    message_id: str | None = None
    content: list[Block] = field(default_factory=list)
    sender_session_id: str | None = None
    recipient_session_id: str | None = None
    sender_message_id: str | None = None
    recipient_message_id: str | None = None

    @property
    def text(self) -> str:
        """The text of its text blocks, joined."""
        return "".join(getattr(block, "text", "") for block in self.content if _is_text(block))


def _is_text(block: Any) -> bool:
    return isinstance(block, msgspec.Struct) and block.__struct_config__.tag == "text"


class ToolCall(Entry, Generic[ToolContent, Location]):
    """A tool call, `pending` and of kind `other` until an update says otherwise."""

    tool_call_id: str
    name: str | None = None
    title: str | None = None
    kind: str = "other"
    status: str = "pending"
    content: list[ToolContent] = field(default_factory=list)
    locations: list[Location] = field(default_factory=list)
    raw_input: Any = None
    raw_output: Any = None
    capabilities: Any = None


class Terminal(Entry):
    """A terminal of the agent; `output` has the bytes that it wrote, `exit_status` is there once it has exited."""

    terminal_id: str
    command: str | None = None
    cwd: str | None = None
    output: bytearray = field(default_factory=bytearray)
    exit_status: Any = None
    size: Any = None
    capabilities: Any = None


class Compaction(Entry, Generic[Block]):
    """A compaction of the context, in progress until an update says otherwise."""

    compaction_id: str
    status: str = "in_progress"
    summary: list[Block] = field(default_factory=list)
    error: str | None = None


class Subagent(Entry, Generic[Activity]):
    """A child session, as its parent tells of it. What it may be asked to do is in `capabilities`."""

    session_id: str
    title: str | None = None
    description: str | None = None
    capabilities: Any = None
    state: Activity | None = None
    cwd: str | None = None
    additional_directories: list[str] | None = None


class Info(Entry):
    """What the session is called, and when something last happened in it (RFC 3339)."""

    title: str | None = None
    updated_at: str | None = None


class ContextUsage(Entry):
    """Tokens in the model's context and its size, and what the session has cost so far."""

    used: int
    size: int
    cost: Any = None

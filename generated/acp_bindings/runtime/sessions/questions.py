"""What an agent asks its user for permission, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ..codec import convert, to_builtins
from ..models import UnknownVariant
from .words import Words, new_id

Option = TypeVar("Option")
DEFAULT_OPTIONS = [
    {"optionId": "allow_once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject_once", "name": "Reject", "kind": "reject_once"},
]


class Answer(msgspec.Struct, Generic[Option], frozen=True):
    """What came of a question for permission: the `option` chosen, None for none; `outcome` is the answer as it came.

    An option that was not on offer, and an outcome that is not known, count as denied.
    """

    outcome: Any
    option: Option | None

    @property
    def allowed(self) -> bool:
        """Whether one of the options that allow was chosen."""
        return getattr(self.option, "kind", None) in ("allow_once", "allow_always")

    @property
    def cancelled(self) -> bool:
        """Whether nothing was chosen: the turn was cancelled, or the question was dismissed."""
        return not isinstance(self.outcome, UnknownVariant) and _tag(self.outcome) == "cancelled"

    @property
    def denied(self) -> bool:
        """Whether the answer was anything but yes, and not a cancellation either."""
        return not self.allowed and not self.cancelled


def _tag(model: Any) -> Any:
    return model.__struct_config__.tag


def question(
    words: Words, session_id: str, title: str, tool_call: Any, description: str | None, options: Sequence[Any] | None
) -> Any:
    """The request for permission, in the words of the version."""
    listed = [to_builtins(one) for one in options] if options is not None else DEFAULT_OPTIONS
    call = {"toolCallId": tool_call} if isinstance(tool_call, str) else tool_call and to_builtins(tool_call)
    wire: dict[str, Any] = {"sessionId": session_id, "options": listed}
    if words.version == 1:
        # Here the question is about a call, and the call has the title.
        wire["toolCall"] = {"toolCallId": new_id(), "title": title, **(call or {})}
    else:
        wire["title"] = title
        if description is not None:
            wire["description"] = description
        if call:
            wire["subject"] = {"type": "tool_call", "toolCall": call}
    return convert(wire, words.ask_form)

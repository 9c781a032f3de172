"""What explaining yields: a tree of what a value was read as, and what is worth saying about places in it.

These are plain data: `printing` makes text of them, and as JSON they are what `--json` prints. Whoever changes a name
here changes that format (docs/explain.md).
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

Mark: TypeAlias = Literal["invalid", "unknown", "extension", "tolerated", "ignored", "repeated", "unmatched", "unread"]
"""`invalid` fails the message. `unknown` is a variant, value or method that this version does not have, `extension` one
that is somebody's own, by the underscore of its name. `tolerated` is invalid, but a tolerance rule drops it. `ignored`
is a property that nothing reads, `repeated` one that is there more than once: the last counts. `unmatched` is an answer
to no call that was seen, `unread` what is nested too deeply to be looked into.
"""
HARMLESS: frozenset[Mark] = frozenset({"extension"})
"""Marks that `--strict` does not count either."""


class Finding(msgspec.Struct, frozen=True):
    """Something about one place: `pointer` is a JSON Pointer into the message (of a bare value: into the value)."""

    mark: Mark
    pointer: str
    reason: str


class Item(msgspec.Struct):
    """One value as it was read.

    `name` is the Python attribute, `wire` the property or index that it is at. `type` is a class of the profile, else
    the JSON kind, and `tag` the property that chose that class. What has no children has its JSON value as `value`.
    `state` is "missing" for a required property that is not there, "default" for one that the schema fills in.
    """

    pointer: str
    name: str | None
    wire: str | int | None
    type: str
    tag: str | None = None
    value: Any = UNSET
    state: Literal["given", "default", "missing"] = "given"
    children: list[Item] = []


class Message(msgspec.Struct, kw_only=True):
    """One message of a transcript, or one bare value.

    `direction` is as the transcript says it. `side` receives the method, `type` is what its params or its result are
    read as, None where nobody knows, and `answers` the line of the call that this answers. Of what is malformed, the
    tree is the text up to where it goes wrong; of noise, its start.
    """

    line: int
    direction: str | None
    kind: Literal["value", "request", "notification", "response", "error", "malformed", "noise"]
    id: int | str | UnsetType | None = UNSET
    method: str | None = None
    side: str | None = None
    type: str | None = None
    answers: int | None = None
    valid: bool = True
    findings: list[Finding] = []
    tree: Item | None = None


class Unanswered(msgspec.Struct):
    """A call without an answer."""

    line: int
    id: int | str | None
    method: str


class Summary(msgspec.Struct):
    """All in all. `messages` does not count noise; `marks` has how many findings there are of each kind."""

    profile: str
    messages: int = 0
    invalid: int = 0
    noise: int = 0
    marks: dict[str, int] = {}
    unanswered: list[Unanswered] = []
    hint: str | None = None

    def add(self, message: Message) -> None:
        """Count one message."""
        if message.kind == "noise":
            self.noise += 1
            return
        self.messages += 1
        self.invalid += not message.valid
        for finding in message.findings:
            self.marks[finding.mark] = self.marks.get(finding.mark, 0) + 1

    def clean(self, strict: bool) -> bool:
        """Whether nothing is invalid; with `strict`, whether there is nothing to say at all, extensions aside."""
        counted = self.marks.keys() - HARMLESS if strict else ()
        return not self.invalid and not counted

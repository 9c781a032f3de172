"""What a diff found, as plain data: every renderer reads this and nothing else.

    Report -> changes: Change -> senders, receivers, python: Effect
           -> tables: Table (a changed definition, old beside new) -> Row
           -> pairings: Pairing (what the old and the new peers of two roles may expect of each other)

The three classes of a change answer three questions:

    senders     whoever writes by OLD meets readers of NEW: is a message refused, or read as something else?
    receivers   whoever reads by OLD meets writers of NEW: the same question, the other way round
    python      code written against the package of OLD runs with the package of NEW

`breaking` is yes. `additive` is no, but there is something new to write, to read or to handle. `neutral` is neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Level = Literal["neutral", "additive", "breaking"]
LEVELS: Final[tuple[Level, ...]] = ("neutral", "additive", "breaking")
"""From the mildest to the worst."""
Action = Literal["added", "removed", "changed", "renamed"]
Subject = Literal[
    "protocol", "profile", "method", "need", "promise", "definition", "base", "capability", "field", "variant", "value"
]
Flow: TypeAlias = tuple[str, str]
"""Who sends a thing, and who receives it: `("client", "agent")`."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One class of a change and its reason, a phrase without a full stop."""

    level: Level
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    `kind` is its key in the table of reasons (`codegen.diff.kinds`). `owner` is the definition, the method or the
    profile that changed, by its new name; `member` the field, tag or value in it, empty where the owner itself changed.
    `before` and `after` say how it reads in a few words, empty where it is not there. `flows` are empty for what no
    method carries.
    """

    profiles: tuple[str, ...]
    kind: str
    action: Action
    subject: Subject
    owner: str
    member: str
    before: str
    after: str
    senders: Effect
    receivers: Effect
    python: Effect
    flows: tuple[Flow, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def wire(self) -> Level:
        """The worse of what it means to senders and to receivers."""
        return worst((self.senders.level, self.receivers.level))

    @property
    def level(self) -> Level:
        """The worst of the three."""
        return worst((self.wire, self.python.level))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: how a member reads in the old and in the new definition, empty where it is not there."""

    member: str
    old: str
    new: str

    @property
    def state(self) -> Literal["same", "added", "removed", "changed"]:
        if self.old == self.new:
            return "same"
        return "changed" if self.old and self.new else "added" if self.new else "removed"


@dataclass(frozen=True, slots=True)
class Table:
    """One changed definition, the old one beside the new one. A name is empty where there is no such definition."""

    profiles: tuple[str, ...]
    old: str
    new: str
    rows: tuple[Row, ...]

    @property
    def owner(self) -> str:
        return self.new or self.old


@dataclass(frozen=True, slots=True)
class Pairing:
    """A peer by OLD and a peer by NEW on one connection, and how many changes break what they say to each other."""

    profiles: tuple[str, ...]
    old: str
    new: str
    breaking: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the profile of one side came from."""

    profile: str
    source: str
    version: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that a diff found. Equal inputs give equal reports."""

    old: tuple[Origin, ...]
    new: tuple[Origin, ...]
    profiles: tuple[str, ...]
    changes: tuple[Change, ...]
    tables: tuple[Table, ...]
    pairings: tuple[Pairing, ...]
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """The worst of all changes; `neutral` when there is none."""
        return worst(change.level for change in self.changes)

    def fails(self, on: Level) -> bool:
        """Whether any change is of class `on`, or worse."""
        return any(at_least(change.level, on) for change in self.changes)


def worst(levels: Iterable[Level]) -> Level:
    """The worst level; `neutral` of none."""
    return max(levels, key=LEVELS.index, default="neutral")


def at_least(level: Level, least: Level) -> bool:
    return LEVELS.index(level) >= LEVELS.index(least)

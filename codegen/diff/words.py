"""What all renderers say alike: a change as a phrase, who sends and receives, counts, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegen.diff.kinds import TABLE
from codegen.diff.report import LEVELS, Action, Change, Effect, Flow, Origin, Pairing, Report, Subject, worst

SIGNS: Final[Mapping[Action, str]] = {"added": "+", "removed": "-", "changed": "~", "renamed": ">"}
DOCS: Final = "definition-docs"
SIDES: Final = ("senders", "receivers", "python")
"""The three classes of a change, in the order in which they are shown."""
LEGEND: Final = (
    ("senders", "who writes by the old schema meets who reads by the new one"),
    ("receivers", "who reads by the old schema meets who writes by the new one"),
    ("python", "source code that uses the generated package"),
)
_LABELS: Final[Mapping[Subject, str]] = {"base": "base class", "promise": "promise of", "protocol": "", "profile": ""}


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that the same profiles have, by what changed."""

    profiles: tuple[str, ...]
    owners: tuple[tuple[str, tuple[Change, ...]], ...]

    @property
    def title(self) -> str:
        return ", ".join(self.profiles)

    @property
    def changes(self) -> list[Change]:
        return [change for _, changes in self.owners for change in changes]

    @property
    def told(self) -> list[tuple[str, list[Change]]]:
        """The owners with more to tell than that their documentation changed."""
        listed = ((owner, [one for one in changes if one.kind != DOCS]) for owner, changes in self.owners)
        return [(owner, changes) for owner, changes in listed if changes]

    @property
    def redocumented(self) -> list[str]:
        """The owners of which the documentation changed."""
        return [change.owner for change in self.changes if change.kind == DOCS]


def grouped(report: Report) -> list[Group]:
    """The changes by profiles, then by owner, those that break most first, else in the order of the report."""
    found: dict[tuple[str, ...], dict[str, list[Change]]] = {}
    for change in report.changes:
        found.setdefault(change.profiles, {}).setdefault(change.owner, []).append(change)
    order = {name: index for index, name in enumerate(report.profiles)}
    ranked = sorted(found, key=lambda profiles: ([order[name] for name in profiles[:1]], -len(profiles), profiles))
    return [Group(profiles, tuple(_worst_first(found[profiles]))) for profiles in ranked]


def _worst_first(owners: Mapping[str, list[Change]]) -> list[tuple[str, tuple[Change, ...]]]:
    listed = [(owner, tuple(changes)) for owner, changes in owners.items()]
    return sorted(listed, key=lambda item: -LEVELS.index(worst(change.level for change in item[1])))


def effects(change: Change) -> list[tuple[str, Effect]]:
    """The classes of a change with their headings."""
    return list(zip(SIDES, (change.senders, change.receivers, change.python), strict=True))


def phrase(change: Change) -> str:
    """What happened, without its owner: `field background is new`."""
    label = _LABELS.get(change.subject, change.subject)
    return " ".join(part for part in (label, change.member, TABLE[change.kind].title) if part)


def detail(change: Change) -> str:
    """How it read before and how it reads now."""
    if change.before and change.after:
        return f"{change.before} -> {change.after}"
    return change.after or (f"was {change.before}" if change.before else "")


def ways(flows: Iterable[Flow]) -> str:
    """Who sends it to whom: `agent to client`; where both send it to each other, `agent and client`."""
    left = list(flows)
    told = []
    for one, other in left:
        if (other, one) not in left:
            told.append(f"{one} to {other}")
        elif one < other:
            told.append(f"{one} and {other} both ways")
    return ", ".join(told)


def counts(changes: Sequence[Change]) -> str:
    """`3 changes: 1 breaking, 2 additive`: the worst class of each."""
    by_level = Counter(change.level for change in changes)
    parts = [f"{by_level[level]} {level}" for level in reversed(LEVELS) if by_level[level]]
    noun = "change" if len(changes) == 1 else "changes"
    return f"{len(changes)} {noun}" + (f": {', '.join(parts)}" if parts else "")


def origins(side: Sequence[Origin]) -> str:
    """Where the profiles of one side came from, each place once."""
    named = dict.fromkeys(
        one.source if one.version in one.source or one.version in ("unknown", "unlocked")
        else f"{one.source} ({one.version})"
        for one in side
    )  # fmt: skip
    return ", ".join(named) or "nothing"


def verdict(pairing: Pairing) -> str:
    if not pairing.breaking:
        return "nothing breaks"
    return f"{pairing.breaking} breaking {'change' if pairing.breaking == 1 else 'changes'}"


def pairings(report: Report) -> list[Pairing]:
    """Each pairing with all the profiles for which it comes to the same."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for one in report.pairings:
        found.setdefault((one.old, one.new, one.breaking), []).extend(one.profiles)
    return [Pairing(tuple(profiles), *key) for key, profiles in found.items()]

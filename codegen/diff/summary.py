"""A report in a few lines: what broke, what came, what went, for whom."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from codegen.diff import words
from codegen.diff.promotions import PROMOTED, WITHDRAWN
from codegen.diff.report import Change, Report
from codegen.inspect import printable

WIDTH: Final = 110
"""Columns of a line."""
MAX_BREAKING: Final = 12
"""Breaking changes told one by one; the others are counted."""
MAX_OWNERS: Final = 3
"""Definitions named that one and the same field came to; the others are counted."""
_ENDS: Final = {PROMOTED: "promoted", WITHDRAWN: "withdrawn"}
_PLURALS: Final = {
    "protocol": "protocol",
    "profile": "profiles",
    "method": "methods",
    "need": "needs",
    "promise": "promises",
    "base": "base classes",
    "capability": "capabilities",
    "field": "fields",
    "variant": "variants",
    "value": "values",
    "definition": "definitions",
}


def summary(report: Report) -> str:
    """A few lines of plain text, ending in a newline."""
    lines = [f"{words.origins(report.old)} -> {words.origins(report.new)}: {words.counts(report.changes)}"]
    for group in words.grouped(report):
        lines.append(group.title)
        lines += _breaking(group)
        lines += _others(group)
        for note, label in _ENDS.items():
            lines += _line("^", label, _names([one for one in group.changes if note in one.notes]))
        if group.redocumented:
            lines.append(f"  ~ {'documented':<13} {len(group.redocumented)} otherwise than before")
    for one in words.pairings(report):
        lines.append(f"old {one.old}, new {one.new}: {words.verdict(one)} ({', '.join(one.profiles)})")
    return "".join(f"{printable(line)}\n" for line in (*lines, *report.notes))


def _breaking(group: words.Group) -> Iterator[str]:
    broken = [change for change in group.changes if change.level == "breaking"]
    for change in broken[:MAX_BREAKING]:
        whom = ", ".join(side for side, effect in words.effects(change) if effect.level == "breaking")
        yield f"  ! {change.owner}: {words.phrase(change)}{_other_name(change)} (breaks {whom})"
    if len(broken) > MAX_BREAKING:
        yield f"  ! and {len(broken) - MAX_BREAKING} more breaking changes"


def _other_name(change: Change) -> str:
    """The old name of what is known by its new one alone."""
    return f", was {change.before}" if change.action == "renamed" and change.before else ""


def _others(group: words.Group) -> Iterator[str]:
    listed = [change for change in group.changes if change.level != "breaking" and change.kind != words.DOCS]
    carried = _carried(listed)
    for action, sign in words.SIGNS.items():
        for subject, plural in _PLURALS.items():
            chosen = [one for one in listed if (one.action, one.subject) == (action, subject)]
            chosen = [one for one in chosen if subject != "definition" or one.owner not in carried]
            yield from _line(sign, plural, _names(chosen))


def _line(sign: str, label: str, names: Iterable[str]) -> list[str]:
    """One line, wrapped; none where there are no names."""
    listed = ", ".join(dict.fromkeys(names))
    text = f"  {sign} {label:<13} {listed}"
    indent = " " * 18
    wrapped = textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return wrapped if listed else []


def _carried(changes: Iterable[Change]) -> set[str]:
    """Definitions that came or went with a method, as its params or result."""
    signatures = (one.before or one.after for one in changes if one.subject == "method")
    return {name for signature in signatures for name in signature.split(" -> ")}


def _names(changes: list[Change]) -> Iterator[str]:
    """What changed, by name; a member that many definitions share, once."""
    owners: dict[str, list[str]] = {}
    for change in changes:
        owners.setdefault(change.member, []).append(change.owner)
    for change in changes:
        own = owners[change.member]
        if change.subject == "method":
            yield change.owner.partition(" (")[0]
        elif not change.member:
            yield change.owner
        elif len(own) <= 1:
            yield f"{change.owner}.{change.member}"
        else:
            more = f" and {len(own) - MAX_OWNERS} more" if len(own) > MAX_OWNERS else ""
            yield f"{change.member} ({', '.join(own[:MAX_OWNERS])}{more})"

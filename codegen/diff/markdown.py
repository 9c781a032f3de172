"""A report as GitHub-flavoured Markdown, for a pull request or release notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from codegen.diff import words
from codegen.diff.report import Change, Level, Report
from codegen.inspect import printable

_MARKS: Final[dict[Level, str]] = {"breaking": "**breaking**", "additive": "additive", "neutral": "-"}
# Whatever may begin markup, HTML, a mention or a link.
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~@&$-])")


def as_markdown(report: Report) -> str:
    """One heading for each group of profiles, one table for each definition."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, in a table too; also where it looks like a link."""
    return _MARKUP.sub(r"\\\1", printable(text)).replace("://", ":\u200b//").replace("www.", "www\u200b.")


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escaped(words.origins(report.old))} → {escaped(words.origins(report.new))}"
    yield ""
    yield f"{words.counts(report.changes)}."
    yield ""
    yield from (f"> {escaped(note)}\n" for note in report.notes)
    yield "| peers | profiles | |"
    yield "| --- | --- | --- |"
    for one in words.pairings(report):
        yield f"| old {one.old}, new {one.new} | {', '.join(one.profiles)} | {words.verdict(one)} |"
    yield ""
    yield from (f"- *{side}*: {text}" for side, text in words.LEGEND)
    for group in words.grouped(report):
        yield from _group(group)


def _group(group: words.Group) -> Iterator[str]:
    yield f"\n## {escaped(group.title)}\n"
    yield f"{words.counts(group.changes)}."
    for owner, changes in group.told:
        way = words.ways(changes[0].flows)
        yield f"\n### {escaped(owner)}\n"
        if way:
            yield f"{way}\n"
        yield "| | change | senders | receivers | Python |"
        yield "| --- | --- | --- | --- | --- |"
        yield from map(_row, changes)
    if group.redocumented:
        yield f"\nDocumented otherwise: {escaped(', '.join(group.redocumented))}."


def _row(change: Change) -> str:
    told = escaped(words.phrase(change))
    if words.detail(change):
        told += f": {escaped(words.detail(change))}"
    told += "".join(f"<br>*{escaped(note)}*" for note in change.notes)
    cells = (
        _MARKS[effect.level] + (f"<br>{escaped(effect.reason)}" if effect.level == "breaking" else "")
        for _, effect in words.effects(change)
    )
    return f"| {escaped(words.SIGNS[change.action])} | {told} | {' | '.join(cells)} |"

"""A report for terminals and for pipes: a table for each group of profiles, as wide as there is room."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import Console, RenderableType
from rich.console import Group as Lines
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from codegen.diff import words
from codegen.diff.report import Change, Level, Report
from codegen.inspect import printable

PLAIN_WIDTH: Final = 110
"""Columns of text that goes to no terminal."""
NARROW: Final = 76
"""Columns below which the classes are told by one letter each."""
_STYLES: Final[dict[Level, str]] = {"breaking": "bold red", "additive": "green", "neutral": "dim"}
_SIGN_STYLES: Final = {"+": "green", "-": "red", "~": "yellow", ">": "cyan"}


def plain(report: Report) -> str:
    """The report as text without any colour."""
    console = Console(file=io.StringIO(), width=PLAIN_WIDTH, color_system=None, emoji=False, highlight=False)
    console.print(lines(report, PLAIN_WIDTH))
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def lines(report: Report, width: int) -> Lines:
    """The report as something for rich to print in `width` columns."""
    head = Text.assemble(
        (printable(words.origins(report.old)), "bold"), " -> ", (printable(words.origins(report.new)), "bold"), "\n",
        words.counts(report.changes),
    )  # fmt: skip
    parts: list[Text | Table] = [head]
    parts += [Text(printable(note), "yellow") for note in report.notes]
    for group in words.grouped(report):
        parts += _group(group, width)
    if report.changes:
        parts += [Text(), *_footer(report)]
    return Lines(*parts)


def _group(group: words.Group, width: int) -> Iterator[Text | Table]:
    is_narrow = width < NARROW
    title = Text.assemble((printable(group.title), "bold cyan"), "  ", (words.counts(group.changes), "dim"))
    yield Text()
    yield _row(title, (Text(side[0].upper() if is_narrow else side, "dim") for side in words.SIDES), is_narrow)
    for owner, changes in group.told:
        yield Text.assemble((printable(owner), "bold"), "  ", (words.ways(changes[0].flows), "dim"))
        for change in changes:
            levels = (_level(effect.level, is_narrow) for _, effect in words.effects(change))
            yield _row(_told(change), levels, is_narrow)
            for reason in _reasons(change):
                yield _row(Padding(reason, (0, 0, 0, 6)), (), is_narrow)
    if group.redocumented:
        yield Text(f"documented otherwise: {printable(', '.join(group.redocumented))}", "dim")


def _row(told: RenderableType, levels: Iterable[Text], is_narrow: bool) -> Table:
    """One line, or several where there is little room; each row is a table, so that all have the same columns."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(overflow="fold", ratio=1)
    for _ in words.SIDES:
        table.add_column(no_wrap=True, width=1 if is_narrow else 9)
    table.add_row(told, *levels)
    return table


def _told(change: Change) -> Table:
    sign = words.SIGNS[change.action]
    text = Text(printable(words.phrase(change)))
    if words.detail(change):
        text.append(f"  {printable(words.detail(change))}", "dim")
    table = Table.grid(padding=(0, 1))
    table.add_column(width=3, justify="right")
    table.add_column(overflow="fold")
    table.add_row(Text(sign, _SIGN_STYLES[sign]), text)
    return table


def _reasons(change: Change) -> Iterator[Text]:
    for side, effect in words.effects(change):
        if effect.level == "breaking":
            yield Text(f"{side}: {printable(effect.reason)}", "red")
    for note in change.notes:
        yield Text(printable(note), "cyan")


def _level(level: Level, is_narrow: bool) -> Text:
    return Text(level[0] if is_narrow else level, _STYLES[level])


def _footer(report: Report) -> Iterator[Text]:
    for one in words.pairings(report):
        style = "bold red" if one.breaking else "green"
        told = (words.verdict(one), style)
        yield Text.assemble(f"old {one.old}, new {one.new}: ", told, f"  {', '.join(one.profiles)}")
    yield Text("\n" + "\n".join(f"{side}: {text}" for side, text in words.LEGEND), "dim")

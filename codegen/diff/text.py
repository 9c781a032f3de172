"""A report for terminals and for pipes: a table for each group of profiles, as wide as there is room."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from codegen.diff.report import Change, Level, Report
from codegen.diff.words import (
    LEGEND,
    SIDES,
    SIGNS,
    Group,
    counts,
    detail,
    effects,
    grouped,
    origins,
    pairings,
    phrase,
    verdict,
    ways,
)  # fmt: skip
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
        (printable(origins(report.old)), "bold"), " -> ", (printable(origins(report.new)), "bold"), "\n",
        counts(report.changes),
    )  # fmt: skip
    parts: list[Text | Table] = [head]
    parts += [Text(printable(note), "yellow") for note in report.notes]
    for group in grouped(report):
        title = Text.assemble("\n", (printable(group.title), "bold cyan"), "  ", (counts(group.changes), "dim"))
        parts += [title, _table(group, width)]
    if report.changes:
        parts += [Text(), *_footer(report)]
    return Lines(*parts)


def _table(group: Group, width: int) -> Table:
    is_narrow = width < NARROW
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim", expand=True)
    table.add_column("", overflow="fold", ratio=1)
    for side in SIDES:
        table.add_column(side[0].upper() if is_narrow else side, no_wrap=True, width=1 if is_narrow else 9)
    for owner, changes in group.owners:
        way = ways(changes[0].flows)
        table.add_row(Text.assemble((printable(owner), "bold"), "  ", (way, "dim")))
        for change in changes:
            table.add_row(_told(change), *(_level(effect.level, is_narrow) for _, effect in effects(change)))
            for reason in _reasons(change):
                table.add_row(reason)
    return table


def _told(change: Change) -> Text:
    sign = SIGNS[change.action]
    text = Text.assemble("  ", (sign, _SIGN_STYLES[sign]), " ", printable(phrase(change)))
    if detail(change):
        text.append(f"  {printable(detail(change))}", "dim")
    return text


def _reasons(change: Change) -> Iterator[Text]:
    for side, effect in effects(change):
        if effect.level == "breaking":
            yield Text(f"      {side}: {printable(effect.reason)}", "red")
    for note in change.notes:
        yield Text(f"      {printable(note)}", "cyan")


def _level(level: Level, is_narrow: bool) -> Text:
    return Text(level[0] if is_narrow else level, _STYLES[level])


def _footer(report: Report) -> Iterator[Text]:
    for one in pairings(report):
        style = "bold red" if one.breaking else "green"
        yield Text.assemble(f"old {one.old}, new {one.new}: ", (verdict(one), style), f"  {', '.join(one.profiles)}")
    yield Text("\n" + "\n".join(f"{side}: {text}" for side, text in LEGEND), "dim")

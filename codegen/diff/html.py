"""A report as one HTML page that needs nothing else: style and script are in it, and a policy forbids all others."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from codegen.diff import words
from codegen.diff.report import LEVELS, Change, Level, Report, Row, Table, worst
from codegen.inspect import printable

_PAGE: Final = Path(__file__).resolve().parent / "page"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Owner:
    """One article of the page. `search` is what the filter looks into, in lower case."""

    id: str
    name: str
    before: str
    level: Level
    ways: str
    search: str
    changes: tuple[Change, ...]
    tables: tuple[Table, ...]

    @property
    def is_changed(self) -> bool:
        """Whether it was there before and still is; else the table says little."""
        return any(table.old and table.new for table in self.tables)


@dataclass(frozen=True, slots=True)
class _Group:
    title: str
    counts: str
    profiles: tuple[str, ...]
    owners: tuple[_Owner, ...]
    redocumented: tuple[str, ...]


def as_html(report: Report) -> str:
    """The page. Text of schemas is escaped by the template engine wherever it stands."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_visible,
    )
    style, script = (_PAGE.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    return environment.get_template("report.html.jinja").render(
        old=words.origins(report.old),
        new=words.origins(report.new),
        counts=words.counts(report.changes),
        notes=report.notes,
        tally=_tally([change.level for change in report.changes]),
        sides=[
            (side, question, _tally([dict(words.effects(change))[side].level for change in report.changes]))
            for side, question in words.LEGEND
        ],
        pairings=words.pairings(report),
        legend=words.LEGEND,
        profiles=report.profiles,
        groups=_groups(report),
        signs=words.SIGNS,
        effects=words.effects,
        phrase=words.phrase,
        verdict=words.verdict,
        # Ours, and nothing of a schema in them.
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _visible(value: object) -> object:
    """Text of schemas with its control characters as escapes, so that none reorders or hides what stands there."""
    return printable(value) if type(value) is str else value


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _tally(levels: list[Level]) -> list[tuple[Level, int]]:
    found = Counter(levels)
    return [(level, found[level]) for level in reversed(LEVELS)]


def _groups(report: Report) -> list[_Group]:
    used: set[str] = set()
    found = []
    for group in words.grouped(report):
        owners = []
        for name, changes in group.told:
            tables = _tables(report.tables, name, group.profiles)
            slug = _slug(f"{group.title} {name}", used)
            owners.append(
                _Owner(
                    slug,
                    name,
                    next((one.before for one in changes if one.kind.endswith("-renamed") and not one.member), ""),
                    worst(change.level for change in changes),
                    words.ways(changes[0].flows),
                    " ".join([name, *(f"{one.member} {one.before} {one.after}" for one in changes)]).lower(),
                    tuple(changes),
                    tables,
                )
            )
        redocumented = tuple(group.redocumented)
        found.append(_Group(group.title, words.counts(group.changes), group.profiles, tuple(owners), redocumented))
    return found


def _tables(tables: Iterable[Table], owner: str, profiles: tuple[str, ...]) -> tuple[Table, ...]:
    """The tables of a definition; of profiles that differ in rows that did not change, the first will do."""
    found: dict[tuple[Row, ...], Table] = {}
    for table in tables:
        own = tuple(profile for profile in table.profiles if profile in profiles)
        if table.owner == owner and own:
            key = tuple(row for row in table.rows if row.state != "same")
            known = found.get(key)
            found[key] = replace(known or table, profiles=(*(known.profiles if known else ()), *own))
    return tuple(found.values())


def _slug(text: str, used: set[str]) -> str:
    """An id of its own for the page, the same in each run."""
    slug = found = _UNSAFE.sub("-", text).strip("-").lower()
    number = 1
    while found in used:
        number += 1
        found = f"{slug}-{number}"
    used.add(found)
    return found

"""The whole history, as a table. Exits with 1 if any version fails. `make history` runs it; it takes minutes."""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from codegen.diff import Report
from codegen.errors import CodegenError
from codegen.schema.lock import read_lock
from tests.published.rounds import Round, differ, go_round
from tests.published.versions import published


@dataclass(frozen=True)
class Outcome:
    """One version: what it went through, or why it has no schema, or how it failed."""

    source: str
    seconds: float
    round: Round | None = None
    skipped: str = ""
    failure: str = ""


def attempt(source: str, folder: Path) -> Outcome:
    start = time.perf_counter()
    try:
        done = go_round(source, folder)
    except CodegenError as error:
        found = error.diagnostics[0].found
        if found == "no schema file":
            return Outcome(source, time.perf_counter() - start, skipped=found)
        return Outcome(source, time.perf_counter() - start, failure=str(error))
    except Exception:
        return Outcome(source, time.perf_counter() - start, failure=traceback.format_exc())
    return Outcome(source, time.perf_counter() - start, done)


def compared(old: Path, new: Path) -> tuple[Report | None, str]:
    try:
        return differ(old, new), ""
    except Exception:
        return None, traceback.format_exc()


def hashes(folder: Path) -> set[str]:
    """Of the schemas in a folder, as they were published."""
    return {entry.original_sha256 for entry in (read_lock(folder) or {}).values()}


@click.command()
@click.option("--only", default="", help="Versions whose name has this in it.")
@click.option("--jobs", default=2, show_default=True, help="Processes.")
def main(only: str, jobs: int) -> None:
    """Generate from every published version, and diff each with the one before."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    sources = [source for source in published() if only in source]
    with tempfile.TemporaryDirectory(prefix="acp-history-") as scratch:
        folders = [Path(scratch, str(number)) for number in range(len(sources))]
        with ProcessPoolExecutor(jobs) as pool:
            outcomes = list(pool.map(attempt, sources, folders))
            there = [place for place, one in enumerate(outcomes) if one.round]
            pairs = list(itertools.pairwise(there))
            reports = pool.map(
                compared, [folders[old] / "schema" for old, _ in pairs], [folders[new] / "schema" for _, new in pairs]
            )
            diffs = dict(zip((new for _, new in pairs), reports, strict=True))
        distinct = len({one for place in there for one in hashes(folders[place] / "schema")})
    table = Table("version", "profiles", "definitions", "values", "since the one before", "s", "", box=None)
    for place, one in enumerate(outcomes):
        table.add_row(one.source.removeprefix("npm:"), *cells(one, diffs.get(place, (None, ""))[0]))
    console.print(table)
    failures = [(one.source, one.failure) for one in outcomes if one.failure]
    failures += [(f"diff to {sources[place]}", failure) for place, (_, failure) in diffs.items() if failure]
    for source, failure in failures:
        console.print(f"\nFAILED {source}\n{failure}", markup=False, highlight=False)
    values = sum(one.round.values for one in outcomes if one.round)
    skipped = sum(bool(one.skipped) for one in outcomes)
    console.print(
        f"{len(there)} versions, {distinct} schemas, {values} values, {len(diffs)} diffs,"
        f" {skipped} versions without a schema, {len(failures)} failures"
    )
    sys.exit(1 if failures or not there else 0)


def cells(one: Outcome, report: Report | None) -> list[str]:
    if one.round is None:
        return ["", "", "", "", f"{one.seconds:.0f}", one.skipped or "[red]FAILED[/]"]
    levels = Counter(change.level for change in report.changes) if report else Counter()
    said = ", ".join(f"{count} {level}" for level in ("breaking", "additive", "neutral") if (count := levels[level]))
    return [
        " ".join(one.round.profiles),
        str(one.round.definitions),
        str(one.round.values),
        said or ("nothing" if report else ""),
        f"{one.seconds:.0f}",
        "[green]ok[/]",
    ]


if __name__ == "__main__":
    main()

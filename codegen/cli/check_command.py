"""`acp-codegen check`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Column, Table
from rich.text import Text

from codegen.checking import CHECKS, Result, check
from codegen.cli.common import (
    console,
    output_options,
    print_table,
    profile_option,
    profiles_at,
    reports_problems,
    schema_dir_option,
    schemas_at,
    shown,
    with_project,
)
from codegen.inspect import printable

MAX_ROWS = 20
"""Findings of one check that the table shows; `--json` has all."""
COLOURS = {"clean": "green", "found": "bold red", "off": "dim"}


@click.command("check")
@schema_dir_option
@profile_option
@output_options
@click.option("--skip", multiple=True, type=click.Choice(CHECKS), help="A check to leave out. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Plain data instead of a table, with every finding.")
@click.option("--stubs", is_flag=True, help="Print the TOML entries that are missing instead, ready to be filled in.")
@reports_problems
def command(
    schema_dir: Path | None,
    profiles: Sequence[str],
    out: Path,
    package: str,
    project: bool | None,
    skip: Sequence[str],
    as_json: bool,
    stubs: bool,
) -> None:
    """Look for whatever needs mending: lock, drift, docs, names, gates.

    Nothing is written. Exit code 0 when all is clean, 1 when there are findings, 2 for input that cannot be used.
    """
    whole = with_project(package, project)
    folder = schemas_at(schema_dir)
    to = console()
    with to.status("checking") if to.is_terminal and not as_json else to.capture():
        results = check(folder, profiles_at(profiles, folder), out, package, whole, skip)
    if as_json:
        checks = [{"check": one.check, "state": one.state} | asdict(one) for one in results]
        click.echo(json.dumps({"clean": not any(one.findings for one in results), "checks": checks}, indent=2))
    elif stubs:
        for path, text in (stub for one in results for stub in one.stubs):
            click.echo(f"# {printable(str(folder / path))}\n\n{text}")
    else:
        print_table(to, results_table(results))
    sys.exit(1 if any(one.findings for one in results) else 0)


def results_table(results: Sequence[Result]) -> Table:
    """A line for each check that is clean or off, and one for each finding of the others."""
    fold = ("place", "found", "to be")
    table = Table("check", "", *(Column(name, overflow="fold") for name in fold), box=None, pad_edge=False)
    for one in results:
        state = Text(one.state, COLOURS[one.state])
        if not one.findings:
            table.add_row(one.check, state, "", Text(shown(one.summary)), "")
        for finding in one.findings[:MAX_ROWS]:
            cells = (Text(shown(text)) for text in (finding.place, finding.found, finding.expected))
            table.add_row(one.check, state, *cells)
        if len(one.findings) > MAX_ROWS:
            table.add_row(one.check, state, "", f"and {len(one.findings) - MAX_ROWS} more", "all of them: --json")
    return table

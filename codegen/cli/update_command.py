"""`acp-codegen update`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from codegen.cli.check_command import results_table
from codegen.cli.common import (
    FOLDER,
    console,
    output_options,
    print_table,
    profile_option,
    reports_problems,
    shown,
    with_project,
)
from codegen.diff import FORMATS, render, summary
from codegen.errors import fail
from codegen.exchange import Replacement, exchange
from codegen.inspect import printable
from codegen.update import STEPS, Plan, Target, plan

ENDINGS = {".md": "markdown", ".html": "html", ".json": "json", ".txt": "text"}
"""Formats of a report, by the ending of its file."""
MAX_STUB_LINES = 40
"""Lines of TOML to paste that are shown of one file; `acp-codegen check --stubs` prints all."""


@click.command("update")
@click.argument("source", required=False)
@click.option("--schema-dir", type=FOLDER, default=Path("schema"), show_default=True, help="Folder of pinned schemas.")
@profile_option
@output_options
@click.option("--as", "single", metavar="VERSION/CHANNEL", help="What a single file is, whatever its path says.")
@click.option("--dry-run", is_flag=True, help="Show all that would be done, and write nothing.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the diff to a file too, in the format that its ending names: .md, .json, ...",
)
@reports_problems
def command(
    source: str | None,
    schema_dir: Path,
    profiles: Sequence[str],
    out: Path,
    package: str,
    project: bool | None,
    single: str | None,
    dry_run: bool,
    report: Path | None,
) -> None:
    """Take a new schema from SOURCE, say what changed, and regenerate.

    SOURCE is npm:PACKAGE@VERSION, npm:PACKAGE for its latest version, a folder, a file or an https:// URL; by default
    what lock.toml names, at its latest version. The profiles taken are those of --profile, else those that are pinned.
    Schemas, lock and package are replaced together, or not at all.
    """
    target = Target(schema_dir, out, package, with_project(package, project), tuple(profiles))
    if report is not None and ENDINGS.get(report.suffix) not in FORMATS:
        endings = ", ".join(ending for ending, name in ENDINGS.items() if name in FORMATS)
        raise fail("--report", repr(str(report)), f"a file that ends in {endings}")
    with _progress() as step:
        planned = plan(source, target, single, step)
        wanted = [] if dry_run else list(planned.replacements)
        if report is not None:
            # One of the lot: a report that cannot be written must not leave an update that nobody heard of.
            text = render(planned.report, ENDINGS[report.suffix])
            wanted.append(Replacement(report.parent, {report.name: text.encode()}, (report.name,)))
        if wanted:
            step("write", str(report if dry_run else out))
            exchange(wanted)
    to = console()
    _show(to, planned, target)
    to.print(Text(_conclusion(planned, dry_run), "bold"))


@contextmanager
def _progress() -> Iterator[Callable[[str, str], None]]:
    """A bar on a terminal, one line for each step elsewhere; on stderr, so that the summary can be piped."""
    to = console(stderr=True)
    if not to.is_terminal:
        yield lambda name, detail: to.print(Text(f"{name:9} {shown(detail)}".rstrip()))
        return
    columns = (SpinnerColumn(), BarColumn(20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=to, transient=True) as bar:
        task = bar.add_task("", total=len(STEPS) + 1)

        def step(name: str, detail: str) -> None:
            done = [*STEPS, "write"].index(name)
            bar.update(task, completed=done, description=f"{name} {shown(detail)[:60]}")

        yield step


def _show(to: Console, planned: Plan, target: Target) -> None:
    to.print(Text.assemble(("source", "bold"), "  ", shown(planned.source)))
    if planned.note:
        to.print(Text(shown(planned.note)))
    table = Table("profile", "version", "definitions", "", box=None, pad_edge=False)
    for one in planned.taken:
        state = "" if one.is_new else "as it was"
        table.add_row(one.name, Text(shown(one.versions)), str(one.new.definitions), state)
    for name in planned.kept:
        table.add_row(name, "", "", "not in the source, kept" if planned.taken else "as it was")
    for name in planned.offered:
        table.add_row(name, "", "", f"offered, not taken; --profile {name} takes it")
    print_table(to, table)
    if planned.is_empty:
        return
    to.print(Text("\nchanges", "bold"))
    for line in summary(planned.report).splitlines():
        to.print(Text(printable(line)))
    to.print(Text.assemble(("\nfiles", "bold"), f"  {len(planned.changes)} of {planned.files} differ"))
    for change in planned.changes:
        to.print(Text(f"{change.verb:8} {printable(str(target.out / change.path))}"))
    to.print(Text("\nnew findings", "bold"))
    print_table(to, results_table(planned.results))
    for path, text in (stub for one in planned.results for stub in one.stubs):
        _show_stub(to, str(target.schema_dir / path), text.rstrip("\n").split("\n"))
    to.print()


def _show_stub(to: Console, path: str, lines: list[str]) -> None:
    to.print(Text.assemble(("\nto do", "bold yellow"), f"  fill in and add to {printable(path)}"))
    for line in lines[:MAX_STUB_LINES]:
        to.print(Text(printable(line)))
    if len(lines) > MAX_STUB_LINES:
        to.print(Text(f"# ... and {len(lines) - MAX_STUB_LINES} more lines: acp-codegen check --stubs", "dim"))


def _conclusion(planned: Plan, dry_run: bool) -> str:
    if planned.is_empty:
        return "Nothing is new; nothing was written."
    if dry_run:
        return "Nothing was written: --dry-run."
    to_do = "fill in what is to do, " if any(one.findings for one in planned.results) else ""
    return f"Done. Next: read the diff, {to_do}run the tests, and commit schemas, lock and package together."

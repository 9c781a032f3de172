"""`acp-codegen generate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from codegen import ir
from codegen.cli.common import (
    console,
    output_options,
    profile_option,
    profiles_at,
    reports_problems,
    schema_dir_option,
    schemas_at,
    shown,
    with_project,
)
from codegen.inspect import printable
from codegen.lower import ungated
from codegen.pipeline import emit, load
from codegen.write import Change, changes, write


@click.command("generate")
@schema_dir_option
@profile_option
@output_options
@click.option("--check", is_flag=True, help="Write nothing; show how the output differs, exit 1 if it does.")
@reports_problems
def command(
    schema_dir: Path | None, profiles: Sequence[str], out: Path, package: str, project: bool | None, check: bool
) -> None:
    """Generate the package: OUT/PACKAGE, complete and importable as it lies."""
    whole = with_project(package, project)
    folder = schemas_at(schema_dir)
    to = console()
    with to.status("generating") if to.is_terminal else to.capture():
        loaded = load(folder, profiles_at(profiles, folder))
        files = emit(loaded, package, whole)
    _warn_ungated(loaded)
    if check:
        found = changes(out, package, files)
        _show_drift(found, out)
        sys.exit(1 if found else 0)
    found = write(out, package, files)
    for change in found:
        to.print(Text(f"{change.verb:8} {printable(str(out / change.path))}"))
    to.print(Text(f"{len(files)} files in {printable(str(out))}, {len(found)} changed"))


def _warn_ungated(profiles: list[ir.Profile]) -> None:
    found = ungated(profiles)
    if found:
        places = shown(", ".join(one.place for one in found))
        message = f"warning: {len(found)} methods may be called whatever is advertised, for want of an entry: {places}"
        console(stderr=True).print(Text(message))


def _show_drift(found: list[Change], out: Path) -> None:
    to = console()
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for change in found:
        for line in change.diff().removesuffix("\n").split("\n"):
            to.print(Text(printable(line), colours.get(line[:1], "")))
    if found:
        message = f"files that differ from what the generator writes: {len(found)}; run: acp-codegen generate"
        console(stderr=True).print(message)
    else:
        to.print(Text(f"{printable(str(out))} is what the generator writes"))

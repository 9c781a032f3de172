"""`acp-codegen generate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from codegen import ir
from codegen.cli.common import (
    FOLDER,
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
from codegen.errors import fail
from codegen.inspect import printable
from codegen.lower import ungated
from codegen.pipeline import emit, load
from codegen.write import Change, changes, write


@click.command("generate")
@schema_dir_option
@profile_option
@output_options
@click.option("--templates", type=FOLDER, help="Folder of templates to lay over those that ship (docs/templates.md).")
@click.option("--no-package", is_flag=True, help="Write what --templates puts beside the package, and not the package.")
@click.option("--check", is_flag=True, help="Write nothing; show how the output differs, exit 1 if it does.")
@reports_problems
def command(
    schema_dir: Path | None,
    profiles: Sequence[str],
    out: Path,
    package: str,
    project: bool | None,
    templates: Path | None,
    no_package: bool,
    check: bool,
) -> None:
    """Generate the package: OUT/PACKAGE, complete and importable as it lies."""
    whole = with_project(package, project)
    _check_templates(templates, no_package, out / package)
    folder = schemas_at(schema_dir)
    to = console()
    with to.status("generating") if to.is_terminal else to.capture():
        loaded = load(folder, profiles_at(profiles, folder))
        files = emit(loaded, package, whole, templates, no_package)
    owned = None if no_package else package
    if owned:
        _warn_ungated(loaded)
    if check:
        found = changes(out, owned, files)
        _show_drift(found, out)
        sys.exit(1 if found else 0)
    found = write(out, owned, files)
    for change in found:
        to.print(Text(f"{change.verb:8} {printable(str(out / change.path))}"))
    to.print(Text(f"{len(files)} files in {printable(str(out))}, {len(found)} changed"))


def _check_templates(templates: Path | None, no_package: bool, package: Path) -> None:
    """Refuse what would write nothing, and templates in the folder that is replaced."""
    if no_package and templates is None:
        raise fail("--no-package", "no --templates", "a folder of templates, without which nothing is left to write")
    if templates is not None and not no_package and templates.resolve().is_relative_to(package.resolve()):
        raise fail("--templates", f"{templates}, inside of {package}", "a folder that is not replaced by generating")


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

"""`acp-codegen diff`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import click

from codegen.cli.common import (
    console,
    profile_option,
    reports_problems,
    schema_dir_option,
    schemas_at,
)
from codegen.diff import FORMATS, compare, render, text
from codegen.diff.loading import load_both
from codegen.errors import fail


@click.command("diff")
@click.argument("old")
@click.argument("new")
@profile_option
@schema_dir_option
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to stdout.")
@click.option(
    "--fail-on", type=click.Choice(["breaking", "additive"]), help="Exit 1 if a change is of this class or worse."
)
@reports_problems
def command(
    old: str,
    new: str,
    profiles: Sequence[str],
    schema_dir: Path | None,
    form: str,
    output: Path | None,
    fail_on: Literal["breaking", "additive"] | None,
) -> None:
    """Say what changed from OLD to NEW, and whom it breaks: senders, receivers, Python source.

    OLD and NEW: npm:PACKAGE@VERSION, a folder, a file, a URL, or REVISION:PATH of a git repository (HEAD~1:schema).
    Profiles of one name are compared; two single files are compared whatever their profiles. TOML files beside a schema
    are heeded; a source that has none takes those of --schema-dir.
    """
    to = console()
    with to.status("comparing") if to.is_terminal else nullcontext():
        loaded = load_both(old, new, schemas_at(schema_dir), profiles)
        report = compare(loaded.old, loaded.new, loaded.notes)
    if output is not None:
        _write_report(output, render(report, form))
    elif form == "text" and to.is_terminal:
        to.print(text.lines(report, to.width), soft_wrap=False)
    else:
        click.echo(render(report, form), nl=False)
    sys.exit(1 if fail_on and report.fails(fail_on) else 0)


def _write_report(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise fail(str(path), error.strerror or str(error), "a file that can be written") from None

"""`acp-codegen import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Column, Table
from rich.text import Text

from codegen.cli.common import FOLDER, console, reports_problems, shown
from codegen.inspect import printable
from codegen.schema.importing import import_schemas


@click.command("import")
@click.argument("source")
@click.option(
    "--schema-dir", type=FOLDER, default=Path("schema"), show_default=True, help="Where the schemas are kept."
)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    metavar="VERSION/CHANNEL",
    help="What a single file is; of a folder or package, what to take: repeatable.",
)
@reports_problems
def command(source: str, schema_dir: Path, profiles: Sequence[str]) -> None:
    """Pin schemas from SOURCE: npm:PACKAGE@VERSION, a folder, a file or a URL.

    Descriptions are dropped, the rest is written in canonical form, and source, version and hashes go to lock.toml.
    """
    columns = ("profile", "definitions", "version", Column("file", overflow="fold"))
    table = Table(*columns, box=None, pad_edge=False)
    # Of several none can be what a single file is.
    profile, only = (profiles[0], ()) if len(profiles) == 1 else (None, profiles)
    for one in import_schemas(source, schema_dir, profile, only):
        state = "" if one.changed else " (unchanged)"
        path = Text(printable(f"{one.path}{state}"))
        table.add_row(one.profile, str(one.definitions), Text(shown(one.version)), path)
    console().print(table)

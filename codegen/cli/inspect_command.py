"""`acp-codegen inspect`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from codegen.cli.common import (
    console,
    profile_option,
    profiles_at,
    reports_problems,
    schema_dir_option,
    schemas_at,
)
from codegen.errors import fail
from codegen.inspect import printable, profile_data, profile_tree, undocumented
from codegen.pipeline import load


@click.command("inspect")
@click.argument("definition", required=False)
@schema_dir_option
@profile_option
@click.option("--json", "as_json", is_flag=True, help="Plain data instead of a tree.")
@click.option("--undocumented", "only_undocumented", is_flag=True, help="List what docs.toml does not cover.")
@reports_problems
def command(
    definition: str | None, schema_dir: Path | None, profiles: Sequence[str], as_json: bool, only_undocumented: bool
) -> None:
    """Show what the generator understood: one DEFINITION, or all."""
    folder = schemas_at(schema_dir)
    loaded = load(folder, profiles_at(profiles, folder))
    chosen = [(one, list(one.definitions) if definition is None else [definition]) for one in loaded]
    chosen = [(one, names) for one, names in chosen if all(name in one.definitions for name in names)]
    if not chosen:
        expected = f"a definition of {' or '.join(one.name for one in loaded)}; acp-codegen inspect lists them"
        raise fail("inspect", f"no definition named {definition!r}", expected)
    to = console()
    if only_undocumented:
        _show_undocumented(to, {one.name: list(undocumented(one, names)) for one, names in chosen}, as_json)
    elif as_json:
        whole = definition is None
        click.echo(json.dumps([profile_data(one, names, whole) for one, names in chosen], indent=2))
    else:
        for one, names in chosen:
            to.print(profile_tree(one, names, whole=definition is None), soft_wrap=False)


def _show_undocumented(to: Console, found: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, places in found.items():
        to.print(f"{name}: {len(places)} without docs")
        for place in places:
            to.print(Text(f"  {printable(place)}"))

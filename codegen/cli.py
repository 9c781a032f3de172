"""The command line: `acp-codegen import`, `generate`, `inspect`. The only module that prints or exits.

Exit codes: 0 done, 1 drift found by `generate --check`, 2 input that cannot be used.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from codegen import __version__, ir
from codegen.errors import CodegenError, fail
from codegen.inspect import profile_data, profile_tree, undocumented
from codegen.names import is_identifier
from codegen.pipeline import bundled, generate, load
from codegen.schema.importing import import_schemas
from codegen.sources import PROFILE_FILES
from codegen.write import Change, changes, write

DEFAULT_PACKAGE = "acp_bindings"
MAX_PROBLEMS = 20
F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)


def reports_problems(command: F) -> F:
    """Turns CodegenError into a one-screen message on stderr and exit code 2."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except CodegenError as error:
            console = Console(stderr=True)
            for problem in error.diagnostics[:MAX_PROBLEMS]:
                console.print(f"[bold red]error[/] {_shown(problem.place)}", highlight=False, soft_wrap=True)
                console.print(f"  found     {_shown(problem.found)}", highlight=False, soft_wrap=True)
                console.print(f"  expected  {_shown(problem.expected)}", highlight=False, soft_wrap=True)
            if len(error.diagnostics) > MAX_PROBLEMS:
                console.print(f"... and {len(error.diagnostics) - MAX_PROBLEMS} more problems")
            console.print("Nothing was written.", style="dim")
            sys.exit(2)

    return run  # type: ignore[return-value]


def _shown(text: str) -> str:
    """Text safe for a terminal: control characters and lone surrogates escaped, markup too, overlong parts cut."""
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
    return escape(safe if len(safe) <= 400 else safe[:400] + " ...")


def schema_dir_option(command: F) -> F:
    return click.option(
        "--schema-dir", type=_FOLDER, help="Folder of pinned schemas. Default: ./schema, else the ones that ship."
    )(command)


def profile_option(command: F) -> F:
    return click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="VERSION/CHANNEL",
        help="v2/stable, v2/unstable, ... Repeatable.",
    )(command)


def _schema_dir(given: Path | None) -> Path:
    if given is not None:
        return given
    here = Path("schema")
    return here if any((here / file).is_file() for file in PROFILE_FILES.values()) else bundled("schema")


def _profiles(given: Sequence[str], schema_dir: Path) -> list[str]:
    """The profiles asked for, stable before unstable; by default all that the folder has."""
    there = [name for name, file in PROFILE_FILES.items() if (schema_dir / file).is_file()]
    wanted = list(dict.fromkeys(given)) or there
    if not wanted:
        raise fail(str(schema_dir), "no schema", "a folder with v2/schema.json; run: acp-codegen import SOURCE")
    order = list(PROFILE_FILES)
    return sorted(wanted, key=lambda name: order.index(name) if name in order else len(order))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="acp-codegen")
def main() -> None:
    """Turns the Agent Client Protocol's JSON Schemas into a typed Python package."""


@main.command("import")
@click.argument("source")
@click.option(
    "--schema-dir", type=_FOLDER, default=Path("schema"), show_default=True, help="Where the schemas are kept."
)
@click.option(
    "--profile", metavar="VERSION/CHANNEL", help="What a single file is; of a folder or package, what to take."
)
@reports_problems
def import_(source: str, schema_dir: Path, profile: str | None) -> None:
    """Pin schemas from SOURCE: npm:PACKAGE@VERSION, a folder or a file.

    Descriptions are dropped, the rest is written in canonical form, and source, version and hashes go to lock.toml.
    """
    table = Table("profile", "definitions", "version", "file", box=None, pad_edge=False)
    for one in import_schemas(source, schema_dir, profile):
        state = "" if one.changed else " (unchanged)"
        table.add_row(one.profile, str(one.definitions), _shown(one.version), _shown(f"{one.path}{state}"))
    Console(soft_wrap=True).print(table)


@main.command("generate")
@schema_dir_option
@profile_option
@click.option(
    "--out", type=_FOLDER, default=Path("generated"), show_default=True, help="Folder to write the package into."
)
@click.option("--package", default=DEFAULT_PACKAGE, show_default=True, help="Import name of the package.")
@click.option(
    "--project/--no-project", default=None, help="Write pyproject.toml and README.md too. [default: acp_bindings]"
)
@click.option("--check", is_flag=True, help="Write nothing; show how the output differs, exit 1 if it does.")
@reports_problems
def generate_(
    schema_dir: Path | None, profiles: Sequence[str], out: Path, package: str, project: bool | None, check: bool
) -> None:
    """Generate the package: OUT/PACKAGE, complete and importable as it lies."""
    if not is_identifier(package):
        raise fail("--package", repr(package), "a Python identifier")
    folder = _schema_dir(schema_dir)
    with_project = package == DEFAULT_PACKAGE if project is None else project
    console = Console(soft_wrap=True)
    with console.status("generating") if console.is_terminal else console.capture():
        files = generate(folder, _profiles(profiles, folder), package, with_project)
    if check:
        found = changes(out, package, files)
        _show_drift(found, out)
        sys.exit(1 if found else 0)
    found = write(out, package, files)
    for change in found:
        verb = (
            "wrote" if change.new is not None and change.old is None else "removed" if change.new is None else "updated"
        )
        console.print(f"{verb:8} {_shown(str(out / change.path))}", highlight=False)
    console.print(f"{len(files)} files in {_shown(str(out))}, {len(found)} changed", highlight=False)


def _show_drift(found: list[Change], out: Path) -> None:
    console = Console(soft_wrap=True)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for change in found:
        for line in change.diff().splitlines():
            console.print(escape(line), style=colours.get(line[:1]), highlight=False)
    if found:
        Console(stderr=True).print(
            f"{len(found)} files differ from what the generator writes; run: acp-codegen generate"
        )
    else:
        console.print(f"{_shown(str(out))} is what the generator writes", highlight=False)


@main.command("inspect")
@click.argument("definition", required=False)
@schema_dir_option
@profile_option
@click.option("--json", "as_json", is_flag=True, help="Plain data instead of a tree.")
@click.option("--undocumented", "only_undocumented", is_flag=True, help="List what docs.toml does not cover.")
@reports_problems
def inspect_(
    definition: str | None, schema_dir: Path | None, profiles: Sequence[str], as_json: bool, only_undocumented: bool
) -> None:
    """Show what the generator understood: one DEFINITION, or all."""
    folder = _schema_dir(schema_dir)
    loaded = load(folder, _profiles(profiles, folder))
    if only_undocumented:
        _show_undocumented(loaded, as_json)
        return
    chosen = [(one, [definition] if definition else list(one.definitions)) for one in loaded]
    chosen = [(one, names) for one, names in chosen if all(name in one.definitions for name in names)]
    if not chosen:
        raise fail(repr(definition), "no definition of that name", f"one of {', '.join(one.name for one in loaded)}")
    if as_json:
        click.echo(json.dumps([profile_data(one, names) for one, names in chosen], indent=2))
        return
    for one, names in chosen:
        Console(soft_wrap=True).print(profile_tree(one, names, whole=definition is None), highlight=False)


def _show_undocumented(loaded: list[ir.Profile], as_json: bool) -> None:
    found = {one.name: list(undocumented(one)) for one in loaded}
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, places in found.items():
        click.echo(f"{name}: {len(places)} without docs")
        for place in places:
            click.echo(f"  {place}")

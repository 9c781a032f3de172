"""The command line: `acp-codegen import`, `generate`, `inspect`, `diff`. The only module that prints or exits.

Exit codes: 0 done, 1 drift found by `generate --check` or changes by `diff --fail-on`, 2 input that cannot be used.
"""

from __future__ import annotations

import functools
import io
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from codegen import __version__
from codegen.errors import CodegenError, fail
from codegen.inspect import printable, profile_data, profile_tree, undocumented
from codegen.names import is_identifier
from codegen.pipeline import bundled, generate, load
from codegen.schema.importing import import_schemas
from codegen.sources import PROFILE_FILES, check_profile
from codegen.write import Change, changes, write

DEFAULT_PACKAGE = "acp_bindings"
MAX_PROBLEMS = 20
MAX_SHOWN = 400
"""Characters shown of one part of a problem."""
MAX_WIDTH = 10_000
"""Columns of output that goes to no terminal, so that nothing is cut or broken."""
DIFF_FORMATS = ("text", "summary", "json", "markdown", "html")
"""Not read off `codegen.diff`, which takes longer to import than any other command to answer."""
F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)


def reports_problems(command: F) -> F:
    """Turns CodegenError into a one-screen message on stderr and exit code 2."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except CodegenError as error:
            console = _console(stderr=True)
            problems = list(dict.fromkeys(error.diagnostics))
            for problem in problems[:MAX_PROBLEMS]:
                console.print(Text.assemble(("error", "bold red"), " ", _shown(problem.place)))
                console.print(Text(f"  found     {_shown(problem.found)}"))
                console.print(Text(f"  expected  {_shown(problem.expected)}"))
            if len(problems) > MAX_PROBLEMS:
                console.print(f"... and {len(problems) - MAX_PROBLEMS} more problems")
            console.print("Nothing was written.", style="dim")
            sys.exit(2)

    # `wraps` keeps the signature, but its type does not say so.
    return run  # type: ignore[return-value]


def _console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, soft_wrap=True, emoji=False, highlight=False)
    # A terminal that lacks a character, or text that is none, must not end in a traceback.
    if isinstance(console.file, io.TextIOWrapper):
        console.file.reconfigure(errors="backslashreplace")
    if not console.is_terminal:
        console.width = MAX_WIDTH
    return console


def _shown(text: str) -> str:
    """Text safe for a terminal, overlong parts cut."""
    return printable(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " ...")


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
    wanted = [check_profile(name, "--profile") for name in dict.fromkeys(given)] or there
    if not wanted:
        raise fail(str(schema_dir), "no schema", "a folder with v2/schema.json; run: acp-codegen import SOURCE")
    return sorted(wanted, key=list(PROFILE_FILES).index)


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
    columns = ("profile", "definitions", "version", Column("file", overflow="fold"))
    table = Table(*columns, box=None, pad_edge=False)
    for one in import_schemas(source, schema_dir, profile):
        state = "" if one.changed else " (unchanged)"
        path = Text(printable(f"{one.path}{state}"))
        table.add_row(one.profile, str(one.definitions), Text(_shown(one.version)), path)
    _console().print(table)


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
    console = _console()
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
        console.print(Text(f"{verb:8} {printable(str(out / change.path))}"))
    console.print(Text(f"{len(files)} files in {printable(str(out))}, {len(found)} changed"))


def _show_drift(found: list[Change], out: Path) -> None:
    console = _console()
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for change in found:
        for line in change.diff().removesuffix("\n").split("\n"):
            console.print(Text(printable(line), colours.get(line[:1], "")))
    if found:
        message = f"files that differ from what the generator writes: {len(found)}; run: acp-codegen generate"
        _console(stderr=True).print(message)
    else:
        console.print(Text(f"{printable(str(out))} is what the generator writes"))


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
    chosen = [(one, list(one.definitions) if definition is None else [definition]) for one in loaded]
    chosen = [(one, names) for one, names in chosen if all(name in one.definitions for name in names)]
    if not chosen:
        expected = f"a definition of {' or '.join(one.name for one in loaded)}; acp-codegen inspect lists them"
        raise fail("inspect", f"no definition named {definition!r}", expected)
    console = _console()
    if only_undocumented:
        _show_undocumented(console, {one.name: list(undocumented(one, names)) for one, names in chosen}, as_json)
    elif as_json:
        whole = definition is None
        click.echo(json.dumps([profile_data(one, names, whole) for one, names in chosen], indent=2))
    else:
        for one, names in chosen:
            console.print(profile_tree(one, names, whole=definition is None), soft_wrap=False)


def _show_undocumented(console: Console, found: dict[str, list[str]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for name, places in found.items():
        console.print(f"{name}: {len(places)} without docs")
        for place in places:
            console.print(Text(f"  {printable(place)}"))


@main.command("diff")
@click.argument("old")
@click.argument("new")
@profile_option
@schema_dir_option
@click.option("--format", "form", type=click.Choice(DIFF_FORMATS), default="text", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to stdout.")
@click.option(
    "--fail-on", type=click.Choice(["breaking", "additive"]), help="Exit 1 if a change is of this class or worse."
)
@reports_problems
def diff_(
    old: str,
    new: str,
    profiles: Sequence[str],
    schema_dir: Path | None,
    form: str,
    output: Path | None,
    fail_on: Literal["breaking", "additive"] | None,
) -> None:
    """Say what changed from OLD to NEW, and whom it breaks: senders, receivers, Python source.

    OLD and NEW: npm:PACKAGE@VERSION, a folder, a file, or REVISION:PATH of a git repository (HEAD~1:schema). Profiles
    of one name are compared; two single files are compared whatever their profiles. TOML files beside a schema are
    heeded; a source that has none takes those of --schema-dir.
    """
    from codegen.diff import compare, render, text
    from codegen.diff.loading import load_both

    console = _console()
    with console.status("comparing") if console.is_terminal else nullcontext():
        loaded = load_both(old, new, _schema_dir(schema_dir), profiles)
        report = compare(loaded.old, loaded.new, loaded.notes)
    if output is not None:
        _write_report(output, render(report, form))
    elif form == "text" and console.is_terminal:
        console.print(text.lines(report, console.width), soft_wrap=False)
    else:
        click.echo(render(report, form), nl=False)
    sys.exit(1 if fail_on and report.fails(fail_on) else 0)


def _write_report(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise fail(str(path), error.strerror or str(error), "a file that can be written") from None

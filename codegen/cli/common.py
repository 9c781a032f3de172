"""What commands share: how they print, how they end, and the options that several have.

Exit codes: 0 done, 1 something found that a check looks for, 2 input that cannot be used.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from codegen.errors import CodegenError, fail
from codegen.inspect import printable
from codegen.names import is_identifier
from codegen.pipeline import bundled
from codegen.sources import PROFILE_FILES, check_profile

DEFAULT_PACKAGE = "acp_bindings"
MAX_PROBLEMS = 20
MAX_SHOWN = 400
"""Characters shown of one part of a problem."""
MAX_WIDTH = 10_000
"""Columns of output that goes to no terminal, so that nothing is cut or broken."""
F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(file_okay=False, path_type=Path)


def reports_problems(command: F) -> F:
    """Turns CodegenError into a one-screen message on stderr and exit code 2."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except CodegenError as error:
            to = console(stderr=True)
            problems = list(dict.fromkeys(error.diagnostics))
            for problem in problems[:MAX_PROBLEMS]:
                to.print(Text.assemble(("error", "bold red"), " ", shown(problem.place)))
                to.print(Text(f"  found     {shown(problem.found)}"))
                to.print(Text(f"  expected  {shown(problem.expected)}"))
            if len(problems) > MAX_PROBLEMS:
                to.print(f"... and {len(problems) - MAX_PROBLEMS} more problems")
            to.print("Nothing was written.", style="dim")
            sys.exit(2)

    # `wraps` keeps the signature, but its type does not say so.
    return run  # type: ignore[return-value]


def console(stderr: bool = False) -> Console:
    """Where to print: lines are broken on a terminal only, and nothing is taken for markup by accident."""
    made = Console(stderr=stderr, soft_wrap=True, emoji=False, highlight=False)
    # A terminal that lacks a character, or text that is none, must not end in a traceback.
    if isinstance(made.file, io.TextIOWrapper):
        made.file.reconfigure(errors="backslashreplace")
    if not made.is_terminal:
        made.width = MAX_WIDTH
    return made


def print_table(to: Console, table: Table) -> None:
    """Print a table: folded to fit a terminal, elsewhere one line a row, without blanks at its end."""
    if to.is_terminal:
        to.print(table, soft_wrap=False)
        return
    with to.capture() as printed:
        to.print(table)
    for line in printed.get().splitlines():
        to.print(Text(line.rstrip()))


def shown(text: str) -> str:
    """Text safe for a terminal, overlong parts cut."""
    return printable(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " ...")


def schema_dir_option(command: F) -> F:
    return click.option(
        "--schema-dir", type=FOLDER, help="Folder of pinned schemas. Default: ./schema, else the ones that ship."
    )(command)


def profile_option(command: F) -> F:
    return click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="VERSION/CHANNEL",
        help="v2/stable, v2/unstable, ... Repeatable.",
    )(command)


def output_options(command: F) -> F:
    out = click.option(
        "--out", type=FOLDER, default=Path("generated"), show_default=True, help="Folder to write the package into."
    )
    package = click.option("--package", default=DEFAULT_PACKAGE, show_default=True, help="Import name of the package.")
    project = click.option(
        "--project/--no-project",
        default=None,
        help=f"Write pyproject.toml and README.md too. Default: where the package is {DEFAULT_PACKAGE}.",
    )
    return out(package(project(command)))


def with_project(package: str, project: bool | None) -> bool:
    """Whether to write what makes a package pip-installable. Raises CodegenError for a name that is no identifier."""
    if not is_identifier(package):
        raise fail("--package", repr(package), "a Python identifier")
    return package == DEFAULT_PACKAGE if project is None else project


def schemas_at(given: Path | None) -> Path:
    """The schema folder to read: the one given, ./schema, or the one that ships."""
    if given is not None:
        return given
    here = Path("schema")
    return here if any((here / file).is_file() for file in PROFILE_FILES.values()) else bundled("schema")


def profiles_at(given: Sequence[str], schema_dir: Path) -> list[str]:
    """The profiles asked for, stable before unstable; by default all that the folder has."""
    there = [name for name, file in PROFILE_FILES.items() if (schema_dir / file).is_file()]
    wanted = [check_profile(name, "--profile") for name in dict.fromkeys(given)] or there
    if not wanted:
        raise fail(str(schema_dir), "no schema", "a folder with v2/schema.json; run: acp-codegen import SOURCE")
    return sorted(wanted, key=list(PROFILE_FILES).index)

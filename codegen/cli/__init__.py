"""The command line: the only package that prints or exits. Each command is a module, loaded when it is run."""

from __future__ import annotations

import importlib

import click

from codegen import __version__

COMMANDS = {
    "check": "Look for whatever needs mending: lock, drift, docs, names, gates.",
    "diff": "Say what changed from OLD to NEW, and whom it breaks: senders, receivers, Python source.",
    "generate": "Generate the package: OUT/PACKAGE, complete and importable as it lies.",
    "import": "Pin schemas from SOURCE: npm:PACKAGE@VERSION, a folder, a file or a URL.",
    "inspect": "Show what the generator understood: one DEFINITION, or all.",
    "update": "Take a new schema from SOURCE, say what changed, and regenerate.",
}
"""Every command, and what `--help` says of it: the first sentence of its own help, here so that no module is loaded."""


class LazyGroup(click.Group):
    """Loads the module of a command, `codegen.cli.<command>_command`, only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"codegen.cli.{cmd_name}_command").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="acp-codegen")
def main() -> None:
    """Turns the Agent Client Protocol's JSON Schemas into a typed Python package."""

"""The command line of the package. Only what `--help` needs is imported at once."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from .findings import Message, Summary
    from .profiles import Profile
    from .reading import Frame

AUTO = "auto"
EPILOG = """
\b
Signs in the first column:
  ! invalid: fails the message
  ~ tolerated: invalid, but a tolerance rule drops it
  - ignored: a property that nothing reads
  = repeated: a property that is there more than once
  ? unknown: a variant, value or method that this version does not have
    unmatched: an answer to no call that was seen
  + extension: an implementation's own (its name begins with _)

Exit code 0 when every message is valid, 1 when one is not (with --strict, when there is any mark but "+"), 2 when there
is nothing that could be read.
"""
PROFILE = click.option("--profile", "wanted", metavar="NAME", help="v2, v2.unstable, ... Default: the newest, stable.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Look into messages of the Agent Client Protocol."""


@main.command(epilog=EPILOG, short_help="Show what messages are read as, and what is wrong.")
@click.argument("arguments", nargs=-1, metavar="[TYPE] FILE", required=True)
@PROFILE
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line: one for each message, then a summary.")
@click.option("--strict", is_flag=True, help="Exit with 1 for any mark but extensions.")
@click.option("--brief", is_flag=True, help="Findings alone, without the messages they are in.")
@click.option("--full", is_flag=True, help="Do not cut long values.")
def explain(
    arguments: tuple[str, ...], wanted: str | None, as_json: bool, strict: bool, brief: bool, full: bool
) -> None:
    """Show what messages are read as, and what is wrong, unknown or ignored in them.

    FILE, or - for stdin, is a transcript: JSON-RPC messages, one a line or indented, each perhaps with its direction
    ("in", "out", "<", ">", "client:", ...) before it, or as the "message" of an object with a "direction". Lines that
    are no messages are noise. With a TYPE, each JSON text in FILE is a value of that type instead.
    """
    if len(arguments) > 2:
        raise click.UsageError("expected [TYPE] FILE")
    name, path = (AUTO, *arguments)[-2:]
    chosen = _profile(wanted)
    read, finish = _reader(chosen, name)
    show, conclude = _json_output() if as_json else _text_output(name == AUTO, brief, full)
    for frame in _frames(path):
        show(read(frame))
    summary = finish()
    if not summary.messages:
        what = "JSON-RPC message" if name == AUTO else "JSON text"
        more = "; to read a bare value, name its TYPE" if name == AUTO and summary.noise else ""
        raise _Unusable(f"{path}: no {what} in it{more}")
    clean = summary.clean(strict)
    conclude(summary, clean)
    sys.exit(0 if clean else 1)


@main.command(short_help="List the types that a message may be read as.")
@click.argument("word", required=False)
@PROFILE
def types(word: str | None, wanted: str | None) -> None:
    """List the types that a message may be read as, those with WORD in their name."""
    chosen = _profile(wanted)
    docs = chosen.docs()
    names = [name for name in chosen.types() if word is None or word.casefold() in name.casefold()]
    if not names:
        raise _Unusable(f"no type of {chosen.name} has {word!r} in its name")
    from rich.text import Text

    to = _console()
    width = max(map(len, names))
    for name in names:
        doc = docs.get(name, "")
        room = max(to.width - width - 2, 20)
        to.print(Text.assemble((f"{name:{width}}", "green"), "  ", doc if len(doc) <= room else doc[: room - 1] + "…"))


class _Unusable(click.ClickException):
    """What cannot be worked with: exit code 2."""

    exit_code = 2


def _profile(wanted: str | None) -> Profile:
    from .profiles import UnknownNameError, profile

    try:
        return profile(wanted)
    except UnknownNameError as error:
        raise _Unusable(_safe(str(error))) from None


def _reader(chosen: Profile, name: str) -> tuple[Callable[[Frame], Message], Callable[[], Summary]]:
    """What makes a message of a frame, and what sums them up."""
    from .findings import Summary
    from .profiles import UnknownNameError
    from .transcript import Transcript, bare

    if name == AUTO:
        transcript = Transcript(chosen)
        return transcript.read, transcript.finish
    try:
        form = chosen.type(name)
    except UnknownNameError as error:
        raise _Unusable(f"{_safe(str(error))} (`types` lists all)") from None
    summary = Summary(chosen.name)

    def read(frame: Frame) -> Message:
        message = bare(frame, form, name)
        summary.add(message)
        return message

    return read, lambda: summary


def _frames(path: str) -> Iterator[Frame]:
    from .reading import UnreadableError, frames

    try:
        with contextlib.nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as stream:
            yield from frames(stream)
    except (UnreadableError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _Unusable(f"{_safe(path)}: {reason}") from None


def _text_output(
    whole: bool, brief: bool, full: bool
) -> tuple[Callable[[Message], None], Callable[[Summary, bool], None]]:
    from .printing import Printer

    printer = Printer(_console(), full=full, brief=brief)
    return printer.message, printer.summary


def _json_output() -> tuple[Callable[[Message], None], Callable[[Summary, bool], None]]:
    import msgspec

    def show(message: Message) -> None:
        try:
            line = msgspec.json.encode(message)
        except RecursionError:
            message.tree = None
            line = msgspec.json.encode(message)
        click.echo(line)

    def conclude(summary: Summary, clean: bool) -> None:
        click.echo(msgspec.json.encode({"summary": summary, "clean": clean}))

    return show, conclude


def _console() -> Console:
    import io
    import os

    from rich.console import Console

    from .printing import WIDTH

    made = Console(soft_wrap=True, emoji=False, highlight=False, markup=False)
    # A terminal that lacks a character, or text that is none, must not end in a traceback.
    if isinstance(made.file, io.TextIOWrapper):
        made.file.reconfigure(errors="backslashreplace")
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = WIDTH
    return made


def _safe(text: str) -> str:
    from ..describe import printable

    return printable(text)

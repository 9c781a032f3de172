"""Messages as coloured text: a sign in the first column says where to look. Nothing reaches a terminal raw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from ..describe import printable
from .findings import Finding, Item, Mark, Message, Summary

SIGNS: dict[Mark, tuple[str, str]] = {
    "invalid": ("!", "bold red"),
    "unknown": ("?", "magenta"),
    "extension": ("+", "blue"),
    "tolerated": ("~", "yellow"),
    "ignored": ("-", "yellow"),
    "repeated": ("=", "yellow"),
    "unmatched": ("?", "magenta"),
    "unread": ("?", "magenta"),
}
"""What stands in the first column, and its colour. The worst comes first."""
WIDTH = 120
"""Columns where the output is no terminal."""
LEAST = 24
"""Columns that a value gets at least, however deep it is."""
LONG = 4000
"""Characters of a value that are looked at."""
KINDS = {"error": "error", "response": "answer", "malformed": "malformed", "noise": "noise"}


class Printer:
    """Prints one message after the other. `full` leaves no value out, `brief` prints no trees."""

    def __init__(self, console: Console, *, full: bool = False, brief: bool = False) -> None:
        self.console = console
        self.full = full
        self.brief = brief
        self.width = console.width

    def message(self, message: Message) -> None:
        """One message with all that there is to say about it."""
        if self.brief and not message.findings:
            return
        if message.kind == "noise":
            assert message.tree is not None
            self._line(
                Text.assemble(f"{message.line:>5}  ", ("noise  ", "dim"), (self._cut(message.tree.value, 14), "dim"))
            )
            return
        if message.kind != "value":
            self._line(self._head(message))
        told: dict[str, list[Finding]] = {}
        for finding in message.findings:
            told.setdefault(finding.pointer, []).append(finding)
        if message.kind == "malformed" and message.tree is not None:
            self._broken_off(message.tree.value)
        elif message.tree is not None and not self.brief:
            self._item(message.tree, 0, told)
        for finding in (one for found in told.values() for one in found):
            # What has no place in the tree: the envelope, or the tree is not shown.
            self._reason(finding, 4, True)
        if not self.brief:
            self._line(Text())

    def summary(self, summary: Summary, clean: bool) -> None:
        """How many messages, how many marks, what has no answer."""
        text = Text.assemble(
            _count(summary.messages, "message"), ", ",
            (f"{summary.invalid} invalid", "bold red") if summary.invalid else ("all valid", "green"),
        )  # fmt: skip
        for mark, (sign, colour) in SIGNS.items():
            if mark != "invalid" and summary.marks.get(mark):
                text.append(f", {summary.marks[mark]} {mark} ({sign})", colour)
        if summary.noise:
            text.append(f", {_count(summary.noise, 'line')} of noise", "dim")
        for line in text.wrap(self.console, self.width):
            self._line(line)
        for call in summary.unanswered:
            shown = f"no answer to {call.method} #{_json(call.id)}, line {call.line}"
            self._line(Text(printable(shown), "magenta"))
        if summary.hint:
            self._line(Text(summary.hint, "bold"))

    def _broken_off(self, text: str) -> None:
        """Text up to the place where it is no JSON any more; of a long one, the end."""
        shown, here = printable(text), " <-- here"
        room = max(self.width - 4 - len(here), LEAST)
        cut = shown if self.full or len(shown) <= room else f"…{shown[1 - room :]}"
        self._line(Text.assemble(" " * 4, cut, (here, "bold red")))

    def _head(self, message: Message) -> Text:
        text = Text(f"{message.line:>5}  ")
        if message.direction is not None:
            text.append(f"{printable(message.direction)[:12]:3} ", "dim")
        text.append(KINDS.get(message.kind, message.kind), "bold red" if message.kind in ("error", "malformed") else "")
        if message.id is not UNSET:
            text.append(f" #{printable(_json(message.id))[:40]}", "dim")
        if message.method is not None:
            text.append(f"  {printable(message.method)[:80]}", "bold")
        if message.side is not None and message.kind in ("request", "notification"):
            text.append(f"  to {message.side}", "dim")
        if message.answers is not None:
            text.append(f"  of line {message.answers}", "dim")
        return text

    def _item(self, item: Item, depth: int, told: dict[str, list[Finding]]) -> None:
        """A value and what is in it, each on a line of its own, with the findings about them."""
        found = told.pop(item.pointer, [])
        indent = 2 + 2 * depth
        worst: Mark | None = next((mark for mark in SIGNS if any(one.mark == mark for one in found)), None)
        sign, colour = SIGNS[worst] if worst else (" ", "")
        text = Text(f"{sign} ", colour).append(" " * (indent - 2))
        self._label(text, item, depth)
        self._value(text, item)
        inline = len(found) == 1 and not item.children and len(text) + 3 + len(_said(found[0])) <= self.width
        if inline:
            text.rstrip()
            text.append("   ").append(_said(found[0]), colour)
        self._line(text)
        if not inline:
            for finding in found:
                self._reason(finding, indent + 2, False)
        for child in item.children:
            self._item(child, depth + 1, told)

    def _label(self, text: Text, item: Item, depth: int) -> None:
        """The Python name, and the name on the wire where that is another."""
        if item.name is not None:
            text.append(item.name, "cyan")
            if item.wire != item.name:
                text.append(f" ({self._cut(str(item.wire), 0)})", "dim")
            text.append(": ", "dim")
        elif item.wire is not None:
            # Quoted where it may be taken for an attribute, which a part of the envelope is not.
            wire = str(item.wire) if isinstance(item.wire, int) or not depth else _json(item.wire)
            text.append(self._cut(wire, 0), "dim").append(": ", "dim")

    def _value(self, text: Text, item: Item) -> None:
        if item.type[:1].isupper():
            text.append(item.type, "bold green")
            text.append("" if item.value is UNSET else " ")
        elif item.children:
            text.append(f"{item.type} of {len(item.children)}", "dim")
        if item.value is not UNSET:
            text.append(self._cut(_json(item.value), len(text)), "dim" if item.state == "default" else "")
        if item.state == "default":
            text.append(" by default", "dim")

    def _reason(self, finding: Finding, indent: int, with_sign: bool) -> None:
        sign, colour = SIGNS[finding.mark]
        text = Text(f"{sign if with_sign else ' '} ", colour).append(" " * (indent - 2))
        room = max(self.width - indent, LEAST)
        for line in _folded(_said(finding), room):
            self._line(text.append(line, colour))
            text = Text(" " * indent)

    def _cut(self, shown: str, used: int) -> str:
        """Text that fits into what is left of the line, and that does nothing to a terminal."""
        room = max(self.width - used, LEAST)
        if self.full or (len(shown) <= room and shown.isprintable()):
            return printable(shown)
        line = printable(shown[:LONG])
        if len(line) <= room and len(shown) <= LONG:
            return line
        rest = f"… {len(shown)} characters"
        return line[: max(room - len(rest) - 1, 8)] + rest

    def _line(self, text: Text) -> None:
        text.rstrip()
        if self.console.color_system is None:
            # Ten times as fast as finding out that there is nothing to colour, which long transcripts notice.
            self.console.file.write(text.plain + "\n")
        else:
            self.console.print(text, soft_wrap=True)


def _said(finding: Finding) -> str:
    place = f" {finding.pointer}" if finding.pointer else ""
    return printable(f"{finding.mark}{place}: {finding.reason}")


def _folded(text: str, room: int) -> Iterator[str]:
    """Lines of at most `room` characters, broken at blanks, else in pointers."""
    while len(text) > room:
        at = text.rfind(" ", room // 2, room + 1)
        at = at if at > 0 else text.rfind("/", room // 2, room)
        at = at if at > 0 else room
        yield text[:at]
        text = text[at:].lstrip()
    yield text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""Files to frames: one JSON text each, from whatever a transcript looks like.

A frame is a line, or several when somebody has indented it. Before it may stand a time and a direction; or the line is
an object with a `direction` and a `message`. Lines come one by one, so that a file may be as long as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import msgspec

MAX_FRAME = 64 * 1024 * 1024
"""Bytes of one frame. A longer one is reported, and not read."""
_BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SPACE = b" \t\r\n"
_PAIRS = (("in", "out"), ("<", ">"), ("<-", "->"), ("<<", ">>"), ("<--", "-->"), ("recv", "send"), ("agent", "client"))
OPPOSITE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""Directions that are known, each with the one that answers come in."""
# A time or a bracketed word, a direction, the side that it leads to where an arrow says so.
_MARKED = re.compile(
    rb"(?:[\d:.,TZ+-]+\s+|\[[^\[\]{}]*\]\s*)*"
    rb"(<<|>>|<--|-->|<-|->|[<>]|\b(?:in|out|recv|send|agent|client)\b)(?:\s*(?:agent|client|proxy)\b)?\s*[:|]?\s*(?=[{\[])"
)
_OPENING = re.compile(rb"\{.*[{\[,]\Z|\{\Z|\[\{?\Z", re.DOTALL)
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[{}\[\]]')
_parse = msgspec.json.Decoder().decode


class Frame(NamedTuple):
    """One JSON text, or what was to be one. `size` is set when it is too long, and then `data` is only its start."""

    line: int
    direction: str | None
    data: bytes
    size: int | None = None


class UnreadableError(Exception):
    """A file that is no text that anybody could read."""


class _Wrapper(msgspec.Struct):
    direction: str
    message: msgspec.Raw


class _Part(msgspec.Struct):
    """A frame that goes over several lines, as far as it has come."""

    line: int
    direction: str | None
    lines: list[bytes]
    depth: int
    size: int = 0

    def add(self, text: bytes) -> None:
        self.lines.append(text)
        self.size += len(text) + 1
        self.depth += nesting(text)

    def frame(self) -> Frame:
        data = b"\n".join(self.lines)
        size = self.size if self.size > MAX_FRAME else None
        return Frame(self.line, self.direction, data[:MAX_FRAME] if size else data, size)


def frames(stream: BinaryIO) -> Iterator[Frame]:
    """The frames of a file, in order. Raises UnreadableError and OSError."""
    part: _Part | None = None
    for number, text, size in _lines(stream):
        if part is not None and size is None and not _begins_anew(text):
            part.add(text)
            if part.depth <= 0 or part.size > MAX_FRAME:
                yield part.frame()
                part = None
            continue
        if part is not None:
            yield part.frame()
            part = None
        direction, data = _unmarked(text)
        if size is not None:
            yield Frame(number, direction, data, size)
        elif _OPENING.match(data) and nesting(data) > 0 and not _is_json(data):
            part = _Part(number, direction, [], 0)
            part.add(data)
        elif data:
            yield _unwrapped(Frame(number, direction, data))
    if part is not None:
        yield part.frame()


def nesting(text: bytes) -> int:
    """How many brackets of a line stay open; below zero where more are closed."""
    found = _TOKENS.findall(text)
    return sum((one in (b"{", b"[")) - (one in (b"}", b"]")) for one in found)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes, int | None]]:
    """Lines by number without blanks at their ends, the blank ones left out; the size of one that is too long."""
    number = 0
    while line := stream.readline(MAX_FRAME + 2):
        number += 1
        size = None
        if len(line) > MAX_FRAME and not line.endswith(b"\n"):
            size = len(line) + _skipped(stream)
        if number == 1:
            if line.startswith(_WIDE_BOMS):
                raise UnreadableError("UTF-16 text; save it as UTF-8")
            line = line.removeprefix(_BOM)
        text = line.strip(_SPACE)
        if text:
            yield number, text, size


def _skipped(stream: BinaryIO) -> int:
    """Bytes up to the end of the line, which are dropped."""
    size = 0
    while rest := stream.readline(MAX_FRAME):
        size += len(rest)
        if rest.endswith(b"\n"):
            break
    return size


def _begins_anew(text: bytes) -> bool:
    """Whether a line inside an open frame is a message of its own, so that the open one never ended."""
    _, data = _unmarked(text)
    return data.startswith(b"{") and b'"jsonrpc"' in data and _is_json(data)


def _unmarked(text: bytes) -> tuple[str | None, bytes]:
    marked = _MARKED.match(text)
    return (marked[1].decode(), text[marked.end() :]) if marked else (None, text)


def _unwrapped(frame: Frame) -> Frame:
    """The message in an object that says its direction."""
    if not frame.data.startswith(b"{") or b'"direction"' not in frame.data or b'"message"' not in frame.data:
        return frame
    try:
        wrapper = msgspec.json.decode(frame.data, type=_Wrapper)
        inner = bytes(wrapper.message)
        data = _parse(inner).encode() if inner.startswith(b'"') else inner
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return frame
    return Frame(frame.line, wrapper.direction, data)


def _is_json(data: bytes) -> bool:
    try:
        _parse(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True

"""Bytes to lines, without I/O: one message a line, whatever way the bytes are cut."""

from __future__ import annotations

import msgspec

_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r"
_BLANK = _SPACE + b"\n"
SLACK = 64
"""Bytes over the limit that a line may have while it is not known whether they are blanks."""
PIECES = 4096
"""Pieces of a line that are joined to one, so that a byte at a time costs little memory."""
KEPT = 4096
"""Bytes that are kept of either end of a line beyond the limit."""


class Oversized(msgspec.Struct, frozen=True):
    """A line beyond the limit; all but its ends was dropped."""

    size: int
    limit: int
    head: bytes = b""
    tail: bytes = b""


class LineSplitter:
    """Collects bytes and gives out whole lines: `\\n` or `\\r\\n` end one, blank lines and a leading BOM are skipped.

    Only these end a line, never a U+2028 inside a string. Cost is linear however the bytes come. A line of more than
    `limit` bytes comes out as `Oversized` once it has ended, and the lines after it are unharmed.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        # The pieces of a line that has begun, and what many small ones were joined to.
        self._pieces: list[bytes] = []
        self._blocks: list[bytes] = []
        self._size = 0
        self._head: bytes | None = None
        self._first = True

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The lines that these bytes complete."""
        if not self._size and len(data) <= self.limit and data.find(b"\n") == len(data) - 1 and not self._first:
            # One line, as a whole: what comes when nobody is in a hurry.
            line = data.strip(_BLANK)
            return [line] if line else []
        *ended, rest = data.split(b"\n")
        found: list[bytes | Oversized] = []
        for piece in ended:
            if self._size:
                self._add(piece)
                self._finish(found)
            elif piece:
                self._line(piece, found)
        if rest:
            self._add(rest)
        return found

    def end(self) -> list[bytes | Oversized]:
        """The last line, if it had no line end."""
        found: list[bytes | Oversized] = []
        self._finish(found)
        return found

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces.append(piece)
        # A \r and blanks at the end do not count.
        if self._size > self.limit + SLACK:
            if self._head is None:
                self._head = self._joined()[:KEPT]
            self._pieces, self._blocks = [self._joined()[-KEPT - SLACK :]], []
        elif len(self._pieces) == PIECES:
            self._blocks.append(b"".join(self._pieces))
            self._pieces.clear()

    def _joined(self) -> bytes:
        return b"".join((*self._blocks, *self._pieces))

    def _finish(self, found: list[bytes | Oversized]) -> None:
        if self._head is not None:
            tail = self._joined().rstrip(_SPACE)[-KEPT:]
            found.append(Oversized(self._size, self.limit, self._head, tail))
        elif self._size:
            self._line(self._joined(), found)
        self._pieces, self._blocks = [], []
        self._size = 0
        self._head = None

    def _line(self, line: bytes, found: list[bytes | Oversized]) -> None:
        if self._first:
            line = line.removeprefix(_BOM)
            self._first = False
        line = line.strip(_SPACE)
        if len(line) > self.limit:
            found.append(Oversized(len(line), self.limit, line[:KEPT], line[-KEPT:]))
        elif line:
            found.append(line)

"""Bytes to lines, without I/O: one message a line, whatever way the bytes are cut."""

from __future__ import annotations

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Oversized:
    """A line beyond the limit; its bytes were dropped."""

    size: int


class LineSplitter:
    """Collects bytes and gives out whole lines: `\\n` or `\\r\\n` end one, blank lines and a leading BOM are skipped.

    Only these end a line, never a U+2028 inside a string. Cost is linear however the bytes come. A line of more than
    `limit` bytes comes out as `Oversized` once it has ended, and the lines after it are unharmed.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._dropping = False
        self._first = True

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """The lines that these bytes complete."""
        found: list[bytes | Oversized] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            self._finish(found)
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
        if self._size > self.limit:
            self._dropping = True
            self._parts.clear()
        elif piece:
            self._parts.append(piece)

    def _finish(self, found: list[bytes | Oversized]) -> None:
        if self._dropping:
            found.append(Oversized(self._size))
        elif self._parts:
            line = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            if self._first:
                line = line.removeprefix(_BOM)
                self._first = False
            line = line.strip(b" \t\r")
            if line:
                found.append(line)
        self._parts.clear()
        self._size = 0
        self._dropping = False

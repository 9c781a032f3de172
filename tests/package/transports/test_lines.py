"""Bytes to lines: however they are cut, whatever stands between the messages."""

from __future__ import annotations

import random
import time

import pytest
from acp_bindings.runtime.transports.lines import KEPT, LineSplitter, Oversized

LIMIT = 1000
LINES = [b'{"a":1}', '{"ü":"\u2028 \u2029 \x85 é 🦀"}'.encode(), b"{}", b'{"b":"\\n\\r"}', b"x" * LIMIT]


def split(data: bytes, cuts: list[int], limit: int = LIMIT) -> list[bytes | Oversized]:
    splitter = LineSplitter(limit)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        found += splitter.feed(data[start:end])
    return found + splitter.end()


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\r\n\r\n", b" \t\n", b"\n \r\n\t\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n\n"])
def test_lines_come_out_whole_however_the_bytes_are_cut(start: bytes, end: bytes) -> None:
    data = start + end.join(LINES)
    rng = random.Random(1)
    assert split(data, []) == LINES
    assert split(data, list(range(1, len(data)))) == LINES
    for _ in range(50):
        assert split(data, sorted(rng.sample(range(1, len(data)), 5))) == LINES
        # The last line may have its end or lack it.
        assert split(data + end, sorted(rng.sample(range(1, len(data)), 5))) == LINES


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert split(b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}", []) == [b"{}", b"\xef\xbb\xbf{}"]


def test_nothing_but_blanks() -> None:
    assert split(b"", []) == split(b"\n\r\n  \n\t", []) == []


@pytest.mark.parametrize("step", [1, 7, 100, LIMIT, 10 * LIMIT])
def test_a_line_over_the_limit_is_told_and_the_rest_is_unharmed(step: int) -> None:
    longest, large = b"y" * LIMIT, b"{" + b"x" * (LIMIT - 1) + b"}"
    data = b"\r\n".join((b"{}", longest, large, b"[]", large * 9, b"{}", large))
    found = split(data, list(range(step, len(data), step)))
    assert [one.size if isinstance(one, Oversized) else one for one in found] == [
        b"{}",
        longest,
        pytest.approx(LIMIT + 1, abs=1),
        b"[]",
        pytest.approx(9 * (LIMIT + 1), abs=1),
        b"{}",
        LIMIT + 1,
    ]
    for one in found:
        if isinstance(one, Oversized):
            assert one.head.startswith(b"{x") and one.tail.endswith(b"x}") and one.limit == LIMIT


def test_of_an_endless_line_little_is_kept() -> None:
    splitter = LineSplitter(LIMIT)
    for number in range(1000):
        assert splitter.feed(b"%d" % (number % 10) * 1000) == []
        assert sum(map(len, splitter._pieces)) <= 2 * KEPT and splitter._blocks == []
    (line,) = splitter.feed(b"\n")
    assert isinstance(line, Oversized) and line.size == 1_000_000
    assert (line.head, line.tail) == ((b"0" * 1000 + b"1" * 1000)[:KEPT], line.tail)
    assert line.tail.endswith(b"8" * 1000 + b"9" * 1000)


def test_cost_is_linear() -> None:
    """Four times the pieces cost about four times as much to take, not sixteen; the end is one copy."""

    def seconds(pieces: int, piece: int) -> float:
        data, best = b"x" * piece, float("inf")
        for _ in range(9):
            splitter = LineSplitter(2**30)
            start = time.perf_counter()
            for _ in range(pieces):
                splitter.feed(data)
            best = min(best, time.perf_counter() - start)
            assert splitter.feed(b"\n") == [data * pieces]
        return best

    for pieces, piece in ((2**7, 2**16), (2**16, 1)):
        assert seconds(4 * pieces, piece) < 10 * seconds(pieces, piece)

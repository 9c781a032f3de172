"""Server-sent events, however they are written and cut."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterable

import pytest
from acp_bindings.runtime.transports.lines import KEPT, Oversized
from acp_bindings.runtime.transports.sse import SLACK, EventSplitter, read_events
from hypothesis import given
from hypothesis import strategies as st

LIMIT = 64


def messages(chunks: Iterable[bytes], limit: int = LIMIT) -> list[bytes | Oversized]:
    """What these bytes bring."""
    found: list[bytes | Oversized] = []

    async def read() -> None:
        async def coming() -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        async for _ in read_events(coming(), limit, found.append):
            pass

    asyncio.run(read())
    return found


def cuts(data: bytes) -> list[list[bytes]]:
    """The bytes in one piece, in two pieces cut anywhere, and one at a time."""
    halves = [[data[:place], data[place:]] for place in range(1, len(data))]
    return [[data], *halves, [data[place : place + 1] for place in range(len(data))]]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])
def test_every_line_end_cut_anywhere(end: str) -> None:
    text = 'data: {"a":1}|||: kept alive||data:{"b":2}|id: 7|event: message||data: {"c":|data: 3}||'
    for pieces in cuts(text.replace("|", end).encode()):
        assert messages(pieces) == [b'{"a":1}', b'{"b":2}', b'{"c":\n3}'], pieces


def test_mixed_line_ends() -> None:
    data = b"data: 1\r\n\ndata: 2\r\r\ndata: 3\n\rdata: 4\n\r\ndata: 5\r\n\r\n"
    for pieces in cuts(data):
        assert messages(pieces) == [b"1", b"2", b"3", b"4", b"5"], pieces


def test_an_event_comes_out_with_its_last_byte() -> None:
    """A CR may be followed by an LF, but nobody waits for that."""
    splitter = EventSplitter(LIMIT)
    assert splitter.feed(b"data: 1\r\r") == [b"data: 1\n\n"]
    assert splitter.feed(b"\ndata: 2\n\n") == [b"data: 2\n\n"]


def test_a_byte_order_mark_is_dropped_at_the_beginning_only() -> None:
    for pieces in cuts(b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\ndata: 3\n\n"):
        assert messages(pieces) == [b"1", b"3"], pieces


def test_only_line_ends_end_a_line() -> None:
    """Neither U+2028 nor what other formats call line ends."""
    text = '"\u2028\u2029\x0b\x0c\x1c\x85 \U0001f30d"'
    for pieces in cuts(f"data: {text}\n\n".encode()):
        assert messages(pieces) == [text.encode()], pieces


@pytest.mark.parametrize(
    "data",
    [
        b": nothing\n\n: but\n\n: comments\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b"id: 1\n\n",
        b"retry: 10\n\n",
        b"event: ping\ndata: 1\n\n",
        b"data\n\n",
        b"nonsense: 1\n\n",
        b"\n\n\r\n\n",
        b"data: 1",
        b"data: 1\n",
    ],
    ids=repr,
)
def test_what_brings_no_message(data: bytes) -> None:
    """Comments, events without data or of another name, and what the end of the stream cuts off."""
    for pieces in cuts(data):
        assert messages(pieces) == [], pieces


def test_a_message_over_the_limit_leaves_the_others_unharmed() -> None:
    exact, over = b'"' + b"x" * (LIMIT - 2) + b'"', b'{"id":1,"x":"' + b"x" * LIMIT + b'"}'
    for pieces in cuts(b"data: 1\n\ndata: %b\n\ndata: %b\n\ndata: 2\n\n" % (exact, over)):
        assert messages(pieces) == [b"1", exact, Oversized(len(over), LIMIT, over, over), b"2"]


def test_a_huge_message_is_not_kept() -> None:
    """Of one that exceeds what an event may take, only the ends of its data are."""
    start, end = b'{"jsonrpc":"2.0","id":5,"result":"', b'"}'
    size = 1_000_000
    pieces = [b"data: ", start, *([b"x" * 1000] * (size // 1000)), end, b"\n", b"\ndata: 1\n\n"]
    found, after = messages(pieces)
    assert isinstance(found, Oversized)
    assert after == b"1"
    assert found.size > size and found.limit == LIMIT
    assert len(found.head) <= KEPT + 1 and len(found.tail) <= 2 * KEPT
    assert found.head.startswith(start) and found.tail.endswith(end)


def test_comments_without_an_end_do_not_add_up() -> None:
    """Some servers keep a stream alive for days by comments alone."""
    pieces = [b": alive\n"] * ((2 * LIMIT + SLACK) // 8 + 10)
    assert messages([*pieces, b"data: 1\n\n"]) == [b"1"]


def test_a_long_message_in_small_pieces_costs_no_more_than_its_length() -> None:
    """What is collected is joined a few times at most, not once for each piece."""
    text = b'"' + b"x" * 2_000_000 + b'"'
    data = b"data: " + text + b"\n\n"
    pieces = [data[place : place + 16] for place in range(0, len(data), 16)]
    assert messages(pieces, limit=len(text)) == [text]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=5),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_whatever_the_text_and_the_cuts(texts: list[str], places: list[int]) -> None:
    data = "".join(f"data: {text}\n\n" for text in texts).encode()
    ends = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(ends)]
    assert messages(pieces, limit=10_000) == [text.encode() for text in texts if text.encode().strip()]

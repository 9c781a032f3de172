"""Files to frames: what a transcript may look like."""

from __future__ import annotations

import io
import json

import pytest
from acp_bindings.runtime.explain import reading
from acp_bindings.runtime.explain.reading import Frame, UnreadableError, frames

PING = b'{"jsonrpc":"2.0","method":"ping"}'


def read(data: bytes) -> list[Frame]:
    return list(frames(io.BytesIO(data)))


def test_a_frame_a_line() -> None:
    data = b"\xef\xbb\xbf" + PING + b"\r\n\r\n   \n" + PING + b"\nnoise\n\t" + PING
    assert read(data) == [Frame(1, None, PING), Frame(4, None, PING), Frame(5, None, b"noise"), Frame(6, None, PING)]
    assert read(b"") == [] == read(b"\n \r\n")


@pytest.mark.parametrize(
    ("before", "direction"),
    [
        ("> ", ">"),
        ("<", "<"),
        ("-> ", "->"),
        ("<-- ", "<--"),
        (">> ", ">>"),
        ("in ", "in"),
        ("out: ", "out"),
        ("recv | ", "recv"),
        ("client: ", "client"),
        ("agent ", "agent"),
        ("-> agent ", "->"),
        ("<- agent  ", "<-"),
        ("12:01:02.345 > ", ">"),
        ("2026-01-31T12:00:00.5Z <- ", "<-"),
        ("[12:00] [debug] send ", "send"),
    ],
)
def test_directions_before_a_message(before: str, direction: str) -> None:
    assert read(before.encode() + PING) == [Frame(1, direction, PING)]
    assert direction in reading.OPPOSITE


@pytest.mark.parametrize("before", ["sent ", "within ", "inner", "what > is ", "agents "])
def test_other_words_are_no_direction(before: str) -> None:
    assert read(before.encode() + PING) == [Frame(1, None, before.encode() + PING)]


def test_opposites_are_opposites() -> None:
    assert all(reading.OPPOSITE[other] == one and one != other for one, other in reading.OPPOSITE.items())


@pytest.mark.parametrize("message", [PING.decode(), json.dumps(PING.decode())], ids=["object", "text"])
def test_direction_in_an_object(message: str) -> None:
    line = f'{{"at": [1, {{"x": 2}}], "direction": "in", "message": {message}}}'
    assert read(line.encode()) == [Frame(1, "in", PING)]
    line = f'{{"message": {message}, "direction": "up"}}'
    assert read(line.encode()) == [Frame(1, "up", PING)]


def test_an_object_that_is_something_else_stays() -> None:
    for line in (
        b'{"direction": 1, "message": {}}',
        b'{"message": "hi"}',
        b'{"direction": "in", "message": "\\ud800"}',
    ):
        assert read(line) == [Frame(1, None, line)]


def test_indented_messages() -> None:
    value = {"jsonrpc": "2.0", "method": "a{", "params": {"b": ["}", {"c": '"{'}], "d": {}}}
    text = json.dumps(value, indent=2)
    data = f"> {text}\n\nin {text}\n{PING.decode()}\n{text}".encode()
    found = read(data)
    assert [json.loads(one.data) for one in found] == [value, value, json.loads(PING), value]
    assert [one.direction for one in found] == [">", "in", None, None]
    assert [one.line for one in found[:2]] == [1, text.count("\n") + 3]


def test_a_message_that_breaks_off_does_not_swallow_the_rest() -> None:
    broken = b'{"jsonrpc":"2.0","params":{'
    found = read(broken + b"\n  more\n> " + PING + b"\n" + PING)
    assert found == [Frame(1, None, broken + b"\nmore"), Frame(3, ">", PING), Frame(4, None, PING)]
    assert read(broken) == [Frame(1, None, broken)]


def test_a_bracket_at_the_end_of_other_words_opens_nothing() -> None:
    assert read(b"[info] loading {\n" + PING) == [Frame(1, None, b"[info] loading {"), Frame(2, None, PING)]


def test_an_array_over_several_lines_is_one_frame() -> None:
    data = b"[\n" + PING + b",\n" + PING + b",\n3]\n"
    assert [one.line for one in read(data)] == [1]


def test_frames_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_FRAME", 100)
    long = b'"' + b"x" * 1000 + b'"'
    found = read(PING + b"\n" + long + b"\n" + PING + b"\n" + long)
    assert [(one.line, one.size) for one in found] == [(1, None), (2, 1003), (3, None), (4, 1002)]
    assert all(len(one.data) <= 102 for one in found)
    indented = b"{\n" + b'"a": 1,\n' * 50 + b'"b": 2}\n' + PING
    found = read(indented)
    assert found[0].size is not None and found[0].size > 100 and len(found[0].data) == 100


def test_utf_16_is_refused() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        with pytest.raises(UnreadableError, match="UTF-16"):
            read("\ufeff{}".encode(encoding))

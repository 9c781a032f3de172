"""Hostile input: whatever text `decode` is given and whatever object `convert` is given, they answer with DecodeError.

ACP_EXAMPLES multiplies the number of examples, as in `test_properties`.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import importlib
import json
import random
import types
import uuid
from array import array
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from acp_bindings import v1, v2
from hypothesis import given
from hypothesis import strategies as st

from tests.package.codec.profiles import profiles
from tests.package.codec.test_properties import DEFINITIONS, SWEEPS, Outcome, refuse, thorough

# Where a text may stand.
PLACES = {
    "alone": "%s",
    "string": '{"type":"text","text":%s}',
    "free": '{"type":"text","text":"x","_meta":{"k":%s}}',
    "unknown": '{"type":"_acme","k":%s}',
    "skipped": '{"type":"text","text":"x","extra":%s}',
    "late": '{"type":"text","text":5,"extra":%s}',
}
NO_JSON = {
    "empty": b"",
    "blank": b" \t\r\n",
    "byte order mark": b'\xef\xbb\xbf"x"',
    "utf-16": '"x"'.encode("utf-16"),
    "NUL": b"\0",
    "cut UTF-8": b'"\xe6\x97"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "encoded surrogate": b'"\xed\xa0\x80"',
    "beyond Unicode": b'"\xf5\x80\x80\x80"',
    "lone high surrogate": rb'"\ud800"',
    "lone low surrogate": rb'"\udc00"',
    "cut escape": rb'"\u12"',
    "unknown escape": rb'"\x41"',
    "NaN": b"NaN",
    "Infinity": b"-Infinity",
    "1e999": b"1e999",
    "5,000 digits": b"1" * 5000,
    "leading zero": b"01",
    "plus": b"+1",
    "no digits": b"1.",
    "hex": b"0x10",
    "100,000 arrays": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "100,000 closed arrays": b"[" * 100_000 + b"]" * 100_000,
    "comma": b"[1,]",
    "comment": b"1 // one",
    "single quotes": b"'x'",
    "unquoted key": b"{a:1}",
    "number as key": b"{1:2}",
    "two values": b"1 2",
    "not closed": b'{"a":[1',
    "closed twice": b"{}}",
    "word": b"undefined",
}
# The C decoder skips what nobody reads without looking at it closely.
SKIPPED = {"cut UTF-8", "overlong UTF-8", "encoded surrogate", "beyond Unicode", "1e999", "5,000 digits"}
FORMS: tuple[Any, ...] = (v2.ContentBlock, v2.TextContent, v1.ContentBlock, v2.ExtRequest)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NO_JSON)
def test_no_json(name: str, place: str) -> None:
    before, after = PLACES[place].encode().split(b"%s")
    data = before + NO_JSON[name] + after
    for form in FORMS:
        if place == "skipped" and name in SKIPPED and form is not v2.ExtRequest:
            assert v2.decode(data, form).text == "x"
            continue
        with pytest.raises(v2.DecodeError) as failed:
            v2.decode(data, form)
        # Of an unknown variant, the missing text is found before the text that is no JSON.
        assert failed.value.pointer == ""
        assert len(failed.value.reason) < 200


@pytest.mark.parametrize("data", ["\ud800", '{"text":"\udfff"}', '"\ufeff"'[1:], "\x00"])
def test_no_json_as_str(data: str) -> None:
    for form in FORMS:
        with pytest.raises(v2.DecodeError) as failed:
            v2.decode(data, form)
        assert failed.value.pointer == ""


@pytest.mark.parametrize("data", [None, 5, [], {}, object(), memoryview(b'{"text":""}')[::2], array("i", [1])])
def test_no_text(data: Any) -> None:
    with pytest.raises(v2.DecodeError) as failed:
        v2.decode(data, v2.TextContent)
    assert failed.value.pointer == ""


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(kind: type) -> None:
    assert v2.decode(kind(b'{"text":"x"}'), v2.TextContent) == v2.TextContent(text="x")
    assert v2.decode(kind(b'{"type":"_x"}'), v2.ContentBlock) == v2.UnknownContentBlock(type="_x")


@thorough
@given(st.sampled_from(DEFINITIONS), st.one_of(st.binary(max_size=40), st.text(max_size=40)))
def test_random_text(definition: tuple[str, str], data: Any) -> None:
    Outcome(profiles()[definition[0]], definition[1], data, "decode")


@pytest.mark.parametrize("name", profiles())
def test_damaged_text(name: str) -> None:
    """Texts that are cut short, or have a byte changed, added or taken away."""
    profile = profiles()[name]
    for definition in profile.definitions:
        for seed in range(4 * SWEEPS):
            rng = random.Random(f"{name} {definition} {seed}")
            data = bytearray(json.dumps(profile.values.valid(definition, rng), ensure_ascii=False).encode())
            place = rng.randrange(len(data))
            match seed % 4:
                case 0:
                    del data[place:]
                case 1:
                    del data[place]
                case 2:
                    data[place] = rng.choice(b'\x00"\\{}[]:,0-e.\x80\xff')
                case 3:
                    data.insert(place, rng.choice(b'\x00"\\{}[]:,0-e.\x80\xff'))
            outcome = Outcome(profile, definition, bytes(data), "decode")
            try:
                value = msgspec.json.decode(data)
            except msgspec.DecodeError:
                continue  # some of these decode: the damage is in a property that C skips
            assert outcome.same_as(Outcome(profile, definition, value))


class WholeEnum(enum.IntEnum):
    ONE = 1


class TextEnum(enum.StrEnum):
    TEXT = "text"


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Properties(dict[str, Any]):
    pass


class Items(list[Any]):
    pass


@dataclasses.dataclass
class Data:
    type: str = "text"
    text: str = "x"


Pair = collections.namedtuple("Pair", "left right")


def odd_objects() -> list[Any]:
    """What a Python program may hand over by mistake. Made anew each time, since to look at some is to change them."""
    items: list[Any] = []
    items.append(items)
    properties: dict[str, Any] = {}
    properties["type"] = properties
    block: dict[str, Any] = {"type": "text", "text": "x"}
    block["_meta"] = block
    known = {"type": "text", "text": "x"}
    return [
        b"x", bytearray(b"x"), memoryview(b"x"), {1}, frozenset("a"), (1, 2), ("a",), (), collections.deque([1]),
        datetime.datetime.now(tz=datetime.UTC), datetime.date.today(), datetime.timedelta(1), uuid.uuid4(),
        *map(decimal.Decimal, ("1.5", "NaN", "sNaN", "1e999")), fractions.Fraction(1, 2), 1j,
        float("nan"), float("inf"), -float("inf"), 10**5000, -(10**5000), 10**400,
        items, properties, block, {1: 2}, {None: 1}, {(1, 2): 3}, {Text("type"): Text("text"), Text("text"): "y"},
        Properties(known), collections.OrderedDict(known), types.MappingProxyType(known), collections.UserDict(known),
        collections.ChainMap(known), Items(["a"]), collections.UserList(["a"]), collections.UserString("a"),
        WholeEnum.ONE, TextEnum.TEXT, Text("text"), Whole(3), Real(1.5), Data(), Pair("a", "b"),
        types.SimpleNamespace(**known), object(), range(3), iter("a"), array("i", [1]), len, int, ..., NotImplemented,
        msgspec.UNSET, msgspec.Raw(b'"a"'), v2.TextContent(text="x"), v2.UnknownContentBlock(type="_x"),
        v1.TextContent(text="x"), v2.RunningStateUpdate(),
    ]  # fmt: skip


def slots(holder: Any) -> Iterator[tuple[Any, Any]]:
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        yield holder, key
        if isinstance(holder[key], dict | list):
            yield from slots(holder[key])


@pytest.mark.parametrize("name", profiles())
def test_odd_objects_somewhere_inside(name: str) -> None:
    """They fail, or are taken, with and without C's help alike; what is taken encodes, or fails to with EncodeError."""
    profile = profiles()[name]
    objects = importlib.import_module("acp_bindings.runtime.objects")
    taken = 0
    for definition in profile.definitions:
        for seed in range(12 * SWEEPS):
            rng = random.Random(f"{name} {definition} {seed}")
            root = [profile.values.valid(definition, rng)]
            holder, key = rng.choice(list(slots(root)))
            holder[key] = rng.choice(odd_objects())
            outcome = Outcome(profile, definition, root[0])
            with patch.object(objects, "_convert", refuse):
                alone = Outcome(profile, definition, root[0])
            try:
                assert alone.same_as(outcome)
            except RecursionError:  # a cycle that a free-form place took
                assert alone.error is None and outcome.error is None
            if outcome.error is None:
                taken += 1
                with contextlib.suppress(profile.module.EncodeError):
                    profile.module.encode(outcome.found)
            else:
                assert len(outcome.error.reason) < 1000
    assert taken > 100


@pytest.mark.parametrize("name", profiles())
def test_odd_objects_instead(name: str) -> None:
    profile = profiles()[name]
    for definition in profile.definitions:
        for odd in odd_objects():
            Outcome(profile, definition, odd)


def test_models_and_what_looks_like_json_pass() -> None:
    """Models pass where their type is asked for; tuples, sets and mappings do for arrays and objects, as in C."""
    text = v2.TextContent(text="x")
    bads: list[dict[str, Any]] = [{}, {"_meta": 5}]
    for bad in bads:  # once through C, once through the walk
        chunk = v2.convert({"messageId": "m", "content": text} | bad, v2.ContentChunk)
        assert chunk.content is text
        prompt = v2.convert(types.MappingProxyType({"sessionId": "s", "prompt": (text,)} | bad), v2.PromptRequest)
        assert prompt.prompt == [text]
        cost = v2.convert({"amount": decimal.Decimal("1.5"), "currency": "EUR"} | bad, v2.Cost)
        assert type(cost.amount) is float
    with pytest.raises(v2.DecodeError) as failed:
        v2.convert({"messageId": "m", "content": v1.TextContent(text="x")}, v2.ContentChunk)
    assert failed.value.pointer == "/content"
    with pytest.raises(v2.DecodeError, match="expected object, got TextContent"):
        v2.convert(text, v2.ImageContent)

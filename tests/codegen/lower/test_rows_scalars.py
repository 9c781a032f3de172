"""Rows of the lowering table for scalars: aliases, enums open and closed, bounds and formats."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, array, const, nullable, obj, ref

ROWS = Tinies()

ALIASES = ROWS.add(
    {
        "Id": STRING,
        "Same": ref("Id"),
        "Wrapped": {"allOf": [ref("Same")], "title": "a title", "description": "words"},
        "Port": {"type": "integer", "format": "uint16", "minimum": 1},
        "Ports": array(ref("Port"), minItems=1),
        "Ratio": {"type": "number", "minimum": 0, "maximum": 1},
        "Flag": {"type": "boolean"},
        "Nothing": {"type": "null"},
        "Holder": obj({"id": ref("Wrapped"), "port": ref("Port"), "ports": ref("Ports")}, "id", "port"),
    },
    use="""
same: Same = "x"
assert_type(Holder(id=same, port=1).id, str)
assert_type(Holder(id="", port=1).ports, list[int])
ratio: Ratio = 0.5
flag: Flag = True
nothing: Nothing = None
""",
)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("Id", ["", "x"], [1, None, True, ["x"]]),
        ("Same", ["x"], [1]),
        ("Wrapped", ["x"], [1]),
        ("Port", [1, 65535], [0, 65536, "1", 1.0, True]),
        ("Ratio", [0, 1, 0.5], [-0.1, 2, "0", True]),
        ("Flag", [True, False], [0, "true", None]),
        ("Nothing", [None], [0, False, ""]),
    ],
)
def test_aliases(name: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert repr(ALIASES.encoded(name, value)) == repr(value)
    for value in bad:
        assert ALIASES.pointer(name, value) == ""


def test_aliases_inside() -> None:
    assert ALIASES.pointer("Ports", []) == ""
    assert ALIASES.pointer("Ports", [1, 0]) == "/1"
    assert ALIASES.pointer("Holder", {"id": "x", "port": 0}) == "/port"
    assert ALIASES.pointer("Holder", {"id": "x", "port": 1, "ports": [70000]}) == "/ports/0"


ENUMS = ROWS.add(
    {
        "ToolKind": {"anyOf": [const("read"), const("two words"), {"type": "string", "title": "unknown"}]},
        "Level": {"oneOf": [const("low"), const("high")]},
        "Single": {"oneOf": [const("only")]},
        "Several": {"type": "string", "enum": ["a", "b"]},
        "Lone": const("lone"),
        "Digits": {"enum": [1, 2]},
        "MaybeListed": {"enum": ["a", None]},
        "Holder": obj({"kind": nullable(ref("ToolKind")), "level": ref("Level"), "inline": {"enum": ["x", "y"]}}),
    },
    use="""
kind: ToolKind = "anything"
assert_type(KNOWN_TOOL_KIND, frozenset[str])
level: Level = "low"
level = "middle"  # type: ignore[assignment]
single: Single = "only"
lone: Lone = "lone"
digits: Digits = 2
maybe: MaybeListed = None
Holder(kind=None, inline="x", level="high")
""",
)


def test_open_enum() -> None:
    assert frozenset({"read", "two words"}) == ENUMS.module.KNOWN_TOOL_KIND
    for value in ("read", "two words", "unheard of", "_own"):
        assert ENUMS.encoded("ToolKind", value) == value
        assert ENUMS.encoded("Holder", {"kind": value}) == {"kind": value}
    assert ENUMS.pointer("ToolKind", 1) == ""
    assert ENUMS.encoded("Holder", {"kind": None}) == {"kind": None}
    assert ENUMS.module.is_extension("_own") and not ENUMS.module.is_extension("unheard of")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("Level", ["low", "high"], ["middle", "_low", None, 1]),
        ("Single", ["only"], ["other", None]),
        ("Several", ["a", "b"], ["c", ["a"]]),
        ("Lone", ["lone"], ["alone"]),
        ("Digits", [1, 2], [3, "1", 1.0, True]),
        ("MaybeListed", ["a", None], ["b", False]),
    ],
)
def test_closed_enums(name: str, good: list[object], bad: list[object]) -> None:
    for value in good:
        assert ENUMS.encoded(name, value) == value
    for value in bad:
        assert ENUMS.pointer(name, value) == ""
    assert not hasattr(ENUMS.module, f"KNOWN_{name.upper()}")


CODES = ROWS.add(
    {
        "ErrorCode": {
            "anyOf": [
                const(-32700, "Parse error"),
                const(-32800, "Request cancelled"),
                {"type": "integer", "format": "int32", "title": "Other"},
            ]
        },
        "Failure": obj({"code": ref("ErrorCode")}, "code"),
    },
    use="""
assert_type(Failure(code=ErrorCode.PARSE_ERROR).code, int)
Failure(code=5)
""",
)


def test_open_integer_enum() -> None:
    codes = CODES.module.ErrorCode
    assert (codes.PARSE_ERROR, codes.REQUEST_CANCELLED) == (-32700, -32800)
    for value in (-32700, 0, 2**31 - 1):
        assert CODES.encoded("ErrorCode", value) == value
        assert CODES.encoded("Failure", {"code": value}) == {"code": value}
    for bad in ("-32700", 1.5, 2**31, None, True):
        assert CODES.pointer("ErrorCode", bad) == ""
        assert CODES.pointer("Failure", {"code": bad}) == "/code"


BOUNDS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "minimum": ({"type": "integer", "minimum": 2}, [2, 2**64 - 1], [1, -5]),
    "maximum": ({"type": "integer", "maximum": 2}, [2, -(2**63)], [3]),
    "fractions": ({"type": "integer", "minimum": 0.5, "maximum": 2.5}, [1, 2], [0, 3]),
    "beyond64": ({"type": "integer", "minimum": -(2**70), "maximum": 2**70}, [0], ["0"]),
    "int8": ({"type": "integer", "format": "int8"}, [-128, 127], [-129, 128]),
    "uint8": ({"type": "integer", "format": "uint8"}, [0, 255], [-1, 256]),
    "int16": ({"type": "integer", "format": "int16"}, [-32768, 32767], [-32769, 32768]),
    "uint16": ({"type": "integer", "format": "uint16"}, [0, 65535], [-1, 65536]),
    "int32": ({"type": "integer", "format": "int32"}, [-(2**31), 2**31 - 1], [-(2**31) - 1, 2**31]),
    "uint32": ({"type": "integer", "format": "uint32"}, [0, 2**32 - 1], [-1, 2**32]),
    "int64": ({"type": "integer", "format": "int64"}, [-(2**63), 2**63 - 1], [1.0, "1", True]),
    "uint64": ({"type": "integer", "format": "uint64", "minimum": 0}, [0, 2**64 - 1], [-1]),
    "tighter": ({"type": "integer", "format": "uint16", "minimum": 5, "maximum": 10**6}, [5, 65535], [4, 65536]),
    "number": ({"type": "number", "minimum": 0, "maximum": 1}, [0, 1, 0.25], [-0.1, 1.1, 2, -1, "0"]),
    "half": ({"type": "number", "minimum": 0.5, "maximum": 1.5}, [0.5, 1, 1.5], [0, 2, 0.4]),
    "plain": ({"type": "number"}, [3, 3.5, -1e300], ["3", None, True]),
    "minLength": ({"type": "string", "minLength": 2}, ["ab", "日本"], ["", "a", "日"]),
    "integralLength": ({"type": "string", "minLength": 2.0}, ["ab"], ["a"]),
    "pattern": ({"type": "string", "pattern": r"^a+\d$"}, ["a1", "aa2"], ["b1", "a", "xa1"]),
    "unanchored": ({"type": "string", "pattern": "b"}, ["abc"], ["a"]),
    "minItems": (array(INTEGER, minItems=2), [[1, 2]], [[], [1]]),
    "uri": ({"type": "string", "format": "uri"}, ["not a uri"], [1]),
    "encoded": ({"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}, ["?"], [1]),
}  # fmt: skip
BOUNDED = ROWS.add(
    {"Alone": obj({name: row[0] for name, row in BOUNDS.items()})} | {n: r[0] for n, r in BOUNDS.items()}
)


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    _, good, bad = BOUNDS[name]
    for value in good:
        assert repr(BOUNDED.encoded(name, value)) == repr(value)
        assert repr(BOUNDED.encoded("Alone", {name: value})) == repr({name: value})
    for value in bad:
        assert BOUNDED.pointer(name, value) == ""
        assert BOUNDED.pointer("Alone", {name: value}) == f"/{name}"


def test_integers_stay_integers_and_floats_floats() -> None:
    assert isinstance(BOUNDED.decode("plain", 3), int)
    assert isinstance(BOUNDED.decode("plain", 3.0), float)
    assert math.copysign(1, BOUNDED.decode("plain", -0.0)) == -1


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

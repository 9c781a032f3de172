"""Rows of the lowering table: structs, maps, what is nullable, what is anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, array, nullable, obj, ref, source_of

ROWS = Tinies()

STRUCT = ROWS.add(
    {
        "Thing": obj(
            {
                "toolCallId": STRING,
                "rawURL": STRING,
                "http2Port": INTEGER,
                "snake_case": STRING,
                "_meta": {"type": ["object", "null"]},
            },
            "toolCallId",
        )
    },
    use="""
assert_type(Thing(tool_call_id="t").tool_call_id, str)
Thing(tool_call_id="t", raw_url="u", http2_port=1, snake_case="s", meta={"a": 1})
Thing("t")  # type: ignore[call-arg]
Thing()  # type: ignore[call-arg]
Thing(tool_call_id=1)  # type: ignore[arg-type]
""",
)


def test_struct() -> None:
    model = STRUCT.module.Thing(tool_call_id="t", raw_url="u", http2_port=1, snake_case="s", meta={"a": [1]})
    wire = {"toolCallId": "t", "rawURL": "u", "http2Port": 1, "snake_case": "s", "_meta": {"a": [1]}}
    assert STRUCT.decode("Thing", wire) == model
    assert STRUCT.encoded("Thing", wire) == wire
    with pytest.raises(TypeError):
        STRUCT.module.Thing("t")


def test_struct_ignores_unknown_properties() -> None:
    assert STRUCT.encoded("Thing", {"toolCallId": "t", "tool_call_id": "other", "x": 1}) == {"toolCallId": "t"}
    assert STRUCT.pointer("Thing", {"tool_call_id": "t"}) == "/toolCallId"
    assert STRUCT.pointer("Thing", {"toolCallId": 1}) == "/toolCallId"
    assert STRUCT.pointer("Thing", []) == ""


@pytest.mark.parametrize("wire", [{}, {"_meta": None}, {"_meta": {}}])
def test_absent_null_and_value_are_three_states(wire: dict[str, Any]) -> None:
    assert STRUCT.encoded("Thing", {"toolCallId": "t", **wire}) == {"toolCallId": "t", **wire}
    assert STRUCT.pointer("Thing", {"toolCallId": "t", **wire, "snake_case": None}) == "/snake_case"


MAPS = ROWS.add(
    {
        "Bare": {"type": "object"},
        "Empty": {"type": "object", "properties": {}},
        "Open": {"type": "object", "additionalProperties": True},
        "Numbers": {"type": "object", "additionalProperties": INTEGER},
        "Things": {"type": "object", "additionalProperties": ref("Thing")},
        "Thing": obj({"a": STRING}, "a"),
        "Lists": {"type": "object", "additionalProperties": array(STRING)},
        "Holder": obj({"needed": ref("Numbers"), "spare": ref("Lists")}, "needed"),
    },
    use="""
numbers: Numbers = {"a": 1}
things: Things = {"a": Thing(a="x")}
assert_type(Holder(needed=numbers).spare, dict[str, list[str]])
bare: Bare = {"a": object()}
""",
)


def test_maps() -> None:
    for name in ("Bare", "Empty", "Open"):
        assert MAPS.encoded(name, {"a": [None]}) == {"a": [None]}
        assert MAPS.pointer(name, []) == ""
    assert MAPS.decode("Numbers", {"a": 1}) == {"a": 1}
    assert MAPS.pointer("Numbers", {"a/b~": "1"}) == "/a~1b~0"
    assert MAPS.decode("Things", {"x": {"a": "1", "b": 2}}) == {"x": MAPS.module.Thing(a="1")}
    assert MAPS.pointer("Things", {"x": {}}) == "/x/a"


def test_optional_maps_read_as_empty_and_are_not_written_while_empty() -> None:
    holder = MAPS.decode("Holder", {"needed": {}})
    assert holder.spare == {} and holder.needed == {}
    holder.spare["a"] = ["b"]
    assert MAPS.decode("Holder", {"needed": {}}).spare == {}
    assert MAPS.encoded("Holder", {"needed": {}, "spare": {}}) == {"needed": {}}
    assert MAPS.pointer("Holder", {"spare": {}}) == "/needed"


NULLABLE = ROWS.add(
    {
        "Thing": obj({"a": STRING}, "a"),
        "Maybe": nullable(ref("Thing")),
        "Reversed": {"oneOf": [{"type": "null"}, ref("Thing")]},
        "Typed": {"type": ["integer", "null"]},
        "Holder": obj(
            {
                "by": nullable(ref("Thing")),
                "kind": {"type": ["string", "null"]},
                "list": {"type": ["array", "null"], "items": STRING},
            },
            "by",
        ),
    },
    use="""
from msgspec import UnsetType
assert_type(Holder(by=None).by, Thing | None)
assert_type(Holder(by=Thing(a="")).kind, str | None | UnsetType)
maybe: Maybe = None
typed: Typed = 3
""",
)


def test_nullable() -> None:
    for name in ("Maybe", "Reversed"):
        assert NULLABLE.decode(name, None) is None
        assert NULLABLE.decode(name, {"a": "x"}) == NULLABLE.module.Thing(a="x")
        assert NULLABLE.pointer(name, {"a": None}) == "/a"
    assert NULLABLE.decode("Typed", None) is None and NULLABLE.decode("Typed", 3) == 3
    assert NULLABLE.pointer("Typed", "3") == ""
    wires: list[dict[str, Any]] = [
        {"by": None},
        {"by": {"a": "x"}, "kind": None, "list": None},
        {"by": None, "kind": "k", "list": []},
    ]
    for wire in wires:
        assert NULLABLE.encoded("Holder", wire) == wire
    assert NULLABLE.pointer("Holder", {}) == "/by"
    assert NULLABLE.pointer("Holder", {"by": None, "list": [1]}) == "/list/0"


ANYTHING = ROWS.add(
    {
        "ExtRequest": {},
        "Noted": {"description": "words", "title": "any"},
        "Yes": True,
        "Holder": obj({"needed": {}, "spare": {}, "true": True, "list": {"type": "array"}}, "needed"),
    },
    use="""
from typing import Any
assert_type(Holder(needed=object()).needed, Any)
assert_type(Holder(needed=1).list, list[Any])
""",
)


def test_any() -> None:
    values: list[object] = [None, 1, 1.5, "x", True, [1, {"a": None}], {"b": [[]]}]
    for value in values:
        for name in ("ExtRequest", "Noted", "Yes"):
            assert ANYTHING.encoded(name, value) == value
        wire = {"needed": value, "spare": value, "true": value}
        assert ANYTHING.encoded("Holder", wire) == wire
    assert ANYTHING.pointer("Holder", {}) == "/needed"


def test_structs_are_classes_and_aliases_are_aliases() -> None:
    assert "class Thing(Model, kw_only=True):" in source_of(STRUCT.module)
    assert "ExtRequest: TypeAlias = Any" in source_of(ANYTHING.module)


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

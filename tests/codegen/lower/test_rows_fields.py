"""Rows of the lowering table: defaults, tolerance keywords, awkward property names, definitions made of themselves."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, array, const, fallback, nullable, obj, ref, variant

ROWS = Tinies()


def default(schema: Any, value: object) -> dict[str, Any]:
    return {**schema, "default": value}


DEFAULTS = ROWS.add(
    {
        "Holder": obj(
            {
                "text": default(STRING, 'it\'s "q" \\'),
                "count": default(INTEGER, 0),
                "ratio": default({"type": "number"}, 1),
                "flag": default({"type": "boolean"}, False),
                "kind": default(ref("Kind"), "read"),
                "nothing": default(nullable(STRING), None),
                "some": default({"type": ["string", "null"]}, "s"),
                "list": default(array(STRING), ["a"]),
                "empty": default(array(INTEGER), []),
                "map": default({"type": "object", "additionalProperties": ref("Point")}, {"k": {"x": 1}}),
                "point": default(ref("Point"), {"x": 2}),
                "points": default(array(ref("Point")), [{"x": 3, "far": {"x": 4}}]),
                "any": default({}, {"deep": [1]}),
            }
        ),
        "Point": obj({"x": INTEGER, "far": ref("Point")}, "x"),
        "Kind": {"anyOf": [const("read"), STRING]},
        "Needed": obj({"a": default(STRING, "d")}, "a"),
    },
    use="""
assert_type(Holder().text, str)
assert_type(Holder().point, Point)
assert_type(Holder().list, list[str])
assert_type(Holder().some, str | None)
Holder(text="t", flag=True, points=[Point(x=1)])
""",
)
WRITTEN = {
    "text": 'it\'s "q" \\',
    "count": 0,
    "ratio": 1,
    "flag": False,
    "kind": "read",
    "some": "s",
    "list": ["a"],
    "empty": [],
    "map": {"k": {"x": 1}},
    "point": {"x": 2},
    "points": [{"x": 3, "far": {"x": 4}}],
    "any": {"deep": [1]},
}


def test_schema_defaults_are_read_when_absent_and_written() -> None:
    assert DEFAULTS.encoded("Holder", {}) == WRITTEN
    assert json.loads(DEFAULTS.module.encode(DEFAULTS.module.Holder())) == WRITTEN
    assert DEFAULTS.encoded("Holder", {"count": 5, "flag": True, "list": []}) == {
        **WRITTEN, "count": 5, "flag": True, "list": []
    }  # fmt: skip
    # A null default says what absence says.
    assert DEFAULTS.decode("Holder", {}).nothing is msgspec.UNSET
    assert DEFAULTS.encoded("Holder", {"nothing": None}) == {**WRITTEN, "nothing": None}


def test_object_defaults_are_fresh_typed_instances() -> None:
    one, two = DEFAULTS.decode("Holder", {}), DEFAULTS.decode("Holder", {})
    point = DEFAULTS.module.Point
    assert one.point == point(x=2) and one.map == {"k": point(x=1)}
    assert one.points == [point(x=3, far=point(x=4))]
    one.list.append("b")
    one.point.x = 9
    one.points[0].far.x = 9
    one.any["deep"].append(2)
    one.map["k"].x = 9
    assert json.loads(DEFAULTS.module.encode(two)) == WRITTEN
    assert json.loads(DEFAULTS.module.encode(DEFAULTS.module.Holder())) == WRITTEN


def test_default_of_a_required_property_is_no_excuse() -> None:
    assert DEFAULTS.pointer("Needed", {}) == "/a"


AWKWARD = (
    "default",
    "description",
    "type",
    "title",
    "enum",
    "const",
    "required",
    "properties",
    "items",
    "$ref",
    "x-method",
)
NAMED = ROWS.add(
    {"Holder": obj(dict.fromkeys(AWKWARD, STRING), "type"), "Other": obj({"default": default(INTEGER, 3)})}
)


def test_properties_called_like_keywords_are_properties() -> None:
    wire = {name: name for name in AWKWARD}
    assert NAMED.encoded("Holder", wire) == wire
    assert NAMED.encoded("Holder", {"type": "t"}) == {"type": "t"}
    for name in AWKWARD:
        assert NAMED.pointer("Holder", {"type": "t", name: 1}) == "/" + name.replace("/", "~1")
    assert NAMED.encoded("Other", {}) == {"default": 3}


ON_ERROR = {"x-deserialize-default-on-error": True}
SKIP = {"x-deserialize-skip-invalid-items": True}
ON_NULL = {"x-deserialize-default-on-null": True}
TOLERANT = ROWS.add(
    {
        "Holder": obj(
            {
                "id": STRING,
                "title": {**STRING, **ON_ERROR},
                "maybe": {"type": ["string", "null"], **ON_ERROR},
                "level": {**INTEGER, "default": 3, **ON_ERROR},
                "list": {**array(STRING), **ON_ERROR},
                "needed": {**array(INTEGER), **ON_ERROR},
                "strictNeeded": {**STRING, **ON_ERROR},
                "point": {**ref("Point"), **ON_ERROR},
                "union": {**ref("Union_"), **ON_ERROR},
                "items": {**array(ref("Point")), **SKIP},
                "nested": {**array(ref("Union_")), **SKIP, **ON_ERROR},
                "maybeItems": {"type": ["array", "null"], "items": STRING, **SKIP},
                "least": {**array(INTEGER, minItems=1), **SKIP, **ON_ERROR},
                "nullList": {**array(STRING), **ON_NULL},
                "nullMap": {"type": "object", "additionalProperties": INTEGER, **ON_NULL},
                "nullLevel": {**INTEGER, "default": 4, **ON_NULL},
            },
            "id",
            "needed",
            "strictNeeded",
        ),
        "Point": obj({"x": INTEGER, "note": {**STRING, **ON_ERROR}}, "x"),
        "Union_": {"anyOf": [variant("t", "a", "Point"), fallback("t", "a")]},
        "Off": obj({"a": {**STRING, "x-deserialize-default-on-error": False}}),
    }
)
PLAIN = {"id": "i", "needed": [1], "strictNeeded": "s"}
# Of a holder with nothing else in it.
EMPTY = {**PLAIN, "level": 3, "nullLevel": 4}


@pytest.mark.parametrize(
    ("wire", "read", "dropped"),
    [
        ({"title": 5}, {}, ["/title"]),
        ({"title": None}, {}, ["/title"]),
        ({"title": "t"}, {"title": "t"}, []),
        ({"maybe": []}, {}, ["/maybe"]),
        ({"maybe": None}, {"maybe": None}, []),
        ({"level": "x"}, {"level": 3}, ["/level"]),
        ({"level": 8}, {"level": 8}, []),
        ({"list": 5}, {}, ["/list"]),
        ({"list": ["a", 5]}, {}, ["/list"]),
        ({"needed": 5}, {"needed": []}, ["/needed"]),
        ({"needed": [1, "x"]}, {"needed": []}, ["/needed"]),
        ({"point": {"x": "y"}}, {}, ["/point"]),
        ({"point": {"x": 1, "note": 5}}, {"point": {"x": 1}}, ["/point/note"]),
        ({"union": {"t": "a"}}, {}, ["/union"]),
        ({"union": {"t": "_b", "q": 1}}, {"union": {"t": "_b", "q": 1}}, []),
        ({"items": [{"x": 1}, {}, 5, {"x": 2, "note": 5}]}, {"items": [{"x": 1}, {"x": 2}]},
         ["/items/1", "/items/2", "/items/3/note"]),
        ({"nested": [{"t": "a"}, {"t": "a", "x": 1}, {"t": "_b"}, {}]}, {"nested": [{"t": "a", "x": 1}, {"t": "_b"}]},
         ["/nested/0", "/nested/3"]),
        ({"nested": "x"}, {}, ["/nested"]),
        ({"maybeItems": ["a", None, "b"]}, {"maybeItems": ["a", "b"]}, ["/maybeItems/1"]),
        ({"maybeItems": None}, {"maybeItems": None}, []),
        ({"least": [1, "x"]}, {"least": [1]}, ["/least/1"]),
        ({"least": ["x"]}, {}, ["/least"]),
        ({"nullList": None}, {}, ["/nullList"]),
        ({"nullMap": None}, {}, ["/nullMap"]),
        ({"nullLevel": None}, {"nullLevel": 4}, ["/nullLevel"]),
    ],
)  # fmt: skip
def test_tolerance_keywords(wire: dict[str, Any], read: dict[str, Any], dropped: list[str]) -> None:
    reports: list[str] = []
    found = TOLERANT.module.decode(
        json.dumps({**PLAIN, **wire}),
        TOLERANT.module.Holder,
        on_tolerated=lambda pointer, reason: reports.append(pointer),
    )
    assert json.loads(TOLERANT.module.encode(found)) == {**EMPTY, **read}
    assert reports == dropped
    assert TOLERANT.encoded("Holder", {**PLAIN, **wire}) == {**EMPTY, **read}


@pytest.mark.parametrize(
    ("wire", "pointer"),
    [
        ({"id": 5}, "/id"),
        ({"strictNeeded": 5}, "/strictNeeded"),
        ({"items": 5}, "/items"),
        ({"maybeItems": "x"}, "/maybeItems"),
        ({"nullList": 5}, "/nullList"),
        ({"nullList": [5]}, "/nullList/0"),
        ({"nullMap": {"a": "x"}}, "/nullMap/a"),
        ({"nullLevel": "x"}, "/nullLevel"),
    ],
)
def test_tolerance_stops_at_what_is_annotated(wire: dict[str, Any], pointer: str) -> None:
    assert TOLERANT.pointer("Holder", {**PLAIN, **wire}) == pointer


def test_tolerance_never_stands_in_for_a_missing_required_property() -> None:
    for name in ("needed", "strictNeeded"):
        assert TOLERANT.pointer("Holder", {key: value for key, value in PLAIN.items() if key != name}) == f"/{name}"
    assert TOLERANT.pointer("Off", {"a": 5}) == "/a"


RECURSIVE = ROWS.add(
    {
        "Tree": obj({"name": STRING, "children": array(ref("Tree")), "parent": nullable(ref("Tree"))}, "name"),
        "Block": {
            "oneOf": [variant("type", "leaf"), obj({"type": const("box"), "inner": array(ref("Block"))}, "type")]
        },
        "Json": obj({"value": {"type": "object", "additionalProperties": ref("Json")}}),
        "Ping": obj({"pong": ref("Pong")}),
        "Pong": obj({"ping": ref("Ping")}),
    },
    use="""
tree = Tree(name="a", children=[Tree(name="b")], parent=None)
assert_type(tree.children, list[Tree])
block: Block = BlockBox(inner=[BlockLeaf(), BlockBox()])
""",
)


def test_definitions_made_of_themselves() -> None:
    tree: dict[str, Any] = {"name": "leaf"}
    block: dict[str, Any] = {"type": "leaf"}
    for depth in range(30):
        tree = {"name": str(depth), "children": [tree, {"name": "x"}], "parent": None}
        block = {"type": "box", "inner": [block]}
    assert RECURSIVE.encoded("Tree", tree) == tree
    assert RECURSIVE.encoded("Block", block) == block
    assert RECURSIVE.encoded("Json", {"value": {"a": {"value": {}}}}) == {"value": {"a": {}}}
    assert RECURSIVE.encoded("Ping", {"pong": {"ping": {}}}) == {"pong": {"ping": {}}}
    assert RECURSIVE.pointer("Tree", {"name": "a", "children": [{"name": "b", "children": [{}]}]}) == (
        "/children/0/children/0/name"
    )
    assert RECURSIVE.pointer("Block", {"type": "box", "inner": [{"type": "x"}]}) == "/inner/0/type"


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

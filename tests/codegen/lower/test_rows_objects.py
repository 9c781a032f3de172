"""Rows of the lowering table: open records, property groups, untagged unions, objects described in place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, array, const, nullable, obj, ref, schema_folder

ROOT = Path(__file__).resolve().parents[3]

ROWS = Tinies()

RECORD = ROWS.add(
    {
        "McpError": obj(
            {"code": INTEGER, "data": {}, "keys": STRING, "note": {**STRING, "x-deserialize-default-on-error": True}},
            "code",
            additionalProperties=True,
        ),
        "Empty": {"type": "object", "additionalProperties": True},
        "Holder": obj({"error": ref("McpError")}, "error"),
    },
    use="""
error = McpError({"code": 1, "anything": [2]})
assert_type(error.code, int)
Holder(error=error)
""",
)


def test_open_record_keeps_extras_and_writes_them_back() -> None:
    wire = {"code": 1, "extra": {"a": [None]}, "keys": "k", "_x": 1.5}
    record = RECORD.decode("McpError", wire)
    assert (record.code, record["extra"], record.keys_) == (1, {"a": [None]}, "k")
    assert RECORD.encoded("McpError", wire) == wire
    assert RECORD.encoded("Holder", {"error": wire}) == {"error": wire}
    assert RECORD.module.to_builtins(RECORD.module.McpError(wire)) == wire


def test_open_record_validates_what_it_knows() -> None:
    assert RECORD.pointer("McpError", {"extra": 1}) == "/code"
    assert RECORD.pointer("McpError", {"code": "1"}) == "/code"
    assert RECORD.pointer("Holder", {"error": {"code": 1, "keys": 2}}) == "/error/keys"
    assert RECORD.pointer("McpError", []) == ""
    with pytest.raises(ValueError, match="code"):
        RECORD.module.McpError({})
    assert RECORD.encoded("McpError", {"code": 1, "note": 5}) == {"code": 1, "note": 5}


SESSION = obj({"sessionId": STRING, "toolCallId": nullable(STRING)}, "sessionId")
REQUEST = obj({"requestId": STRING}, "requestId")
GROUPS = ROWS.add(
    {
        "Exclusive": obj({"message": STRING}, "message", oneOf=[{"title": "session", **SESSION}, REQUEST]),
        "Inclusive": obj({"message": STRING}, "message", anyOf=[ref("Conversation"), ref("Request")]),
        "Conversation": SESSION,
        "Request": REQUEST,
        "Bare": obj({"a": STRING, "b": STRING}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        "Mode": {
            "oneOf": [
                {**obj({"mode": const("form")}, "mode"), "oneOf": [SESSION, REQUEST]},
                obj({"mode": const("url"), "url": STRING}, "mode", "url"),
            ]
        },
    },
    use="""
from msgspec import UnsetType
assert_type(Exclusive(message="m", session_id="s").session_id, str | UnsetType)
Inclusive(message="m", session_id="s", request_id="r")
mode: Mode = ModeForm(request_id="r")
""",
)


def test_exactly_one_group() -> None:
    for scope in ({"sessionId": "s"}, {"sessionId": "s", "toolCallId": None}, {"requestId": "r"}):
        assert GROUPS.encoded("Exclusive", {"message": "m", **scope}) == {"message": "m", **scope}
        assert GROUPS.encoded("Mode", {"mode": "form", **scope}) == {"mode": "form", **scope}
    for scope in ({}, {"toolCallId": "t"}, {"sessionId": "s", "requestId": "r"}):
        assert GROUPS.pointer("Exclusive", {"message": "m", **scope}) == ""
        assert GROUPS.pointer("Mode", {"mode": "form", **scope}) == ""
    assert GROUPS.pointer("Exclusive", {"sessionId": "s"}) == "/message"
    assert GROUPS.pointer("Exclusive", {"message": "m", "sessionId": 5}) == "/sessionId"
    assert GROUPS.pointer("Mode", {"mode": "form", "requestId": 5}) == "/requestId"


def test_strays_of_the_group_that_is_not_there_are_unknown_properties() -> None:
    for stray in ("t", None, 5):
        wire = {"message": "m", "requestId": "r", "toolCallId": stray}
        assert GROUPS.encoded("Exclusive", wire) == {"message": "m", "requestId": "r"}


def test_groups_hold_when_a_model_is_built() -> None:
    cls = GROUPS.module.Exclusive
    assert cls(message="m", session_id="s").session_id == "s"
    for given in ({}, {"session_id": "s", "request_id": "r"}):
        with pytest.raises(ValueError, match="exactly one of session"):
            cls(message="m", **given)


def test_at_least_one_group() -> None:
    both = {"message": "m", "sessionId": "s", "requestId": "r"}
    assert GROUPS.encoded("Inclusive", both) == both
    assert GROUPS.encoded("Inclusive", {"message": "m", "requestId": "r"}) == {"message": "m", "requestId": "r"}
    assert GROUPS.pointer("Inclusive", {"message": "m"}) == ""
    assert GROUPS.encoded("Conversation", {"sessionId": "s"}) == {"sessionId": "s"}


def test_groups_of_properties_from_beside_them() -> None:
    for wire in ({"a": "1"}, {"b": "2"}, {"a": "1", "b": "2"}):
        assert GROUPS.encoded("Bare", wire) == wire
    assert GROUPS.pointer("Bare", {}) == ""
    assert GROUPS.pointer("Bare", {"a": 1}) == "/a"


UNTAGGED = ROWS.add(
    {
        "RequestId": {"anyOf": [{"type": "null"}, {"type": "integer", "format": "int64"}, STRING]},
        "Resource": {"anyOf": [ref("TextResource"), ref("BlobResource")]},
        "TextResource": obj({"uri": STRING, "text": STRING}, "uri", "text"),
        "BlobResource": obj({"uri": STRING, "blob": STRING}, "uri", "blob"),
        "Options": {"anyOf": [array(ref("Option")), array(ref("Group"))]},
        "Option": obj({"value": STRING}, "value"),
        "Group": obj({"group": STRING, "options": array(ref("Option"))}, "group", "options"),
        "Value": {"anyOf": [STRING, INTEGER, {"type": "number"}, {"type": "boolean"}, array(STRING)]},
        "Data": {"anyOf": [ref("TextResource"), {"type": "object"}, STRING, {"type": "null"}]},
        "Placed": {"oneOf": [{"title": "by id", **obj({"id": STRING}, "id")}, obj({"name": STRING}, "name"), STRING]},
        "Holder": obj(
            {"resource": ref("Resource"), "options": ref("Options"), "data": ref("Data"), "id": ref("RequestId")}
        ),
    },
    use="""
resource: Resource = TextResource(uri="u", text="t")
resource = BlobResource(uri="u", blob="b")
options: Options = [Group(group="g", options=[])]
value: Value = 1.5
request_id: RequestId = None
data: Data = {"a": 1}
Holder(resource=resource, options=[Option(value="v")], data="x")
""",
)


@pytest.mark.parametrize(
    ("name", "wire", "cls"),
    [
        ("Resource", {"uri": "u", "text": "t"}, "TextResource"),
        ("Resource", {"uri": "u", "blob": "b", "x": 1}, "BlobResource"),
        ("Resource", {"uri": "u", "blob": "b", "text": "t"}, "TextResource"),
        ("Resource", {"uri": "u", "blob": "b", "text": 5}, "BlobResource"),
        ("Data", {"uri": "u", "text": "t"}, "TextResource"),
        ("Data", {"uri": "u"}, "dict"),
        ("Data", "x", "str"),
        ("Data", None, "NoneType"),
        ("RequestId", 1, "int"),
        ("RequestId", "1", "str"),
        ("RequestId", None, "NoneType"),
        ("Value", 3, "int"),
        ("Value", 3.5, "float"),
        ("Value", True, "bool"),
        ("Value", ["a"], "list"),
        ("Value", [], "list"),
    ],
)
def test_untagged_unions_by_kind_then_by_required_keys_then_by_trying(name: str, wire: Any, cls: str) -> None:
    assert type(UNTAGGED.decode(name, wire)).__name__ == cls
    if name in ("Resource", "Data"):
        assert type(getattr(UNTAGGED.decode("Holder", {name.lower(): wire}), name.lower())).__name__ == cls


def test_untagged_union_of_arrays_by_the_first_item() -> None:
    module = UNTAGGED.module
    group = {"group": "g", "options": [{"value": "v"}]}
    assert UNTAGGED.decode("Options", [{"value": "v"}]) == [module.Option(value="v")]
    assert UNTAGGED.decode("Options", [group]) == [module.Group(group="g", options=[module.Option(value="v")])]
    assert UNTAGGED.encoded("Holder", {"options": [group]}) == {"options": [group]}
    assert UNTAGGED.decode("Options", []) == []


@pytest.mark.parametrize(
    ("name", "wire", "pointer"),
    [
        ("Resource", {"uri": "u"}, ""),
        ("Resource", {"uri": "u", "text": 5}, "/text"),
        ("Resource", {"uri": 5, "blob": "b"}, "/uri"),
        ("Resource", "x", ""),
        ("Options", [{"group": "g", "options": [{}]}], "/0/options/0/value"),
        ("Options", [{"value": "v"}, {"value": 1}], "/1/value"),
        ("Options", [{}], ""),
        ("Options", {}, ""),
        ("RequestId", True, ""),
        ("RequestId", 1.5, ""),
        ("Value", [1], "/0"),
        ("Value", {}, ""),
        ("Value", None, ""),
        ("Data", 5, ""),
    ],
)
def test_untagged_unions_name_the_one_candidate_that_is_left(name: str, wire: Any, pointer: str) -> None:
    assert UNTAGGED.pointer(name, wire) == pointer


def test_untagged_alternatives_described_in_place() -> None:
    assert type(UNTAGGED.decode("Placed", {"id": "i"})).__name__.startswith("PlacedById")
    for wire in ({"id": "i"}, {"name": "n"}, "s"):
        assert UNTAGGED.encoded("Placed", wire) == wire
    assert UNTAGGED.pointer("Placed", {"id": 1}) == "/id"
    assert UNTAGGED.pointer("Placed", {}) == ""


def placed(tag: str, wire: str) -> dict[str, Any]:
    """A branch with an object described in place."""
    return obj({"t": const(tag), "at": obj({wire: INTEGER}, wire)}, "t", "at")


POINT = obj({"x": INTEGER}, "x")
NAMED_POINTS = {"type": "object", "additionalProperties": POINT}
PLACED = ROWS.add(
    {
        "Shape": obj({"centre": POINT, "corners": array(POINT), "named": NAMED_POINTS}),
        "ShapeCentre": obj({"taken": STRING}, "taken"),
        "Deep": obj({"a": obj({"b": obj({"c": nullable(POINT)}, "c")}, "b")}, "a"),
        "Both": {"oneOf": [placed("one", "x"), placed("two", "y")]},
        "Wrapped": obj({"a": nullable(obj({"x": INTEGER}, "x")), "a_": obj({"y": INTEGER}, "y")}, "a", "a_"),
    },
    use="""
assert_type(ShapeCentre(taken="t").taken, str)
""",
)  # fmt: skip


def test_objects_described_in_place_are_classes_of_their_own() -> None:
    shape = {"centre": {"x": 1}, "corners": [{"x": 2}], "named": {"a": {"x": 3}}}
    assert PLACED.encoded("Shape", shape) == shape
    assert PLACED.decode("Shape", shape).centre.x == 1
    assert PLACED.pointer("Shape", {**shape, "corners": [{"x": 1}, {}]}) == "/corners/1/x"
    assert PLACED.encoded("Deep", {"a": {"b": {"c": {"x": 1}}}}) == {"a": {"b": {"c": {"x": 1}}}}
    assert PLACED.pointer("Deep", {"a": {"b": {"c": {"x": None}}}}) == "/a/b/c/x"


def test_objects_described_in_place_are_not_mixed_up() -> None:
    """Neither with a definition that has the name they would have, nor with each other."""
    assert PLACED.encoded("ShapeCentre", {"taken": "t"}) == {"taken": "t"}
    for tag, wire in (("one", "x"), ("two", "y")):
        assert PLACED.encoded("Both", {"t": tag, "at": {wire: 1}}) == {"t": tag, "at": {wire: 1}}
        assert PLACED.pointer("Both", {"t": tag, "at": {}}) == f"/at/{wire}"
    wrapped = {"a": {"x": 1}, "a_": {"y": 1}}
    assert PLACED.encoded("Wrapped", wrapped) == wrapped


def test_objects_described_in_place_keep_their_names_when_a_branch_comes_before_them() -> None:
    names = []
    for branches in (
        [placed("one", "x"), placed("two", "y")],
        [placed("new", "z"), placed("one", "x"), placed("two", "y")],
    ):
        row = ROWS.add({"Both": {"oneOf": branches}})
        decoded = [row.decode("Both", {"t": tag, "at": {wire: 1}}) for tag, wire in (("one", "x"), ("two", "y"))]
        names.append([(type(one).__name__, type(one.at).__name__) for one in decoded])
    assert names[0] == names[1] == [("BothOne", "BothOneAt"), ("BothTwo", "BothTwoAt")]


def test_objects_described_in_place_come_in_one_order(tmp_path: Path) -> None:
    """Whatever the hash seed: sets of names must not decide."""
    folder = schema_folder(tmp_path / "s", {"A": obj({name: obj({name: POINT}) for name in "abcdefgh"})})
    script = "import sys; from pathlib import Path; from codegen.pipeline import generate; "
    script += "print(generate(Path(sys.argv[1]), ['v2/stable'], 'p', False)['p/v2/models.py'])"
    texts = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", script, str(folder)]
        texts.add(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True).stdout)
    assert len(texts) == 1


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

"""Rows of the lowering table: branches without a tag, several tags with one payload or one class."""

from __future__ import annotations

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, array, const, fallback, obj, ref, variant

ROWS = Tinies()

NONE = ROWS.add(
    {
        "Idle": {
            "anyOf": [
                variant("stopReason", "end_turn"),
                variant("stopReason", "error", "Failure"),
                {"title": "none", "type": "object", "properties": {"stopReason": {"type": "null"}}},
                fallback("stopReason", "end_turn", "error"),
            ]
        },
        "Failure": obj({"why": STRING}, "why"),
        "Holder": obj({"idle": ref("Idle"), "list": array(ref("Idle"))}),
    },
    use="""
idle: Idle = IdleNone()
idle = IdleEndTurn()
""",
)


def test_branch_titled_none_stands_for_absent_and_null() -> None:
    for wire in ({}, {"stopReason": None}):
        assert type(NONE.decode("Idle", wire)) is NONE.module.IdleNone
        assert NONE.encoded("Idle", wire) == wire
        assert NONE.encoded("Holder", {"idle": wire, "list": [wire]}) == {"idle": wire, "list": [wire]}


def test_branch_titled_none_stands_for_nothing_else() -> None:
    assert type(NONE.decode("Idle", {"stopReason": "_own"})) is NONE.module.UnknownIdle
    assert NONE.pointer("Idle", {"stopReason": "error"}) == "/why"
    assert NONE.pointer("Idle", {"stopReason": 5}) == "/stopReason"
    assert NONE.pointer("Idle", []) == ""


TOLERANT_NONE = ROWS.add(
    {
        "Idle": {
            "properties": {"stopReason": {"type": ["string", "null"], "x-deserialize-default-on-error": True}},
            "anyOf": [
                variant("stopReason", "end_turn"),
                {"title": "none", "properties": {"stopReason": {"type": "null"}}},
                fallback("stopReason", "end_turn"),
            ],
        },
    },
    names='[Idle]\nStopped = ["end_turn"]\n',
)


def test_tag_that_is_declared_tolerant_beside_the_union() -> None:
    for wire in ({}, {"stopReason": None}, {"stopReason": "end_turn"}, {"stopReason": "_own"}):
        assert TOLERANT_NONE.encoded("Idle", wire) == wire
    malformed: list[object] = [5, [], {"a": 1}]
    for bad in malformed:
        assert TOLERANT_NONE.encoded("Idle", {"stopReason": bad}) == {}


UNTAGGED = ROWS.add(
    {
        "Server": {
            "anyOf": [
                variant("type", "http", "Http"),
                {"title": "stdio", "allOf": [ref("Stdio")]},
            ]
        },
        "Http": obj({"url": STRING}, "url"),
        "Stdio": obj({"command": STRING}, "command"),
        "Holder": obj({"servers": array(ref("Server"))}),
    },
    use="""
server: Server = Stdio(command="c")
server = Http(url="u")
""",
)


def test_untagged_payload_of_a_closed_union() -> None:
    module = UNTAGGED.module
    assert UNTAGGED.decode("Server", {"command": "c"}) == module.Stdio(command="c")
    assert UNTAGGED.encoded("Holder", {"servers": [{"command": "c"}, {"type": "http", "url": "u"}]}) == {
        "servers": [{"command": "c"}, {"type": "http", "url": "u"}]
    }
    # Neither a tag that is no string nor one that nobody knows: the property is then an unknown one.
    for tag in (None, 5, "stdio", "pipe", "_own"):
        assert UNTAGGED.decode("Server", {"type": tag, "command": "c"}) == module.Stdio(command="c")
    assert UNTAGGED.encoded("Server", {"type": "stdio", "command": "c"}) == {"command": "c"}


@pytest.mark.parametrize(
    ("wire", "pointer"),
    [
        ({"type": "http", "command": "c"}, "/url"),
        ({"type": "http", "url": 1, "command": "c"}, "/url"),
        ({"type": "pipe"}, "/command"),
        ({}, "/command"),
        ({"url": "u"}, "/command"),
        ({"command": 1}, "/command"),
        ("x", ""),
    ],
)
def test_untagged_payload_never_rescues_a_known_tag(wire: object, pointer: str) -> None:
    assert UNTAGGED.pointer("Server", wire) == pointer


OPEN = ROWS.add(
    {
        "Items": {
            "anyOf": [
                variant("type", "string", "Strings"),
                ref("Titled"),
                fallback("type", "string"),
            ]
        },
        "Strings": obj({"enum": array(STRING)}, "enum"),
        "Titled": obj({"anyOf": array(STRING)}, "anyOf"),
    },
    use="""
def read(items: Items) -> int:
    match items:
        case Strings():
            return len(items.enum)
        case Titled():
            return len(items.any_of)
        case UnknownItems():
            return 0
""",
)


def test_untagged_payload_of_an_open_union() -> None:
    assert OPEN.decode("Items", {"anyOf": ["a"]}) == OPEN.module.Titled(any_of=["a"])
    assert type(OPEN.decode("Items", {"type": "future", "anyOf": 5})) is OPEN.module.UnknownItems
    assert OPEN.pointer("Items", {"type": "string", "anyOf": ["a"]}) == "/enum"
    assert OPEN.pointer("Items", {}) == "/anyOf"


SEVERAL = ROWS.add(
    {
        "Update": {
            "anyOf": [
                variant("kind", "user_chunk", "Chunk"),
                variant("kind", "agent_chunk", "Chunk"),
                variant("kind", "tool", "Tool"),
            ]
        },
        "Chunk": obj({"text": STRING}, "text"),
        "Tool": obj({"id": INTEGER}, "id"),
        "Permission": obj({"tool": ref("Tool")}, "tool"),
    },
    use="""
def text(update: Update) -> str:
    if isinstance(update, Chunk):
        return update.text
    assert_type(update, UpdateTool)
    return str(update.id)

Permission(tool=Tool(id=1))
""",
)


def test_one_payload_under_several_tags() -> None:
    module = SEVERAL.module
    for tag, cls in (("user_chunk", module.UpdateUserChunk), ("agent_chunk", module.UpdateAgentChunk)):
        wire = {"kind": tag, "text": "t"}
        assert type(SEVERAL.decode("Update", wire)) is cls and issubclass(cls, module.Chunk)
        assert SEVERAL.encoded("Update", wire) == wire
    assert SEVERAL.encoded("Chunk", {"text": "t", "kind": "user_chunk"}) == {"text": "t"}


def test_payload_that_is_used_untagged_too() -> None:
    module = SEVERAL.module
    assert type(SEVERAL.decode("Update", {"kind": "tool", "id": 1})) is module.UpdateTool
    assert type(SEVERAL.decode("Permission", {"tool": {"id": 1}}).tool) is module.Tool
    assert SEVERAL.encoded("Permission", {"tool": {"id": 1}}) == {"tool": {"id": 1}}
    assert SEVERAL.encoded("Update", {"kind": "tool", "id": 1}) == {"kind": "tool", "id": 1}


GROUPED_USE = ROWS.add(
    {
        "Update": {"anyOf": [variant("kind", "tool", "Tool"), variant("kind", "other")]},
        "Tool": obj({"id": INTEGER}, "id"),
        "Scoped": obj({"note": STRING}, anyOf=[obj({"tool": ref("Tool")}, "tool")]),
    }
)


def test_payload_that_is_used_untagged_in_a_property_group() -> None:
    assert GROUPED_USE.encoded("Scoped", {"tool": {"id": 1}}) == {"tool": {"id": 1}}
    assert GROUPED_USE.encoded("Update", {"kind": "tool", "id": 1}) == {"kind": "tool", "id": 1}


MERGED = ROWS.add(
    {
        "Change": {
            "anyOf": [
                variant("operation", "add", "Path"),
                variant("operation", "delete", "Path"),
                variant("operation", "move", "Pair"),
                {
                    "title": "none",
                    "type": "object",
                    "properties": {"operation": {"type": "null"}},
                    "allOf": [ref("Path")],
                },
                fallback("operation", "add", "delete", "move"),
            ]
        },
        "Path": obj({"path": STRING}, "path"),
        "Pair": obj({"path": STRING, "oldPath": STRING}, "path", "oldPath"),
        "Plain": {"oneOf": [variant("op", "x", "Path"), variant("op", "y", "Path"), variant("op", "z", "Pair")]},
    },
    names="""
[Change]
PathChange = ["add", "delete", "none"]
PairChange = ["move"]
StrangeChange = ["*"]
[Plain]
PlainPath = ["x", "y"]
""",
    use="""
from typing import Literal
from msgspec import UnsetType
assert_type(PathChange(operation="add", path="p").operation, Literal["add", "delete"] | None | UnsetType)
assert_type(PlainPath(op="x", path="p").op, Literal["x", "y"])
PlainPath(path="p")  # type: ignore[call-arg]
PlainPath(op="z", path="p")  # type: ignore[arg-type]
change: Change = PairChange(path="p", old_path="o")
change = StrangeChange({"operation": "_x"})
""",
)


def test_tags_under_one_curated_name_are_a_field_of_it() -> None:
    module = MERGED.module
    for wire in ({"operation": "add"}, {"operation": "delete"}, {"operation": None}, {}):
        change = MERGED.decode("Change", {**wire, "path": "p"})
        assert type(change) is module.PathChange
        assert MERGED.encoded("Change", {**wire, "path": "p"}) == {**wire, "path": "p"}
    assert MERGED.encoded("Plain", {"op": "y", "path": "p"}) == {"op": "y", "path": "p"}
    assert module.decode(module.encode(module.PathChange(operation="add", path="p")), module.Change).operation == "add"


def test_tags_under_one_curated_name_stay_strict() -> None:
    module = MERGED.module
    assert type(MERGED.decode("Change", {"operation": "_x"})) is module.StrangeChange
    assert MERGED.pointer("Change", {"operation": "add"}) == "/path"
    assert MERGED.pointer("Change", {"operation": "move", "path": "p"}) == "/oldPath"
    assert MERGED.pointer("Plain", {"op": "w", "path": "p"}) == "/op"
    assert MERGED.pointer("Plain", {"path": "p"}) == "/op"


CLOSED_TAGS = ("first", "second", "third")


def twins(tags: tuple[str, ...]) -> dict[str, object]:
    return {"Twin": {"oneOf": [obj({"t": const(tag), "v": STRING}, "t", "v") for tag in tags]}}


def test_structurally_equal_branches_keep_their_own_tags() -> None:
    row = ROWS.add(twins(CLOSED_TAGS))
    for tag in CLOSED_TAGS:
        assert type(row.decode("Twin", {"t": tag, "v": "x"})).__name__ == f"Twin{tag.capitalize()}"
        assert row.encoded("Twin", {"t": tag, "v": "x"}) == {"t": tag, "v": "x"}


def test_a_branch_in_the_middle_renames_nothing() -> None:
    """Not even where the newcomer's tag spells like a neighbour's, or like a definition."""
    for newcomer in ("middle", "Second", "sec-ond", "second_", "SECOND"):
        before = ROWS.add({**twins(CLOSED_TAGS), "TwinMiddle": obj({"w": INTEGER})})
        after = ROWS.add({**twins(("first", newcomer, "second", "third")), "TwinMiddle": obj({"w": INTEGER})})
        for tag in CLOSED_TAGS:
            wire = {"t": tag, "v": "x"}
            names = [type(row.decode("Twin", wire)).__name__ for row in (before, after)]
            assert names[0] == names[1]
            # The tag is not a member of it all of a sudden.
            assert getattr(after.module, names[1])(v="x") == after.decode("Twin", wire)
        assert after.encoded("Twin", {"t": newcomer, "v": "x"}) == {"t": newcomer, "v": "x"}
        assert after.encoded("TwinMiddle", {"w": 1}) == {"w": 1}


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

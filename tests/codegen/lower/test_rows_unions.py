"""Rows of the lowering table: tagged unions, open and closed, with shared fields, of one variant alone."""

from __future__ import annotations

import pytest

from tests.support.tiny import INTEGER, STRING, Tinies, const, fallback, nullable, obj, ref, source_of, variant

ROWS = Tinies()
TEXT = obj({"text": STRING}, "text")

CLOSED = ROWS.add(
    {
        "Block": {
            "oneOf": [
                variant("type", "text", "TextContent"),
                obj({"type": const("image"), "data": STRING, "altText": STRING}, "type", "data"),
                variant("type", "break"),
            ]
        },
        "TextContent": TEXT,
    },
    use="""
def kind(block: Block) -> str:
    match block:
        case TextContent():
            return block.text
        case BlockImage():
            return block.data
        case BlockBreak():
            return ""

block: Block = BlockImage(data="d")
""",
)


def test_closed_union_of_payload_inline_fields_and_nothing() -> None:
    module = CLOSED.module
    for wire, cls in (
        ({"type": "text", "text": "t"}, module.TextContent),
        ({"type": "image", "data": "d", "altText": "a"}, module.BlockImage),
        ({"type": "break"}, module.BlockBreak),
    ):
        assert type(CLOSED.decode("Block", wire)) is cls
        assert CLOSED.encoded("Block", wire) == wire
    assert module.decode(module.encode(module.TextContent(text="x")), module.Block) == module.TextContent(text="x")


@pytest.mark.parametrize(
    ("wire", "pointer"),
    [
        ({"type": "text"}, "/text"),
        ({"type": "text", "text": 1}, "/text"),
        ({"type": "video"}, "/type"),
        ({"type": "_video"}, "/type"),
        ({"type": None}, "/type"),
        ({"type": 1}, "/type"),
        ({"text": "t"}, "/type"),
        ({}, "/type"),
        ("text", ""),
        (None, ""),
        ([{"type": "break"}], ""),
    ],
)
def test_closed_union_rejects(wire: object, pointer: str) -> None:
    assert CLOSED.pointer("Block", wire) == pointer


OPEN = ROWS.add(
    {
        "Block": {"anyOf": [variant("type", "text", "TextContent"), fallback("type", "text")]},
        "TextContent": TEXT,
        "Holder": obj({"block": ref("Block")}, "block"),
    },
    use="""
def kind(block: Block) -> str:
    if isinstance(block, TextContent):
        return block.text
    assert_type(block, UnknownBlock)
    return block.tag

def careless(block: Block) -> str:
    return block.text  # type: ignore[union-attr]

Holder(block=UnknownBlock({"type": "_x"}))
""",
)


def test_open_union_keeps_what_it_does_not_know() -> None:
    for tag, extension in (("_acme.dev/chart", True), ("chart", False), ("", False)):
        wire = {"type": tag, "series": [1, None, {"a": 1.5}]}
        block = OPEN.decode("Holder", {"block": wire}).block
        assert isinstance(block, OPEN.module.UnknownBlock)
        assert (block.tag, block.raw, block.is_extension) == (tag, wire, extension)
        assert OPEN.encoded("Block", wire) == wire
        assert OPEN.encoded("Holder", {"block": wire}) == {"block": wire}


def test_open_union_never_falls_through_from_a_known_tag() -> None:
    assert OPEN.pointer("Block", {"type": "text", "text": 5}) == "/text"
    assert OPEN.pointer("Holder", {"block": {"type": "text"}}) == "/block/text"
    for wire in ({"type": 7}, {"type": None}, {}):
        assert OPEN.pointer("Block", wire) == "/type"


def test_only_underscore_tags_may_be_invented() -> None:
    unknown = OPEN.module.UnknownBlock
    assert OPEN.module.to_builtins(unknown({"type": "_mine", "a": 1})) == {"type": "_mine", "a": 1}
    for tag in ("mine", "text", "", None):
        with pytest.raises(ValueError, match="underscore"):
            unknown({"type": tag})


SHARED = ROWS.add(
    {
        "Option": {
            "type": "object",
            "properties": {"configId": STRING, "name": STRING, "note": nullable(STRING)},
            "required": ["configId", "name"],
            "anyOf": [
                variant("type", "select", "Select"),
                obj({"type": const("boolean"), "on": {"type": "boolean"}}, "type", "on"),
                fallback("type", "select", "boolean"),
            ],
        },
        "Select": obj({"value": STRING, "note": nullable(STRING)}, "value"),
    },
    use="""
option: Option = OptionSelect(config_id="c", name="n", value="v")
assert_type(UnknownOption({"type": "_x", "configId": "c", "name": "n"}).config_id, str)
Select(value="v")
select: Option = Select(value="v")  # type: ignore[assignment]
""",
)


def test_shared_fields_are_in_every_variant() -> None:
    shared = {"configId": "c", "name": "n"}
    for own in ({"type": "select", "value": "v"}, {"type": "boolean", "on": True}, {"type": "_slider", "max": 3}):
        wire = {**own, **shared}
        assert SHARED.encoded("Option", {**wire, "note": None}) == {**wire, "note": None}
        assert (SHARED.decode("Option", wire).config_id, SHARED.decode("Option", wire).name) == ("c", "n")
        assert SHARED.pointer("Option", {**own, "name": "n"}) == "/configId"
        assert SHARED.pointer("Option", {**wire, "name": 3}) == "/name"
    assert issubclass(SHARED.module.OptionSelect, SHARED.module.Select)
    assert SHARED.encoded("Select", {"value": "v"}) == {"value": "v"}


REQUIRED_BESIDE = ROWS.add(
    {
        "Update": {
            "required": ["id", "name"],
            "oneOf": [
                variant("kind", "add", "Add"),
                obj({"kind": const("drop"), "id": STRING, "name": STRING}, "kind"),
            ],
        },
        "Add": obj({"id": STRING, "name": STRING, "size": INTEGER}, "size"),
    },
    use="""
assert_type(UpdateAdd(id="i", name="n", size=1).name, str)
update: Update = UpdateDrop(id="i", name="n")
Add(size=1)
""",
)


def test_required_beside_a_combinator_belongs_to_every_branch() -> None:
    for own in ({"kind": "add", "size": 1}, {"kind": "drop"}):
        wire = {**own, "id": "i", "name": "n"}
        assert REQUIRED_BESIDE.encoded("Update", wire) == wire
        assert REQUIRED_BESIDE.pointer("Update", {**own, "name": "n"}) == "/id"
        assert REQUIRED_BESIDE.pointer("Update", {**own, "id": "i"}) == "/name"
    assert REQUIRED_BESIDE.encoded("Add", {"size": 1}) == {"size": 1}


LONE = ROWS.add(
    {
        "Closed": {"anyOf": [variant("from", "start", "Start")]},
        "Start": obj({"note": STRING}),
        "Open": {"oneOf": [variant("type", "only"), fallback("type", "only")]},
        "Holder": obj({"by": ref("Closed"), "open": ref("Open")}),
    },
    use="closed: Closed = Start()",
)


def test_union_of_one_variant_needs_its_tag() -> None:
    assert LONE.encoded("Closed", {"from": "start", "note": "n"}) == {"from": "start", "note": "n"}
    assert LONE.encoded("Open", {"type": "only"}) == {"type": "only"}
    for name, tag in (("Closed", "from"), ("Open", "type")):
        assert LONE.pointer(name, {}) == f"/{tag}"
        assert LONE.pointer(name, {"note": "n"}) == f"/{tag}"
    assert LONE.pointer("Closed", {"from": "end"}) == "/from"
    assert LONE.pointer("Holder", {"by": {}}) == "/by/from"
    assert LONE.pointer("Holder", {"open": {}}) == "/open/type"


def discriminated(described: bool) -> dict[str, object]:
    hint = {"discriminator": {"propertyName": "kind"}} if described else {}
    branches = [obj({"kind": const(kind), "v": STRING}, "kind", "v") for kind in ("a", "b")]
    return {"Choice": {"oneOf": branches, **hint}}


def test_openapi_discriminator_changes_nothing() -> None:
    with_hint, without = ROWS.add(discriminated(True)), ROWS.add(discriminated(False))
    assert source_of(with_hint.module).split("\n")[1:] == source_of(without.module).split("\n")[1:]
    assert with_hint.encoded("Choice", {"kind": "b", "v": "x"}) == {"kind": "b", "v": "x"}


TWO_CONSTANTS = ROWS.add(
    {
        "Choice": {
            "oneOf": [
                obj({"jsonrpc": const("2.0"), "kind": const("a")}, "jsonrpc", "kind"),
                obj({"jsonrpc": const("2.0"), "kind": const("b")}, "jsonrpc", "kind"),
            ]
        }
    }
)


def test_of_two_constant_properties_the_one_that_differs_is_the_tag() -> None:
    wire = {"jsonrpc": "2.0", "kind": "b"}
    assert TWO_CONSTANTS.encoded("Choice", wire) == wire
    assert type(TWO_CONSTANTS.decode("Choice", wire)) is TWO_CONSTANTS.module.ChoiceB
    assert TWO_CONSTANTS.pointer("Choice", {**wire, "jsonrpc": "1.0"}) == "/jsonrpc"


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

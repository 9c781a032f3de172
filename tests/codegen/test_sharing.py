"""What the channels of a version have in common is one class; what differs anywhere inside is two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegen import ir
from codegen.pipeline import load
from codegen.sharing import facts, shared
from tests.support.tiny import (
    INTEGER,
    STRING,
    USE,
    array,
    build,
    const,
    fallback,
    nullable,
    obj,
    package_of,
    ref,
    source_of,
    strict,
    variant,
)

DEFS: dict[str, Any] = {
    "Leaf": obj({"a": STRING}, "a"),
    "Middle": obj({"leaf": nullable(ref("Leaf"))}),
    "Top": obj({"middles": array(ref("Middle")), "kind": ref("Kind")}),
    "Kind": {"anyOf": [const("x"), STRING]},
    "Closed": {"enum": ["x", "y"]},
    "Id": STRING,
    "Ids": array(ref("Id")),
    "Codes": {"anyOf": [const(1, "one"), INTEGER]},
    "Choice": {"anyOf": [variant("t", "a", "Payload"), variant("t", "b"), fallback("t", "a", "b")]},
    "Payload": obj({"p": STRING}),
    "Untagged": {"anyOf": [ref("Leaf"), ref("Middle")]},
    "Nested": {"oneOf": [variant("n", "u", "Choice"), variant("n", "v")]},
    "Open": obj({"o": ref("Id")}, additionalProperties=True),
    "Loop": obj({"back": ref("Pool")}),
    "Pool": obj({"back": ref("Loop")}),
    "Alone": obj({"x": INTEGER}),
    "Solo": {"oneOf": [variant("s", "a", "Sole"), variant("s", "b")]},
    "Sole": obj({"x": INTEGER}),
}
EVERYTHING = {*DEFS, "KNOWN_KIND", "ChoiceA", "ChoiceB", "UnknownChoice", "NestedV", "NestedUA", "NestedUB", "SoloB"}


def same(module: Any) -> set[str]:
    """Which of all names are one object in both channels."""
    return {name for name in EVERYTHING if getattr(module, name) is getattr(module.unstable, name)}


def defined(text: str) -> set[str]:
    """Which of the names a module defines itself."""
    starts = ("class {}(", "{}: TypeAlias", "    {}: TypeAlias", "{}: Final")
    return {name for name in EVERYTHING if any(f"\n{start.format(name)}" in text for start in starts)}


def test_equal_channels_share_everything(tmp_path: Path) -> None:
    module: Any = build(tmp_path, DEFS, unstable=DEFS)
    assert same(module) == EVERYTHING
    assert defined(source_of(module)) == EVERYTHING
    assert defined(source_of(module.unstable)) == set()
    assert set(module.__all__) - {"unstable"} == set(module.unstable.__all__) - {"unstable"}


def test_the_superset_defines_only_what_is_new(tmp_path: Path) -> None:
    module: Any = build(tmp_path, DEFS, unstable={**DEFS, "New": obj({"top": ref("Top"), "id": ref("Id")})})
    assert same(module) == EVERYTHING
    assert defined(source_of(module.unstable)) == set() and "class New(Model" in source_of(module.unstable)
    assert not hasattr(module, "New")
    new = module.unstable.decode('{"top": {"middles": [{"leaf": {"a": "x"}}]}, "id": "i"}', module.unstable.New)
    assert type(new.top) is module.Top and type(new.top.middles[0].leaf) is module.Leaf


# What changes, and what must not be shared any more: itself and whatever refers to it, at any distance.
LEAF = {"Leaf", "Middle", "Top", "Untagged"}
CHANGES: dict[str, tuple[str, Any, set[str]]] = {
    "a property more": ("Leaf", obj({"a": STRING, "b": STRING}, "a"), LEAF),
    "another requiredness": ("Leaf", obj({"a": STRING}), LEAF),
    "another type": ("Leaf", obj({"a": INTEGER}, "a"), LEAF),
    "a bound": ("Leaf", obj({"a": {**STRING, "minLength": 1}}, "a"), LEAF),
    "a default": ("Alone", obj({"x": {**INTEGER, "default": 1}}), {"Alone"}),
    "tolerance": ("Alone", obj({"x": {**INTEGER, "x-deserialize-default-on-error": True}}), {"Alone"}),
    "another kind of definition": ("Alone", {"type": "object"}, {"Alone"}),
    "an alias": ("Id", {**STRING, "minLength": 1}, {"Id", "Ids", "Open"}),
    "a value of an open enum": ("Kind", {"anyOf": [const("x"), const("z"), STRING]}, {"Kind", "KNOWN_KIND", "Top"}),
    "a value of a closed enum": ("Closed", {"enum": ["x", "y", "z"]}, {"Closed"}),
    "an integer constant": ("Codes", {"anyOf": [const(1, "one"), const(2, "two"), INTEGER]}, {"Codes"}),
    "half of a circle": ("Pool", obj({"back": ref("Loop"), "x": STRING}), {"Loop", "Pool"}),
    "a record": ("Open", obj({"o": ref("Id"), "p": STRING}, additionalProperties=True), {"Open"}),
}  # fmt: skip


@pytest.mark.parametrize("row", CHANGES.values(), ids=CHANGES)
def test_differences_reach_whoever_refers_to_them(tmp_path: Path, row: tuple[str, Any, set[str]]) -> None:
    name, schema, apart = row
    module: Any = build(tmp_path, DEFS, unstable={**DEFS, name: schema})
    assert EVERYTHING - same(module) == apart
    assert defined(source_of(module.unstable)) == apart


def test_a_variant_more_is_another_union_of_the_same_classes(tmp_path: Path) -> None:
    more = [variant("t", "a", "Payload"), variant("t", "b"), variant("t", "c"), fallback("t", "a", "b", "c")]
    module: Any = build(tmp_path, DEFS, unstable={**DEFS, "Choice": {"anyOf": more}})
    assert EVERYTHING - same(module) == {"Choice", "Nested"}
    for profile, cls in ((module, module.UnknownChoice), (module.unstable, module.unstable.ChoiceC)):
        assert type(profile.decode('{"t": "c"}', profile.Choice)) is cls
        assert type(profile.decode('{"t": "a", "p": "x"}', profile.Choice)) is module.ChoiceA


def test_a_payload_that_becomes_a_plain_definition_has_another_class_shape(tmp_path: Path) -> None:
    """Deep-equal in both schemas, but tagged in one and a base in the other."""
    module: Any = build(tmp_path, DEFS, unstable={**DEFS, "New": obj({"sole": ref("Sole")})})
    assert EVERYTHING - same(module) == {"Sole", "Solo"}
    unstable = module.unstable
    assert unstable.encode(unstable.Sole(x=1)) == b'{"x":1}'
    assert unstable.to_builtins(unstable.SoloA(x=1)) == {"s": "a", "x": 1}
    assert module.to_builtins(module.Sole(x=1)) == {"s": "a", "x": 1}


def test_prose_and_order_of_definitions_are_no_difference(tmp_path: Path) -> None:
    described = {name: {**schema, "description": "words", "title": "T"} for name, schema in reversed(DEFS.items())}
    module: Any = build(tmp_path, DEFS, unstable=described)
    assert same(module) == EVERYTHING


def test_mypy_takes_both_channels_for_the_same(tmp_path: Path) -> None:
    module: Any = build(tmp_path, DEFS, unstable={**DEFS, "Leaf": obj({"a": INTEGER}, "a")})
    use = "from . import Leaf, Payload, unstable\n\nsame: unstable.Payload = Payload(p='x')\n"
    use += "other: unstable.Leaf = Leaf(a='x')  # type: ignore[assignment]\n"
    (package_of(module) / "v2" / USE).write_text(use, encoding="utf-8")
    assert strict(package_of(module)) == []


def test_facts_leave_out_docs_only() -> None:
    field = ir.Field("a", "a", ir.Scalar("string"), doc="x")
    one = ir.Struct("A", (field,), doc="x")
    assert facts(one) == facts(ir.Struct("A", (ir.Field("a", "a", ir.Scalar("string")),)))
    assert facts(one) != facts(ir.Struct("A", (ir.Field("a", "b", ir.Scalar("string")),)))
    assert facts(ir.Scalar("string")) != facts(ir.Const(("string",)))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_pinned_channels_share_what_is_equal(version: str) -> None:
    schemas = Path(__file__).resolve().parents[2] / "schema"
    stable, unstable = load(schemas, [f"{version}/stable", f"{version}/unstable"])
    common = shared(stable, unstable)
    for name in common:
        assert facts(stable.definitions[name]) == facts(unstable.definitions[name])
        assert set(ir.references(unstable.definitions[name])) <= common
    # Whatever is left out differs, or refers to something that is left out.
    for name in stable.definitions.keys() & unstable.definitions.keys() - common:
        differs = facts(stable.definitions[name]) != facts(unstable.definitions[name])
        assert differs or not set(ir.references(unstable.definitions[name])) <= common, name
    assert len(common) > 100

"""Renames: recognised by place, content and likeness, by rules that do not guess."""

from __future__ import annotations

from typing import Any

from tests.support.diffs import report, told, with_methods
from tests.support.tiny import INTEGER, STRING, array, const, obj, ref, variant


def renames(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.before, one.after) for one in report(old, new).changes if one.kind == "definition-renamed"]


def kinds(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [one.kind for one in told(report(old, new))]


def call(params: str, result: str, defs: dict[str, Any]) -> dict[str, Any]:
    return with_methods(defs, ("agent", "request", "open", params, result))


def test_by_place() -> None:
    """Params and result of the same method, even where there is nothing in them to compare."""
    old = call(
        "OpenRequest", "OpenResponse", {"OpenRequest": obj({"path": STRING}), "OpenResponse": obj({"_meta": {}})}
    )
    new = call(
        "ReadRequest", "ReadResponse", {"ReadRequest": obj({"path": STRING}), "ReadResponse": obj({"_meta": {}})}
    )
    assert renames(old, new) == [("OpenRequest", "ReadRequest"), ("OpenResponse", "ReadResponse")]
    # And the method is not told to take other params: it takes the same by another name.
    assert kinds(old, new) == ["definition-renamed", "definition-renamed"]


def test_by_place_with_half_of_it_alike() -> None:
    old = call("A", "R", {"A": obj({"x": STRING, "y": STRING}), "R": obj({})})
    half = call("B", "R", {"B": obj({"x": STRING, "y": INTEGER}), "R": obj({})})
    assert renames(old, half) == [("A", "B")]
    less = call("B", "R", {"B": obj({"x": INTEGER, "z": STRING}), "R": obj({})})
    assert renames(old, less) == []
    assert kinds(old, less) == ["method-params", "definition-added", "definition-removed"]


def test_by_place_through_what_was_renamed() -> None:
    """A field of a renamed object, and a tag of a renamed union."""
    old = {
        "Box": obj({"lid": ref("Lid"), "size": INTEGER}),
        "Lid": obj({"w": INTEGER}),
        "Form": {"anyOf": [variant("type", "round", "Round"), variant("type", "flat", "Flat")]},
        "Round": obj({"r": INTEGER}),
        "Flat": obj({"h": INTEGER}),
    }
    new = {
        "Crate": obj({"lid": ref("Cover"), "size": INTEGER}),
        "Cover": obj({"w": INTEGER}),
        "Form": {"anyOf": [variant("type", "round", "Circle"), variant("type", "flat", "Flat")]},
        "Circle": obj({"r": INTEGER}),
        "Flat": obj({"h": INTEGER}),
    }
    assert sorted(renames(old, new)) == [("Box", "Crate"), ("Lid", "Cover"), ("Round", "Circle")]
    assert set(kinds(old, new)) == {"definition-renamed"}


def test_by_content() -> None:
    """Equal but for the name, with two members or more; a definition may contain itself."""
    old = {"Tree": obj({"name": STRING, "kids": array(ref("Tree"))})}
    new = {"Bush": obj({"name": STRING, "kids": array(ref("Bush"))})}
    assert renames(old, new) == [("Tree", "Bush")]
    # One member is too little to go by.
    assert renames({"A": obj({"x": STRING})}, {"B": obj({"x": STRING})}) == []


def test_by_content_not_where_it_is_a_guess() -> None:
    pair = obj({"x": STRING, "y": STRING})
    assert renames({"A": pair}, {"B": pair, "C": pair}) == []
    assert renames({"A": pair, "B": pair}, {"C": pair}) == []
    # Of those with their old names none is taken away.
    assert renames({"A": pair}, {"A": pair, "B": pair}) == []


def test_by_likeness() -> None:
    """80 % alike: four equal of five. Two of four is another definition."""
    old = {"A": obj(dict.fromkeys("abcd", STRING))}
    assert renames(old, {"B": obj(dict.fromkeys("abcde", STRING))}) == [("A", "B")]
    assert renames(old, {"B": obj(dict.fromkeys("abxy", STRING))}) == []
    # Two that are equally alike are none.
    twins = {"B": obj(dict.fromkeys("abcde", STRING)), "C": obj(dict.fromkeys("abcdf", STRING))}
    assert renames(old, twins) == []


def test_the_renamed_one_is_compared_too() -> None:
    old = {"A": obj(dict.fromkeys("abcd", STRING))}
    new = {"B": obj(dict.fromkeys("abcde", STRING))}
    assert kinds(old, new) == ["definition-renamed", "field-added-optional"]
    change = report(old, new).changes[0]
    assert change.notes == ("recognised by likeness, 80% of the members alike",)


def test_not_across_kinds() -> None:
    old = {"A": {"anyOf": [const("x"), const("y"), const("z")]}}
    assert renames(old, {"B": obj({"x": STRING, "y": STRING, "z": STRING})}) == []
    assert renames(old, {"B": {"anyOf": [const("x"), const("y"), const("z")]}}) == [("A", "B")]


def test_fields_only_between_the_same_neighbours() -> None:
    old = {"T": obj({"a": STRING, "x": INTEGER, "b": STRING})}
    assert kinds(old, {"T": obj({"a": STRING, "y": INTEGER, "b": STRING})}) == ["field-renamed-optional"]
    # At another place, or of another type, or one of two: one went, one came.
    for other in ({"a": STRING, "b": STRING, "y": INTEGER}, {"a": STRING, "y": STRING, "b": STRING}):
        assert kinds(old, {"T": obj(other)}) == ["field-removed-optional", "field-added-optional"]
    two = {"T": obj({"a": STRING, "y": INTEGER, "z": INTEGER, "b": STRING})}
    assert kinds(old, two) == ["field-removed-optional", "field-added-optional", "field-added-optional"]

"""Differences are found one by one, each at its place in the value that was given."""

from typing import Any

import pytest

from .node import Answer, Request
from .pairs import ABSENT, Difference, differences, paired, same


def compared(name: str, value: object, theirs: Any) -> list[Difference]:
    return differences(paired(Request("v2/stable", name, value), Answer(True, theirs)))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True),
        (1.0, 1, True),
        (1, True, False),
        (False, 0, False),
        ({"a": [1, {}]}, {"a": [1, {}]}, True),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
        ("1", 1, False),
        (ABSENT, None, False),
        (-9.223372036854776e18, -9223372036854776000, True),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, expected: bool) -> None:
    assert same(one, other) is expected


def test_equal_readings_do_not_differ() -> None:
    value = {"toolCallId": "t", "locations": [{"path": "/a", "line": 3}], "_meta": {"n": 1.5}}
    assert compared("ToolCallUpdate", value, value) == []


def test_each_place_is_a_difference_of_its_own() -> None:
    value = {"toolCallId": "t", "title": "a", "locations": [{"path": "/a", "line": 3}]}
    found = compared("ToolCallUpdate", value, {"toolCallId": "u", "locations": [{"path": "/a"}], "kind": "read"})
    assert [(one.path, one.ours, one.theirs) for one in found] == [
        (("toolCallId",), "t", "u"),
        (("title",), "a", ABSENT),
        (("locations", 0, "line"), 3, ABSENT),
        (("kind",), ABSENT, "read"),
    ]


def test_items_keep_their_places_where_both_sides_dropped_some() -> None:
    value = {"toolCallId": "t", "locations": [{"line": 1}, {"path": "/b"}, {"path": 3}, {"path": "/c", "line": 1}]}
    theirs = {"toolCallId": "t", "locations": [{"path": "/b"}, {"path": 3}, {"path": "/c"}]}
    found = compared("ToolCallUpdate", value, theirs)
    assert [one.path for one in found] == [("locations", 2), ("locations", 3, "line")]
    refusal = found[0].refusal
    assert refusal is not None
    assert (refusal.path, refusal.reason) == (("locations", 2, "path"), "expected string, got integer")


def test_of_equally_good_places_an_item_takes_the_one_that_it_can_come_from() -> None:
    value = {"toolCallId": "t", "locations": [None, {"path": "/a", "line": "x", "y": 1}, {"path": "/b", "line": 1}]}
    theirs = {"toolCallId": "t", "locations": [{"path": "/a", "line": 2}, {"path": "/b", "line": 2}]}
    assert [one.path for one in compared("ToolCallUpdate", value, theirs)] == [
        ("locations", 1, "line"),
        ("locations", 2, "line"),
    ]


def test_what_only_one_side_refuses_differs_as_a_whole() -> None:
    (ours,) = compared("Cost", {"amount": "much"}, {"amount": 1})
    assert (ours.path, ours.ours, ours.refusal and ours.refusal.path) == ((), ABSENT, ("amount",))
    request = Request("v2/stable", "Cost", {"amount": 1, "currency": "EUR"})
    refused = Answer(False, issues=(((), "no"),))
    (theirs,) = differences(paired(request, refused))
    assert (theirs.path, theirs.theirs) == ((), ABSENT)
    assert differences(paired(Request("v2/stable", "Cost", 1), refused)) == []


def test_what_an_unknown_variant_declares_is_compared_raw_and_as_it_was_validated() -> None:
    value = {"configId": "c", "name": "n", "type": "_x", "category": 5}
    theirs = {"configId": "c", "name": "n", "type": "_x", "category": "model"}
    found = [(one.path, one.ours, one.theirs) for one in compared("SessionConfigOption", value, theirs)]
    assert found == [(("category",), 5, "model"), (("category",), ABSENT, "model")]

"""The list in README.md and the tests agree: each point is held by the tests that it names, or left out."""

from __future__ import annotations

from collections import Counter

from tests.conformance.points import HELD, LEFT_OUT, held, rows

LIST, COUNTS = rows()


def test_every_point_stands_in_the_list_once() -> None:
    assert [point for point, times in Counter(row.point for row in LIST).items() if times > 1] == []
    assert Counter(row.point.version for row in LIST) == COUNTS
    assert set(COUNTS) == {1, 2}


def test_every_point_is_held_or_left_out_for_a_reason() -> None:
    neither = [row for row in LIST if not HELD.search(row.where) and not row.where.startswith(LEFT_OUT)]
    assert neither == []
    bare = [row for row in LIST if row.where.startswith(LEFT_OUT) and len(row.where.split()) < 5]
    assert bare == []


def test_what_the_list_says_of_tests_is_what_tests_say_of_themselves() -> None:
    """In both directions: no point is left out and held, none is held by a test that does not know of it."""
    listed = {(row.point, found["test"]) for row in LIST for found in HELD.finditer(row.where)}
    both = [row for row in LIST if row.where.startswith(LEFT_OUT) and HELD.search(row.where)]
    assert both == []
    assert sorted(listed) == sorted(set(held()))

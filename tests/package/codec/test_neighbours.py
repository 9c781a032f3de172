"""Neighbours of the wire cases: other unions, other tolerant fields, nested deeper, other JSON kinds, boundaries, v1.

`tests/data/neighbours.jsonl` has the format of `wire.jsonl`, and `tolerated`: the pointers that `on_tolerated` reports.
"""

from __future__ import annotations

import json

import pytest

from tests.package.codec.profiles import profiles
from tests.package.codec.relaxed import has_whole_float, relaxed, untouched
from tests.package.codec.test_cases import READERS, Case, check, load
from tests.package.codec.test_properties import judge

NEIGHBOURS = load("neighbours.jsonl")
each = pytest.mark.parametrize("case", NEIGHBOURS, ids=lambda case: case["id"])


@pytest.mark.parametrize("how", READERS)
@each
def test_neighbour(case: Case, how: str) -> None:
    check(case, READERS[how])


@each
def test_reports(case: Case) -> None:
    module = profiles()[case["profile"]].module
    reported: list[str] = []
    if case["expect"] != "error":
        module.convert(
            case["input"], getattr(module, case["type"]), on_tolerated=lambda pointer, _: reported.append(pointer)
        )
        assert reported == case.get("tolerated", [])
    else:
        with pytest.raises(module.DecodeError):
            module.decode(
                json.dumps(case["input"]), getattr(module, case["type"]), on_tolerated=lambda *_: reported.append("")
            )
        assert reported == []


@each
def test_answer_is_the_schemas(case: Case) -> None:
    """The answers were written by hand; where the wire rules do not differ, the published schema says the same."""
    if has_whole_float(case["input"]):
        assert case["expect"] == "error" or case.get("tolerated") or case["type"] == "Cost"
        return
    assert judge(case["profile"], relaxed, case["type"])(case["input"]) == (case["expect"] != "error")
    if case["expect"] != "error":
        clean = judge(case["profile"], untouched, case["type"])(case["input"])
        # What almost is an earlier alternative is another one, and clean; the schema for clean values leaves it out.
        almost = case["id"] in ("error-data-other", "idle-error-data", "resource-second")
        assert clean != (bool(case.get("tolerated")) or almost)


def test_there_are_enough() -> None:
    assert len({case["id"] for case in NEIGHBOURS}) == len(NEIGHBOURS) > 200
    assert {case["profile"] for case in NEIGHBOURS} == set(profiles())

"""The wire cases: each decodes, or fails at its pointer, in every way that the codec can be asked.

`tests/data/wire.jsonl` are cases from real bug reports, `cases-README.md` says how to read them. Their neighbours are
in `test_neighbours`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.package.codec.profiles import ROOT, profiles, same_json

Case = dict[str, Any]
Reader = Callable[[Any, Any, Any], Any]

READERS: dict[str, Reader] = {
    "bytes": lambda module, value, form: module.decode(json.dumps(value).encode(), form),
    "str": lambda module, value, form: module.decode(json.dumps(value, ensure_ascii=False), form),
    "parsed": lambda module, value, form: module.convert(value, form),
}


def load(name: str) -> list[Case]:
    """The cases of a file in tests/data."""
    lines = (ROOT / "tests" / "data" / name).read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def check(case: Case, read: Reader) -> None:
    """Hold one case against the codec."""
    module = profiles()[case["profile"]].module
    form = getattr(module, case["type"])
    if case["expect"] == "error":
        with pytest.raises(module.DecodeError) as failed:
            read(module, case["input"], form)
        assert failed.value.pointer == case["pointer"]
        return
    found = read(module, case["input"], form)
    if case["expect"] == "unknown":
        assert type(found) is getattr(module, f"Unknown{case['type']}")
        assert (found.tag, found.is_extension, found.raw) == (case["tag"], case["is_extension"], case["input"])
    else:
        assert case["expect"] == "ok"
    if "cls" in case:
        assert type(found).__name__ == case["cls"]
    expect_output(case, json.loads(module.encode(found)))
    expect_output(case, module.to_builtins(found))


def expect_output(case: Case, output: Any) -> None:
    """An output is the case's own, but for what the case leaves open."""
    wanted = case["output"]
    if case.get("may_keep_unknown"):
        output = {key: item for key, item in output.items() if key in wanted or key not in case["input"]}
    if case.get("lenient_empty"):
        output, wanted = _without_empty(output), _without_empty(wanted)
    assert same_json(output, wanted)


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item not in ([], {})}


@pytest.mark.parametrize("how", READERS)
@pytest.mark.parametrize("case", load("wire.jsonl"), ids=lambda case: case["id"])
def test_case(case: Case, how: str) -> None:
    check(case, READERS[how])


def test_cases_are_all_there() -> None:
    cases = load("wire.jsonl")
    assert len({case["id"] for case in cases}) == len(cases) == 36
    assert {case["expect"] for case in cases} == {"ok", "unknown", "error"}

"""The cost of decoding is linear in the message: twice the input is at most about twice the work.

Work is counted, not timed: the JSON values that C is handed to convert, and the calls of our own Python functions.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from acp_bindings import v2

from tests.support.tiny import build

SLACK = 2.3  # what doubling may cost
Make = Callable[[int], Any]


def size(value: Any) -> int:
    """The number of JSON values in a value."""
    count, open_values = 0, [value]
    while open_values:
        part = open_values.pop()
        count += 1
        if isinstance(part, dict | list):
            open_values.extend(part.values() if isinstance(part, dict) else part)
    return count


class Work:
    """How much was done."""

    def __init__(self) -> None:
        self.converted = 0
        self.calls = 0


@contextmanager
def counted(module: Any) -> Iterator[Work]:
    """Count what the codec of a profile does meanwhile."""
    objects = importlib.import_module(f"{module.__name__.partition('.')[0]}.runtime.objects")
    folder, work, convert = str(Path(objects.__file__ or "").parent), Work(), objects._convert
    # Of each conversion that is going on, the parts that its hook converts instead.
    handed: list[set[int]] = []

    def converting(value: Any, *arguments: Any, **more: Any) -> Any:
        again = not handed or id(value) in handed[-1]
        work.converted += size(value) if again else 0
        if handed:
            handed[-1].add(id(value))
        handed.append(set())
        try:
            return convert(value, *arguments, **more)
        finally:
            handed.pop()

    def calling(frame: FrameType, event: str, _: Any) -> None:
        work.calls += event == "call" and frame.f_code.co_filename.startswith(folder)

    before = sys.getprofile()
    with patch.object(objects, "_convert", converting):
        sys.setprofile(calling)
        try:
            yield work
        finally:
            sys.setprofile(before)


def work_for(module: Any, form: Any, value: Any, how: str) -> Work:
    data = json.dumps(value) if how == "decode" else value
    read = getattr(module, how)
    reasons: list[str] = []

    def run() -> None:
        try:
            read(data, form, on_tolerated=lambda *_: None)
        except module.DecodeError as error:
            reasons.append(error.reason)

    run()  # the first time compiles
    with counted(module) as work:
        run()
    assert "nested too deeply" not in reasons
    return work


def assert_linear(module: Any, form: Any, make: Make, count: int) -> None:
    for how in ("decode", "convert"):
        single, double = (work_for(module, form, make(n), how) for n in (count, 2 * count))
        assert double.calls <= SLACK * single.calls + 50
        assert double.converted <= SLACK * single.converted + 50
        # Nor is much of it done over and over: types nest a few levels deep, so C sees a value a few times.
        assert double.converted <= 8 * size(make(2 * count)) + 50


TEXT = {"type": "content", "content": {"type": "text", "text": "x"}}
BAD = {"type": "content", "content": {"type": "text", "text": 5}}


def update(**members: Any) -> Any:
    return {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "toolCallId": "t", **members}}


def nest(depth: int, inner: Any, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(depth):
        inner = wrap(inner)
    return inner


WIDE: dict[str, Make] = {
    "all fine": lambda n: update(content=[TEXT] * n),
    "last item bad": lambda n: update(content=[TEXT] * n + [BAD]),
    "first item bad": lambda n: update(content=[BAD] + [TEXT] * n),
    "every item bad": lambda n: update(content=[BAD] * n),
    "every item unknown": lambda n: update(content=[{"type": "_x", "deep": [{}]}] * n),
    "every item tolerated inside": lambda n: update(locations=[{"path": "/a", "line": -1}] * n),
    "every item a diff with a bad change": lambda n: update(content=[{"type": "diff", "changes": [{}, {}]}] * n),
    "one diff with every change bad": lambda n: update(content=[{"type": "diff", "changes": [{}] * n}]),
    "fails after all": lambda n: {**update(content=[BAD] * n), "sessionId": 5},
    "fails last": lambda n: {"sessionId": "s", "update": {"sessionUpdate": "plan_update", "plan": {
        "type": "items", "planId": "p", "entries": [{"content": "c", "priority": "p", "status": "s"}] * n + [5]}}},
    "many strays": lambda n: {**update(title=5), **{f"stray{i}": [i] for i in range(n)}},
    "large free-form value": lambda n: update(rawInput=[{"a": [1, {}]}] * n, title=5),
    "large unknown update": lambda n: {"sessionId": "s", "update": {"sessionUpdate": "_x", "items": [{"a": 1}] * n}},
    "large unknown state": lambda n: {"sessionId": "s", "update": {
        "sessionUpdate": "state_update", "state": "_x", "items": [{"a": 1}] * n}},
    "background dropped": lambda n: {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "running",
        "background": [{"type": "terminal", "terminalId": "t"}] * n + [{}]}},
}  # fmt: skip


@pytest.mark.parametrize("make", WIDE.values(), ids=WIDE)
def test_wide(make: Make) -> None:
    assert_linear(v2, v2.UpdateSessionNotification, make, 200)


def test_one_bad_item_at_the_end_of_ten_thousand() -> None:
    single = work_for(v2, v2.UpdateSessionNotification, WIDE["all fine"](10_000), "convert")
    worse = work_for(v2, v2.UpdateSessionNotification, WIDE["last item bad"](10_000), "convert")
    # All of it was tried twice, the items once more each.
    assert worse.converted <= 4 * single.converted
    assert worse.calls < 10 * 10_000


def test_wide_alternatives() -> None:
    option = {"value": "v", "name": "n"}
    group = {"groupId": "g", "name": "n", "options": [option] * 3}
    for items in ([option], [group], [option, group], [group | option]):
        for last in (5, {**option, "name": 5}, {**group, "options": [5]}):
            assert_linear(v2, v2.SessionConfigSelectOptions, partial(repeated, items, last), 100)


def repeated(items: list[Any], last: Any, count: int) -> list[Any]:
    return [*items * count, last]


def test_wide_maps() -> None:
    def schema(count: int) -> Any:
        properties = {f"p{i}": {"type": "string", "title": 5} for i in range(count)}
        return {"type": "object", "properties": {**properties, "last": {"type": "string", "minLength": -1}}}

    assert_linear(v2, v2.ElicitationSchema, schema, 100)


S = {"type": "string"}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def record(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def tagged(tag: str, payload: str) -> dict[str, Any]:
    return {**record("kind", kind={"type": "string", "const": tag}), "allOf": [reference(payload)]}


DEEP = {
    "Node": record("name", name=S, child={"anyOf": [reference("Node"), {"type": "null"}]}),
    "Tolerant": record(name={**S, "x-deserialize-default-on-error": True}, child=reference("Tolerant")),
    "Saved": record("name", name=S, child={**reference("Saved"), "x-deserialize-default-on-error": True}),
    "List": record("name", name=S, kids={"type": "array", "items": reference("List")}),
    "Tree": {"anyOf": [reference("Branch"), reference("Leaf")]},
    "Branch": record("left", left=reference("Tree"), note=S),
    "Leaf": record("value", value={"type": "integer"}),
    "Alike": {"anyOf": [reference("One"), reference("Other")]},
    "One": record("inner", inner=reference("Alike"), a=S),
    "Other": record("inner", inner=reference("Alike"), b=S),
    "Shape": {"anyOf": [tagged("box", "Box"), tagged("dot", "Dot")]},
    "Box": record("inside", inside=reference("Shape")),
    "Dot": record("x", x={"type": "integer"}),
    "Top": record("node", node=reference("Node"), tree=reference("Tree"), more={"type": "array", "items": S}),
}


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return build(tmp_path_factory.mktemp("deep"), DEEP)


CASES: dict[str, tuple[str, int, Make]] = {
    "fails at the bottom": ("Node", 200, lambda n: nest(n, {"name": 5}, lambda x: {"name": "n", "child": x})),
    "a mistake at every level": ("Node", 200, lambda n: nest(n, {}, lambda x: {"child": x})),
    "tolerated at every level": ("Tolerant", 200, lambda n: nest(n, {}, lambda x: {"name": 5, "child": x})),
    "dropped at the bottom": ("Saved", 200, lambda n: nest(n, {}, lambda x: {"name": "n", "child": x})),
    "dropped at the top": ("Saved", 200, lambda n: {"name": "n", "child": nest(n, {}, lambda x: {"child": x})}),
    "through arrays": ("List", 80, lambda n: nest(n, {"name": 5}, lambda x: {"name": "n", "kids": [x]})),
    "through alternatives": ("Tree", 100, lambda n: nest(n, {"value": "x"}, lambda x: {"left": x})),
    "alternatives told apart late": ("Tree", 100, lambda n: nest(n, {"value": 1}, lambda x: {"left": x, "note": 5})),
    "alike, and all fail": ("Alike", 80, lambda n: nest(n, {"inner": 5}, lambda x: {"inner": x})),
    "alike, the first fails late": (
        "Alike", 80, lambda n: nest(n, {"inner": 5}, lambda x: {"inner": x, "a": 5, "b": ""}),
    ),
    "tagged": ("Shape", 80, lambda n: nest(n, {"kind": "dot", "x": "1"}, lambda x: {"kind": "box", "inside": x})),
    "below what is not deep": (
        "Top", 200, lambda n: {"node": nest(n, {"name": "n"}, lambda x: {"name": "n", "child": x}), "more": [5]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_deep(deep: Any, case: str) -> None:
    """In a thread, so that the depth of the test's own stack does not count."""
    name, count, make = CASES[case]
    failed: list[BaseException] = []

    def run() -> None:
        try:
            for some in (9, count):  # a few first: what is not linear may be exponential
                assert_linear(deep, getattr(deep, name), make, some)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]

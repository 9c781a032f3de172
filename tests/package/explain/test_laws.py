"""Laws of explaining, for any value of any definition: it says what the codec does, no less and no more.

The judge of what is ignored is what comes back: a value is decoded, encoded, and compared with itself.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from acp_bindings.runtime.explain.findings import Finding, Item
from acp_bindings.runtime.explain.tree import explained

from tests.package.codec.profiles import Profile, profiles, same_json
from tests.package.codec.test_properties import EXAMPLES, drawn

SEEDS = 6 * EXAMPLES
KINDS = ("valid", "mutated", "hostile")


class Judge:
    """What the codec makes of a value, and which parts of it do not come back."""

    def __init__(self, profile: Profile, name: str, value: Any) -> None:
        self.profile, self.name, self.value = profile, name, value
        self.tolerated, self.error, found = self.decoded(value)
        self.lost: set[str] = set()
        if self.error is None:
            self.lost = set(self._lost(value, profile.module.to_builtins(found), ()))

    def decoded(self, value: Any) -> tuple[dict[str, str], Any, Any]:
        module, reports = self.profile.module, dict[str, str]()
        try:
            found = module.convert(value, self.profile.type(self.name), on_tolerated=reports.__setitem__)
        except module.DecodeError as error:
            return {}, error, None
        return reports, None, found

    def _lost(self, value: Any, back: Any, way: tuple[str | int, ...]) -> Iterator[str]:
        """Pointers to what is not in what came back, outermost first."""
        if pointer(way) in self.tolerated:
            return
        if isinstance(value, dict) and isinstance(back, dict):
            for key, one in value.items():
                here = (*way, key)
                if key in back:
                    yield from self._lost(one, back[key], here)
                elif pointer(here) not in self.tolerated and not self._is_empty(one, here):
                    yield pointer(here)
        elif isinstance(value, list) and isinstance(back, list):
            kept = [index for index in range(len(value)) if pointer((*way, index)) not in self.tolerated]
            if len(kept) != len(back):
                # An unknown variant keeps what it tolerates.
                kept = list(range(len(value)))
            for index, one in zip(kept, back, strict=True):
                yield from self._lost(value[index], one, (*way, index))
        elif not same_json(value, back):
            yield pointer(way)

    def _is_empty(self, value: Any, way: tuple[str | int, ...]) -> bool:
        """Whether this was read as an empty list or object, which is not written: all that was in it is dropped."""
        if isinstance(value, list) and value:
            return all(pointer((*way, index)) in self.tolerated for index in range(len(value)))
        return value in ([], {}) and self._is_read(way)

    def _is_read(self, way: tuple[str | int, ...]) -> bool:
        """Whether something nobody would take in the place of an empty list or object makes a difference."""
        changed = copy.deepcopy(self.value)
        inner = changed
        for step in way[:-1]:
            inner = inner[step]
        inner[way[-1]] = "text"
        reports, error, _ = self.decoded(changed)
        return error is not None or reports != self.tolerated


def pointer(way: tuple[str | int, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in way)


def marked(findings: list[Finding], mark: str) -> dict[str, str]:
    return {one.pointer: one.reason for one in findings if one.mark == mark}


def items(item: Item) -> Iterator[Item]:
    yield item
    for child in item.children:
        yield from items(child)


def rebuilt(item: Item) -> Any:
    """The JSON value that a tree shows."""
    if not item.children:
        return item.value
    given = [one for one in item.children if one.state == "given"]
    if all(isinstance(one.wire, int) for one in given) and given:
        return [rebuilt(one) for one in given]
    return {one.wire: rebuilt(one) for one in given}


def check(profile: Profile, name: str, value: Any) -> list[Finding]:
    judge = Judge(profile, name, value)
    tree, findings = explained(value, profile.type(name))
    invalid = marked(findings, "invalid")
    assert bool(invalid) == (judge.error is not None)
    if judge.error is None:
        assert marked(findings, "tolerated") == judge.tolerated
        assert marked(findings, "ignored").keys() == judge.lost
        assert same_json(rebuilt(tree), value)
    else:
        assert judge.error.pointer in invalid
    # Whatever is said is said about something that is shown.
    assert {one.pointer for one in findings} <= {one.pointer for one in items(tree)}
    assert len(set(findings)) == len(findings)
    return findings


@pytest.mark.parametrize("profile", profiles().values(), ids=lambda one: one.name)
def test_explaining_says_what_the_codec_does(profile: Profile) -> None:
    seen: Counter[str] = Counter()
    for name in profile.definitions:
        for kind in KINDS:
            for seed in range(SEEDS):
                value = drawn(profile, name, kind, random.Random(f"{name} {kind} {seed}"))
                try:
                    seen.update(one.mark for one in check(profile, name, value))
                except AssertionError as error:
                    raise AssertionError(f"{name} {kind} {seed}: {value!r}") from error
    # Else the laws would hold because nothing was tried.
    assert all(seen[mark] > 20 for mark in ("invalid", "tolerated", "ignored")), seen
    assert seen["unknown"] and seen["extension"], seen

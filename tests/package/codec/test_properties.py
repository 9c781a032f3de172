"""Laws that hold for any JSON value and any definition of any profile, with the published schemas as the judge.

Values are drawn from the raw schema, never from our reading of it. Each law is tried by Hypothesis, which shrinks what
it finds, and swept over every definition, so that none is left out. ACP_EXAMPLES multiplies the number of examples.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import random
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.package.codec.profiles import Profile, every_definition, profiles, same, same_json
from tests.package.codec.relaxed import has_whole_float, relaxed, untouched
from tests.support.values import validator

EXAMPLES = int(os.environ.get("ACP_EXAMPLES", "1"))
SWEEPS = 2 * EXAMPLES  # seeds for each definition, kind of value and law
KINDS = ("valid", "mutated", "hostile")
DEFINITIONS = every_definition()

thorough = settings(
    max_examples=150 * EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
Law = Callable[[Profile, str, Any], None]


def published(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as it is."""
    return schema


@cache
def judge(profile: str, rewrite: Callable[[dict[str, Any]], dict[str, Any]], name: str) -> Callable[[object], bool]:
    return validator(_rewritten(profile, rewrite), name)


@cache
def _rewritten(profile: str, rewrite: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    return rewrite(profiles()[profile].schema)


def drawn(profile: Profile, name: str, kind: str, rng: random.Random) -> Any:
    """A value for the definition: one that fits, such a one damaged, or anything."""
    if kind == "hostile":
        return profile.values.hostile(rng)
    value = profile.values.valid(name, rng)
    return profile.values.mutated(value, rng) if kind == "mutated" else value


class Outcome:
    """What the codec makes of a value, or of a text."""

    def __init__(self, profile: Profile, name: str, data: Any, how: str = "convert") -> None:
        self.reports: list[tuple[str, str]] = []
        self.found: Any = None
        self.error: Any = None
        read = getattr(profile.module, how)
        try:
            self.found = read(data, profile.type(name), on_tolerated=lambda *report: self.reports.append(report))
        except profile.module.DecodeError as error:
            self.error = error

    @property
    def pointers(self) -> list[str]:
        """Where the outcome says that something is wrong."""
        return [pointer for pointer, _ in self.reports] + ([self.error.pointer] if self.error else [])

    def same_as(self, other: Outcome) -> bool:
        errors = [error and (error.pointer, error.reason) for error in (self.error, other.error)]
        return same(self.found, other.found) and errors[0] == errors[1] and self.reports == other.reports


def decodes_just_what_the_rules_say(profile: Profile, name: str, value: Any) -> None:
    """The schema with the wire rules written into it accepts a value exactly when we do."""
    if not has_whole_float(value):
        assert judge(profile.name, relaxed, name)(value) == (Outcome(profile, name, value).error is None)


def drops_nothing_in_silence(profile: Profile, name: str, value: Any) -> None:
    """What the schema accepts is taken as it is; what it rejects and we do not is reported."""
    outcome = Outcome(profile, name, value)
    if outcome.error is not None:
        assert outcome.reports == []
    elif not has_whole_float(value):
        accepted = judge(profile.name, published, name)(value)
        assert not (accepted and judge(profile.name, untouched, name)(value) and outcome.reports)
        assert accepted or outcome.reports


def comes_back(profile: Profile, name: str, value: Any) -> None:
    """What was decoded encodes to what the rules accept, and decodes again to the same."""
    module, form, outcome = profile.module, profile.type(name), Outcome(profile, name, value)
    if outcome.error is not None:
        return
    encoded = module.encode(outcome.found)
    assert same_json(json.loads(encoded), module.to_builtins(outcome.found))
    assert same(module.decode(encoded, form), outcome.found)
    if outcome.reports == [] and judge(profile.name, published, name)(value):
        assert judge(profile.name, published, name)(json.loads(encoded))
    elif not has_whole_float(value):
        assert judge(profile.name, relaxed, name)(json.loads(encoded))


def reads_text_and_values_alike(profile: Profile, name: str, value: Any) -> None:
    """`decode` of a text, as bytes and as str, is `convert` of the value that it says, with the same reports."""
    text = json.dumps(value, ensure_ascii=False)
    for data in (text, text.encode()):
        assert Outcome(profile, name, data, "decode").same_as(Outcome(profile, name, value))


def walks_where_c_runs(profile: Profile, name: str, value: Any) -> None:
    """Whatever the C decoder accepts, the walk accepts, with an equal result, however much of it is left to C."""
    compiled, objects = runtime("compiled"), runtime("objects")
    form, expected = profile.type(name), Outcome(profile, name, value)
    with patch.object(objects, "_convert", refuse):
        assert Outcome(profile, name, value).same_as(expected)
    native = form._type if name == "ErrorCode" else form
    decoder: Any = msgspec.json.Decoder(native, dec_hook=compiled.decode_walked)
    try:
        found = decoder.decode(json.dumps(value))
    except msgspec.ValidationError:
        return
    assert same(expected.found, found)
    for walk in (compiled.node_of(form).walk, compiled.node_of(form).careful):
        reports: list[Any] = []
        assert same(walk(value, None, reports), found)
        assert reports == []


def refuse(*_: Any, **__: Any) -> Any:
    """In place of the C converter: leaves everything to the walk."""
    raise msgspec.ValidationError("left to the walk")


def runtime(name: str) -> ModuleType:
    return importlib.import_module(f"acp_bindings.runtime.{name}")


def points_into_the_value(profile: Profile, name: str, value: Any) -> None:
    """Pointers of errors and reports lead to a value, an error's to the place of a missing one at the least."""
    outcome = Outcome(profile, name, value)
    if outcome.error is not None:
        *_, parent = [*lookup(value, outcome.error.pointer.rpartition("/")[0])]
        assert isinstance(parent, dict | list) or outcome.error.pointer == ""
        if outcome.error.reason != "missing":
            assert len(lookup(value, outcome.error.pointer)) == outcome.error.pointer.count("/") + 1
    pointers = [pointer for pointer, _ in outcome.reports]
    assert len(set(pointers)) == len(pointers)
    for pointer in pointers:
        assert len(lookup(value, pointer)) == pointer.count("/") + 1
        assert not any(other.startswith(pointer + "/") for other in pointers)


def drops_what_it_reports(profile: Profile, name: str, value: Any) -> None:
    """Without the values that were dropped, all comes out the same."""
    outcome = Outcome(profile, name, value)
    if not outcome.reports or unknowns(outcome.found):  # an unknown variant keeps what its properties read as absent
        return
    rest = copy.deepcopy(value)
    # Last items first, so that the way to the others stays.
    for pointer in sorted((pointer for pointer, _ in outcome.reports), key=_steps, reverse=True):
        above, key = lookup(rest, pointer)[-2], _steps(pointer)[-1]
        above.pop(key if isinstance(above, dict) else int(key))
        if not same(Outcome(profile, name, rest).found, outcome.found):
            above[key] = []  # a required array, which reads as empty
            assert same(Outcome(profile, name, rest).found, outcome.found)
    # Only an array that must not be empty is reported again.
    assert all(lookup(rest, pointer)[-1] == [] for pointer, _ in Outcome(profile, name, rest).reports)


def _steps(pointer: str) -> list[str]:
    return [step.rjust(9, "0") if step.isdigit() else step for step in pointer.split("/")]


def lookup(value: Any, pointer: str) -> list[Any]:
    """The values on the way of a pointer, from the root on, as far as it leads."""
    way = [value]
    for step in pointer.split("/")[1:]:
        key: Any = step.replace("~1", "/").replace("~0", "~")
        try:
            way.append(way[-1][int(key) if isinstance(way[-1], list) else key])
        except (LookupError, TypeError, ValueError):
            break
    return way


def keeps_unknown_variants_whole(profile: Profile, name: str, value: Any) -> None:
    """An unknown variant holds and encodes the JSON value that it came as, wherever it stands."""
    module, outcome = profile.module, Outcome(profile, name, value)
    for variant in unknowns(outcome.found):
        assert same_json(variant.raw, json.loads(module.encode(variant)))
        assert any(same(dict(variant), part) for part in objects_in(value))
        assert variant.is_extension == variant.tag.startswith("_")


def unknowns(model: Any) -> list[Any]:
    if type(model).__name__.startswith(("Unknown", "Unrecognized")) and isinstance(model, dict):
        return [model]
    if isinstance(model, msgspec.Struct):
        return [one for name in model.__struct_fields__ for one in unknowns(getattr(model, name))]
    if isinstance(model, list | dict):
        return [one for part in (model.values() if isinstance(model, dict) else model) for one in unknowns(part)]
    return []


def objects_in(value: Any) -> list[dict[str, Any]]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] * isinstance(value, dict) + [one for part in parts for one in objects_in(part)]


LAWS: list[Law] = [
    decodes_just_what_the_rules_say,
    drops_nothing_in_silence,
    comes_back,
    reads_text_and_values_alike,
    walks_where_c_runs,
    points_into_the_value,
    drops_what_it_reports,
    keeps_unknown_variants_whole,
]
laws = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)


@laws
@thorough
@given(st.sampled_from(DEFINITIONS), st.sampled_from(KINDS), st.randoms(use_true_random=False))
def test_law(law: Law, definition: tuple[str, str], kind: str, rng: random.Random) -> None:
    profile, name = profiles()[definition[0]], definition[1]
    law(profile, name, drawn(profile, name, kind, rng))


@laws
@pytest.mark.parametrize("name", profiles())
def test_law_over_every_definition(law: Law, name: str) -> None:
    profile = profiles()[name]
    for definition in profile.definitions:
        for seed in range(SWEEPS):
            for kind in KINDS:
                rng = random.Random(f"{name} {definition} {kind} {seed}")
                law(profile, definition, drawn(profile, definition, kind, rng))


def test_definitions_are_all_there() -> None:
    assert {profile for profile, _ in DEFINITIONS} == {"v1/stable", "v1/unstable", "v2/stable", "v2/unstable"}
    for profile in profiles().values():
        hidden = [name for name in profile.schema["$defs"] if not hasattr(profile.module, name)]
        assert set(hidden) == set(profile.schema["$defs"]) - set(profile.definitions)
        assert len(profile.definitions) > 100

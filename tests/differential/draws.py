"""The values of a run: seeded random ones, and one fault after the other in every property."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from codegen.pipeline import load
from tests.support.values import Values

from .node import Request
from .pairs import ABSENT, MODULES
from .schemas import SCHEMA_DIR, constants, members, schema, users

# Of how many values one has integers beyond those that JavaScript holds. Elsewhere they would hide other differences.
WIDE_EVERY = 20
DRAWS = 12  # of a definition, to have all its properties in one value or another
FAULTS: tuple[Any, ...] = (ABSENT, None, True, -1, 0, 1.5, "", "x", [], [None], {}, {"type": "x"})


@cache
def places() -> tuple[tuple[str, str], ...]:
    """Every definition of every profile."""
    return tuple((one.name, name) for one in load(SCHEMA_DIR, list(MODULES)) for name in one.exported)


def requests(count: int, seed: int) -> Iterator[Request]:
    """`count` values, every definition in turn: valid, damaged in several ways, or hostile."""
    narrow = {profile: Values(schema(profile), largest=2**53 - 1) for profile in MODULES}
    wide = {profile: Values(schema(profile)) for profile in MODULES}
    everything = places()
    for number in range(count):
        profile, name = everything[number % len(everything)]
        # One generator for each value, so that a value does not depend on those before it.
        rng = random.Random(f"{seed}/{number}")
        values = (wide if rng.randrange(WIDE_EVERY) == 0 else narrow)[profile]
        yield Request(profile, name, _value(profile, name, values, rng))


def _value(profile: str, name: str, values: Values, rng: random.Random) -> object:
    how = rng.choice(("valid", "valid", "damaged", "damaged", "damaged", "merged", "padded", "surrounded", "hostile"))
    if how == "hostile":
        return values.hostile(rng)
    value = values.valid(name, rng)
    if how == "damaged":
        return values.mutated(value, rng)
    if how == "merged":
        return _merged(value, values.valid(name, rng))
    if how == "padded":
        return _padded(value, rng)
    around = users(profile).get(name, [])
    if how == "surrounded" and around:
        return _merged(value, values.valid(rng.choice(around), rng))
    return value


def _merged(one: object, other: object) -> object:
    """Two values in one: objects with the properties of both (of two branches, say), lists with the items of both."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {key: _merged(one[key], other[key]) for key in one.keys() & other.keys()}
        return one | other | both
    return one + other if isinstance(one, list) and isinstance(other, list) else one


def _padded(value: object, rng: random.Random) -> object:
    """The same value with spaces around some of its strings."""
    if isinstance(value, dict):
        return {key: _padded(part, rng) for key, part in value.items()}
    if isinstance(value, list):
        return [_padded(part, rng) for part in value]
    return f" {value} " if isinstance(value, str) and rng.random() < 1 / 4 else value


def faults(seed: int) -> Iterator[Request]:
    """Values with every kind of fault in each property of each definition, one at a time; of unions, in each branch."""
    values = {profile: Values(schema(profile), largest=2**53 - 1) for profile in MODULES}
    for profile, name in places():
        rng = random.Random(f"{seed}/{profile}/{name}")
        seen: set[tuple[tuple[str, ...], str]] = set()
        for value in (values[profile].valid(name, rng) for _ in range(DRAWS)):
            if not isinstance(value, dict):
                continue
            branch = tuple(str(value.get(tag)) for tag in constants(profile))
            fresh = [key for key in members(profile, name) & value.keys() if (branch, key) not in seen]
            seen.update((branch, key) for key in fresh)
            for key in sorted(fresh):
                rest = {other: part for other, part in value.items() if other != key}
                for fault in FAULTS:
                    yield Request(profile, name, rest if fault is ABSENT else {**rest, key: fault})

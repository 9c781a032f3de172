"""One value as both sides read it, and every single place where they differ.

Paths lead into the value that was given, so that an item of a list keeps its place where one side has dropped others.
"""

import importlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec
from acp_bindings.runtime.errors import DecodeError
from acp_bindings.runtime.models import Model, UnknownVariant

from .node import Answer, Request

MODULES: Final = {
    "v1/stable": "acp_bindings.v1",
    "v1/unstable": "acp_bindings.v1.unstable",
    "v2/stable": "acp_bindings.v2",
    "v2/unstable": "acp_bindings.v2.unstable",
}
MOST_ALIGNMENTS = 5000  # ways to match two lists that are tried

Path: TypeAlias = tuple[str | int, ...]


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


ABSENT: Final = _Absent()


@dataclass(frozen=True)
class Refusal:
    """Why and where we refused a value or dropped a part of it."""

    path: Path
    reason: str


@dataclass
class Pair:
    """One value as both sides read it. `model` is what we decoded, `ours` what that encodes to; neither if refused."""

    request: Request
    theirs: Answer
    model: Any = ABSENT
    ours: Any = ABSENT
    refusal: Refusal | None = None
    drops: dict[Path, Refusal] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """One place where the two sides differ.

    `holder` is what we decoded around the place (a model, a dict, a list), `part` what we decoded there. `refusal`
    says why we have nothing there that they have. A whole value that one side refuses differs at the root.
    """

    pair: Pair
    path: Path
    given: Any
    ours: Any
    theirs: Any
    holder: Any = ABSENT
    part: Any = ABSENT
    refusal: Refusal | None = None


def module_of(profile: str) -> ModuleType:
    return importlib.import_module(MODULES[profile])


def paired(request: Request, theirs: Answer) -> Pair:
    """Read the request's value ourselves, beside their answer."""
    module = module_of(request.profile)
    pair = Pair(request, theirs)

    def note(pointer: str, reason: str) -> None:
        refusal = _refusal(pointer, reason)
        pair.drops[_steps(request.value, pointer)] = Refusal(_steps(request.value, refusal[0]), refusal[1])

    try:
        pair.model = module.decode(request.text(), getattr(module, request.type), on_tolerated=note)
    except DecodeError as error:
        pair.refusal = Refusal(_steps(request.value, error.pointer), error.reason)
    else:
        pair.ours = json.loads(module.encode(pair.model))
    return pair


def _refusal(pointer: str, reason: str) -> tuple[str, str]:
    """Where inside a dropped value the fault lies: the reason starts with the rest of the way when it is deeper."""
    if reason.startswith("/"):
        way, _, reason = reason.partition(": ")
        return pointer + way, reason
    return pointer, reason


def _steps(value: Any, pointer: str) -> Path:
    """A JSON Pointer as a path into `value`, with integers for the items of lists."""
    path: list[str | int] = []
    for token in pointer.split("/")[1:]:
        step: str | int = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            step = int(step)
            value = value[step]
        else:
            value = value.get(step) if isinstance(value, dict) else None
        path.append(step)
    return tuple(path)


def at(value: Any, path: Path) -> Any:
    """The part of a JSON value at `path`, ABSENT when there is none."""
    for step in path:
        inside = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if step not in inside:
            return ABSENT
        value = value[step]
    return value


def same(one: Any, other: Any) -> bool:
    """Whether ours and theirs are equal. 1.0 and 1 are, as JavaScript has one kind of number; 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, int):
        other = float(other)  # JavaScript's shortest form of a large number may name another integer
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def differences(pair: Pair) -> list[Difference]:
    """Every place where the two differ; none when both refuse."""
    given = pair.request.value
    if pair.refusal is not None:
        return [Difference(pair, (), given, ABSENT, pair.theirs.value, refusal=pair.refusal)] if pair.theirs.ok else []
    if not pair.theirs.ok:
        return [Difference(pair, (), given, pair.ours, ABSENT, part=pair.model)]
    return list(_compared(Difference(pair, (), given, pair.ours, pair.theirs.value, part=pair.model)))


def _compared(place: Difference) -> Iterator[Difference]:
    ours, theirs = place.ours, place.theirs
    if ours is ABSENT and theirs is ABSENT:
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            yield from _member(place, key)
    elif isinstance(ours, list) and isinstance(theirs, list) and _is_aligned(place):
        yield from _items(place)
    elif ours is ABSENT or theirs is ABSENT or not same(ours, theirs):
        yield place


def _inside(place: Difference, step: str | int, ours: Any, theirs: Any, part: Any) -> Difference:
    path = (*place.path, step)
    given = at(place.given, (step,))
    refusal = place.pair.drops.get(path) if ours is ABSENT else None
    return Difference(place.pair, path, given, ours, theirs, place.part, part, refusal)


def _member(place: Difference, key: str) -> Iterator[Difference]:
    ours, theirs = place.ours.get(key, ABSENT), place.theirs.get(key, ABSENT)
    part = _part(place.part, key)
    if isinstance(place.part, UnknownVariant) and key in members(type(place.part).fields()):
        # What we keep raw we have validated too: they write what they validated.
        part = getattr(place.part, members(type(place.part).fields())[key])
        read = ABSENT if part is msgspec.UNSET else msgspec.to_builtins(part)
        kept = _inside(place, key, ours, theirs, part)
        if not same(ours, theirs) and not same(ours, read):
            yield kept
            yield from _compared(_inside(place, key, read, theirs, part))
            return
    yield from _compared(_inside(place, key, ours, theirs, part))


def _part(holder: Any, key: str) -> Any:
    """What we decoded of a property. Free-form JSON holds its parts itself."""
    if isinstance(holder, Model):
        name = members(type(holder)).get(key)
        return ABSENT if name is None else getattr(holder, name)
    return holder.get(key, ABSENT) if isinstance(holder, dict) else ABSENT


@cache
def members(cls: type[Model]) -> dict[str, str]:
    """The members of a model class by their wire names."""
    return {one.encode_name: one.name for one in msgspec.structs.fields(cls)}


def _is_aligned(place: Difference) -> bool:
    """Whether both lists are what is left of the given one."""
    if not isinstance(place.given, list):
        return False
    return len(place.ours) == len(_kept(place)) and len(place.theirs) <= len(place.given)


def _kept(place: Difference) -> list[int]:
    """The items that we did not drop."""
    return [index for index in range(len(place.given)) if (*place.path, index) not in place.pair.drops]


def _items(place: Difference) -> list[Difference]:
    """The differences of two lists, theirs laid against the given one where it fits best."""
    ours = dict(zip(_kept(place), range(len(place.ours)), strict=True))
    best: tuple[int, int, list[Difference]] | None = None
    for way in itertools.islice(itertools.combinations(range(len(place.given)), len(place.theirs)), MOST_ALIGNMENTS):
        theirs = dict(zip(way, place.theirs, strict=True))
        found = [one for index in range(len(place.given)) for one in _item(place, index, ours.get(index), theirs)]
        strange = sum(_strangeness(item, place.given[index]) for index, item in theirs.items())
        if best is None or (len(found), strange) < best[:2]:
            best = (len(found), strange, found)
    assert best is not None
    return best[2]


def _item(place: Difference, index: int, position: int | None, theirs: dict[int, Any]) -> Iterator[Difference]:
    here = theirs.get(index, ABSENT)
    if position is None:
        return _compared(_inside(place, index, ABSENT, here, ABSENT))
    part = place.part[position] if isinstance(place.part, list) else ABSENT
    return _compared(_inside(place, index, place.ours[position], here, part))


def _strangeness(made: Any, given: Any) -> int:
    """How many parts of an item cannot come from the given one."""
    if isinstance(made, dict) and isinstance(given, dict):
        return sum(_strangeness(part, given.get(key, ABSENT)) for key, part in made.items())
    if isinstance(made, list) and isinstance(given, list):
        return 0  # some of its items may have been dropped
    return 0 if same(given, made) else 1

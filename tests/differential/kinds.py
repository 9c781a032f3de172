"""The kinds of disagreement with the TypeScript SDK that we know of, each with the reason why our answer stands.

A kind recognises one place where the two differ, by everything that makes it that kind: what was given there, what
each side made of it, and why we refused it where we did. Whatever no kind recognises is a bug, of ours until shown
otherwise.
"""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from acp_bindings.runtime.models import DefaultOnError, Model, SkipInvalidItems, UnknownVariant

from .node import Request
from .pairs import ABSENT, Difference, Path, at, differences, members, paired, same
from .schemas import defaulted_tags, formatted, properties

EXACT = 2**53  # the largest integer up to which JavaScript has them all
_RESERVED = "is reserved by a known variant"
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True)
class Kind:
    """A disagreement that we stand by: `reason` says why, `example` is a small value that shows it and nothing else."""

    name: str
    reason: str
    recognises: Callable[[Difference], bool]
    example: Request


def _own_tag(place: Difference) -> bool:
    """A variant's payload, read as a definition of its own: we write the tag that the class stands for."""
    model = _widened(place)
    return model is not None and place.ours in _tags(type(model)).get(str(place.path[0]), ())


def _own_member(place: Difference) -> bool:
    """A variant's payload, read as a definition of its own: we read what the class has as a variant."""
    model = _widened(place)
    if model is None or place.path[0] in _tags(type(model)):
        return False
    name = members(type(model)).get(str(place.path[0]))
    return name in getattr(model, "_variant_only", ()) and same(place.ours, place.given)


def _widened(place: Difference) -> Model | None:
    """The model at the root, where the place is a property of it that its definition does not have."""
    if len(place.path) != 1 or place.theirs is not ABSENT or not isinstance(place.holder, Model):
        return None
    listed = properties(place.pair.request.profile, place.pair.request.type)
    return None if place.path[0] in listed else place.holder


@cache
def _tags(cls: type[Model]) -> dict[str, tuple[Any, ...]]:
    """The constant properties of a model class, and what they may be."""
    config = cls.__struct_config__
    found = {config.tag_field: (config.tag,)} if config.tag_field else {}
    constants = [one for one in msgspec.structs.fields(cls) if get_origin(one.type) is Literal]
    return found | {one.encode_name: get_args(one.type) for one in constants}


def _empty(place: Difference) -> bool:
    """An optional list or map that reads as empty: they write it, we leave it out."""
    if place.ours is not ABSENT or place.theirs not in ([], {}) or not isinstance(place.holder, Model):
        return False
    return type(place.part) is type(place.theirs) and not place.part


def _prototype(place: Difference) -> bool:
    """A property named `__proto__`, or a value that we refuse for what stands below such a property."""
    if place.refusal is not None:
        return "__proto__" in place.refusal.path
    return place.path[-1:] == ("__proto__",) and place.theirs is ABSENT


def _integral_float(place: Difference) -> bool:
    """A number written with a fraction of zero where an integer is expected."""
    given = place.pair.request.value
    if place.refusal is not None:
        if "__proto__" in place.refusal.path or not place.refusal.reason.startswith("expected integer"):
            return False
        found = at(given, place.refusal.path)
        return isinstance(found, float) and found.is_integer()
    # In an untagged union it decides which branch fits: written as an integer, we read the place as they do.
    if same(place.ours, place.theirs) or not isinstance(given, dict) or _with_integers(given) is given:
        return False
    request = Request(place.pair.request.profile, place.pair.request.type, _with_integers(given))
    return all(one.path != place.path for one in differences(paired(request, place.pair.theirs)))


def _with_integers(value: Any) -> Any:
    """The same number values, those without a fraction as integers; the value itself when there are none."""
    if isinstance(value, dict):
        parts = {key: _with_integers(part) for key, part in value.items()}
        return value if all(parts[key] is value[key] for key in value) else parts
    if isinstance(value, list):
        items = [_with_integers(item) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _wide_integer(place: Difference) -> bool:
    """An integer that JavaScript cannot hold: they write the nearest that it can."""
    if not isinstance(place.given, int) or abs(place.given) <= EXACT or place.ours != place.given:
        return False
    # JavaScript writes as few digits as tell its numbers apart, so their text may stand for yet another integer.
    return isinstance(place.theirs, int | float) and float(place.theirs) == float(place.given)


def _raw(place: Difference) -> bool:
    """A declared property of an unknown variant: we keep what came, they write what they validated of it."""
    if not isinstance(place.holder, UnknownVariant) or place.ours is ABSENT or not same(place.ours, place.given):
        return False
    declared = place.path[-1] in members(type(place.holder).fields())
    return declared and (place.part is msgspec.UNSET or not same(place.ours, msgspec.to_builtins(place.part)))


def _known_tag(place: Difference) -> bool:
    """A malformed variant: we name what is wrong with it, they read it as the branch that has no tag."""
    if place.refusal is None:
        return False
    for length in range(len(place.path), len(place.refusal.path)):
        theirs = at(place.theirs, place.refusal.path[len(place.path) : length])
        given = at(place.pair.request.value, place.refusal.path[:length])
        for tag, value in defaulted_tags(place.pair.request.profile):
            if isinstance(given, dict) and given.get(tag) == value and isinstance(theirs, dict) and tag not in theirs:
                return True
    return False


def _uri(place: Difference) -> bool:
    """Text that is no URL where the schema has `format: uri`: refused, or dropped with what needs it."""
    if place.theirs is not ABSENT or place.ours is ABSENT:
        return False
    if place.path and isinstance(place.holder, Model) and _is_no_url(place, place.path[-1], place.ours):
        return True
    faults = list(_required_faults(place, place.part, ()))
    # Of a known variant with a malformed body they name the tag only.
    blamed = [path[:-1] if _RESERVED in message else path for path, message in place.pair.theirs.issues]
    return bool(faults) and all(any(fault[: len(path)] == path for fault in faults) for path in blamed)


def _required_faults(place: Difference, part: Any, path: Path) -> Iterator[Path]:
    """Where in a decoded value a malformed URL stands that nothing makes up for on the way to it."""
    if isinstance(part, Model):
        inside: list[tuple[str | int, Any]] = [
            (one.encode_name, getattr(part, one.name)) for one in _strict_members(type(part))
        ]
        yield from ((*path, key) for key, value in inside if _is_no_url(place, key, value))
    elif isinstance(part, list):
        inside = list(enumerate(part))
    else:
        inside = list(part.items()) if isinstance(part, dict) else []
    for step, value in inside:
        yield from _required_faults(place, value, (*path, step))


@cache
def _strict_members(cls: type[Model]) -> list[msgspec.structs.FieldInfo]:
    """The members of a model class whose faults are the whole object's."""
    fields = msgspec.structs.fields(cls)
    return [one for one in fields if not {DefaultOnError, SkipInvalidItems} & set(_marks(one.type))]


def _marks(form: Any) -> tuple[Any, ...]:
    return form.__metadata__ if get_origin(form) is Annotated else ()


def _is_no_url(place: Difference, key: Any, value: Any) -> bool:
    if key not in formatted(place.pair.request.profile, "uri"):
        return False
    return isinstance(value, str) and not _SCHEME.match(value)


def _trimmed(place: Difference) -> bool:
    """A URL with spaces around it: they take them away."""
    if not isinstance(place.ours, str) or not isinstance(place.holder, Model) or place.ours != place.given:
        return False
    is_uri = place.path[-1] in formatted(place.pair.request.profile, "uri")
    return is_uri and place.theirs == place.ours.strip() != place.ours


def _date_time(place: Difference) -> bool:
    """Text that is no RFC 3339 timestamp where the schema has `format: date-time`: dropped."""
    if place.theirs is not ABSENT or not isinstance(place.ours, str) or not isinstance(place.holder, Model):
        return False
    return place.path[-1] in formatted(place.pair.request.profile, "date-time") and not _DATE_TIME.fullmatch(place.ours)


def _both_scopes(place: Difference) -> bool:
    """An elicitation with two scopes: we keep both, they keep the session's."""
    if not place.pair.request.profile.startswith("v1/") or not isinstance(place.holder, Model):
        return False
    theirs = at(place.pair.theirs.value, place.path[:-1])
    return (
        place.path[-1] == "requestId"
        and place.theirs is ABSENT
        and isinstance(theirs, dict)
        and "sessionId" in theirs
        and same(place.ours, place.given)
    )


KINDS: tuple[Kind, ...] = (
    Kind(
        "own tag",
        "Rule 10: what is written is the variant that the class is, its tag included, also where the payload stands "
        "alone and does not mention the tag. Unknown properties are ignored, so whoever reads it is not disturbed.",
        _own_tag,
        Request("v2/stable", "TextContent", {"text": "a"}),
    ),
    Kind(
        "own member",
        "A class that is a definition and a variant has the members of both, and a value keeps what it has of them.",
        _own_member,
        Request("v2/stable", "DiffPathChange", {"path": "/a", "fileType": "file"}),
    ),
    Kind(
        "empty left out",
        "Rule 9: an optional list or map reads as empty when absent, and is not written while empty.",
        _empty,
        Request("v2/stable", "NewSessionRequest", {"cwd": "/w", "mcpServers": []}),
    ),
    Kind(
        "__proto__",
        "A property of any name is data. To JavaScript this one is the prototype of the object; zod drops it unread.",
        _prototype,
        Request("v2/stable", "ToolCallContent", {"type": "_x", "__proto__": 1}),
    ),
    Kind(
        "integral float",
        "A deliberate difference from JSON Schema: 1.0 is no integer. JavaScript cannot tell it from 1.",
        _integral_float,
        Request("v2/stable", "TerminalSize", {"cols": 80.0, "rows": 24}),
    ),
    Kind(
        "wide integer",
        "JSON has integers of any size. JavaScript rounds those beyond 2**53 before zod sees them.",
        _wide_integer,
        Request("v2/stable", "RequestId", 2**53 + 1),
    ),
    Kind(
        "raw payload kept",
        "Rule 2: an unknown variant is kept whole; what the schema declares of it is validated on the side.",
        _raw,
        Request("v2/stable", "SessionConfigOption", {"configId": "c", "name": "n", "type": "_x", "description": 5}),
    ),
    Kind(
        "known tag",
        "Rule 3: a known tag with a malformed body is an error, and never read as the branch without a tag.",
        _known_tag,
        Request("v1/stable", "AuthMethod", {"type": "terminal", "id": "a", "name": "n", "args": [1]}),
    ),
    Kind(
        "uri",
        "`format` is documentation, not a check (the lowering table); JSON Schema says so too.",
        _uri,
        Request("v2/stable", "Icon", {"src": "no scheme"}),
    ),
    Kind(
        "uri trimmed",
        "A string is what it is: decoding changes none.",
        _trimmed,
        Request("v2/stable", "Icon", {"src": " data:, "}),
    ),
    Kind(
        "date-time",
        "`format` is documentation, not a check (the lowering table); JSON Schema says so too.",
        _date_time,
        Request("v2/stable", "SessionInfo", {"sessionId": "s", "cwd": "/w", "updatedAt": "yesterday"}),
    ),
    Kind(
        "both scopes",
        "v1 has `anyOf` where v2 has `oneOf`: a value may have both scopes, and then both are its own.",
        _both_scopes,
        Request(
            "v1/unstable",
            "ElicitationFormMode",
            {"sessionId": "s", "requestId": 1, "requestedSchema": {"type": "object", "properties": {}}},
        ),
    ),
)

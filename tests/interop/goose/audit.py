"""What an agent's frames hold that the bindings do not know: read once more, strictly, from what an observer kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
from acp_bindings.runtime.models import UnknownVariant

Frame = tuple[str, bytes]


class Finding(NamedTuple):
    """One thing in a frame of the agent that its type does not account for."""

    method: str
    pointer: str
    reason: str


def findings(frames: Iterable[Frame], profile: ModuleType) -> Iterator[Finding]:
    """What in the frames that came in was dropped by tolerance, is an unknown variant, or has no place in its type.

    Extension methods carry what they like. Raises DecodeError for what does not decode, KeyError for a method that the
    profile does not have.
    """
    asked: dict[Any, str] = {}
    for direction, frame in frames:
        message = msgspec.json.decode(frame)
        method = message.get("method")
        if direction == "out":
            if "id" in message and method is not None:
                asked[message["id"]] = method
        elif method is not None:
            side = "protocol" if method.startswith("$/") else "client"
            kind = "request" if "id" in message else "notification"
            if not method.startswith("_"):
                yield from _read(method, message["params"], profile.METHODS[side, kind, method].params, profile)
        elif "error" in message:
            yield from _read("error", message["error"], profile.Error, profile)
        elif (method := asked.pop(message["id"], "_")) and not method.startswith("_"):
            yield from _read(method, message["result"], profile.METHODS["agent", "request", method].result, profile)


def _read(method: str, value: Any, form: Any, profile: ModuleType) -> Iterator[Finding]:
    tolerated: list[tuple[str, str]] = []
    model = profile.convert(value, form, on_tolerated=lambda pointer, reason: tolerated.append((pointer, reason)))
    lost = _lost(value, profile.to_builtins(model), "")
    for pointer, reason in (*tolerated, *_unknown(model, ""), *profile.check(model, form), *lost):
        yield Finding(method, pointer, reason)


def _unknown(model: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """The variants that nobody has defined, in a model."""
    if isinstance(model, UnknownVariant):
        yield pointer, f"unknown variant {model.tag!r}"
    elif isinstance(model, msgspec.Struct):
        for field in msgspec.structs.fields(model):
            yield from _unknown(getattr(model, field.name), f"{pointer}/{field.encode_name}")
    elif isinstance(model, list):
        for index, item in enumerate(model):
            yield from _unknown(item, f"{pointer}/{index}")


def _lost(came: Any, kept: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """What a model does not write back, but for lists and maps that are empty."""
    if isinstance(came, dict) and isinstance(kept, dict):
        for name, value in came.items():
            if name in kept:
                yield from _lost(value, kept[name], f"{pointer}/{name}")
            elif value not in ([], {}):
                yield f"{pointer}/{name}", "has no place in its type"
    elif isinstance(came, list) and isinstance(kept, list) and len(came) == len(kept):
        for index, (one, other) in enumerate(zip(came, kept, strict=True)):
            yield from _lost(one, other, f"{pointer}/{index}")
    elif came != kept:
        yield pointer, "reads as another value"

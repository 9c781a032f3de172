"""Types that are not generated: what users declare for the params and results of their extension methods."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .codec import decode
from .compiled import node_of
from .errors import DecodeError
from .jsonrpc import RawJson
from .walk import Node, Path, pointer

_AT = re.compile(r" - at `\$([^`]*)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def node_or_none(form: Any) -> Node | None:
    """The node of a generated type; None for one that only msgspec knows."""
    try:
        return node_of(form)
    except TypeError:
        return None


def decode_any(data: RawJson, form: Any) -> Any:
    """`decode`, for whatever msgspec can decode to as well: structs, dataclasses, typed dicts. Raises DecodeError."""
    try:
        return decode(data, form)
    except TypeError:
        # A type that is none of ours, and a value that does not fit.
        pass
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        text = str(error)
        place = _AT.search(text)
        path: Path = None
        for name, index in _STEP.findall(place[1] if place else ""):
            path = (path, name or index)
        raise DecodeError(pointer(path), text[: place.start()] if place else text) from None

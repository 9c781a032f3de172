"""Decoding and encoding: the C codec first, `walk` for what needs care.

`decode` tries msgspec's decoder for the type. What it refuses is parsed once more and walked: unknown variants, tolerated
values and nested unions are decoded there, and what is truly wrong is named by its JSON Pointer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import msgspec

from .compiled import decode_walked, node_of
from .errors import DecodeError, EncodeError
from .models import IntConstants
from .walk import Invalid, Path, pointer

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
OnTolerated = Callable[[str, str], object]

_encoder = msgspec.json.Encoder()
_parse = msgspec.json.Decoder().decode
# By identity, as in `compiled`: the form itself is kept beside its decoder.
_decoders: dict[int, tuple[Any, Callable[[Any], Any]]] = {}
# How a number that is not finite comes out of the encoder.
_NULL_VALUE = re.compile(rb"[:\[,]null[,}\]]|\Anull\Z")


def decode(data: bytes | str, type: TypeForm[T], *, on_tolerated: OnTolerated | None = None) -> T:
    """Decode one JSON text to a class or union alias.

    Unknown properties are ignored, unknown variants of open unions come out as their `UnknownX`. `on_tolerated(pointer,
    reason)` is called for each value that a tolerance rule dropped. Raises DecodeError, and nothing else, for any input.

        update = v2.decode(line, v2.UpdateSessionNotification)
    """
    entry = _decoders.get(id(type)) or _add_decoder(type)
    try:
        found: T = entry[1](data)
        return found
    except msgspec.ValidationError:
        pass
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        _fail_malformed(data, error)
    try:
        value = _parse(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        _fail_malformed(data, error)
    walked: T = _walk(value, type, on_tolerated, refused=True)
    return walked


def convert(obj: Any, type: TypeForm[T], *, on_tolerated: OnTolerated | None = None) -> T:
    """Like `decode`, for a JSON value that is parsed already."""
    walked: T = _walk(obj, type, on_tolerated, refused=False)
    return walked


def encode(model: Any) -> bytes:
    """Write a model, or any JSON value, as compact JSON text. Raises EncodeError, and nothing else.

    Members that are UNSET are left out. Values of `_meta` and other free-form places must be JSON values; dates, UUIDs and
    the like are written as strings.
    """
    try:
        data = _encoder.encode(model)
    except Exception as error:
        _fail_encoding(model, error)
    if b"null" in data and _NULL_VALUE.search(data):
        place = _find(to_builtins(model), _is_not_finite)
        if place is not None:
            raise EncodeError(pointer(place[0]), "a number that is not finite has no JSON form")
    return data


def to_builtins(model: Any) -> Any:
    """A model as plain dicts, lists and scalars, as it is encoded. Raises EncodeError."""
    try:
        return msgspec.to_builtins(model)
    except Exception as error:
        _fail_encoding(model, error)


def _add_decoder(form: Any) -> tuple[Any, Callable[[Any], Any]]:
    native = form._type if isinstance(form, type) and issubclass(form, IntConstants) else form
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(native, dec_hook=decode_walked)
    entry = _decoders[id(form)] = (form, decoder.decode)
    return entry


def _walk(value: Any, form: Any, on_tolerated: OnTolerated | None, refused: bool) -> Any:
    reports: list[tuple[Path, str]] = []
    node = node_of(form)
    try:
        found = node.careful(value, None, reports) if refused else node.walk(value, None, reports)
    except Invalid as error:
        raise DecodeError(pointer(error.path), error.reason) from None
    except RecursionError:
        raise DecodeError("", "nested too deeply") from None
    if on_tolerated is not None:
        for path, reason in reports:
            on_tolerated(pointer(path), reason)
    return found


def _fail_malformed(data: Any, error: Exception) -> NoReturn:
    if isinstance(error, RecursionError):
        reason = "nested too deeply"
    elif not isinstance(data, bytes | str | bytearray | memoryview):
        reason = f"expected JSON text as bytes or str, got {type(data).__name__}"
    else:
        reason = f"not a JSON text: {error}"
    raise DecodeError("", reason) from None


def _fail_encoding(model: Any, error: Exception) -> NoReturn:
    place = None
    if isinstance(error, RecursionError):
        reason = "nested too deeply, or containing itself"
    else:
        reason = str(error)
        place = _find(model, _is_unwritable)
    raise EncodeError(pointer(place[0]) if place else "", reason) from None


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def _is_unwritable(value: Any) -> bool:
    if isinstance(value, dict | list | msgspec.Struct):
        return False
    try:
        _encoder.encode(value)
    except Exception:
        return True
    return False


def _find(value: Any, wrong: Callable[[Any], bool]) -> tuple[Path] | None:
    """The way to the first value that is wrong, in a box, since the way to the root is None."""
    open_values: list[tuple[Any, Path, int]] = [(value, None, 0)]
    while open_values:
        value, path, depth = open_values.pop()
        if wrong(value):
            return (path,)
        if depth > 2000:
            continue
        if isinstance(value, msgspec.Struct):
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            members = ((getattr(value, name), wire) for name, wire in names)
            children: list[tuple[Any, str | int]] = [one for one in members if one[0] is not msgspec.UNSET]
        elif isinstance(value, dict):
            children = [(item, str(key)) for key, item in value.items()]
        elif isinstance(value, list | tuple):
            children = [(item, index) for index, item in enumerate(value)]
        else:
            continue
        open_values.extend((item, (path, step), depth + 1) for item, step in reversed(children))
    return None

"""Decoding and encoding: the C codec first, `walk` for what needs care.

`decode` tries msgspec's decoder for the type. What it refuses is parsed once more and walked: unknown variants,
tolerated values and nested unions are decoded there, and what is truly wrong is named by its JSON Pointer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

import msgspec

from .compiled import decode_walked, kept, node_of
from .errors import DecodeError, EncodeError
from .models import IntConstants
from .walk import Invalid, Log, Path, pointer

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
OnTolerated = Callable[[str, str], object]

_encoder = msgspec.json.Encoder()
_packer = msgspec.msgpack.Encoder()
_parse = msgspec.json.Decoder().decode
# By identity, as in `compiled`, which keeps the forms alive.
_decoders: dict[int, Callable[[Any], Any]] = {}
_ARRAYS = (list, tuple, set, frozenset)
# How a number that is not finite comes out of the encoder.
_NULL_VALUE = re.compile(rb"[:\[,]null[,}\]]|\Anull\Z")
# How it comes out of the other one, where it is no null. Other things may look the same.
_NOT_FINITE = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")


# The constants of an open integer enum are no values of a type of their own: what decodes is an int.
@overload
def decode(data: bytes | str, type: type[IntConstants], *, on_tolerated: OnTolerated | None = None) -> int: ...
@overload
def decode(data: bytes | str, type: TypeForm[T], *, on_tolerated: OnTolerated | None = None) -> T: ...
def decode(data: bytes | str, type: Any, *, on_tolerated: OnTolerated | None = None) -> Any:
    """Decode one JSON text to a class or union alias.

    Unknown properties are ignored, unknown variants of open unions come out as their `UnknownX`.
    `on_tolerated(pointer, reason)` is called for each value that a tolerance rule dropped. Raises DecodeError, and
    nothing else, for any input.

        update = v2.decode(line, v2.UpdateSessionNotification)
    """
    decoder = _decoders.get(id(type))
    if decoder is None:
        decoder = _add_decoder(type)
    try:
        return decoder(data)
    except msgspec.ValidationError:
        pass
    except RecursionError:
        # The walk needs fewer steps for a level than C and its hooks.
        pass
    except (msgspec.MsgspecError, ValueError, TypeError, BufferError) as error:
        _fail_malformed(data, error)
    try:
        value = _parse(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        _fail_malformed(data, error)
    return _walk(value, type, on_tolerated, refused=True)


@overload
def convert(obj: Any, type: type[IntConstants], *, on_tolerated: OnTolerated | None = None) -> int: ...
@overload
def convert(obj: Any, type: TypeForm[T], *, on_tolerated: OnTolerated | None = None) -> T: ...
def convert(obj: Any, type: Any, *, on_tolerated: OnTolerated | None = None) -> Any:
    """Like `decode`, for a JSON value that is parsed already."""
    return _walk(obj, type, on_tolerated, refused=False)


def encode(model: Any) -> bytes:
    """Write a model, or any JSON value, as compact JSON text. Raises EncodeError, and nothing else.

    Members that are UNSET are left out. Values of `_meta` and other free-form places must be JSON values; dates, UUIDs
    and the like are written as strings.
    """
    try:
        data = _encoder.encode(model)
    except Exception as error:
        _fail_encoding(model, error)
    # msgspec writes null for them. Searching backwards is what finds a short text soonest.
    if data.rfind(b"null") >= 0 and _NULL_VALUE.search(data) and _may_be_infinite(model):
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


def _add_decoder(form: Any) -> Callable[[Any], Any]:
    form = kept(form)
    known = _decoders.get(id(form))
    if known is not None:
        return known
    native = form._type if isinstance(form, type) and issubclass(form, IntConstants) else form
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(native, dec_hook=decode_walked)
    decode_native: Callable[[Any], Any] = decoder.decode
    _decoders[id(form)] = decode_native
    return decode_native


def _walk(value: Any, form: Any, on_tolerated: OnTolerated | None, refused: bool) -> Any:
    node = node_of(form)
    reports = Log() if node.logs else []
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


def _may_be_infinite(model: Any) -> bool:
    """Whether a number in a model may be infinite or none, which JSON text shows as null."""
    try:
        return _NOT_FINITE.search(_packer.encode(model)) is not None
    except Exception:
        # Integers of more than 64 bits, for one. A slower look at all values will tell.
        return True


def _fail_encoding(model: Any, error: Exception) -> NoReturn:
    if isinstance(error, RecursionError):
        place = _find_cycle(model)
        reason = "contains itself" if place else "nested too deeply"
    else:
        place = _find(model, _is_unwritable)
        reason = str(error)
    raise EncodeError(pointer(place[0]) if place else "", reason) from None


def _is_not_finite(value: Any) -> bool:
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def _is_unwritable(value: Any) -> bool:
    """Whether a value itself cannot be written; of objects, whether their keys cannot. What is inside comes later."""
    if isinstance(value, dict):
        value = dict.fromkeys(value)
    elif isinstance(value, (*_ARRAYS, msgspec.Struct)):
        return False
    try:
        _encoder.encode(value)
    except Exception:
        return True
    return False


def _children(value: Any) -> list[tuple[Any, str | int]]:
    """What a value holds, each with its step of the pointer."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        members = ((getattr(value, name), wire) for name, wire in names)
        return [one for one in members if one[0] is not msgspec.UNSET]
    if isinstance(value, dict):
        return [(item, str(key)) for key, item in value.items()]
    if isinstance(value, _ARRAYS):
        return [(item, index) for index, item in enumerate(value)]
    return []


def _find(value: Any, wrong: Callable[[Any], bool]) -> tuple[Path] | None:
    """The way to the first value that is wrong, in a box, since the way to the root is None."""
    open_values: list[tuple[Any, Path]] = [(value, None)]
    seen: set[int] = set()
    while open_values:
        value, path = open_values.pop()
        if wrong(value):
            return (path,)
        children = _children(value)
        if children and id(value) not in seen:
            seen.add(id(value))
            open_values.extend((item, (path, step)) for item, step in reversed(children))
    return None


def _find_cycle(value: Any) -> tuple[Path] | None:
    """The way to the first value that is met again inside itself, in a box."""
    open_values: list[tuple[Any, Path, bool]] = [(value, None, True)]
    around: set[int] = set()
    seen: set[int] = set()
    while open_values:
        value, path, enters = open_values.pop()
        if not enters:
            around.discard(id(value))
        elif id(value) in around:
            return (path,)
        elif id(value) not in seen and (children := _children(value)):
            around.add(id(value))
            seen.add(id(value))
            open_values.append((value, path, False))
            open_values.extend((item, (path, step), True) for item, step in reversed(children))
    return None

"""A schema as a value: parsed strictly, checked against its metaschema, stripped of prose, written in one way only.

Schema text is hostile input: what a message repeats of it is quoted and cut short, and nesting is bounded, so that
whatever walks a parsed schema may recurse.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from urllib.parse import unquote, urljoin

from codegen.errors import CodegenError, Diagnostic, fail

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MAX_DEPTH: Final = 64
"""Levels of nested JSON arrays and objects in a schema; published ones have 11."""
MAX_SHOWN: Final = 20
"""Problems shown of one schema; the others are counted."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
"""The one dialect that is read, as `$schema` names it."""

Path: TypeAlias = tuple[str | int, ...]
"""Steps from the root of a schema to a value in it."""

_PROSE: Final = frozenset({"description", "$comment", "examples"})
# Where schemas stand in a schema. Everything else (const, default, x-..., unknown keywords) holds plain values.
_CONDITIONS: Final = frozenset({"if", "then", "else", "not"})
_CONTENTS: Final = frozenset({"items", "additionalProperties", "contains", "propertyNames", "contentSchema"})
_ONE: Final = _CONDITIONS | _CONTENTS | {"unevaluatedItems", "unevaluatedProperties"}
_LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAP: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def pointer(path: Path) -> str:
    """The RFC 6901 pointer of `path`. Characters that would upset a terminal are backslash-escaped."""
    text = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def parse(data: bytes, place: str) -> dict[str, Any]:
    """Read a JSON object from UTF-8 bytes (a byte order mark may stand in front).

    Anything else is a CodegenError at `place`: duplicate keys, numbers that are not finite and nesting beyond MAX_DEPTH
    too, since readers of such files disagree on what they mean.
    """
    try:
        value = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise fail(place, f"byte 0x{data[error.start]:02x} at offset {error.start}", "UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise fail(place, f"{error.msg} (line {error.lineno}, column {error.colno})", "valid JSON") from None
    except ValueError as error:
        raise fail(place, str(error), "JSON with every key once per object and finite numbers") from None
    except RecursionError:
        raise _too_deep(place) from None
    if not isinstance(value, dict):
        raise fail(place, f"JSON that is no object: {reprlib.repr(value)}", "a schema object")
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        nodes = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for node in nodes for child in node if isinstance(child, dict | list)]
    if level:
        raise _too_deep(place)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {reprlib.repr(key)} twice in one object")
        result[key] = value
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"the number {name}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text:.40}, beyond a double")
    return value


def _too_deep(place: str) -> CodegenError:
    return fail(place, "JSON nested too deep", f"at most {MAX_DEPTH} levels")


def strip(schema: Any) -> Any:
    """A copy of `schema` without its annotations in prose: `description`, `$comment` and `examples`.

    Only keywords go. A property or a definition that has such a name stays, and so do the insides of plain values; the
    keys of default objects, whose order says nothing, are sorted.
    """
    if not isinstance(schema, dict):
        return schema
    return {keyword: _strip_below(keyword, value) for keyword, value in schema.items() if keyword not in _PROSE}


def _strip_below(keyword: str, value: Any) -> Any:
    if keyword in _ONE:
        return strip(value)
    if keyword in _LIST and isinstance(value, list):
        return [strip(item) for item in value]
    if keyword in _MAP and isinstance(value, dict):
        return {name: strip(item) for name, item in value.items()}
    if keyword == "default":
        return _sorted(value)
    return value


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value


def canonical(schema: dict[str, Any]) -> bytes:
    """`schema` as UTF-8 JSON: two spaces of indent, keys in their own order, a newline at the end.

    Text stays readable; only a lone surrogate, which UTF-8 cannot carry, is written as its \\uXXXX escape.
    """
    text = json.dumps(schema, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", errors="backslashreplace")


def check_metaschema(schema: dict[str, Any], place: str) -> None:
    """Raise one CodegenError with all problems of `schema`: it is no valid 2020-12 schema, or a `$ref` leads nowhere.

    Each Diagnostic's place is `place`, `#` and the JSON Pointer; MAX_SHOWN are given, then the number of the others.
    """
    # The metaschema's parts overlap, so one mistake may turn up several times.
    found_once = dict.fromkeys((*_dialect(schema), *_invalid(schema), *_astray(schema)))
    problems = [Diagnostic(f"{place}#{pointer(path)}", found, expected) for path, found, expected in found_once]
    if len(problems) > MAX_SHOWN:
        more = len(problems) - MAX_SHOWN
        problems[MAX_SHOWN:] = [Diagnostic(place, f"{more} more such problems", "none")]
    if problems:
        raise CodegenError(problems)


_Problem: TypeAlias = tuple[Path, str, str]  # where, found, expected


def _is_regex(value: object) -> bool:
    # Python's own dialect: the generated models hand patterns to it.
    return not isinstance(value, str) or bool(re.compile(value))


def _metaschema() -> Validator:
    """A validator by the 2020-12 metaschema, its vocabularies taken together in one document.

    Published, these are eight documents that refer to each other by `$dynamicRef`, so that others may extend them. Here
    nobody does, and following such references at every step takes six times as long.
    """
    # Imported here: generating from a locked schema does without it, and it takes its time.
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema_specifications import REGISTRY

    root = Draft202012Validator.META_SCHEMA
    vocabularies = (REGISTRY.contents(urljoin(DIALECT, one["$ref"])) for one in root["allOf"])
    whole: dict[str, Any] = {"type": root["type"], "properties": {}, "$defs": {}}
    for part in (root, *vocabularies):
        for keyword in ("properties", "$defs"):
            whole[keyword].update(_localised(part.get(keyword, {})))
    formats = FormatChecker(formats=())
    formats.checks("regex", raises=(re.error, OverflowError, RecursionError))(_is_regex)
    return Draft202012Validator(whole, format_checker=formats)


def _localised(node: Any) -> Any:
    """A piece of a vocabulary, whose references lead to the place of the same name in the one document."""
    if isinstance(node, list):
        return [_localised(item) for item in node]
    if not isinstance(node, dict):
        return node
    # A keyword of these names holds text; a property of theirs, a schema.
    if isinstance(node.get("$dynamicRef"), str):
        return {"$ref": "#"}
    found = {key: _localised(value) for key, value in node.items()}
    if isinstance(node.get("$ref"), str):
        found["$ref"] = "#" + node["$ref"].partition("#")[2]
    return found


def _dialect(schema: dict[str, Any]) -> Iterator[_Problem]:
    dialect = schema.get("$schema", DIALECT)
    if isinstance(dialect, str) and dialect.removesuffix("#") != DIALECT:
        yield ("$schema",), reprlib.repr(dialect), DIALECT


def _invalid(schema: dict[str, Any]) -> Iterator[_Problem]:
    for error in _metaschema().iter_errors(schema):
        expected = f"{error.validator} {reprlib.repr(error.validator_value)}, by the 2020-12 metaschema"
        yield tuple(error.absolute_path), reprlib.repr(error.instance), expected


def _astray(schema: dict[str, Any]) -> Iterator[_Problem]:
    for path, node in _schemas(schema, ()):
        ref = node.get("$ref")
        if not isinstance(ref, str):
            continue
        if not ref.startswith("#"):
            yield (*path, "$ref"), f"a reference out of the file: {reprlib.repr(ref)}", "#/$defs/NAME"
        elif not _resolves(schema, ref):
            yield (*path, "$ref"), f"a reference to nothing: {reprlib.repr(ref)}", "a schema that exists: #/$defs/NAME"


def _schemas(schema: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every schema object in `schema`, itself first, with the way to it."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword, value in schema.items():
        if keyword in _ONE:
            yield from _schemas(value, (*path, keyword))
        elif keyword in _LIST and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _schemas(item, (*path, keyword, index))
        elif keyword in _MAP and isinstance(value, dict):
            for name, item in value.items():
                yield from _schemas(item, (*path, keyword, name))


def _resolves(root: dict[str, Any], ref: str) -> bool:
    node: Any = root
    for step in (part.replace("~1", "/").replace("~0", "~") for part in unquote(ref).split("/")[1:]):
        if isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        elif isinstance(node, dict) and step in node:
            node = node[step]
        else:
            return False
    return isinstance(node, dict | bool) and (ref == "#" or ref.startswith("#/"))

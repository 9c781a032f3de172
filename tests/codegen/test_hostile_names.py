"""Properties and definitions may be called anything that Python or the generated code uses itself."""

from __future__ import annotations

import builtins
import json
import keyword
from pathlib import Path
from typing import Any, get_args

import pytest

from codegen import contexts, ir
from codegen.names import RESERVED_CLASSES, class_name, constant_name
from tests.support.tiny import (
    CODE,
    INTEGER,
    PWNED,
    STRING,
    Tinies,
    alone,
    array,
    const,
    fallback,
    nullable,
    obj,
    package_of,
    ref,
    rejected,
    variant,
)

ROWS = Tinies()

# What Python, msgspec and the generated modules use; what differs by case or underscore only; what is no identifier.
BUILTINS = (
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "tuple",
    "set",
    "frozenset",
    "type",
    "object",
    "property",
    "id",
)
PROPERTIES = tuple(dict.fromkeys((
    *keyword.kwlist, *BUILTINS,
    "self", "cls", "mro", "copy", "default", "schema", "field", "format", "name", "tag", "raw", "is_extension", "keys",
    "items", "get", "update", "pop", "__init__", "__class__", "__dict__", "__slots__", "__post_init__", "_field",
    "_meta", "meta", "_groups", "_tag", "_definition", "fooBar", "foo_bar", "FooBar", "foo-bar", "foo__bar", "foobar",
    "builtins", "constant", "schema_default", "schemaDefault", "UNSET", "Meta", "Any", "Annotated", "Literal", "Model",
    "TYPE_CHECKING", "x1", "x_1", "x1y", "1x", "1", "a1B2", "HTTPServer", "URL", "日本", "日", "é", "e\u0301", "ﬁ", "µ",
    "", " ", "  ", "a b", "a.b", "a/b~c", "$ref", "#", "'", "`", "{x}", "{{ x }}", "{% x %}", "%s", "\u2028", "\u202e",
    "\x7f", "\x85", "\xa0", "😀", CODE, "lower", "x" * 200,
)))  # fmt: skip
UNUSABLE = ('"', "\\", "\n", "\x00", "\x1f", "\ud800", "a\udc00", f'x"\n{CODE}\n"')
COUNTS = {"type": "object", "additionalProperties": INTEGER}
AMOUNT = {"type": "number", "minimum": 0, "default": 1}

OBJECTS = ROWS.add(
    {
        "Strings": obj(dict.fromkeys(PROPERTIES, STRING)),
        "Needed": obj(dict.fromkeys(PROPERTIES, STRING), *PROPERTIES),
        "Lists": obj(dict.fromkeys(PROPERTIES, array(STRING))),
        "Maps": obj(dict.fromkeys(PROPERTIES, COUNTS)),
        "Numbers": obj(dict.fromkeys(PROPERTIES, AMOUNT)),
        "Refs": obj(dict.fromkeys(PROPERTIES, nullable(ref("lower")))),
        "lower": obj({"lower": STRING, "list": array(ref("lower"))}),
        "Record_": obj(dict.fromkeys(PROPERTIES, STRING), additionalProperties=True),
        "Choice": {
            "properties": dict.fromkeys(PROPERTIES, STRING),
            "anyOf": [variant("t", "a"), variant("t", "b", "Small"), fallback("t", "a", "b")],
        },
        "Small": obj({"lower": STRING}),
        "Outer": {"oneOf": [variant("self", "a", "Inner"), variant("self", "b", "Inner")]},
        "Inner": {"oneOf": [variant("constant", "c"), variant("constant", "d", "Strings_")]},
        "Strings_": obj({name: STRING for name in PROPERTIES if name not in ("self", "constant")}),
    }
)


@pytest.mark.parametrize(
    "name", ["Strings", "Needed", "Lists", "Maps", "Numbers", "Refs", "Record_", "Choice", "Outer"]
)
def test_properties_called_anything(name: str) -> None:
    kinds: dict[str, object] = {"Lists": ["x"], "Maps": {"x": 1}, "Numbers": 2.5, "Refs": {"lower": "x"}}
    wire: dict[str, Any] = {wire: kinds.get(name, f"v{n}") for n, wire in enumerate(PROPERTIES)}
    if name == "Outer":
        wire |= {"self": "b", "constant": "d"}
    for tag in ({"t": "a"}, {"t": "b"}, {"t": "_c"}) if name == "Choice" else ({},):
        value = OBJECTS.decode(name, {**wire, **tag})
        assert json.loads(OBJECTS.module.encode(value)) == {**wire, **tag}
    for one in PROPERTIES:
        if name not in ("Outer", "Choice"):
            pointer = "/" + one.replace("~", "~0").replace("/", "~1")
            assert OBJECTS.pointer(name, {**wire, one: True}) == pointer
    if name == "Needed":
        for one in PROPERTIES:
            left = {key: item for key, item in wire.items() if key != one}
            assert OBJECTS.pointer(name, left) == "/" + one.replace("~", "~0").replace("/", "~1")


def test_members_have_the_plain_name_where_there_is_one() -> None:
    strings = OBJECTS.module.Strings(foo_bar="x", meta="m", self="s", list="l", class_="c", from_="f", x1="1")
    assert json.loads(OBJECTS.module.encode(strings)) == {
        "foo_bar": "x", "meta": "m", "self": "s", "list": "l", "class": "c", "from": "f", "x1": "1"
    }  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_properties_that_msgspec_cannot_name(tmp_path: Path, name: str) -> None:
    places = [
        ({"A": obj({name: STRING})}, "/$defs/A"),
        ({"A": obj({"x": STRING}, name)}, "/$defs/A"),
        ({"A": {"oneOf": [variant(name, "a"), variant(name, "b")]}}, "/$defs/A/oneOf/0"),
        ({"A": obj({"x": STRING}, oneOf=[obj({name: STRING}, name)])}, "/$defs/A/oneOf/0"),
    ]
    for defs, pointer in places:
        problems = rejected(tmp_path, defs)
        assert (pointer, f"the property name {name!r}") in [(place, found) for place, found, _ in problems]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"const": "\ud800"}, "/const"),
        ({"enum": ["a", "\udfff"]}, "/enum/1"),
        ({**STRING, "default": "\ud800"}, "/default"),
        ({"default": {"a": ["\ud800"]}}, "/default/a/0"),
        ({"default": {"\ud800": 1}}, "/default"),
    ],
)
def test_lone_surrogates_where_no_message_can_have_them(tmp_path: Path, schema: Any, pointer: str) -> None:
    problems = rejected(tmp_path, {"A": obj({"p": schema})})
    assert [place for place, _, _ in problems] == [f"/$defs/A/properties/p{pointer}"]


# Definitions

DEFINITIONS = tuple(
    dict.fromkeys(
        [
            "Any", "List", "Dict", "Error", "None", "type", "Model", "list", "Literal", "Optional", "Exception",
            "Mapping", "Enum", "Struct", "Field", "T", "TypeVar", "Protocol", "Self", "NoReturn", "msgspec", "typing",
            "annotations", "Runtime", "Path", "Never", "AttributeError", "importlib", "object", "super", "property",
            *(name for names in contexts.IMPORTS.values() for name in names), *contexts.API, *sorted(RESERVED_CLASSES),
            *keyword.kwlist,
        ]
    )
)  # fmt: skip
UNSEEN = set(dir(builtins)) - {*BUILTINS, "None", "True", "False", "super", "print", "AttributeError", "Exception"}
DEFINITIONS = tuple(name for name in DEFINITIONS if not name.startswith("_") and name not in UNSEEN)


def kinds_of_definition() -> dict[str, dict[str, Any]]:
    """Schemas in which all those names are structs, aliases, enums or unions, and refer to each other."""
    after = dict(zip(DEFINITIONS, (DEFINITIONS[n // 10 * 10] for n in range(len(DEFINITIONS))), strict=True))
    known = {constant_name(name): name for name in DEFINITIONS}
    # These make the module use all that it may import.
    users: dict[str, Any] = {
        "UserUnion": {"anyOf": [variant("t", "a"), variant("t", "b"), fallback("t", "a", "b")]},
        "UserUntagged": {"anyOf": [obj({"a": STRING}, "a"), obj({"b": STRING}, "b"), STRING]},
        "UserCodes": {"anyOf": [const(1, "one"), INTEGER]},
        "UserKind": {"anyOf": [const("a"), STRING]},
        "UserRecord": obj({"a": STRING}, additionalProperties=True),
        "UserGroups": obj({"a": {**array(STRING, minItems=1), "x-deserialize-skip-invalid-items": True}}, anyOf=[
            obj({"b": {**STRING, "x-deserialize-default-on-error": True}}, "b")
        ]),
        "UserDefault": obj({"a": {**INTEGER, "default": 1, "x-deserialize-default-on-null": True}, "_meta": {
            "type": ["object", "null"], "additionalProperties": True, "x-deserialize-default-on-error": True
        }}),
        "UserOuter": {"oneOf": [variant("u", "x", "UserUnion"), variant("u", "y")]},
    }  # fmt: skip
    return {
        "structs": {**users, **{name: obj({"v": STRING, "next": ref(after[name])}, "v") for name in DEFINITIONS}},
        "aliases": {**users, **dict.fromkeys(DEFINITIONS, STRING), "Use": obj({n: ref(n) for n in DEFINITIONS})},
        # Of `List` and `list` one can be an open enum: the other's KNOWN_LIST is taken.
        "enums": {**users, **{name: {"anyOf": [const("a"), STRING]} for name in known.values()}},
        "unions": {
            **users,
            **{
                name: {"anyOf": [obj({"t": const("a"), "in": ref(after[name])}, "t"), variant("t", "b"), fallback("t")]}
                for name in DEFINITIONS
            },
        },
    }


KINDS = {kind: ROWS.add(defs) for kind, defs in kinds_of_definition().items()}
VALUES: dict[str, Any] = {
    "structs": {"v": "x", "next": {"v": "y"}},
    "aliases": "x",
    "enums": "unheard of",
    "unions": {"t": "a", "in": {"t": "b"}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_definitions_called_anything(kind: str) -> None:
    row = KINDS[kind]
    for name in set(DEFINITIONS) & set(row.defs):
        public = class_name(name)
        assert public is not None and public in row.module.__all__
        assert row.encoded(public, VALUES[kind]) == VALUES[kind]
    for name, value in (
        ("UserUnion", {"t": "_x"}),
        ("UserUntagged", {"b": "x"}),
        ("UserCodes", 5),
        ("UserKind", "z"),
        ("UserRecord", {"a": "x", "y": 1}),
        ("UserGroups", {"a": ["x"], "b": "y"}),
        ("UserDefault", {"a": 1, "_meta": {}}),
        ("UserOuter", {"u": "x", "t": "b"}),
    ):
        assert row.encoded(name, value) == value
    with pytest.raises(AttributeError):
        row.module.nothing_of_that_name  # noqa: B018


def test_names_that_the_generated_code_uses_are_reserved() -> None:
    """So that a schema cannot take them; whoever adds one to the templates adds it there."""
    used = {name for names in contexts.IMPORTS.values() for name in names} | set(contexts.API)
    used |= {need.__name__ for need in get_args(ir.Need)}
    assert used <= RESERVED_CLASSES


def test_they_import_alone_and_run_nothing() -> None:
    for row in (OBJECTS, *KINDS.values()):
        alone(row.module, [])
        assert not list(package_of(row.module).rglob(PWNED))


def test_mypy_strict_accepts_them() -> None:
    assert ROWS.strict() == []

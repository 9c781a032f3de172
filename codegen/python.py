"""IR to Python text: annotations, defaults, literals. With the templates, the only place that knows Python's syntax.

Every piece of schema text that reaches the output goes through `literal` or `docstring`, or was checked as an
identifier by `names`; nothing else of a schema does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from codegen import ir
from codegen.errors import fail
from codegen.names import ANNOTATION_BUILTINS, camel

META = ir.Nullable(ir.Map(ir.AnyType()))
_SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}
_INT64 = range(-(2**63), 2**63)
_WIDTH = 100
# Written as they are in docstrings; anything else is escaped. Not `str.isprintable`, which differs between Pythons.
_PLAIN = (range(0x20, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x250), range(0x2010, 0x2028), range(0x2190, 0x2200))
_PLAIN_WIDE = (range(0x370, 0x400), range(0x400, 0x530), range(0x3040, 0x3100), range(0x4E00, 0x9FFF))


def literal(value: Any) -> str:
    """A JSON value as a Python literal in ASCII."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return ascii(value)


def strings(values: Iterable[str]) -> str:
    """A tuple of strings."""
    listed = list(values)
    return "(" + ", ".join(map(literal, listed)) + ("," if len(listed) == 1 else "") + ")"


def docstring(text: str) -> str:
    """Text as a string literal for the place of a docstring: readable where that is safe, escaped where not."""
    # No class takes a docstring that UTF-8 cannot carry, so a lone surrogate is spelt out.
    text = text.strip().encode("utf-8", "backslashreplace").decode("utf-8")
    plain = all(char == "\n" or any(ord(char) in span for span in (*_PLAIN, *_PLAIN_WIDE)) for char in text)
    if not plain or "\\" in text or '"""' in text or text.endswith('"'):
        return ascii(text)
    lines = [part for line in text.split("\n") for part in _wrapped(line.rstrip())]
    return '"""' + "\n".join(lines) + ('\n"""' if len(lines) > 1 else '"""')


def _wrapped(line: str) -> list[str]:
    """A line cut at spaces, so that none is much longer than the page is wide."""
    parts: list[str] = []
    while len(line) > _WIDTH and " " in line[:_WIDTH].strip():
        cut = line.rindex(" ", 0, _WIDTH)
        parts.append(line[:cut])
        line = line[cut + 1 :]
    return [*parts, line]


class Printer:
    """Annotations and defaults of one profile's definitions."""

    def __init__(self, definitions: Mapping[str, ir.Definition]) -> None:
        self.definitions = definitions

    def annotation(self, kind: ir.Type, hidden: frozenset[str] = frozenset()) -> str:
        """A type as annotation text. `hidden` are builtins that a member of the class is named like."""
        match kind:
            case ir.AnyType():
                return "Any"
            case ir.Scalar():
                return self._scalar(kind, hidden)
            case ir.Const(values):
                return f"Literal[{', '.join(map(literal, values))}]"
            case ir.Ref(name):
                return self._reference(name, hidden)
            case ir.Array(items, least):
                text = f"{_builtin('list', hidden)}[{self.annotation(items, hidden)}]"
                return f"Annotated[{text}, Meta(min_length={least})]" if least else text
            case ir.Map(values=values):
                return f"{_builtin('dict', hidden)}[{_builtin('str', hidden)}, {self.annotation(values, hidden)}]"
            case ir.Nullable(inner):
                return f"{self.annotation(inner, hidden)} | None"
            case ir.Choice(options):
                return " | ".join(self.annotation(option, hidden) for option in options)

    def _reference(self, name: str, hidden: frozenset[str]) -> str:
        target = self.definitions.get(name)
        if isinstance(target, ir.Enum) and target.kind == "integer" and target.open:
            return self.annotation(ir.Scalar("integer", target.minimum, target.maximum), hidden)
        return name

    def _scalar(self, kind: ir.Scalar, hidden: frozenset[str]) -> str:
        if kind.kind == "number":
            whole = _bounded(_builtin("int", hidden), _int_bounds(kind))
            real = {key: float(value) for key, value in _number_bounds(kind).items()}
            return f"{whole} | {_bounded(_builtin('float', hidden), real)}"
        base = _SCALARS[kind.kind]
        base = base if base == "None" else _builtin(base, hidden)
        if kind.kind == "integer":
            return _bounded(base, _int_bounds(kind))
        bounds = {"min_length": kind.min_length, "pattern": kind.pattern}
        return _bounded(base, {key: value for key, value in bounds.items() if value})

    def field(self, field: ir.Field, hidden: frozenset[str], grouped: bool = False) -> str:
        """The annotation of a member: its type, UNSET where it may be absent, and the marks of its tolerance.

        `grouped` members tell by their absence which group of properties is there, lists and maps too.
        """
        optional = grouped or self.is_optional(field)
        plain = field.on_error and not (field.skip_items or field.on_null)
        if field.wire == "_meta" and field.type == META and plain and optional:
            return "MetaField"
        text = self.annotation(field.type, hidden)
        if optional:
            text = f"{text} | UnsetType"
        marks = [
            mark
            for mark, there in (
                ("DefaultOnError", field.on_error),
                ("SkipInvalidItems", field.skip_items),
                ("DefaultOnNull", field.on_null),
            )
            if there
        ]
        return f"Annotated[{', '.join([text, *marks])}]" if marks else text

    def is_optional(self, field: ir.Field) -> bool:
        """Whether absence is a state of its own, held as UNSET."""
        is_empty = isinstance(self.resolved(field.type), ir.Array | ir.Map)
        return not (field.required or field.constant or field.default or is_empty)

    def resolved(self, kind: ir.Type) -> ir.Type:
        """A type with aliases followed."""
        while isinstance(kind, ir.Ref):
            target = self.definitions.get(kind.name)
            if not isinstance(target, ir.Alias):
                return kind
            kind = target.type
        return kind

    def default(self, field: ir.Field, hidden: frozenset[str], grouped: bool = False) -> str:
        """What stands after the equals sign; empty for a required member that needs no wire name."""
        name = "" if camel(field.name) == field.wire else f"name={literal(field.wire)}"
        if field.constant:
            assert isinstance(field.type, ir.Const)
            return _call("constant", literal(field.type.values[0]), name)
        if field.required:
            return _call("_field", name) if name else ""
        if field.default is not None:
            value = json.loads(field.default.json)
            text = self.default_value(value, field.type, field.wire)
            if isinstance(value, str | int | float):
                return _call("schema_default", text, name)
            return _call("_field", f"default_factory=lambda: {text}", name)
        kind = self.resolved(field.type)
        if isinstance(kind, ir.Array | ir.Map) and not grouped:
            factory = _builtin("list" if isinstance(kind, ir.Array) else "dict", hidden)
            return _call("_field", f"default_factory={factory}", name)
        return _call("_field", "default=UNSET", name) if name else "UNSET"

    def default_value(self, value: Any, kind: ir.Type, place: str) -> str:
        """A schema default as an expression of its type: models are built, not kept as dicts."""
        kind = self.resolved(kind)
        match kind, value:
            case ir.Nullable(inner), _:
                return "None" if value is None else self.default_value(value, inner, place)
            case ir.Array(items), list():
                return "[" + ", ".join(self.default_value(item, items, place) for item in value) + "]"
            case ir.Map(values=values), dict():
                pairs = (f"{literal(key)}: {self.default_value(item, values, place)}" for key, item in value.items())
                return "{" + ", ".join(pairs) + "}"
            case ir.Ref(name), _:
                return self._default_of(value, name, place)
            case ((ir.AnyType() | ir.Choice() | ir.Scalar() | ir.Const()), _):
                return literal(value)
        raise fail(f"the default of {place}", literal(value), "a value of the property's own type")

    def _default_of(self, value: Any, name: str, place: str) -> str:
        target = self.definitions.get(name)
        if isinstance(target, ir.Enum) and isinstance(value, str | int):
            return literal(value)
        if isinstance(target, ir.Struct) and isinstance(value, dict):
            members = {field.wire: field for field in self.all_fields(target)}
            unknown = sorted(set(value) - set(members))
            missing = sorted(wire for wire, field in members.items() if field.required and wire not in value)
            if not unknown and not missing:
                given = (
                    f"{members[wire].name}={self.default_value(item, members[wire].type, f'{place}/{wire}')}"
                    for wire, item in value.items()
                )
                return f"{name}({', '.join(given)})"
        raise fail(f"the default of {place}", literal(value), f"a value of {name}, which is its type")

    def all_fields(self, struct: ir.Struct) -> tuple[ir.Field, ...]:
        """A struct's members, inherited ones first."""
        base = self.definitions.get(struct.base or "")
        inherited = self.all_fields(base) if isinstance(base, ir.Struct) else ()
        return (*inherited, *struct.fields)


def hidden_builtins(fields: Iterable[ir.Field]) -> frozenset[str]:
    """Builtins that the members of a class hide from its own annotations."""
    return ANNOTATION_BUILTINS & {field.name for field in fields}


def _builtin(name: str, hidden: frozenset[str]) -> str:
    return f"builtins.{name}" if name in hidden else name


def _call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(argument for argument in arguments if argument)})"


def _bounded(text: str, bounds: Mapping[str, Any]) -> str:
    if not bounds:
        return text
    return f"Annotated[{text}, Meta({', '.join(f'{key}={literal(value)}' for key, value in bounds.items())})]"


def _number_bounds(kind: ir.Scalar) -> dict[str, int | float]:
    return {key: value for key, value in (("ge", kind.minimum), ("le", kind.maximum)) if value is not None}


def _int_bounds(kind: ir.Scalar) -> dict[str, int]:
    """Bounds as whole numbers. Those beyond 64 bits are left out: msgspec cannot hold them, no message comes near."""
    found = {}
    for key, value in _number_bounds(kind).items():
        whole = -int(-value // 1) if key == "ge" else int(value // 1)
        if whole in _INT64:
            found[key] = whole
    return found

"""Types of fields, items and aliases: scalars, arrays, maps, references, nullability, bounds."""

from __future__ import annotations

import json
from typing import Any

from codegen import ir
from codegen.lower.view import INTEGER_FORMATS, View

NULL = ir.Scalar("null")
# JSON kinds that the decoder can tell apart without looking inside.
_KINDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_KIND_OF = {str: "string", int: "integer", bool: "boolean", type(None): "null"}


def lower_type(view: View, *also: str) -> ir.Type:
    """The type at a place where a value stands. `also` are keywords that the caller reads itself."""
    result = _lower(view)
    view.done(*also)
    return result


def _lower(view: View) -> ir.Type:
    name = view.reference()
    if name is not None:
        return ir.Ref(name)
    for keyword in ("anyOf", "oneOf"):
        if keyword in view:
            return _alternatives([lower_type(branch) for branch in view.children(keyword)], view)
    if "const" in view or "enum" in view:
        return _constants(view)
    kinds = view.take("type")
    if kinds is None:
        return ir.AnyType()
    if isinstance(kinds, str):
        return _of_kind(kinds, view)
    return _alternatives([_of_kind(kind, view) for kind in kinds], view)


def _of_kind(kind: str, view: View) -> ir.Type:
    match kind:
        case "string":
            view.take("format")  # uri, date-time, regex: documentation, not checked
            return ir.Scalar("string", min_length=view.count("minLength"), pattern=view.take("pattern"))
        case "integer":
            low, high = INTEGER_FORMATS.get(view.take("format", ""), (None, None))
            return ir.Scalar("integer", *_bounds(view, low, high))
        case "number":
            view.take("format")
            return ir.Scalar("number", *_bounds(view, None, None))
        case "boolean" | "null":
            return ir.Scalar("boolean") if kind == "boolean" else NULL
        case "array":
            items = lower_type(view.child("items")) if "items" in view else ir.AnyType()
            return ir.Array(items, view.count("minItems"))
        case "object":
            return _map(view)
    view.error(f"type {kind!r}", "string, integer, number, boolean, null, array or object")
    return ir.AnyType()


def _map(view: View) -> ir.Type:
    if view.raw.get("properties"):
        return ir.Ref(view.anonymous())
    view.take("properties")
    extra = view.take("additionalProperties", True)
    if view.take("required", ()):
        view.error("required properties that are not described", "properties beside them")
    if isinstance(extra, dict):
        return ir.Map(lower_type(view.child("additionalProperties")))
    if extra is False:
        view.error("additionalProperties: false", "true, a schema, or no such keyword")
    return ir.Map(ir.AnyType())


def _bounds(view: View, low: int | None, high: int | None) -> tuple[int | float | None, int | float | None]:
    minimum, maximum = view.take("minimum"), view.take("maximum")
    lower = max((bound for bound in (minimum, low) if bound is not None), default=None)
    upper = min((bound for bound in (maximum, high) if bound is not None), default=None)
    return lower, upper


def _constants(view: View) -> ir.Type:
    values = [view.take("const")] if "const" in view else list(view.take("enum"))
    kinds = view.take("type")
    allowed = {kinds} if isinstance(kinds, str) else set(kinds or _KIND_OF.values())
    allowed |= {"integer"} if "number" in allowed else set()
    if not values or any(_KIND_OF.get(type(value), "number") not in {*allowed, "number"} for value in values):
        view.error(f"the constants {values!r} of type {kinds!r}", "constants of the type that stands beside them")
    nullable = None in values
    known = tuple(value for value in values if isinstance(value, str | bool | int))
    alike = len(set(map(type, known))) <= 1 and all(abs(value) < 2**63 for value in known if isinstance(value, int))
    if len(known) + nullable != len(values) or not alike:
        view.error(f"the constants {values!r}", "strings only, integers of 64 bits only or booleans only, and null")
    if not known:
        return NULL
    return ir.Nullable(ir.Const(known)) if nullable else ir.Const(known)


def _alternatives(options: list[ir.Type], view: View) -> ir.Type:
    """One of several: null makes the rest nullable, JSON kinds tell the others apart."""
    rest = [option for option in options if option != NULL]
    if len(rest) == 1:
        inner = rest[0]
    else:
        inner = choice(rest, view)
    if len(rest) == len(options) or isinstance(inner, ir.AnyType | ir.Nullable):
        return inner
    return ir.Nullable(inner)


def kind_of(option: ir.Type) -> str | None:
    """The JSON kind of a type that shows it by itself; None for references and constants."""
    match option:
        case ir.Scalar(kind=kind):
            return _KINDS[kind]
        case ir.Array():
            return "array"
        case ir.Map():
            return "object"
    return None


def is_choice(options: list[ir.Type]) -> bool:
    """Whether JSON kind alone tells these apart. Integer and number go together: 3 and 3.0 are both numbers."""
    kinds = [kind_of(option) for option in options]
    distinct = set(kinds)
    numbers = kinds.count("number") == 2 and {o.kind for o in options if isinstance(o, ir.Scalar)} >= {
        "integer",
        "number",
    }
    return None not in distinct and len(kinds) - (1 if numbers else 0) == len(distinct)


def choice(options: list[ir.Type], view: View) -> ir.Type:
    """Alternatives inside a field. `number` swallows `integer`; Any swallows all."""
    if not options or any(isinstance(option, ir.AnyType) for option in options):
        return ir.AnyType()
    if not is_choice(options):
        view.error("alternatives that JSON kind does not tell apart", "a definition of its own, referred to by $ref")
        return ir.AnyType()
    kinds = [option.kind for option in options if isinstance(option, ir.Scalar)]
    kept = [o for o in options if not (isinstance(o, ir.Scalar) and o.kind == "integer" and "number" in kinds)]
    return kept[0] if len(kept) == 1 else ir.Choice(tuple(kept))


def lower_field(wire: str, name: str, view: View, required: bool, doc: str) -> ir.Field:
    """One property with its tolerance keywords and default."""
    on_error = view.flag("x-deserialize-default-on-error")
    skip_items = view.flag("x-deserialize-skip-invalid-items")
    on_null = view.flag("x-deserialize-default-on-null")
    default = None
    if "default" in view:
        value = view.take("default")
        # A null default says what absence says already.
        default = None if value is None else ir.Default(canonical_json(value))
    own_doc = view.doc()
    kind = lower_type(view)
    bare = kind.of if isinstance(kind, ir.Nullable) else kind
    if skip_items and not isinstance(bare, ir.Array):
        view.error("x-deserialize-skip-invalid-items", "that keyword on an array")
    if on_null and not isinstance(bare, ir.Array | ir.Map) and default is None:
        view.error("x-deserialize-default-on-null", "that keyword on an array, a map or a property with a default")
    if default is not None:
        view.problems.defaults.append((f"{view.pointer}/default", value, kind))
    return ir.Field(wire, name, kind, required, default, on_error, skip_items, on_null, doc=doc or own_doc)


def canonical_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))

"""Definitions as drafts: what kind of thing each is, read off the raw schema. Nothing after this sees raw schema.

The lowering table in one place:

    {}                                                     Alias of any value
    $ref, allOf [$ref], scalars, arrays, maps              Alias
    anyOf/oneOf of constants (and a bare scalar), enum     Enum, open when the bare scalar is there
    object with properties                                 ObjectShape, a record with additionalProperties: true
    object with properties and oneOf/anyOf of objects      ObjectShape with groups
    anyOf/oneOf with a const string property               UnionShape (shared fields from beside the combinator)
    any other anyOf/oneOf                                  UntaggedShape, or Alias where JSON kind or null decides
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from codegen import ir
from codegen.lower.types import is_choice, kind_of, lower_field, lower_type
from codegen.lower.view import INTEGER_FORMATS, View

_BARE = ("string", "integer")


@dataclass(frozen=True)
class ObjectShape:
    """Properties as fields without member names yet; `required` may name properties that come from elsewhere."""

    pointer: str
    fields: tuple[ir.Field, ...] = ()
    required: frozenset[str] = frozenset()
    groups: GroupsShape | None = None
    keeps_extra: bool = False
    doc: str = ""


@dataclass(frozen=True)
class GroupsShape:
    exclusive: bool
    groups: tuple[tuple[str, str | ObjectShape], ...]


@dataclass(frozen=True)
class Branch:
    """One alternative of a tagged union: `value` is its tag, or its title where it has none.

    `null` says that the tag may be null on a branch without one.
    """

    role: Literal["tagged", "fallback", "default"]
    value: str
    inline: ObjectShape
    payload: str | None
    excluded: tuple[str, ...] = ()
    null: bool = False


@dataclass(frozen=True)
class UnionShape:
    tag: str
    shared: ObjectShape
    branches: tuple[Branch, ...]
    doc: str = ""


@dataclass(frozen=True)
class UntaggedShape:
    """Options are types, or objects written in place with their titles."""

    options: tuple[ir.Type | tuple[str, ObjectShape], ...]
    doc: str = ""


Shape: TypeAlias = ObjectShape | UnionShape | UntaggedShape | ir.Alias | ir.Enum


def read_definition(name: str, view: View) -> Shape:
    """The draft of one definition. Problems go to the view's collector."""
    doc = view.doc()
    view.take("x-method")
    view.take("x-side")
    combinator = next((keyword for keyword in ("anyOf", "oneOf") if keyword in view), None)
    if combinator:
        return _combination(name, view, combinator, doc)
    if "enum" in view or "const" in view:
        return _constants(name, view, doc)
    if view.take("type") == "object" and view.take("properties"):
        shape = read_object(view, doc)
        view.done()
        return shape
    return ir.Alias(name, lower_type(view), doc)


def read_object(view: View, doc: str = "") -> ObjectShape:
    """Properties, requiredness and whether extras are kept. The caller reads combinators and calls `done`."""
    if view.take("type", "object") != "object":
        view.error(f"type {view.raw['type']!r} with properties", "the type object")
    fields = tuple(lower_field(wire, "", child, False, "") for wire, child in view.properties())
    extra = {keyword: view.take(keyword) for keyword in ("additionalProperties", "unevaluatedProperties")}
    for keyword, value in extra.items():
        if value not in (None, True):
            view.error(f"{keyword}: {value!r} beside properties", "true, or no such keyword")
    keeps = True in extra.values()
    view.check_names({**view.raw.get("properties", {}), **dict.fromkeys(view.raw.get("required", ()))})
    return ObjectShape(view.pointer, fields, frozenset(view.take("required", ())), None, keeps, doc)


def _constants(name: str, view: View, doc: str) -> Shape:
    kind = lower_type(view)
    if isinstance(kind, ir.Const) and all(isinstance(value, str) for value in kind.values):
        return ir.Enum(name, "string", tuple((str(value), str(value)) for value in kind.values), False, doc=doc)
    return ir.Alias(name, kind, doc)


def _combination(name: str, view: View, keyword: str, doc: str) -> Shape:
    branches = view.children(keyword)
    if all(_is_constant(branch) or _is_bare(branch) for branch in branches) and any(map(_is_constant, branches)):
        return _enum(name, view, branches, doc)
    tag = find_tag(branches)
    if tag is not None:
        shared = read_object(view)
        if shared.keeps_extra:
            view.error("variants that keep unknown properties", "additionalProperties: true on the fallback only")
        view.done()
        read = tuple(read_branch(branch, tag) for branch in branches)
        _check_distinct(branches, read)
        return UnionShape(tag, shared, read, doc)
    if view.take("properties"):
        shape = read_object(view, doc)
        view.done()
        return ObjectShape(shape.pointer, shape.fields, shape.required, _groups(view, keyword), shape.keeps_extra, doc)
    return _untagged(name, view, branches, doc)


def _check_distinct(views: list[View], branches: tuple[Branch, ...]) -> None:
    """Report branches that nothing would ever lead to."""
    seen = set()
    tags = {branch.value for branch in branches if branch.role == "tagged"}
    for view, branch in zip(views, branches, strict=True):
        if branch.role == "default" and branch.value in tags:
            view.error(f"a branch titled {branch.value!r} beside the tag of that name", "another title")
        key = (branch.role, branch.value if branch.role == "tagged" else "")
        if key in seen:
            what = f"the tag {branch.value!r}" if branch.role == "tagged" else f"the role of a {branch.role}"
            view.error(f"a second branch with {what}", "one such branch")
        seen.add(key)


def _is_constant(branch: View) -> bool:
    return "const" in branch.raw and "properties" not in branch.raw


def _is_bare(branch: View) -> bool:
    return branch.raw.get("type") in _BARE and not set(branch.raw) - {"type", "title", "description", "format"}


def _enum(name: str, view: View, branches: list[View], doc: str) -> Shape:
    members: list[tuple[str, str | int]] = []
    kinds = [one.raw["type"] for one in (view, *branches) if "type" in one]
    low: int | None = None
    high: int | None = None
    is_open = False
    for branch in branches:
        branch.take("type")
        low, high = INTEGER_FORMATS.get(branch.take("format", ""), (low, high))
        title = branch.title()
        if _is_bare(branch):
            is_open = True
        else:
            value = branch.take("const")
            members.append((title or str(value), value))
        branch.done()
    view.take("type")
    view.done()
    values = {type(value) for _, value in members}
    kind: Literal["string", "integer"] = "string" if values == {str} else "integer"
    wide = any(isinstance(value, int) and abs(value) >= 2**63 for _, value in members)
    if len(values) != 1 or values - {str, int} or wide or any(one != kind for one in kinds):
        found = sorted({*map(str, kinds), *(one.__name__ for one in values)})
        view.error(f"constants of the kinds {found}", "strings only, or integers of 64 bits only")
        return ir.Alias(name, ir.AnyType(), doc)
    if kind == "string":
        members = [(str(value), value) for _, value in members]
    return ir.Enum(name, kind, tuple(members), is_open, low, high, doc)


def find_tag(branches: list[View]) -> str | None:
    """The property that is a string constant in every branch that has such a property at all."""
    candidates: list[set[str]] = []
    for branch in branches:
        consts = {
            wire
            for wire, schema in branch.raw.get("properties", {}).items()
            if isinstance(schema, dict) and isinstance(schema.get("const"), str)
        }
        if consts:
            candidates.append(consts)
    common = set.intersection(*candidates) if candidates else set()
    if candidates and not common:
        branches[0].error("branches whose constant properties differ", "one property that is a constant in all of them")

    def repeated(wire: str) -> int:
        values = [str(one.raw.get("properties", {}).get(wire)) for one in branches]
        return len(values) - len(set(values))

    return min(common, key=lambda wire: (repeated(wire), wire), default=None)


def read_branch(view: View, tag: str) -> Branch:
    """One alternative of a union tagged by `tag`."""
    title = view.title()
    doc = view.doc()
    payload = view.reference()
    own = view.raw.get("properties", {}).get(tag)
    if own is None:
        label = title or payload or "default"
        return Branch("default", label, _branch_object(view, None, doc, label), payload)
    own_view = view.child("properties", tag)
    own_view.doc()
    own_view.title()
    kind = own_view.take("type")
    value = own_view.take("const")
    own_view.done()
    if isinstance(value, str) and kind in (None, "string"):
        return Branch("tagged", value, _branch_object(view, tag, doc, value), payload)
    if kind == "null":
        label = title or "none"
        return Branch("default", label, _branch_object(view, tag, doc, label), payload, null=True)
    if kind != "string":
        own_view.error(f"the tag as {own!r}", "a string constant, a bare string or null")
    excluded = _excluded(view.child("not"), tag) if "not" in view else ()
    label = title or "other"
    return Branch("fallback", label, _branch_object(view, tag, doc, label), payload, excluded)


def _branch_object(view: View, tag: str | None, doc: str, label: str) -> ObjectShape:
    """What a branch says of its own. Objects described in place in it have `label` in their names."""
    view.way = (*view.way, label)
    shape = read_object(view, doc)
    keyword = next((one for one in ("anyOf", "oneOf") if one in view), None)
    groups = _groups(view, keyword) if keyword else None
    view.done()
    fields = tuple(field for field in shape.fields if field.wire != tag)
    return ObjectShape(shape.pointer, fields, shape.required - {tag}, groups, shape.keeps_extra, doc)


def _excluded(view: View, tag: str) -> tuple[str, ...]:
    """The tags that a fallback's `not` rules out."""
    found: list[str] = []
    branches = view.children("anyOf") or [view]
    for branch in branches:
        branch.take("type")
        branch.take("required")
        for wire, child in branch.properties():
            child.take("type")
            value = child.take("const")
            values = [value] if value is not None else child.take("enum", [])
            child.done()
            if wire != tag or not values or not all(isinstance(one, str) for one in values):
                child.error(f"a `not` over {wire!r}", f"string constants of the tag {tag!r}")
            found.extend(values)
        branch.done()
    view.done()
    return tuple(found)


def _groups(view: View, keyword: str) -> GroupsShape:
    groups: list[tuple[str, str | ObjectShape]] = []
    for index, branch in enumerate(view.children(keyword)):
        title = branch.title() or str(index)
        name = branch.reference()
        if name is not None:
            branch.doc()
            branch.done()
            groups.append((title, name))
        else:
            branch.way = (*branch.way, title)
            groups.append((title, read_object(branch, branch.doc())))
            branch.done()
    return GroupsShape(keyword == "oneOf", tuple(groups))


def _untagged(name: str, view: View, branches: list[View], doc: str) -> Shape:
    options: list[ir.Type | tuple[str, ObjectShape]] = []
    for index, branch in enumerate(branches):
        title = branch.title()
        branch.doc()
        if "properties" in branch.raw and "$ref" not in branch.raw:
            branch.way = (*branch.way, title or str(index))
            shape = read_object(branch, str(branch.raw.get("description", "")))
            if shape.keeps_extra:
                branch.error("an alternative that keeps unknown properties", "a definition of its own, by $ref")
            options.append((title or str(index), shape))
            branch.done()
        else:
            options.append(lower_type(branch))
    kinds = {kind_of(option) for option in options if not isinstance(option, tuple)}
    if view.take("type", "object") != "object" or ("type" in view and kinds - {None, "object"}):
        view.error(f"type {view.raw['type']!r} beside other alternatives", "a type on each of them")
    view.done()
    types = [option for option in options if not isinstance(option, tuple)]
    null = ir.Scalar("null")
    if len(types) == len(options):
        rest = [option for option in types if option != null]
        nullable = len(rest) < len(types)
        if len(rest) == 1:
            return ir.Alias(name, ir.Nullable(rest[0]) if nullable else rest[0], doc)
        if is_choice(rest) and None not in map(kind_of, rest):
            inner = ir.Choice(tuple(rest))
            return ir.Alias(name, ir.Nullable(inner) if nullable else inner, doc)
        if ir.AnyType() in rest and all(kind_of(option) or isinstance(option, ir.AnyType) for option in rest):
            return ir.Alias(name, ir.AnyType(), doc)
    return UntaggedShape(tuple(options), doc)

"""Raw schema to IR. The last place that sees raw schema; what it means is decided here and nowhere after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codegen import ir, names
from codegen.annotations import Docs, Names
from codegen.capabilities import Capabilities
from codegen.errors import CodegenError
from codegen.lower.checks import check_definitions, check_scalars
from codegen.lower.classes import Allocator
from codegen.lower.methods import envelopes, read_methods
from codegen.lower.needs import gated, ungated, with_offered
from codegen.lower.opening import read_opening
from codegen.lower.shapes import Branch, GroupsShape, ObjectShape, Shape, UnionShape, UntaggedShape, read_definition
from codegen.lower.view import Problems, View

__all__ = ["lower", "ungated"]


def lower(
    schema: Mapping[str, Any],
    profile: str,
    source: ir.Source,
    curated: Names,
    docs: Docs,
    file: str,
    capabilities: Capabilities | None = None,
) -> ir.Profile:
    """One schema file as IR. Raises CodegenError with every problem of the file."""
    definitions = schema.get("$defs", {})
    frames = envelopes(schema)
    plain = [name for name in definitions if name not in frames]
    problems = Problems(file)
    problems.renamed = _class_names(plain, problems)
    problems.defined = frozenset(problems.renamed.get(name, name) for name in plain)
    shapes: dict[str, Shape] = {}
    for original in plain:
        view = View(definitions[original], "/$defs/" + original.replace("~", "~0").replace("/", "~1"), problems)
        name = problems.renamed.get(original, original)
        shapes[name] = documented(read_definition(name, view), original, docs)
    while unread := [name for name in problems.anonymous if name not in shapes]:
        for name in unread:
            shapes[name] = read_definition(name, problems.anonymous[name])
    methods = read_methods(schema, frames, problems)
    check_scalars(schema, problems)
    if problems.found:
        raise CodegenError(problems.found)
    lowered = Allocator(shapes, curated, docs, problems).run()
    check_definitions(lowered, problems)
    if problems.found:
        raise CodegenError(problems.found)
    version, _, channel = profile.partition("/")
    promised = capabilities or Capabilities()
    opening = with_offered(read_opening(methods, lowered), lowered, promised, problems)
    methods = gated(methods, opening, lowered, promised, problems)
    if problems.found:
        raise CodegenError(problems.found)
    methods = tuple(replace(one, unhandled=promised.unhandled.get(one.name)) for one in methods)
    exported = tuple(problems.renamed.get(name, name) for name in plain)
    return ir.Profile(version, channel, source, lowered, exported, frames, methods, opening, promised.baseline)


def _class_names(definitions: list[str], problems: Problems) -> dict[str, str]:
    renamed: dict[str, str] = {}
    owner: dict[str, str] = {}
    for original in definitions:
        name = names.class_name(original)
        pointer = "/$defs/" + original.replace("~", "~0").replace("/", "~1")
        if name is None:
            problems.add(pointer, f"the definition name {original!r}", "a name that is a Python identifier")
            continue
        if owner.setdefault(name, original) != original:
            problems.add(pointer, f"{original!r} and {owner[name]!r}, which both want the name {name}", "other names")
        if name != original:
            renamed[original] = name
    return renamed


def documented(shape: Shape, name: str, docs: Docs) -> Shape:
    """The draft with our docstrings over the schema's own, for itself and for the properties that it declares."""

    def fields(of: ObjectShape) -> ObjectShape:
        listed = tuple(replace(field, doc=docs.property(name, field.wire) or field.doc) for field in of.fields)
        return replace(of, fields=listed, groups=groups(of.groups))

    def groups(of: GroupsShape | None) -> GroupsShape | None:
        if of is None:
            return None
        inner = tuple((title, fields(group) if isinstance(group, ObjectShape) else group) for title, group in of.groups)
        return replace(of, groups=inner)

    def branch(of: Branch) -> Branch:
        return replace(of, inline=fields(of.inline))

    doc = docs.definition(name) or shape.doc
    match shape:
        case ObjectShape():
            return replace(fields(shape), doc=doc)
        case UnionShape():
            return replace(shape, shared=fields(shape.shared), branches=tuple(map(branch, shape.branches)), doc=doc)
        case UntaggedShape():
            options = tuple((o[0], fields(o[1])) if isinstance(o, tuple) else o for o in shape.options)
            return replace(shape, options=options, doc=doc)
        case ir.Alias() | ir.Enum():
            return replace(shape, doc=doc)

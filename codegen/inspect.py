"""The IR shown: as a rich tree for people, as plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from rich.markup import escape
from rich.tree import Tree

from codegen import ir
from codegen.python import Printer


def printable(text: str) -> str:
    """Text as a terminal may get it: control characters and lone surrogates as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _safe(text: str) -> str:
    return escape(printable(text))


def as_data(node: Any) -> Any:
    """An IR node as JSON-ready data; `kind` names the node's class."""
    if isinstance(node, tuple):
        return [as_data(item) for item in node]
    if is_dataclass(node):
        return {"kind": type(node).__name__} | {part.name: as_data(getattr(node, part.name)) for part in fields(node)}
    return node


def profile_data(profile: ir.Profile, names: list[str], whole: bool) -> dict[str, Any]:
    """One profile with the definitions asked for, and its methods when all is shown."""
    return {
        "profile": profile.name,
        "source": as_data(profile.source),
        "exported": len(profile.exported),
        "envelopes": list(profile.envelopes),
        "definitions": {name: as_data(profile.definitions[name]) for name in names},
        "methods": [as_data(method) for method in profile.methods] if whole else [],
    }


def profile_tree(profile: ir.Profile, names: list[str], whole: bool) -> Tree:
    """One profile as a tree: definitions with their members, and the methods when all is shown."""
    title = f"[bold]{profile.name}[/] {len(profile.exported)} definitions, {len(profile.methods)} methods"
    root = Tree(f"{title} [dim]{_safe(profile.source.source)}[/]")
    printer = Printer(profile.definitions)
    for name in names:
        definition_branch(root, profile.definitions[name], printer, name not in profile.exported)
    if whole:
        methods = root.add(f"[bold]methods[/] (envelopes: {', '.join(profile.envelopes)})")
        for method in profile.methods:
            result = f" -> {method.result}" if method.result else ""
            methods.add(f"[cyan]{method.side}[/] {method.kind} [green]{_safe(method.name)}[/] {method.params}{result}")
    return root


def definition_branch(root: Tree, definition: ir.Definition, printer: Printer, synthesised: bool) -> None:
    """One definition below `root`."""
    kind = type(definition).__name__
    note = " [dim]synthesised[/]" if synthesised else ""
    branch = root.add(f"[bold green]{definition.name}[/] [cyan]{kind}[/]{note}")
    if definition.doc:
        branch.add(f"[dim]{_safe(definition.doc.splitlines()[0])}[/]")
    for line in _details(definition, printer):
        branch.add(line)


def _details(definition: ir.Definition, printer: Printer) -> Iterator[str]:
    match definition:
        case ir.Alias():
            yield _safe(printer.annotation(definition.type))
        case ir.Enum():
            kind = "open" if definition.open else "closed"
            yield f"{kind}: {_safe(', '.join(str(value) for _, value in definition.members))}"
        case ir.Struct() | ir.Record() | ir.Fallback():
            yield from _members(definition, printer)
        case ir.TaggedUnion():
            yield from _union(definition, "")
        case ir.UntaggedUnion():
            yield _safe(" | ".join(map(printer.annotation, definition.options)))


def _members(definition: ir.Struct | ir.Record | ir.Fallback, printer: Printer) -> Iterator[str]:
    if isinstance(definition, ir.Struct):
        if definition.base:
            yield f"inherits {definition.base}"
        if definition.tag:
            yield f"tag {_safe(definition.tag.wire)} = {_safe(definition.tag.value)}"
    if isinstance(definition, ir.Fallback):
        yield f"unknown {_safe(definition.tag)} of {definition.union}"
    if not isinstance(definition, ir.Record) and definition.groups:
        rule = "exactly one of" if definition.groups.exclusive else "at least one of"
        groups = (f"{one.title} ({', '.join(one.required)})" for one in definition.groups.groups)
        yield _safe(f"{rule} {', '.join(groups)}")
    for field in definition.fields:
        mark = "[red]*[/]" if field.required else " "
        wire = f" [dim]({_safe(field.wire)})[/]" if field.wire != field.name else ""
        yield f"{mark} [yellow]{field.name}[/]{wire}: {_safe(printer.field(field, frozenset()))}"


def _union(union: ir.TaggedUnion, indent: str) -> Iterator[str]:
    yield f"{indent}by {_safe(union.tag)}"
    for variant in union.variants:
        if isinstance(variant.target, str):
            yield f"{indent}  {_safe(variant.value)}: [green]{variant.target}[/]"
        else:
            yield f"{indent}  {_safe(variant.value)}:"
            yield from _union(variant.target, indent + "    ")
    if union.default:
        yield f"{indent}  without tag: [green]{union.default}[/]"
    yield f"{indent}  unknown: " + (f"[green]{union.fallback}[/]" if union.fallback else "an error")
    if union.excluded:
        yield f"{indent}  never: {_safe(', '.join(union.excluded))}"


def undocumented(profile: ir.Profile, names: list[str]) -> Iterator[str]:
    """Those of `names`, and their members, that have no docstring, as `Name` and `Name.wireName`."""
    for name in names:
        definition = profile.definitions[name]
        if not definition.doc:
            yield name
        if isinstance(definition, ir.Struct | ir.Record | ir.Fallback):
            for field in definition.fields:
                if not field.doc and not field.constant:
                    yield f"{name}.{field.wire}"

"""The page that documents what templates are given, docs/ir.md: made of the dataclasses themselves."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from codegen import contexts, environment, ir, method_views, session_views, views
from codegen.contexts import MARK

HEADER = f"<!-- {MARK}: python -m tools.docs. Do not edit. -->"
INTRODUCTION = """\
# What templates are given

A template gets a *context*, whose fields are its variables. Everything in it is a frozen dataclass: the intermediate
representation (IR), which says what a schema means, or a *view*, which has it as Python text. Nothing in the IR is
Python's, but for names, which are allocated once. How a folder of templates is laid over those that ship is in
[templates.md](templates.md).
"""
SECTIONS = (
    ("Contexts", "What a template gets, by its path.", contexts),
    ("The IR", "", ir),
    ("Views of definitions", "", views),
    ("Views of methods", "", method_views),
    ("Views of sessions", "", session_views),
)


@dataclass(frozen=True)
class _Field:
    name: str
    type: str
    default: str
    doc: str


def ir_page() -> str:
    """docs/ir.md."""
    known = {node.name for _, _, module in SECTIONS for node in _classes(module)}
    known |= {name for _, _, module in SECTIONS for name, _ in _aliases(module)}
    parts = [HEADER, INTRODUCTION, _contents()]
    for title, text, module in SECTIONS:
        parts += [f"## {title}\n", f"{text or _paragraphs(module.__doc__)}\n"]
        for name, value in _aliases(module):
            parts.append(f'<a id="{name}"></a>**`{name}`** is {_type(value, known)}.\n')
        parts += [_section(node, known) for node in _classes(module)]
    parts += ["## Filters\n", "Beside Jinja's own.\n", *_filters()]
    return "\n".join(parts).rstrip("\n") + "\n"


def _contents() -> str:
    titles = [*(title for title, _, _ in SECTIONS), "Filters"]
    return "\n".join(f"- [{title}](#{environment.anchor(title)})" for title in titles) + "\n"


def _source(module: ModuleType) -> list[ast.stmt]:
    return ast.parse(inspect.getsource(module)).body


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    """The dataclasses of a module, in its order."""
    for node in _source(module):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and _is_dataclass(node):
            yield node


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(one) for one in node.decorator_list)


def _aliases(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Names for types, with what they stand for."""
    for node in _source(module):
        if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation) and node.value:
            yield ast.unparse(node.target), ast.unparse(node.value)
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Literal["):
            yield ast.unparse(node.targets[0]), ast.unparse(node.value)


def _section(node: ast.ClassDef, known: set[str]) -> str:
    bases = [ast.unparse(one) for one in node.bases]
    lines = [f'<a id="{node.name}"></a>\n', f"### {node.name}\n"]
    doc = ast.get_docstring(node)
    if doc:
        lines.append(f"{_paragraphs(doc)}\n")
    if bases:
        lines.append(f"Has the fields of {', '.join(_type(base, known) for base in bases)} too.\n")
    fields = list(_fields(node))
    if fields:
        described = any(field.doc for field in fields)
        lines += [f"| field | type | default |{' meaning |' * described}", f"| --- | --- | --- |{' --- |' * described}"]
        for field in fields:
            default = environment.code(field.default) if field.default else ""
            meaning = f" {_paragraphs(field.doc)} |" * described
            lines.append(f"| `{field.name}` | {_type(field.type, known)} | {default} |{meaning}")
        lines.append("")
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            is_property = any(ast.unparse(one) == "property" for one in method.decorator_list)
            said = _paragraphs(ast.get_docstring(method))
            returns = _type(ast.unparse(method.returns), known) if method.returns else "nothing"
            lines.append(f"- `{method.name}{'' if is_property else '()'}`: {returns}. {said}".rstrip())
    return "\n".join(lines).rstrip() + "\n"


def _fields(node: ast.ClassDef) -> Iterator[_Field]:
    for index, part in enumerate(node.body):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            after = node.body[index + 1] if index + 1 < len(node.body) else None
            value = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            default = ast.unparse(part.value) if part.value else ""
            yield _Field(part.target.id, ast.unparse(part.annotation), default, str(value))


def _type(text: str, known: set[str]) -> str:
    """A type as text, the names in it that this page has as links."""
    words = text.replace("ir.", "").replace("|", " | ")
    linked = []
    for token in _tokens(" ".join(words.split())):
        linked.append(f"[{token}](#{token})" if token in known else environment.markdown(token))
    return "".join(linked).replace("\\|", "or").replace("  ", " ")


def _tokens(text: str) -> Iterator[str]:
    word = ""
    for char in text:
        if char.isalnum() or char == "_":
            word += char
        else:
            if word:
                yield word
            word = ""
            yield char
    if word:
        yield word


def _paragraphs(doc: str | None) -> str:
    """A docstring, its indented blocks as they are."""
    return inspect.cleandoc(doc or "")


def _filters() -> Iterator[str]:
    filters: dict[str, Callable[..., Any]] = environment.FILTERS
    for name, function in sorted(filters.items()):
        yield f"- `{name}`: {_paragraphs(function.__doc__)}"

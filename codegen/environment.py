"""The Jinja environment: where templates are looked for, the filters they may use, and what is wrong with one."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import jinja2

from codegen import ir
from codegen.errors import CodegenError, fail
from codegen.python import Printer, literal, strings

SHIPPED = "shipped"
"""The prefix by which a template reaches the one that it replaces."""
_SPECIAL = re.compile(r"([\\`*_\[\]|~$]|\A(?:[#+=-]|\d+(?=[.)])))")
_DROPPED = re.compile(r"[^\w\- ]")


def environment(shipped: Path, own: Path | None) -> jinja2.Environment:
    """An environment for the templates that ship, and those of a user's folder before them."""
    shipping = jinja2.FileSystemLoader(shipped)
    loaders: list[jinja2.BaseLoader] = [shipping, jinja2.PrefixLoader({SHIPPED: shipping})]
    if own is not None:
        loaders.insert(0, jinja2.FileSystemLoader(own))
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= FILTERS
    return made


def render_template(made: jinja2.Environment, name: str, own: Path | None, context: Mapping[str, Any]) -> str:
    """One template's text. Where a user has templates, what is wrong with one is a CodegenError with file and line."""
    try:
        return made.get_template(name).render(context)
    except CodegenError:
        raise
    except Exception as error:
        if own is None:
            # A bug of ours, for which the traceback is wanted.
            raise
        raise _problem(name, own, error) from None


def _problem(name: str, own: Path, error: Exception) -> CodegenError:
    found = f"{type(error).__name__}: {error}"
    if isinstance(error, jinja2.TemplateSyntaxError):
        return fail(f"{error.filename or own / name}:{error.lineno}", error.message or found, "a Jinja template")
    # Jinja puts templates into the traceback as if they were code.
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.endswith(".jinja")]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(own / name)
    if isinstance(error, jinja2.TemplateNotFound):
        return fail(place, f"a template named {error.name!r} that is not there", "one of yours, or shipped/...")
    return fail(place, found, "a template that renders; docs/ir.md says what there is")


# Filters


@jinja2.pass_context
def annotation(context: jinja2.runtime.Context, kind: ir.Type) -> str:
    """A type as a Python annotation, as models have it."""
    return Printer(context["profile"].definitions).annotation(kind)


@jinja2.pass_context
def members(context: jinja2.runtime.Context, definition: ir.Definition) -> tuple[ir.Field, ...]:
    """All fields of a class, those that it inherits first; none for what is no class."""
    own = definition.fields if isinstance(definition, ir.Struct | ir.Record | ir.Fallback) else ()
    base = definition.base if isinstance(definition, ir.Struct) else None
    if base is None:
        return own
    inherited: tuple[ir.Field, ...] = members(context, context["profile"].definitions[base])
    names = {field.name for field in own}
    return (*(field for field in inherited if field.name not in names), *own)


def kind(node: object) -> str:
    """The class of an IR node by name: `Struct`, `Ref`, ..."""
    return type(node).__name__


def references(node: object) -> list[str]:
    """Names of the definitions that an IR node mentions, each once, in order."""
    return list(dict.fromkeys(ir.references(node)))


def users(profile: ir.Profile) -> dict[str, list[str]]:
    """Of each definition of a profile, the definitions that mention it."""
    found: dict[str, list[str]] = {name: [] for name in profile.definitions}
    for name, definition in profile.definitions.items():
        for one in references(definition):
            if one != name and one in found:
                found[one].append(name)
    return found


def markdown(text: object) -> str:
    """Text as it is, in Markdown: what would be markup is escaped, but for `code` in backquotes; one line."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:
        parts = [str(text).replace("`", "'")]
    made = (code(part) if index % 2 else _SPECIAL.sub(r"\\\1", _plain(part)) for index, part in enumerate(parts))
    return "".join(made)


def code(text: object) -> str:
    """Text as code in Markdown, in a table too; one line."""
    shown = _plain(str(text), html=False)
    if shown.strip() and "|" not in shown and "`" not in shown:
        return f"`{shown}`"
    # Inside of a tag, Markdown is Markdown still.
    safe = "".join(f"&#{ord(one)};" if _SPECIAL.match(one) else escape(one, quote=False) for one in shown)
    return f"<code>{safe}</code>"


def _plain(text: str, html: bool = True) -> str:
    """Text in one line, with what no page should hold as escapes."""
    line = " ".join(text.split()) if text.strip() else text
    lead, trail = text[:1].isspace() and line != text, text[-1:].isspace() and line != text
    line = f"{' ' * lead}{line}{' ' * trail}"
    shown = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)
    return escape(shown, quote=False) if html else shown


def anchor(text: str) -> str:
    """Text as the anchor that a Markdown heading of it gets: lower case, without signs, and with dashes for blanks."""
    return _DROPPED.sub("", text.lower()).replace(" ", "-")


FILTERS: dict[str, Callable[..., Any]] = {
    "anchor": anchor,
    "annotation": annotation,
    "code": code,
    "kind": kind,
    "literal": literal,
    "markdown": markdown,
    "members": members,
    "references": references,
    "strings": strings,
    "users": users,
}
"""What templates may use beside Jinja's own filters."""

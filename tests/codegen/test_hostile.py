"""Schema text is hostile input: whatever it holds, the module imports, says it and writes it, and never runs it.

One schema has every text in every place; what it becomes is imported and used in a fresh interpreter under `-W error`.
"""

from __future__ import annotations

import ast
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from codegen.names import method_name
from codegen.schema.canonical import DIALECT
from codegen.schema.lock import LockEntry, lock_text, sha256
from tests.support.tiny import (
    CODE,
    INTEGER,
    PWNED,
    STRING,
    alone,
    build,
    const,
    fallback,
    obj,
    package_of,
    ref,
    source_of,
)

WRAPPED = (
    '"""\n%s\n"""', "'''\n%s\n'''", '"\n%s\n"', "'\n%s\n'", "\n%s\n", "\r%s\r", "\u2028%s\u2028", "\x0c\n%s", "\\\n%s",
    "]\n%s\n[", ")\n%s\n(", "'+%s+'", '"+str(%s)+"', "{%s}", "{{ %s }}", "{%% set x = %s %%}", "# x\n%s", "\x85%s\x85",
)  # fmt: skip
TEXTS = (
    "", " ", "plain", "two  spaces", '"', "'", "\"'", 'ends in "', "ends in '", '"""', "'''", 'a """ b', '""""""',
    "\\", "ends in \\", "ends in \\\\", "\\n", "\\N{x}", "\\N{DASH}", "\\x", "\\u12", "\\U0011ffff", "\\'", '\\"',
    '\\"""', "a\nb", "a\r\nb", "a\rb", "\n", "\t", "a\tb", "\x00", "a\x00b", "\x1b[31m", "\x7f", "\x85",
    "\x0b\x0c\x1c", "\u2028", "\u2029", "a\u2028b", "\ufeff", "\u202eevil\u202c", "\u2066x\u2069", "\u200b", "\xa0",
    "\xad", "日本語", "😀", "e\u0301", "\ufb01", "{{ 7 * 7 }}", "{% for x in y %}", "{# gone #}", "{{", "}}", "{%",
    "%}", "{", "}", "{0}", "{x!r}", "%s %d %(a)s", "#", "# noqa", "# type: ignore", "# fmt: off", "${x}", "`x`", "$(x)",
    "<b>&amp;</b>", "None", "true", "0", "a/b~c", "x" * 300, ("word " * 60).strip(), 'q" ' * 60, "\\ " * 60,
    *(wrapped % CODE for wrapped in WRAPPED),
)  # fmt: skip
# Of several texts that want one Python name, one can be a method; and none without a name.
METHODS = {n: TEXTS[n] for n in {method_name(text): number for number, text in enumerate(TEXTS) if text}.values()}
PROSE = (*TEXTS, "\ud800", "a\udfffb", "\udc00\ud800")


def documented(text: str) -> dict[str, Any]:
    return {"title": text, "description": text}


def schema() -> dict[str, Any]:
    """Every text in every place that may hold any."""
    numbered = list(enumerate(TEXTS))
    defs: dict[str, Any] = {
        "Open": {"anyOf": [*({"const": text, "type": "string"} for text in TEXTS), {"type": "string", "title": "\n"}]},
        "Closed": {"enum": list(TEXTS)},
        "Tagged": {"oneOf": [obj({"t": {**const(text), **documented(text)}}, "t") for text in TEXTS]},
        "Loose": {"anyOf": [obj({"t": const("known")}, "t"), fallback("t", "known", *TEXTS)]},
        "Defaults": obj({f"d{n}": {**STRING, "default": text} for n, text in numbered}),
        "Deep": obj({"any": {"default": [{text: text} for text in TEXTS]}}),
        "Patterns": obj({f"p{n}": {**STRING, "pattern": f"^(?:{re.escape(text)})$"} for n, text in numbered}),
        "Grouped": obj({"a": STRING}, anyOf=[obj({f"g{n}": STRING}, f"g{n}", title=text) for n, text in numbered]),
        "ClientNotification": obj({"params": {"anyOf": [ref(f"Notice{number}") for number in METHODS]}}),
        "Codes": {"anyOf": [*({**const(n), "title": f"{text} {n}"} for n, text in numbered), INTEGER]},
    }
    for number, text in METHODS.items():
        defs[f"Notice{number}"] = obj({}, **{"x-method": text, "x-side": "agent", **documented(text)})
    for number, text in enumerate(PROSE):
        defs |= {
            f"Struct{number}": obj({"p": {**STRING, **documented(text)}}, **documented(text)),
            f"Alias{number}": {**STRING, **documented(text)},
            f"Union{number}": {
                "anyOf": [
                    obj({"t": const("a"), "p": {**STRING, **documented(text)}}, "t", **documented(text)),
                    {**fallback("t", "a"), **documented(text)},
                ],
                **documented(text),
            },
        }
    return defs


def said(text: str | None) -> str:
    """A text as docstrings say it: whitespace of any kind is one space, a lone surrogate is spelt out."""
    return " ".join((text or "").encode("utf-8", "backslashreplace").decode().split())


def docs_in_source(source: str) -> dict[str, str]:
    """Every string that stands below an assignment, by the name assigned to; members as `Class.member`."""
    found: dict[str, str] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for one, after in pairwise([*body, ast.Pass()]):
            if isinstance(one, ast.ClassDef):
                visit(one.body, f"{one.name}.")
            elif isinstance(one, ast.If):
                visit(one.body, prefix)
            elif isinstance(one, ast.AnnAssign) and isinstance(after, ast.Expr):
                found[prefix + ast.unparse(one.target)] = str(ast.literal_eval(after.value))

    visit(ast.parse(source).body, "")
    return found


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return build(tmp_path_factory.mktemp("hostile"), schema())


def test_any_text_in_any_place(hostile: Any) -> None:
    checks: list[tuple[str, object]] = []
    for number, text in enumerate(TEXTS):
        checks += [
            ("Open", text),
            ("Closed", text),
            ("Tagged", {"t": text}),
            ("Patterns", {f"p{number}": text}),
            ("Grouped", {f"g{number}": text}),
            ("Loose", {"t": f"_{text}", text: text}),
        ]
    checks += [
        ("Defaults", {f"d{n}": text for n, text in enumerate(TEXTS)}),
        ("Deep", {"any": [{text: text} for text in TEXTS]}),
        ("Codes", 3),
    ]
    docs = alone(hostile, checks)
    below = docs_in_source(source_of(hostile))
    for number, text in enumerate(PROSE):
        for name in (f"Struct{number}", f"Union{number}A", f"UnknownUnion{number}"):
            assert said(docs[name]) == said(text) or (name.startswith("Unknown") and not text.strip()), name
        for name in (f"Struct{number}.p", f"Union{number}A.p", f"Alias{number}", f"Union{number}"):
            assert said(below.get(name)) == said(text), name
    assert not list(package_of(hostile).parent.rglob(PWNED))


def test_sets_and_defaults_hold_the_very_text(hostile: Any) -> None:
    assert frozenset(TEXTS) == hostile.KNOWN_OPEN
    assert json.loads(hostile.encode(hostile.Defaults())) == {f"d{n}": text for n, text in enumerate(TEXTS)}
    assert hostile.Deep().any == [{text: text} for text in TEXTS]
    for text in TEXTS:
        for name, value in (("Closed", text + "?"), ("Tagged", {"t": text + "?"}), ("Loose", {"t": text})):
            with pytest.raises(hostile.DecodeError):
                hostile.convert(value, getattr(hostile, name))


def test_methods_hold_the_very_text(hostile: Any) -> None:
    assert {("agent", "notification", text) for text in METHODS.values()} == set(hostile.METHODS)
    for number, text in METHODS.items():
        stub = getattr(hostile.Agent, method_name(text))
        assert said(stub.__doc__) == said(text), number


def test_docs_of_ours(tmp_path: Path) -> None:
    """docs.toml goes before what the schema says, and may hold anything as well."""

    def toml(text: str) -> str:
        return '"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"'

    defs: dict[str, Any] = {}
    docs = f'[Unions.variants]\na = {toml(TEXTS[-1])}\n"*" = {toml(CODE)}\n'
    for number, text in enumerate(TEXTS):
        defs[f"Struct{number}"] = obj({"p": {**STRING, "description": "theirs"}}, description="theirs")
        docs += f"[Struct{number}]\ndoc = {toml(text)}\n[Struct{number}.fields]\np = {toml(text)}\n"
    defs["Unions"] = {"anyOf": [obj({"t": const("a")}, "t"), fallback("t", "a")]}
    module = build(tmp_path, defs, docs=docs)
    found = alone(module, [])
    below = docs_in_source(source_of(module))
    for number, text in enumerate(TEXTS):
        # A text of ours that is empty says nothing, so the schema's stands; one of blanks is a text.
        expected = said(text) if text else "theirs"
        assert said(found[f"Struct{number}"]) == expected
        assert said(below.get(f"Struct{number}.p")) == expected
    assert said(found["UnionsA"]) == said(TEXTS[-1]) and said(found["UnknownUnions"]) == said(CODE)
    assert not list(tmp_path.rglob(PWNED))


@pytest.mark.parametrize("text", [f"\n{CODE}\n", f"\r{CODE}", f"\u2028{CODE}", f'"""\n{CODE}\n"""', "x\\", "日本 \x00"])
def test_source_in_the_lock(tmp_path: Path, text: str) -> None:
    """Every header names it, in one line."""
    data = json.dumps({"$schema": DIALECT, "$defs": {"A": STRING}}).encode()
    entry = LockEntry("v2/schema.json", text, text, "0" * 64, sha256(data))
    module: Any = build(tmp_path, {"A": STRING}, lock=lock_text({"v2/stable": entry}))
    assert module.SCHEMA.source == module.SCHEMA.version == text
    for file in ("__init__.py", "v2/__init__.py", "v2/models.py"):
        first, second, _ = (package_of(module) / file).read_text(encoding="utf-8").split("\n", 2)
        assert first.startswith("# Generated by acp-codegen") and second.startswith('"""')
    alone(module, [("A", "x")])
    assert not list(tmp_path.rglob(PWNED))

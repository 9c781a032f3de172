"""Reports as text, JSON, Markdown and HTML: whole, the same in each run, and nothing of a schema gets out of hand."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from codegen.diff import FORMATS, Report, compare, render, summary
from codegen.diff.markdown import escaped
from codegen.diff.text import lines as text_lines
from codegen.pipeline import load
from tests.support.cli import ROOT
from tests.support.diffs import profiles, report, with_methods
from tests.support.tiny import INTEGER, STRING, const, fallback, nullable, obj, ref

HOSTILE = "<script>alert(1)</script>"
SPLIT = "</style></script><img src=x onerror=alert(1)>"
CHANGES = 11
"""Of the example: one method, four of AskRequest, two of Tone, one of each other definition."""
TERMINAL = "\u202e\x1b]0;owned\x07"


def example() -> Report:
    """One of everything that renderers treat in their own way."""
    old = with_methods(
        {
            "AskRequest": obj({"text": STRING, "n": INTEGER, "limit": INTEGER}, "text"),
            "AskResponse": obj({"answer": STRING, "sure": {"type": "boolean"}}),
            "Tone": {"anyOf": [const("plain"), const("rude"), STRING]},
            "Gone": obj({"x": STRING}),
            "Told": obj({"x": STRING}, description="One thing."),
        },
        ("agent", "request", "ask", "AskRequest", "AskResponse"),
    )
    new = with_methods(
        {
            "AskRequest": obj({"text": nullable(STRING), "n": {"type": "integer", "maximum": 5}, "limit": STRING}),
            "AskReply": obj({"answer": STRING, "sure": {"type": "boolean"}}),
            "Tone": {"anyOf": [const("plain"), const("kind"), STRING]},
            "Told": obj({"x": STRING}, description="Another thing."),
            "Came": obj({"x": STRING, "tone": ref("Tone")}),
        },
        ("agent", "request", "ask", "AskRequest", "AskReply"),
        ("client", "notification", "came", "Came"),
    )
    return report(old, new)


def hostile() -> Report:
    """Schema text that would like to be code, markup or a terminal's control sequence."""

    def defs(word: str) -> dict[str, Any]:
        return {
            "Thing": obj({f"a{word}": STRING, "b": {"type": "string", "pattern": f"^{word}$"}}),
            "Kind": {"anyOf": [const(f"v{word}"), STRING]},
            "Union": {"anyOf": [obj({"type": const(f"t{word}")}, "type"), fallback("type")]},
        }

    words = (HOSTILE, SPLIT, TERMINAL.replace("\x1b", "").replace("\x07", ""), "{{ 7 * 7 }}", "a|b`c` *d* @someone")
    old = defs("")
    new: dict[str, Any] = {}
    for index, word in enumerate(words):
        new |= {f"{name}{index}": value for name, value in defs(word.replace('"', "")).items()}
    new |= with_methods({"Note": obj({"x": STRING})}, ("agent", "notification", f"note/{HOSTILE}{TERMINAL}", "Note"))
    return report(old, new)


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("form", [one for one in FORMATS if one != "summary"])
def test_every_change_is_in_every_whole_format(form: str) -> None:
    found = example()
    text = render(found, form)
    assert text.endswith("\n")
    for change in found.changes:
        assert (escaped(change.owner) if form == "markdown" else change.owner) in text
        if change.member:
            assert change.member in text


@pytest.mark.parametrize("form", FORMATS)
def test_no_change(form: str) -> None:
    same = {"Thing": obj({"id": STRING})}
    text = render(report(same, same), form)
    assert {"html": "Nothing changed.", "json": '"changes": []'}.get(form, "0 changes") in text


def test_text() -> None:
    lines = render(example(), "text").splitlines()
    assert lines[1] == "11 changes: 6 breaking, 3 additive, 2 neutral"
    assert "  ~ field text may be null  string, required -> string | null" in "\n".join(lines)
    assert "      receivers: old receivers refuse messages without it" in lines
    assert "documented otherwise: Told" in lines
    assert all(len(line) <= 110 for line in lines)


def test_text_in_little_room() -> None:
    for width in (40, 60, 80, 200):
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(text_lines(example(), width))
        assert isinstance(console.file, io.StringIO)
        lines = console.file.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        head = next(line for line in lines if line.startswith("v2/stable"))
        assert ("senders" in head) == (width >= 76)


def test_json() -> None:
    data = json.loads(render(example(), "json"))
    assert data["level"] == "breaking" and len(data["changes"]) == CHANGES
    first = next(one for one in data["changes"] if one["member"] == "limit")
    assert first == {
        "profiles": ["v2/stable"],
        "kind": "field-type",
        "action": "changed",
        "subject": "field",
        "owner": "AskRequest",
        "member": "limit",
        "before": "integer",
        "after": "string",
        "senders": {
            "level": "breaking",
            "reason": "new receivers refuse what old senders may write: integer does not fit string",
        },
        "receivers": {
            "level": "breaking",
            "reason": "old receivers refuse what new senders may write: string does not fit integer",
        },
        "python": {
            "level": "breaking",
            "reason": "the type of the attribute changes, for who writes it and who reads it",
        },
        "flows": [{"from": "client", "to": "agent"}],
        "notes": [],
        "wire": "breaking",
        "level": "breaking",
    }
    table = next(one for one in data["tables"] if one["new"] == "AskReply")
    assert table["old"] == "AskResponse" and {row["state"] for row in table["rows"]} == {"same"}
    assert {(one["old"], one["new"], one["breaking"]) for one in data["pairings"]} == {
        ("client", "agent", 2),
        ("agent", "client", 3),
    }


def test_summary() -> None:
    lines = summary(example()).splitlines()
    assert "  ! AskRequest: field limit has another type (breaks senders, receivers, python)" in lines
    assert "  ! AskReply: definition has another name, was AskResponse (breaks python)" in lines
    assert "  + methods       came" in lines and "  + values        Tone.kind" in lines
    assert "  ~ documented    1 otherwise than before" in lines
    assert lines[-1] == "old agent, new client: 3 breaking changes (v2/stable)"


def test_html_is_one_page_of_its_own() -> None:
    text = render(example(), "html")
    page = Page(text)
    assert page.open == [] and text.startswith("<!doctype html>")
    assert [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "base")] == []
    loaded = [attrs for _, attrs in page.tags if {"src", "srcset", "style"} & attrs.keys()]
    links = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    assert loaded == [] and all(link and link.startswith("#") for link in links)
    assert {str(link)[1:] for link in links} <= set(page.ids) and len(set(page.ids)) == len(page.ids)
    assert "url(" not in text and "@import" not in text
    # Its policy lets run what is in it, and nothing else.
    policy = next(str(attrs["content"]) for _, attrs in page.tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def test_html_policy_names_what_is_in_it() -> None:
    text = render(example(), "html")
    for tag in ("style", "script"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in text


def test_html_reads_without_script() -> None:
    """Filters appear by script only; all that they filter is there before, and open where it matters."""
    page = Page(render(example(), "html"))
    forms = [attrs for tag, attrs in page.tags if tag == "form"]
    assert len(forms) == 1 and "hidden" in forms[0]
    changes = [attrs for _, attrs in page.tags if "change" in str(attrs.get("class")).split()]
    assert len(changes) == CHANGES and not any("hidden" in attrs for attrs in changes)


def test_hostile_text_in_html() -> None:
    text = render(hostile(), "html")
    page = Page(text)
    assert page.open == []
    assert [tag for tag, _ in page.tags].count("script") == 1 and "img" not in {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert HOSTILE not in text and SPLIT not in text and "&lt;script&gt;alert(1)" in text
    assert "49" not in re.sub(r"#[0-9a-f]+|sha256-\S+", "", text.partition("<body>")[2].partition("<script>")[0])
    assert "{{ 7 * 7 }}" in text
    assert "\u202e" not in text and "\x1b" not in text


def test_hostile_text_in_a_terminal() -> None:
    for form in ("text", "summary", "markdown"):
        text = render(hostile(), form)
        assert all(line.isprintable() for line in text.split("\n"))
        assert "\\u202e" in text.replace("\\\\", "\\")


def test_hostile_text_in_markdown() -> None:
    text = render(hostile(), "markdown")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    # Pipes of a schema end no cell: each row has the columns of its heading.
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4, 6}
    assert "<script" not in text.replace("\\<", "") and "@someone" not in text.replace("\\@", "")


def test_same_output_under_other_hash_seeds() -> None:
    """Sets and dicts decide no order."""
    code = (
        "from tests.codegen.diff.test_rendering import example, hostile\n"
        "from codegen.diff import FORMATS, render\n"
        "import hashlib\n"
        "texts = [render(one(), form) for one in (example, hostile) for form in FORMATS]\n"
        "print(hashlib.sha256(''.join(texts).encode()).hexdigest())"
    )
    found = set()
    for seed in ("0", "1", "4711"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


def test_pinned_schemas_against_each_other() -> None:
    """Stable against unstable, and v1 against v2: whatever shapes there are."""
    loaded = {
        one.name: one for one in load(Path(ROOT, "schema"), ["v1/stable", "v1/unstable", "v2/stable", "v2/unstable"])
    }
    assert compare(list(loaded.values()), list(loaded.values())).changes == ()
    for old, new in (("v2/stable", "v2/unstable"), ("v1/stable", "v2/stable"), ("v2/unstable", "v1/unstable")):
        found = compare([loaded[old]], [loaded[new]])
        assert len(found.changes) > 50
        for form in FORMATS:
            assert render(found, form)
    # Unstable is stable and more: nothing is removed.
    found = compare([loaded["v2/stable"]], [loaded["v2/unstable"]])
    assert {one.action for one in found.changes} <= {"added", "changed"}


def test_profiles_are_left_as_they_are() -> None:
    defs = {"Thing": obj({"id": STRING})}
    old, new = profiles(defs), profiles({"Thing": obj({"id": INTEGER})})
    before = repr((old, new))
    compare(old, new)
    assert repr((old, new)) == before

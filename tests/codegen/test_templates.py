"""Templates of a user's own, laid over those that ship: what they replace, add and may not do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from codegen import environment
from codegen.contexts import MARK
from tests.support.cli import ROOT, ok, problem, program, run, work_folder
from tests.support.tiny import STRING, obj, ref, schema_folder

REFERENCE = ROOT / "examples/templates/reference"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return work_folder(tmp_path, monkeypatch)


def put(name: str, text: str) -> None:
    path = Path("own", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def generate(*more: str) -> str:
    return ok("generate", "--package", "pkg", "--templates", "own", *more)


def refused(*more: str) -> str:
    """What is wrong with the templates. Nothing was written."""
    said = problem("generate", "--package", "pkg", "--templates", "own", *more)
    assert not Path("generated").exists()
    return said


def output(path: str) -> str:
    return Path("generated", path).read_text(encoding="utf-8")


def files(folder: str = "generated") -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


# What becomes of a file


def test_one_template_takes_the_place_of_a_shipped_one() -> None:
    ok("generate", "--package", "pkg")
    before = files()
    put("__init__.py.jinja", "# {{ header }}\n\nVERSIONS = {{ versions | map(attribute='name') | list | strings }}\n")
    generate()
    after = files()
    assert {path for path in before if before[path] != after[path]} == {"generated/pkg/__init__.py"}
    assert before.keys() == after.keys()
    assert output("pkg/__init__.py").endswith('\nVERSIONS = ("v2",)\n')


def test_a_template_extends_the_one_that_it_replaces() -> None:
    text = '{% extends "shipped/profile/models.py.jinja" %}\n{% block definitions %}\n{{ super() }}\n'
    put("profile/models.py.jinja", text + "NAMES   =  {{ exports | strings }}\n{% endblock %}\n")
    generate()
    code = "from pkg.v2 import models, Thing; from pkg.v2 import unstable; print(models.NAMES, Thing(full_name='x'))"
    done = subprocess.run([sys.executable, "-c", code], cwd="generated", capture_output=True, text=True, check=False)
    assert done.stdout == "('Colour', 'Shape', 'ShapeFlat', 'ShapeRound', 'Thing') Thing(full_name='x')\n", done.stderr
    # Formatted as all code is.
    assert "\nNAMES = (" in output("pkg/v2/models.py") and "\nNAMES = (" in output("pkg/v2/unstable/models.py")


def test_the_example_of_the_docs_works_on_the_schemas_that_ship() -> None:
    """Those have sessions, which tiny ones have not; what is rendered has to be Python before it is formatted."""
    example = (ROOT / "docs/templates.md").read_text(encoding="utf-8").partition("```jinja\n")[2].partition("```")[0]
    put("profile/models.py.jinja", example)
    generate("--schema-dir", str(ROOT / "schema"), "--profile", "v2/stable")
    assert "\nNAMES = frozenset(" in output("pkg/v2/models.py")


def test_shipped_templates_use_a_replaced_one_that_they_import() -> None:
    shipped = (ROOT / "templates/profile/_macros.jinja").read_text(encoding="utf-8")
    put("profile/_macros.jinja", shipped.replace("class {{ view.name }}", "# Ours.\nclass {{ view.name }}"))
    generate()
    assert output("pkg/v2/models.py").count("# Ours.\nclass ") == 3


def test_a_plain_file_takes_the_place_of_a_shipped_one() -> None:
    put("runtime/schema.py", "# As it is,   unformatted\n")
    generate()
    assert output("pkg/runtime/schema.py") == "# As it is,   unformatted\n"


def test_more_files() -> None:
    put("profile/names.txt.jinja", "{% for name in profile.definitions %}{{ name }}\n{% endfor %}")
    put("profile/more.py.jinja", "X    =    {{ protocol_version }}\n")
    put("project/notes/{profile}.md.jinja", "<!-- {{ header }} -->\n{{ title }}\n")
    put("deep/{profile}/x.txt.jinja", "{{ profile.name }}")
    put("deep/__init__.py", "")
    put("data.txt", "a\r\nb")
    put("whole.txt.jinja", "{{ profiles | map(attribute='name') | join(' ') }}   as it is\n")
    put("_parts.jinja", "{{ no_such_thing }}")
    put("README.md", "about the folder")
    put(".hidden/x.jinja", "{{ no_such_thing }}")
    put("__pycache__/x.py", "")
    generate()
    assert sorted(output("pkg/v2/names.txt").split()) == ["Colour", "Shape", "ShapeFlat", "ShapeRound", "Thing"]
    assert "Experiment" in output("pkg/v2/unstable/names.txt")
    assert output("pkg/v2/more.py") == "X = 2\n" == output("pkg/v2/unstable/more.py")
    assert output("notes/v2.md").splitlines()[1] == "Agent Client Protocol v2"
    assert output("notes/v2-unstable.md").splitlines()[1] == "Agent Client Protocol v2, unstable channel"
    assert output("pkg/deep/v2-unstable/x.txt") == "v2/unstable"
    assert Path("generated/pkg/data.txt").read_bytes() == b"a\r\nb"
    assert output("pkg/whole.txt") == "v2/stable v2/unstable   as it is\n"
    there = {path.name for path in Path("generated").rglob("*")}
    assert not there & {"_parts", "_parts.jinja", "README.md", ".hidden", "x.py"}


def test_project_files_are_replaced_where_they_are_written() -> None:
    put("project/README.md.jinja", "<!-- {{ header }} -->\n# Ours\n")
    generate()
    assert not Path("generated/README.md").exists()
    generate("--project")
    assert output("README.md").endswith("# Ours\n")


def test_without_the_package() -> None:
    Path("docs/pkg").mkdir(parents=True)
    Path("docs/pkg/mine.txt").write_text("mine")
    put("project/{profile}.md.jinja", "<!-- {{ header }} -->\n")
    put("inside.txt.jinja", "into the package\n")
    generate("--no-package", "--out", "docs")
    there = sorted(str(path) for path in Path("docs").rglob("*") if path.is_file())
    assert there == ["docs/pkg/mine.txt", "docs/v2-unstable.md", "docs/v2.md"]
    assert "is what the generator writes" in generate("--no-package", "--out", "docs", "--check")
    Path("docs/v2.md").write_text(f"<!-- {MARK} -->\nold\n")
    drift = run("generate", "--package", "pkg", "--templates", "own", "--no-package", "--out", "docs", "--check")
    assert drift.exit_code == 1 and "-old" in drift.stdout


def test_no_package_needs_templates() -> None:
    assert "--no-package" in problem("generate", "--no-package")


def test_check_and_determinism() -> None:
    put("profile/set.txt.jinja", "{{ same_as_stable | sort | join(' ') }}")
    put("a.txt.jinja", "{{ header }}")
    generate()
    assert "is what the generator writes" in generate("--check")
    first = files()
    arguments = ("generate", "--package", "pkg", "--templates", "own", "--out", "g2")
    assert program(*arguments, cwd=Path(), PYTHONHASHSEED="77").returncode == 0
    assert first == {path.replace("g2", "generated", 1): data for path, data in files("g2").items()}
    Path("own/a.txt.jinja").unlink()
    assert run("generate", "--package", "pkg", "--templates", "own", "--check").exit_code == 1
    generate()
    assert not Path("generated/pkg/a.txt").exists()


# What is refused


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("profile/models.py.jinja", "one\n{% if %}\n", 2, "Expected an expression"),
        ("profile/models.py.jinja", "one\n\n{{ title }}{{ nothing }}\n", 3, "'nothing' is undefined"),
        ("extra.txt.jinja", "{{ profiles[0].nothing }}\n", 1, "has no attribute 'nothing'"),
        ("extra.txt.jinja", "{% for x in y %}\n", 1, "end of template"),
        ("extra.txt.jinja", "\n{{ 1 // 0 }}\n", 2, "ZeroDivisionError"),
        ("extra.txt.jinja", "\n\n{{ profiles | no_such_filter }}\n", 3, "no_such_filter"),
        ("extra.txt.jinja", "\n{% include 'absent.jinja' %}\n", 2, "'absent.jinja' that is not there"),
        ("extra.txt.jinja", "{% include '../elsewhere/schema.json' %}\n", 1, "is not there"),
        ("extra.txt.jinja", "{% extends 'shipped/absent.jinja' %}\n", 1, "is not there"),
        ("extra.txt.jinja", "{{ profiles[0].methods | annotation }}\n", 1, "'profile'"),
    ],
    ids=[
        "syntax",
        "undefined",
        "attribute",
        "unclosed",
        "exception",
        "filter",
        "include",
        "traversal",
        "extends",
        "kind",
    ],
)
def test_errors_name_file_and_line(name: str, text: str, line: int, words: str) -> None:
    put(name, text)
    said = refused()
    assert f"own/{name}:{line}" in said and words in said


def test_an_error_in_an_included_template_names_that_one() -> None:
    put("_part.jinja", "\n\n{{ nothing }}\n")
    put("extra.txt.jinja", "{% include '_part.jinja' %}")
    assert "own/_part.jinja:3" in refused()


def test_an_error_in_a_replaced_macro_of_a_shipped_template() -> None:
    put("profile/_macros.jinja", "{% macro class(view) %}\n{{ view.nothing }}\n{% endmacro %}\n")
    assert "own/profile/_macros.jinja:2" in refused()


def test_code_that_is_no_python() -> None:
    put("profile/more.py.jinja", "x = 1\ny = = 2\n")
    said = refused()
    assert "own/profile/more.py.jinja" in said and "line 2 of pkg/v2/more.py" in said


def test_text_that_is_not_utf_8() -> None:
    put("data.txt", "")
    Path("own/data.txt").write_bytes(b"\xff\xfe")
    assert "text in UTF-8" in refused()
    Path("own/data.txt").unlink()
    put("data.txt.jinja", "")
    Path("own/data.txt.jinja").write_bytes(b"\xff\xfe")
    assert "own/data.txt.jinja" in refused()


def test_two_files_of_one_path() -> None:
    put("profile/models.py", "x = 1\n")
    assert "pkg/v2/models.py" in refused()
    Path("own/profile/models.py").unlink()
    put("same.txt", "1")
    put("same.txt.jinja", "2")
    assert "pkg/same.txt" in refused()


def test_a_file_beside_the_package_without_the_header() -> None:
    put("project/notes.md.jinja", "# Notes\n{{ header }}\n")
    said = refused()
    assert "own/project/notes.md.jinja" in said and "{{ header }}" in said


def test_a_file_that_somebody_else_wrote_is_not_replaced() -> None:
    put("project/notes.md.jinja", "<!-- {{ header }} -->\n")
    Path("notes.md").write_text("mine")
    said = problem("generate", "--package", "pkg", "--templates", "own", "--out", ".")
    assert "notes.md" in said and Path("notes.md").read_text() == "mine" and not Path("pkg").exists()


@pytest.mark.parametrize("place", ["extra.txt.jinja", "profile/models.py.jinja", "folder"])
def test_symbolic_links(place: str) -> None:
    put("a.txt.jinja", "x")
    target = Path("secret").absolute()
    target.mkdir()
    (target / "x.txt.jinja").write_text("secret")
    Path("own", place).parent.mkdir(exist_ok=True)
    Path("own", place).symlink_to(target if place == "folder" else target / "x.txt.jinja")
    said = refused()
    assert "symbolic link" in said and place in said


def test_folders_that_are_none() -> None:
    assert "no folder" in refused()
    Path("own").mkdir()
    assert "no template" in refused()
    put("README.md", "about nothing")
    assert "no template" in refused()
    put("shipped/x.jinja", "")
    assert "shipped" in refused()


def test_templates_inside_of_the_package_would_be_replaced() -> None:
    ok("generate", "--package", "pkg")
    inside = Path("generated/pkg/templates")
    inside.mkdir()
    (inside / "a.txt.jinja").write_text("x")
    assert "inside of" in problem("generate", "--package", "pkg", "--templates", str(inside))
    assert inside.is_dir()


# Markdown

HOSTILE = "A *b* _c_ [d](e) <script>x</script> | `co|de` # &amp; \\ $x$ ~~y~~ \u202e\n\n# heading\n- item\n1. one ``"


def test_hostile_text_stays_text_in_markdown(tmp_path: Path) -> None:
    defs = {
        "Thing": obj({"a|b`<i>": {"type": "string", "description": HOSTILE}}, description=HOSTILE),
        "Other": {"anyOf": [{"const": "x|y`", "type": "string"}, STRING]},
        "Uses": obj({"thing": ref("Thing")}),
    }
    folder = schema_folder(tmp_path / "hostile", defs)
    ok("generate", "--schema-dir", folder, "--templates", REFERENCE, "--no-package", "--out", "docs")
    page = Path("docs/protocol/v2.md").read_text(encoding="utf-8")
    assert "<script>" not in page and "<i>" not in page
    assert not [line for line in page.splitlines() if line.startswith(("# heading", "- item", "1. one"))]
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    # As many cells as the table has columns, whatever is in them.
    bars = {len(line.replace("\\|", "").split("|")) for line in rows}
    assert bars == {6}, rows
    assert "\u202e" not in page and "\\u202e" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain (text), 1-2; it's", "plain (text), 1-2; it's"),
        ("`code` and *stars*", "`code` and \\*stars\\*"),
        ("one ` alone", "one ' alone"),
        ("# no heading", "\\# no heading"),
        ("1. no list", "\\1. no list"),
        ("- no list", "\\- no list"),
        ("a\n\nb", "a b"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("[a](b) | c", "\\[a\\](b) \\| c"),
        ("", ""),
    ],
)
def test_markdown(text: str, shown: str) -> None:
    assert environment.markdown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b", "`a*b`"),
        ("a|b", "<code>a&#124;b</code>"),
        ("<`*", "<code>&lt;&#96;&#42;</code>"),
        ("", "<code></code>"),
    ],
)
def test_code(text: str, shown: str) -> None:
    assert environment.code(text) == shown

"""Who may import whom, as far as import-linter does not say it: across the two packages, and inside the runtime.

The order of the generator's own modules is a contract in pyproject.toml, which `make check` holds.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import ROOT

TEMPLATES = ROOT / "templates"
# What pip installs with the bindings, and what only type checkers look for.
NEEDED = {"msgspec", "typing_extensions"}
# What the extras of the bindings install; what needs it imports it when it is used.
HTTP = {"httpx", "httpx_sse", "starlette", "uvicorn"}
EXTRAS = {
    **dict.fromkeys(("http", "clients", "endpoint", "sse", "streams", "web"), HTTP),
    "ws": {"websockets"},
    "explain": {"click", "rich"},
}


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def imported(path: Path, root: Path) -> Iterator[str]:
    """Full names of the modules that a file imports; those below `root` start with a dot."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            if node.module:
                yield "." + ".".join((*base, node.module))
            else:
                yield from ("." + ".".join((*base, alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def test_generator_does_not_import_what_it_writes() -> None:
    files = modules(ROOT / "codegen")
    assert len(files) > 20
    for path in files:
        roots = {name.split(".")[0] for name in imported(path, ROOT)}
        assert not roots & {"acp_bindings", "msgspec", "tests", "templates"}, path.name


@pytest.mark.parametrize("path", modules(TEMPLATES), ids=lambda path: path.relative_to(TEMPLATES).as_posix())
def test_runtime_imports_itself_msgspec_and_the_standard_library(path: Path) -> None:
    extra = EXTRAS.get(path.stem, set()) | EXTRAS.get(path.parent.name, set())
    for name in imported(path, TEMPLATES):
        if name.startswith("."):
            # Profiles import the runtime, never the other way round.
            assert name.split(".")[1] == "runtime", name
        else:
            assert name.split(".")[0] in sys.stdlib_module_names | NEEDED | extra, name


def test_only_the_command_line_prints_and_exits() -> None:
    for path in modules(ROOT / "codegen"):
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)}
        assert path.parent.name == "cli" or not calls & {"print", "sys.exit", "exit", "click.echo"}, path.name

"""Writes the pages of docs/ that are made from code: `python -m tools.docs`; with --check, says whether they are.

docs/ir.md is made of the dataclasses that templates are given, docs/protocol/ by the templates in
examples/templates/reference.
"""

from __future__ import annotations

import sys
from pathlib import Path

from codegen.pipeline import emit, load
from codegen.sources import PROFILE_FILES
from codegen.write import changes, write
from tools.ir_page import ir_page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TEMPLATES = ROOT / "examples/templates/reference"


def pages() -> dict[str, str]:
    """Every generated page, by path below docs/."""
    profiles = [name for name, file in PROFILE_FILES.items() if (ROOT / "schema" / file).is_file()]
    reference = emit(load(ROOT / "schema", profiles), "acp_bindings", False, TEMPLATES, beside_only=True)
    return {"ir.md": ir_page(), **reference}


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        found = changes(DOCS, None, pages())
        for change in found:
            print(change.diff(), end="")
        return 1 if found else 0
    if arguments:
        print(__doc__)
        return 2
    made = pages()
    written = write(DOCS, None, made)
    for change in written:
        print(f"{change.verb:8} docs/{change.path}")
    print(f"{len(made)} files in docs, {len(written)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

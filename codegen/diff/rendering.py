"""A report as text in one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from codegen.diff.data import as_json
from codegen.diff.html import as_html
from codegen.diff.markdown import as_markdown
from codegen.diff.report import Report
from codegen.diff.summary import summary
from codegen.diff.text import plain

_RENDERERS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": plain,
    "summary": summary,
    "json": as_json,
    "markdown": as_markdown,
    "html": as_html,
}
FORMATS: Final = tuple(_RENDERERS)


def render(report: Report, format: str) -> str:
    """The report in one of FORMATS, ending in a newline. Raises KeyError for another format."""
    return _RENDERERS[format](report)

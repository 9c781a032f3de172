"""The semantic diff: two sets of profiles in, one report out; reports in, text out.

compare(old, new) -> Report          reads the IR only
render(report, format) -> str        text, json, markdown, html
summary(report) -> str               a few lines
"""

from __future__ import annotations

from codegen.diff.compare import compare
from codegen.diff.rendering import FORMATS, render
from codegen.diff.report import Change, Effect, Level, Report
from codegen.diff.summary import summary

__all__ = ["FORMATS", "Change", "Effect", "Level", "Report", "compare", "render", "summary"]

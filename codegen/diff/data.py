"""A report as JSON, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from codegen.diff.report import Change, Report, Table


def as_json(report: Report) -> str:
    """The report's dataclasses as they are, with the worst class of each change and of the whole beside them."""
    found = asdict(report) | {"level": report.level}
    found["changes"] = [_change(change) for change in report.changes]
    found["tables"] = [_table(table) for table in report.tables]
    return json.dumps(found, indent=2) + "\n"


def _change(change: Change) -> dict[str, Any]:
    flows = [{"from": by, "to": to} for by, to in change.flows]
    return asdict(change) | {"flows": flows, "wire": change.wire, "level": change.level}


def _table(table: Table) -> dict[str, Any]:
    return asdict(table) | {"rows": [asdict(row) | {"state": row.state} for row in table.rows]}

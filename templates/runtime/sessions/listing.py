"""Pages of sessions, for `session/list`."""

from __future__ import annotations

import base64
import json
from typing import Any

from .. import jsonrpc
from ..errors import RequestError
from .stores import SessionRecord


def listed(record: SessionRecord) -> dict[str, Any]:
    """A session in the answer to `session/list`, as on the wire."""
    wire: dict[str, Any] = {
        "sessionId": record.session_id,
        "cwd": record.cwd,
        "additionalDirectories": record.additional_directories,
        "updatedAt": record.updated_at,
    }
    return wire if record.title is None else {**wire, "title": record.title}


def cursor(record: SessionRecord) -> str:
    """Where the page after this session begins."""
    return base64.urlsafe_b64encode(json.dumps([record.updated_at, record.session_id]).encode()).decode()


def read_cursor(text: str) -> SessionRecord:
    """A record in the place that a cursor names. Raises RequestError (-32602)."""
    try:
        updated_at, session_id = json.loads(base64.urlsafe_b64decode(text))
        return SessionRecord(session_id=str(session_id), cwd="", updated_at=str(updated_at))
    except (ValueError, TypeError, RecursionError):
        raise RequestError(jsonrpc.INVALID_PARAMS, "not a cursor of ours") from None

"""How sessions are listed, a page at a time. A cursor names the last session of a page: no state is kept for it."""

from __future__ import annotations

import base64
import json
from typing import Any

from .. import jsonrpc
from ..errors import RequestError
from .stores import SessionRecord


def listed(record: SessionRecord) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "sessionId": record.session_id,
        "cwd": record.cwd,
        "additionalDirectories": record.additional_directories,
        "updatedAt": record.updated_at,
    }
    return wire if record.title is None else {**wire, "title": record.title}


def cursor_of(record: SessionRecord) -> str:
    return base64.urlsafe_b64encode(json.dumps([record.updated_at, record.session_id]).encode()).decode()


def read_cursor(text: str) -> SessionRecord:
    try:
        updated_at, session_id = json.loads(base64.urlsafe_b64decode(text))
        return SessionRecord(session_id=str(session_id), cwd="", updated_at=str(updated_at))
    except (ValueError, TypeError, RecursionError):
        raise RequestError(jsonrpc.INVALID_PARAMS, "not a cursor of ours") from None

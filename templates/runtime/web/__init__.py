"""Agents behind HTTP: what the parts of the server share. Nothing here needs more than msgspec until it is used."""

from __future__ import annotations

import logging

CONNECTION_HEADER = "Acp-Connection-Id"
SESSION_HEADER = "Acp-Session-Id"
EVENT_STREAM = "text/event-stream"
JSON = "application/json"

log = logging.getLogger("acp_bindings.http")

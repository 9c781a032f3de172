"""What an operator may choose, with its defaults and units."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from ..connection import MAX_IN_FLIGHT, MAX_MESSAGE, MAX_OUTPUT, MAX_QUEUED, Observer
from ..routing import Handler

PATH = "/acp"
AFFINITY_COOKIE = "acp_affinity"
MAX_CONNECTIONS = 1000
MAX_SESSIONS = 1000
"""Streams of sessions that one connection may have at once."""
MAX_KEPT = 64 * 1024 * 1024
"""Bytes that wait on all streams of one connection before every writer waits."""
BODY_TIMEOUT = 30.0
"""Seconds that a body may take, beside what its size is granted at MIN_RATE."""
MIN_RATE = 64 * 1024
"""Bytes a second that a large body has to come at."""
OPENING_TIMEOUT = 30.0
"""Seconds within which a WebSocket has to bring its first message."""
IDLE_TIMEOUT = 300.0
"""Seconds that a connection lives on while its client neither reads a stream nor asks anything."""
SILENCE_TIMEOUT = 3600.0
"""Seconds without a message in either direction after which a WebSocket is closed."""
KEEP_ALIVE = 15.0
"""Seconds of silence on a stream after which a comment shows that it lives."""

Agents = Handler | Sequence[Handler]
AgentFactory = Callable[[], Agents | Awaitable[Agents]]
"""Makes the agent of one connection, or several, one for each protocol version."""
Authenticator = Callable[[Mapping[str, str]], Any]
"""Tells from the headers who asks: the principal; None, False or "" for nobody. May be a coroutine function."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How an app serves its connections. Sizes are bytes, times are seconds."""

    max_message: int = MAX_MESSAGE
    max_output: int = MAX_OUTPUT
    max_kept: int = MAX_KEPT
    max_connections: int = MAX_CONNECTIONS
    max_sessions: int = MAX_SESSIONS
    max_in_flight: int = MAX_IN_FLIGHT
    max_queued: int = MAX_QUEUED
    body_timeout: float = BODY_TIMEOUT
    opening_timeout: float = OPENING_TIMEOUT
    idle_timeout: float = IDLE_TIMEOUT
    silence_timeout: float | None = SILENCE_TIMEOUT
    keep_alive: float = KEEP_ALIVE
    strict: bool = False
    gates: bool = True
    observer: Observer | None = None
    subprotocols: tuple[str, ...] = ()

"""When a connection reads: not while too much is queued, nor while its answers are not taken, nor before it may."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable

from .transports import Transport
from .transports.lines import Oversized

HOLD = "hold"
log = logging.getLogger("acp_bindings")


class Flow:
    """Hands frames on to `take`, unless they are held. Reading is paused as long as there is any reason for it."""

    def __init__(self, transport: Transport, take: Callable[[bytes | Oversized], None]) -> None:
        self._transport = transport
        self._take = take
        self._reasons: set[str] = set()
        self.holding = False
        self._held: deque[bytes | Oversized] = deque()

    def is_paused(self, why: str) -> bool:
        return why in self._reasons

    def pause(self, why: str) -> None:
        """Stop reading. Frames that come all the same are handed on, unless the reason is HOLD."""
        self._reasons.add(why)
        self.holding = HOLD in self._reasons
        self._transport.pause()

    def resume(self, why: str) -> None:
        if why in self._reasons:
            self._reasons.remove(why)
            if not self._reasons:
                self._transport.resume()

    def release(self) -> None:
        """Hand on what was held, up to a frame that makes it hold again."""
        if not self.holding:
            return
        self.holding = False
        self._reasons.remove(HOLD)
        held = list(self._held)
        self._held.clear()
        self.received(held)
        if not self._reasons:
            self._transport.resume()

    def received(self, frames: Iterable[bytes | Oversized]) -> None:
        """Frames that the transport brought."""
        for frame in frames:
            if self.holding:
                self._held.append(frame)
                continue
            try:
                self._take(frame)
            except Exception:
                log.exception("a frame could not be handled")

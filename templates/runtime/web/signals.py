"""The signals by which a process is asked to end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def noticed(call: Callable[[], object]) -> Iterator[None]:
    """Call something in the event loop when one of them comes, before whoever handles it already.

    Servers tell an app that they stop only when no request is left, and an open stream is one: the app has to learn of
    it earlier. A signal that nobody handles, and signals outside the main thread, are left alone.
    """
    replaced: dict[signal.Signals, tuple[Any, Any]] = {}
    if threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            previous = signal.getsignal(number)
            if callable(previous):
                handler = _before(previous, loop, call)
                signal.signal(number, handler)
                replaced[number] = (handler, previous)
    try:
        yield
    finally:
        for number, (handler, previous) in replaced.items():
            if signal.getsignal(number) is handler:
                signal.signal(number, previous)


def _before(
    previous: Callable[[int, FrameType | None], Any], loop: asyncio.AbstractEventLoop, call: Callable[[], object]
) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, frame: FrameType | None) -> None:
        # The loop may be closed: then there is nothing left to end.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(call)
        previous(number, frame)

    return handle

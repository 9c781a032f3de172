"""Coroutines in tests: run to the end, under a guard of time, and nothing that went wrong in the background is lost."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
GUARD = 60.0
"""Seconds after which a test hangs. No test waits for it: it only ends what would never end."""


def run(test: Callable[[], Awaitable[T]], guard: float = GUARD) -> T:
    """Run `test()`; fails when it takes longer than `guard` seconds, or when a task or a callback failed unseen."""
    unseen: list[dict[str, Any]] = []

    async def guarded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        async with asyncio.timeout(guard):
            return await test()

    result = asyncio.run(guarded())
    # Errors that nobody retrieved and resources that nobody closed are told when their owners are collected.
    gc.collect()
    assert [(one.get("message"), repr(one.get("exception"))) for one in unseen] == []
    return result

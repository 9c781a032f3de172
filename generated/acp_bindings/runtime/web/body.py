"""A request's body, within the limits of size and time."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.requests import Request

from ..transports.lines import KEPT
from .refusals import Refused, hanging_up
from .settings import MIN_RATE

LINGER = 1.0
"""Seconds for which a body that is refused is still taken off the wire: who is sending reads no answer."""


class TooLarge(Exception):
    """A body over the limit; `head` is its beginning, `size` what is known of its length."""

    def __init__(self, size: int, head: bytes) -> None:
        super().__init__(size)
        self.size = size
        self.head = head


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """The whole body. Raises TooLarge, Refused (408), and starlette's ClientDisconnect."""
    declared = request.headers.get("content-length", "")
    promised = int(declared[:15]) if declared.isdecimal() and declared.isascii() else 0
    if promised > limit and "expect" in request.headers:
        # It waits for permission to send, which it does not get.
        raise TooLarge(promised, b"")
    loop = asyncio.get_running_loop()
    start = loop.time()
    body = bytearray()
    async with contextlib.aclosing(request.stream()) as chunks:
        try:
            async with asyncio.timeout(seconds) as guard:
                async for chunk in chunks:
                    body += chunk
                    if max(promised, len(body)) > limit:
                        break
                    guard.reschedule(start + seconds + len(body) / MIN_RATE)
                else:
                    return bytes(body)
        except TimeoutError:
            detail = f"{len(body)} bytes of a body came in {loop.time() - start:.1f} s"
            raise Refused(408, "the body takes too long", headers=hanging_up(request), detail=detail) from None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                async for _ in chunks:
                    pass
    raise TooLarge(max(promised, len(body)), bytes(body[:KEPT]))

"""A stream of events that a server keeps open, opened again when it drops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import cast

import httpx

from ..errors import HttpError
from .lines import Oversized
from .sse import read_events

log = logging.getLogger("acp_bindings.http")

MAX_REOPENS = 8
"""Times in a row that a stream is opened again without having brought anything."""
FIRST_DELAY = 0.1
"""Seconds before a stream is opened again for the first time; each further time takes twice as long."""
LONGEST_DELAY = 5.0
"""Seconds that opening again waits at most, whatever the server asks for."""
STEADY = 30.0
"""Seconds after which a stream counts as one that worked, though it brought nothing."""
EXCERPT = 8 * 1024
"""Bytes of an error's body that are read."""
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses that may be others the next time: trouble on the way, a server that has not noticed yet that we are gone."""
UNKNOWN = frozenset({404, 410})
"""Statuses of a server that does not know what it was asked about."""
MAX_CAUSES = 8
"""Causes of a failed connection that are looked into."""

GetStream = Callable[[Mapping[str, str]], contextlib.AbstractAsyncContextManager[httpx.Response]]
OnLost = Callable[[str | None, Exception], object]


def told(error: Exception) -> str:
    """What httpx says of an error; some say nothing but their name.

    Of a failed connection it may say no more than that all attempts failed. What the system said is innermost.
    """
    text = str(error)
    inner: BaseException | None = error if isinstance(error, httpx.ConnectError) else None
    for _ in range(MAX_CAUSES):
        if isinstance(inner, BaseExceptionGroup):
            # One for each address that was tried.
            inner = inner.exceptions[0]
        if inner is None:
            break
        if isinstance(inner, OSError):
            text = str(inner) or text
        # httpcore hides the cause of its own error.
        inner = inner.__cause__ or inner.__context__
    return text or type(error).__name__


async def refusal(what: str, response: httpx.Response) -> HttpError:
    """The error that a response of failure stands for, with the beginning of its body."""
    body = b""
    with contextlib.suppress(httpx.HTTPError):
        body = await read_bounded(response, EXCERPT)
    reason = f"the server answered {what} with {response.status_code} {response.reason_phrase}".rstrip()
    if response.has_redirect_location:
        reason += f", which leads to {response.headers['location']}"
    return HttpError(reason, response.status_code, body.decode("utf-8", "replace"))


async def read_bounded(response: httpx.Response, limit: int) -> bytes:
    """A response's body, or as much of it as exceeds the limit a little. Raises httpx.HTTPError."""
    pieces: list[bytes] = []
    size = 0
    async with contextlib.aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as coming:
        async for piece in coming:
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                break
    return b"".join(pieces)


class EventStream:
    """One stream. `run` reads it until there is no hope left or `retire` was called; frames go to `take`, in order.

    `opened` is set once the server has begun to answer, or will not. While `gate` is not set, nothing is read.
    """

    def __init__(
        self,
        session: str,
        get: GetStream,
        take: Callable[[bytes | Oversized], None],
        gate: asyncio.Event,
        *,
        limit: int,
        max_reopens: int,
        on_lost: OnLost | None,
    ) -> None:
        self.session = session
        self.name = f"the stream of session {session}" if session else "the connection's stream"
        self.opened = asyncio.Event()
        self.is_open = False
        self._get = get
        self._take = take
        self._gate = gate
        self._limit = limit
        self._max_reopens = max_reopens
        self._on_lost = on_lost
        self._retired = False
        self._last_id = ""
        self._delay = FIRST_DELAY
        self._brought = False
        self._since = math.inf

    def retire(self) -> None:
        """Do not open it again."""
        self._retired = True

    async def run(self) -> None:
        """Returns once it was retired. Raises HttpError when it will bring nothing more."""
        failures = 0
        while True:
            try:
                failure: Exception = await self._read()
            except HttpError as error:
                if error.status not in PASSING:
                    raise
                failure = error
            except httpx.PoolTimeout:
                raise HttpError(f"{self.name} finds no connection in the pool of the httpx client") from None
            except Exception as error:
                # Whatever httpx raises, or what the user has put in its place.
                failure = HttpError(f"{self.name} broke off: {told(error)}")
            finally:
                self.is_open = False
                self.opened.set()
            if self._retired:
                return
            lasted = asyncio.get_running_loop().time() - self._since
            failures = 1 if self._brought or lasted > STEADY else failures + 1
            if failures > self._max_reopens:
                raise HttpError(f"{failure}; opened {self._max_reopens} times more, it brought nothing")
            self._report(failure)
            await asyncio.sleep(min(self._delay * 2 ** (failures - 1), LONGEST_DELAY))

    def _report(self, failure: Exception) -> None:
        log.warning("%s: opening it again", failure)
        if self._on_lost is None:
            return
        try:
            self._on_lost(self.session or None, failure)
        except Exception:
            log.exception("the callback for lost streams failed")

    async def _read(self) -> HttpError:
        """Open it once and read to its end. Raises HttpError for a status of failure."""
        self._brought, self._since = False, math.inf
        headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
        async with self._get(headers) as response:
            if response.status_code != 200:
                raise await refusal(f"the request for {self.name}", response)
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "text/event-stream":
                found = kind or "no content type"
                raise HttpError(f"the server answered the request for {self.name} with {found}", 200)
            self.is_open = True
            self.opened.set()
            self._since = asyncio.get_running_loop().time()
            async for event in read_events(self._chunks(response), self._limit, self._take):
                self._brought = True
                self._last_id = event.id
                if event.retry is not None:
                    self._delay = min(max(event.retry / 1000, FIRST_DELAY), LONGEST_DELAY)
        return HttpError(f"the server ended {self.name}")

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        chunks = response.aiter_bytes()
        while True:
            await self._gate.wait()
            try:
                yield await anext(chunks)
            except StopAsyncIteration:
                return

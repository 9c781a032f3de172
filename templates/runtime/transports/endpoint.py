"""A server's URL, and the requests that a client makes there."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import httpx

from ..errors import HttpError
from .clients import Clients, timeouts
from .lines import KEPT, Oversized
from .outline import outline
from .streams import UNKNOWN, log, read_bounded, refusal, told

CONNECTION_ID = "Acp-Connection-Id"
SESSION_ID = "Acp-Session-Id"
MOVES = 3
"""Times that the first message follows a redirect."""
ASKING = {"Content-Type": "application/json", "Accept": "application/json"}
LISTENING = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"}


class Endpoint:
    """Where a connection is, once it was opened. `headers` and what names the connection go with every request.

    `silence` is the seconds that a stream may bring nothing.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str] | None, client: httpx.AsyncClient | None, silence: float | None
    ) -> None:
        self.url = httpx.URL(url)
        if self.url.scheme not in ("http", "https") or not self.url.host:
            raise ValueError(f"no http:// or https:// URL: {url}")
        self.connection_id = ""
        self._headers = httpx.Headers(headers, encoding="utf-8")
        self._silence = silence
        self._clients = Clients(client)

    def _own(self, session: str, more: Mapping[str, str]) -> httpx.Headers:
        """The user's headers, those that name the connection and the session, and `more`."""
        headers = self._headers.copy()
        names = {CONNECTION_ID: self.connection_id, SESSION_ID: session}
        for name, value in {**more, **names}.items():
            if value:
                headers[name] = value
        return headers

    @contextlib.asynccontextmanager
    async def post(self, frame: bytes, session: str, trace: Any = None) -> AsyncIterator[httpx.Response]:
        """POST a message. `trace` is told how far the request has got, as httpx calls it."""
        headers, timeout = self._own(session, ASKING), timeouts(None)
        extensions = {} if trace is None else {"trace": trace}
        async with (
            self._clients.lend() as client,
            client.stream(
                "POST", self.url, content=frame, headers=headers, timeout=timeout, extensions=extensions
            ) as response,
        ):
            yield response

    @contextlib.asynccontextmanager
    async def listen(self, session: str, more: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """Open a stream."""
        headers, timeout = self._own(session, {**LISTENING, **more}), timeouts(self._silence)
        async with (
            self._clients.lend() as client,
            client.stream("GET", self.url, headers=headers, timeout=timeout) as response,
        ):
            yield response

    async def open(self, frame: bytes, limit: int) -> tuple[bytes | Oversized, bool]:
        """Make a connection with the first message: its answer, and whether it was one of success.

        A redirect on the same server is followed. Raises HttpError, and whatever httpx does.
        """
        status = 0
        for _ in range(MOVES + 1):
            async with self.post(frame, "") as response:
                status = response.status_code
                moved = response.next_request if response.status_code in (307, 308) else None
                if moved is not None and _origin(moved.url) == _origin(self.url):
                    self.url = moved.url
                    continue
                if not response.is_success:
                    raise await refusal(f"initialize at {self.url}", response)
                body = await answered(response, limit)
                self.connection_id = response.headers.get(CONNECTION_ID, "")
                # Where the agent refuses there need be no connection.
                refused = isinstance(body, bytes) and outline(body).failed
                if body is not None and (self.connection_id or refused):
                    return body, not refused
                missing = "" if self.connection_id else f", without {CONNECTION_ID}"
                reason = f"no ACP server at {self.url}: it answered with {response.status_code}{missing}"
                raise HttpError(reason, response.status_code)
        raise HttpError(f"{self.url} redirects more than {MOVES} times", status)

    async def delete(self, seconds: float) -> None:
        """Tell the server that the connection is over, if it hears that within so many seconds."""
        try:
            with plainly():
                async with asyncio.timeout(seconds), self._clients.lend() as client:
                    answer = await client.delete(self.url, headers=self._own("", {}))
            if not answer.is_success and answer.status_code not in UNKNOWN:
                log.warning("the server answered the end of the connection with %d", answer.status_code)
        except HttpError as error:
            log.warning("the server was not told of the end of the connection: %s", error)

    async def close(self) -> None:
        await self._clients.close()


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Whatever httpx raises, or what the user has put in its place, as an HttpError without a status."""
    try:
        yield
    except HttpError:
        raise
    except httpx.PoolTimeout:
        raise HttpError("the httpx client has no connection left in its pool") from None
    except Exception as error:
        raise HttpError(told(error)) from error


async def answered(response: httpx.Response, limit: int) -> bytes | Oversized | None:
    """The message that a response of success brings: a 200 with JSON may. Raises httpx.HTTPError."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code != 200 or kind != "application/json":
        return None
    body = (await read_bounded(response, limit)).strip()
    if len(body) > limit:
        return Oversized(len(body), limit, body[:KEPT], body[-KEPT:])
    return body or None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port

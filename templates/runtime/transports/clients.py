"""The httpx clients that one connection uses."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import ssl
from collections.abc import AsyncIterator
from http.cookiejar import CookieJar

import httpx

CONNECT_TIMEOUT = 10.0
"""Seconds in which a server has to accept a connection."""
WRITE_TIMEOUT = 60.0
"""Seconds that a server may take nothing of what is sent to it."""
EXPIRY = 2.0
"""Seconds that a connection without a request is kept: less than servers do, which else close it under a request."""
IDLE = 20
"""Clients without a request that are kept."""


def timeouts(silence: float | None) -> httpx.Timeout:
    """A server may take its time to answer; a stream may be silent for `silence` seconds."""
    return httpx.Timeout(connect=CONNECT_TIMEOUT, write=WRITE_TIMEOUT, pool=CONNECT_TIMEOUT, read=silence)


@functools.cache
def _trust() -> ssl.SSLContext:
    """What is trusted; reading all certificates takes longer than a connection does."""
    return httpx.create_ssl_context()


class Clients:
    """Lends out clients that have no other request under way; all have the same cookies.

    With HTTP/2, requests of one client share a connection, and httpx lets them wait for each other: the answer to one
    lies unread while another one, which the server is silent on, has its turn at reading. Streams are silent for hours.
    Besides, a connection carries a hundred requests at most. A client of the user's own is used for everything, and is
    not closed.
    """

    def __init__(self, given: httpx.AsyncClient | None = None) -> None:
        self._given = given
        self._cookies = CookieJar()
        self._http2 = importlib.util.find_spec("h2") is not None
        self._idle: list[httpx.AsyncClient] = []

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client for one request."""
        if self._given is not None:
            yield self._given
            return
        client = self._idle.pop() if self._idle else self._make()
        try:
            yield client
        finally:
            if len(self._idle) < IDLE:
                self._idle.append(client)
            else:
                await client.aclose()

    def _make(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=None, keepalive_expiry=EXPIRY)
        return httpx.AsyncClient(verify=_trust(), http2=self._http2, cookies=self._cookies, limits=limits)

    async def close(self) -> None:
        """Close those that are not lent out."""
        idle, self._idle = self._idle, []
        for client in idle:
            await client.aclose()

"""The httpx clients that one connection uses."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import ssl
from collections.abc import Iterator
from http.cookiejar import CookieJar

import httpx

CONNECT_TIMEOUT = 10.0
"""Seconds in which a server has to accept a connection."""
WRITE_TIMEOUT = 60.0
"""Seconds that a server may take nothing of what is sent to it."""
EXPIRY = 2.0
"""Seconds that a connection without a request is kept: less than servers do, which else close it under a request."""
STREAMS_EACH = 50
"""Streams over one client. With HTTP/2 a client has one connection, and 100 requests at once is all that it carries."""


def timeouts(silence: float | None) -> httpx.Timeout:
    """A server may take its time to answer; a stream may be silent for `silence` seconds."""
    return httpx.Timeout(connect=CONNECT_TIMEOUT, write=WRITE_TIMEOUT, pool=CONNECT_TIMEOUT, read=silence)


@functools.cache
def _trust() -> ssl.SSLContext:
    """What is trusted; reading all certificates takes longer than a connection does."""
    return httpx.create_ssl_context()


class Clients:
    """Where requests go out: one client for messages, and as many as it takes for streams, with the same cookies.

    Streams never keep a message waiting so, however many there are. With a client of the user's own, which is not
    closed, everything goes over that one.
    """

    def __init__(self, given: httpx.AsyncClient | None = None) -> None:
        self._given = given
        self._cookies = CookieJar()
        self._http2 = importlib.util.find_spec("h2") is not None
        self.messages = given if given is not None else self._make()
        # Each with the number of streams that it carries.
        self._streaming: list[tuple[httpx.AsyncClient, int]] = []

    def _make(self) -> httpx.AsyncClient:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=EXPIRY)
        return httpx.AsyncClient(verify=_trust(), http2=self._http2, cookies=self._cookies, limits=limits)

    @contextlib.contextmanager
    def streaming(self) -> Iterator[httpx.AsyncClient]:
        """The client for one more stream."""
        if self._given is not None:
            yield self._given
            return
        place = next((place for place, (_, count) in enumerate(self._streaming) if count < STREAMS_EACH), None)
        if place is None:
            place = len(self._streaming)
            self._streaming.append((self._make(), 0))
        client, count = self._streaming[place]
        self._streaming[place] = client, count + 1
        try:
            yield client
        finally:
            client, count = self._streaming[place]
            self._streaming[place] = client, count - 1

    async def close(self) -> None:
        if self._given is None:
            for client in (self.messages, *(client for client, _ in self._streaming)):
                await client.aclose()

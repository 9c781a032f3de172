"""HTTP/1.1 by hand, for what no client library sends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Raw:
    """One TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str) -> None:
        self.reader = reader
        self.writer = writer
        self._url = url

    @classmethod
    async def open(cls, url: str) -> Raw:
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port), url)

    async def send(self, method: str, *headers: str, body: bytes = b"") -> None:
        """A request; `headers` are whole lines, and say by themselves how long the body is."""
        parts = urlsplit(self._url)
        lines = [f"{method} {parts.path} HTTP/1.1", f"Host: {parts.netloc}", *headers]
        self.writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        await self.writer.drain()

    async def answer(self) -> Answer:
        """The next response, whose body has a length."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(head[0].split()[1]), headers, body)

    async def ended(self) -> bool:
        """Whether the server closes the connection, with nothing more to say."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    def half_close(self) -> None:
        self.writer.write_eof()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()

"""A web server on loopback whose answers a test spells out, down to the bytes and when they come."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

Send: TypeAlias = Callable[[bytes], None]
Answer: TypeAlias = Callable[[Send], None]
"""Writes an answer; when it returns, the connection ends."""


class Server(socketserver.ThreadingTCPServer):
    """Answers by path, 404 for all others; `asked` has the paths in order, `left` is set when a test is over."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.left = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class _Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        while self.rfile.readline().strip():
            pass
        self.server.asked.append(path)

        def send(data: bytes) -> None:
            self.wfile.write(data)
            self.wfile.flush()

        try:
            self.server.answers.get(path, plain(404))(send)
        except OSError:
            return  # the client has seen enough


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01}).start()
        try:
            yield server
        finally:
            server.left.set()
            server.shutdown()


def plain(status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
    """An ordinary answer."""
    listed = {"Content-Length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in listed.items() if value)
    return lambda send: send(f"HTTP/1.1 {status} Said So\r\n{head}\r\n".encode("latin-1") + body)


def redirect(target: str, status: int = 302) -> Answer:
    return plain(status, headers={"Location": target})

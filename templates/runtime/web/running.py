"""The app under uvicorn, with the settings that go with it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

import uvicorn

from .app import AcpApp
from .workers import ADVICE

GRACEFUL = 10
"""Seconds that uvicorn gives requests to end once it shuts down."""


class Server(uvicorn.Server):
    """Ends the app's connections first, where it is no signal that ends it: uvicorn waits for open streams."""

    def __init__(self, app: AcpApp, config: uvicorn.Config, on_start: Callable[[str], object] | None) -> None:
        super().__init__(config)
        self._app = app
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        bound = [one.getsockname() for server in self.servers for one in server.sockets]
        if self._on_start is not None and bound:
            self._on_start(self._url(bound[0]))

    def _url(self, address: Any) -> str:
        if isinstance(address, str):
            return address
        host, port = address[:2]
        scheme = "https" if self.config.is_ssl else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{self._app.path}"

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.shutdown()
        await super().shutdown(sockets)


async def run(
    app: AcpApp,
    host: str,
    port: int,
    workers: int,
    on_start: Callable[[str], object] | None,
    options: Mapping[str, Any] | None,
) -> None:
    """Serve until a signal ends it, or this task is cancelled; both let what goes on end.

    Raises ValueError for several workers, OSError or SystemExit as uvicorn does.
    """
    if workers != 1:
        raise ValueError(f"{workers} workers: {ADVICE}")
    settings: dict[str, Any] = {
        "ws_max_size": app.settings.max_message,
        "timeout_graceful_shutdown": GRACEFUL,
        "lifespan": "on",
        **(options or {}),
    }
    server = Server(app, uvicorn.Config(app, host, port, **settings), on_start)
    serving = asyncio.get_running_loop().create_task(server.serve())
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await asyncio.shield(serving)
        raise

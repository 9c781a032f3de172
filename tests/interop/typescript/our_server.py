"""Our agents behind HTTP and WebSocket, for the SDK's clients; prints the URL. `our_server.py v2 v1`, say."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from acp_bindings import http

from tests.interop.typescript.our_agent import AGENTS


def agents() -> list[Any]:
    return [AGENTS[name]() for name in sys.argv[1:]]


def tell(url: str) -> None:
    print(url, flush=True)


if __name__ == "__main__":
    asyncio.run(http.serve(agents, port=0, strict=True, on_start=tell, uvicorn_options={"access_log": False}))

"""Serves an agent over HTTP and WebSocket, for as long as nobody stops it. Needs acp-bindings[http,ws].

    python examples/serve_http.py --port 8000
    ACP_TOKEN=secret python examples/serve_http.py --port 8001 --affinity a

Connections live in this process. For more than one, run each on a port of its own, with an `--affinity` of its own,
behind a proxy that goes by the cookie which that sets: docs/deploying.md.
"""

import argparse
import asyncio
import logging
import os

from acp_bindings import http, v1, v2


class Echo(v2.SessionAgent):
    """Says back what it is told, and which process it runs in."""

    info = v2.Implementation(name="echo", version="1.0")

    async def turn(self, session: v2.AgentSession, prompt: list[v2.ContentBlock]) -> None:
        await session.say(f"process {os.getpid()}: ")
        for block in prompt:
            await session.say(block)


class EchoV1(v1.SessionAgent):
    """The same for clients that speak version 1."""

    info = v1.Implementation(name="echo", version="1.0")

    async def turn(self, session: v1.AgentSession, prompt: list[v1.ContentBlock]) -> None:
        await session.say(f"process {os.getpid()}: ")
        for block in prompt:
            await session.say(block)


def agents() -> list[v2.Agent | v1.Agent]:
    """One set for each connection."""
    return [Echo(), EchoV1()]


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve an echo agent over HTTP and WebSocket.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--affinity", help="what the cookie says by which a proxy finds this process again")
    parser.add_argument("--origin", action="append", help="a page that may connect from a browser; repeatable")
    parser.add_argument("--workers", type=int, default=1, help="refused when more than one: see docs/deploying.md")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    serving = http.serve(
        agents,
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers,
        on_start=lambda url: print(url, flush=True),
        token=os.environ.get("ACP_TOKEN"),
        allowed_origins=arguments.origin,
        affinity=arguments.affinity,
    )
    try:
        asyncio.run(serving)
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

"""A page in a real browser: one of an allowed origin talks to the agent, one of a foreign origin is refused.

Which pages may come in is decided here (protocol-facts: W), since neither peer of ours checks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.interop.deployment.processes import LONG, needed, running, serving
from tests.support.aio import run

pytestmark = pytest.mark.interop
PAGE = """<!doctype html><meta charset="utf-8"><title>ACP</title><script>
const heard = [];
const tell = what => fetch("/told", {method: "POST", body: JSON.stringify({what, heard, origin: location.origin})});
const socket = new WebSocket("URL");
const send = message => socket.send(JSON.stringify({jsonrpc: "2.0", ...message}));
const info = {name: "page", version: "1"};
socket.onopen = () => send({id: 1, method: "initialize", params: {protocolVersion: 2, info}});
socket.onerror = () => tell("refused");
socket.onmessage = event => {
  const message = JSON.parse(event.data);
  heard.push(message);
  if (message.id === 1) send({id: 2, method: "session/new", params: {cwd: "/home/me"}});
  if (message.id === 2) send({id: 3, method: "session/prompt",
    params: {sessionId: message.result.sessionId, prompt: [{type: "text", text: "grüß dich"}]}});
  if (message.params?.update?.state === "idle") tell("answered");
};
</script>"""


class Pages:
    """A web server that has one page, and hears what the page tells."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.page = b""
        loop = asyncio.get_running_loop()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(pages.page if self.path == "/" else b"")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                loop.call_soon_threadsafe(pages.told.put_nowait, body)
                self._answer(b"")

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the test tells what went wrong."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]

    def show(self, agent: str) -> None:
        """The page talks to the agent at this url."""
        self.page = PAGE.replace("URL", agent.replace("http:", "ws:")).encode()

    @contextlib.contextmanager
    def open(self) -> Iterator[Pages]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


@contextlib.asynccontextmanager
async def browsing(url: str, folder: Path) -> AsyncIterator[None]:
    """Chromium with one page, for which evil.example is this machine."""
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--host-resolver-rules=MAP evil.example 127.0.0.1",
        f"--user-data-dir={folder}",
    ]
    async with running(needed("chromium"), *options, url):
        yield


def visit(tmp_path: Path, host: str, *options: str, origin: bool = False) -> dict[str, Any]:
    """What a page of a host tells that opens a WebSocket to an agent; `origin` allows that page's own origin."""

    async def main() -> dict[str, Any]:
        # The agent has to know the page's origin before there is a page, and the page the agent's url.
        pages = Pages()
        allowed = ("--origin", f"http://{host}:{pages.port}") if origin else ()
        with pages.open():
            async with serving(*options, *allowed) as (url, _):
                pages.show(url)
                async with browsing(f"http://{host}:{pages.port}/", tmp_path), asyncio.timeout(LONG):
                    return await pages.told.get()

    return run(main, 3 * LONG)


def test_a_page_of_this_machine(tmp_path: Path) -> None:
    told = visit(tmp_path, "127.0.0.1")
    assert told["what"] == "answered", told
    said = [
        message["params"]["update"]["content"]["text"]
        for message in told["heard"]
        if message.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
    ]
    assert said[-1] == "grüß dich"


def test_a_page_of_a_foreign_origin_is_refused(tmp_path: Path) -> None:
    told = visit(tmp_path, "evil.example")
    assert told["origin"].startswith("http://evil.example:")
    assert told["what"] == "refused" and told["heard"] == []


def test_a_page_of_an_origin_that_is_listed(tmp_path: Path) -> None:
    assert visit(tmp_path, "evil.example", origin=True)["what"] == "answered"


def test_a_page_of_this_machine_that_is_not_listed(tmp_path: Path) -> None:
    told = visit(tmp_path, "127.0.0.1", "--origin", "https://chat.example.com")
    assert told["what"] == "refused" and told["heard"] == []

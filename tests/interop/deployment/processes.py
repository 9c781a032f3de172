"""Programs that tests start on loopback: what they are, where they listen, and that they end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "serve_http.py"
PAGE = ROOT / "docs" / "deploying.md"
LONG = 30.0
"""Seconds that a program gets to start, and to end once it was told to."""


def needed(program: str) -> str:
    """The path of a program of the machine's, or a skip that says by name what was not tried."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"DEPLOYMENT NOT TRIED: {program} is not installed (Debian's package has that name)")
    return found


@contextlib.asynccontextmanager
async def running(*command: str, env: dict[str, str] | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program, up to the end of the context."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(LONG):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@contextlib.asynccontextmanager
async def serving(*options: str) -> AsyncIterator[tuple[str, int]]:
    """The example that serves over HTTP, as its url and its process's id."""
    env = {"PYTHONPATH": str(ROOT / "generated")}
    async with running(sys.executable, str(EXAMPLE), "--port", "0", *options, env=env) as process:
        assert process.stdout is not None
        async with asyncio.timeout(LONG):
            url = (await process.stdout.readline()).decode().strip()
        assert url.startswith("http://"), f"{EXAMPLE.name} said {url!r}"
        yield url, process.pid


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def nginx(folder: Path, processes: dict[str, int], port: int) -> AsyncIterator[None]:
    """nginx with the configuration of the page on deploying, its ports replaced by those of this test."""
    program = needed("nginx")
    block = re.search(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    text = block[1].replace("listen 8000;", f"listen 127.0.0.1:{port};")
    for written, actual in processes.items():
        assert written in text
        text = text.replace(written, f"127.0.0.1:{actual}")
    text = text.replace("/var/log/nginx/acp.log", str(folder / "acp.log"))
    scratch = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;"
        f"events {{ worker_connections 4096; }} worker_rlimit_nofile 8192; http {{ {scratch}\n{text}\n}}"
    )
    async with running(program, "-c", str(config), "-p", str(folder), "-e", str(folder / "error.log")) as process:
        await _listens(port, process, folder / "error.log")
        yield


async def _listens(port: int, process: asyncio.subprocess.Process, log: Path) -> None:
    async with asyncio.timeout(LONG):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.01)  # nginx does not say when it listens
                continue
            writer.close()
            return

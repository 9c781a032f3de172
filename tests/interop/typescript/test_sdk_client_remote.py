"""The SDK's clients drive our agents over HTTP and WebSocket: all that they see is what they see over stdio."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.interop.typescript.node import ROOT, converse, converse_with

pytestmark = pytest.mark.interop

# The client's script and the version it speaks, and the agents that it is offered.
CLIENTS = {
    "v2": ("client_v2.mjs", "v2", ("v2", "v1")),
    "v2-unstable": ("client_v2.mjs", "v2-unstable", ("v2-unstable", "v1")),
    "v1": ("client_v1.mjs", "1", ("v2", "v1")),
}


@contextlib.contextmanager
def server(*agents: str) -> Iterator[str]:
    """Our server in a process of its own; its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.interop.typescript.our_server", *agents],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "generated")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert "Exception in ASGI" not in errors and "did not end" not in errors


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_same_conversation(client: str, scheme: str) -> None:
    script, argument, agents = CLIENTS[client]
    over_stdio, _ = converse(script, argument, *agents)
    with server(*agents) as url:
        remote, _ = converse_with(script, argument, url.replace("http", scheme, 1))
    assert "failure" not in remote and remote == over_stdio

"""Goose itself, or a skip that says by name what was not tried, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.goose.binary import PACKAGE, install, pinned
from tests.interop.goose.harness import Goose
from tests.support.npm import UnavailableError


@pytest.fixture(scope="session")
def goose() -> Path:
    """The binary's path."""
    try:
        return install()
    except UnavailableError as reason:
        pytest.skip(f"GOOSE INTEROP NOT RUN: {PACKAGE} {pinned()} cannot be had: {reason}")


WAYS = {
    "stdio": ("stdio", ""),
    "http": ("http", ""),
    "http with a key": ("http", "sesame"),
    "websocket": ("ws", ""),
    "websocket with a key": ("ws", "sesame"),
}


@pytest.fixture(params=WAYS)
def peer(request: pytest.FixtureRequest, goose: Path) -> Goose:
    """Goose on each way to speak to it."""
    return Goose(goose, *WAYS[request.param])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A scratch folder for everything that Goose keeps, and its working directory."""
    return tmp_path

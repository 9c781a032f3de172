"""Node and the SDK, or a skip that says by name what was not tried, and why."""

from __future__ import annotations

import pytest

from tests.interop.typescript.node import SDK, install, pinned
from tests.support.npm import UnavailableError


@pytest.fixture(scope="session", autouse=True)
def _sdk() -> None:
    """Every test here needs the SDK."""
    try:
        install()
    except UnavailableError as reason:
        pytest.skip(f"TYPESCRIPT INTEROP NOT RUN: {SDK} {pinned()} cannot be had: {reason}")

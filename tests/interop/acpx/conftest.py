"""acpx itself, or a skip that says by name what was not tried, and why."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.acpx.acpx import PACKAGE, Acpx, install, pinned
from tests.support.npm import UnavailableError


@pytest.fixture(scope="session")
def command() -> list[str]:
    """What starts acpx."""
    try:
        return install()
    except UnavailableError as reason:
        pytest.skip(f"ACPX INTEROP NOT RUN: {PACKAGE} {pinned()} cannot be had: {reason}")


@pytest.fixture
def driving(command: list[str]) -> Iterator[Callable[[Sequence[str]], Acpx]]:
    """acpx for an agent's command, in a scratch home; its background processes are ended."""
    with ExitStack() as stack:

        def made(agent: Sequence[str]) -> Acpx:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="acpx")))
            acpx = Acpx(command, agent, home)
            stack.callback(acpx.end)
            return acpx

        yield made

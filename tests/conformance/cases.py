"""What tests run over: the agents, and the versions that each of them serves."""

from __future__ import annotations

import pytest

from tests.conformance.wire import ECHO, FULL, STREAMING

_AGENTS = {"echo": ECHO, "streaming": STREAMING, "full": FULL}
agents = pytest.mark.parametrize("command", _AGENTS.values(), ids=_AGENTS)
versions = pytest.mark.parametrize("version", [1, 2])


def some(**named: tuple[str, ...]) -> pytest.MarkDecorator:
    """Some of the agents, by names for what is made of them."""
    return pytest.mark.parametrize("command", named.values(), ids=named)

"""The transports that the behaviour suite runs over."""

from __future__ import annotations

import pytest

from tests.package.connection.links import LINKS
from tests.package.connection.wires import Link


@pytest.fixture(params=LINKS)
def link(request: pytest.FixtureRequest) -> Link:
    return LINKS[request.param]


@pytest.fixture(params=[name for name, link in LINKS.items() if link.one_way])
def way(request: pytest.FixtureRequest) -> Link:
    """The links of which each side has one way for all of its messages."""
    return LINKS[request.param]

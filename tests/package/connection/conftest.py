"""The transports that the behaviour suite runs over."""

from __future__ import annotations

import pytest

from tests.package.connection.links import LINKS, Link


@pytest.fixture(params=LINKS)
def link(request: pytest.FixtureRequest) -> Link:
    return LINKS[request.param]

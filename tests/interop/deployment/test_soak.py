"""One worker under the load that it is meant for."""

from __future__ import annotations

import pytest

from tests.package.web.soak import Load, soak
from tests.support.aio import run

pytestmark = pytest.mark.interop
GUARD = 600.0


def test_two_hundred_clients_and_fifty_killed() -> None:
    """Nothing is lost or out of order, and a second round of them leaves no task and no object more than the first."""
    load = Load(connections=200, sessions=2, updates=50, killed=50)
    first, second = run(lambda: soak(load, rounds=2), GUARD)
    assert second.tasks == first.tasks and second.objects < first.objects + load.connections

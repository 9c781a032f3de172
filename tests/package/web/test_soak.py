"""The small soak: the full one is `python -m tests.package.web.soak`."""

from __future__ import annotations

from tests.package.web.soak import Load, soak
from tests.support.aio import run


def test_many_clients_leave_nothing_behind() -> None:
    """Nothing is lost or out of order, and no message of the later rounds has left an object."""
    first, *later = run(lambda: soak(Load(connections=20, sessions=2, updates=50, killed=5), rounds=3))
    for found in later:
        assert found.tasks == first.tasks and found.objects < first.objects + found.messages

"""The small soak: the full one is `python -m tests.package.web.soak`."""

from __future__ import annotations

from itertools import pairwise

from tests.package.web.soak import Load, soak
from tests.support.aio import run


def test_many_clients_leave_nothing_behind() -> None:
    """Nothing is lost or out of order, and no message of the later rounds has left an object.

    Compared with the round before: for five seconds uvicorn keeps what it knows of a connection that has ended.
    """
    rounds = run(lambda: soak(Load(connections=20, sessions=2, updates=50, killed=5), rounds=3))
    for before, found in pairwise(rounds):
        assert found.tasks == before.tasks and found.objects < before.objects + found.messages

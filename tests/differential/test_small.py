"""A small differential run: every definition, a few values each. `make differential` is the large one."""

import itertools

import pytest

from .draws import FAULTS, faults, places, requests
from .kinds import KINDS
from .node import ask, install
from .pairs import Difference, differences, paired
from .run import Tally, describe, recognise, run

pytestmark = pytest.mark.npm

VALUES = 4000
SEED = 20
STEP = len(FAULTS) - 1  # no divisor of the number of faults, so that neighbours get different ones


@pytest.fixture(scope="module")
def small_run() -> Tally:
    install()
    return run(itertools.chain(requests(VALUES, SEED), itertools.islice(faults(SEED), 0, None, STEP)))


@pytest.fixture(scope="module")
def shown() -> dict[str, list[Difference]]:
    """What the example of each kind shows."""
    install()
    answered = zip(KINDS, ask(kind.example for kind in KINDS), strict=True)
    return {kind.name: differences(paired(*answer)) for kind, answer in answered}


def test_every_disagreement_is_of_a_known_kind(small_run: Tally) -> None:
    assert [describe(one) for one in small_run.unexplained] == []


def test_every_definition_takes_part(small_run: Tally) -> None:
    assert small_run.definitions == set(places())
    assert small_run.total > VALUES > 4 * len(places()) > 3000


def test_both_sides_mostly_agree_that_a_value_is_good_or_bad(small_run: Tally) -> None:
    assert small_run.outcomes[True, True] > small_run.total / 2
    assert small_run.outcomes[False, False] > small_run.total / 10
    assert 0 < small_run.kinds.total() < small_run.total / 4


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_the_example_of_a_kind_shows_it_and_nothing_else(name: str, shown: dict[str, list[Difference]]) -> None:
    """A kind whose example is no disagreement any more is stale."""
    assert [recognise(difference) for difference in shown[name]] == [[name]]

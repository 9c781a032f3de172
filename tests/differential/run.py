"""One run: values put to both sides, and what came of it."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .kinds import KINDS
from .node import Request, ask
from .pairs import Difference, Pair, differences, paired

LONGEST = 300  # characters of a value that is shown
LARGE = 50_000  # values of a run that shows every kind


@dataclass
class Tally:
    """What a run found. `outcomes` counts values by (we accept, they accept), `kinds` those that show a kind."""

    outcomes: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    definitions: set[tuple[str, str]] = field(default_factory=set)
    unexplained: list[Difference] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.outcomes.total()

    def stale(self) -> list[str]:
        """The kinds that did not occur, though the run was large enough."""
        return [kind.name for kind in KINDS if not self.kinds[kind.name]] if self.total >= LARGE else []

    def add(self, pair: Pair) -> None:
        """Count one value, with each of its differences put to the kinds."""
        self.outcomes[pair.refusal is None, pair.theirs.ok] += 1
        self.definitions.add((pair.request.profile, pair.request.type))
        shown = set()
        for difference in differences(pair):
            recognised = recognise(difference)
            # Two kinds for one difference would mean that one of them is too wide.
            if len(recognised) == 1:
                shown.update(recognised)
            else:
                self.unexplained.append(difference)
        self.kinds.update(shown)


def recognise(difference: Difference) -> list[str]:
    """The names of the kinds that a difference is of."""
    return [kind.name for kind in KINDS if kind.recognises(difference)]


def run(values: Iterable[Request]) -> Tally:
    """Put every value to both sides. Raises RuntimeError when Node fails."""
    tally = Tally()
    for request, answer in ask(values):
        tally.add(paired(request, answer))
    return tally


def describe(difference: Difference) -> str:
    """One difference for people: the value, the place, what each side has there."""
    request = difference.pair.request
    lines = [
        f"{request.profile} {request.type} at {list(difference.path)}",
        f"  value   {_cut(request.value)}",
        f"  ours    {_cut(difference.ours)}",
        f"  theirs  {_cut(difference.theirs)}",
    ]
    if difference.refusal is not None:
        lines.append(f"  refused {list(difference.refusal.path)}: {difference.refusal.reason}")
    lines += [f"  issue   {list(path)}: {message}" for path, message in difference.pair.theirs.issues]
    return "\n".join(lines)


def _cut(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."

"""A large run. Exits with 1 for a disagreement that no kind recognises, or a kind that nothing shows any more."""

import itertools
import sys
import time

import click
from rich.console import Console
from rich.table import Table

from .draws import faults, requests
from .kinds import KINDS
from .node import install
from .pairs import Difference
from .run import Tally, describe, run

MOST_SHOWN = 20  # unexplained differences


@click.command()
@click.option(
    "--count",
    default=100_000,
    show_default=True,
    help="Random values to compare, beside one fault after the other in each property.",
)
@click.option("--seed", default=1, show_default=True, help="What the values are drawn from.")
def main(count: int, seed: int) -> None:
    """Compare `decode` with the validators of the reference TypeScript SDK on random values."""
    console = Console(soft_wrap=True)
    install()
    start = time.perf_counter()
    tally = run(itertools.chain(faults(seed), requests(count, seed)))
    _show(tally, console)
    console.print(f"{tally.total} values, seed {seed}, {time.perf_counter() - start:.0f} s", highlight=False)
    for difference in sorted(tally.unexplained, key=_size)[:MOST_SHOWN]:
        console.print(f"\nUNEXPLAINED {describe(difference)}", markup=False, highlight=False)
    for name in tally.stale():
        console.print(f"STALE {name}: no value shows this kind any more", markup=False, highlight=False)
    console.print(f"{len(tally.unexplained)} unexplained differences, {len(tally.stale())} stale kinds")
    if tally.unexplained or tally.stale():
        sys.exit(1)


def _show(tally: Tally, console: Console) -> None:
    outcomes = Table("we", "they", "values", box=None, pad_edge=False)
    for (ours, theirs), number in sorted(tally.outcomes.items(), reverse=True):
        outcomes.add_row(_word(ours), _word(theirs), str(number))
    console.print(outcomes)
    kinds = Table("kind of disagreement", "values", "why ours stands", box=None, pad_edge=False)
    for kind in KINDS:
        kinds.add_row(kind.name, str(tally.kinds[kind.name]), kind.reason)
    console.print(kinds)


def _word(accepted: bool) -> str:
    return "accept" if accepted else "refuse"


def _size(difference: Difference) -> int:
    return len(difference.pair.request.text())


if __name__ == "__main__":
    main()

"""Occurrence tuples against the meaning on many cases: `python -m proofs_tests.campaigns.occurrences`."""

from __future__ import annotations

import sys
from itertools import islice
from random import Random

import click

from cerify.equivalence.generate.expressions import PROFILES, case
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import occurrences
from cerify.semantics.event_expressions.syntax import show

LISTED = 50  # occurrences looked at for one event


@click.command()
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True, help="Cases in all.")
@click.option("--nodes", default=12, show_default=True, help="Size of an expression, at most.")
@click.option("--events", default=10, show_default=True, help="Length of a history, at most.")
@click.option("--seed", default=1, show_default=True)
def main(cases: int, nodes: int, events: int, seed: int) -> None:
    """One line for each profile of expressions; status 1 if anything differs."""
    differ = 0
    for name, profile in PROFILES.items():
        rng = Random(f"{seed}/{name}")
        asked = places = several = repeated = wrong = 0
        for _ in range(cases // len(PROFILES)):
            E, S = case(rng, profile, nodes, events)
            expected = takes_place(E, S)
            asked += 1
            for e in range(len(S)):
                listed = list(islice(occurrences(E, S, e), LISTED))
                places += bool(listed)
                several += len(listed) > 1
                repeated += len(set(listed)) < len(listed)
                if bool(listed) != (e in expected):
                    wrong += 1
                    click.echo(f"  differ: {show(E)} at {e} of {[event.type for event in S]}")
        click.echo(
            f"{name}: {asked:,} cases, {places:,} events with an occurrence, {several:,} with several; "
            f"{wrong} differ from the meaning, {repeated} list one twice"
        )
        differ += wrong + repeated
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

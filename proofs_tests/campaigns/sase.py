"""The two definitions of SASE+ against each other on many cases: `python -m proofs_tests.campaigns.sase`."""

from __future__ import annotations

import sys
from multiprocessing import get_context
from random import Random
from typing import get_args, get_type_hints

import click

from cerify.automata.nfab import run
from cerify.equivalence.generate.sase import PROFILES, case
from cerify.semantics.sase import denote
from cerify.semantics.sase.reading import Reading
from cerify.semantics.sase.show import show
from proofs_tests.unit.semantics.sase.streams import shown

CHOICES = {name: get_args(kind) for name, kind in get_type_hints(Reading).items()}
Counts = tuple[int, int, int, list[str]]


@click.command()
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True, help="Cases in all.")
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--nodes", default=10, show_default=True, help="Size of a query, at most.")
@click.option("--events", default=9, show_default=True, help="Length of a stream, at most.")
def main(cases: int, seed: int, processes: int, nodes: int, events: int) -> None:
    """How many cases, how many with matches, and those in which the definitions differ; status 1 if any do."""
    shares = [(cases // processes, f"{seed}/{number}", nodes, events) for number in range(processes)]
    if processes == 1:
        results = [_share(shares[0])]
    else:
        with get_context("spawn").Pool(processes) as pool:
            results = pool.map(_share, shares)
    asked, matched, several = (sum(result[i] for result in results) for i in range(3))  # type: ignore[misc]
    differ = [line for result in results for line in result[3]]
    for line in differ:
        click.echo(f"  differ: {line}")
    click.echo(f"{asked:,} cases, {matched:,} with a match, {several:,} with several; {len(differ)} differ")
    sys.exit(1 if differ else 0)


def _share(share: tuple[int, str, int, int]) -> Counts:
    cases, seed, nodes, events = share
    rng = Random(seed)
    matched = several = 0
    differ: list[str] = []
    for _ in range(cases):
        q, S = case(rng, rng.choice(list(PROFILES.values())), nodes, events)
        reading = Reading(**{name: rng.choice((values[0], values[0], *values)) for name, values in CHOICES.items()})
        left, right = denote.bindings(q, S, reading), run.bindings(q, S, reading)
        matched += bool(left)
        several += len(left) > 1
        if left != right:
            differ.append(f"{show(q)} on {list(S)} by {reading}: {shown(left)}, but runs {shown(right)}")
    return cases, matched, several, differ


if __name__ == "__main__":
    main()

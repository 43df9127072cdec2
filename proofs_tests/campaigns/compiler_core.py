"""core-CEL compiled, against its meaning: `python -m proofs_tests.campaigns.compiler_core`.

All formulas to four nodes on all streams to three events, those of five nodes with fewer kinds of events, and random
ones to 12 nodes.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import click

from cerify.semantics.core_cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.unit.automata.exhaustive import CORE_OPERATORS as OPERATORS
from proofs_tests.unit.automata.exhaustive import CORE_TWO as TWO
from proofs_tests.unit.automata.exhaustive import drawn, streams, topped
from proofs_tests.unit.automata.exhaustive import wrong_core as wrong

SPACES = ((4, streams(3)), (5, streams(3, TWO)))


@click.command()
@click.option("--formulas", type=click.IntRange(0), default=10_000, show_default=True, help="Random ones.")
@click.option("--first", default=1_000_000, show_default=True, help="The first seed.")
def main(formulas: int, first: int) -> None:
    """One line for each space and operator; status 1 if an automaton departs from the meaning."""
    failed = False
    for nodes, Ss in SPACES:
        click.echo(f"all formulas to {nodes} nodes on {len(Ss)} streams")
        for operator in OPERATORS:
            begun, number = time.monotonic(), 0
            for phi in topped(operator, nodes):
                number += 1
                if (found := wrong(phi, Ss)) is not None:
                    failed = True
                    click.echo(f"  WRONG {found}")
                    break
            click.echo(f"  {operator}: {number:,} formulas in {time.monotonic() - begun:.0f} s")
    tried: Counter[str] = Counter()
    for seed in range(first, first + formulas):
        phi, random_streams = drawn(seed, 12, 7)
        try:
            if (found := wrong(phi, random_streams)) is not None:
                failed = True
                click.echo(f"  WRONG {seed}: {found}")
            tried["cases"] += len(random_streams)
        except BudgetExceeded as error:
            tried["formulas that are too large"] += 1
            click.echo(f"  too large: {show(phi)}: {error.message[:100]}")
    click.echo(", ".join(f"{number:,} {what}" for what, number in tried.items()))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""All small formulas compiled, on all small streams: `python -m proofs_tests.campaigns.compiler`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

import click

from proofs_tests.unit.automata.exhaustive import QUICK, SPACES, Wrong, wrong


def tried(name: str, quick: bool, operator: str) -> tuple[int, Wrong | None]:
    """How many formulas of the space with the operator on top were looked at, and the first that is wrong."""
    space = (QUICK if quick else SPACES)[name]
    number = 0
    for number, phi in enumerate(space.topped(operator), 1):
        if (found := wrong(phi, space)) is not None:
            return number, found
    return number, None


@click.command()
@click.option("--quick", is_flag=True, help="The part that the tests look at.")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
def main(quick: bool, processes: int) -> None:
    """One line for each space and operator; status 1 if an automaton departs from the meaning."""
    failed = False
    with ProcessPoolExecutor(processes) as pool:
        for name, space in (QUICK if quick else SPACES).items():
            click.echo(f"{name}: {space.describe()}")
            begun, total = time.monotonic(), 0
            operators = space.operators
            several = pool.map(tried, [name] * len(operators), [quick] * len(operators), operators)
            for operator, (number, found) in zip(operators, several, strict=True):
                total += number
                failed = failed or found is not None
                click.echo(f"  {operator}: {number:,} formulas" + (f"  WRONG {found}" if found else ""))
            click.echo(f"  {total:,} formulas in {time.monotonic() - begun:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

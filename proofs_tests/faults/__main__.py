"""Long work under faults; a table of what came of each."""

from __future__ import annotations

import sys
from functools import partial

import click

from proofs_tests.faults.run import FAULTS, killed, outcome_of, trial_of
from proofs_tests.faults.works import WORKS
from proofs_tests.robustness import store


@click.command()
@click.argument("works", nargs=-1, type=click.Choice(list(WORKS)))
@click.option("--kills", type=click.IntRange(0), default=50, show_default=True, help="Of each work.")
@click.option("--seed", default=1, show_default=True)
@click.option("--only", type=click.Choice(["killed", *FAULTS]), multiple=True, help="These faults alone.")
@click.option("--store", "stores", is_flag=True, help="Add what came of it to docs/findings/robustness.json.")
def main(works: tuple[str, ...], kills: int, seed: int, only: tuple[str, ...], stores: bool) -> None:
    """A row for each work and fault; status 1 if anything was lost, is there twice, or ended without a message."""
    failed = False
    click.echo("| work | fault | what came of it |\n|---|---|---|")
    for work in works or WORKS:
        with trial_of(WORKS[work], seed) as trial:
            for name, fault in {"killed": partial(killed, kills=kills), **FAULTS}.items():
                if only and name not in only:
                    continue
                outcome, survived = outcome_of(trial, name, fault)
                failed |= not survived
                if outcome:
                    click.echo(f"| {work} | {name} | {outcome} |")
                if outcome and stores:
                    store("faults", work, {name: outcome})
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

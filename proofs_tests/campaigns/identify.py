"""What `cerify identify` finds about engines composed of its axes: `python -m proofs_tests.campaigns.identify`.

Engines composed at random, and with --values those that depart from the definition in one value of one axis alone.
"""

from __future__ import annotations

import sys
import time

import click

from cerify.conformance.prediction import STAGES
from proofs_tests.unit.workbench.conformance.test_identify import (
    ENGINES,
    composed,
    departures,
    problems,
    problems_with_one,
)


@click.command()
@click.option("--engines", type=click.IntRange(0), default=ENGINES, show_default=True, help="Composed at random.")
@click.option("--values", is_flag=True, help="Also an engine for each value of each axis.")
def main(engines: int, values: bool) -> None:
    """A line for each engine with its questions and seconds, and what is wrong with its profile."""
    started, failed, most = time.process_time(), 0, 0
    for seed in range(engines):
        language, engine = composed(seed)
        begun = time.process_time()
        asked, wrong = problems(language, engine)
        failed, most = failed + bool(wrong), max(most, asked)
        seconds = time.process_time() - begun
        click.echo(f"{seed:>3} {language}: {asked} questions, {seconds:.1f} s: {'; '.join(wrong) or 'right'}")
    click.echo(f"{engines - failed} of {engines} engines are identified, at most {most} questions each")
    for language in STAGES if values else ():
        pairs = list(departures(language))
        found = {pair: wrong for pair in pairs if (wrong := problems_with_one(language, *pair))}
        for (name, value), wrong in found.items():
            click.echo(f"  {language}, {name}={value}: {'; '.join(wrong)}")
        click.echo(f"{language}: {len(pairs) - len(found)} of {len(pairs)} values are identified")
        failed += len(found)
    click.echo(f"{time.process_time() - started:.0f} s of processor time")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

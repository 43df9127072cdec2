"""The translations between core-CEL and CEL on many cases: `python -m proofs_tests.campaigns.translations`."""

from __future__ import annotations

import sys
from collections import Counter

import click

from proofs_tests.unit.equivalence.translation_cases import SOURCES, all_tried


@click.command()
@click.argument("sources", nargs=-1)
@click.option("--cases", type=click.IntRange(1), default=8_000, show_default=True, help="Cases of each source.")
@click.option("--seed", default=1, show_default=True)
def main(sources: tuple[str, ...], cases: int, seed: int) -> None:
    """One line for each source of formulas, or for those named, and one for all; status 1 if anything differs."""
    there, back = Counter[str](), Counter[str]()
    for source in sources or SOURCES:
        said, said_back = Counter[str](), Counter[str]()
        for one in all_tried(source, seed, cases):
            said[one.there] += 1
            if one.back is not None:
                said_back[one.back] += 1
            if "differ" in (one.there, one.back):
                click.echo(f"  differ: {'  ->  '.join(one.texts)}  over {list(one.stream)}")
        click.echo(line(source, said, said_back))
        there += said
        back += said_back
    click.echo(line("all", there, back))
    sys.exit(1 if there["differ"] or back["differ"] else 0)


def line(source: str, there: Counter[str], back: Counter[str]) -> str:
    """What became of the cases of a source."""
    return f"{source}: {there.total():,} cases: {listed(there)}; and back: {listed(back)}"


def listed(outcomes: Counter[str]) -> str:
    """How many cases of each outcome."""
    return ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())


if __name__ == "__main__":
    main()

"""The evaluators of SASE+ against its definition on many cases: `python -m proofs_tests.campaigns.sase`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from random import Random

import click

from cerify.automata.nfab import answers, compiled, run
from cerify.commands.progress import progress_bar
from cerify.equivalence.generate.sase import PROFILES, case
from cerify.equivalence.rewrite.translate import sase_by_cel
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.sase import denote
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import Reading, choices
from cerify.semantics.sase.show import show

SHARE = 500  # cases that a process is given at once
EVALUATORS = {
    "runs": run.bindings,
    "automaton": answers.bindings,
    "kernel": compiled.compiled_bindings,
    "cel": sase_by_cel.bindings,
}
BUDGET = Budget(matches=5_000, valuations=50_000)

Share = tuple[int, str, int, int, tuple[str, ...]]
Found = tuple[Counter[str], list[str]]
Find = Callable[[sase.Query, Stream, Reading, Budget], set[Bindings]]


@click.command()
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True, help="Cases in all.")
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--nodes", default=10, show_default=True, help="Size of a query, at most.")
@click.option("--events", default=9, show_default=True, help="Length of a stream, at most.")
@click.option(
    "--evaluator",
    "names",
    type=click.Choice(list(EVALUATORS)),
    multiple=True,
    help="Only this one; may be given again.  [default: all]",
)
def main(cases: int, seed: int, processes: int, nodes: int, events: int, names: tuple[str, ...]) -> None:
    """How many cases, how many with matches, what each evaluator answered; status 1 if one differs.

    Every reading is asked about, ours most often.
    """
    asked = names or tuple(EVALUATORS)
    shares: list[Share] = [
        (min(SHARE, cases - first), f"{seed}/{first}", nodes, events, asked) for first in range(0, cases, SHARE)
    ]
    counts, differ = Counter[str](), list[str]()
    with progress_bar() as bar, get_context("spawn").Pool(processes) as pool:
        task = bar.add_task("cases", total=cases)
        for found, lines in pool.imap_unordered(share, shares):
            counts += found
            differ += lines
            bar.update(task, advance=found["cases"])
    for line in sorted(differ):
        click.echo(f"  differ: {line}")
    click.echo(f"{counts['cases']:,} cases, {counts['matched']:,} with a match, {counts['several']:,} with several")
    for name in asked:
        click.echo(f"{name}: {counts[name]:,} agree, {counts[f'{name} refused']:,} not carried")
    click.echo(f"{len(differ)} differ")
    sys.exit(1 if differ else 0)


def share(given: Share) -> Found:
    """What became of so many cases."""
    cases, seed, nodes, events, names = given
    rng, counts, differ = Random(seed), Counter[str](), list[str]()
    profiles, readings = list(PROFILES.values()), choices()
    for _ in range(cases):
        q, S = case(rng, rng.choice(profiles), nodes, events)
        reading = Reading(**{name: rng.choice((v[0], v[0], *v)) for name, v in readings.items()})  # type: ignore[arg-type]
        counts["cases"] += 1
        expected = answered(denote.bindings, q, S, reading)
        if expected is None:
            counts["too long"] += 1
            continue
        counts["matched"] += bool(expected)
        counts["several"] += len(expected) > 1
        for name in names:
            found = answered(EVALUATORS[name], q, S, reading)
            if found is None:
                counts[f"{name} refused"] += 1
            elif found == expected:
                counts[name] += 1
            else:
                differ.append(f"{name}: {show(q)} on {list(S)} by {reading}: {set(found)}, not {set(expected)}")
    return counts, differ


def answered(find: Find, q: sase.Query, S: Stream, reading: Reading) -> frozenset[Bindings] | None:
    """The bindings that an evaluator finds; None where it refuses."""
    try:
        return frozenset(find(q, S, reading, BUDGET))
    except (Unsupported, BudgetExceeded):
        return None


if __name__ == "__main__":
    main()

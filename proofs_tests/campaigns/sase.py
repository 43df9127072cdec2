"""The evaluators of SASE+ against its definition on many cases: `python -m proofs_tests.campaigns.sase`.

Each case is a query block and a stream: what the definition binds has to be what each evaluator binds. The block also
is a query, or part of a UNION or of two queries of which one reads the other's stream: the matches with their results
by semantics/sase/interpreter.py have to be those by automata/nfab/evaluators.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from random import Random
from typing import TypeVar

import click

from cerify.automata.nfab import compiled, evaluate, evaluators, moves
from cerify.commands.options import progress_bar
from cerify.equivalence.generate.sase import PROFILES, SaseProfile, case, query
from cerify.semantics.arguments import Budget, choices
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Bindings, Match, Stream
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import denote, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.syntax import show
from proofs_tests.claims import sase_by_cel
from proofs_tests.unit.semantics.sase_cases import events as events_of
from proofs_tests.unit.semantics.sase_cases import query as query_of


def compiled_bindings(
    q: sase.SaseQuery, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()
) -> set[Bindings]:
    """Return the bindings of a query by the compiled evaluator alone. Raises Unsupported and BudgetExceeded."""
    found = compiled.tried_bindings(q, S, reading, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


SHARE = 100  # cases that a process is given at once
EVALUATORS = {
    "runs": moves.bindings,
    "automaton": evaluate.bindings,
    "kernel": compiled_bindings,
    "cel": sase_by_cel.bindings,
}
RESULTS = "results"
BUDGET = Budget(matches=5_000, valuations=50_000)
RARE = (
    (
        "SEQ(A a, ~B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { b[i].x > b[i-1].x and count(b[]) >= 3 }",
        "A B1 B5 B2 B3 C",
    ),
    ("SEQ(A a, B b) WHERE partition_contiguity(a, b) { _([y])_ and [x] }", "A1/k B2/l B2/k B1/k"),
    ("SEQ(~B b, A a) WITHIN 5 seconds", "B@0 A@7"),
    ("SEQ(A a, ~B b) WITHIN 5 seconds", "A@0 B@5 C@9"),
    ("SEQ(A a, C c, ~B b) WITHIN 5 seconds", "A@0 C@2 B@6 C@9"),
    ("SEQ(A a, B+ b[]) WITHIN 5 seconds", "A@9 B@3 B@20 B@8"),
    ("SEQ(A a, B b) WHERE skip_till_any_match(a, b) { b.y > a.y }", "A1/m B1/k B1/n"),
    ("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { b.x > highest(2, a[].x) }", "A1 A3 A2 B3 B2"),
)
"""Queries and streams of a kind that random cases have seldom; they are asked first, with windows open and closed."""

Share = tuple[int, str, int, int, tuple[str, ...]]
Counts = Counter[str]
Found = TypeVar("Found", bound=set[Bindings] | list[Match])


@click.command()
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True, help="Cases in all.")
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--nodes", default=10, show_default=True, help="Size of a query, at most.")
@click.option("--events", default=9, show_default=True, help="Length of a stream, at most.")
@click.option(
    "--evaluator",
    "names",
    type=click.Choice([*EVALUATORS, RESULTS]),
    multiple=True,
    help="Only this one; may be given again.  [default: all]",
)
def main(cases: int, seed: int, processes: int, nodes: int, events: int, names: tuple[str, ...]) -> None:
    """How many cases, how many with matches, what each evaluator answered; status 1 if one differs.

    Every reading occurs, the decided one most often. A thousand cases take about ten seconds; what differs is printed
    as soon as it is found.
    """
    chosen = names or (*EVALUATORS, RESULTS)
    shares: list[Share] = [
        (min(SHARE, cases - first), f"{seed}/{first}", nodes, events, chosen) for first in range(0, cases, SHARE)
    ]
    counts, differ = Counter[str](), rare_differences()
    for line in differ:
        click.echo(f"  differ: {line}")
    with progress_bar() as bar, get_context("spawn").Pool(processes) as pool:
        task = bar.add_task("cases", total=cases)
        for found, lines in pool.imap_unordered(share, shares):
            counts += found
            differ += lines
            for line in lines:
                click.echo(f"  differ: {line}")
            bar.update(task, advance=found["cases"])
    click.echo(
        f"{counts['cases']:,} cases, {counts['matched']:,} with a match, {counts['several']:,} with several, "
        f"{counts['too long']:,} beyond the budget"
    )
    for name in chosen:
        click.echo(f"{name}: {counts[name]:,} agree, {counts[f'{name} refused']:,} not carried")
    click.echo(f"{len(differ)} differ")
    sys.exit(1 if differ else 0)


def rare_differences() -> list[str]:
    """A line for each evaluator that differs on one of the RARE cases."""
    counts, found = Counter[str](), list[str]()
    for (text, written), window in product(RARE, choices(Reading)["window"]):
        q, S, reading = query_of(text), events_of(written), Reading(window=window)  # type: ignore[arg-type]
        expected = denote.bindings(q, S, reading, BUDGET)
        for name, find in EVALUATORS.items():
            answer = answered(partial(find, q, S, reading, BUDGET))
            found += compared(counts, name, text, S, reading, answer, expected)
    return found


def share(given: Share) -> tuple[Counts, list[str]]:
    """The counts of some cases, and a line for each evaluator that differs on one of them."""
    cases, seed, nodes, events, names = given
    rng, counts, differ = Random(seed), Counter[str](), list[str]()
    profiles, readings = list(PROFILES.values()), choices(Reading)
    for _ in range(cases):
        profile = rng.choice(profiles)
        q, S = case(rng, profile, nodes, events)
        reading = Reading(**{name: rng.choice((v[0], v[0], *v)) for name, v in readings.items()})  # type: ignore[arg-type]
        tree = whole(rng, profile, q)
        counts["cases"] += 1
        expected = answered(partial(denote.bindings, q, S, reading, BUDGET))
        if expected is None:
            counts["too long"] += 1
            continue
        counts["matched"] += bool(expected)
        counts["several"] += len(expected) > 1
        for name, find in EVALUATORS.items():
            if name in names:
                found = answered(partial(find, q, S, reading, BUDGET))
                differ += compared(counts, name, show(q), S, reading, found, expected)
        if RESULTS in names:
            wanted = answered(partial(interpreter.matches_of, tree, S, denote.bindings, reading, BUDGET))
            if wanted is not None:
                got = answered(partial(evaluators.matches_of, tree, S, evaluate.bindings, reading, BUDGET))
                differ += compared(counts, RESULTS, show(tree), S, reading, got, wanted)
    return counts, differ


def whole(rng: Random, profile: SaseProfile, q: sase.SaseQuery) -> sase.Tree:
    """The block as a query, in a UNION with another, or with a query that reads its results."""
    kind = rng.choice(("block", "block", "union", "composition"))
    match kind:
        case "union":
            return sase.SaseUnion((q, query(rng, profile, 4)))
        case "composition":
            name, pool = rng.choice(profile.attributes)
            k = rng.choice([k for k in q.pattern if not k.negated])
            value = sase.Simple(sase.Reference(name, k.variable, "last" if k.kleene else "only"))
            returned = sase.Return((sase.Item(value, alias="x"),), "A", "made", q.returned.non_overlap)
            reader = query(rng, replace(profile, types=("A",), attributes=(("x", pool),)), 4)
            return sase.Program((replace(q, returned=returned), replace(reader, source="made")))
        case _:
            return q


def compared(
    counts: Counts, name: str, text: str, S: Stream, reading: Reading, found: Found | None, expected: Found
) -> list[str]:
    """Counts what an evaluator answered; the line that shows the case, if that is not what is expected."""
    if found is None:
        counts[f"{name} refused"] += 1
        return []
    if found == expected:
        counts[name] += 1
        return []
    return [f"{name}: {text} on {list(S)} by {reading}: {found}, not {expected}"]


def answered(find: Callable[[], Found]) -> Found | None:
    """What a function gives; None where it refuses."""
    try:
        return find()
    except (Unsupported, BudgetExceeded):
        return None


if __name__ == "__main__":
    main()

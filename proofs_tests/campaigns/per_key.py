"""PER KEY, counts and loops against a sentence: `python -m proofs_tests.campaigns.per_key --cases 1000`.

The sentence is "within each key, as if the stream had only its events". So of a formula under PER KEY the reference
splits the stream by key, asks the definition about the operand over each part, and puts the positions back. The
definition, the automata on whole streams, and both evaluators of batches, which are saved and restored between batches,
are compared with it; where PER KEY stands deeper, with the definition. With --spark N so many of the cases are run on
Spark too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from random import Random
from typing import Any

import click

from cerify.automata.evaluate import compiled, streaming
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluator import Output
from cerify.equivalence.generate import cel as generate
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

BUDGET = Budget(valuations=20_000, states=5_000, matches=50_000, seconds=20.0)
AT_ONCE = 25  # cases of a Spark job
KEYS = (("k",), ("k",), ("x",), ("k", "x"))
LOOPS = replace(
    generate.EVERYTHING, operators=(*generate.EVERYTHING.operators, ("repeat", 2), ("nplus", 2), ("until", 2))
)


def counts(rng: Random) -> Formula:
    """LAST or NXT of counted events, one kind after the other or of different values, mostly in windows."""
    if rng.random() < 0.25:
        different = cel.distinct(cel.EventAtom(rng.choice("ABC")), rng.choice((2, 2, 3)), rng.choice("kxyu"))
        return cel.Last(generate.around(rng, different) if rng.random() < 0.4 else different)
    kinds = [cel.EventAtom(rng.choice("ABC")) for _ in range(rng.choice((1, 1, 2, 3)))]
    parts: list[Formula] = [cel.Repeat(kind, n, n) for kind in kinds for n in [rng.choice((1, 2, 2, 3))]]
    if rng.random() < 0.3:
        at = rng.choice((0, -1))
        parts[at] = cel.Repeat(kinds[at], n := rng.choice((1, 2)), rng.choice((n + 1, n + 2, None)))
    counted: Formula = reduce(cel.Seq, parts)
    if rng.random() < 0.4:
        counted = generate.around(rng, counted)
    return cel.Last(counted) if rng.random() < 0.7 else cel.Next(counted)


def case(rng: Random, nodes: int, events: int, counted: float = 0.15) -> tuple[Formula, Stream]:
    """A formula with PER KEY, mostly around it, among windows and partitions; and a stream with keys and clocks.

    counted: the share of counts among the formulas.
    """
    phi, S = generate.case(rng, LOOPS, nodes, events)
    if rng.random() < counted:
        phi = counts(rng)
        S = generate.stream(rng, LOOPS, events, phi)

    def per_key(rng: Random, psi: Formula) -> Formula:
        return cel.PerKey(psi, rng.choice(KEYS))

    if rng.random() < 0.3:
        phi = generate.around(rng, phi)
    phi = per_key(rng, phi) if rng.random() < 0.6 else generate.inside(rng, phi, per_key)
    if rng.random() < 0.3:
        phi = generate.around(rng, phi)
    for make in (per_key, generate.add_event_window):
        if rng.random() < 0.1:
            phi = generate.inside(rng, phi, make)
    return phi, generate.clocked(rng, S)


def by_sentence(phi: cel.PerKey, S: Stream, output: Output) -> list[Match]:
    """The matches of a formula under PER KEY, by the sentence."""
    streams: dict[Any, list[int]] = {}
    for p, event in enumerate(S):
        values = [event.attributes.get(a) for a in phi.attributes]
        if all(value is not None and value == value for value in values):
            streams.setdefault(tuple((_alike(value), value) for value in values), []).append(p)
    found = []
    for P in streams.values():
        for m in matches_of(phi.phi, Stream([S[p] for p in P]), output, BUDGET):
            bindings = None if m.bindings is None else tuple((A, tuple(P[p] for p in at)) for A, at in m.bindings)
            found.append(Match(P[m.at], tuple(P[p] for p in m.events), bindings))
    return sorted(found)


def _alike(value: object) -> str:
    """What values have to have in common to be compared at all."""
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def answers(phi: Formula, S: Stream, output: Output, rng: Random) -> Iterator[tuple[str, object]]:
    """What each way of evaluating the formula gives; the first is right. Raises BudgetExceeded."""
    right = matches_of(phi, S, output, BUDGET)
    if isinstance(phi, cel.PerKey):
        yield "the sentence", by_sentence(phi, S, output)
    yield "the definition", right
    yield "automaton", streaming.matches(phi, S, output, BUDGET)
    yield "kernel", sorted(compiled.matches(phi, S, output, BUDGET))
    if output == "matches":
        counted = Counter({n: number for n, number in enumerate(streaming.count_matches(phi, S, BUDGET)) if number})
        yield "count", right if counted == Counter(m.at for m in right) else counted
    scope = batch_scope(phi)
    if isinstance(scope, Unsupported):
        return
    for make in (ReadableCelEvaluator,) if scope.divided else (ReadableCelEvaluator, CompiledCelEvaluator):
        with suppress(Unordered):  # the values of a window go back
            evaluator: Callable[[], Any] = partial(make, phi, output, budget=BUDGET)
            yield f"batches of {make.__name__}", in_batches(evaluator, S, rng)


def in_batches(make: Callable[[], Any], S: Stream, rng: Random) -> list[Match]:
    """The matches of an evaluator to which the stream comes in small batches; at times it is saved and restored."""
    evaluator, found, start = make(), list[Match](), 0
    while start < len(S):
        size = min(rng.randint(1, 4), len(S) - start)
        found += evaluator.push(S.part(start, size))
        start += size
        if rng.random() < 0.3:
            saved, evaluator = evaluator.save(), make()
            evaluator.restore(saved)
    return sorted(found)


def on_spark(cases: list[tuple[Formula, Stream]]) -> dict[int, list[Match]]:
    """The matches that Spark finds for each case that it takes, all in one job."""
    from pyspark.sql import functions as F

    from cerify import spark
    from cerify.spark.session import session

    made = session("local[1]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"})
    names, answers = ("k", "x", "y", "u", "time"), {}
    for i, (phi, S) in enumerate(cases):
        times = {type(event.attributes.get("time")) for event in S}
        kind = "bigint" if times <= {int, type(None)} else "timestamp"
        schema = f"n bigint, type string, one bigint, k string, x bigint, y bigint, u double, time {kind}"
        rows = [(n, event.type, 1, *(event.attributes.get(name) for name in names)) for n, event in enumerate(S)]
        with suppress(Unsupported, Unordered):
            ReadableCelEvaluator(phi).evaluate(S)  # Spark would end with an error where the values of a window go back
            answer = spark.match(made.createDataFrame(rows, schema), show(phi), partition_by="one", order_by="n")
            answers[i] = answer.select(F.lit(i).alias("case"), "at", "events")
    found: dict[int, list[Match]] = {i: [] for i in answers}
    for row in reduce(lambda one, other: one.union(other), answers.values()).collect() if answers else ():
        found[row["case"]].append(Match(row["at"], tuple(row["events"])))
    return {i: sorted(matches) for i, matches in found.items()}


def compare(phi: Formula, S: Stream, output: Output, rng: Random) -> str | None:
    """What differs in a case; None if nothing does. Raises BudgetExceeded if the definition needs too long for it."""
    others = answers(phi, S, output, rng)
    _, first = next(others)
    for name, answer in others:
        if answer != first:
            return f"{name} differs: {show(phi)} on {S.events}, {output}: {answer}, and not {first}"
    return None


def difference(rng: Random, nodes: int, events: int) -> str | None:
    """What differs in a random case; None if nothing does, or the definition needs too long for it."""
    phi, S = case(rng, nodes, events)
    with suppress(BudgetExceeded):
        return compare(phi, S, rng.choice(("matches", "valuations")), rng)
    return None


@click.command()
@click.option("--cases", default=1_000, show_default=True)
@click.option("--nodes", default=7, show_default=True, help="Size of a formula, without windows and keys.")
@click.option("--events", default=8, show_default=True, help="Length of a stream.")
@click.option("--seed", default=1, show_default=True)
@click.option("--counts", "counted", default=0.15, show_default=True, help="Share of counts among the formulas.")
@click.option("--spark", default=0, show_default=True, help="So many of the cases run on Spark too, the first ones.")
def main(cases: int, nodes: int, events: int, seed: int, counted: float, spark: int) -> None:
    """Status 1 at the first case in which something differs, which is printed."""
    compared, taken, together = 0, 0, list[tuple[int, Formula, Stream]]()
    for number in range(cases):
        rng = Random(f"{seed}/{number}")
        phi, S = case(rng, nodes, events, counted)
        output: Output = "matches" if number < spark else rng.choice(("matches", "valuations"))
        with suppress(BudgetExceeded):
            if (found := compare(phi, S, output, rng)) is not None:
                click.echo(f"#{number}: {found}")
                sys.exit(1)
            compared += 1
            together += [(number, phi, S)] * (number < spark)
        if len(together) == AT_ONCE or (together and number == spark - 1):
            for i, answer in on_spark([(phi, S) for _, phi, S in together]).items():
                number_, phi, S = together[i]
                taken += 1
                if answer != (right := matches_of(phi, S, "matches", BUDGET)):
                    click.echo(f"#{number_}: Spark differs: {show(phi)} on {S.events}: {answer}, and not {right}")
                    sys.exit(1)
            together = []
    click.echo(f"{cases} cases, of which the definition answers {compared}, and Spark {taken}; none differs")


if __name__ == "__main__":
    main()

"""Event expressions on many cases: the definition, plain and with what saves time, automata and compiled loops agree.

A case is a random expression and a random history; an expression is tried on several histories, since most of the time
goes into its automata. Of expressions with attribute variables the values are compared too: those of the definition, of
the parametric monitor, and of one automaton for each choice of values. The plain definition has a small budget, as its
prefix searches through all histories to come; where that is exhausted, the other ways are still compared.

Run as: python -m proofs_tests.campaigns.expressions [--cases N] [--seed N] [--processes N]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

import click
from rich.progress import track

from cerify.automata.dfa.compile import order_under
from cerify.automata.dfa.evaluate import TableRunner
from cerify.automata.dfa.evaluators import CompiledRunner
from cerify.automata.dfa.parametric import ParametricMonitor, Valued, symbolic
from cerify.equivalence.generate.expressions import PROFILES, VALUED_PROFILES, ExpressionProfile, expression, history
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import find_scope_variables
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.syntax import Relation, Row, show
from cerify.semantics.events import Stream

GAPS = {"gaps": replace(VALUED_PROFILES["everything"], absent=0.2)}
EVERY = PROFILES | VALUED_PROFILES | GAPS
HISTORIES = 10  # for each expression
NODES, EVENTS = 12, 12
BUDGET = Budget(valuations=300_000, states=20_000)
PLAIN = Budget(valuations=5_000, states=20_000)

Rows = frozenset[Row]


@dataclass
class Outcome:
    """What became of some cases: counts, the operators met, and what differs."""

    counts: Counter[str] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    differ: list[str] = field(default_factory=list)


def meaning(E: expr.Expression, S: Stream, budget: Budget = BUDGET, plain: bool = False) -> Rows:
    """The events at which the expression takes place, with the values of its attribute variables."""
    events = takes_place(E, S, budget, plain=plain)
    relation = Relation((), frozenset((e, ()) for e in events))
    if find_scope_variables(E.body if isinstance(E, expr.Let) else E, ()):
        relation = compatible(E, S, budget, plain=plain)
    if {e for e, _ in relation.rows} != events:
        raise AssertionError(f"the compatible tuples of {show(E)} are not at its events")
    return relation.rows


def routes(E: expr.Expression, profile: ExpressionProfile) -> dict[str, Callable[[Stream], Rows]]:
    """The other ways to the same rows."""
    order = order_under(profile.schema)
    one_each = Valued(E, order, BUDGET)
    found: dict[str, Callable[[Stream], Rows]] = {
        "compiled": lambda S: frozenset(one_each.rows(S, CompiledRunner)),
    }
    if not one_each.variables:
        evaluator = TableRunner([one_each.automaton(())])
        found["automaton"] = lambda S: _pushed(evaluator, S)
    elif not any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E)):
        machines = symbolic(E, order, BUDGET)
        found["parametric"] = lambda S: _monitored(ParametricMonitor(machines, BUDGET), S)
    else:
        found["automata"] = lambda S: frozenset(one_each.rows(S, TableRunner))
    return found


def _pushed(evaluator: TableRunner, S: Stream) -> Rows:
    evaluator.restart()
    return frozenset((e, ()) for e, event in enumerate(S) if evaluator.push(event))


def _monitored(machines: ParametricMonitor, S: Stream) -> Rows:
    return frozenset((e, values) for e, event in enumerate(S) if machines.push(event) for values in machines.tuples())


def judge(index: int, seed: int) -> Outcome:
    """One expression on its histories."""
    name = list(EVERY)[index % len(EVERY)]
    profile, rng, outcome = EVERY[name], Random(f"expressions/{seed}/{index}"), Outcome()
    E = expression(rng, profile, max(rng.randint(1, NODES), rng.randint(1, NODES)))
    histories = [history(rng, profile, max(rng.randint(0, EVENTS), rng.randint(0, EVENTS))) for _ in range(HISTORIES)]
    if index % 2:
        E = unbound(E)
    prefix = any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E))
    outcome.operators.update({type(F).__name__ for F in expr.subexpressions(E)})
    try:
        ways = routes(E, profile)
    except (BudgetExceeded, Unsupported) as error:
        outcome.counts[error.code] += HISTORIES
        return outcome
    for S in histories:
        try:
            expected = meaning(E, S)
            got = {way: found(S) for way, found in ways.items()}
        except (BudgetExceeded, Unsupported) as error:
            outcome.counts[error.code] += 1
            continue
        try:
            got["plain"] = meaning(E, S, PLAIN, plain=True)
            outcome.counts["prefix by plain"] += prefix
        except BudgetExceeded:
            outcome.counts["plain over budget"] += 1
        outcome.counts["compared"] += 1
        outcome.counts[name] += 1
        outcome.counts["takes place"] += bool(expected)
        outcome.counts.update(f"by {way}" for way in got)
        wrong = [way for way, rows in got.items() if rows != expected]
        if wrong:
            outcome.counts["differ"] += 1
            outcome.differ.append(f"{show(E)} over {list(S)}: {sorted(expected)}, but {wrong} {got}")
    return outcome


def unbound(E: expr.Expression) -> expr.Expression:
    """E without its first exists, whose variable is then bound around the whole scope; below relative+ none is free."""
    if isinstance(E, expr.Exists):
        return E.operand
    below = expr.children(E)
    for i, F in enumerate(() if isinstance(E, expr.RelativePlus) else below):
        if (G := unbound(F)) is not F:
            return expr.rebuilt(E, (*below[:i], G, *below[i + 1 :]))
    return E


def outcomes(expressions: int, seed: int, processes: int) -> Iterator[Outcome]:
    """The outcomes for all expressions."""
    if processes == 1:
        yield from map(partial(judge, seed=seed), range(expressions))
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(judge, seed=seed), range(expressions), chunksize=100)


@click.command()
@click.option("--cases", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
def main(cases: int, seed: int, processes: int) -> None:
    """Compare on random cases; status 1 if anything differs."""
    expressions, begun = -(-cases // HISTORIES), time.perf_counter()
    counts, operators, shown = Counter[str](), Counter[str](), 0
    for outcome in track(outcomes(expressions, seed, processes), "expressions", expressions):
        counts += outcome.counts
        operators += outcome.operators
        for line in outcome.differ[: 20 - shown]:
            shown += 1
            print("DIFFER", line)
    seconds = time.perf_counter() - begun
    asked = expressions * HISTORIES
    print(f"{asked:,} cases: {expressions:,} expressions, {HISTORIES} histories each, in {seconds:.0f} s")
    print(f"{asked / seconds:,.0f} cases a second, {processes} processes")
    print(f"compared {counts['compared']:,}, of which {counts['takes place']:,} take place somewhere")
    print(f"differ {counts['differ']:,}; over budget {counts['budget']:,}; undecided {counts['unsupported']:,}")
    print(f"plain: over budget {counts['plain over budget']:,}; with prefix compared {counts['prefix by plain']:,}")
    print("by", {way[3:]: n for way, n in sorted(counts.items()) if way.startswith("by ")})
    print("of", {name: counts[name] for name in EVERY})
    print("expressions with", dict(operators.most_common()))
    sys.exit(1 if counts["differ"] else 0)


if __name__ == "__main__":
    main()

"""The evaluators of automata against the definition, on many cases.

A case is a formula, a stream and an output. The denotational interpreter says what is right; the readable evaluator
and the compiled kernels are asked the same. CEL formulas have every operator and strategy, a third of them stand in
windows and partitions, and others compare events in all of their parts; core-CEL formulas are evaluated as their
translation to CEL, or checked on candidates where there is none. Some streams go with one formula, which is then
compiled once. Cases are numbered: case i of a seed is the same in every run, so that a campaign goes on with --first
where another has stopped.

Run as: python -m proofs_tests.campaigns.automata [--cases N] [--first N] [--seed N] [--processes N]
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TypeAlias

import click

from cerify.automata.evaluate import compiled, core, streaming
from cerify.automata.evaluate.core import share_compiled
from cerify.automata.evaluator import Output
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import core_cel as generate_core
from cerify.equivalence.generate.cel import EVERYTHING, TYPED, add_event_window, around, clocked, inside
from cerify.equivalence.generate.core_cel import ANYTHING, STRATEGIES_TOO, UNARY_FILTERS
from cerify.equivalence.rewrite.translate_core_cel import to_cel
from cerify.equivalence.shrink.cel import CEL
from cerify.equivalence.shrink.shrink import shrink
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.core_cel import syntax
from cerify.semantics.core_cel.interpreter import matches_of as core_matches_of
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event

STREAMS = 8  # cases with one formula
CHUNK = 40  # formulas that a process is given at a time
ORACLE = Budget(valuations=5_000)
EVALUATED = Budget(states=3_000, matches=20_000)
Planned: TypeAlias = Formula | Unsupported | BudgetExceeded
"""A formula of CEL, or why a formula of core-CEL has none."""

TRIES = 1000  # candidates looked at to shrink a disagreement

PROFILES = (EVERYTHING, EVERYTHING, replace(TYPED, operators=EVERYTHING.operators))
COMPARING = replace(EVERYTHING, correlated=0.7, types=("A", "B"), absent=0.05)
CORE_PROFILES = (UNARY_FILTERS, STRATEGIES_TOO, ANYTHING)
EVALUATORS = {"readable": streaming.matches, "kernel": compiled.matches}
OF_CORE_CEL = {"readable": core.matches, "kernel": compiled.core_matches}


@dataclass
class Tally:
    """What became of some cases, by the kind of case and the evaluator, and the disagreements."""

    cases: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count the other's cases too."""
        self.cases += other.cases
        self.outcomes += other.outcomes
        self.reasons += other.reasons
        self.disagreements += other.disagreements


def tally(seed: int, first: int, formulas: int) -> Tally:
    """The cases of `formulas` formulas, the first of which has the number first."""
    found = Tally()
    for number in range(first, first + formulas):
        rng = Random(f"automata/{seed}/{number}")
        chance = rng.random()
        if chance < 0.12:
            _core_cel(rng, number, found)
        elif chance < 0.3:
            _comparing(rng, number, found)
        else:
            _cel(rng, number, found)
    return found


def _comparing(rng: Random, number: int, found: Tally) -> None:
    """Comparisons of events anywhere: filters, and windows and partitions inside the formula."""
    phi = generate.formula(rng, COMPARING, rng.randint(3, 10))
    for _ in range(rng.choice((0, 1, 1, 2))):
        phi = inside(rng, phi, around)
    for i in range(STREAMS):
        S = clocked(rng, generate.stream(rng, COMPARING, rng.randint(1, 8), phi))
        output: Output = "valuations" if rng.random() < 0.5 else "matches"
        definition = partial(matches_of, phi, S, output, ORACLE)
        _judge(found, f"{number * STREAMS + i}", f"comparisons inside, {output}", phi, S, output, definition)


def _cel(rng: Random, number: int, found: Tally) -> None:
    profile, nodes, windowed = rng.choice(PROFILES), rng.randint(1, 12), rng.random() < 0.35
    phi = generate.formula(rng, profile, nodes)
    if windowed:
        if rng.random() < 0.2:
            phi = inside(rng, phi, add_event_window)
        for _ in range(rng.choice((1, 1, 2))):
            phi = around(rng, phi)
    for i in range(STREAMS):
        S = generate.stream(rng, profile, rng.randint(0, 10), phi)
        if windowed:
            S = clocked(rng, S)
        output: Output = "valuations" if rng.random() < 0.5 else "matches"
        kind = f"{'windows and partitions' if windowed else 'CEL'}, {output}"
        _judge(found, f"{number * STREAMS + i}", kind, phi, S, output, partial(matches_of, phi, S, output, ORACLE))


def _core_cel(rng: Random, number: int, found: Tally) -> None:
    profile, nodes = rng.choice(CORE_PROFILES), rng.randint(1, 12)
    rho = generate_core.formula(rng, profile, nodes)
    try:
        phi: Planned = to_cel(rho, EVALUATED)
    except (Unsupported, BudgetExceeded) as error:
        phi = error
    for i in range(STREAMS):
        S = generate_core.stream(rng, profile, rng.randint(0, 10), rho)
        _judge(
            found,
            f"{number * STREAMS + i}",
            "core-CEL",
            phi,
            S,
            "matches",
            partial(core_matches_of, rho, S, ORACLE),
            rho,
        )


def _judge(
    found: Tally,
    case: str,
    kind: str,
    phi: Planned,
    S: Stream,
    output: Output,
    definition: Callable[[], list[Match]],
    rho: syntax.Formula | None = None,
) -> None:
    """One case: what the definition says, and whether each evaluator says the same."""
    found.cases[kind] += 1
    try:
        expected = definition()
    except BudgetExceeded:
        found.outcomes["definition", "over budget"] += 1
        return
    found.outcomes["definition", "some match" if expected else "no match"] += 1
    said = []
    for name, evaluate in EVALUATORS.items():
        try:
            if isinstance(phi, BudgetExceeded):
                raise phi
            if isinstance(phi, Unsupported):
                assert rho is not None
                answer = sorted(core.iterate_core_matches(rho, S, EVALUATED, OF_CORE_CEL[name]))
            else:
                answer = evaluate(phi, S, output, EVALUATED)
            said.append("agrees" if answer == expected else "DISAGREES")
        except Unsupported as error:
            said.append("not carried")
            found.reasons[name, error.message] += 1
        except BudgetExceeded:
            said.append("over budget")
        except Exception as error:
            said.append("DISAGREES")
            found.disagreements.append(f"case {case}: {name} fails with {type(error).__name__}: {error}")
        found.outcomes[name, said[-1]] += 1
    found.outcomes["all three", "agree" if said == ["agrees", "agrees"] else "do not all answer"] += (
        "DISAGREES" not in said
    )
    if "DISAGREES" in said:
        found.disagreements.append(_shown(case, dict(zip(EVALUATORS, said, strict=True)), phi, S, output, rho))


def _shown(
    case: str,
    said: dict[str, str],
    phi: Planned,
    S: Stream,
    output: Output,
    rho: syntax.Formula | None,
) -> str:
    """A disagreement; that of a CEL formula is shrunk."""
    wrong = [name for name, outcome in said.items() if outcome == "DISAGREES"]
    origin = "" if rho is None else f"{show_core(rho)}  ->  "
    if not isinstance(phi, CerifyError) and rho is None:

        def differs(psi: Formula, T: Stream) -> bool:
            return EVALUATORS[wrong[0]](psi, T, output, EVALUATED) != matches_of(psi, T, output, ORACLE)

        try:
            phi, S = shrink(CEL, phi, S, differs, TRIES)
        except Exception as error:
            origin = f"({type(error).__name__}) "
    events = json.dumps([json_of_event(event) for event in S], default=str)
    shown = phi.message if isinstance(phi, CerifyError) else show(phi)
    return f"case {case}: {' and '.join(wrong)} ({output}): {origin}{shown}  over {events}"


def tallies(seed: int, first: int, formulas: int, processes: int) -> Iterator[Tally]:
    """What became of the cases, a chunk of formulas at a time."""
    begins = range(first, first + formulas, CHUNK)
    sizes = [min(CHUNK, first + formulas - begin) for begin in begins]
    if processes == 1:
        share_compiled()
        yield from map(tally, [seed] * len(begins), begins, sizes)
        return
    with ProcessPoolExecutor(processes, initializer=share_compiled) as pool:
        yield from pool.map(tally, [seed] * len(begins), begins, sizes)


@click.command()
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True)
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The number of the first case.")
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
def main(cases: int, first: int, seed: int, processes: int) -> None:
    """Status 1 if an evaluator departs from the definition."""
    begin, end = first // STREAMS, -(-(first + cases) // STREAMS)
    found, started, told = Tally(), time.monotonic(), 0.0
    for part in tallies(seed, begin, end - begin, processes):
        found.add(part)
        for line in part.disagreements:
            click.echo(line)
        if (seconds := time.monotonic() - started) > told + 30:
            told = seconds
            done = found.cases.total()
            click.echo(
                f"{done:,} cases in {seconds:.0f} s, {done / seconds:.0f} a second, {len(found.disagreements)} wrong; "
                f"what is left begins with --first {begin * STREAMS + done}",
                err=True,
            )
    report(found, time.monotonic() - started)
    sys.exit(1 if found.disagreements else 0)


def report(found: Tally, seconds: float) -> None:
    """What became of the cases."""
    total = found.cases.total()
    click.echo(f"{total:,} cases in {seconds:.0f} s, {total / seconds:.0f} a second")
    click.echo("  " + ", ".join(f"{n:,} {kind}" for kind, n in sorted(found.cases.items())))
    for name in ("definition", *EVALUATORS, "all three"):
        said = sorted((said, n) for (who, said), n in found.outcomes.items() if who == name and n)
        click.echo(f"  {name}: " + ", ".join(f"{n:,} {said}" for said, n in said))
    for name in EVALUATORS:
        click.echo(f"  not carried by {name}:")
        for (who, reason), n in found.reasons.most_common():
            if who == name:
                click.echo(f"    {n:>8,}  {reason[:100]}")


if __name__ == "__main__":
    main()

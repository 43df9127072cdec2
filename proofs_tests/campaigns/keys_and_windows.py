"""Random pairs of formulas with keys and windows on time: every verdict held against its proof and the definition.

Windows and partitions stand anywhere: around whole matches, above and below strategies, in parts. Some pairs are equal
by construction, most differ by a small change. A proof is checked, and no random stream may tell its formulas apart; a
difference is a stream that the definition has confirmed, and no shorter random stream may tell the two apart. Times are
rational numbers at, before and after the edges of the windows; there are two keys, and events without key or time.

Run as: python -m proofs_tests.campaigns.keys_and_windows [--pairs N] [--streams N] [--seed N]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

import click
from rich.progress import track

from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.decide.derivation import compare_formulas
from cerify.equivalence.generate.cel import EVERYTHING, formula
from cerify.equivalence.verdict import Claim, Contained, Different, Equivalent, Level, Order
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import compared_by

PROFILE = replace(
    EVERYTHING,
    types=("A", "B"),
    variables=("X",),
    correlated=0.0,
    attributes=(("x", (0, 1)),),
)
WINDOWS = (
    cel.TimeWindow(1, "second"),
    cel.TimeWindow(2, "second"),
    cel.TimeWindow(1.5, "second"),
    cel.AttributeWindow(1, "y"),
    cel.EventWindow(2),
)
TIMES = tuple(Fraction(n, 4) for n in (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
BUDGET = Budget(states=3000, seconds=20)


@dataclass(frozen=True)
class Trial:
    """What became of a pair: the verdict, what contradicts it, and the seconds to decide it."""

    verdict: str
    contradiction: str | None
    seconds: float


def wrapped(phi: cel.Formula, rng: Random) -> cel.Formula:
    """The formula in a window, in a partition, in a filter on keys, or in several of them."""
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        chance = rng.random()
        if chance < 0.45:
            phi = cel.Within(phi, rng.choice(WINDOWS))
        elif chance < 0.8:
            phi = cel.PartitionBy(phi, "k") if chance < 0.65 else cel.PerKey(phi, ("k",))
        elif chance < 0.9:
            A, B = rng.choice(("A", "B")), rng.choice(("A", "B"))
            comparator = rng.choice(("=", "=", "<", "<=", ">="))
            name = "k" if comparator == "=" else "x"
            other = rng.choice(("k", "k", "j")) if comparator == "=" else "x"
            phi = cel.Filter(phi, cel.Correlated(Comparison(comparator, Attribute(name, A), Attribute(other, B))))
        else:
            test = Comparison(rng.choice(("=", "!=", "<=")), Attribute("k"), Constant(rng.choice((1, 2))))
            phi = cel.Filter(phi, cel.Every(rng.choice(("A", "B")), test))
    return phi


def query(rng: Random) -> cel.Formula:
    """A formula with windows and partitions around some of its parts, mostly around the whole."""
    phi = formula(rng, PROFILE, rng.randint(1, 6))
    if rng.random() < 0.85:
        phi = wrapped(phi, rng)
    if rng.random() < 0.35:
        phi = rng.choice((cel.Next, cel.Last, cel.Max, cel.Strict))(phi)
        if rng.random() < 0.4:
            phi = wrapped(phi, rng)
    if rng.random() < 0.3:
        other = formula(rng, PROFILE, rng.randint(1, 3))
        operator = rng.choice((cel.Seq, cel.Seq, cel.Or, cel.Unless, cel.ContiguousSeq))
        phi = operator(other, phi) if rng.random() < 0.7 else operator(phi, other)
    return phi


def changed(phi: cel.Formula, rng: Random) -> cel.Formula:
    """The formula with a small change somewhere, or none: another width, a window or partition more or less, moved."""
    target = rng.randrange(sum(1 for _ in cel.subformulas(phi)))
    seen = -1

    def visit(psi: cel.Formula) -> cel.Formula:
        nonlocal seen
        seen += 1
        here = seen == target
        below = [visit(child) for child in children(psi)]
        psi = rebuilt(psi, below) if below else psi
        if not here:
            return psi
        match psi, rng.random():
            case cel.Within(inner, window), chance if chance < 0.7:
                if chance < 0.2:
                    return inner
                if chance < 0.4 and isinstance(inner, cel.PartitionBy):
                    return cel.PartitionBy(cel.Within(inner.phi, window), inner.attribute)
                return cel.Within(inner, rng.choice(WINDOWS))
            case cel.PartitionBy(inner, _) | cel.PerKey(inner, _), chance if chance < 0.5:
                return inner if chance < 0.2 else cel.PerKey(inner, ("k",))
            case cel.Next() | cel.Last() | cel.Max() | cel.Strict(), chance if chance < 0.7 and below:
                inner = below[0]
                if isinstance(inner, cel.Within | cel.PartitionBy | cel.Filter):
                    return rebuilt(inner, [rebuilt(psi, [inner.phi])])  # type: ignore[type-var]
                return inner
            case _, chance if chance < 0.5:
                return wrapped(psi, rng)
            case _, chance if chance < 0.7:
                return formula(rng, PROFILE, max(1, cel.size(psi) - rng.randint(0, 1)))
        return psi

    return visit(phi)


def random_stream(rng: Random, length: int, order: Order) -> Stream:
    """A stream whose times are in the order, with few types, keys and values, and now and then none of these."""
    times = [rng.choice(TIMES) for _ in range(length)]
    if order == "non-decreasing":
        times.sort()
    elif order == "strict":
        times = sorted(rng.sample(sorted(set(TIMES)), length))
    events = []
    for t in times:
        values = {
            "x": rng.choice((0, 1)),
            "k": rng.choice((1, 2)),
            "j": rng.choice((1, 2)),
            "y": rng.choice((0, 1, 2)),
            "time": float(t),
        }
        absent = {name for name in values if rng.random() < 0.04}
        events.append(Event(rng.choice("AB"), {n: v for n, v in values.items() if n not in absent}))
    return Stream(events)


def told_apart(phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level, S: Stream, length: int) -> str | None:
    """What the definition has against a proof, at the positions before length."""
    interpreter = Interpreter(S)
    for n in range(length):
        here, there = (compared_by(interpreter.meaning(chi, 0, n), level) for chi in (phi, psi))
        if not (here <= there if claim == "contained" else here == there):
            return f"they differ on {list(S)[: n + 1]}"
    return None


def judge(index: int, streams: int) -> Trial:
    """One pair, decided and checked."""
    rng = Random(f"keys and windows/{index}")
    phi = query(rng)
    psi = changed(phi, rng) if rng.random() < 0.9 else query(rng)
    claim: Claim = rng.choice(("equivalent", "contained"))
    level: Level = rng.choice(("events", "events", "valuations", "positions"))
    order: Order = rng.choice(("non-decreasing", "non-decreasing", "any", "strict"))
    begun = time.process_time()
    verdict = compare_formulas(phi, psi, claim, level, None, order, 0, BUDGET)
    seconds = time.process_time() - begun
    wrong = None
    try:
        match verdict:
            case Equivalent(certificate) | Contained(certificate):
                wrong = flaw(certificate, BUDGET)
                for _ in range(streams):
                    S = random_stream(rng, rng.randint(1, 5), certificate.order)
                    wrong = wrong or told_apart(phi, psi, claim, level, S, len(S))
            case Different(stream, shortest=True):
                for _ in range(streams // 4 if len(stream) > 1 else 0):
                    S = random_stream(rng, min(5, len(stream) - 1), order)
                    shorter = told_apart(phi, psi, claim, level, S, len(S))
                    wrong = wrong or (shorter and f"no shortest stream: {shorter}")
    except BudgetExceeded:
        pass
    name = type(verdict).__name__.lower()
    if wrong is not None:
        wrong = f"{show(phi)}   |   {show(psi)}   ({claim}, {level}, {order}): {wrong}"
    return Trial(name, wrong, seconds)


def trials(pairs: int, streams: int, seed: int) -> Iterator[Trial]:
    """The trials of all pairs."""
    return (judge(index, streams) for index in range(seed, seed + pairs))


@click.command()
@click.option("--pairs", default=2000, show_default=True)
@click.option("--streams", default=80, show_default=True, help="Random streams for each proof.")
@click.option("--seed", default=0, show_default=True)
def main(pairs: int, streams: int, seed: int) -> None:
    """Decide random pairs and check every verdict."""
    found = list(track(trials(pairs, streams, seed), "pairs", pairs))
    print(dict(Counter(t.verdict for t in found)))
    for trial in [t for t in found if t.contradiction][:20]:
        print("CONTRADICTION", trial.contradiction)
    print("contradictions:", sum(1 for t in found if t.contradiction))
    times = sorted(t.seconds * 1000 for t in found)
    print(f"to decide: median {times[len(times) // 2]:.1f} ms, 95 % {times[len(times) * 95 // 100]:.1f} ms")


if __name__ == "__main__":
    main()

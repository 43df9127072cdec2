"""Random pairs of formulas, decided: every verdict held against its proof and against the definition on small streams.

A third of the pairs is equivalent by construction (an instance of a law, or a formula and a normal form of it), a third
differs by one small change, and a third has nothing to do with each other.

Run as: python -m proofs_tests.campaigns.equivalence [--pairs N] [--length N]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from random import Random

import click
from rich.progress import track

from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.generate.cel import EVERYTHING, formula
from cerify.equivalence.rewrite.laws import LAWS
from cerify.equivalence.rewrite.normal_forms import disjunctive, push_filters, push_in
from cerify.equivalence.verdict import Different, Equivalent, Level, Undecided
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import compared_by

PROFILE = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))
ALPHABETS = (
    (Event("A", {"x": 0}), Event("B", {"x": 1})),
    (Event("A", {"x": 1}), Event("B", {"x": 0})),
    (Event("A", {"x": 0}), Event("A", {"x": 1})),
)
KINDS = ("same", "changed", "unrelated")
HOLDING = [law for law in LAWS if law.holds]


@dataclass(frozen=True)
class Outcome:
    """What became of a pair: its kind, the verdict, what contradicts it, the seconds to decide it, and its nodes."""

    kind: str
    verdict: str
    contradiction: str | None
    seconds: float
    nodes: int


def pair(rng: Random, kind: str, nodes: int) -> tuple[cel.Formula, cel.Formula, Level]:
    """Two unary formulas of at most `nodes` nodes, and the level at which to compare them."""
    while True:
        level: Level = rng.choice(("events", "valuations", "positions"))
        if kind == "same" and rng.random() < 0.3:
            left = formula(rng, PROFILE, nodes)
            right = rng.choice((disjunctive, push_in, push_filters))(left)
        elif kind == "same":
            law = rng.choice(HOLDING)
            operands = [formula(rng, PROFILE, rng.randint(1, max(1, nodes // 3))) for _ in range(3)]
            if not law.applies(*operands):
                continue
            left, right = law.instance(*operands)
            level = law.level
        elif kind == "changed":
            left = formula(rng, PROFILE, nodes)
            right = changed(left, rng)
        else:
            left, right = formula(rng, PROFILE, nodes), formula(rng, PROFILE, rng.randint(1, nodes))
        if is_unary(left) and is_unary(right) and max(cel.size(left), cel.size(right)) <= 2 * nodes:
            return left, right, level


def changed(phi: cel.Formula, rng: Random) -> cel.Formula:
    """The formula with one of its sub-formulas replaced by a random one of the same size or less."""
    target = rng.randrange(sum(1 for _ in cel.subformulas(phi)))
    seen = -1

    def elsewhere(psi: cel.Formula) -> cel.Formula:
        nonlocal seen
        seen += 1
        if seen == target:
            return formula(rng, PROFILE, max(1, cel.size(psi) - rng.randint(0, 1)))
        return rebuilt(psi, [elsewhere(child) for child in children(psi)])

    return elsewhere(phi)


def judge(index: int, nodes: int, length: int) -> Outcome:
    """One pair, decided and checked."""
    rng = Random(f"equivalence/{index}")
    kind = KINDS[index % 3]
    phi, psi, level = pair(rng, kind, rng.randint(1, nodes))
    size = max(cel.size(phi), cel.size(psi))
    begun = time.process_time()
    verdict = equivalent(phi, psi, level)
    seconds = time.process_time() - begun
    said = type(verdict).__name__.lower()
    contradiction = None
    match verdict:
        case Equivalent(certificate):
            contradiction = flaw(certificate) or separated(phi, psi, level, length)
        case Different(stream):
            contradiction = separated(phi, psi, level, min(len(stream) - 1, length))
            if kind == "same":
                contradiction = "what is the same by construction differs"
        case Undecided(reason):
            said = f"undecided: {reason[:60]}"
    if contradiction is not None:
        contradiction = f"{show(phi)}   |   {show(psi)}   ({level}): {contradiction}"
    return Outcome(kind, said, contradiction, seconds, size)


def separated(phi: cel.Formula, psi: cel.Formula, level: Level, length: int) -> str | None:
    """A stream over a small alphabet on which they differ, as the definition has it.

    All of at most this length over the first alphabet are tried, and of two less over the others.
    """
    for alphabet, shorter in zip(ALPHABETS, (0, 2, 2), strict=True):
        for events in product(alphabet, repeat=max(0, length - shorter)):
            interpreter = Interpreter(Stream(events))
            try:
                for n in range(len(events)):
                    left, right = (compared_by(interpreter.meaning(chi, 0, n), level) for chi in (phi, psi))
                    if left != right:
                        return f"they differ on {events[: n + 1]}"
            except BudgetExceeded:
                return None
    return None


def outcomes(pairs: int, nodes: int, length: int, processes: int) -> Iterator[Outcome]:
    """The outcomes of all pairs."""
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(judge, range(pairs), [nodes] * pairs, [length] * pairs, chunksize=50)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@click.command()
@click.option("--pairs", default=20_000, show_default=True)
@click.option("--nodes", default=12, show_default=True, help="Of the larger formula, before a law is applied.")
@click.option(
    "--length", default=6, show_default=True, help="Of the streams on which verdicts are held to the definition."
)
@click.option("--processes", default=1, show_default=True)
def main(pairs: int, nodes: int, length: int, processes: int) -> None:
    """Decide random pairs and check every verdict."""
    found = list(track(outcomes(pairs, nodes, length, processes), "pairs", pairs))
    for kind in KINDS:
        print(f"{kind:10}", dict(Counter(o.verdict for o in found if o.kind == kind)))
    for outcome in [o for o in found if o.contradiction][:20]:
        print("CONTRADICTION", outcome.contradiction)
    print("contradictions:", sum(1 for o in found if o.contradiction))
    times = [o.seconds * 1000 for o in found]
    shares = {share: f"{percentile(times, share):.1f} ms" for share in (0.5, 0.9, 0.95, 0.99, 1.0)}
    print("to decide:", shares, f"under 50 ms: {sum(t < 50 for t in times) / len(times):.1%}")
    for low in range(1, 2 * nodes + 1, 4):
        if some := [o.seconds * 1000 for o in found if low <= o.nodes < low + 4]:
            middle, most = percentile(some, 0.5), percentile(some, 0.95)
            print(f"  {low:2} to {low + 3} nodes: {len(some)} pairs, median {middle:.1f} ms, 95 % {most:.1f} ms")


if __name__ == "__main__":
    main()

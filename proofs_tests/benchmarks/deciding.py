"""The figures of the decider: how long random pairs of formulas take, by their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from statistics import median

from cerify.automata.cea.compile import compile_cel
from cerify.equivalence.decide.cel import equivalent
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded
from proofs_tests.benchmarks.figure import Figure, cpu_seconds
from proofs_tests.campaigns.equivalence import pair, percentile

SIZES = (4, 8, 12, 20, 40)
ENOUGH = {4: 20, 8: 20, 12: 20, 40: 150}
"""By nodes of the formulas, the milliseconds within which 95 of 100 pairs are to be decided."""
SLOWEST = 3000  # milliseconds, of all pairs


def equivalence(quick: bool) -> Iterator[Figure]:
    """Deciding a pair of formulas by their nodes, in the middle and in 95 of 100 cases, against compiling the two.

    `slowest` is the greatest of all, 300 pairs of each number of nodes.
    """
    slowest: list[float] = []
    for size in SIZES:
        pairs = [pair(Random(f"{size}/{i}"), "unrelated", size) for i in range(60 if quick else 300)]
        taken = [
            (milliseconds(partial(equivalent, phi, psi, level)), milliseconds(partial(compiled, phi, psi)))
            for phi, psi, level in pairs
        ]
        times = sorted(mine for mine, _ in taken)
        ratio = median(mine / base for mine, base in taken)
        slowest.append(times[-1])
        for name, share in (("median", 0.5), ("95", 0.95)):
            value, most = percentile(times, share), ENOUGH.get(size) if name == "95" else None
            target, met = (None, None) if most is None else (f"≤ {most} ms", value <= most)
            spread = (times[0], times[-1])
            yield Figure(f"equivalence.{size}.{name}", value, "ms", "compiling the two", ratio, 1, spread, target, met)
    value, low = max(slowest), min(slowest)
    met = value <= SLOWEST
    yield Figure("equivalence.slowest", value, "ms", "itself", 1.0, 1, (low, value), f"≤ {SLOWEST} ms", met)


def compiled(*formulas: Formula) -> None:
    """Both automata, as far as the budget goes."""
    for phi in formulas:
        try:
            compile_cel(phi, Budget())
        except BudgetExceeded:
            return


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of one run."""
    return 1000 * cpu_seconds(work)

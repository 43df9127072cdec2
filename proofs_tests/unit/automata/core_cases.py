"""core-CEL compiled, against the denotational interpreter: all small formulas on all short streams, and random ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from random import Random

from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate.core import automaton, run_automaton
from cerify.equivalence.generate.core_cel import ANYTHING, STRATEGIES_TOO, UNARY_FILTERS, formula, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_unary
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.unit.semantics.core_cel.formulas import of_size

TUPLES = tuple(Event(R, {"a": a}) for R in "AB" for a in (0, 1))
"""Either type with either of two values of the attribute."""

TWO = (TUPLES[0], TUPLES[3])
"""One of each."""
OPERATORS: dict[str, type[core.Formula]] = {
    "event": core.CoreEventAtom,
    "filter": core.CoreFilter,
    "or": core.CoreOr,
    "seq": core.CoreSeq,
    "plus": core.CorePlus,
    "strict": core.CoreStrict,
    "nxt": core.CoreNext,
    "last": core.CoreLast,
    "max": core.CoreMax,
}

PROFILES = [
    replace(profile, correlated=0.0)
    for profile in (ANYTHING, STRATEGIES_TOO, UNARY_FILTERS, replace(ANYTHING, safe=True))
]
SMALL, ORACLE = Budget(states=20_000, seconds=10), Budget(valuations=500_000)


def topped(operator: str, nodes: int) -> Iterator[core.Formula]:
    """All unary formulas to that many nodes over A, B, two variables and two filters, with the operator on top."""
    for n in range(1, nodes + 1):
        yield from (phi for phi in of_size(n) if isinstance(phi, OPERATORS[operator]) and is_unary(phi))


def streams(events: int, tuples: tuple[Event, ...] = TUPLES) -> tuple[Stream, ...]:
    """All streams to that length of these events."""
    return tuple(Stream(chosen) for n in range(1, events + 1) for chosen in product(tuples, repeat=n))


def wrong(phi: core.Formula, Ss: Iterable[Stream]) -> str | None:
    """The first stream on which the automaton departs from the meaning, and what each says. Raises BudgetExceeded."""
    A, waits = automaton(phi, SMALL)
    D = Determinized(A, SMALL)
    for S in Ss:
        expected, found = matches_of(phi, S, ORACLE), sorted(run_automaton(D, S, waits))
        if expected != found:
            return f"{show(phi)} over {S.events}: {expected}, not {found}"
    return None


def drawn(seed: int, nodes: int, events: int) -> tuple[core.Formula, list[Stream]]:
    """A random formula of up to `nodes` nodes, with four streams."""
    rng = Random(f"core-CEL compiled/{seed}")
    profile = rng.choice(PROFILES)
    phi = formula(rng, profile, rng.randint(1, nodes))
    return phi, [stream(rng, profile, rng.randint(0, events), phi) for _ in range(4)]

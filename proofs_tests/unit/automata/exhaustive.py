"""Small formulas, all of them or random ones, with the streams and the definition that they are compared by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate.core import automaton, run_automaton
from cerify.automata.evaluate.tables import classify
from cerify.equivalence.generate.cel import CelProfile, around, case, clocked
from cerify.equivalence.generate.core_cel import ANYTHING, STRATEGIES_TOO, UNARY_FILTERS, formula, stream
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_unary
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.events import Event, Stream, Valuation
from proofs_tests.claims.search import BINARY, ONE_EVENT, UNARY, Space
from proofs_tests.unit.semantics.core_cel_cases import of_size

# ---- exhaustive ----
# All formulas to a size, compiled, against the denotational interpreter on all streams to a length.
#
# Between them the spaces have every operator and strategy, several variables for one event, formulas that mark
# nothing,
# operands that are anchored, and operands that are single events.

Valuations = frozenset[Valuation]
OPERATORS = tuple(name for name in (*UNARY, *BINARY) if name != "correlated")
TWO = (Event("A", {"x": 0}), Event("B", {"x": 0}))

EVERYTHING = Space(OPERATORS, nodes=4, events=4)
"""Every operator over every other, with filters on the value of an A."""

ANCHORED = Space(("start", "project", "seq", "cseq", "all", "unless", "plus", "nxt"), nodes=5, events=4, alphabet=TWO)
"""Operands that begin or end where nothing is marked, or that mark nothing at all."""

SEVERAL = Space(("in", "seq", "or", "nxt", "last", "max", "strict"), nodes=6, events=4, alphabet=ONE_EVENT)
"""One event marked in several ways, and what the strategies make of it."""

SPACES = {"everything": EVERYTHING, "anchored": ANCHORED, "several": SEVERAL}
QUICK = {
    "everything": replace(EVERYTHING, nodes=3, events=3),
    "anchored": replace(ANCHORED, nodes=4, events=3),
    "several": replace(SEVERAL, nodes=5, events=3),
}


@dataclass(frozen=True)
class Wrong:
    """A formula and a stream on which the automaton departs from the meaning, at the last position."""

    query: str
    stream: tuple[Event, ...]
    expected: Valuations
    found: Valuations


def wrong(phi: cel.Formula, space: Space) -> Wrong | None:
    """A shortest stream of the space on which the automaton of phi departs from its meaning."""
    A = compile_cel(phi)
    automaton = Determinized(A)
    types = classify(A.predicates, Stream(space.alphabet))
    for length in range(1, space.events + 1):
        for chosen in product(range(len(space.alphabet)), repeat=length):
            S = Stream(space.alphabet[e] for e in chosen)
            expected = Interpreter(S).meaning(phi, 0, length - 1)
            runs: dict[int, set[Valuation]] = {0: {frozenset()}}
            for i, e in enumerate(chosen):
                after: dict[int, set[Valuation]] = {}
                for q, mus in runs.items():
                    for marks, p in automaton.step(q, types[e]):
                        after.setdefault(p, set()).update(mu | {(A_, i) for A_ in marks} for mu in mus)
                runs = after
            found = frozenset(mu for q, mus in runs.items() if automaton.final[q] for mu in mus)
            if found != expected:
                return Wrong(show(phi), S.events, expected, found)
    return None


# ---- core cases ----
# core-CEL compiled, against the denotational interpreter: all small formulas on all short streams, and random ones.

TUPLES = tuple(Event(R, {"a": a}) for R in "AB" for a in (0, 1))
"""Either type with either of two values of the attribute."""

CORE_TWO = (TUPLES[0], TUPLES[3])
"""One of each."""
CORE_OPERATORS: dict[str, type[core.Formula]] = {
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
        yield from (phi for phi in of_size(n) if isinstance(phi, CORE_OPERATORS[operator]) and is_unary(phi))


def streams(events: int, tuples: tuple[Event, ...] = TUPLES) -> tuple[Stream, ...]:
    """All streams to that length of these events."""
    return tuple(Stream(chosen) for n in range(1, events + 1) for chosen in product(tuples, repeat=n))


def wrong_core(phi: core.Formula, Ss: Iterable[Stream]) -> str | None:
    """The first stream on which the automaton departs from the meaning, and what each says. Raises BudgetExceeded."""
    A, waits = automaton(phi, SMALL)
    D = Determinized(A, SMALL)
    for S in Ss:
        expected, found = matches_of(phi, S, ORACLE), sorted(run_automaton(D, S, waits))
        if expected != found:
            return f"{show_core(phi)} over {S.events}: {expected}, not {found}"
    return None


def drawn(seed: int, nodes: int, events: int) -> tuple[core.Formula, list[Stream]]:
    """A random formula of up to `nodes` nodes, with four streams."""
    rng = Random(f"core-CEL compiled/{seed}")
    profile = rng.choice(PROFILES)
    phi = formula(rng, profile, rng.randint(1, nodes))
    return phi, [stream(rng, profile, rng.randint(0, events), phi) for _ in range(4)]


# ---- cases ----
# Random formulas under windows and partitions, with streams on which they make a difference.


def scoped_case(rng: Random, profile: CelProfile, nodes: int = 8, events: int = 9) -> tuple[Formula, Stream]:
    """A case of the profile, in one to three windows and partitions; some of them stand under another operator."""
    phi, S = case(rng, profile, nodes, events)
    for _ in range(rng.choice((1, 1, 2, 3))):
        phi = around(rng, phi)
        if rng.random() < 0.2:
            phi = rng.choice((cel.Start, cel.Strict, lambda psi: cel.In(psi, "X")))(phi)
    return phi, clocked(rng, S)

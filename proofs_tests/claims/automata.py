"""Small complex event automata, for claims that begin with one: all of two states to a size, and some of three."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

from cerify.automata.cea.model import CEA, UNMARKED, Marks, Transition, trim
from cerify.semantics.predicates import Anything, OfType, Predicate
from proofs_tests.claims.ledger import Effort

LABELS: tuple[tuple[Predicate, Marks], ...] = (
    (Anything(), UNMARKED),
    (OfType("A"), frozenset({"A"})),
    (OfType("B"), frozenset({"T"})),
)
MOST = {"quick": 3, "full": 4}
"""How many transitions those of two states have at most."""


def automata(effort: Effort, seed: int) -> Iterator[CEA]:
    """Initial in the first state, final in the last, no state for nothing, and none of them twice."""
    draw, drawn = random.Random(seed), 60 if effort == "quick" else 2000
    for states, most in ((1, 3), (2, MOST[effort]), (3, 7)):
        edges = [Transition(p, P, L, q) for p, q in product(range(states), repeat=2) for P, L in LABELS]
        if states < 3:
            chosen = [ts for n in range(1, most + 1) for ts in combinations(edges, n)]
        else:
            samples = (sorted(draw.sample(range(len(edges)), draw.randint(3, most))) for _ in range(drawn))
            chosen = list(dict.fromkeys(tuple(edges[n] for n in sample) for sample in samples))
        for transitions in chosen:
            A = CEA(states, transitions, frozenset({0}), frozenset({states - 1}))
            if trim(A).states == states:
                yield A


def in_words(effort: Effort, seed: int) -> str:
    """Which automata these are."""
    return (
        "automata whose transitions skip any event or mark an A or a B, from the first state to the last one: all of "
        f"one state, all of two with at most {MOST[effort]} transitions, a sample of three (seed {seed})"
    )

"""Small complex event automata, for claims that begin with one: all of two states, and some of three."""

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

DRAWN = "from the first state to the last one, all of one state, the others in part drawn (seed {seed})"
"""What a check has to say that goes through these automata."""


def automata(effort: Effort, seed: int) -> Iterator[CEA]:
    """Initial in the first state, final in the last, no state for nothing: those of two, then some of three."""
    draw = random.Random(seed)
    for states, most, how_many in ((1, 3, None), (2, 4, None), (3, 7, 60 if effort == "quick" else 2000)):
        edges = [Transition(p, P, L, q) for p, q in product(range(states), repeat=2) for P, L in LABELS]
        if how_many is None:
            chosen = [ts for n in range(1, most + 1) for ts in combinations(edges, n)]
            if effort == "quick" and len(chosen) > 120:
                chosen = chosen[:40] + draw.sample(chosen, 80)
        else:
            chosen = [tuple(draw.sample(edges, draw.randint(3, most))) for _ in range(how_many)]
        for transitions in chosen:
            A = CEA(states, transitions, frozenset({0}), frozenset({states - 1}))
            if trim(A).states == states:
                yield A

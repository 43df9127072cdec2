"""Small complex event automata, for claims that begin with one: all to two states and a size, and some of three."""

from __future__ import annotations

import random
from collections import Counter
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
DRAWN = {"quick": 60, "full": 2000}
"""How many of three states are drawn; those with a state that is on no path from the first to the last are left out."""


def automata(effort: Effort, seed: int) -> Iterator[CEA]:
    """Initial in the first state, final in the last, no state for nothing, and none of them twice."""
    draw = random.Random(seed)
    for states, most in ((1, 3), (2, MOST[effort]), (3, 7)):
        edges = [Transition(p, P, L, q) for p, q in product(range(states), repeat=2) for P, L in LABELS]
        if states < 3:
            chosen = [ts for n in range(1, most + 1) for ts in combinations(edges, n)]
        else:
            samples = (sorted(draw.sample(range(len(edges)), draw.randint(3, most))) for _ in range(DRAWN[effort]))
            chosen = list(dict.fromkeys(tuple(edges[n] for n in sample) for sample in samples))
        for transitions in chosen:
            A = CEA(states, transitions, frozenset({0}), frozenset({states - 1}))
            if trim(A).states == states:
                yield A


def in_words(effort: Effort, seed: int) -> str:
    """Which automata these are, and how many."""
    of = Counter(A.states for A in automata(effort, seed))
    return (
        f"{of.total()} automata: their transitions skip any event or mark an A or a B and their states lie on a "
        f"path from the first to the last (all {of[1]} of one state and all {of[2]} of two with at most "
        f"{MOST[effort]} transitions); the {of[3]} among {DRAWN[effort]} random ones of three with 3 to 7 (seed "
        f"{seed})"
    )

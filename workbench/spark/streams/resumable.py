"""A run of a CEL formula that is put aside between batches: what is kept of it, and when nothing need be kept."""

from __future__ import annotations

import copy
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.model import CEA
from cerify.automata.evaluate import state
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.scope import punctual
from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.evaluators import CEL, CORE_CEL
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported, errors_in
from cerify.semantics.predicates import Anything
from cerify.spark.runs.cel import CelRun, Shared, shared_of
from cerify.spark.runs.query import Query

QUERIES = 16  # that a process keeps compiled


class Resumable(CelRun):
    """A run that is saved without what its windows have let go."""

    def save(self) -> bytes:
        """The arrays of the evaluator, as automata/evaluate/state.py writes them."""
        E = self._latest()
        used = E.kept.let_go(self.reaches)
        if E.scope.attributes:
            E.keys.keep(used)
        return super().save()

    @property
    def position(self) -> int:
        """Of the next event."""
        return self._evaluator.position

    def reachable(self) -> NDArray[np.int64]:
        """After a save: the positions that later matches may have, and perhaps some more."""
        return np.unique(self._evaluator.kept.arrays["tree"]["event"])


class Compiled:
    """A query as its runs share it. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""

    def __init__(self, query: Query, budget: Budget) -> None:
        with errors_in(query.text):
            phi = _in_cel(query, budget)
            self._shared = shared_of(phi, query.output, budget)
            self._blank = Evaluator(phi, output=query.output, budget=budget)

    def start(self) -> Resumable:
        """A run over a stream of which nothing is known yet."""
        return Resumable(self._shared)

    def restore(self, saved: bytes) -> Resumable:
        """The run that was saved. Raises InputError for the state of anything else."""
        E = copy.copy(self._blank)
        state.restore(E, BytesIO(saved))
        return Resumable(Shared(E), E)

    @property
    def widths(self) -> dict[str, int | float]:
        """The windows on values, by attribute."""
        return dict(self._shared.evaluator.scope.widths)

    @property
    def forgets(self) -> bool:
        """Whether a run of which a window has passed finds what a new one finds."""
        return forgets(self._shared.evaluator.automaton.A)


@lru_cache(QUERIES)
def compiled(query: str, budget: Budget = Budget()) -> Compiled:
    """The query of this JSON; once for a process."""
    return Compiled(Query.from_json(query), budget)


def forgets(A: CEA) -> bool:
    """Whether a match that begins after some events needs none of them, and ends in the event it is reported at.

    It needs none if a run that has marked nothing stays where it may begin, whatever it reads. Then, after a silence
    longer than a window on values, what the automaton knows is as good as nothing.
    """
    stays = {t.source for t in A.transitions if not t.marks and t.predicate == Anything() and t.source == t.target}
    moves = {t.source for t in A.transitions if not t.marks and t.source != t.target}
    return A.initial <= stays - moves and punctual(A)


def _in_cel(query: Query, budget: Budget) -> Any:
    if query.spoken is CEL:
        return query.parsed
    if query.spoken is not CORE_CEL:
        raise Unsupported(
            f"a stream is matched by evaluators whose state can be saved, and {query.language} has none; "
            "use cerify.spark.match on data at rest"
        )
    try:
        return to_cel(query.parsed, budget)
    except BudgetExceeded as error:
        raise Unsupported(error.message, error.span) from None

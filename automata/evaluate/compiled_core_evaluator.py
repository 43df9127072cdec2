"""The evaluator of batches for unary core-CEL in compiled loops; ReadableCoreEvaluator is the twin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.automaton_evaluator import CoreEvaluator
from cerify.automata.evaluate.batches import require
from cerify.automata.evaluate.compiled_evaluator import Classes, CompiledEvaluator
from cerify.automata.evaluate.scope_columns import NO_BEGINS, Longs
from cerify.semantics.budget import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import Match, Stream


class CompiledCoreEvaluator(CoreEvaluator, CompiledEvaluator):
    """The matches of a unary formula by compiled loops.

    last: int64 [., 3], the roots at the last position with any, of a formula that looks ahead; see update_lists.
    """

    def advance(
        self, S: Stream, classes: Classes | None = None, begins: Longs = NO_BEGINS
    ) -> Iterator[NDArray[np.int64]]:
        """As in CompiledEvaluator; of a formula that looks ahead nothing."""
        for roots in super().advance(S, classes, begins):
            if self.waits:
                self.last = roots[roots[:, 0] == roots[-1, 0]].copy()
            else:
                yield roots

    def tally(self, S: Stream, classes: Classes | None = None) -> int:
        """As `count`."""
        if not self.waits:
            return super().tally(S, classes)
        return len(self.read(S, None, classes))

    def at_end(self) -> Iterator[tuple[int, ...]]:
        roots = self._last_roots()
        for matches in self.store.match_batches(roots, False) if roots.size else ():
            events, ends = matches.events.tolist(), matches.offsets.tolist()
            yield from (tuple(events[start:end]) for start, end in pairwise(ends))

    def _begin(self) -> None:
        super()._begin()
        self.last = np.empty((0, 3), np.int64)

    def _arrays(self) -> dict[str, Any]:
        return super()._arrays() | {"last": self._last_roots()}

    def _last_roots(self) -> NDArray[np.int64]:
        """The roots at the position that was read last; nodes of others may be gone."""
        roots: NDArray[np.int64] = self.last[self.last[:, 0] == self.position - 1]
        return roots

    def _load_rest(self, arrays: dict[str, NDArray[Any]]) -> None:
        last = arrays["last"]
        require(last.dtype == np.int64 and last.shape[1:] == (3,), "the last roots have no such shape")
        lists = np.maximum(last[:, 1], ~last[:, 1])
        require(((last[:, 1] != 0) & (lists < self.store.nodes)).all(), "a root is out of range")
        self.last = last


def matches(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """All matches over a whole stream, sorted. Raises Unsupported where filters compare events, and BudgetExceeded."""
    return CompiledCoreEvaluator(phi, budget).evaluate(S)

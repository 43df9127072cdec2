"""Evaluators of batches for unary core-CEL, in readable Python and in compiled loops.

The automaton of a formula that looks ahead has all matches at the end of the stream; they are returned by `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate.batches import require
from cerify.automata.evaluate.ces_window import Node, complex_event, enumerate_
from cerify.automata.evaluate.compiled_evaluator import Classes, CompiledEvaluator
from cerify.automata.evaluate.core import COMPILED_CORE_CEL
from cerify.automata.evaluate.readable_evaluator import ReadableEvaluator
from cerify.automata.evaluate.scope import Windows
from cerify.automata.evaluator import Evaluator
from cerify.semantics.budget import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream


class ReadableCoreEvaluator(ReadableEvaluator):
    """The matches of a unary formula; waits: whether it looks ahead. Raises Unsupported for others, BudgetExceeded."""

    def __init__(self, phi: core.Formula, budget: Budget = Budget()) -> None:
        self.phi = phi
        A, self.waits = COMPILED_CORE_CEL(phi, budget)
        super().__init__(Determinized(A, budget), Windows(), budget=budget)

    def rest(self) -> list[Match]:
        """The matches of a formula that looks ahead, each at its last event. Raises BudgetExceeded."""
        ends = self.evaluation.ends() if self.waits else iter(())
        return _at_last_events((complex_event(path) for n in ends for path in enumerate_(n, self.low)), self.budget)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.budget)

    def _completed(self) -> Iterator[Node]:
        return iter(()) if self.waits else super()._completed()


class CompiledCoreEvaluator(CompiledEvaluator):
    """The same in compiled loops. Raises Unsupported also where numba is not installed.

    last: int64 [., 4], the roots at the last position with any, of a formula that looks ahead; see update_lists.
    """

    def __init__(self, phi: core.Formula, budget: Budget = Budget()) -> None:
        self.phi = phi
        self.last = np.empty((0, 4), np.int64)
        A, self.waits = COMPILED_CORE_CEL(phi, budget)
        super().__init__(Determinized(A, budget), Windows(), budget=budget)

    def advance(self, S: Stream, classes: Classes | None = None) -> Iterator[NDArray[np.int64]]:
        """As in CompiledEvaluator; of a formula that looks ahead nothing."""
        for roots in super().advance(S, classes):
            if self.waits:
                self.last = roots[roots[:, 0] == roots[-1, 0]].copy()
            else:
                yield roots

    def tally(self, S: Stream, classes: Classes | None = None) -> int:
        """As `count`."""
        if not self.waits:
            return super().tally(S, classes)
        return len(self.read(S, None, classes))

    def rest(self) -> list[Match]:
        """The matches of a formula that looks ahead, each at its last event. Raises BudgetExceeded."""
        roots = self.last[self.last[:, 0] == self.position - 1]
        return _at_last_events(self._complex_events(roots), self.budget)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.budget)

    def _complex_events(self, roots: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
        for matches in self.store.match_batches(roots, False) if roots.size else ():
            events, ends = matches.events.tolist(), matches.offsets.tolist()
            yield from (tuple(events[start:end]) for start, end in pairwise(ends))

    def _begin(self) -> None:
        super()._begin()
        self.last = np.empty((0, 4), np.int64)

    def _arrays(self) -> dict[str, Any]:
        return super()._arrays() | {"last": self.last}

    def _load_rest(self, arrays: dict[str, NDArray[Any]]) -> None:
        from cerify.automata.evaluate.list_kernels import in_lists

        last = arrays["last"]
        require(last.dtype == np.int64 and last.ndim == 2 and last.shape[1] == 4, "the last roots have no such shape")
        require(((last[:, 1:3] > 0) & (last[:, 1:3] < self.store.nodes)).all(), "a root is out of range")
        require(bool(in_lists(self.store.tree, last[:, 1:3].astype(np.int32))), "a root is no list")
        self.last = last


def _at_last_events(found: Iterator[tuple[int, ...]], budget: Budget) -> list[Match]:
    matches = []
    for C in found:
        matches.append(Match(C[-1], C))
        if len(matches) > budget.matches:
            raise BudgetExceeded(f"more than {budget.matches} matches; allow more: Budget(matches=...)")
    return sorted(matches)

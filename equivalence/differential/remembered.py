"""A formula that comes with several streams and evaluators is compiled once: in campaigns, most time goes there."""

from __future__ import annotations

import gc

from cerify.automata.cea import culprit
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported

MOST = 80  # formulas that are kept


class Remembered:
    """The compiler, with what it has made of the last formulas."""

    def __init__(self) -> None:
        # by identity, which is what mostly finds it, and by what is the same
        self._same: dict[tuple[int, Budget], tuple[Formula, CEA | CerifyError]] = {}
        self._equal: dict[tuple[Formula, Budget], CEA | CerifyError] = {}

    def __call__(self, phi: Formula, budget: Budget = Budget()) -> CEA:
        if (id(phi), budget) not in self._same:
            if len(self._same) > MOST:
                self._same.clear()
                self._equal.clear()
            if (phi, budget) not in self._equal:
                self._equal[phi, budget] = _compiled(phi, budget)
            self._same[id(phi), budget] = phi, self._equal[phi, budget]
        A = self._same[id(phi), budget][1]
        if isinstance(A, CerifyError):
            raise A
        return A


def compile_once() -> None:
    """Let the evaluators of this process share what is compiled, from now on; see Remembered."""
    gc.set_threshold(100_000)  # there are many small objects, and few cycles
    setattr(culprit, "compile_cel", Remembered())  # noqa: B010  # the one place where evaluators compile CEL


def _compiled(phi: Formula, budget: Budget) -> CEA | CerifyError:
    try:
        return compile_cel(phi, budget)
    except (Unsupported, BudgetExceeded) as error:
        return error

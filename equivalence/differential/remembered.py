"""A formula that comes with several streams and evaluators is compiled once: in campaigns, most time goes there."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from cerify.automata.cea import culprit
from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate import core
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported

F = TypeVar("F", bound=Hashable)
Made = TypeVar("Made")
MOST = 80  # formulas that are kept


class Remembered(Generic[F, Made]):
    """A compiler, with what it has made of the last formulas."""

    def __init__(self, compiler: Callable[[F, Budget], Made]) -> None:
        self._compiler = compiler
        # by identity, which is what mostly finds it, and by what is the same
        self._same: dict[tuple[int, Budget], tuple[F, Made | CerifyError]] = {}
        self._equal: dict[tuple[F, Budget], Made | CerifyError] = {}

    def __call__(self, phi: F, budget: Budget = Budget()) -> Made:
        if (id(phi), budget) not in self._same:
            if len(self._same) > MOST:
                self._same.clear()
                self._equal.clear()
            if (phi, budget) not in self._equal:
                self._equal[phi, budget] = self._compiled(phi, budget)
            self._same[id(phi), budget] = phi, self._equal[phi, budget]
        made = self._same[id(phi), budget][1]
        if isinstance(made, CerifyError):
            raise made
        return made

    def _compiled(self, phi: F, budget: Budget) -> Made | CerifyError:
        try:
            return self._compiler(phi, budget)
        except (Unsupported, BudgetExceeded) as error:
            return error


def compile_once() -> None:
    """Let the evaluators of this process share what is compiled, from now on; see Remembered."""
    gc.set_threshold(100_000)  # there are many small objects, and few cycles
    # the two places where evaluators compile CEL and core-CEL
    _replace(culprit, "compile_cel", Remembered(compile_cel))
    _replace(core, "automaton", Remembered(core.automaton))


def _replace(module: Any, name: str, remembered: Remembered[Any, Any]) -> None:
    if not isinstance(getattr(module, name), Remembered):
        setattr(module, name, remembered)

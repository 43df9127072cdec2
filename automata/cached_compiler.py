"""A compiler with a memory of the last queries, for campaigns, where most of the time would go into compiling again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported

F = TypeVar("F", bound=Hashable)
Made = TypeVar("Made")


class CachedCompiler(Generic[F, Made]):
    """A compiler that returns what it has compiled before, for the last queries; at first of none.

    Equal queries share what is compiled, an error included, whose span is then that of the first of them.
    """

    def __init__(self, compiler: Callable[[F, Budget], Made]) -> None:
        self._compiler = compiler
        self._most = 0
        # two tables: a lookup by identity spares the comparison of trees
        self._same: dict[tuple[int, Budget], tuple[F, Made | CerifyError]] = {}
        self._equal: dict[tuple[F, Budget], Made | CerifyError] = {}

    def retain(self, queries: int) -> None:
        """Keep what is compiled of up to that many queries, from now on."""
        self._most = queries

    def __call__(self, phi: F, budget: Budget = Budget()) -> Made:
        """What the compiler makes of a query. Raises what the compiler raises."""
        if not self._most:
            return self._compiler(phi, budget)
        if (id(phi), budget) not in self._same:
            if len(self._same) >= self._most:
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
            check_time()  # that the time of this call is over says nothing of the next one
            return error

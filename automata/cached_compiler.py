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
        self.retained = 0
        # two tables: a lookup by identity spares the comparison of trees
        self._same: dict[int, tuple[F, list[tuple[Budget, Made | CerifyError]]]] = {}
        self._equal: dict[tuple[F, Budget], Made | CerifyError] = {}

    def retain(self, queries: int) -> None:
        """Keep what is compiled of up to that many queries, from now on; with 0 nothing is left."""
        self.retained = queries
        self._same.clear()
        self._equal.clear()

    def __call__(self, phi: F, budget: Budget = Budget()) -> Made:
        """What the compiler makes of a query. Raises what the compiler raises."""
        if not self.retained:
            return self._compiler(phi, budget)
        if id(phi) not in self._same:
            if len(self._same) >= self.retained:
                self._same.clear()
                self._equal.clear()
            self._same[id(phi)] = phi, []
        _, known = self._same[id(phi)]
        made = next((made for allowed, made in known if _suffices(made, allowed, budget)), None)
        if made is None:
            if (phi, budget) not in self._equal:
                self._equal[phi, budget] = self._compiled(phi, budget)
            made = self._equal[phi, budget]
            known.append((budget, made))
        if isinstance(made, CerifyError):
            raise made
        return made

    def _compiled(self, phi: F, budget: Budget) -> Made | CerifyError:
        try:
            return self._compiler(phi, budget)
        except (Unsupported, BudgetExceeded) as error:
            check_time()  # that the time of this call is over says nothing of the next one
            return error


def _suffices(made: object, allowed: Budget, budget: Budget) -> bool:
    """Whether what was made within one budget is what would be made within another one."""
    return allowed == budget or (not isinstance(made, CerifyError) and allowed.states <= budget.states)

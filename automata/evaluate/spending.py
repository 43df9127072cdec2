"""What one evaluation has left of its budget for checks of candidates, counted over all that is done for it."""

from __future__ import annotations

import time

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded

STEPS = 256  # between two looks at the clock


class Spending:
    """The steps of one evaluation: budget.valuations of them, within budget.seconds."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._left = budget.valuations
        self._until = None if budget.seconds is None else time.monotonic() + budget.seconds

    def spend(self) -> None:
        """Count one more event of a path, combination of events, or part of a candidate. Raises BudgetExceeded."""
        self._left -= 1
        if self._left < 0:
            raise BudgetExceeded(
                f"filters that compare events were tried on more than {self._budget.valuations} events of partial "
                "matches; what makes them fewer is WITHIN, PARTITION BY, a filter on single events; or take a larger "
                "budget"
            )
        if self._left % STEPS == 0:
            check_time()
            if self._until is not None and time.monotonic() > self._until:
                raise BudgetExceeded(f"filters that compare events took more than {self._budget.seconds} seconds")

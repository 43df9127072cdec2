"""What the evaluators of CEL and core-CEL in batches have in common, readable and compiled.

`CelEvaluator` and `CoreEvaluator` make the automaton of a query; `ReadableEvaluator` and `CompiledEvaluator` read
events with it. An evaluator of a language is one of each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.evaluate.core import COMPILED_CORE_CEL
from cerify.automata.evaluate.partitions import batch_scope
from cerify.automata.evaluate.scope import Scope, Windows, fingerprint, reports_at_last_event
from cerify.automata.evaluator import Consumption, Evaluator, Output, require_output
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match
from cerify.semantics.predicates import mentions


class AutomatonEvaluator(Evaluator):
    """An I/O-determinized automaton on its way through a stream, within windows."""

    def __init__(
        self,
        automaton: Determinized,
        scope: Windows,
        output: Output = "matches",
        consumption: Consumption = Consumption.NONE,
        budget: Budget = Budget(),
    ) -> None:
        self.scope, self.output, self.consumption, self.budget = scope, output, consumption, budget
        self.reports_at_last_event = reports_at_last_event(automaton.A)
        named = (attribute.name for P in automaton.A.predicates for attribute in mentions(P))
        self.attributes = frozenset([*named, *scope.attributes, *(a for a, _ in scope.widths)])
        self._start(automaton)

    @abstractmethod
    def _start(self, automaton: Determinized) -> None:
        """Be at the beginning of a stream, with this automaton."""

    @property
    @abstractmethod
    def automaton(self) -> Determinized:
        """The automaton, as far as it is determinized."""

    @property
    def identity(self) -> str:
        return fingerprint(self.automaton.A, self.scope, f"{self.output} {self.consumption.value}")


class CelEvaluator(AutomatonEvaluator):
    """The matches of a formula of CEL over a stream that comes in batches.

    scope: what `batch_scope` returns for the formula, if that is known. Raises IllFormed for an output or a consumption
    that there is not, Unsupported (where batch_scope does not return a scope, and in compiled loops where numba is not
    installed), and BudgetExceeded.
    """

    def __init__(
        self,
        phi: Formula,
        output: Output = "matches",
        consumption: Consumption | str = Consumption.NONE,
        budget: Budget = Budget(),
        scope: Scope | Unsupported | None = None,
    ) -> None:
        require_output(output)
        self.phi = phi
        scope = batch_scope(phi) if scope is None else scope
        if isinstance(scope, Unsupported):
            raise scope
        automaton = lazily(scope.core, budget, None if output == "valuations" else single_variable)
        super().__init__(automaton, scope, output, Consumption.of(consumption), budget)

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.output, self.consumption, self.budget)


class CoreEvaluator(AutomatonEvaluator):
    """The matches of a unary formula of core-CEL; waits: whether it looks ahead.

    The automaton of a formula that looks ahead has all matches at the end of the stream; they are returned by `finish`.
    Raises Unsupported for formulas that are not unary, and as CelEvaluator does, and BudgetExceeded.
    """

    def __init__(self, phi: core.Formula, budget: Budget = Budget()) -> None:
        self.phi = phi
        A, self.waits = COMPILED_CORE_CEL(phi, budget)
        super().__init__(Determinized(A, budget), Windows(), budget=budget)

    def rest(self) -> list[Match]:
        """The matches of a formula that looks ahead, each at its last event. Raises BudgetExceeded."""
        matches = []
        for C in self.at_end():
            matches.append(Match(C[-1], C))
            if len(matches) > self.budget.matches:
                raise BudgetExceeded(f"more than {self.budget.matches} matches; allow more: Budget(matches=...)")
        return sorted(matches)

    @abstractmethod
    def at_end(self) -> Iterator[tuple[int, ...]]:
        """The complex events of a formula that looks ahead, at the position that was read last; else none."""

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.budget)

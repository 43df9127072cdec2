"""Evaluate formulas with cross-event filters on batches: an automaton finds candidates, which are then checked.

The automaton is that of the formula without these filters; it marks the events that the filters compare
(evaluation_plan.py). At each position the complex events are enumerated, as on whole streams, and a complex event is
abandoned at the first event with which a filter fails. NXT, LAST, MAX, PROJECT and IN around such a formula are applied
to all its valuations at the position. Events marked by a partial match are kept, with the attributes that filters use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, cast

from cerify.automata.cea.model import Determinized
from cerify.automata.evaluate.ces import Node, valuation
from cerify.automata.evaluate.evaluation_plan import (
    AutomatonPlan,
    CheckedPlan,
    CollectedPlan,
    Collecting,
    EvaluationPlan,
    PerKeyPlan,
    ResidualFilter,
    evaluation_plan,
)
from cerify.automata.evaluate.membership import CorrelatedFilterChecker, Spending, collected, in_node, sup
from cerify.automata.evaluate.readable import ReadableEvaluator, _json, _value
from cerify.automata.evaluate.scope import width_of
from cerify.automata.evaluate.streaming import without_marks
from cerify.automata.evaluator import Consumption, Evaluator, Output, require_output
from cerify.semantics.arguments import Budget, timed_items
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import mentions

SWEEP = 4096  # events between two searches for kept events that no future match can contain


def batch_plan(phi: cel.Formula, budget: Budget = Budget()) -> EvaluationPlan | Unsupported:
    """Return the plan for batches: one automaton with checks, perhaps inside operators that need all its valuations.

    Return Unsupported, with the reason, for a formula whose candidates must be checked by its clauses, because the
    clauses may look at any earlier part of the stream. Raises BudgetExceeded.
    """
    plan = evaluation_plan(phi, budget)
    inner: EvaluationPlan | Unsupported = plan
    while isinstance(inner, CollectedPlan):
        inner = inner.operand
    match inner:
        case CheckedPlan() | PerKeyPlan():
            return Unsupported(
                "batch evaluation does not support this formula, because checking a match needs all "
                f"earlier events ({inner.refused.message}); collect the stream and use cerify.match",
                inner.refused.span,
            )
    return plan


class CheckedEvaluator(ReadableEvaluator):
    """Finds the matches of a formula with cross-event filters, over a stream that comes in batches.

    plan: the result of `batch_plan`, if already known. kept: the events that partial matches have marked, by position.
    Raises IllFormed, Unsupported and BudgetExceeded, as CelEvaluator does.
    """

    STATE = "checked"
    counts = False

    def __init__(
        self,
        phi: cel.Formula,
        output: Output = "matches",
        consumption: Consumption | str = Consumption.NONE,
        budget: Budget = Budget(),
        plan: EvaluationPlan | Unsupported | None = None,
    ) -> None:
        require_output(output)
        self.phi = phi
        plan = batch_plan(phi, budget) if plan is None else plan
        self.collecting: list[Collecting] = []
        while isinstance(plan, CollectedPlan):
            self.collecting.append(plan.phi)
            plan = plan.operand
        if isinstance(plan, Unsupported):
            raise plan
        assert isinstance(plan, AutomatonPlan)
        self.checks = plan.checks
        self.kept: dict[int, Event] = {}
        self._swept = 0
        automaton = plan.automaton("valuations" if self.collecting else output, budget)
        super().__init__(automaton, plan.scope, output, Consumption.from_value(consumption), budget)
        self._asked = frozenset(name for check in self.checks for name in _find_attributes(check))
        assert self.attributes is not None
        self.attributes |= self._asked

    def _start(self, automaton: Determinized) -> None:
        super()._start(automaton)
        self.kept, self._swept = {}, 0

    @property
    def identity(self) -> str:
        return f"{super().identity} {list(map(str, self.collecting))} {list(map(str, self.checks))}"

    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return type(self), (self.phi, self.output, self.consumption, self.budget)

    def push_stream(self, S: Stream, limit: int | None = None) -> list[Match]:
        found: list[Match] = []
        most = self.budget.matches + 1 if limit is None else limit
        for matches in self._by_position(S):
            found += islice(matches, most - len(found))
            if limit is None and len(found) > self.budget.matches:
                raise BudgetExceeded(
                    f"there are more than {self.budget.matches} matches in a batch; push smaller batches"
                )
        self._whole = True
        return sorted(found)

    def tally(self, S: Stream) -> int:
        """Return the number of matches like `count`; each match is built, because each is checked."""
        total = sum(sum(1 for _ in matches) for matches in self._by_position(S))
        self._whole = True
        return total

    def _by_position(self, S: Stream) -> Iterator[Iterator[Match]]:
        """Read all events; yield for each position an iterator over its matches, without repetitions."""
        checker = CorrelatedFilterChecker(self.checks, self.kept, Spending(self.budget))
        made, base = self.evaluation.node_count, self.position
        for p in self._pushed(S):
            if self.evaluation.node_count > made:  # the event has been marked
                made, event = self.evaluation.node_count, S[p - base]
                self.kept[p] = Event(event.type, {a: v for a, v in event.attributes.items() if a in self._asked})
            found = self._matches_at(p, checker)
            # Listed at once: evaluation restarts after the last match of a position, also if a limit ends the reading.
            yield found if self.consumption is Consumption.NONE else iter(list(found))
            self._sweep(p)

    def _matches_at(self, p: int, checker: CorrelatedFilterChecker) -> Iterator[Match]:
        """Yield the matches at the last position read."""
        mus: set[Valuation] | None = None if not self.collecting else set(self._valuations(checker))
        for operator in reversed(self.collecting):
            assert mus is not None
            mus = set(collected(operator, mus))
        seen: set[Match] = set()
        for mu in self._valuations(checker) if mus is None else mus:
            match = Match(p, tuple(sorted(sup(mu))), bindings_of(mu) if self.output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match
        if seen and self.consumption is Consumption.ANY:
            self.evaluation.restart()

    def _valuations(self, checker: CorrelatedFilterChecker) -> Iterator[Valuation]:
        low = cast("list[int]", self.low)
        nodes: list[Node] = list(self.evaluation.ends())
        for node in nodes:
            for path in timed_items(in_node(node, low, checker)):
                yield without_marks(valuation(path))

    def _sweep(self, p: int) -> None:
        """Delete the kept events that are before all windows."""
        if p - self._swept >= SWEEP and self.reports_at_last_event:
            low, self._swept = self.overall, p
            for q in [q for q in self.kept if q < low]:
                del self.kept[q]

    def dump(self) -> bytes:
        state = json.loads(super().dump())
        state["kept"] = [
            [p, event.type, [[a, _json(value)] for a, value in event.attributes.items()]]
            for p, event in self.kept.items()
        ]
        return json.dumps(state).encode()

    def load(self, data: bytes) -> None:
        kept = {
            int(p): Event(type_, {a: _value(value) for a, value in attributes})
            for p, type_, attributes in json.loads(data)["kept"]
        }
        super().load(data)
        self.kept = kept


def _find_attributes(check: ResidualFilter) -> Iterator[str]:
    """Yield the attributes used in a filter."""
    if isinstance(check.condition, cel.TimeWindow | cel.AttributeWindow):
        yield width_of(check.condition)[0]
        return
    for atom in cel.atoms(check.condition):
        if not isinstance(atom, cel.Named):
            yield from (a.name for a in mentions(atom.predicate))

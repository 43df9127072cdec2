"""One expression, and one automaton, for each choice of values that a history has (vldb92, section 6.2).

This needs the whole history, and an automaton for each choice; parametric.py has one automaton, an event at a time.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TypeAlias

from cerify.automata.dfa.arguments import ArgumentOrder, kinded
from cerify.automata.dfa.compile import automata_of
from cerify.automata.dfa.evaluate import Positions, TableRunner
from cerify.automata.dfa.ground import grounded
from cerify.automata.dfa.inlined import inlined
from cerify.automata.dfa.model import DFA
from cerify.automata.dfa.parametric import sources
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.relation import KindedValue, Row
from cerify.semantics.events import Stream

Choice: TypeAlias = tuple[KindedValue, ...]
"""A value for each variable, in the order of their names."""


class Valued:
    """An expression with attribute variables, and its automata so far; order has the attributes of each event type."""

    def __init__(self, E: expr.Expression, order: ArgumentOrder, budget: Budget = Budget()) -> None:
        self.E = E
        self.order = order
        self.budget = budget
        self.whole = inlined(E)
        self.variables = self.whole.variables
        self.sources = sources(self.whole, order)
        self._automata: dict[Choice, DFA] = {}
        self._last: tuple[tuple[type[TableRunner], tuple[Choice, ...]], TableRunner] | None = None

    def rows(self, S: Stream, evaluator: type[TableRunner] = TableRunner) -> frozenset[Row]:
        """The rows (event, values) of the compatible tuples of a history.

        The values are those of the visible variables, in the order of their names. Raises Unsupported where there is a
        name with variables of its own inside, InputError for a late start event, and BudgetExceeded.
        """
        choices = self._choices(S)
        found = []
        for (choice, earliest), positions in zip(
            choices.items(), self._read(S, evaluator, tuple(choices)), strict=True
        ):
            values = tuple(choice[: len(self.whole.visible)])
            found += [(e, values) for e in positions.tolist() if e >= earliest]
        return frozenset(found)

    def events(self, S: Stream, evaluator: type[TableRunner] = TableRunner) -> frozenset[int]:
        """The events of a history at which the expression takes place, for some values."""
        return frozenset(e for e, _ in self.rows(S, evaluator))

    def automaton(self, choice: Choice) -> DFA:
        """The automaton of the expression for one choice of values."""
        if choice not in self._automata:
            values = {X: v for X, (_, v) in zip(self.variables, choice, strict=True)}
            ground = grounded(self.whole.body, values, self.whole.definitions, self.order, self.budget)
            (self._automata[choice],) = automata_of([ground], self.budget)
        return self._automata[choice]

    def _read(self, S: Stream, evaluator: type[TableRunner], choices: tuple[Choice, ...]) -> list[Positions]:
        if self._last is None or self._last[0] != (evaluator, choices):
            self._last = (evaluator, choices), evaluator(list(map(self.automaton, choices)))
        evaluating = self._last[1]
        evaluating.restart()
        return evaluating.read(S)

    def _choices(self, S: Stream) -> dict[Choice, int]:
        """The choices of values that the history has, each with the first event by which it has them all."""
        seen: list[dict[KindedValue, int]] = [{} for _ in self.variables]
        for e, event in enumerate(S) if self.variables else ():
            for X, name in self.sources.get(event.type, ()):
                if (v := event.get(name)) is not None:
                    seen[X].setdefault(kinded(v), e)
        if prod(map(len, seen)) > self.budget.states:
            names = ", ".join(self.variables)
            raise BudgetExceeded(f"there are more than {self.budget.states} choices of values for {names}", self.E.span)
        earliest = (max(pairs, default=0) for pairs in product(*(since.values() for since in seen)))
        return dict(zip(product(*seen), earliest, strict=True))

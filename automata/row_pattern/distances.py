"""Rows of the match that are at one distance from the row that is labelled, in all matches: PREV leads there.

In PATTERN (A B C) the row of A.price is always two rows before one of C. A condition that looks at such rows alone does
not depend on how the rows before are labelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.automata.row_pattern.conditions import why_not
from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize

NO_ROW, SEVERAL = -1, -2  # instead of a distance: there is no such row, or the distance is not the same in all matches


def at_fixed_distances(q: MatchRecognize, budget: Budget = Budget()) -> MatchRecognize:
    """A clause with the same matches, and PREV where DEFINE looks at columns of rows at one distance.

    Raises BudgetExceeded.
    """
    if why_not(q) is None:
        return q
    found = _Distances(compile_pattern(q.pattern, budget), q.unions)
    return replace(q, define=tuple(found.defined(one) for one in q.define))


@dataclass(frozen=True)
class _Distances:
    """The automaton of a pattern, and the variables that each variable of its conditions stands for."""

    automaton: Automaton
    unions: Mapping[str, frozenset[str]]

    def defined(self, one: Definition) -> Definition:
        """A condition with PREV where it can have it."""
        return replace(one, condition=self.rewritten(one.condition, one.variable))

    def rewritten(self, e: rows.Expression, variable: str) -> rows.Expression:
        """An expression in the condition of a variable."""
        if not isinstance(e, rows.Lookup):
            found: rows.Expression = trees.rebuilt(e, [self.rewritten(one, variable) for one in rows.below(e)])
            return found
        forward, inner = 0, e
        match e:
            case rows.Physical(function, argument, offset):
                forward = offset if function == "NEXT" else -offset
                inner = argument if isinstance(argument, rows.Logical) else rows.Logical("LAST", argument)
            case rows.Column():
                inner = rows.Logical("LAST", e)
        if not isinstance(inner, rows.Logical) or inner.offset or inner.semantics != "RUNNING":
            return e
        distance = self.distance(inner.function, rows.variable_of(inner.argument), variable)
        if distance < 0 or not all(isinstance(one, rows.Column) for one in rows.lookups(inner.argument)):
            return e
        return _moved(_without_variables(inner.argument), forward - distance)

    def distance(self, function: Literal["FIRST", "LAST"], looked_at: str | None, variable: str) -> int:
        """How many rows before a row of a variable the first, or last, row of another one is; or NO_ROW, SEVERAL."""
        names = frozenset(self.automaton.variables) if looked_at is None else self.unions.get(looked_at, frozenset())
        of_states = self._of_states(function, names)
        found = {of_states.get(s, NO_ROW) for s, A in enumerate(self.automaton.variables) if variable == A}
        return found.pop() if len(found) == 1 else SEVERAL

    def _of_states(self, function: Literal["FIRST", "LAST"], names: frozenset[str]) -> dict[int, int]:
        """For each state that can be reached the distance from its row."""
        found: dict[int, int] = {}
        pending: list[tuple[Iterable[Way], int]] = [(self.automaton.first, NO_ROW)]
        while pending:
            ways, before = pending.pop()
            for s in {way.target for way in ways if way.target != ACCEPT}:
                now = before + 1 if before >= 0 else before
                if self.automaton.variables[s] in names and (function == "LAST" or before == NO_ROW):
                    now = 0
                if found.get(s, now) != now:
                    now = SEVERAL
                if found.get(s) != now:
                    found[s] = now
                    pending.append((self.automaton.follow[s], now))
        return found


def _moved(e: rows.Expression, forward: int) -> rows.Expression:
    """The expression in the row that is `forward` rows after the current one."""
    if forward == 0:
        return e
    return rows.Physical("NEXT", e, forward) if forward > 0 else rows.Physical("PREV", e, -forward)


def _without_variables(e: rows.Expression) -> rows.Expression:
    if isinstance(e, rows.Column):
        return rows.Column(e.name, quoted=e.quoted)
    found: rows.Expression = trees.rebuilt(e, [_without_variables(one) for one in rows.below(e)])
    return found

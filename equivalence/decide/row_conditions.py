"""Conditions of DEFINE that are never true, and clauses that match no table.

What is found is so on all tables; of what is not found nothing is said. A part of a condition is always NULL if it
looks at rows that are not there: of a variable whose rows all come later, or beyond the frame of WINDOW.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from cerify.automata.algebra.minterms import minterms
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, compile_pattern
from cerify.automata.row_pattern.predicates import predicate_of
from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize

MOST = 20_000  # states of the automaton and rows of a frame that are looked at
Why: TypeAlias = Literal["NULL", "no row", "one row", "contradiction"]


@dataclass(frozen=True)
class NeverTrue:
    """A variable whose condition is never true, the part that is to blame, and why.

    The part is always NULL, looks at a row that is never there, compares a row with itself, or contradicts itself.
    """

    variable: str
    part: rows.Expression
    why: Why


@dataclass(frozen=True)
class Conditions:
    """The conditions of a clause and the automaton of its pattern. Raises BudgetExceeded."""

    q: MatchRecognize
    budget: Budget = Budget()

    @cached_property
    def automaton(self) -> Automaton:
        return compile_pattern(self.q.pattern, self.budget)

    @cached_property
    def before(self) -> Mapping[str, frozenset[str]]:
        """For each variable those of which a row may come before one of its rows, in a match."""
        A = self.automaton
        found: dict[str, set[str]] = {name: set() for name in self.q.primary}
        for source, name in enumerate(A.variables):
            reached, pending = set[int](), [source]
            while pending:
                for way in A.follow[pending.pop()]:
                    if way.target != ACCEPT and not way.end and way.target not in reached:
                        reached.add(way.target)
                        pending.append(way.target)
            for state in reached:
                found[A.variables[state]].add(name)
        return {name: frozenset(others) for name, others in found.items()}

    def never_true(self) -> Iterator[NeverTrue]:
        """The variables whose conditions are never true, whatever the row."""
        for A, condition in self.q.conditions.items():
            view = _View(self, A, None)
            if (found := view.never(condition)) is not None:
                yield NeverTrue(A, *found)
            elif self._contradicts(A):
                yield NeverTrue(A, condition, "contradiction")

    def match_is_possible(self) -> bool:
        """Whether there may be a table with a match: whether the pattern can be gone through in a frame."""
        A, window = self.automaton, self.q.window
        last = 0 if window is None else self._last_depth()
        if len(A.variables) * (last + 1) > MOST:
            raise BudgetExceeded(f"more than {MOST} states and rows of a frame")
        dead = {one.variable for one in self.never_true()}
        end = last if window is not None and window.following is not None else None
        start = range(last + 1) if window is not None and window.seek else (0,)
        pending: list[tuple[int | None, int]] = [(None, depth) for depth in start]
        seen = set(pending)
        while pending:
            state, depth = pending.pop()
            for way in A.first if state is None else A.follow[state]:
                if way.target == ACCEPT:
                    return True
                name = A.variables[way.target]
                if way.end or (end is not None and depth > end) or name in dead or self._is_dead(name, depth):
                    continue
                after = (way.target, depth + 1 if end is not None else min(depth + 1, last))
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        return False

    def _last_depth(self) -> int:
        """The last row of a frame that is told apart from later ones."""
        assert self.q.window is not None
        inside = (node for e in self.q.conditions.values() for node in trees.subtrees(e))
        offsets = (node.offset for node in inside if isinstance(node, rows.Physical))
        return max(offsets, default=0) if self.q.window.following is None else self.q.window.following

    def _is_dead(self, A: str, depth: int) -> bool:
        """Whether the condition of a variable is never true in that row of a frame, counted from 0."""
        if self.q.window is None or A not in self.q.conditions:
            return False
        return _View(self, A, depth).never(self.q.conditions[A]) is not None

    def _contradicts(self, A: str) -> bool:
        """Whether a condition on the columns of the row alone is true of no row."""
        try:
            predicate = predicate_of(self.q.conditions[A], [U for U, its in self.q.unions.items() if A in its])
        except Unsupported:
            return False
        return not any(one.chosen for one in minterms([predicate], None, self.budget, solver=False))


@dataclass(frozen=True)
class _View:
    """What the condition of a variable sees; depth: of its row in the frame, None for a row anywhere."""

    conditions: Conditions
    variable: str
    depth: int | None

    def never(self, e: rows.Expression) -> tuple[rows.Expression, Why] | None:
        """The part on account of which a condition is never true, and why; None if it may be true."""
        match e:
            case rows.And(left, right):
                return self.never(left) or self.never(right)
            case rows.Or(left, right):
                return self.never(left) and self.never(right)
            case rows.Comparison(left, "<" | ">", right) if self._plain(left) == self._plain(right):
                return e, "one row"
            case rows.Between(_, low, high, False) if self.null(low) or self.null(high):
                return e, "NULL"
            case rows.In(_, items, negated) if (any if negated else all)(map(self.null, items)):
                return e, "NULL"
            case rows.IsNull(operand, True) if self.null(operand):
                return e, "NULL"
        if not self.null(e):
            return None
        nothing = next((one for one in rows.lookups(e) if self._looks_at_nothing(one)), None)
        return (e, "NULL") if nothing is None else (nothing, "no row")

    def null(self, e: rows.Expression) -> bool:
        """Whether an expression is always NULL."""
        if isinstance(e, rows.Lookup):
            return self._looks_at_nothing(e)
        match e:
            case rows.Constant(value):
                return value is None
            case rows.Coalesce(arguments):
                return all(map(self.null, arguments))
            case rows.And(left, right) | rows.Or(left, right):
                return self.null(left) and self.null(right)
            case rows.IsNull() | rows.Case():
                return False
            case rows.Between() | rows.In():
                return self.null(e.operand)
        return any(map(self.null, rows.below(e)))

    def _looks_at_nothing(self, e: rows.Lookup) -> bool:
        if isinstance(e, rows.Count | rows.MatchNumber) or (isinstance(e, rows.Aggregate) and e.function == "COUNT"):
            return False
        V = rows.variable_of(e)
        its = None if V is None else self.conditions.q.unions[V]
        if its is not None and self.variable not in its and its.isdisjoint(self.conditions.before[self.variable]):
            return True
        inner = e.argument if isinstance(e, rows.Physical) else None
        is_here = its is None or self.variable in its
        if not isinstance(e, rows.Physical) or not is_here or self.depth is None:
            return False
        if isinstance(inner, rows.Logical) and (inner.function, inner.offset) != ("LAST", 0):
            return False
        other = self.depth + (e.offset if e.function == "NEXT" else -e.offset)
        window = self.conditions.q.window
        return other < 0 or (window is not None and window.following is not None and other > window.following)

    def _plain(self, e: rows.Expression) -> rows.Expression:
        """The expression in which columns of the row itself have no variable."""
        if isinstance(e, rows.Column):
            own = e.variable is not None and self.variable in self.conditions.q.unions[e.variable]
            return replace(e, variable=None) if own else e
        below = rows.below(e)
        return trees.rebuilt(e, [self._plain(one) for one in below]) if below else e


def fewest(p: rows.Pattern) -> Iterator[rows.Quantified]:
    """The reluctant quantifiers at the end of a pattern that iterate as often as they have to, and at least once."""
    match p:
        case rows.Concatenation(_, right):
            yield from fewest(right)
        case rows.Alternation(left, right):
            yield from fewest(left)
            yield from fewest(right)
        case rows.Exclusion(inner):
            yield from fewest(inner)
        case rows.Quantified(_, low, high, False) if low > 0 and low != high:
            yield p

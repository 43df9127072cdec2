"""Evaluate CEL by its definition, with memoization and a budget; skip clauses that cannot add a valuation.

The answers are those of denote.meaning; proofs_tests/campaigns/definitions.py compares the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NO_PREDICATES,
    NONE,
    Predicates,
    RememberedFacts,
    Valuations,
    clause,
    first,
    require_registered,
    sup,
)
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream, Valuation, bindings_of
from cerify.semantics.trees import children, entry_or_none

# ---------------------------------------------------------------------------------------------------------------------
# Facts by which the interpreter skips a clause: the ends of an interval show that a formula has no valuation there.
#
# An operator that is in none of the tables is never skipped. Each entry is a fact about one clause of tods21, Figure
# 3, or section 7.1; proofs_tests/unit/semantics/test_cel.py removes each entry, and inserts each wrong one.

Types = frozenset[str] | None
"""Event types; None for all."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Two facts about the valuations of a formula from i to j, which let the interpreter skip intervals.

    last: the formula has valuations only if the event at j has one of these types; None for any type. inherits: whether
    the valuations from i to j are those from an earlier start to j that bind an event, and bind no event before i.
    """

    last: Types
    inherits: bool


NOTHING = Extent(None, inherits=False)
"""The extent that skips no clause."""


# Operators whose clause looks only at its operands' valuations and the events in them, so that it inherits if all
# operands do. This excludes START, which looks at i; UNLESS and the strategies, for which more events can exclude more
# valuations; and PROJECT, which drops the positions that show where a valuation begins.
INHERITING = (
    cel.EventAtom, cel.In, cel.Filter, cel.Sequencing, cel.Iteration, cel.Or, cel.And, cel.All, cel.Strict, cel.Within,
    cel.PartitionBy, cel.PerKey,
)  # fmt: skip


def _first(below: Sequence[Types]) -> Types:
    return below[0]


def _second(below: Sequence[Types]) -> Types:
    return below[1]


def _either(below: Sequence[Types]) -> Types:
    left, right = below
    return None if left is None or right is None else left | right


def _both(below: Sequence[Types]) -> Types:
    left, right = below
    return right if left is None else left if right is None else left & right


LAST: dict[type, Callable[[Sequence[Types]], Types]] = {
    cel.Sequencing: _second,
    cel.Or: _either,
    cel.All: _either,
    cel.And: _both,
    cel.Unless: _first,
    cel.Project: _first,
    **dict.fromkeys((cel.In, cel.Narrowing, cel.Iteration, cel.PerKey), _first),
}
"""For each operator or kind: how to compute the types of its last event from those of its operands' last events."""


def extents(phi: cel.Formula) -> Mapping[int, Extent]:
    """Return the extents of a formula and of all its sub-formulas, keyed by `id` of the formula."""
    found: dict[int, Extent] = {}
    # Reversed, because an extent is computed from those of the operands, and subformulas come after their parents.
    for psi in reversed(list(cel.subformulas(phi))):
        below = [found[id(child)] for child in children(psi)]
        # An operator that the table does not have is evaluated over all intervals: slower, with the same result.
        if isinstance(psi, cel.EventAtom):
            last: Types = frozenset({psi.type})
        else:
            last = None if (rule := entry_or_none(LAST, psi)) is None else rule([e.last for e in below])
        found[id(psi)] = Extent(last, isinstance(psi, INHERITING) and all(e.inherits for e in below))
    return found


COUNTED_TOGETHER = 100  # valuations made between two checks of the budget
FOLLOWED_TOGETHER = 32  # clauses followed between two looks at the clock


def valuations(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> Valuations:
    """Return the valuations of phi at position n: those over S from 0 to n (tods21, section 4). Raises
    BudgetExceeded.
    """
    return Interpreter(S, budget).meaning(phi, 0, n)


def complex_events(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> frozenset[ComplexEvent]:
    """Return the complex events of phi at position n: the supports of its valuations (tods21, section 4). Raises
    BudgetExceeded.
    """
    return frozenset(map(sup, valuations(phi, S, n, budget)))


def matches_of(
    phi: cel.Formula,
    S: Stream,
    output: Literal["matches", "valuations"] = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NO_PREDICATES,
) -> list[Match]:
    """Return the matches at all positions of S, sorted; with output="valuations" one for each valuation, with its
    bindings.

    Raises Unsupported for a predicate that is not registered, and BudgetExceeded.
    """
    return list(iterate_matches(phi, S, output, budget, predicates))


def iterate_matches(
    phi: cel.Formula, S: Stream, output: Literal["matches", "valuations"], budget: Budget, predicates: Predicates
) -> Iterator[Match]:
    """Yield the matches of `matches_of`, position by position."""
    interpreter = Interpreter(S, budget, predicates)
    # One interpreter for all positions: the valuations over shorter intervals that one position needs serve the next.
    for n in range(len(S)):
        mus = interpreter.meaning(phi, 0, n)
        if output == "valuations":
            yield from sorted(Match(n, tuple(sorted(sup(mu))), bindings_of(mu)) for mu in mus)
        else:
            yield from (Match(n, C) for C in sorted({tuple(sorted(sup(mu))) for mu in mus}))


class TimedValuations(frozenset[Valuation]):
    """Valuations that a clause compares pairwise. Iterating over them checks the time limit."""

    def __iter__(self) -> Iterator[Valuation]:
        for mu in super().__iter__():
            check_time()
            yield mu


class _Memo:
    """The memory for one formula: its extent, its valuations by interval, and for each end j the least start i
    evaluated.

    Memos are found by the identity of their formula, and keep it alive, so that no other formula gets this identity.
    """

    __slots__ = ("compares", "earliest", "inherits", "last", "phi", "valuations")

    def __init__(self, phi: cel.Formula, extent: Extent) -> None:
        self.phi = phi
        self.last, self.inherits = extent.last, extent.inherits
        self.compares = isinstance(phi, cel.Preference)
        self.valuations: dict[tuple[int, int], Valuations] = {}
        self.earliest: dict[int, int] = {}


class _Spent:
    """Counts of the work so far: the valuations made, and the clauses followed."""

    __slots__ = ("followed", "made")

    def __init__(self) -> None:
        self.made = self.followed = 0


class Interpreter:
    """Computes the meaning of formulas over one stream, each only once, within a budget.

    If `pruned` is true, the interpreter skips clauses that cannot add a valuation, because a formula has no valuation
    or all its valuations were already found on a longer interval.
    """

    def __init__(
        self, S: Stream, budget: Budget = Budget(), predicates: Predicates = NO_PREDICATES, *, pruned: bool = True
    ) -> None:
        self.S = S
        self.budget = budget
        self.facts = RememberedFacts(S, predicates)
        self._pruned = pruned
        self._spent = _Spent()
        self._deadline = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._types = [event.type for event in S]
        self._memos: dict[int, _Memo] = {}
        self._parts: dict[tuple[int, ...], Interpreter] = {}

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """Return the valuations of phi over the stream from i to j. Raises BudgetExceeded, IllFormed, Unsupported."""
        memo = self._memos.get(id(phi)) or self._new(phi)
        # Before the lookup, so that intervals which the type of their last event excludes take no memory.
        if memo.last is not None and self._types[j] not in memo.last:
            return NONE
        found = memo.valuations.get((i, j))
        if found is None:
            # A longer interval to j is known, so this one only needs its valuations that begin at i or later.
            follow = self._inherited if memo.earliest.get(j, i) < i else self._collected
            found = memo.valuations[i, j] = follow(memo, i, j)
        return found

    def _compared(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """Return the valuations of phi for a selection strategy to compare; iterating over them checks the clock."""
        return TimedValuations(self.meaning(phi, i, j))

    def of_part(self, phi: cel.Formula, positions: tuple[int, ...], l: int, m: int) -> Valuations:
        """Return the valuations of phi over the stream of the events at these positions, from its event l to its event
        m.

        The work counts against the same budget.
        """
        if positions not in self._parts:
            part = Stream([self.S[p] for p in positions])
            inner = self._parts[positions] = Interpreter(part, self.budget, self.facts.predicates, pruned=self._pruned)
            # Shared, or a query PER KEY could spend the budget once for each key.
            inner._spent, inner._deadline = self._spent, self._deadline
        return self._parts[positions].meaning(phi, l, m)

    def _inherited(self, memo: _Memo, i: int, j: int) -> Valuations:
        """Return the valuations of the next longer computed interval that use no event before i."""
        h = i - 1
        # It ends, because the interval from `earliest[j]` to j is known, and that start is less than i.
        while (longer := memo.valuations.get((h, j))) is None:
            h -= 1
        # Every mu binds an event: PROJECT, which alone makes empty valuations, is not in INHERITING.
        return frozenset([mu for mu in longer if first(mu) >= i]) if longer else NONE

    def _new(self, phi: cel.Formula) -> _Memo:
        """Return a memo for a formula not seen before, after checking that its predicates are registered."""
        require_registered(phi, self.facts.predicates)
        found = extents(phi)
        for psi in cel.subformulas(phi):
            # A formula may be a part of several; the first memo stays, with what is already computed.
            self._memos.setdefault(id(psi), _Memo(psi, found[id(psi)] if self._pruned else NOTHING))
        return self._memos[id(phi)]

    def _collected(self, memo: _Memo, i: int, j: int) -> Valuations:
        """Return the valuations by the formula's clause. Raises BudgetExceeded."""
        self._spent.followed += 1
        try:
            meaning = self._compared if memo.compares else self.meaning
            mus = clause(memo.phi, self.S, i, j, meaning, self.facts, self.of_part)
            pending = iter(mus)
            # In portions, so that the budget stops a clause with very many valuations before all of them are in memory.
            made = list(islice(pending, COUNTED_TOGETHER))
            self._count(len(made))
            # Most clauses make few valuations: they need no second set.
            found = frozenset(made) if made else NONE
            if len(made) == COUNTED_TOGETHER:
                more = set(found)
                while made := list(islice(pending, COUNTED_TOGETHER)):
                    self._count(len(made))
                    more.update(made)
                found = frozenset(more)
        except RecursionError:
            raise BudgetExceeded("the stream is too long for a formula nested this deeply", memo.phi.span) from None
        if memo.inherits:
            # Only now: while its clause runs, an iteration asks for its own shorter intervals to j, which cannot
            # inherit from this unfinished one.
            memo.earliest[j] = i
        return found

    def _count(self, made: int) -> None:
        """Add to the number of valuations made. Raises BudgetExceeded."""
        self._spent.made += made
        if made == COUNTED_TOGETHER or self._spent.followed % FOLLOWED_TOGETHER == 0:
            check_time()
        if self._spent.made > self.budget.valuations:
            limit = f"{self.budget.valuations} valuations"
        elif self._deadline is not None and time.monotonic() > self._deadline:
            limit = f"{self.budget.seconds} seconds"
        else:
            return
        raise BudgetExceeded(
            f"the query needs more than {limit}; the interpreter follows the definition and is slow by design: use a "
            f"shorter stream, or raise the budget (so far {self._spent.made} valuations, over "
            f"{self._spent.followed} intervals of formulas)"
        )

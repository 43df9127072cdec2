"""The meaning of CEL with memory and a budget; it skips clauses that can give nothing new (extent.py).

The answers are those of denote.meaning: see proofs_tests/campaigns/definitions.py, which compares the two.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from cerify.semantics.budget import Budget, check_time
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import NONE, Valuations, clause, first, sup
from cerify.semantics.cel.extent import NOTHING, Extent, extents
from cerify.semantics.cel.facts import RememberedFacts
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates, require_registered
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream, Valuation, bindings_of

COUNTED_TOGETHER = 100  # valuations made between two checks of the budget


def valuations(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> Valuations:
    """The valuations of phi at position n: those over S from 0 to n (section 4). Raises BudgetExceeded."""
    return Interpreter(S, budget).meaning(phi, 0, n)


def complex_events(phi: cel.Formula, S: Stream, n: int, budget: Budget = Budget()) -> frozenset[ComplexEvent]:
    """The complex events of phi at position n: the supports of its valuations (section 4). Raises BudgetExceeded."""
    return frozenset(map(sup, valuations(phi, S, n, budget)))


def matches_of(
    phi: cel.Formula,
    S: Stream,
    output: Literal["matches", "valuations"] = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NO_PREDICATES,
) -> list[Match]:
    """The matches at all positions of S, sorted; with output="valuations" one for each valuation, with its bindings.

    Raises Unsupported for a predicate that is not registered, and BudgetExceeded.
    """
    return list(found(phi, S, output, budget, predicates))


def found(
    phi: cel.Formula, S: Stream, output: Literal["matches", "valuations"], budget: Budget, predicates: Predicates
) -> Iterator[Match]:
    """As matches_of, position by position."""
    interpreter = Interpreter(S, budget, predicates)
    for n in range(len(S)):
        mus = interpreter.meaning(phi, 0, n)
        answers = {(sup(mu), bindings_of(mu) if output == "valuations" else None) for mu in mus}
        yield from sorted(Match(n, tuple(sorted(C)), bindings) for C, bindings in answers)


class Compared(frozenset[Valuation]):
    """Valuations each of which a clause compares with all others: the clock is looked at for each of them."""

    def __iter__(self) -> Iterator[Valuation]:
        for mu in super().__iter__():
            check_time()
            yield mu


class Interpreter:
    """The meaning of formulas over one stream; it computes each once, and keeps to a budget.

    Unless `pruned` is false, a clause is followed only where it can give something new: not where the formula has no
    valuation, and not where its valuations are those of a longer interval that use no event before i.
    """

    def __init__(
        self, S: Stream, budget: Budget = Budget(), predicates: Predicates = NO_PREDICATES, *, pruned: bool = True
    ) -> None:
        self.S = S
        self.budget = budget
        self.facts = RememberedFacts(S, predicates)
        self._pruned = pruned
        self._made = 0
        self._followed = 0
        self._deadline = None if budget.seconds is None else time.monotonic() + budget.seconds
        self._computed: dict[tuple[int, int, int], Valuations] = {}
        self._earliest: dict[tuple[int, int], int] = {}  # by formula and j: the least i whose clause was followed
        self._extents: dict[int, Extent] = {}
        self._alive: list[cel.Formula] = []  # the keys are identities of formulas, which must not be reused

    def meaning(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """The valuations of phi over the stream from i to j. Raises BudgetExceeded, IllFormed, Unsupported."""
        found = self._computed.get((id(phi), i, j))
        if found is None:
            found = self._computed[id(phi), i, j] = self._found(phi, i, j)
        return found

    def _found(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        extent = self._extents.get(id(phi)) or self._extent(phi)
        if extent.last is not None and self.S[j].type not in extent.last:
            return NONE
        if self._earliest.get((id(phi), j), i) < i:
            return self._inherited(phi, i, j)
        meaning = self._compared if isinstance(phi, cel.Next | cel.Last | cel.Max) else self.meaning
        try:
            found = self._collected(clause(phi, self.S, i, j, meaning, self.facts))
        except RecursionError:
            raise BudgetExceeded("the stream is too long for a formula nested this deeply", phi.span) from None
        if extent.inherits:
            self._earliest[id(phi), j] = i
        return found

    def _compared(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """The meaning as the clause of a strategy asks for it."""
        return Compared(self.meaning(phi, i, j))

    def _inherited(self, phi: cel.Formula, i: int, j: int) -> Valuations:
        """Those of the next longer interval that is computed, without those that use an event before i."""
        h = i - 1
        while (longer := self._computed.get((id(phi), h, j))) is None:
            h -= 1
        return frozenset([mu for mu in longer if first(mu) >= i]) if longer else NONE

    def _extent(self, phi: cel.Formula) -> Extent:
        """The extent of a formula that is new to the interpreter; its predicates have to be registered."""
        require_registered(phi, self.facts.predicates)
        self._alive.append(phi)
        found = extents(phi)
        self._extents |= found if self._pruned else dict.fromkeys(found, NOTHING)
        return self._extents[id(phi)]

    def _collected(self, mus: Iterable[Valuation]) -> Valuations:
        """The valuations, as long as the budget lasts."""
        self._followed += 1
        found: set[Valuation] = set()
        pending = iter(mus)
        while made := list(islice(pending, COUNTED_TOGETHER)):
            self._made += len(made)
            self._check()
            found.update(made)
        self._check()
        return frozenset(found) if found else NONE

    def _check(self) -> None:
        check_time()
        if self._made > self.budget.valuations:
            limit = f"{self.budget.valuations} valuations"
        elif self._deadline is not None and time.monotonic() > self._deadline:
            limit = f"{self.budget.seconds} seconds"
        else:
            return
        raise BudgetExceeded(
            f"more than {limit}; the interpreter follows the definition and keeps all it makes, so give it a shorter "
            f"stream or a larger budget (so far {self._made} valuations, over {self._followed} intervals of formulas)"
        )

"""Whether at most one match of a pattern begins at each row: whether none of its words is the beginning of another.

Then it does not matter which match is preferred: MATCH_RECOGNIZE, which has one match for each row, has all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cerify.automata.algebra.minterms import minterms
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, compile_pattern
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event
from cerify.semantics.predicates import Predicate
from cerify.semantics.row_pattern import syntax as rows

_Shorter: TypeAlias = int | Literal["start", "ended"]


@dataclass(frozen=True)
class TwoLengths:
    """Rows of which the first `first` are a match, and all of them another.

    None stands for a row that the solver did not find.
    """

    events: tuple[Event | None, ...]
    first: int


def two_lengths(p: rows.Pattern, predicates: Mapping[str, Predicate], budget: Budget = Budget()) -> TwoLengths | None:
    """The fewest rows on which matches of two lengths begin at the first row; None where there are none.

    predicates: that of each variable. Raises BudgetExceeded, and Unsupported for a pattern with ^ or $.
    """
    A = compile_pattern(p, budget)
    if any(way.start or way.end for ways in (A.first, *A.follow) for way in ways):
        raise Unsupported("^ and $ look at where the table begins and ends, which CEL and SASE+ do not", p.span)
    names = [*predicates]
    letters = [
        (frozenset(names[i] for i in one.chosen), one.witness)
        for one in minterms([predicates[name] for name in names], None, budget)
    ]
    # the states of a match that is the shorter one and of one that goes on, after the same rows
    pending: list[tuple[_Shorter, int | None, tuple[Event | None, ...], int]] = [("start", None, (), 0)]
    seen: set[tuple[_Shorter, int | None]] = set()
    for shorter, longer, events, first in pending:
        for chosen, event in letters:
            read = (*events, event)
            for b in _after(A, longer, chosen):
                if shorter == "ended" and _is_complete(A, b):
                    return TwoLengths(read, first)
                for a in _shorter_after(A, shorter, chosen):
                    if (a, b) not in seen:
                        seen.add((a, b))
                        pending.append((a, b, read, first if shorter == "ended" else len(read)))
    return None


def _shorter_after(A: Automaton, state: _Shorter, chosen: frozenset[str]) -> list[_Shorter]:
    if state == "ended":
        return ["ended"]
    after: list[_Shorter] = [*_after(A, None if state == "start" else state, chosen)]
    ended = any(one != "start" and one != "ended" and _is_complete(A, one) for one in after)
    return [*after, "ended"] if ended else after


def _after(A: Automaton, state: int | None, chosen: frozenset[str]) -> list[int]:
    """The states after a row for which these variables are true; before the first row the state is None."""
    ways = A.first if state is None else A.follow[state]
    return [way.target for way in ways if way.target != ACCEPT and A.variables[way.target] in chosen]


def _is_complete(A: Automaton, state: int) -> bool:
    return any(way.target == ACCEPT for way in A.follow[state])

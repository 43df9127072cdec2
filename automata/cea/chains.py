"""Compile LAST and NXT of events that follow one another to an automaton with a state for each event.

In general a strategy runs beside a monitor that follows all rival matches (compile.py). The states of the monitor are
sets; for sixty events they would not fit in memory. A *chain* is a fixed number of single events one after the other,
such as `A{60}` or `A{3} ; B`. It needs no monitor, because its greatest match is found greedily.

- LAST compares matches from the end. The event before the last one is the latest that fits, because a later event
  leaves more room for the events before it; likewise for all earlier events. So no event between two events of the
  match could replace the earlier of the two.
- NXT compares matches from the beginning. Each event but the last is the earliest that fits. So no event between two
  events of the match could replace the later of the two, unless the later one is the last event of the match.

If the number of events may vary, as in `A{5,60}` and `A{5,}`, a match is greater than all matches that it contains, so
the greatest match has as many events as fit. LAST adds events at the beginning, NXT at the end. So only the first run
of LAST, and the last run of NXT, may vary in length: any other run would have to leave room for the runs beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import or_
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import CEA, UNMARKED, VISIBLE, Marks, Transition, intersection
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Anything, Attribute, Comparison, OfType, Predicate

Link: TypeAlias = tuple[tuple[Predicate, Marks], ...]
"""One event of a chain, as pairs (predicate, marks): an event that satisfies the predicate can get the marks."""


Run: TypeAlias = tuple[Link, int, int | None]
"""A run of events of one kind: (kind, least number of events, greatest number or None)."""

Runs: TypeAlias = tuple[Run, ...]


@dataclass(frozen=True)
class EventChain:
    """Events one after the other.

    guard: a kind of event that may not occur between two events of the chain, nor be one of its events after the first.
    Only a chain of one kind has a guard. distinct: an attribute that has a different value in each event. Each run is
    then one event, and all runs are of one kind. is_last: whether the chain is under LAST rather than NXT.
    """

    runs: Runs
    guard: Link | None = None
    distinct: str | None = None
    is_last: bool = False

    @classmethod
    def join(cls, runs: Iterable[Run], guard: Link | None = None) -> EventChain:
        """Return the chain of some runs; adjacent runs of one kind become one run."""
        joined: list[Run] = []
        for link, least, most in runs:
            if joined and joined[-1][0] == link:
                _, had, limit = joined.pop()
                least, most = had + least, None if limit is None or most is None else limit + most
            joined.append((link, least, most))
        return cls(tuple(joined), guard)


def chain_of(phi: cel.Formula) -> EventChain | None:
    """Return the formula as a chain; None if it is not a chain."""
    runs = _runs(phi)
    return _guarded(phi) if runs is None else EventChain.join(runs)


def _guarded(phi: cel.Formula) -> EventChain | None:
    """Return the chain of `A ; (A UNLESS B){n}`, which is events A without an event B in between; None for any other
    formula.

    The greedy choice of an event depends only on its neighbour in the match. So between two forbidden events, the
    greatest match is the same with and without the guard.
    """
    first, *others = _parts(phi)
    link, runs, guards = _single(first), list[Run](), set[Link | None]()
    for part in others:
        psi, least, most = _rounds(part)
        guarded = cel.split_guard(psi)
        if link is None or guarded is None or _single(guarded[0]) != link:
            return None
        runs.append((link, least, most))
        guards.add(_single(guarded[1]))
    if link is None or len(guards) != 1 or (guard := guards.pop()) is None:
        return None
    return EventChain.join([(link, 1, 1), *runs], guard)


def _parts(phi: cel.Formula) -> list[cel.Formula]:
    """Return the operands of a sequence in order, whatever parentheses are around them."""
    return [*_parts(phi.left), *_parts(phi.right)] if isinstance(phi, cel.Seq) else [phi]


def _rounds(phi: cel.Formula) -> tuple[cel.Formula, int, int | None]:
    """Return the operand and the number of rounds of an iteration; any other formula counts as one round of itself."""
    match phi:
        case cel.Plus(psi):
            return psi, 1, None
        case cel.Repeat(psi, least, most) if type(phi) is cel.Repeat:
            return psi, least, most
    return phi, 1, 1


def fixed_chain(phi: cel.Formula) -> EventChain | None:
    """Return the chain if phi is LAST or NXT of a chain of fixed length without a guard; None for any other formula.

    >>> from cerify.semantics.cel.parse import parse
    >>> [count for _, count, _ in fixed_chain(parse("LAST(A{60} ; B ; C{3})")).runs]
    [60, 1, 3]
    """
    chain = greatest_chain(phi)
    if chain is None or chain.guard is not None or any(least != most for _, least, most in chain.runs):
        return None
    return chain


def greatest_chain(phi: cel.Formula, operand: cel.Formula | None = None) -> EventChain | None:
    """Return the chain if phi is LAST or NXT of a chain whose greatest match can be found greedily; None for any other
    formula.

    operand: phi's operand without its windows and keys, if it has any.

    >>> from cerify.semantics.cel.parse import parse
    >>> [greatest_chain(parse(f"{name}(A{{5,60}} ; B)")) is not None for name in ("LAST", "NXT")]
    [True, False]
    """
    chain = chain_of(phi.phi if operand is None else operand) if isinstance(phi, cel.Next | cel.Last) else None
    if chain is None:
        return None
    chain = replace(chain, is_last=isinstance(phi, cel.Last))
    fixed = chain.runs[1:] if chain.is_last else chain.runs[:-1]
    return chain if all(least == most for _, least, most in fixed) else None


def newest_chain(phi: cel.Formula) -> EventChain | None:
    """Return the chain of `greatest_chain` or of `distinct_chain`; None if phi has neither."""
    if not isinstance(phi, cel.Next | cel.Last):
        return None
    return greatest_chain(phi) or distinct_chain(phi)


def distinct_chain(phi: cel.Formula, operand: cel.Formula | None = None) -> EventChain | None:
    """Return the chain if phi is LAST of events of one kind that differ in one attribute; None for any other formula.

    The greatest match takes the newest event of each of the newest values. operand: see `greatest_chain`.

    >>> from cerify.semantics.cel.parse import parse
    >>> distinct_chain(parse("LAST(A{3 DISTINCT [user]})")).distinct
    'user'
    """
    if not isinstance(phi, cel.Last):
        return None
    psi, kept = cel.split_projection(phi.phi if operand is None else operand)
    pairs, attributes = set[frozenset[str | None]](), set[str]()
    while isinstance(psi, cel.Filter):
        for condition in cel.conjuncts(psi.condition):
            match condition:
                case cel.Correlated(Comparison("!=", Attribute(a, X), Attribute(b, Y))) if X != Y and a == b:
                    pairs.add(frozenset({X, Y}))
                    attributes.add(a)
                case _:
                    return None
        psi = psi.phi
    rounds = [part for part in _parts(psi) if isinstance(part, cel.In)]
    kinds, names = {_single(part.phi) for part in rounds}, [part.variable for part in rounds]
    link = kinds.pop() if len(kinds) == 1 else None
    if link is None or len(rounds) < len(_parts(psi)) or len(attributes) != 1 or len(set(names)) < len(names):
        return None
    if pairs != set(map(frozenset, combinations(names, 2))) or any(L.intersection(names) for _, L in link):
        return None
    runs = tuple((tuple((P, (L | {A}) if kept is None else (L | {A}) & kept) for P, L in link), 1, 1) for A in names)
    if not all(L for one, _, _ in runs for _, L in one):
        return None
    return EventChain(runs, distinct=attributes.pop(), is_last=True)


def round_of_distinct(chain: EventChain, operand: cel.Formula) -> cel.Formula | None:
    """Return the formula for one event of a distinct chain, given its operand; None if events have different marks."""
    psi, _ = cel.split_projection(operand)
    while isinstance(psi, cel.Filter):
        psi = psi.phi
    first = _parts(psi)[0]
    assert isinstance(first, cel.In)
    return first.phi if {link for link, _, _ in chain.runs} == {_single(first.phi)} else None


def _single(phi: cel.Formula) -> Link | None:
    """Return the kind of the event if the formula matches single events; None for any other formula."""
    match _runs(phi):
        case ((link, 1, 1),):
            return link
    return None


def _runs(phi: cel.Formula) -> Runs | None:
    match phi:
        case cel.EventAtom(R):
            return ((((OfType(R), frozenset({R})),), 1, 1),)
        case cel.In(psi, A):
            return _each_link(_runs(psi), lambda P, L: (P, L | {A}))
        case cel.Filter(psi, condition):
            return _filtered(_runs(psi), condition)
        case cel.Seq(left, right):
            one, two = _runs(left), _runs(right)
            return None if one is None or two is None else one + two
        case cel.Or(left, right):
            first, second = _single(left), _single(right)
            return None if first is None or second is None else (((*first, *second), 1, 1),)
    psi, least, most = _rounds(phi)
    if psi is not phi:
        runs = _runs(psi)
        if runs is not None and least == most:
            return runs * least
        return ((runs[0][0], least, most),) if runs is not None and _single(psi) is not None else None
    return _runs(phi.expansion) if isinstance(phi, cel.Derived) else None


def _each_link(runs: Runs | None, way: Callable[[Predicate, Marks], tuple[Predicate, Marks]]) -> Runs | None:
    """Return the runs with `way` applied to each pair (predicate, marks)."""
    if runs is None:
        return None
    return tuple((tuple(way(P, L) for P, L in link), least, most) for link, least, most in runs)


def _filtered(runs: Runs | None, condition: cel.Condition) -> Runs | None:
    """Return the runs restricted by a filter on single events; None for any other filter."""
    match condition:
        case cel.Every(A, Q) if A != VISIBLE:
            return _each_link(runs, lambda P, L: (intersection(P, Q) if A in L else P, L))
        case cel.Conjunction(left, right):
            return _filtered(_filtered(runs, left), right)
        case cel.Disjunction(left, right):
            match _filtered(runs, left), _filtered(runs, right):
                case ((one, 1, 1),), ((two, 1, 1),):
                    return (((*one, *two), 1, 1),)
    return None


def greatest_of_chain(strategy: cel.Next | cel.Last, chain: EventChain, algebra: Algebra) -> CEA:
    """Return the automaton of LAST or NXT of a chain that `greatest_chain` returned; a chain with a guard must be under
    LAST.

    A state is a pair: a part of the automaton, and the number of events taken in that part. END is final.

    - LAST takes the greatest number of events that the first run allows, after any other events (states "some"), or
      all events of the run's kind if there are fewer (states "all"; with a guard, all since the last forbidden event).
      Of the other runs it takes the latest events.
    - NXT takes the earliest events of all runs (states "run"), except for the last event of the match.

    Raises BudgetExceeded.
    """
    steps: list[tuple[State, Predicate, Marks, State]] = []
    whole = Anything()
    allowed = whole if chain.guard is None else _negate_link(chain.guard, algebra)

    def skip(source: State, P: Predicate, target: State | None = None) -> None:
        steps.append((source, P, UNMARKED, source if target is None else target))

    def take(source: State, link: Link, *targets: State, where: Predicate = whole) -> None:
        steps.extend((source, P if where == whole else intersection(P, where), L, q) for q in targets for P, L in link)

    if isinstance(strategy, cel.Last):
        (link, least, most), *others = chain.runs
        later = [one for one, count, _ in others for _ in range(count)]
        other = _negate_link(link, algebra)
        between = other if chain.guard is None else intersection(other, allowed)
        done: State = ("later", 0) if later else END
        varies, top = least != most, least if most is None else most
        for c in range(0 if most is None else top):
            skip(("some", c), between if c else whole)
            last = c + 1 == top
            take(("some", c), link, done if last else ("some", c + 1), where=allowed if c else whole)
        for c in range(top + 1 if most is None else top) if varies else ():
            skip(("all", c), between if c else other)
            goes_on = [("all", min(c + 1, top))] if most is None or c + 1 < top else []
            take(("all", c), link, *goes_on, *[done] * (c + 1 >= least), where=allowed if c else whole)
        if varies and (most is not None or chain.guard is not None):
            skip(("all", 0), algebra.predicate(algebra.everything & ~algebra.mask(other)), ("some", 0))
        if varies and chain.guard is not None:  # events before a forbidden one could not have been taken
            forbidden = algebra.predicate(algebra.everything & ~algebra.mask(allowed))
            skip(("some", 0), whole)
            skip(("some", 0), intersection(forbidden, other), ("all", 0))
            take(("some", 0), link, ("all", 1), *[done] * (least == 1), where=forbidden)
        for k, one in enumerate(later):
            skip(("later", k), _negate_link(later[k - 1] if k else link, algebra))
            take(("later", k), one, ("later", k + 1) if k + 1 < len(later) else END)
        begin: State = ("all", 0) if varies else ("some", 0)
    else:
        *first, (link, least, most) = chain.runs
        earlier = [one for one, count, _ in first for _ in range(count)]
        for k, one in enumerate(earlier):
            skip(("run", k), _negate_link(one, algebra))
            take(("run", k), one, ("run", k + 1))
        top = least if most is None else most
        for c in range(top):
            state = "run", len(earlier) + c
            goes_on = [("run", len(earlier) + min(c + 1, top - 1))] if most is None or c + 1 < top else []
            skip(state, whole if not goes_on else _negate_link(link, algebra))
            take(state, link, *goes_on, *[END] * (c + 1 >= least))
        begin = "run", 0
    names = list(dict.fromkeys([begin, *(q for p, _, _, q in steps)]))
    numbers = {name: n for n, name in enumerate(names)}
    transitions = tuple(Transition(numbers[p], P, L, numbers[q]) for p, P, L, q in steps if p in numbers)
    return CEA(len(names), transitions, frozenset({0}), frozenset({numbers[END]}))


State: TypeAlias = tuple[str, int]
END: State = ("end", 0)


def _negate_link(link: Link, algebra: Algebra) -> Predicate:
    """Return the predicate of events that cannot stand at this place of the chain."""
    taken = reduce(or_, (algebra.mask(P) for P, _ in link))
    return algebra.predicate(algebra.everything & ~taken)

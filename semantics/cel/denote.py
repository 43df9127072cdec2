"""The meaning of CEL: tods21, Figure 3, and the strategies of section 7.1.

Letters, here and in every module of this package:
    phi  a formula          S  a stream            i, j, k  positions, 0-based, inclusive
    mu   a valuation        C  a complex event     sup(mu)  the positions that mu uses
Read it beside the figure: each case is one clause. interpreter.py adds memory, budgets and shortcuts.
"""

from __future__ import annotations

import inspect
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, product
from types import MappingProxyType
from typing import TypeAlias, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.predicates import Predicate, compare, holds, mentions, satisfied
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# CEL predicates that a user registers: relations over sets of events, given as Python functions (tods21, section 4).
#
# They are a map from names to functions, which every evaluator takes. The text of a query only names them.
#
# Figure 3 hands a predicate sets of tuples, S[μ(A)], so two events with the same type and values are one. That is the
# default here. To see every position, equal events included, wrap a function in WithRepetitions.

Events: TypeAlias = tuple[Event, ...]
"""The events that one variable binds, in the order of the stream, without repetitions; empty if it binds no event."""

Predicates: TypeAlias = Mapping[str, Callable[..., bool]]
"""Registered predicates by name. They take the Events of each variable and return whether these are in the relation."""


@dataclass(frozen=True)
class WithRepetitions:
    """A predicate that receives one event for each position: two equal events count as two.

    This is FILTER over bags of tuples, as in later work of the paper's authors; tods21 uses sets.

    >>> predicates = {"pair": WithRepetitions(lambda events: len(events) == 2)}
    """

    function: Callable[..., bool]

    def __call__(self, *bags: Events) -> bool:
        return self.function(*bags)


NO_PREDICATES: Predicates = MappingProxyType({})


def find_named_atoms(phi: cel.Formula) -> list[cel.Named]:
    """Return the atoms name(A, B) of a formula, left to right."""
    filters = (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    return [atom for psi in filters for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Named)]


def unregistered(phi: cel.Formula, predicates: Predicates) -> Unsupported | None:
    """Return the error for the first predicate of a formula that is not registered; None if all are.

    Raises IllFormed for a predicate that is not a function, or that has a wrong number of parameters.
    """
    for atom in find_named_atoms(phi):
        if atom.name not in predicates:
            return _missing(atom, predicates)
        _function(atom, predicates)
    return None


def require_registered(phi: cel.Formula, predicates: Predicates) -> None:
    """Raise the error that `unregistered` returns, if any."""
    if (refused := unregistered(phi, predicates)) is not None:
        raise refused


def in_relation(atom: cel.Named, sets: tuple[Events, ...], predicates: Predicates) -> bool:
    """Return whether the predicate of the atom is true of the events that its variables bind.

    The function receives sets, in which equal events occur once, unless it is registered WithRepetitions. Raises
    IllFormed if the function fails, or returns anything but True or False.
    """
    function = _function(atom, predicates)
    if not isinstance(predicates[atom.name], WithRepetitions):
        sets = tuple(map(_as_set, sets))
    try:
        answer = function(*sets)
    except Exception as error:  # whatever a user's function raises is that predicate's failure, and is named as such
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise IllFormed(f"the predicate {atom.name} failed with {reason}", atom.span) from error
    if not isinstance(answer, bool):
        raise IllFormed(f"the predicate {atom.name} returned {answer!r}; it must return True or False", atom.span)
    return answer


def _as_set(events: Events) -> Events:
    """Return the events without repetitions: among events with the same type and values, only the first."""
    found: dict[object, Event] = {}
    for event in events:
        # The kind is part of the key because True == 1 in Python; 1 and 1.0 are one number in a query, and share a
        # kind.
        values = ((name, kind(value), value) for name, value in sorted(event.attributes.items()))
        found.setdefault((event.type, *values), event)
    return tuple(found.values())


def _missing(atom: cel.Named, predicates: Predicates) -> Unsupported:
    known = f"the registered predicates are {', '.join(sorted(predicates))}" if predicates else "none is registered"
    return Unsupported(f"the predicate {atom.name} is not registered; {known}", atom.span)


def _function(atom: cel.Named, predicates: Predicates) -> Callable[..., bool]:
    if atom.name not in predicates:
        raise _missing(atom, predicates)
    function = predicates[atom.name]
    if isinstance(function, WithRepetitions):
        function = function.function
    if not callable(function):
        raise IllFormed(f"the predicate {atom.name} is {function!r}; it must be a function", atom.span)
    try:
        # Bind without a call: a TypeError that the user's code raises must not look like a wrong number of parameters.
        inspect.signature(function).bind(*atom.variables)
    except TypeError:
        wants = inspect.signature(function)
        number = len(atom.variables)
        raise IllFormed(
            f"the predicate {atom.name} is given {number} variable{'s' if number != 1 else ''}, but its function "
            f"takes {wants}",
            atom.span,
        ) from None
    except ValueError:  # a built-in function may not tell its signature: then the call itself will
        pass
    return function


# ---------------------------------------------------------------------------------------------------------------------
# The truth of the predicates of filters over one stream: tuple predicates, and predicates that a user registers.


class Facts:
    """Evaluates predicates over the stream S: tuple predicates, and those that the user registered by name."""

    def __init__(self, S: Stream, predicates: Predicates = NO_PREDICATES) -> None:
        self.S = S
        self.predicates = predicates

    def holds(self, predicate: Predicate, p: int) -> bool:
        """Return whether the event at p satisfies the predicate."""
        return holds(predicate, self.S[p])

    def in_relation(self, atom: cel.Named, Cs: tuple[ComplexEvent, ...]) -> bool:
        """Return whether the registered predicate is true of the complex events, one for each variable of the atom.

        Raises IllFormed and Unsupported.
        """
        return in_relation(atom, tuple(tuple(self.S[p] for p in sorted(C)) for C in Cs), self.predicates)

    def same_key(self, names: tuple[str, ...], j: int) -> tuple[int, ...]:
        """Return the positions of the events that agree with the event at j on these attributes."""
        return same_key(names, j, self.S)


class RememberedFacts(Facts):
    """Same as Facts, but computes each predicate only once for each event, and the keys of the events only once."""

    def __init__(self, S: Stream, predicates: Predicates = NO_PREDICATES) -> None:
        super().__init__(S, predicates)
        self._keys: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
        self._computed: dict[tuple[int, int], bool] = {}
        self._alive: list[Predicate] = []  # the keys are identities of predicates, which must not be reused

    def holds(self, predicate: Predicate, p: int) -> bool:
        """Return whether the event at p satisfies the predicate."""
        # By identity: a lookup by value would hash and compare the predicate's tree for each event.
        found = self._computed.get((id(predicate), p))
        if found is None:
            self._alive.append(predicate)
            found = self._computed[id(predicate), p] = super().holds(predicate, p)
        return found

    def same_key(self, names: tuple[str, ...], j: int) -> tuple[int, ...]:
        """Return the positions of the events that agree with the event at j on these attributes."""
        if names not in self._keys:
            of_key: dict[object, list[int]] = {}
            for p in range(len(self.S)):
                values = [self.S[p].get(a) for a in names]
                # NaN is unequal to itself, so an event with NaN agrees with none, not even with itself.
                if all(value is not None and value == value for value in values):
                    of_key.setdefault(tuple((kind(value), value) for value in values if value is not None), []).append(
                        p
                    )
            found: list[tuple[int, ...]] = [()] * len(self.S)
            for positions in map(tuple, of_key.values()):
                for p in positions:
                    found[p] = positions
            self._keys[names] = found
        return self._keys[names][j]


Valuations: TypeAlias = frozenset[Valuation]
NONE: Valuations = frozenset()
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def meaning(phi: cel.Formula, S: Stream, i: int, j: int, predicates: Predicates = NO_PREDICATES) -> Valuations:
    """Return the valuations of phi over S from i to j, by the clauses alone. Use it for short streams, as a reference.

    Raises IllFormed and Unsupported for a registered predicate that fails or is missing. interpreter.py computes the
    same with memoization and a budget.
    """

    def over(psi: cel.Formula, i: int, j: int) -> Valuations:
        return frozenset(clause(psi, S, i, j, over, facts))

    facts = Facts(S, predicates)
    return over(phi, i, j)


def clause(
    phi: cel.Formula, S: Stream, i: int, j: int, meaning: Meaning, facts: Facts | None = None, part: Part | None = None
) -> Iterable[Valuation]:
    """Return the valuations of phi over S from i to j, by the clause of phi's operator.

    meaning: a function that returns the valuations of any formula over any interval of S. part: a function that does so
    over the stream of the events of one key; see `Part`.
    """
    match phi:
        case cel.EventAtom(R):
            return {bind(R, {j})} if S[j].type == R else NONE
        case cel.In(psi, A):
            # The new binding contains the old one. The subtraction still stands here because Figure 3 replaces the
            # binding.
            return (mu - at(mu, A) | bind(A, sup(mu)) for mu in meaning(psi, i, j))
        case cel.Filter(psi, condition):
            return (mu for mu in meaning(psi, i, j) if satisfies(mu, condition, S, facts))
        case cel.Seq(left, right):
            return sequenced(left, right, i, j, meaning)
        case cel.Plus(psi):
            # The recursion ends: `sequenced` evaluates phi only from k + 1 > i on.
            return chain(meaning(psi, i, j), sequenced(psi, phi, i, j, meaning))
        case cel.ContiguousSeq(left, right):
            return contiguous(left, right, i, j, meaning)
        case cel.ContiguousPlus(psi):
            return chain(meaning(psi, i, j), contiguous(psi, phi, i, j, meaning))
        case cel.Project(L, psi):
            return (frozenset((A, p) for A, p in mu if A in L) for mu in meaning(psi, i, j))
        case cel.Start(psi):
            # Under PROJECT mu may bind nothing; it then has no first event (docs/decisions/empty-supports.md).
            return (mu for mu in meaning(psi, i, j) if mu and first(mu) == i)
        case cel.Or(left, right):
            return meaning(left, i, j) | meaning(right, i, j)
        case cel.And(left, right):
            # Valuations are compared, so both sides must bind the same variables: `A AND (A IN X)` has no match.
            return meaning(left, i, j) & meaning(right, i, j)
        case cel.All(left, right):
            return interleaved(left, right, i, j, meaning)
        case cel.Unless(left, right):
            # Every part of the interval counts: over (i, j) alone an event type matches only at j, and a match of
            # `right` that ends earlier would be missed.
            intervals = ((i_, j_) for j_ in range(i, j + 1) for i_ in range(i, j_ + 1))
            return NONE if any(meaning(right, i_, j_) for i_, j_ in intervals) else meaning(left, i, j)
        case cel.Strict(psi):
            # An empty support has no gap, so STRICT keeps it (docs/decisions/empty-supports.md).
            return (mu for mu in meaning(psi, i, j) if not mu or last(mu) - first(mu) < len(sup(mu)))
        case cel.Next(psi):
            mus = meaning(psi, i, j)
            Cs = set(map(sup, mus))
            # Supports are compared, and valuations kept: all valuations of the best support survive.
            return (mu for mu in mus if all(next_at_most(other, sup(mu)) for other in Cs))
        case cel.Last(psi):
            mus = meaning(psi, i, j)
            Cs = set(map(sup, mus))
            return (mu for mu in mus if all(last_at_most(other, sup(mu)) for other in Cs))
        case cel.Max(psi):
            mus = meaning(psi, i, j)
            Cs = set(map(sup, mus))
            return (mu for mu in mus if not any(map(sup(mu).__lt__, Cs)))
        case cel.Within(psi, window):
            return (mu for mu in meaning(psi, i, j) if spans_at_most(window, sup(mu), S))
        case cel.PartitionBy(psi, a):
            return (mu for mu in meaning(psi, i, j) if agree(a, sup(mu), S))
        case cel.PerKey(psi, names):
            return per_key(psi, (facts or Facts(S)).same_key(names, j), i, j, part or _by_clauses(S, facts))
        case cel.Derived():
            return meaning(phi.expansion, i, j)
        case _:
            assert_never(phi)


def per_key(phi: cel.Formula, P: tuple[int, ...], i: int, j: int, part: Part) -> Iterator[Valuation]:
    """Yield the valuations of phi as if the stream had only the events at P, the positions of one key.

    The valuations are over the part of this smaller stream that lies between i and j in S; their positions are those of
    S. part: see `Part`. P is empty if the event at j has no key.
    """
    if P:
        l, m = bisect_left(P, i), bisect_left(P, j)
        yield from (frozenset((A, P[p]) for A, p in mu) for mu in part(phi, P, l, m))


def _by_clauses(S: Stream, facts: Facts | None) -> Part:
    """Return a function that computes valuations over the stream of one key, by the clauses alone."""
    predicates = facts.predicates if facts else NO_PREDICATES
    return lambda psi, P, l, m: meaning(psi, Stream([S[p] for p in P]), l, m, predicates)


def sequenced(left: cel.Formula, right: cel.Formula, i: int, j: int, meaning: Meaning) -> Iterator[Valuation]:
    """Yield the valuations of `left ; right`. The clause of iteration calls it with the iteration as `right`."""
    for k in range(i, j):
        for mu1 in meaning(left, i, k):
            for mu2 in meaning(right, k + 1, j):
                yield mu1 | mu2


def contiguous(left: cel.Formula, right: cel.Formula, i: int, j: int, meaning: Meaning) -> Iterator[Valuation]:
    """Yield the valuations of `left : right`, where left ends at some position k and right begins at k + 1."""
    for k in range(i, j):
        # A valuation that binds nothing has no last event, so it is adjacent to no event.
        ending = [mu1 for mu1 in meaning(left, i, k) if mu1 and last(mu1) == k]
        starting = [mu2 for mu2 in meaning(right, k + 1, j) if mu2 and first(mu2) == k + 1] if ending else []
        for mu1 in ending:
            for mu2 in starting:
                yield mu1 | mu2


def interleaved(left: cel.Formula, right: cel.Formula, i: int, j: int, meaning: Meaning) -> Iterator[Valuation]:
    """Yield the valuations of left ALL right: each operand has its own interval, and the two together span i to j."""
    for i1, j1, i2, j2 in interleavings(i, j):
        for mu1 in meaning(left, i1, j1):
            for mu2 in meaning(right, i2, j2):
                yield mu1 | mu2


def interleavings(i: int, j: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield all (i1, j1, i2, j2) with i1 <= j1, i2 <= j2, min(i1, i2) = i and max(j1, j2) = j (the clause of ALL)."""
    for i1, i2 in {(i, k) for k in range(i, j + 1)} | {(k, i) for k in range(i, j + 1)}:
        for j1, j2 in {(j, k) for k in range(i, j + 1)} | {(k, j) for k in range(i, j + 1)}:
            if i1 <= j1 and i2 <= j2:
                yield i1, j1, i2, j2


def satisfies(mu: Valuation, condition: cel.Condition, S: Stream, facts: Facts | None = None) -> bool:
    """Return whether the events that mu binds satisfy the condition (tods21, section 4, with its sugar)."""
    facts = facts or Facts(S)
    match condition:
        case cel.Every(A, predicate):
            # True if A binds no event: the paper's condition is for every event of the set.
            return all(facts.holds(predicate, p) for _, p in at(mu, A))
        case cel.Correlated(predicate):
            ranges = ([S[p] for _, p in at(mu, m.variable)] for m in mentions(predicate))
            for events in product(*ranges):
                # The n-th mention takes the n-th event of the tuple, because each mention ranges on its own: in A.x =
                # A.x the two sides can be different events. `satisfied` asks for attributes in the order of `mentions`,
                # each once.
                remaining = iter(events)
                if not satisfied(predicate, lambda m, events=remaining: next(events).get(m.name)):  # type: ignore[misc]
                    return False
            return True
        case cel.Conjunction(left, right):
            return satisfies(mu, left, S, facts) and satisfies(mu, right, S, facts)
        case cel.Disjunction(left, right):
            return satisfies(mu, left, S, facts) or satisfies(mu, right, S, facts)
        case cel.Named(_, variables):
            return facts.in_relation(condition, tuple(sup(at(mu, A)) for A in variables))
        case _:
            assert_never(condition)


def spans_at_most(window: cel.Window, C: ComplexEvent, S: Stream) -> bool:
    """Return whether C fits into the window: the predicate Q of tods21, section 4.

    The difference in Q is read as last - first (docs/decisions/windows.md).
    """
    match window:
        case cel.EventWindow(count):
            # Less than, because a window of n events has n neighbours; windows on time and values include their bound.
            return bool(C) and max(C) - min(C) < count
        case cel.TimeWindow(amount, unit):
            return _within(amount * SECONDS[unit], [S[p].get("time") for p in C])
        case cel.AttributeWindow(width, a):
            return _within(width, [S[p].get(a) for p in C])
        case _:
            assert_never(window)


def _within(width: int | float, values: list[Value | None]) -> bool:
    """Return whether the values are all numbers or all times, and the greatest less the least is at most the width.

    For times, the width is in seconds.
    """
    present = [value for value in values if value is not None]
    # An event without the attribute puts the match outside every window; ignoring it would widen the window.
    if not present or len(present) < len(values) or len(set(map(kind, present))) > 1:
        return False
    # `min` and `max` would return NaN or skip it, depending on its place.
    if any(value != value for value in present):  # the distance from NaN is not defined
        return False
    match min(present), max(present):
        case (datetime() as first, datetime() as last):
            return (last - first).total_seconds() <= width
        case (int() | float() as first, int() | float() as last) if not isinstance(first, bool):
            try:
                return last - first <= width
            except OverflowError:  # a whole number beyond binary64 and a float: their difference has no value
                return False
        case _:
            return False


def agree(a: str, C: ComplexEvent, S: Stream) -> bool:
    """Return whether all events of C have the same value of a: the filter W.a = W.a if W binds them all."""
    # Pairs with p = q matter: an absent value or NaN is unequal to itself, which rejects a match of one event too.
    return all(compare("=", S[p].get(a), S[q].get(a)) for p in C for q in C)


def same_key(names: Iterable[str], j: int, S: Stream) -> tuple[int, ...]:
    """Return the positions of S whose events agree with the event at j on all these attributes.

    The result is empty if an attribute of the event at j is absent, NULL or NaN, because then the event does not even
    agree with itself.
    """
    key = [(a, S[j].get(a)) for a in names]
    return tuple([p for p in range(len(S)) if all(compare("=", S[p].get(a), value) for a, value in key)])


def bind(A: str, C: Iterable[int]) -> Valuation:
    """Return the valuation that maps A to C, and every other variable to nothing."""
    return frozenset([(A, p) for p in C])


def at(mu: Valuation, A: str | None) -> Valuation:
    """Return the pairs (variable, position) of mu whose variable is A."""
    return frozenset([pair for pair in mu if pair[0] == A])


def sup(mu: Valuation) -> ComplexEvent:
    """Return the support of mu: all positions that it uses."""
    return frozenset([p for _, p in mu])


def first(mu: Valuation) -> int:
    """Return the first position that mu binds; mu must bind at least one."""
    return min([p for _, p in mu])


def last(mu: Valuation) -> int:
    """Return the last position that mu binds; mu must bind at least one."""
    return max([p for _, p in mu])


def next_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """Return whether C1 <=next C2: they are equal, or C2 has the first position that is in only one of them (tods21,
    section 7.1).
    """
    return C1 == C2 or min(C1 ^ C2) in C2


def last_at_most(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    """Return whether C1 <=last C2: they are equal, or C2 has the last position that is in only one of them (tods21,
    section 7.1).
    """
    return C1 == C2 or max(C1 ^ C2) in C2


Meaning: TypeAlias = Callable[[cel.Formula, int, int], Valuations]
Part: TypeAlias = Callable[[cel.Formula, tuple[int, ...], int, int], Valuations]
"""Evaluates a formula over the stream of one key, given the key's positions, from event l to event m of that stream.

Without a Part, `clause` evaluates such streams by the clauses alone.
"""

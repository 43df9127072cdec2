"""Streams on which a formula does match: random walks through its automaton, with random events around them.

A random stream of the types that a formula speaks of often has no match, above all for filters on small sets of values,
for AND, and for guards. Here a way from the initial to a final state is taken at random, event by event. What an
automaton cannot look at, events compared with each other, is left out of it and to chance: several streams are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.equivalence.generate.cel import Profile, formula, stream
from cerify.equivalence.rewrite.redundant import places
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import Condition, Formula, size
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Anything, holds
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

SMALL = Budget(valuations=20_000, states=500)
POOL = 24  # random events to choose from at each step of a walk
FORMULAS = 3  # formulas to look at until a stream of one has a match
WALKS = 6  # tries at a stream with a match, where comparing events leaves it to chance


def guided_case(
    rng: Random, profile: Profile, nodes: int, events: int, guided: float = 0.75, shared: float = 0.2
) -> tuple[Formula, Stream]:
    """A formula and a stream of at most so many nodes and events.

    guided: the share of streams that are led to a match, the others are as chance has them. Where none is found another
    formula of that size is taken, twice. shared: the share of formulas in which a sub-formula is there twice.
    """
    size_ = max(rng.randint(1, nodes), rng.randint(1, nodes))
    length = max(rng.randint(1, events), rng.randint(1, events))
    tries = FORMULAS if rng.random() < guided else 0
    copied = rng.random() < shared
    phi = _formula(rng, profile, size_, copied)
    for _ in range(tries):
        if (S := matching_stream(rng, profile, length, phi)) is not None:
            return phi, S
        phi = _formula(rng, profile, size_, copied)
    return phi, stream(rng, profile, length, phi)


def _formula(rng: Random, profile: Profile, nodes: int, copied: bool) -> Formula:
    phi = formula(rng, profile, nodes)
    return with_copy(rng, phi) if copied else phi


def matching_stream(rng: Random, profile: Profile, length: int, phi: Formula) -> Stream | None:
    """A stream of that length on which the formula matches, None if none is found; the rest of it is random."""
    psi = tuple_predicates_only(phi)
    try:
        A = compile_cel(psi, SMALL)
        for _ in range(WALKS):
            if walked := _walk(rng, profile, A, phi, length):
                rest = stream(rng, profile, length - len(walked), phi)
                S = Stream([*walked, *rest], profile.schema)
                if psi == phi or _matches_at(phi, S, len(walked) - 1):
                    return S
    except BudgetExceeded:  # too large an automaton, or too many valuations: left to chance
        pass
    return None


def _matches_at(phi: Formula, S: Stream, n: int) -> bool:
    return bool(Interpreter(S, SMALL).meaning(phi, 0, n))


def with_copy(rng: Random, phi: Formula) -> Formula:
    """The formula with a sub-formula in the place of another of the same size, if there are two, more than a type."""
    found = [place for place in places(phi) if size(place.psi) > 1]
    pairs = [
        (there, here)
        for there in found
        for here in found
        if size(there.psi) == size(here.psi) and there.psi != here.psi
    ]
    if not pairs:
        return phi
    there, here = rng.choice(pairs)
    return there.put(here.psi)


# --- walks ------------------------------------------------------------------------------------------------------------


def _walk(rng: Random, profile: Profile, A: CEA, phi: Formula, length: int) -> Sequence[Event] | None:
    """The events of a random run of at most that many events, None if there is none, or none of random events."""
    final_after = _final_after(A, length)
    beyond = _beyond(profile)
    ends = [n for n in range(1, length + 1) if A.initial & final_after[n]]
    if not ends:
        return None
    left = rng.choice(ends)
    q = rng.choice(sorted(A.initial & final_after[left]))
    walked: list[Event] = []
    while left:
        left -= 1
        events = [*stream(rng, profile, POOL // 2, phi), *stream(rng, beyond, POOL // 2, phi)]
        ways = [t for t in A.leaving[q] if t.target in final_after[left]]
        rng.shuffle(ways)
        step = next(((e, t.target) for t in ways for e in events if holds(t.predicate, e)), None)
        if step is None:
            return None
        walked.append(step[0])
        q = step[1]
    return walked


def _beyond(profile: Profile) -> Profile:
    """The profile with a number below and one above those that it has, so that every comparison can be true."""
    attributes = tuple((name, (*pool, *_neighbours(pool))) for name, pool in profile.attributes)
    return replace(profile, attributes=attributes)


def _neighbours(pool: tuple[Value, ...]) -> Sequence[Value]:
    numbers = [value for value in pool if isinstance(value, int | float) and not isinstance(value, bool)]
    return [min(numbers) - 1, max(numbers) + 1] if numbers else []


def _final_after(A: CEA, length: int) -> list[frozenset[int]]:
    """For each n, the states from which n transitions can lead to a final one."""
    found = [A.final]
    for _ in range(length):
        found.append(frozenset(t.source for t in A.transitions if t.target in found[-1]))
    return found


# --- what an automaton can look at ------------------------------------------------------------------------------------


def tuple_predicates_only(phi: Formula) -> Formula:
    """The formula without windows, partitions, and conditions that compare events: of what remains, those that hold."""
    below = [tuple_predicates_only(child) for child in children(phi)]
    match phi:
        case cel.Within(_, cel.TimeWindow() | cel.AttributeWindow()) | cel.PartitionBy():
            return below[0]
        case cel.Filter(_, condition):
            return phi if _unary(condition) and below[0] == phi.phi else cel.Filter(below[0], _kept(condition))
    return rebuilt(phi, below) if list(children(phi)) != below else phi


def _unary(condition: Condition) -> bool:
    return all(isinstance(atom, cel.Every) for atom in cel.atoms(condition))


def _kept(condition: Condition) -> Condition:
    match condition:
        case cel.Every():
            return condition
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(condition)(_kept(left), _kept(right))
        case cel.Correlated() | cel.Named():
            return cel.Every("X", Anything())

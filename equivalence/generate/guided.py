"""Streams on which a formula does match: random walks through its automaton, with random events around them.

A random stream of the types that a formula speaks of often has no match, above all for filters on small sets of values,
for AND, and for guards. Here a way from the initial to a final state is taken at random, event by event. What an
automaton cannot look at, events compared with each other, is left out of it and to chance: several streams are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from cerify.automata.cea.blowup_diagnosis import COMPILED_CEL
from cerify.automata.cea.model import CEA, Transition
from cerify.equivalence.generate.cel import Profile, event, formula, stream, types_asked
from cerify.equivalence.rewrite.redundant import places
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.syntax import Condition, Formula, size
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Anything, OfType, Predicate, atoms, holds
from cerify.semantics.trees import children, rebuilt

Drawing: TypeAlias = Callable[[Predicate], Iterator[Event]]
"""Random events, some of which are likely to be in a predicate."""

SMALL = Budget(valuations=20_000, states=500)
POOL = 24  # random events of which one is to be in the predicate of a transition
FORMULAS = 3  # formulas to look at until a stream of one has a match
WALKS = 6  # tries at a stream with a match, where comparing events leaves it to chance


def guided_case(
    rng: Random, profile: Profile, nodes: int, events: int, guided: float = 0.75, shared: float = 0.2
) -> tuple[Formula, Stream]:
    """A formula of at most `nodes` nodes, and a stream of at most `events` events.

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
        A = COMPILED_CEL(psi, SMALL)
        final_after, drawn = _final_after(A, length), _drawing(rng, profile, phi)
        for _ in range(WALKS):
            if walked := _walk(rng, A, final_after, drawn):
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


def _walk(rng: Random, A: CEA, final_after: Sequence[frozenset[int]], drawn: Drawing) -> Sequence[Event] | None:
    """The events of a random run, None if there is none of these lengths, or none of random events."""
    ends = [n for n in range(1, len(final_after)) if A.initial & final_after[n]]
    if not ends:
        return None
    left = rng.choice(ends)
    q = rng.choice(sorted(A.initial & final_after[left]))
    walked: list[Event] = []
    while left:
        left -= 1
        step = _step(rng, [t for t in A.leaving[q] if t.target in final_after[left]], drawn)
        if step is None:
            return None
        walked.append(step[0])
        q = step[1]
    return walked


def _step(rng: Random, ways: list[Transition], drawn: Drawing) -> tuple[Event, int] | None:
    """A random event of a random one of the transitions, and its target; None if no event that is drawn takes one."""
    rng.shuffle(ways)
    return next(((e, t.target) for t in ways for e in drawn(t.predicate) if holds(t.predicate, e)), None)


def _drawing(rng: Random, profile: Profile, phi: Formula) -> Drawing:
    """Draws up to POOL events, most of a type that the predicate names, every other one with values beyond those of
    the profile; none where all were drawn before, so that none of them was taken."""
    asked = types_asked(profile, phi)
    chosen: dict[Predicate, Sequence[str]] = {}

    def drawn(P: Predicate) -> Iterator[Event]:
        types = chosen.get(P)
        if types is None:
            named = [atom.type for atom in atoms(P) if isinstance(atom, OfType)]
            types = chosen[P] = [*named * (7 * len(asked)), *asked * len(named)] if named else asked
        for n in range(POOL if types else 0):
            yield event(rng, profile.beyond if n % 2 else profile, types)
        chosen[P] = ()

    return drawn


def _final_after(A: CEA, length: int) -> list[frozenset[int]]:
    """For each n, the states from which n transitions can lead to a final one."""
    found = [A.final]
    for _ in range(length):
        last = found[-1]
        found.append(frozenset([t.source for t in A.transitions if t.target in last]))
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

"""Complex event automata: tods21, Definition 5.1.

Letters, here and in every module of this package:
    A  an automaton      p, q  states      P  a tuple predicate      L  a set of variables, empty for not marking
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from cerify.automata.algebra.finite import Algebra, satisfiable
from cerify.automata.exploration import Subset as exploration_Subset
from cerify.automata.exploration import classes, explore, members, subset
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.predicates import Anything, Atomic, Both, Predicate

Marks = frozenset[str]
UNMARKED: Marks = frozenset()
VISIBLE = "\0visible"
"""A variable that no query has. Under a filter on this variable, the formula sees only events that satisfy the
predicate.
"""
FIRST_OF, LAST_OF = "\0first of ", "\0last of "
"""Prefixes of variables that no query has. Such a variable, bound to a formula, holds only its first or last event."""
HELD = "\0held "
"""A prefix of attributes that no event has. A filter on such an attribute marks the events of its variable with it, and
accepts them all.
"""


class Transition(NamedTuple):
    """A step from source to target on an event that satisfies `predicate`; it marks the event with `marks`."""

    source: int
    predicate: Predicate
    marks: Marks
    target: int


@dataclass(frozen=True)
class CEA:
    """A complex event automaton (Q, Delta, I, F) of tods21, section 5, with the states Q = {0, ..., states - 1}."""

    states: int
    transitions: tuple[Transition, ...]
    initial: frozenset[int]
    final: frozenset[int]

    @property
    def size(self) -> int:
        """Return |A|: the number of states plus the number of transitions."""
        return self.states + len(self.transitions)

    def remarked(self, other: Mapping[Marks, Marks]) -> CEA:
        """Return the automaton with each set of marks replaced by another; transitions that become equal are merged.

        other: the new set for each set of marks.
        """
        remarked = dict.fromkeys(t._replace(marks=other[t.marks]) for t in self.transitions)
        return replace(self, transitions=tuple(remarked))

    @cached_property
    def marks(self) -> frozenset[Marks]:
        """Return the different marks of the transitions."""
        return frozenset(t.marks for t in self.transitions)

    def shifted(self, by: int) -> CEA:
        """Return the automaton with `by` added to the number of each state, to be put beside an automaton with `by`
        states.
        """
        return CEA(
            self.states,
            tuple(Transition(t.source + by, t.predicate, t.marks, t.target + by) for t in self.transitions),
            frozenset(q + by for q in self.initial),
            frozenset(q + by for q in self.final),
        )

    @cached_property
    def leaving(self) -> tuple[tuple[Transition, ...], ...]:
        """Return the transitions that leave each state."""
        leaving: list[list[Transition]] = [[] for _ in range(self.states)]
        for transition in self.transitions:
            leaving[transition.source].append(transition)
        return tuple(map(tuple, leaving))

    @cached_property
    def steps(self) -> tuple[tuple[tuple[int, Marks, int], ...], ...]:
        """Return each state's outgoing transitions as triples (1 << i for the i-th predicate, marks, target)."""
        bit = {P: 1 << i for i, P in enumerate(self.predicates)}
        return tuple(tuple((bit[t.predicate], t.marks, t.target) for t in leaving) for leaving in self.leaving)

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """Return the distinct predicates of the transitions, in order of first use."""
        return tuple(dict.fromkeys(transition.predicate for transition in self.transitions))


# ---------------------------------------------------------------------------------------------------------------------
# Leaving out the states and transitions that no accepting run uses.


def trim(A: CEA) -> CEA:
    """Return an automaton with the same accepting runs, without dead states; the others are renumbered."""
    # Only combinations can be empty: the coarse algebra of `satisfiable` holds every atomic predicate possible.
    empty = {P for P in A.predicates if not isinstance(P, Atomic) and not satisfiable(P)}
    alive = [t for t in A.transitions if t.predicate not in empty] if empty else A.transitions
    forward, backward = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for t in alive:
        forward[t.source].append(t.target)
        backward[t.target].append(t.source)
    kept = sorted(_reachable(A.initial, forward) & _reachable(A.final, backward))
    number = {q: i for i, q in enumerate(kept)}
    return CEA(
        len(kept),
        tuple(
            Transition(number[t.source], t.predicate, t.marks, number[t.target])
            for t in alive
            if t.source in number and t.target in number
        ),
        frozenset(number[q] for q in A.initial if q in number),
        frozenset(number[q] for q in A.final if q in number),
    )


def _reachable(starts: frozenset[int], edges: Mapping[int, list[int]]) -> set[int]:
    found, pending = set(starts), list(starts)
    while pending:
        new = set(edges.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found


# ---------------------------------------------------------------------------------------------------------------------
# States that behave alike are one: the quotient by bisimulation, which keeps the valuations and loses states.
#
# The result is cheap to compute. It need not be the smallest automaton: for that, it would have to be deterministic.


def reduced(A: CEA) -> CEA:
    """Return the automaton without dead states and with equal states merged, by `trim` and `quotient`."""
    return quotient(trim(A))


def quotient(A: CEA) -> CEA:
    """Return an automaton with the same valuations, merging states that have the same steps to the same states."""
    block = _blocks(A)
    number = {b: i for i, b in enumerate(dict.fromkeys(block))}
    of = [number[b] for b in block]
    transitions = (Transition(of[t.source], t.predicate, t.marks, of[t.target]) for t in A.transitions)
    return CEA(
        len(number),
        tuple(dict.fromkeys(transitions)),
        frozenset(of[q] for q in A.initial),
        frozenset(of[q] for q in A.final),
    )


def _blocks(A: CEA) -> list[int]:
    """Return the block of each state; the states of a block accept the same valuations.

    A state is in doubt if one of its steps leads to a block that was split. Each round looks only at states in doubt,
    because all other states of a block still behave in the same way. The largest part of a split block keeps the
    block's number, so a state is renumbered at most log n times.
    """
    labels: dict[tuple[Predicate, Marks], int] = {}
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(A.states)]
    entering: list[list[int]] = [[] for _ in range(A.states)]
    for t in A.transitions:
        leaving[t.source].append((labels.setdefault((t.predicate, t.marks), len(labels)), t.target))
        entering[t.target].append(t.source)
    of = [int(q in A.final) for q in range(A.states)]
    blocks = [{q for q, b in enumerate(of) if b == side} for side in (0, 1)]
    doubtful = {b: set(block) for b, block in enumerate(blocks) if block}
    while doubtful:
        b, some = doubtful.popitem()
        alike: dict[frozenset[tuple[int, int]], set[int]] = {}
        for q in some:
            # A set, because a state with two equal steps into a block behaves like a state with one.
            alike.setdefault(frozenset([(label, of[p]) for label, p in leaving[q]]), set()).add(q)
        rest = blocks[b]
        rest -= some  # no step of these leads to what was split off, so they are like none of the others
        largest, *others = sorted([rest, *alike.values()], key=len, reverse=True)
        blocks[b] = largest
        for part in filter(None, others):
            for q in part:
                of[q] = len(blocks)
            blocks.append(part)
        for part in others:
            for q in part:
                for p in entering[q]:
                    doubtful.setdefault(of[p], set()).add(p)
    return of


# ---------------------------------------------------------------------------------------------------------------------
# An automaton given by its initial states and their successors, built as far as it can be reached.

State = TypeVar("State", bound=Hashable)
Label = tuple[Predicate, Marks]


def reachable_cea(
    initial: Iterable[State],
    successors: Callable[[State], Iterable[tuple[Label, State]]],
    accepts: Callable[[State], bool],
    budget: Budget,
    what: str,
) -> CEA:
    """Build the automaton of all states that can be reached from `initial`, numbered in breadth-first order.

    successors: returns the pairs ((predicate, marks), next state) of a state. accepts: whether a state is final. Raises
    BudgetExceeded; the message says that `what` is too large.
    """
    initial = list(initial)
    found = explore(initial, successors, budget.states, what, budget.seconds)
    number = {state: i for i, state in enumerate(found)}
    transitions = (
        Transition(number[state], P, marks, number[target])
        for state, edges in found.items()
        for (P, marks), target in edges
    )
    return CEA(
        len(found),
        tuple(dict.fromkeys(transitions)),
        frozenset(number[state] for state in initial),
        frozenset(i for state, i in number.items() if accepts(state)),
    )


# ---------------------------------------------------------------------------------------------------------------------
# I/O-determinization and the single-variable form: tods21, Propositions 5.5 and 9.2.
#
# A subset of states steps on the type of an event, that is on which of the automaton's predicates it is in, and on a
# set of marks. The static construction goes through all types, the lazy one only through those that a stream shows.

MARKED: Marks = frozenset({"•"})

ADVICE = (
    "Too many sets of runs are under way, because of +, OR and : inside each other, or inside ; and ALL. Use fewer of "
    "these operators, begin with START, use evaluator='denotational' on short streams, or allow more: "
    "Budget(states=...)"
)

Subset = frozenset[int]
Steps = tuple[tuple[Marks, int], ...]


def single_variable(A: CEA) -> CEA:
    """Return a CEA with the same complex events that marks events with a single variable (tods21, Proposition 9.2)."""
    return A.remarked({L: MARKED if L else UNMARKED for L in A.marks})


def seen_at(A: CEA, level: Literal["events", "valuations", "positions"]) -> CEA:
    """Return a CEA without the marks that a comparison at this level ignores.

    At the level of positions all marks are removed, because only the end of a match matters.
    """
    if level == "valuations":
        return A
    return single_variable(A) if level == "events" else A.remarked(dict.fromkeys(A.marks, UNMARKED))


def io_determinize(A: CEA, budget: Budget = Budget(), algebra: Algebra | None = None) -> CEA:
    """Return an I/O-deterministic CEA with the same valuations (tods21, Proposition 5.5). Raises BudgetExceeded.

    Its states are the reachable subsets, numbered in breadth-first order from the initial state 0. Its predicates are
    those of `algebra`, by default of the algebra that the predicates of A generate.
    """
    # The types are disjoint, so that no event has two steps with the same marks; predicates of A may overlap.
    types_ = (algebra or Algebra(A.predicates, budget)).types(A.predicates)

    def successors(subset: Subset) -> Iterator[tuple[tuple[Predicate, Marks], Subset]]:
        for chosen, P in types_:
            for marks, target in _step(A, subset, sum(1 << i for i in chosen)):
                yield (P, marks), target

    return reachable_cea(
        [A.initial], successors, lambda R: bool(R & A.final), budget, "the I/O-deterministic automaton"
    )


def _step(A: CEA, subset: Subset, type_: int) -> Iterable[tuple[Marks, Subset]]:
    """Return for each set of marks the states that the subset reaches on an event of the type."""
    targets: dict[Marks, set[int]] = {}
    for q in subset:
        for bit, marks, target in A.steps[q]:
            if type_ & bit:
                targets.setdefault(marks, set()).add(target)
    return [(marks, frozenset(states)) for marks, states in targets.items()]


LOOKED_AFTER = 0.01  # seconds of building states


class Determinized:
    """The I/O-determinization of a CEA, built as far as a stream needs it.

    An event's type is a bit mask: bit i is set if the event satisfies A.predicates[i]. State 0 is initial. `subsets[q]`
    is the set of states of A that state q stands for. `known[q]` maps types to the steps of state q, as far as they are
    built. `named` is a function that adds the name of the query's operator to an error.
    """

    def __init__(
        self,
        A: CEA,
        budget: Budget = Budget(),
        named: Callable[[BudgetExceeded], BudgetExceeded] = lambda error: error,
    ) -> None:
        self.A = A
        self._budget = budget
        self.named = named
        self._number: dict[Subset, int] = {A.initial: 0}
        self.subsets = [A.initial]
        self.final = [bool(A.initial & A.final)]
        self.known: list[dict[int, Steps]] = [{}]
        # Only building counts against budget.seconds: a stream of any length may follow steps that are known.
        self._spent = 0.0  # seconds spent on building steps
        self._looked = 0.0  # what had been spent when the clock of the call was last looked at

    def anew(self) -> Determinized:
        """Return a fresh determinization of the same automaton, with no states built yet."""
        return Determinized(self.A, self._budget, self.named)

    def step(self, state: int, type_: int) -> Steps:
        """Return the pairs (marks, next state) of a state on an event of the type. Raises BudgetExceeded."""
        known = self.known[state].get(type_)
        if known is None:
            if self._spent - self._looked > LOOKED_AFTER:  # most steps take less than it takes to look at the clock
                self._looked = self._spent
                check_time()
            begun = time.monotonic()
            targets = _step(self.A, self.subsets[state], type_)
            known = tuple((marks, self._numbered(subset)) for marks, subset in targets)
            self.known[state][type_] = known
            self._spent += time.monotonic() - begun
            if self._budget.seconds is not None and self._spent > self._budget.seconds:
                raise self.exceeded(f"it takes more than {self._budget.seconds} seconds to build {self.described()}")
        return known

    def build(self, states: Iterable[int], type_: int) -> None:
        """Compute the steps of several states on an event of the type."""
        for state in states:
            self.step(state, type_)

    def numbered(self, subset: Subset) -> int:
        """Return the number of the state for a set of states of A.

        Raises BudgetExceeded, and ValueError if the set has a member that is not a state of A.
        """
        # Not isinstance: the set may come from damaged JSON, in which `true` would pass as state 1.
        if not all(type(q) is int and 0 <= q < self.A.states for q in subset):
            raise ValueError("the set has a member that is not a state of the automaton")
        return self._numbered(subset)

    def described(self) -> str:
        """Return a phrase for messages: this automaton, with the size of the automaton before determinization."""
        return (
            f"the deterministic automaton built from one with {self.A.states} states and "
            f"{len(self.A.transitions)} transitions"
        )

    def exceeded(self, message: str) -> BudgetExceeded:
        """Return the error with this message, with advice and the name of the operator that needs too many states."""
        return self.named(BudgetExceeded(f"{message}. {ADVICE}"))

    def _numbered(self, subset: Subset) -> int:
        number = self._number.setdefault(subset, len(self.subsets))
        if number == len(self.subsets):
            if number >= self._budget.states:
                raise self.exceeded(f"the stream reaches more than {number} states of {self.described()}")
            self.subsets.append(subset)
            self.final.append(bool(subset & self.A.final))
            self.known.append({})
        return number


# ---------------------------------------------------------------------------------------------------------------------
# Two complex event automata run at once: the operators AND, ALL and UNLESS (tods21, Theorem 6.2).
#
# Two cases differ from the printed ones. ALL: an operand waits in one extra state and rests in another, so that it can
# wait only before its run and rest only after it. UNLESS: the printed case looks for matches of the right operand on
# the whole interval only; here it looks on every interval inside, as Figure 3 has it. See docs/errata.md.

Pair: TypeAlias = tuple[int, int]
Step: TypeAlias = tuple[tuple[Predicate, Marks], Pair]

PRODUCT = "the product automaton"


def conjunction(A: CEA, B: CEA, budget: Budget) -> CEA:
    """Build AND: both operands mark the same events with the same variables."""

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in B.leaving[pair[1]]:
                if t.marks == u.marks:
                    yield (intersection(t.predicate, u.predicate), t.marks), (t.target, u.target)

    starts = [(p, q) for p in A.initial for q in B.initial]
    return reachable_cea(starts, successors, lambda pair: pair[0] in A.final and pair[1] in B.final, budget, PRODUCT)


def interleaving(A: CEA, B: CEA, budget: Budget) -> CEA:
    """Build ALL: a match is the union of a match of A and a match of B, on intervals that may differ.

    The interval of the union begins where the first of the two begins, and ends where the last one ends. So one operand
    may wait before it begins, and one may end early; each gets extra states for that. An operand that may skip any
    event before its first mark needs no waiting state.
    """
    waits_a, waits_b = not _skips_first(A), not _skips_first(B)
    A, B = _with_rests(A), _with_rests(B)

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in B.leaving[pair[1]]:
                yield (intersection(t.predicate, u.predicate), t.marks | u.marks), (t.target, u.target)

    starts = [(p, q) for p in A.initial for q in B.initial]
    # Not both may wait: the interval of ALL begins where one of its operands begins.
    starts += [(A.states - 2, q) for q in B.initial if waits_a] + [(p, B.states - 2) for p in A.initial if waits_b]

    def accepts(pair: Pair) -> bool:
        p, q = pair
        ends_a, ends_b = p in A.final, q in B.final
        return (ends_a and (ends_b or q == B.states - 1)) or (ends_b and p == A.states - 1)

    return reachable_cea(starts, successors, accepts, budget, PRODUCT)


def _skips_first(A: CEA) -> bool:
    """Return whether each run may also begin later, because each initial state can skip any event."""
    return all((q, Anything(), UNMARKED, q) in A.leaving[q] for q in A.initial)


def unless(A: CEA, B: CEA, algebra: Algebra) -> CEA:
    """Build UNLESS: keep the runs of A on intervals inside which B has no run."""
    budget = algebra.budget
    # The marks of B go first: UNLESS forbids a match under any marks, and the determinized guard would keep runs with
    # different marks apart.
    guard = io_determinize(_anywhere(B.remarked(dict.fromkeys(B.marks, UNMARKED))), budget, algebra)

    def successors(pair: Pair) -> Iterator[Step]:
        for t in A.leaving[pair[0]]:
            for u in guard.leaving[pair[1]]:
                yield (intersection(t.predicate, u.predicate), t.marks), (t.target, u.target)

    # The determinized guard has a transition for every event: its first state loops, and so does every subset with it.
    starts = [(p, q) for p in A.initial for q in guard.initial]
    return reachable_cea(
        starts, successors, lambda pair: pair[0] in A.final and pair[1] not in guard.final, budget, PRODUCT
    )


def intersection(P: Predicate, Q: Predicate) -> Predicate:
    """Return the conjunction of two predicates."""
    if Anything() == P or P == Q:
        return Q
    return P if Anything() == Q else Both(P, Q)


def separate_start(A: CEA) -> CEA:
    """Return an automaton with the same runs and a new initial state, numbered last, which no transition enters."""
    start = A.states
    leaving = (t._replace(source=start) for t in A.transitions if t.source in A.initial)
    return replace(
        A, states=A.states + 1, transitions=tuple(dict.fromkeys((*A.transitions, *leaving))), initial=frozenset({start})
    )


def _with_rests(A: CEA) -> CEA:
    """Add a state that waits before the run (the last but one) and a state that waits after it (the last)."""
    A = separate_start(A)
    wait, done = A.states, A.states + 1
    skip = Anything()
    rests = [Transition(wait, skip, UNMARKED, wait), Transition(done, skip, UNMARKED, done)]
    rests += [Transition(wait, skip, UNMARKED, q) for q in A.initial]
    rests += [Transition(q, skip, UNMARKED, done) for q in A.final]
    return replace(A, states=A.states + 2, transitions=(*A.transitions, *rests))


def _anywhere(A: CEA) -> CEA:
    """Return an automaton without marks that accepts an interval if A accepts some interval inside it."""
    A = separate_start(A)
    # `begin` has copies of the first steps instead of a step into the start: without epsilon steps, a match that is one
    # event long goes from `begin` to `found` directly.
    begin, found = A.states, A.states + 1
    skip = Anything()
    bridges = [Transition(begin, skip, UNMARKED, begin), Transition(found, skip, UNMARKED, found)]
    bridges += [t._replace(source=begin) for t in A.transitions if t.source in A.initial]
    bridges += [
        t._replace(source=begin, target=found) for t in A.transitions if t.source in A.initial and t.target in A.final
    ]
    bridges += [t._replace(target=found) for t in A.transitions if t.target in A.final]
    return CEA(A.states + 2, (*A.transitions, *dict.fromkeys(bridges)), frozenset({begin}), frozenset({found}))


# ---------------------------------------------------------------------------------------------------------------------
# The Boolean operations on complex event automata, and the smallest I/O-deterministic one (cep17, Proposition 1).
#
# Two automata are combined as sets of valuations: at every position of every stream.


def union(A: CEA, B: CEA) -> CEA:
    """Return the union of two automata, side by side."""
    states, B = A.states + B.states, B.shifted(A.states)
    return CEA(states, A.transitions + B.transitions, A.initial | B.initial, A.final | B.final)


def intersect_automata(A: CEA, B: CEA, budget: Budget = Budget()) -> CEA:
    """Return an automaton with the valuations that both have. Raises BudgetExceeded."""
    return conjunction(A, B, budget)


def complement(A: CEA, marks: Iterable[Marks] = (), budget: Budget = Budget()) -> CEA:
    """Return an automaton of the valuations that A rejects, among those whose sets of marks occur in A or in `marks`.

    Raises BudgetExceeded.
    """
    algebra = Algebra(A.predicates, budget)
    allowed = dict.fromkeys((UNMARKED, *(t.marks for t in A.transitions), *marks))
    types = [(P, {A.predicates[i] for i in chosen}) for chosen, P in algebra.types(A.predicates)]
    final = subset(A.final)

    def successors(states: exploration_Subset) -> Iterator[tuple[Label, exploration_Subset]]:
        for P, satisfied in types:
            # Each set of marks has a step, even to the empty set: the complement accepts where A has no run at all.
            targets = dict.fromkeys(allowed, 0)
            for q in members(states):
                for t in A.leaving[q]:
                    if t.predicate in satisfied:
                        targets[t.marks] |= 1 << t.target
            yield from (((P, L), reached) for L, reached in targets.items())

    return reachable_cea([subset(A.initial)], successors, lambda states: not states & final, budget, "the complement")


def minimized(A: CEA, budget: Budget = Budget()) -> CEA:
    """Return the I/O-deterministic CEA with the same valuations and the fewest states; it is unique up to the numbering
    of its states.

    Each state can reach a final state. Transitions that differ only in their predicates are merged. Raises
    BudgetExceeded.
    """
    algebra = Algebra(A.predicates, budget)
    # Trimmed before the classes: a step to a dead state and a missing step mean the same, but `classes` compares them.
    D = trim(io_determinize(A, budget, algebra))
    if not D.states:
        return D
    of = classes(
        [{(t.predicate, t.marks): t.target for t in leaving} for leaving in D.leaving],
        [q in D.final for q in range(D.states)],
    )
    merged: dict[tuple[int, Marks, int], int] = {}
    for t in D.transitions:
        edge = (of[t.source], t.marks, of[t.target])
        merged[edge] = merged.get(edge, 0) | algebra.mask(t.predicate)
    transitions = (Transition(p, algebra.predicate(mask), marks, q) for (p, marks, q), mask in merged.items())
    return CEA(
        max(of) + 1,
        tuple(transitions),
        frozenset(of[q] for q in D.initial),
        frozenset(of[q] for q in D.final),
    )

"""Compile unary CEL to complex event automata: tods21, Theorems 6.2 and 7.2.

The construction follows the paper case by case, except where the printed case is wrong (see docs/errata.md). Contiguous
iteration as printed cannot have a round of a single event between two others, so that R:+ stops at two rounds; here the
state between rounds also steps to itself. ALL and UNLESS are in model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import combinations
from operator import or_
from typing import Generic, TypeAlias, TypeVar, assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.model import (
    CEA,
    FIRST_OF,
    HELD,
    LAST_OF,
    UNMARKED,
    VISIBLE,
    Determinized,
    Label,
    Marks,
    Transition,
    conjunction,
    interleaving,
    intersection,
    io_determinize,
    reachable_cea,
    reduced,
    separate_start,
    union,
    unless,
)
from cerify.automata.exploration import Subset, members, subset
from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS as CEL
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.syntax import OPERATORS as CORE_CEL
from cerify.semantics.errors import BudgetExceeded, CerifyError, InternalError, Unsupported
from cerify.semantics.predicates import Anything, Attribute, Comparison, Not, OfType, Predicate
from cerify.semantics.trees import children

DominanceMonitor: TypeAlias = tuple[Subset, Subset, Subset]  # ties, winners, losers
Delta: TypeAlias = Callable[[Subset, bool], Subset]  # the states reached on this event, with a mark or without
MonitorStep: TypeAlias = Callable[[DominanceMonitor, bool, Delta], DominanceMonitor]
"""A step of a monitor: it returns the next state.

It combines sets of states only with `|` and `^`, so that it also works on frozensets.
"""

NO_STATES: Subset = 0


def is_marked(t: Transition) -> bool:
    """Return whether the transition marks its event."""
    return bool(t.marks)


def strict(A: CEA, selects: Callable[[Transition], bool] = is_marked) -> CEA:
    """Return the automaton of the runs of A that select adjacent events only (STRICT).

    It has three copies of A: runs are in the first before they select an event, in the second while they select, and in
    the third afterwards.
    """
    n = A.states
    parts = {False: ((0, 0), (1, 2), (2, 2)), True: ((0, 1), (1, 1))}
    return CEA(
        3 * n,
        tuple(
            t._replace(source=before * n + t.source, target=after * n + t.target)
            for t in A.transitions
            for before, after in parts[selects(t)]
        ),
        A.initial,
        # The first copy accepts too: a run that selects nothing has no gap.
        frozenset(part * n + q for q in A.final for part in range(3)),
    )


def next_(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of NXT: keep a run unless a rival marks the first event at which the two differ."""
    return _dominated(A, after_next, algebra)


def last(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of LAST: keep a run unless a rival marks the last event at which the two differ."""
    return _dominated(A, after_last, algebra)


def max_(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of MAX: keep a run unless a rival marks all its events and at least one more."""
    return _dominated(A, after_max, algebra)


def after_next(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of NXT after one more event.

    A monitor has three sets of states: those of the rivals equal to the run so far, better than it, and worse. marked:
    whether the run marks the event. delta: a function; delta(states, m) returns the states that rivals reach from
    `states` on the event if they mark it (m true) or skip it (m false).
    """
    ties, winners, _ = monitor
    # The first difference decides for good: a winner stays one whatever it marks, and losers need no set.
    won = delta(winners, True) | delta(winners, False)
    return delta(ties, marked), won if marked else won | delta(ties, True), ties ^ ties


def after_last(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of LAST after one more event. For the arguments, see `after_next`."""
    ties, winners, losers = monitor
    # The latest difference decides, so each event may turn winners into losers or losers into winners.
    if marked:
        lost = delta(losers, True) | delta(losers | ties | winners, False)
        return delta(ties, True), delta(winners, True), lost
    return delta(ties, False), delta(winners | ties | losers, True) | delta(winners, False), delta(losers, False)


def after_max(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of MAX after one more event. For the arguments, see `after_next`."""
    ties, winners, _ = monitor
    # A rival without an event of the run can never become a superset, so it is dropped.
    if marked:
        return delta(ties, True), delta(winners, True), ties ^ ties
    return delta(ties, False), delta(winners | ties, True) | delta(winners, False), ties ^ ties


def _dominated(A: CEA, step: MonitorStep, algebra: Algebra) -> CEA:
    """Return the product of the automaton and its monitor. It accepts if the automaton accepts and no rival run
    wins.
    """
    types = [(P, _Steps(A, {A.predicates[i] for i in chosen}, step)) for chosen, P in algebra.types(A.predicates)]
    final = subset(A.final)

    def successors(
        state: tuple[int, DominanceMonitor],
    ) -> Iterator[tuple[tuple[Predicate, Marks], tuple[int, DominanceMonitor]]]:
        q, monitor = state
        for P, steps in types:
            for marked in (False, True):
                if leaving := steps.leaving[marked][q]:
                    after = steps.after(monitor, marked)
                    for t in leaving:
                        yield (P, t.marks), (t.target, after)

    def accepts(state: tuple[int, DominanceMonitor]) -> bool:
        q, (_, winners, _) = state
        return q in A.final and not winners & final

    # The run itself is among the ties. That is harmless: a tie never counts as a winner.
    starts = [(q, (subset(A.initial), NO_STATES, NO_STATES)) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the selection strategy")


class _Steps:
    """The transitions of an automaton on one type of events: for each state, the unmarked ones and the marked ones.

    after: returns the monitor after such an event, given the monitor before and whether the run marks the event.
    """

    def __init__(self, A: CEA, satisfied: set[Predicate], step: MonitorStep) -> None:
        self.leaving = tuple(
            [[t for t in leaving if bool(t.marks) == marked and t.predicate in satisfied] for leaving in A.leaving]
            for marked in (False, True)
        )
        self._targets = [[subset(t.target for t in some) for some in leaving] for leaving in self.leaving]
        self._known: tuple[dict[Subset, Subset], ...] = ({NO_STATES: NO_STATES}, {NO_STATES: NO_STATES})
        self.after = cache(lambda monitor, marked: step(monitor, marked, self.delta))  # many states share a monitor

    def delta(self, states: Subset, marked: bool) -> Subset:
        """Return the states reached from `states` on the event: by marking transitions if `marked`, otherwise by the
        other ones.
        """
        known = self._known[marked]
        if (reached := known.get(states)) is None:
            reached = NO_STATES
            for q in members(states):
                reached |= self._targets[marked][q]
            known[states] = reached
        return reached


# ---------------------------------------------------------------------------------------------------------------------
# WITHIN n EVENTS as a construction: the automaton counts the events since its first mark.
#
# The paper treats a window as a cross-event filter, which no automaton can evaluate. But positions need no attributes,
# so an automaton can count them. A long window makes a large automaton; for a window around a whole formula, the
# evaluators use another way (automata/evaluate/scope.py).


def within_events(A: CEA, count: int, budget: Budget) -> CEA:
    """Return the automaton of the valuations of A that are not empty and fit in a window of `count` events."""

    def successors(state: tuple[int, int]) -> Iterator[tuple[Label, tuple[int, int]]]:
        q, seen = state  # seen: how many events of the window there were, none before the first mark
        for t in A.leaving[q]:
            if t.marks and seen < count:
                yield (t.predicate, t.marks), (t.target, seen + 1)
            elif not t.marks:
                yield (t.predicate, t.marks), (t.target, min(seen + 1, count) if seen else 0)

    starts = [(q, 0) for q in sorted(A.initial)]
    what = f"the automaton of a window of {count} events"
    return reachable_cea(starts, successors, lambda state: state[0] in A.final and state[1] > 0, budget, what)


# ---------------------------------------------------------------------------------------------------------------------
# Error messages for an operator whose automaton is too large: the operator, the operands' sizes, and what may help.

SELECTS = "It compares all runs at once: put it around a smaller part, or use fewer of +, OR and : in that part"
ADVICE: dict[type[cel.Formula | core.Formula], str] = {
    cel.And: "The states of its operands multiply: make one of the operands smaller",
    cel.All: "The states of its operands multiply: use fewer operands, and join operands in a known order by ;",
    cel.Unless: "It follows all partial matches of its right operand at once: make the right operand shorter",
    cel.Next: SELECTS,
    cel.Last: SELECTS,
    cel.Max: SELECTS,
    core.CoreNext: SELECTS,
    core.CoreLast: SELECTS,
    core.CoreMax: SELECTS,
    core.CoreSeq: "Both sides read the whole stream, so their states multiply: put the strategy around the sequence",
    core.CorePlus: "Finished rounds may stay undecided: put the strategy or the filter around the iteration",
    cel.Within: "Inside a formula, the automaton counts the window's events: put WITHIN around the whole formula",
}
_OPERATORS = {**CEL, **CORE_CEL}
OTHERWISE = "Write it with fewer alternatives"
ALLOW = "Or use evaluator='denotational' on short streams, or allow more: Budget(states=...)"


def state_explosion_error(
    phi: cel.Formula | core.Formula, operands: Sequence[CEA], error: BudgetExceeded
) -> BudgetExceeded:
    """Return the error for an operator whose automaton is too large: its place, the sizes of its operands' automata,
    and advice.

    phi: the formula with this operator outermost. operands: the automata of its operands. error: what was exceeded.
    """
    sizes = " and ".join(f"{A.states} states and {len(A.transitions)} transitions" for A in operands)
    return BudgetExceeded(
        f"{symbol(phi)} makes too large an automaton out of {'one' if len(operands) == 1 else 'two'} with {sizes}: "
        f"{error.message}. {ADVICE.get(type(phi), OTHERWISE)}. {ALLOW}",
        phi.span,
    )


def symbol(phi: cel.Formula | core.Formula) -> str:
    """Return the symbol or keyword of the formula's outermost operator, such as `;` or MAX."""
    return _OPERATORS[type(phi)].symbol


ValueWindow: TypeAlias = cel.TimeWindow | cel.AttributeWindow
NOT_LINEAR = (cel.And, cel.All, cel.Unless, cel.Strict, cel.Next, cel.Last, cel.Max, cel.Within)


def compile_cel(phi: cel.Formula, budget: Budget = Budget(), algebra: Algebra | None = None) -> CEA:
    """Return a CEA with the valuations of phi at every position of every stream.

    The generators of `algebra` must include the predicates of phi; its budget then replaces `budget`. To compare two
    formulas, compile both in the same algebra. Raises Unsupported if phi compares attributes of different events.
    Raises BudgetExceeded if phi is nested too deeply, or if the automaton of an operator would be too large or take too
    long; the error names the operator and what may help.
    """
    with depth_limited(phi.span):
        return _trimmed(phi, algebra or Algebra(generators(phi), budget))


def compilable(phi: cel.Formula) -> bool:
    """Return whether an automaton can evaluate the formula: no filter, window or key compares attributes of different
    events.
    """
    return not any(map(compares, cel.subformulas(phi)))


def compares(phi: cel.Formula) -> bool:
    """Return whether the outermost operator of the formula compares attribute values of different events.

    These operators are PARTITION BY, PER KEY, cross-event filters, and windows on time or on an attribute.
    """
    if isinstance(phi, cel.Within):
        return isinstance(phi.window, ValueWindow)
    return isinstance(phi, cel.PartitionBy | cel.PerKey) or (isinstance(phi, cel.Filter) and correlated(phi.condition))


def correlated(condition: cel.Condition) -> bool:
    """Return whether a filter compares attributes of different events."""
    return not all(isinstance(atom, cel.Every) for atom in cel.atoms(condition))


def generators(phi: cel.Formula) -> Iterator[Predicate]:
    """Yield the predicates that the formula tests on single events.

    Every predicate of its automaton is a combination of these.
    """
    for psi in cel.subformulas(phi):
        match psi:
            case cel.EventAtom(R):
                yield OfType(R)
            case cel.Filter(_, condition):
                tests = (atom.predicate for atom in cel.atoms(condition) if isinstance(atom, cel.Every))
                yield from (P for P in tests if held_mark(P) is None)


def held_mark(P: Predicate) -> str | None:
    """Return the name of the helper attribute that a predicate tests; None if it tests none.

    A helper attribute (its name begins with HELD) is a mark that the compiler adds to events; queries do not use it.
    """
    match P:
        case Comparison("=", Attribute(name), _) if name.startswith(HELD):
            return name
    return None


def _trimmed(phi: cel.Formula, algebra: Algebra) -> CEA:
    return reduced(_thompson(phi, algebra))


def _thompson(phi: cel.Formula, algebra: Algebra) -> CEA:
    """Build the automaton of phi from those of its operands; reduce these first if the construction is not linear."""
    if isinstance(phi, cel.EventAtom):
        return _event(phi.type)
    if isinstance(phi, cel.Derived):
        return _thompson(phi.expansion, algebra)
    if isinstance(phi, cel.PartitionBy | cel.PerKey) or (
        isinstance(phi, cel.Within) and not isinstance(phi.window, cel.EventWindow)
    ):
        raise Unsupported(
            "an automaton looks at one event at a time, so it cannot evaluate a partition or a window on values",
            phi.span,
        )
    # Tried before the general construction, whose sets of rivals explode for long chains (see the section on chains).
    if isinstance(phi, cel.Next | cel.Last):
        chain = greatest_chain(phi)
        if chain is not None and (chain.guard is None or isinstance(phi, cel.Last)):
            return greatest_of_chain(phi, chain, algebra)
    compiled = _trimmed if isinstance(phi, NOT_LINEAR) else _thompson
    operands = [compiled(psi, algebra) for psi in children(phi)]
    try:
        A = _case(phi, operands, algebra)
        if len(A.transitions) > algebra.budget.states:
            # The linear constructions do not use `reachable_cea`, which would have checked the size.
            raise BudgetExceeded(f"the automaton has more than {algebra.budget.states} transitions")
    except BudgetExceeded as error:
        raise state_explosion_error(phi, operands, error) from None
    return A


def _case(phi: cel.Formula, operands: list[CEA], algebra: Algebra) -> CEA:
    A, B = operands[0], operands[-1]
    match phi:
        case cel.In(_, variable):
            return _bind(A, variable)
        case cel.Filter(_, condition):
            return _filter(A, condition)
        case cel.Seq():
            return _sequence(A, B)
        case cel.Plus():
            return _iterate(A)
        case cel.ContiguousSeq():
            return _contiguous_sequence(A, B)
        case cel.ContiguousPlus():
            return _contiguous_iterate(A)
        case cel.Or():
            return union(A, B)
        case cel.Project(L, _):
            return _project(A, L)
        case cel.Start():
            return _anchor(A)
        case cel.And():
            return conjunction(A, B, algebra.budget)
        case cel.All():
            return interleaving(A, B, algebra.budget)
        case cel.Unless():
            return unless(A, B, algebra)
        case cel.Strict():
            return strict(A)
        case cel.Next():
            return next_(A, algebra)
        case cel.Last():
            return last(A, algebra)
        case cel.Max():
            return max_(A, algebra)
        case cel.Within(_, cel.EventWindow(count)):
            return within_events(A, count, algebra.budget)
        case cel.EventAtom() | cel.Within() | cel.PartitionBy() | cel.PerKey() | cel.Derived():
            raise InternalError(f"{type(phi).__name__} cannot be built from the automata of its operands")
        case _:
            assert_never(phi)


def _event(R: str) -> CEA:
    """Build the automaton of tods21, Figure 5: skip anything, then mark one event of type R."""
    skip, take = Transition(0, Anything(), UNMARKED, 0), Transition(0, OfType(R), frozenset({R}), 1)
    return CEA(2, (skip, take), frozenset({0}), frozenset({1}))


def _bind(A: CEA, variable: str) -> CEA:
    """Build IN: mark every marked event with the variable too."""
    if variable.startswith((FIRST_OF, LAST_OF)):
        return _bind_edge(A, variable)
    return A.remarked({L: L | {variable} if L else L for L in A.marks})


def _bind_edge(A: CEA, variable: str) -> CEA:
    """Mark only the first or only the last event, with a copy of the automaton before that event and one after it."""
    n = A.states
    marking = {(0, 1): True, (1, 1): False} if variable.startswith(FIRST_OF) else {(0, 0): False, (0, 1): True}
    steps = {True: marking, False: {(0, 0): False, (1, 1): False}}
    return CEA(
        2 * n,
        tuple(
            Transition(
                before * n + t.source, t.predicate, t.marks | {variable} if bound else t.marks, after * n + t.target
            )
            for t in A.transitions
            for (before, after), bound in steps[is_marked(t)].items()
        ),
        A.initial,
        frozenset(n + q for q in A.final),
    )


def _filter(A: CEA, condition: cel.Condition) -> CEA:
    """Build FILTER: an event marked with the variable has to satisfy the predicate. AND and OR follow section 4."""
    match condition:
        case cel.Every(variable, P) if variable == VISIBLE:
            return _among(A, P)
        case cel.Every(variable, P) if (mark := held_mark(P)) is not None:
            return A.remarked({L: L | {mark} if variable in L else L for L in A.marks})
        case cel.Every(variable, P):
            return replace(
                A,
                transitions=tuple(
                    t._replace(predicate=intersection(t.predicate, P)) if variable in t.marks else t
                    for t in A.transitions
                ),
            )
        case cel.Conjunction(left, right):
            return _filter(_filter(A, left), right)
        case cel.Disjunction(left, right):
            return union(_filter(A, left), _filter(A, right))
        case cel.Correlated() | cel.Named():
            raise Unsupported(
                "an automaton looks at one event at a time, so it cannot evaluate a cross-event filter", condition.span
            )
        case _:
            assert_never(condition)


def _among(A: CEA, P: Predicate) -> CEA:
    """Return the automaton that reads only the events that satisfy P; on other events each state waits."""
    seen = (t._replace(predicate=intersection(t.predicate, P)) for t in A.transitions)
    waiting = (Transition(q, Not(P), UNMARKED, q) for q in range(A.states))
    return replace(A, transitions=_distinct(*seen, *waiting))


def _sequence(A: CEA, B: CEA) -> CEA:
    """Build `;`: each step into a final state of A also leads to where B starts."""
    B = _single_start(B, sum(t.target in A.final for t in A.transitions))
    states, B = A.states + B.states, B.shifted(A.states)
    bridge = (t._replace(target=q) for t in A.transitions if t.target in A.final for q in B.initial)
    return CEA(states, _distinct(*A.transitions, *B.transitions, *bridge), A.initial, B.final)


def _iterate(A: CEA) -> CEA:
    """Build `+`: each step into a final state also leads back to the start."""
    A = _single_start(A, sum(t.target in A.final for t in A.transitions))
    again = (t._replace(target=q) for t in A.transitions if t.target in A.final for q in A.initial)
    return replace(A, transitions=_distinct(*A.transitions, *again))


def _single_start(A: CEA, bridges: int) -> CEA:
    """Return an equivalent automaton with a single initial state, if that needs fewer bridges to the next automaton.

    bridges: the number of transitions that will lead to each initial state.
    """
    leaving = sum(t.source in A.initial for t in A.transitions)
    return separate_start(A) if bridges * len(A.initial) > bridges + leaving else A


def _contiguous_sequence(A: CEA, B: CEA) -> CEA:
    """Build `:` by a new state between A and B that only marking transitions enter and leave."""
    meeting, B = A.states + B.states, B.shifted(A.states)
    ending = (t._replace(target=meeting) for t in A.transitions if t.marks and t.target in A.final)
    starting = (t._replace(source=meeting) for t in B.transitions if t.marks and t.source in B.initial)
    return CEA(meeting + 1, _distinct(*A.transitions, *B.transitions, *ending, *starting), A.initial, B.final)


def _contiguous_iterate(A: CEA) -> CEA:
    """Build `:+` by a new state between rounds that only marking transitions enter and leave."""
    meeting = A.states
    ending = [t._replace(target=meeting) for t in A.transitions if t.marks and t.target in A.final]
    starting = [t._replace(source=meeting) for t in A.transitions if t.marks and t.source in A.initial]
    single = [t._replace(source=meeting) for t in ending if t.source in A.initial]  # a round of one event: not printed
    return CEA(A.states + 1, _distinct(*A.transitions, *ending, *starting, *single), A.initial, A.final)


def _project(A: CEA, L: frozenset[str]) -> CEA:
    """Build PROJECT: keep only the marks of these variables."""
    return A.remarked({marks: marks & L for marks in A.marks})


def _anchor(A: CEA) -> CEA:
    """Build START: the first transition of a run must mark its event."""
    # A new start, because a run may come back to an old initial state, and may skip there.
    A = separate_start(A)
    return replace(A, transitions=tuple(t for t in A.transitions if t.marks or t.source not in A.initial))


def _distinct(*transitions: Transition) -> tuple[Transition, ...]:
    return tuple(dict.fromkeys(transitions))


# ---------------------------------------------------------------------------------------------------------------------
# A compiler that remembers the last queries: without it, campaigns would spend most of their time on compiling again.

F = TypeVar("F", bound=Hashable)
Made = TypeVar("Made")


class CachedCompiler(Generic[F, Made]):
    """A compiler that stores the results for the most recent queries; initially it stores nothing.

    Equal queries share one result, which may be an error. A shared error has the span of the query that was compiled
    first.
    """

    def __init__(self, compiler: Callable[[F, Budget], Made]) -> None:
        self._compiler = compiler
        self.retained = 0
        # two tables: a lookup by identity spares the comparison of trees
        self._same: dict[int, tuple[F, list[tuple[Budget, Made | CerifyError]]]] = {}
        self._equal: dict[tuple[F, Budget], Made | CerifyError] = {}

    def retain(self, queries: int) -> None:
        """From now on, cache the results of up to this many recent queries; 0 empties the cache."""
        self.retained = queries
        self._same.clear()
        self._equal.clear()

    def __call__(self, phi: F, budget: Budget = Budget()) -> Made:
        """Return the result of the compiler for a query, from the cache if it is there.

        Raises the errors of the compiler.
        """
        if not self.retained:
            return self._compiler(phi, budget)
        if id(phi) not in self._same:
            if len(self._same) >= self.retained:
                self._same.clear()
                self._equal.clear()
            # The entry keeps phi alive, so that no other query can get its id.
            self._same[id(phi)] = phi, []
        _, known = self._same[id(phi)]
        made = next((made for allowed, made in known if _suffices(made, allowed, budget)), None)
        if made is None:
            if (phi, budget) not in self._equal:
                self._equal[phi, budget] = self._compiled(phi, budget)
            made = self._equal[phi, budget]
            known.append((budget, made))
        if isinstance(made, CerifyError):
            raise made
        return made

    def _compiled(self, phi: F, budget: Budget) -> Made | CerifyError:
        try:
            return self._compiler(phi, budget)
        except (Unsupported, BudgetExceeded) as error:
            check_time()  # the error may come from this call's time limit, and must not be cached then
            return error


def _suffices(made: object, allowed: Budget, budget: Budget) -> bool:
    """Return whether a result computed within the budget `allowed` also holds for `budget`."""
    # A result also holds under a larger budget; an error may not. The seconds do not matter: the result is there.
    return allowed == budget or (not isinstance(made, CerifyError) and allowed.states <= budget.states)


# ---------------------------------------------------------------------------------------------------------------------
# Lazy I/O-determinization of a formula's automaton; its error names the operator that makes the automaton too large.
#
# If a stream reaches too many sets of states, the parts of the formula are determinized on their own, small parts
# first, until one is too large: its operator is what a person can change.

COMPILED_CEL = CachedCompiler(compile_cel)
SECONDS = 1.0  # for each part: an error may take a moment, not minutes


def lazily(phi: cel.Formula, budget: Budget, form: Callable[[CEA], CEA] | None = None) -> Determinized:
    """Return the I/O-determinization of the formula's automaton, built state by state as needed.

    form: changes the automaton before it is determinized. Raises Unsupported and BudgetExceeded. BudgetExceeded may
    also come later, when a stream needs more states than the budget allows; its message names the operator that makes
    the automaton too large.
    """

    def automaton(psi: cel.Formula) -> CEA:
        A = COMPILED_CEL(psi, budget)
        return A if form is None else form(A)

    def with_states(error: BudgetExceeded) -> BudgetExceeded:
        alone = Budget(states=budget.states, seconds=SECONDS)
        sizes: dict[cel.Formula, int] = {}
        for psi in reversed(list(cel.subformulas(phi))):  # operands come before their operator
            try:
                sizes[psi] = io_determinize(automaton(psi), alone).states
            except BudgetExceeded:
                operands = " and ".join(str(sizes[operand]) for operand in children(psi))
                size = f"its operands by themselves take {operands} states, the result more than {budget.states}"
                return BudgetExceeded(f"{symbol(psi)} makes too large an automaton ({size}): {error.message}", psi.span)
        return error

    return Determinized(automaton(phi), budget, with_states)


# ---------------------------------------------------------------------------------------------------------------------
# Compile LAST and NXT of events that follow one another to an automaton with a state for each event.
#
# In general a strategy runs beside a monitor that follows all rival matches. The states of the monitor are
# sets; for sixty events they would not fit in memory. A *chain* is a fixed number of single events one after the other,
# such as `A{60}` or `A{3} ; B`. It needs no monitor, because its greatest match is found greedily.
#
# - LAST compares matches from the end. The event before the last one is the latest that fits, because a later event
#   leaves more room for the events before it; likewise for all earlier events. So no event between two events of the
#   match could replace the earlier of the two.
# - NXT compares matches from the beginning. Each event but the last is the earliest that fits. So no event between two
#   events of the match could replace the later of the two, unless the later one is the last event of the match.
#
# If the number of events may vary, as in `A{5,60}` and `A{5,}`, a match is greater than all matches that it contains,
# so the greatest match has as many events as fit. LAST adds events at the beginning, NXT at the end. So only the first
# run of LAST, and the last run of NXT, may vary in length: any other run would have to leave room for the runs beyond
# it.

Link: TypeAlias = tuple[tuple[Predicate, Marks], ...]
"""One event of a chain, as pairs (predicate, marks): an event that satisfies the predicate can get the marks."""


Run: TypeAlias = tuple[Link, int, int | None]
"""A run of events of one kind: (kind, least number of events, greatest number or None)."""

Runs: TypeAlias = tuple[Run, ...]


@dataclass(frozen=True)
class EventChain:
    """A sequence of single events, such as A{60} ; B. It consists of runs; the events of a run are of one kind.

    guard: a kind of event that may not occur between two events of the chain, and that no event of the chain except the
    first may have. Only a chain of a single kind has a guard. distinct: an attribute that has a different value in each
    event; each run is then one event, and all events are of one kind. is_last: in the results of `greatest_chain` and
    `distinct_chain`, whether the chain is under LAST; False for NXT.
    """

    runs: Runs
    guard: Link | None = None
    distinct: str | None = None
    is_last: bool = False

    @classmethod
    def join(cls, runs: Iterable[Run], guard: Link | None = None) -> EventChain:
        """Return the chain of some runs; adjacent runs of one kind are joined to one run."""
        joined: list[Run] = []
        for link, least, most in runs:
            if joined and joined[-1][0] == link:
                _, had, limit = joined.pop()
                least, most = had + least, None if limit is None or most is None else limit + most
            joined.append((link, least, most))
        return cls(tuple(joined), guard)


def chain_of(phi: cel.Formula) -> EventChain | None:
    """Return the formula as a chain of single events; None if it is not such a chain."""
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
        # Not its subclass for `:`, whose events must follow one another directly, so that none can be chosen greedily.
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
    """Return the result of `greatest_chain`, or else of `distinct_chain`; None if both return None."""
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
    """Return A, the formula for one event, for a chain such as LAST(A{3 DISTINCT [user]}); see `distinct_chain`.

    operand: the operand of LAST, here A{3 DISTINCT [user]}.

    Return None if the events of the chain do not all have the same marks.
    """
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
            # Several different events repeat as a chain only if the number of rounds is fixed; greedy choice needs the
            # length.
            return runs * least
        # Only one kind of event may repeat a varying number of times: a run has one kind.
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
            # Only for one event: all events of a longer run must satisfy the same side, which links cannot say.
            match _filtered(runs, left), _filtered(runs, right):
                case ((one, 1, 1),), ((two, 1, 1),):
                    return (((*one, *two), 1, 1),)
    return None


def greatest_of_chain(strategy: cel.Next | cel.Last, chain: EventChain, algebra: Algebra) -> CEA:
    """Return the automaton of LAST or NXT of a chain that `greatest_chain` returned. Raises BudgetExceeded.

    A chain with a guard must be under LAST. A state is a pair: a phase of the search, and the number of events taken in
    this phase. END is final.

    - LAST takes the greatest number of events that the first run allows (phase "some"; any events may come before), or
      all events of the run's kind if there are fewer (phase "all"; with a guard, all since the last forbidden event).
      Of the other runs it takes the latest events (phase "later").
    - NXT takes the earliest events of all runs (phase "run"), except for the last event of the match.
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
        # Without an upper bound, the state `top` stands for `top` events or more.
        for c in range(top + 1 if most is None else top) if varies else ():
            skip(("all", c), between if c else other)
            goes_on = [("all", min(c + 1, top))] if most is None or c + 1 < top else []
            take(("all", c), link, *goes_on, *[done] * (c + 1 >= least), where=allowed if c else whole)
        if varies and (most is not None or chain.guard is not None):
            # An event of the kind was left out although it fits before the others: the run must have its full length.
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
            # The last event may be any that fits, not only the earliest: matches that end elsewhere are no rivals.
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


# ---------------------------------------------------------------------------------------------------------------------
# The selection strategies as constructions on automata: tods21, Theorem 7.2, corrected.
#
# The printed constructions for NXT, LAST and MAX compare a run with runs of the same valuation and with its winners.
# They miss runs with the same support under other variables, which may win later. Here only supports are compared, and
# a valuation is kept if its support is: the automaton runs beside a *dominance monitor*, which follows one support and
# the states of all runs with that support (ties), with better ones (winners) and, for LAST, with worse ones (losers).
# The monitor is I/O-deterministic; the product with the automaton has the automaton's valuations.

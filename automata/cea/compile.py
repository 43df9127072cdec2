"""Compile unary CEL to complex event automata: tods21, Theorems 6.2 and 7.2.

The construction follows the paper case by case, except where the printed case is wrong (see docs/errata.md). Contiguous
iteration as printed cannot have a round of a single event between two others, so that R:+ stops at two rounds; here the
state between rounds also steps to itself. ALL and UNLESS are in model.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeAlias, TypeVar, assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.chains import greatest_chain, greatest_of_chain
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

# ---------------------------------------------------------------------------------------------------------------------
# The selection strategies as constructions on automata: tods21, Theorem 7.2, corrected.
#
# The printed constructions for NXT, LAST and MAX compare a run with runs of the same valuation and with its winners.
# They miss runs with the same support under other variables, which may win later. Here only supports are compared, and
# a valuation is kept if its support is: the automaton runs beside a *dominance monitor*, which follows one support and
# the states of all runs with that support (ties), with better ones (winners) and, for LAST, with worse ones (losers).
# The monitor is I/O-deterministic; the product with the automaton has the automaton's valuations.

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
    """Build STRICT from three copies of A: the first selects no event, the second selects each event, the third
    none.
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
        frozenset(part * n + q for q in A.final for part in range(3)),
    )


def next_(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of NXT: keep a run unless a rival marks the first event at which the two differ."""
    return _dominated(A, after_next, algebra)


def last(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of LAST: keep a run unless a rival marks the last event at which the two differ."""
    return _dominated(A, after_last, algebra)


def max_(A: CEA, algebra: Algebra) -> CEA:
    """Build the automaton of MAX: keep a run unless the support of a rival is a strict superset."""
    return _dominated(A, after_max, algebra)


def after_next(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of NXT after one more event. A monitor compares a run with its rivals.

    marked: whether the run marks the event. delta: returns the states that rivals reach, if they mark the event or not.
    """
    ties, winners, _ = monitor
    won = delta(winners, True) | delta(winners, False)
    return delta(ties, marked), won if marked else won | delta(ties, True), ties ^ ties


def after_last(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of LAST after one more event. The arguments are those of `after_next`."""
    ties, winners, losers = monitor
    if marked:
        lost = delta(losers, True) | delta(losers | ties | winners, False)
        return delta(ties, True), delta(winners, True), lost
    return delta(ties, False), delta(winners | ties | losers, True) | delta(winners, False), delta(losers, False)


def after_max(monitor: DominanceMonitor, marked: bool, delta: Delta) -> DominanceMonitor:
    """Return the monitor of MAX after one more event. The arguments are those of `after_next`."""
    ties, winners, _ = monitor
    if marked:
        return delta(ties, True), delta(winners, True), ties ^ ties
    return delta(ties, False), delta(winners | ties, True) | delta(winners, False), ties ^ ties


def _dominated(A: CEA, step: MonitorStep, algebra: Algebra) -> CEA:
    """Return the product of the automaton and its monitor. It accepts if the automaton accepts and no rival run
    wins.
    """
    types = [(P, _Steps(A, {A.predicates[i] for i in chosen})) for chosen, P in algebra.types(A.predicates)]
    final = subset(A.final)

    def successors(
        state: tuple[int, DominanceMonitor],
    ) -> Iterator[tuple[tuple[Predicate, Marks], tuple[int, DominanceMonitor]]]:
        q, monitor = state
        for P, steps in types:
            for marked in (False, True):
                if leaving := steps.leaving[marked][q]:
                    after = step(monitor, marked, steps.delta)
                    for t in leaving:
                        yield (P, t.marks), (t.target, after)

    def accepts(state: tuple[int, DominanceMonitor]) -> bool:
        q, (_, winners, _) = state
        return q in A.final and not winners & final

    starts = [(q, (subset(A.initial), NO_STATES, NO_STATES)) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the selection strategy")


class _Steps:
    """The transitions of an automaton on one type of events: for each state, the unmarked ones and the marked ones."""

    def __init__(self, A: CEA, satisfied: set[Predicate]) -> None:
        self.leaving = tuple(
            [[t for t in leaving if bool(t.marks) == marked and t.predicate in satisfied] for leaving in A.leaving]
            for marked in (False, True)
        )
        self._targets = [[subset(t.target for t in some) for some in leaving] for leaving in self.leaving]
        self._known: tuple[dict[Subset, Subset], ...] = ({NO_STATES: NO_STATES}, {NO_STATES: NO_STATES})

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

SELECTS = "it compares all runs at once: put it around a smaller part, or use fewer of +, OR and : in that part"
ADVICE: dict[type[cel.Formula | core.Formula], str] = {
    cel.And: "the states of its operands multiply: make one of the operands smaller",
    cel.All: "the states of its operands multiply: use fewer operands, and join operands in a known order by ;",
    cel.Unless: "it follows all partial matches of its right operand at once: make the right operand shorter",
    cel.Next: SELECTS,
    cel.Last: SELECTS,
    cel.Max: SELECTS,
    core.CoreNext: SELECTS,
    core.CoreLast: SELECTS,
    core.CoreMax: SELECTS,
    core.CoreSeq: "both sides read the whole stream, so their states multiply: put the strategy around the sequence",
    core.CorePlus: "finished rounds may stay undecided: put the strategy or the filter around the iteration",
    cel.Within: "inside a formula the automaton counts the window's events: put WITHIN around the whole formula",
}
_OPERATORS = {**CEL, **CORE_CEL}
OTHERWISE = "write it with fewer alternatives"
ALLOW = "or use the evaluator denotational on short streams, or allow more: Budget(states=...)"


def state_explosion_error(
    phi: cel.Formula | core.Formula, operands: Sequence[CEA], error: BudgetExceeded
) -> BudgetExceeded:
    """Return the error for phi's construction, with its place, the sizes of the operands' automata, and advice."""
    sizes = " and ".join(f"{A.states} states and {len(A.transitions)} transitions" for A in operands)
    return BudgetExceeded(
        f"{symbol(phi)} makes too large an automaton out of {'one' if len(operands) == 1 else 'two'} with {sizes}: "
        f"{error.message}; {ADVICE.get(type(phi), OTHERWISE)}; {ALLOW}",
        phi.span,
    )


def symbol(phi: cel.Formula | core.Formula) -> str:
    """Return the operator as written in a query."""
    return _OPERATORS[type(phi)].symbol


ValueWindow: TypeAlias = cel.TimeWindow | cel.AttributeWindow
NOT_LINEAR = (cel.And, cel.All, cel.Unless, cel.Strict, cel.Next, cel.Last, cel.Max, cel.Within)


def compile_cel(phi: cel.Formula, budget: Budget = Budget(), algebra: Algebra | None = None) -> CEA:
    """Return a CEA with the valuations of phi at every position of every stream.

    The generators of `algebra` must include the predicates of phi, and its budget replaces `budget`. To compare two
    formulas, compile them in the same algebra. Raises Unsupported if phi compares events with each other. Raises
    BudgetExceeded if phi is nested too deeply, or if the automaton of an operator would be too large or take too long;
    the error names the operator and what may help.
    """
    with depth_limited(phi.span):
        return _trimmed(phi, algebra or Algebra(generators(phi), budget))


def compilable(phi: cel.Formula) -> bool:
    """Return whether the formula compares events by their positions only, so that an automaton can evaluate it."""
    return not any(map(compares, cel.subformulas(phi)))


def compares(phi: cel.Formula) -> bool:
    """Return whether the operator of the formula compares events with each other, other than by their positions."""
    if isinstance(phi, cel.Within):
        return isinstance(phi.window, ValueWindow)
    return isinstance(phi, cel.PartitionBy | cel.PerKey) or (isinstance(phi, cel.Filter) and correlated(phi.condition))


def correlated(condition: cel.Condition) -> bool:
    """Return whether a filter compares events with each other."""
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
    """Return the name of the helper attribute that a predicate tests (see HELD), which serves as a mark; None for
    others.
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
    if isinstance(phi, cel.Next | cel.Last):
        chain = greatest_chain(phi)
        if chain is not None and (chain.guard is None or isinstance(phi, cel.Last)):
            return greatest_of_chain(phi, chain, algebra)
    compiled = _trimmed if isinstance(phi, NOT_LINEAR) else _thompson
    operands = [compiled(psi, algebra) for psi in children(phi)]
    try:
        A = _case(phi, operands, algebra)
        if len(A.transitions) > algebra.budget.states:
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
    A = separate_start(A)
    return replace(A, transitions=tuple(t for t in A.transitions if t.marks or t.source not in A.initial))


def _distinct(*transitions: Transition) -> tuple[Transition, ...]:
    return tuple(dict.fromkeys(transitions))


# ---------------------------------------------------------------------------------------------------------------------
# A compiler that remembers the last queries: without it, campaigns would spend most of their time on compiling again.

F = TypeVar("F", bound=Hashable)
Made = TypeVar("Made")


class CachedCompiler(Generic[F, Made]):
    """A compiler that caches the results for the last queries; initially it caches nothing.

    Equal queries share their result, which may be an error. A shared error has the span of the query compiled first.
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

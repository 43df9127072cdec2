"""Compile unary core-CEL to complex event automata: cep17, sections 3, 4 and 6, extended to all formulas.

The paper compiles core-CEL in LP-normal form, with strategies only around a whole formula. Here every formula whose
filters look at single events is compiled unchanged, with strategies anywhere. A strategy compares complex events over
the whole stream (docs/decisions/core-cel.md). So every automaton below reads the stream from position 0 to the end, and
marks the variables that the operators around it may still use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import (
    NO_STATES,
    DominanceMonitor,
    MonitorStep,
    after_last,
    after_max,
    after_next,
    state_explosion_error,
    strict,
)
from cerify.automata.cea.model import (
    CEA,
    MARKED,
    UNMARKED,
    Label,
    Marks,
    Transition,
    intersection,
    quotient,
    reachable_cea,
    trim,
    union,
)
from cerify.automata.exploration import Subset, members, subset
from cerify.semantics.arguments import Budget, depth_limited
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.predicates import Anything, OfType, Predicate, mentions
from cerify.semantics.trees import children

# ---------------------------------------------------------------------------------------------------------------------
# Which variables a core-CEL formula mentions, defines and binds: cep17, sections 3 and 5.1, read for the automata.
#
# semantics/core_cel/check.py has its own code for this, which follows the definition.

Variables: TypeAlias = frozenset[str]


def mentioned(condition: core.Condition) -> Variables:
    """Return the variables that a filter uses."""
    match condition:
        case core.Unary(x, _):
            return frozenset({x})
        case core.CoreCorrelated(predicate):
            return frozenset(a.variable for a in mentions(predicate) if a.variable is not None)
        case core.CoreConjunction(left, right) | core.CoreDisjunction(left, right):
            return mentioned(left) | mentioned(right)
        case _:
            assert_never(condition)


def defined_outside_iteration(phi: core.Formula) -> Variables:
    """Return vdef+(phi): the variables that phi defines outside of any `+` (cep17, section 3)."""
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return defined_outside_iteration(left) | defined_outside_iteration(right)
        case core.CoreFilter(psi, _) | core.CoreSelection(psi):
            return defined_outside_iteration(psi)
        case core.CorePlus():
            return frozenset()
        case _:
            assert_never(phi)


def free(phi: core.Formula) -> Variables:
    """Return the variables on which [phi](S, nu) depends: all variables in phi, except where a `+` around them rebinds
    them.
    """
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return free(left) | free(right)
        case core.CoreFilter(psi, condition):
            return mentioned(condition) | free(psi)
        case core.CorePlus(psi):
            return free(psi).difference(defined_outside_iteration(psi))
        case core.CoreSelection(psi):
            return free(psi)
        case _:
            assert_never(phi)


def bound(phi: core.Formula) -> Variables:
    """Return the variables that hold an event in every complex event of phi: bound(phi) of cep17, section 5.1."""
    match phi:
        case core.CoreEventAtom(_, x):
            return frozenset({x})
        case core.CoreSeq(left, right):
            return bound(left) | bound(right)
        case core.CoreOr(left, right):
            return bound(left).intersection(bound(right))
        case core.CorePlus():
            return frozenset()
        case core.CoreFilter(psi, _) | core.CoreSelection(psi):
            return bound(psi)
        case _:
            assert_never(phi)


# ---------------------------------------------------------------------------------------------------------------------
# Operations on automata over whole streams that mark the positions of single variables, for compiling core-CEL.
#
# An automaton reads a stream to its end. MARKED marks the events of the complex event C. A variable marks at most one
# event; a variable that a run does not mark may be anywhere. So over each stream an automaton has a set of pairs
# (C, nu), in which nu is a partial map, as in semantics/core_cel/interpreter.py. Two parts of C are read side by side
# from position 0, each part with its own marks (docs/theory/compilation.md, core-CEL).

EventClass: TypeAlias = tuple[Predicate, frozenset[Predicate], frozenset[Predicate]]
"""A class of events, (predicate, satisfied, looked_at): its events satisfy `predicate`, and of the predicates in
`looked_at` exactly those in `satisfied`.
"""


def selects(t: Transition) -> bool:
    """Return whether the transition adds the event to the complex event."""
    return t.marks >= MARKED


def guess_position(A: CEA, x: str, budget: Budget) -> CEA:
    """Return an automaton in which the variable x always has a position.

    A pair (complex event, valuation) of A in which x has no position is replaced by a pair for each position of the
    stream. Other pairs stay as they are. Raises BudgetExceeded.
    """

    def successors(state: tuple[int, bool]) -> Iterator[tuple[Label, tuple[int, bool]]]:
        q, seen = state
        for t in A.leaving[q]:
            if x not in t.marks:
                yield (t.predicate, t.marks), (t.target, seen)
            if not seen:
                yield (t.predicate, t.marks | {x}), (t.target, True)

    starts = [(q, False) for q in sorted(A.initial)]
    what = f"the automaton for {x} at any event"
    return reachable_cea(starts, successors, lambda state: state[0] in A.final and state[1], budget, what)


def sequence(A: CEA, B: CEA, budget: Budget) -> CEA:
    """Return the automaton for a complex event of A followed by one of B under the same valuation. Raises
    BudgetExceeded.
    """
    shared = _variables(A) & _variables(B)
    finishing = _finishing(A)
    State: TypeAlias = tuple[int, int, bool, Variables]  # of A, of B, whether B has taken, what was seen of shared

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        p, q, begun, seen = state
        for t in A.leaving[p]:
            for u in B.leaving[q]:
                marks, begun_ = t.marks | u.marks, begun or selects(u)
                # Dropped at once: runs in which A still needs an event after B began, and runs with two events for one
                # variable.
                if (begun_ and (selects(t) or t.target not in finishing)) or marks & seen:
                    continue
                predicate = intersection(t.predicate, u.predicate)
                yield (predicate, marks), (t.target, u.target, begun_, seen | marks & shared)

    starts: list[State] = [(p, q, False, frozenset()) for p in sorted(A.initial) for q in sorted(B.initial)]
    return reachable_cea(starts, successors, lambda s: s[0] in A.final and s[1] in B.final, budget, "the sequence")


def apply_strategy(A: CEA, W: Variables, step: MonitorStep, algebra: Algebra) -> CEA:
    """Return the automaton of NXT, LAST or MAX: the pairs (complex event, valuation) of A that no rival dominates.

    W: the variables bound outside of the strategy; each must have a position. step: the monitor's step for the
    strategy. Raises BudgetExceeded.

    Rivals have the same last position and agree on W. The monitor of compile.py reads the same events as the run, with
    the run's marks of W, so that it follows only runs with these marks. At the last selected event, the runs that do
    not select it stop being rivals; the winners among the other runs stay the same.
    """
    follow = _Follow(A, W, algebra)
    final = subset(A.final)
    State: TypeAlias = tuple[int, DominanceMonitor, bool]  # of A, its monitor, whether the last event was taken

    def successors(state: State) -> Iterator[tuple[Label, State]]:
        q, monitor, ended = state
        for kind in follow.kinds(monitor[0] | monitor[1] | monitor[2], taking=not ended):
            for t in A.leaving[q]:
                if (ended and selects(t)) or (predicate := _met(kind, t.predicate)) is None:
                    continue
                label, L = (predicate, t.marks), t.marks & W

                def delta(states: Subset, marked: bool, kind: EventClass = kind, L: Marks = L) -> Subset:
                    return follow.delta(states, marked, L, kind)

                if not ended:
                    yield label, (t.target, step(monitor, selects(t), delta), False)
                if ended or selects(t):
                    yield label, (t.target, (NO_STATES, delta(monitor[1], selects(t)), NO_STATES), True)

    def accepts(state: State) -> bool:
        q, (_, winners, _), ended = state
        return ended and q in A.final and not winners & final

    starts: list[State] = [(q, (subset(A.initial), NO_STATES, NO_STATES), False) for q in sorted(A.initial)]
    return reachable_cea(starts, successors, accepts, algebra.budget, "the automaton of the strategy")


def iterate_automaton(A: CEA, W: Variables, algebra: Algebra) -> CEA:
    """Build the iteration of A: one or more rounds, one after the other. Raises BudgetExceeded.

    W: the variables bound outside of the iteration; all rounds have the same events for them.

    Each round reads the whole stream, but selects nothing before its first event and nothing after its last. So the
    states that runs reach without selecting represent all future rounds (waiting). The finished rounds are represented
    by their current states, each of which has to reach a final state (pending). Rounds in the same state have the same
    continuations, so one state stands for all of them.
    """
    # Each round binds the other variables anew, so marks of different rounds may not be compared.
    rounds = _Rounds(A.remarked({L: L & (W | MARKED) for L in A.marks}), W, algebra)
    starts: list[_RoundsState] = [(subset(A.initial), None, NO_STATES, False)]
    return reachable_cea(starts, rounds.successors, rounds.accepts, algebra.budget, "the iteration")


_RoundsState: TypeAlias = tuple[Subset, int | None, Subset, bool]
"""(waiting states, state of the current round or None, pending states, whether an event was selected)."""


class _Rounds:
    """The states of an iteration, and the steps between them."""

    def __init__(self, A: CEA, W: Variables, algebra: Algebra) -> None:
        self.A, self.W, self.budget = A, W, algebra.budget
        self.follow = _Follow(A, W, algebra)
        self.final = subset(A.final)
        self.settled = {q for q in A.final if (q, Anything(), UNMARKED, q) in A.leaving[q]}

    def successors(self, state: _RoundsState) -> Iterator[tuple[Label, _RoundsState]]:
        """Yield the steps from a state."""
        waiting, q, pending, begun = state
        here = [*members(waiting | pending), *(() if q is None else (q,))]
        for L in dict.fromkeys([UNMARKED, *(t.marks & self.W for p in here for t in self.A.leaving[p])]):
            for kind in self.follow.kinds(waiting, taking=False):
                over, on = self._over(pending, kind, L), list(self._under_way(state, kind, L))
                waiting_ = self.follow.delta(waiting, False, L, kind)
                for P, pending_ in over:
                    for Q, selects_, q_, ended in on:
                        after = waiting_, q_, pending_ | ended, begun or selects_
                        yield (intersection(P, Q), L | MARKED if selects_ else L), after

    def accepts(self, state: _RoundsState) -> bool:
        """Return whether an event was selected, and all rounds are over and in final states."""
        _, q, pending, begun = state
        return begun and q is None and not pending & ~self.final

    def _pending(self, q: int) -> Subset:
        """Return {q} for a round that has finished in state q; return the empty set if q accepts any further events."""
        return NO_STATES if q in self.settled else 1 << q

    def _over(self, pending: Subset, kind: EventClass, L: Marks) -> set[tuple[Predicate, Subset]]:
        """Return the ways in which the finished rounds can continue, as pairs (events on which they continue so, their
        states).
        """
        ways = {(kind[0], NO_STATES)}
        for q in members(pending):
            steps = [t for t in self.A.leaving[q] if t.marks == L]
            ways = {
                (intersection(P, met), states | self._pending(t.target))
                for P, states in ways
                for t in steps
                if (met := _met(kind, t.predicate)) is not None
            }
            if len(ways) > self.budget.states:
                raise BudgetExceeded(
                    f"finished rounds of iterations can continue in more than {self.budget.states} ways"
                )
        return ways

    def _under_way(
        self, state: _RoundsState, kind: EventClass, L: Marks
    ) -> Iterator[tuple[Predicate, bool, int | None, Subset]]:
        """Yield the steps of the current round, or of a new one.

        A step is (its events, whether it selects them, the round's next state or None, the pending state): if the round
        is over, there is a pending state and no next state.
        """
        waiting, q, _, _ = state
        if q is None:
            yield kind[0], False, None, NO_STATES
        for p in members(waiting) if q is None else (q,):
            for t in self.A.leaving[p]:
                P = _met(kind, t.predicate)
                if P is None or t.marks & self.W != L or (q is None and not selects(t)):
                    continue
                yield P, selects(t), t.target, NO_STATES
                if selects(t):
                    yield P, True, None, self._pending(t.target)


def merged(A: CEA, algebra: Algebra) -> CEA:
    """Merge the transitions of A that select nothing and differ only in their predicates."""
    beside: dict[Transition, list[Predicate]] = {}
    for t in A.transitions:
        beside.setdefault(t if selects(t) else t._replace(predicate=Anything()), []).append(t.predicate)
    return replace(
        A,
        transitions=tuple(
            t._replace(predicate=predicates[0] if len(predicates) == 1 else _either(predicates, algebra))
            for t, predicates in beside.items()
        ),
    )


def _either(predicates: Iterable[Predicate], algebra: Algebra) -> Predicate:
    return algebra.predicate(reduce(or_, map(algebra.mask, predicates)))


class _Follow:
    """Follows the runs that have given marks of W, with any other marks: the set of states that they have reached."""

    def __init__(self, A: CEA, W: Variables, algebra: Algebra) -> None:
        self.A = A
        self.W = W
        self.algebra = algebra
        self._kinds: dict[tuple[Predicate, ...], list[EventClass]] = {}
        self._known: dict[tuple[Subset, bool, Marks, Predicate], Subset] = {}

    def kinds(self, states: Subset, taking: bool) -> list[EventClass]:
        """Return the kinds of events that the steps of these states distinguish.

        taking: include the steps that select the event, not only those that skip it.
        """
        leaving = (t for q in members(states) for t in self.A.leaving[q])
        found = dict.fromkeys(t.predicate for t in leaving if taking or not selects(t))
        found.pop(Anything(), None)
        predicates = tuple(found)
        if not predicates:
            return [(Anything(), frozenset({Anything()}), frozenset({Anything()}))]
        if (kinds := self._kinds.get(predicates)) is None:
            looked_at = frozenset({Anything(), *predicates})
            kinds = self._kinds[predicates] = [
                (P, frozenset({Anything(), *(predicates[i] for i in among)}), looked_at)
                for among, P in self.algebra.types(predicates)
            ]
        return kinds

    def delta(self, states: Subset, marked: bool, L: Marks, kind: EventClass) -> Subset:
        """Return the states reached from `states` on an event of the kind with the marks L of W.

        marked: whether the event is selected.
        """
        key = states, marked, L, kind[0]
        if (reached := self._known.get(key)) is None:
            reached = self._known[key] = subset(
                t.target
                for q in members(states)
                for t in self.A.leaving[q]
                if selects(t) == marked and t.marks & self.W == L and t.predicate in kind[1]
            )
        return reached


def _met(kind: EventClass, P: Predicate) -> Predicate | None:
    """Return the events of the kind that also satisfy P; None if there are none."""
    predicate, satisfied, looked_at = kind
    if P in looked_at:
        return predicate if P in satisfied else None
    return intersection(predicate, P)


def _variables(A: CEA) -> Variables:
    return frozenset[str]().union(*(t.marks for t in A.transitions)) - MARKED


def _finishing(A: CEA) -> set[int]:
    """Return the states from which a run can reach a final one without selecting anything more."""
    found, pending = set(A.final), list(A.final)
    entering: dict[int, list[int]] = {}
    for t in A.transitions:
        if not selects(t):
            entering.setdefault(t.target, []).append(t.source)
    while pending:
        for p in entering.get(pending.pop(), ()):
            if p not in found:
                found.add(p)
                pending.append(p)
    return found


CHOICES: dict[type[core.Formula], MonitorStep] = {
    core.CoreNext: after_next,
    core.CoreLast: after_last,
    core.CoreMax: after_max,
}

LOOKING = (core.CorePlus, core.CoreNext, core.CoreLast, core.CoreMax)  # their automata look at kinds of events


def compile_core(phi: core.Formula, budget: Budget = Budget()) -> CEA:
    """Build a CEA that reports the complex events of phi at every position of every stream. It has a single variable,
    which marks the selected events.

    Raises Unsupported if phi compares attributes of different events, or if it looks ahead (use `whole_stream`
    instead). Raises BudgetExceeded in the same cases as `compile_cel`.
    """
    for x, span in looks_ahead(phi)[:1]:
        raise Unsupported(
            f"{x} may hold no event here, so the filter could depend on a later event. "
            f"Write AS {x} in every alternative of the filtered formula and outside +",
            span,
        )
    A = whole_stream(phi, budget)
    end = A.states
    # The automaton of the whole stream accepts until its end. A match is reported once, at its last event; so only the
    # step that selects this event reaches the new final state, which has no steps.
    ending = (t._replace(target=end) for t in A.transitions if selects(t) and t.target in A.final)
    return quotient(trim(CEA(end + 1, (*A.transitions, *ending), A.initial, frozenset({end}))))


def whole_stream(phi: core.Formula, budget: Budget = Budget()) -> CEA:
    """Build a CEA that reports all complex events of phi at the end of the stream.

    Raises Unsupported and BudgetExceeded.
    """
    with depth_limited(phi.span):
        A = _compiled(phi, Algebra(_generators(phi), budget))
        # The variables go only here: operators around a variable need its position, the user sees complex events.
        return quotient(trim(A.remarked({L: L & MARKED for L in A.marks})))


def looks_ahead(phi: core.Formula) -> list[tuple[str, Span | None]]:
    """Return the variables in filters, with their spans, that may be bound to events after the end of a match.

    These are variables that some alternative of the formula leaves unbound. Variables that the operand of `+`, NXT,
    LAST or MAX defines must be bound inside it, because each round, and each match that is compared, defines them anew.
    Raises BudgetExceeded if phi is nested too deeply.
    """
    with depth_limited(phi.span):
        return list(_open(phi, frozenset()))


def _generators(phi: core.Formula) -> Iterator[Predicate]:
    for psi in core.subformulas(phi):
        match psi:
            case core.CoreEventAtom(R, _):
                yield OfType(R)
            case core.CoreFilter(_, condition):
                yield from (atom.predicate for atom in core.atoms(condition) if isinstance(atom, core.Unary))


def _open(phi: core.Formula, around: Variables) -> Iterator[tuple[str, Span | None]]:
    """Yield, with their spans, the variables of filters that neither phi nor the formulas around it bind.

    Rounds of an iteration, and rivals under a strategy, choose anew the variables that the operand defines.
    """
    around = around | bound(phi)
    match phi:
        case core.CoreFilter(_, condition):
            for atom in core.atoms(condition):
                yield from ((x, atom.span) for x in sorted(mentioned(atom) - around))
        case core.CorePlus(psi) | core.CorePreference(psi):
            around = around - defined_outside_iteration(psi)
        case core.CoreEventAtom() | core.CoreOr() | core.CoreSeq() | core.CoreStrict():
            pass
        case _:
            assert_never(phi)
    for psi in children(phi):
        yield from _open(psi, around)


def _compiled(phi: core.Formula, algebra: Algebra) -> CEA:
    operands = [_compiled(psi, algebra) for psi in children(phi)]
    try:
        A = _case(phi, operands, algebra)
        if len(A.transitions) > algebra.budget.states:
            raise BudgetExceeded(f"the automaton has more than {algebra.budget.states} transitions")
    except BudgetExceeded as error:
        raise state_explosion_error(phi, operands, error) from None
    A = quotient(trim(A))
    return merged(A, algebra) if isinstance(phi, LOOKING) else A


def _case(phi: core.Formula, operands: list[CEA], algebra: Algebra) -> CEA:
    if isinstance(phi, core.CoreEventAtom):
        return _event(phi.type, phi.variable)
    A, B = operands[0], operands[-1]
    match phi:
        case core.CoreFilter(psi, condition):
            return _filter(A, condition, bound(psi), algebra.budget)
        case core.CoreOr():
            return union(A, B)
        case core.CoreSeq():
            return sequence(A, B, algebra.budget)
        case core.CoreStrict():
            return strict(A, selects)
        case core.CorePlus(core.CorePlus()):  # rounds of rounds
            return A
        case core.CorePlus(psi):
            A, W = _surrounded(psi, A, algebra.budget)
            return iterate_automaton(A, W, algebra)
        case core.CorePreference(psi):
            A, W = _surrounded(psi, A, algebra.budget)
            return apply_strategy(A, W, CHOICES[type(phi)], algebra)
        case _:
            assert_never(phi)


def _event(R: str, x: str) -> CEA:
    """Build `R AS x`: skip any events, take one event of type R for x, and skip any events."""
    before, after = (Transition(q, Anything(), UNMARKED, q) for q in (0, 1))
    return CEA(2, (before, Transition(0, OfType(R), MARKED | {x}, 1), after), frozenset({0}), frozenset({1}))


def _filter(A: CEA, condition: core.Condition, held: Variables, budget: Budget) -> CEA:
    """Return the automaton of FILTER.

    A variable outside `held` may be at any event, so its position is guessed before the filter is checked.
    """
    match condition:
        case core.Unary(x, P):
            A = A if x in held else guess_position(A, x, budget)
            return replace(
                A,
                transitions=tuple(
                    t._replace(predicate=intersection(t.predicate, P)) if x in t.marks else t for t in A.transitions
                ),
            )
        case core.CoreConjunction(left, right):
            return _filter(_filter(A, left, held, budget), right, held, budget)
        case core.CoreDisjunction(left, right):
            return union(_filter(A, left, held, budget), _filter(A, right, held, budget))
        case core.CoreCorrelated():
            raise Unsupported(
                "an automaton looks at one event at a time, so it cannot evaluate a cross-event filter", condition.span
            )
        case _:
            assert_never(condition)


def _surrounded(psi: core.Formula, A: CEA, budget: Budget) -> tuple[CEA, Variables]:
    """Return (automaton, W): the variables W of psi that are bound around it, and the automaton of psi, which has each
    of them at some event.
    """
    W = free(psi) - defined_outside_iteration(psi)
    for x in sorted(W):
        A = quotient(trim(guess_position(A, x, budget)))
    return A, W

"""Evaluate event expressions by their definition, with memoization and a budget.

With plain=True nothing is remembered and every expression is evaluated by its clause in denote.py. The default saves
time in three ways, none of which changes the result: the meaning of an expression over a history is computed once;
bindings of names that do not occur in an expression are dropped; and prefix(E) runs a state machine (below)
instead of searching through possible futures. `python -m proofs_tests.campaigns.expressions` compares the two.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise, product
from typing import Any, ClassVar, NamedTuple, TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    NOTHING_BOUND,
    Bindings,
    Events,
    History,
    Places,
    bind_parameters,
    choices,
    clause,
    definition,
    find_scope_variables,
    free_variables,
    from_on,
    in_scope,
    is_occurrence,
    names_in,
    places_of,
    require_start_first,
    value_of,
)
from cerify.semantics.event_expressions.syntax import Relation, Row, brief
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate, atoms, holds, satisfied
from cerify.semantics.values import FIRST_TIME, LAST_TIME, Value, has_nanoseconds, interval_of_nanoseconds, kind

# ---------------------------------------------------------------------------------------------------------------------
# Make the histories that decide prefix(E).
#
# By definition (vldb92, section 2.3, item o), prefix(E) depends on all histories that begin like the present one.
# Finitely many of them are enough. One kind of future event is needed for each combination of outcomes of the masks and
# arguments of E (`letters`). No history needs more future events than the number of pasts that E distinguishes
# (`distinguished_pasts`). In a longer history, E does not distinguish two of the pasts on the way, so the events
# between these two can be left out.

# ---------------------------------------------------------------------------------------------------------------------
# Representatives of future events: one for each combination of outcomes of the tests on an event.

MICROSECOND = timedelta(microseconds=1)


def events_to_come(
    tests: Mapping[str, Sequence[pred.Predicate]], budget: Budget = Budget(), span: Span | None = None
) -> tuple[Event, ...]:
    """Return events that represent all future events: of each type, one for each combination of outcomes of its tests.

    The result includes an event of a type without tests, but no start event, because a start event is never in the
    future. An attribute may have any value, or none. Raises Unsupported for tests that do more than compare an
    attribute with values, and BudgetExceeded.
    """
    # The name is free of the types of E: one event of any such type stands for all of them.
    other = "other"
    while other in tests or other == expr.START:
        other += "_"
    return (*(event for T, some in tests.items() for event in _events(T, some, budget, span)), Event(other))


def _events(T: str, tests: Sequence[pred.Predicate], budget: Budget, span: Span | None) -> Iterator[Event]:
    constants: dict[str, list[Value]] = {}
    for test in tests:
        for name, value in _compared(test, span):
            constants.setdefault(name, []).append(value)
    pools = [(None, *_representatives(values)) for values in constants.values()]
    if math.prod(map(len, pools)) > budget.states:
        raise BudgetExceeded(
            f"the masks of {T} distinguish more than {budget.states} events; compare with fewer constants", span
        )
    seen = set()
    for values in product(*pools):
        event = Event(T, {name: v for name, v in zip(constants, values, strict=True) if v is not None})
        # Events are compared by the outcomes of the tests: a mask cannot tell apart events with equal outcomes.
        outcome = tuple(holds(test, event) for test in tests)
        if outcome not in seen:
            seen.add(outcome)
            yield event


def _compared(test: pred.Predicate, span: Span | None) -> Iterator[tuple[str, Value]]:
    """Yield a pair (attribute, value) for each comparison in a test."""
    for atom in atoms(test):
        match atom:
            case pred.Comparison(_, pred.Attribute(name), pred.Constant(value)) | pred.Comparison(
                _, pred.Constant(value), pred.Attribute(name)
            ):
                yield name, value
            case pred.OneOf(pred.Attribute(name), values):
                yield from ((name, value) for value in values)
            case pred.InRange(pred.Attribute(name), low, high):
                yield from ((name, low), (name, high))
            case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
                raise Unsupported(
                    "prefix must know which events may come, so compare attributes only with constants inside it",
                    span,
                )
            case pred.Anything() | pred.OfType():
                pass
            case _:
                assert_never(atom)


def _representatives(values: list[Value]) -> Iterator[Value]:
    """Yield the values and, for each kind of value, further values that represent all others.

    For numbers, the further values are one below all, one above all, and one between each two neighbours.
    """
    by_kind: dict[str, set[Value]] = {}
    for value in values:
        by_kind.setdefault(kind(value), set()).add(value)
    for group in by_kind.values():
        ordered = sorted(group)  # they are of one kind
        yield from ordered
        match ordered[0], ordered[-1]:
            case bool() as value, _:
                yield not value
            case str(), _:
                # In the order of strings, value + "\0" is the next one after the value, and "" is the first: every gap
                # has a representative.
                yield ""
                yield from (f"{value}\0" for value in ordered if isinstance(value, str))
            case datetime() as low, _:
                if low > FIRST_TIME:
                    yield low - MICROSECOND
                step = interval_of_nanoseconds(1) if has_nanoseconds(ordered) else MICROSECOND
                yield from (step + v for v in ordered if isinstance(v, datetime) and v < LAST_TIME)
            case (int() | float() as low, int() | float() as high):
                yield low - 1 if low - 1 < low else math.nextafter(low, -math.inf)  # a large float less 1 is that float
                yield high + 1 if high + 1 > high else math.nextafter(high, math.inf)
                yield from (_between(a, b) for a, b in pairwise(v for v in ordered if isinstance(v, int | float)))


def _between(a: int | float, b: int | float) -> int | float:
    """Return a number strictly between a and b; a or b if there is none."""
    if isinstance(a, int) and isinstance(b, int) and b - a > 1:
        return (a + b) // 2
    try:
        # Halves are added, because the sum of two large floats is infinite.
        return a / 2 + b / 2
    except OverflowError:  # an integer is too large for a float
        return b - 1 if isinstance(b, int) else a + 1


LARGE = 64  # the bounds below stop at 2 ** LARGE: before so many steps, every budget is exhausted


def words(
    E: expr.Expression,
    b: Bindings,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: Places,
    budget: Budget = Budget(),
) -> Iterator[tuple[Event, ...]]:
    """Yield event sequences that may follow a history, shortest first.

    If E can still take place, it takes place at the end of one of these sequences. Raises the errors of `letters`.
    """
    alphabet = letters(E, b, definitions, order, budget)
    for length in range(1, distinguished_pasts(E, definitions) + 1):
        yield from product(alphabet, repeat=length)


def letters(
    E: expr.Expression,
    b: Bindings,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: Places,
    budget: Budget = Budget(),
) -> tuple[Event, ...]:
    """Return events that represent all future events: E, under the bindings, treats each future event like one of them.

    Raises Unsupported for masks that do more than compare an attribute with values, for an argument without a known
    attribute, and for a named expression that has its own attribute variables, because these have infinitely many
    values. Raises BudgetExceeded.
    """
    tests: dict[str, list[Predicate]] = {}
    seen: set[tuple[str, Bindings]] = set()
    pending = [(E, b)]
    while pending:
        F, inner = pending.pop()
        for G in expr.subexpressions(F):
            if isinstance(G, expr.Primitive) and G.type != expr.START:
                tests.setdefault(G.type, []).extend(_tests(G, inner, order))
            if isinstance(G, expr.ExpressionNamed):
                definition = definitions[G.name]
                if own := find_scope_variables(definition.body, definition.parameters):
                    raise Unsupported(
                        f"inside prefix, {G.name} has infinitely many values of {', '.join(own)}; make them parameters",
                        G.span,
                    )
                values = bind_parameters(definition.parameters, G.arguments, inner)
                if (G.name, values) not in seen:
                    seen.add((G.name, values))
                    pending.append((definition.body, values))
    return events_to_come(tests, budget, E.span)


def _tests(E: expr.Primitive, b: Bindings, order: Places) -> Iterator[Predicate]:
    """Yield the tests of E on an event of its type: the mask, and a comparison for each argument that has a value."""
    if E.mask is not None:
        yield E.mask
    names = order.get(E.type, ())
    for k, argument in enumerate(E.arguments):
        if (v := value_of(argument, b)) is not None:
            if k >= len(names):
                raise Unsupported(
                    f"the attribute for argument {k + 1} of {E.type} is unknown. Give the stream a schema", E.span
                )
            yield Comparison("=", Attribute(names[k]), Constant(v))


def distinguished_pasts(E: expr.Expression, definitions: Mapping[str, expr.ExpressionDefinition]) -> int:
    """Return an upper bound on the number of pasts (histories so far) that E distinguishes.

    E does not distinguish two pasts if, whatever follows, it takes place at the same events after both. So the classes
    of pasts are the states of a machine for E, and the machine built from the operands' machines gives the bound. The
    bound is exact for small expressions, and capped at 2 to the power of LARGE.
    """
    of_names: dict[str, int] = {}
    for name, defined in definitions.items():
        of_names[name] = _some(len(free_variables(defined.body)), _pasts(defined.body, of_names))
    return _pasts(E, of_names)


def _pasts(E: expr.Expression, of_names: Mapping[str, int]) -> int:
    def pasts(F: expr.Expression) -> int:
        return min(_pasts(F, of_names), 1 << LARGE)

    match E:
        case expr.Null() | expr.Primitive() | expr.AnyEvent() | expr.ExpressionVariable() | expr.Constraint():
            return 1  # only the event at hand counts
        case expr.First():
            return 2  # whether there has been an event
        case expr.ExpressionNot(F) | expr.Equated(F, _) | expr.Prefix(F):
            return pasts(F)
        case expr.ExpressionAnd(left, right) | expr.ExpressionOr(left, right) | expr.Pipe(left, right):
            return pasts(left) * pasts(right)
        case expr.Relative(parts):  # the state of the first part, and the set of states of all runs of the next part
            found = pasts(parts[0])
            for F in parts[1:]:
                found *= _subsets(pasts(F))
            return found
        case expr.RelativePlus(F):
            return _subsets(pasts(F))
        case expr.Prior(parts) | expr.Sequence(parts):  # and whether the parts before have occurred, or just now
            found = pasts(parts[0])
            for F in parts[1:]:
                found *= 2 * pasts(F)
            return found
        case expr.Nth(n, F):  # and how often F has taken place, up to n
            return (n + 1) * pasts(F)
        case expr.EveryNth(n, F):
            return n * pasts(F)
        case expr.After(left, right):  # the state of the right until its first event, then of the left
            return pasts(left) + pasts(right)
        case expr.ExpressionBetween(left, right):  # no delimiter yet, or the state of the left since the last one
            return (1 + pasts(left)) * pasts(right)
        case expr.FirstAfter(opening, event, closing):
            return (1 + 2 * pasts(event) * pasts(closing)) * pasts(opening)
        case expr.Before(F) | expr.Happened(F):
            return 1 + pasts(F)
        case expr.ExpressionSeries(left, right):
            return 1 + pasts(left) * pasts(right)
        case expr.Exists(_, F):
            return _some(1, pasts(F))
        case expr.ExpressionNamed(name, _):
            return of_names[name]
        case expr.Let(_, body):
            return pasts(body)
        case _:
            assert_never(E)


def _some(variables: int, pasts: int) -> int:
    """Return the bound for an expression with so many variables bound by `exists`, from the bound without `exists`.

    Each variable may hold no event yet, or any event so far.
    """
    for _ in range(variables):
        pasts = min(pasts * _subsets(pasts), 1 << LARGE)
    return pasts


def _subsets(n: int) -> int:
    return 1 << min(n, LARGE)


# ---------------------------------------------------------------------------------------------------------------------
# A state machine for prefix(E), which saves the interpreter the search through future histories.
#
# An expression distinguishes only finitely many pasts; a state stands for one class of pasts. Each case of _step reads
# one event: it returns the next state, and whether the expression takes place at the event. The state before the first
# event is None. The definition of prefix is in denote.py; its histories come from `words`, not from this machine.

State: TypeAlias = Any
"""None, True, or tuples and frozen sets of states."""

SILENT = "silent"  # the state of F in F /+ E before the first delimiter


class ExpressionLetter(NamedTuple):
    """An event, and the correlation variables that are bound to it."""

    event: Event
    variables: frozenset[str] = frozenset()


@dataclass
class Machine:
    """A state machine that reads a history and tells where an expression takes place.

    The values of the expression's attribute variables are fixed by the bindings b.
    """

    E: expr.Expression
    b: Bindings
    definitions: Mapping[str, expr.ExpressionDefinition]
    order: Places
    budget: Budget = field(default_factory=Budget)
    initial: ClassVar[State] = None

    def __post_init__(self) -> None:
        self._require_small()
        self._letters = letters(self.E, self.b, self.definitions, self.order, self.budget)
        self._futures: dict[tuple[int, Bindings, State], bool] = {}
        # By identity. Expansions stay alive as values of this table, and the parts of E with E, so no identity is
        # reused.
        self._instead: dict[int, expr.Expression] = {}

    def step(self, state: State, letter: ExpressionLetter) -> State:
        """Return the state after one more letter of the history."""
        return self._step(self.E, state, letter, self.b)[0]

    def may_accept(self, state: State) -> bool:
        """Return whether the expression can take place at an event after this state. Raises BudgetExceeded."""
        return self._may_accept(self.E, state, self.b)

    def events(self, h: tuple[ExpressionLetter, ...]) -> frozenset[int]:
        """Return the positions in a history at which the expression takes place."""
        found, state = set(), self.initial
        for e, letter in enumerate(h):
            state, here = self._step(self.E, state, letter, self.b)
            if here:
                found.add(e)
        return frozenset(found)

    def _step(self, E: expr.Expression, state: State, letter: ExpressionLetter, b: Bindings) -> tuple[State, bool]:
        if isinstance(E, expr.Derived):
            return self._step_derived(E, state, letter, b)
        match E:
            case expr.Null():
                return None, False
            case expr.Primitive():
                return None, is_occurrence(E, letter.event, b, self.order)
            case expr.Constraint(comparison):
                return None, satisfied(comparison, lambda X: value_of(X.name, b))
            case expr.ExpressionVariable(x):
                return None, x in letter.variables
            case expr.Equated(F, x):
                q, here = self._step(F, state, letter, b)
                return q, here and x in letter.variables
            case expr.ExpressionNot(F):
                q, here = self._step(F, state, letter, b)
                return q, not here
            case expr.ExpressionAnd(left, right):
                q1, q2 = state or (None, None)
                q1, here = self._step(left, q1, letter, b)
                q2, too = self._step(right, q2, letter, b)
                return (q1, q2), here and too
            case expr.Relative((left, right)):  # the right begins anew after each event of the left
                q1, running = state or (None, frozenset())
                q1, ends = self._step(left, q1, letter, b)
                after, here = self._step_all(right, running, letter, b)
                return (q1, after | {None} if ends else after), here
            case expr.Relative():
                return self._step(self._expansion(E), state, letter, b)
            case expr.RelativePlus(F):
                after, here = self._step_all(F, state or frozenset({None}), letter, b)
                return after | {None} if here else after, here
            case expr.Exists(x, F):  # x is a future event, this event, or an event of the past
                to_come, been = state or (None, frozenset())
                elsewhere = ExpressionLetter(letter.event, letter.variables - {x})
                been, before = self._step_all(F, been, elsewhere, b)
                q, now = self._step(F, to_come, ExpressionLetter(letter.event, letter.variables | {x}), b)
                return (self._step(F, to_come, elsewhere, b)[0], been | {q}), before or now
            case expr.ExpressionNamed(name, arguments):
                return self._step(
                    self._body(E), state, letter, bind_parameters(self.definitions[name].parameters, arguments, b)
                )
            case expr.Let():
                raise ValueError("put a definition at the beginning of a text, not inside an expression")
            case _:
                assert_never(E)

    def _step_derived(self, E: expr.Derived, state: State, letter: ExpressionLetter, b: Bindings) -> tuple[State, bool]:
        match E:
            case expr.AnyEvent():
                return None, letter.event.type != expr.START
            case expr.First():
                return True, state is None
            case expr.Pipe(left, right):  # the right sees the events of the left
                q1, q2 = state or (None, None)
                q1, seen = self._step(left, q1, letter, b)
                q2, here = self._step(right, q2, letter, b) if seen else (q2, False)
                return (q1, q2), here
            case expr.ExpressionBetween(left, right):  # the left begins anew after each event of the right
                q1, q2 = state or (SILENT, None)
                q2, delimits = self._step(right, q2, letter, b)
                if delimits or q1 == SILENT:
                    return (None if delimits else q1, q2), False
                q1, here = self._step(left, q1, letter, b)
                return (q1, q2), here
            case expr.Nth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter, b)
                return (min(n, count + here), q), here and count == n - 1
            case expr.EveryNth(n, F):
                count, q = state or (0, None)
                q, here = self._step(F, q, letter, b)
                return ((count + here) % n, q), here and count == n - 1
            case expr.Prefix(F):
                q, _ = self._step(F, state, letter, b)
                return q, self._may_accept(F, q, b)
            case expr.ExpressionOr() | expr.Prior() | expr.Sequence() | expr.After() | expr.FirstAfter():
                return self._step(self._expansion(E), state, letter, b)
            case expr.Before() | expr.Happened() | expr.ExpressionSeries():
                return self._step(self._expansion(E), state, letter, b)
            case _:
                assert_never(E)

    def _step_all(
        self, E: expr.Expression, states: frozenset[State], letter: ExpressionLetter, b: Bindings
    ) -> tuple[frozenset[State], bool]:
        stepped = [self._step(E, q, letter, b) for q in states]
        return frozenset(q for q, _ in stepped), any(here for _, here in stepped)

    def _may_accept(self, E: expr.Expression, state: State, b: Bindings) -> bool:
        key = (id(E), b, state)
        if key not in self._futures:
            self._futures[key] = self._reaches(E, state, b)
        return self._futures[key]

    def _reaches(self, E: expr.Expression, state: State, b: Bindings) -> bool:
        """Return whether E can take place at a later event, from this state."""
        pending, seen = deque([state]), {state}
        while pending:
            check_time()
            q = pending.popleft()
            # A future event is held by no variable: variables that are bound outside hold events of the history so far.
            for event in self._letters:
                following, here = self._step(E, q, ExpressionLetter(event), b)
                if here:
                    return True
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
            if len(seen) > self.budget.states:
                raise BudgetExceeded(
                    f"prefix distinguishes more than {self.budget.states} histories; simplify its operand", E.span
                )
        return False

    def _body(self, E: expr.ExpressionNamed) -> expr.Expression:
        """Return the body of the named definition, with `exists` around it for each free correlation variable."""
        if (body := self._instead.get(id(E))) is None:
            body = self.definitions[E.name].body
            for x in sorted(free_variables(body)):
                body = expr.Exists(x, body)
            self._instead[id(E)] = body
        return body

    def _expansion(self, E: expr.Expression) -> expr.Expression:
        if (instead := self._instead.get(id(E))) is None:
            found = definition(E)
            assert found is not None, E
            instead = self._instead[id(E)] = found
        return instead

    def _require_small(self) -> None:
        """Raise BudgetExceeded if the expression is too large once its names are replaced by their definitions."""
        sizes: dict[str, int] = {}

        def size(E: expr.Expression) -> int:
            return sum(sizes[F.name] if isinstance(F, expr.ExpressionNamed) else 1 for F in expr.subexpressions(E))

        for name, definition_ in self.definitions.items():
            sizes[name] = size(definition_.body)
        if size(self.E) > self.budget.states:
            raise BudgetExceeded(
                f"with its names written out, the expression has more than {self.budget.states} operators", self.E.span
            )


# ---------------------------------------------------------------------------------------------------------------------
# Evaluate an expression over a history.


def takes_place(E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> frozenset[int]:
    """Return the positions of S at which E takes place: E[h] for the history h of all of S.

    With `plain`, the clauses of the definition are followed without shortcuts. Raises BudgetExceeded, Unsupported.
    """
    return ExpressionInterpreter(E, S, budget, plain=plain).events()


def matches_of(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """Return one match for each position at which E takes place, in order. Raises BudgetExceeded, Unsupported."""
    return [Match(e, (e,)) for e in sorted(takes_place(E, S, budget))]


class ExpressionInterpreter:
    """Computes the meaning of an expression's parts over one stream; the clauses use it as their context.

    budget.valuations limits the total number of events in the histories to which expressions are applied, counted again
    for each application. The error names the innermost expression that used more than half of this limit at once.
    """

    def __init__(self, E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> None:
        require_start_first(S)
        self.order = places_of(S)
        self.budget = budget
        self.plain = plain
        self.history: History = tuple(range(len(S)))
        self.whole = E.body if isinstance(E, expr.Let) else E
        definitions = E.definitions if isinstance(E, expr.Let) else ()
        self.definitions: Mapping[str, expr.ExpressionDefinition] = {d.name: d for d in definitions}
        self._events = list(S)  # the events of the stream, and then the events of possible futures
        self._counted = 0
        self._spent: BudgetExceeded | None = None
        self._meanings: dict[tuple[int, History, Bindings], Events] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._machines: dict[tuple[int, Bindings], Machine] = {}
        self._alive: dict[int, expr.Expression] = {}  # keys are identities, which are reused once an object is gone

    def events(self) -> Events:
        """Return the positions at which the whole expression takes place."""
        return in_scope(self.whole, (), self.history, NOTHING_BOUND, self)

    def event(self, e: int) -> Event:
        """Return the event at a position."""
        return self._events[e]

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        """Return E[h], the events of the history h at which E takes place, under the bindings b.

        Raises BudgetExceeded, Unsupported.
        """
        if not self.plain:
            b = self._about(E, b)
            if (remembered := self._meanings.get((id(E), h, b))) is not None:
                return remembered
        before = self._counted
        try:
            self._count(len(h))
            if self.plain:
                return clause(E, h, b, self)
            events = self._viable_prefixes(E, h, b) if isinstance(E, expr.Prefix) else clause(E, h, b, self)
        except BudgetExceeded as error:
            # The innermost expression renames the error, and raises a new one, which the expressions around it leave
            # alone.
            if error is not self._spent or 2 * (self._counted - before) <= self.budget.valuations:
                raise
            raise BudgetExceeded(f"{brief(E)}: {error.message}", E.span) from None
        except RecursionError:
            raise BudgetExceeded("the expression is nested too deeply", E.span) from None
        self._alive[id(E)] = E
        self._meanings[id(E), h, b] = events
        return events

    def continuations(self, E: expr.Expression, h: History, b: Bindings) -> Iterator[History]:
        """Yield histories that begin with h, shortest first.

        If E can take place after h, it takes place at the end of one of them.
        """
        for word in words(E, b, self.definitions, self.order, self.budget):
            # New events get new positions each time. Meanings are remembered by position, so a position must keep its
            # event.
            begin = len(self._events)
            self._events.extend(word)
            yield (*h, *range(begin, len(self._events)))

    def _viable_prefixes(self, E: expr.Prefix, h: History, b: Bindings) -> Events:
        """Return the events of h after which the operand can still take place, found by an automaton."""
        F = E.operand
        # Positions reach the machine with the events that they hold, so one machine serves all bindings of these
        # variables.
        values = frozenset(pair for pair in b if pair[1][0] != "position")
        if (machine := self._machines.get((id(F), values))) is None:
            machine = Machine(F, values, self.definitions, self.order, self.budget)
            self._machines[id(F), values] = machine
        found = set()
        state = machine.initial
        for e in h:
            at_e = frozenset(x for x, to in b if to == ("position", e))
            state = machine.step(state, ExpressionLetter(self.event(e), at_e))
            if machine.may_accept(state):
                found.add(e)
        return frozenset(found)

    def _about(self, E: expr.Expression, b: Bindings) -> Bindings:
        """Return the bindings of the names that occur in E, because the meaning of E does not depend on other names."""
        if not b:
            return b
        if (names := self._names.get(id(E))) is None:
            self._alive[id(E)] = E
            names = self._names[id(E)] = names_in(E)
        return frozenset(pair for pair in b if pair[0] in names)

    def _count(self, more: int) -> None:
        self._counted += more
        check_time()
        if self._counted > self.budget.valuations:
            self._spent = BudgetExceeded(
                f"expressions were applied to more than {self.budget.valuations} events in all; the interpreter "
                "follows the definition and is slow by design: use a shorter stream, or raise the budget",
                self.whole.span,
            )
            raise self._spent


# ---------------------------------------------------------------------------------------------------------------------
# The compatible tuples: the events at which an expression takes place, each with the values of the attribute variables
# for which it does (vldb92, section 6.1).
#
# Each choice of values gives one expression (section 6.2), and one row for each event at which that expression takes
# place. The variables are those that occur in several places, or in the head of the definition that ends the text. A
# variable that occurs in a single place does not constrain anything.


def compatible(E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> Relation:
    """Return the events of S at which E takes place, each with the values of its attribute variables (vldb92, section
    6.1).

    Raises BudgetExceeded.
    """
    context = ExpressionInterpreter(E, S, budget, plain=plain)
    body, h = context.whole, context.history
    variables = find_scope_variables(body, ())
    rows: set[Row] = set()
    for b, earliest in choices(body, (), h, NOTHING_BOUND, context):
        values = tuple(dict(b)[X] for X in variables)
        rows.update((e, values) for e in from_on(earliest, context.meaning(body, h, b)))
    return Relation(variables, frozenset(rows))

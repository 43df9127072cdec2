"""Explain why an expression takes place at an event, by occurrence tuples (vldb92, section 4 and appendix 1), as trees.

The appendix has a clause for each base operator. Here a derived operator has a clause of its own, so that the tree
shows the operands as written. Trees are found lazily. An expression takes place at an event if it has at least one tree
there. docs/decisions/event-expressions.md lists the errors of the appendix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias, assert_never

from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    NOTHING_BOUND,
    Bindings,
    Events,
    History,
    after,
    attribute,
    bind_parameters,
    bound,
    find_scope_variables,
    free_variables,
    is_occurrence,
    places,
    position,
    position_of,
    segments,
    value,
    value_of,
)
from cerify.semantics.event_expressions.interpreter import ExpressionInterpreter
from cerify.semantics.events import Stream
from cerify.semantics.predicates import satisfied

Goal: TypeAlias = tuple[expr.Expression, History, int, Bindings]
"""The goal (E, h, e, b): find an occurrence at e of E, applied to h with the bindings b."""

Entry: TypeAlias = "tuple[int, int | tuple[Tuple, ...]] | None"
Tuple: TypeAlias = "tuple[int, tuple[Entry, ...]]"
"""The origin, and an entry for each sub-expression in pre-order: (f_i, e_i), or None if it has no occurrence."""

_NO_MORE = object()


@dataclass(frozen=True)
class Occurrence:
    """An occurrence of an expression at an event, with the occurrences of operands on which it depends.

    start: the first event of the history to which the expression is applied (f_i in section 4). at: the event (e_i).
    parts: the operands' occurrences in order; None if an operand is negated or does not matter. The parts of relative+
    are its rounds, and the part of a name is the occurrence of its definition. bound: the variables bound here.
    """

    expression: expr.Expression
    start: int
    at: int
    parts: tuple[Occurrence | None, ...] = ()
    bound: Bindings = NOTHING_BOUND


def occurrences(E: expr.Expression, S: Stream, e: int, budget: Budget = Budget()) -> Iterator[Occurrence]:
    """Yield all occurrences of E at the event e of S, without repetitions. Raises BudgetExceeded."""
    with depth_limited(E.span):
        search = Occurrences(E, S, budget)
        for b in search.choices(search.whole, (), search.history, e, NOTHING_BOUND):
            yield from (
                replace(found, bound=found.bound | b) for found in search.at(search.whole, search.history, e, b)
            )


def occurrence_tuple(found: Occurrence) -> Tuple:
    """Return an occurrence as a tuple of vldb92, section 4. The entry of relative+ has the tuples of its rounds."""
    return found.start, tuple(_entries(found.expression, found))


def _entries(E: expr.Expression, found: Occurrence | None) -> Iterator[Entry]:
    if found is None:
        yield from (None for _ in expr.subexpressions(E))
        return
    if isinstance(E, expr.RelativePlus):
        yield found.start, tuple(occurrence_tuple(part) for part in found.parts if part is not None)
        yield from (None for _ in expr.subexpressions(E.operand))  # these are in the tuples of the rounds
        return
    yield found.start, found.at
    for F, part in zip(expr.children(E), found.parts, strict=False):
        yield from _entries(F, part)


class Occurrences:
    """Finds the occurrences of an expression's parts over one stream, and remembers at which events there is one.

    The budget limits the events of the histories to which expressions are applied.
    """

    def __init__(self, E: expr.Expression, S: Stream, budget: Budget = Budget()) -> None:
        self.S = S
        self.budget = budget
        self._interpreter = ExpressionInterpreter(E, S, budget)  # for prefix, which looks at future histories
        self.whole = self._interpreter.whole
        self.history = self._interpreter.history
        self._counted = 0
        self._events: dict[tuple[int, History, Bindings], Events] = {}
        self._alive: dict[int, expr.Expression] = {}  # keys are identities, which are reused once an object is gone
        self._split: dict[int, expr.Expression] = {}

    def events(self, E: expr.Expression, h: History, b: Bindings = NOTHING_BOUND) -> Events:
        """Return the events of h at which there is an occurrence of E."""
        key = (id(E), h, b)
        if (found := self._events.get(key)) is None:
            self._alive[id(E)] = E
            self._counted += 1 + len(h)
            check_time()
            if self._counted > self.budget.valuations:
                raise BudgetExceeded(
                    f"expressions were applied to more than {self.budget.valuations} events in all; "
                    "explain a shorter stream",
                    E.span,
                )
            if isinstance(E, expr.RelativePlus):
                # By ends, because `at` asks for the ends of its own earlier rounds: searching for an occurrence would
                # not end.
                found = self._reached(E, h, b)
            else:
                found = frozenset(e for e in h if next(self.at(E, h, e, b), None) is not None)
            self._events[key] = found
        return found

    def at(self, E: expr.Expression, h: History, e: int, b: Bindings = NOTHING_BOUND) -> Iterator[Occurrence]:
        """Yield the occurrences of E at the event e of the history h: the ways in which E takes place there."""
        if isinstance(E, expr.Derived):
            yield from self._derived(E, h, e, b)
            return
        match E:
            case expr.Null():
                return
            case expr.Primitive():  # 1; printed e_i = f_i
                yield from self._leaf(E, h, e, is_occurrence(E, self.S[e], b, self._interpreter.order))
            case expr.ExpressionVariable(x):
                yield from self._leaf(E, h, e, e == position_of(x, b))
            case expr.Constraint(comparison):
                yield from self._leaf(E, h, e, satisfied(comparison, lambda X: value_of(X.name, b)))
            case expr.ExpressionNot(F):  # 5: there is no occurrence of F from f to e
                yield from self._leaf(E, h, e, e not in self.events(F, h, b), (None,))
            case expr.ExpressionAnd(left, right):  # 4
                yield from self._all(E, h, e, [(left, h, e, b), (right, h, e, b)])
            case expr.Relative():  # 2
                yield from self._chain(E, h, e, b)
            case expr.RelativePlus(F):  # 3
                for ends in self._rounds(E, h, e, b):
                    starts = (h, *(after(h, d) for d in ends[:-1]))
                    yield from self._all(E, h, e, [(F, part, d, b) for part, d in zip(starts, ends, strict=True)])
            case expr.Exists(x, F):
                for p in (p for p in h if p <= e):
                    inner = bound(b, x, position(p))
                    yield from self._all(E, h, e, [(F, h, e, inner)], frozenset({(x, position(p))}))
            case expr.Equated(F, x):
                if e == position_of(x, b):
                    yield from self._all(E, h, e, [(F, h, e, b)])
            case expr.ExpressionNamed(name, arguments):
                definition = self._interpreter.definitions[name]
                inner = bind_parameters(definition.parameters, arguments, b)
                for choice in self.choices(definition.body, definition.parameters, h, e, inner):
                    yield from self._all(E, h, e, [(definition.body, h, e, choice)], choice)
            case expr.Let():
                raise ValueError("put a definition at the beginning of a text, not inside an expression")
            case _:
                assert_never(E)

    def _derived(self, E: expr.Derived, h: History, e: int, b: Bindings) -> Iterator[Occurrence]:
        match E:
            case expr.AnyEvent():
                yield from self._leaf(E, h, e, self.S[e].type != expr.START)
            case expr.First():
                yield from self._leaf(E, h, e, e == h[0])
            case expr.ExpressionOr(left, right):
                yield from self._all(E, h, e, [(left, h, e, b), None])
                yield from self._all(E, h, e, [None, (right, h, e, b)])
            case expr.Prior() | expr.Sequence():
                yield from self._chain(E, h, e, b)
            case expr.Prefix():
                yield from self._leaf(E, h, e, e in self._interpreter.meaning(E, h, b), (None,))
            case expr.Pipe(left, right):
                part = tuple(sorted(self.events(left, h, b)))
                if e in part:
                    yield from self._all(E, h, e, [(left, h, e, b), (right, part, e, b)])
            case expr.Nth(n, F):
                if e in sorted(self.events(F, h, b))[n - 1 : n]:
                    yield from self._all(E, h, e, [(F, h, e, b)])
            case expr.EveryNth(n, F):
                if e in sorted(self.events(F, h, b))[n - 1 :: n]:
                    yield from self._all(E, h, e, [(F, h, e, b)])
            case expr.After(left, right):
                d = min(self.events(right, h, b), default=e)
                if d < e:
                    yield from self._all(E, h, e, [(left, after(h, d), e, b), (right, h, d, b)])
            case expr.ExpressionBetween(left, right):
                for d, part in self._segment(right, h, e, b):
                    yield from self._all(E, h, e, [(left, part, e, b), (right, h, d, b)])
            case expr.FirstAfter(opening, event, closing):
                for d, part in self._segment(opening, h, e, b):
                    if min(self.events(closing, part, b), default=e) >= e:
                        yield from self._all(E, h, e, [(opening, h, d, b), (event, part, e, b), None])
            case expr.Before(F):
                for d in sorted(d for d in self.events(F, h, b) if d < e):
                    yield from self._all(E, h, e, [(F, h, d, b)])
            case expr.Happened(F):
                for d in sorted(d for d in self.events(F, h, b) if d <= e):
                    yield from self._all(E, h, e, [(F, h, d, b)])
            case expr.ExpressionSeries(left, right):
                if all(d in self.events(left, h, b) for d in h if d < e):
                    yield from self._all(E, h, e, [None, (right, h, e, b)])
            case _:
                assert_never(E)

    def choices(
        self, body: expr.Expression, parameters: tuple[str, ...], h: History, e: int, b: Bindings
    ) -> Iterator[Bindings]:
        """Yield each extension of the bindings b to the free variables of the body.

        Correlation variables get events of h up to e, attribute variables get values of these events.
        """
        so_far = [p for p in h if p <= e]
        names = [(x, [position(p) for p in so_far]) for x in sorted(free_variables(body))]
        for X in find_scope_variables(body, parameters):
            where = places(X, body, self._interpreter.definitions)
            had = (
                attribute(self.S[p], k, self._interpreter.order)
                for p in so_far
                for T, k in where
                if self.S[p].type == T
            )
            names.append((X, list(dict.fromkeys(value(v) for v in had if v is not None))))
        for values in product(*(pool for _, pool in names)):
            inner = b
            for (name, _), to in zip(names, values, strict=True):
                inner = bound(inner, name, to)
            yield inner

    def _leaf(
        self, E: expr.Expression, h: History, e: int, here: bool, parts: tuple[None, ...] = ()
    ) -> Iterator[Occurrence]:
        if here:
            yield Occurrence(E, h[0], e, parts)

    def _all(
        self, E: expr.Expression, h: History, e: int, goals: Sequence[Goal | None], bindings: Bindings = NOTHING_BOUND
    ) -> Iterator[Occurrence]:
        """Yield an occurrence of E for each choice of one occurrence for every goal."""
        # First ask whether every goal has an occurrence: the product below would list all of the first goal before it
        # finds that the second has none.
        if all(goal is None or goal[2] in self.events(goal[0], goal[1], goal[3]) for goal in goals):
            yield from (Occurrence(E, h[0], e, parts, bindings) for parts in self._product(goals))

    def _product(self, goals: Sequence[Goal | None]) -> Iterator[tuple[Occurrence | None, ...]]:
        """Yield the Cartesian product of the goals' occurrences, lazily and without recursion."""

        def begun(goal: Goal | None) -> Iterator[Occurrence | None]:
            return iter((None,)) if goal is None else self.at(*goal)

        running = [begun(goals[0])]
        taken: list[Occurrence | None] = []
        while running:
            found = next(running[-1], _NO_MORE)
            if found is _NO_MORE:
                running.pop()
                del taken[-1:]
            else:
                assert found is None or isinstance(found, Occurrence)
                if len(running) == len(goals):
                    yield (*taken, found)
                else:
                    taken.append(found)
                    running.append(begun(goals[len(running)]))

    def _chain(
        self, E: expr.Relative | expr.Prior | expr.Sequence, h: History, e: int, b: Bindings
    ) -> Iterator[Occurrence]:
        """Yield the occurrences of a chain at e: its last operand takes place at e, the chain before it earlier."""
        if (first := self._split.get(id(E))) is None:
            self._alive[id(E)] = E
            first = self._split[id(E)] = E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1])
        last = E.parts[-1]
        before = [d for d in h if d < e]
        for d in before[-1:] if isinstance(E, expr.Sequence) else before:
            if d not in self.events(first, h, b):
                continue
            part = after(h, d) if isinstance(E, expr.Relative) else h
            for found in self._all(E, h, e, [(first, h, d, b), (last, part, e, b)]):
                front, back = found.parts
                yield found if front is None or len(E.parts) == 2 else replace(found, parts=(*front.parts, back))

    def _reached(self, E: expr.RelativePlus, h: History, b: Bindings) -> Events:
        """Return the events of h at which some round can end."""
        found, new = frozenset[int](), self.events(E.operand, h, b)
        while new:
            found |= new
            new = frozenset[int]().union(*(self.events(E.operand, after(h, d), b) for d in new)) - found
        return found

    def _rounds(self, E: expr.RelativePlus, h: History, e: int, b: Bindings) -> Iterator[tuple[int, ...]]:
        """Yield the ends of the rounds for each way to reach e; ways with fewer rounds come first."""
        ends = self.events(E, h, b)
        pending: list[tuple[int, ...]] = [(e,)] if e in ends else []
        while pending:
            longer = []
            # Rounds are added in front: the end e is given, and `ends` holds exactly the places where a shorter chain
            # can end.
            for chain in pending:
                if chain[0] in self.events(E.operand, h, b):
                    yield chain
                earlier = (d for d in h if d < chain[0] and d in ends)
                longer += [(d, *chain) for d in earlier if chain[0] in self.events(E.operand, after(h, d), b)]
            pending = longer

    def _segment(self, delimiter: expr.Expression, h: History, e: int, b: Bindings) -> Iterator[tuple[int, History]]:
        """Yield (d, part): part is the history from a delimiter d to the next, if e is in it."""
        cuts = self.events(delimiter, h, b)
        for d, part in zip(sorted(cuts), segments(h, cuts), strict=True):
            if e in part:
                yield d, part

"""The meaning of event expressions: vldb92, sections 2.2, 2.3, 5 and 6.

Letters, here and in every module of this package:
    E, F, G  expressions     h  a history: positions of a stream S, ascending     e, d, p  positions
    x  a correlation variable, which is at one position       X  an attribute variable, which has one value
    b  the bindings: a pair (x, p) for each correlation variable, (X, (kind, value)) for each attribute variable
An expression maps a history to the set of those of its events at which the expression takes place: E[h] in the paper,
known.meaning(E, h, b) here. Each case is one clause of the paper, and each derived operator is defined on its own, not
by its expansion to others (that is derived.py). What keeps it from running away is in the class at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from typing import TypeAlias, assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import (
    NOTHING_BOUND,
    Bindings,
    Bound,
    bound,
    position,
    position_of,
    value,
    value_of,
)
from cerify.semantics.event_expressions.ground import grounded
from cerify.semantics.event_expressions.history import places_of, require_start_first
from cerify.semantics.event_expressions.residual import Letter, Machine
from cerify.semantics.event_expressions.scope import chosen, free_variables, names_in, places
from cerify.semantics.event_expressions.show import brief
from cerify.semantics.events import Event, Match, Stream, Value
from cerify.semantics.predicates import compare, holds, satisfied

History: TypeAlias = tuple[int, ...]
Events: TypeAlias = frozenset[int]
NOWHERE: Events = frozenset()


def takes_place(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> frozenset[int]:
    """The positions of S at which E takes place: E[h] for the history h of all of S. Raises BudgetExceeded."""
    known = Interpreter(E, S, budget)
    return known.some(known.whole, (), known.history, NOTHING_BOUND)


def matches_of(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """One match for each position at which E takes place, in order. Raises BudgetExceeded."""
    return [Match(e, (e,)) for e in sorted(takes_place(E, S, budget))]


def clause(E: expr.Expression, h: History, b: Bindings, known: Interpreter) -> Events:
    """E[h] under the bindings b, where the meaning of any expression below E is known."""
    S = known.S

    def of(F: expr.Expression, part: History = h) -> Events:
        return known.meaning(F, part, b)

    match E:
        case expr.Null():  # 2: null
            return NOWHERE
        case expr.Primitive():  # 3: the event occurrences of the form (a, eid)
            return frozenset(e for e in h if known.is_occurrence(E, S[e], b))
        case expr.And(left, right):  # 4: the intersection
            return of(left) & of(right)
        case expr.Not(F):  # 5: h - F[h]
            return frozenset(h) - of(F)
        case expr.Relative(parts):  # 6: the union of F[h after e], for e in E[h]
            ends = of(parts[0])
            for F in parts[1:]:
                ends = NOWHERE.union(*(of(F, after(h, e)) for e in ends))
            return ends
        case expr.RelativePlus(F):  # 7: relative^1(F), relative^2(F), ...
            found, new = NOWHERE, of(F)
            while new:
                found |= new
                new = NOWHERE.union(*(of(F, after(h, e)) for e in new)) - found
            return found
        case expr.Or(left, right):  # a: the union
            return of(left) | of(right)
        case expr.AnyEvent():  # b: every primitive event but start
            return frozenset(e for e in h if S[e].type != expr.START)
        case expr.Prior(parts):  # c, d: e1 < ... < em, each e_i in E_i[h]
            ends = of(parts[0])
            for F in parts[1:]:
                ends = frozenset(e for e in of(F) if ends and min(ends) < e)
            return ends
        case expr.Sequence(parts):  # e: as prior, where no event of h is between one and the next
            next_to = dict(pairwise(h))
            ends = of(parts[0])
            for F in parts[1:]:
                ends = of(F) & {next_to[e] for e in ends if e in next_to}
            return ends
        case expr.First():  # f: the first event of h
            return frozenset(h[:1])
        case expr.Pipe(left, right):  # g: F[E[h]]
            return of(right, tuple(sorted(of(left))))
        case expr.Nth(n, F):  # h: the n-th occurrence
            return frozenset(sorted(of(F))[n - 1 : n])
        case expr.EveryNth(n, F):  # i: the n-th, the 2n-th, ...
            return frozenset(sorted(of(F))[n - 1 :: n])
        case expr.After(left, right):  # j: F[h'], with h' what follows the first of E[h]
            ends = of(right)
            return of(left, after(h, min(ends))) if ends else NOWHERE
        case expr.Between(
            left, right
        ):  # k: the union of F[h'_i], with h'_i what lies between two of E[h] that follow each other
            return NOWHERE.union(*(of(left, part) for part in segments(h, of(right))))
        case expr.FirstAfter(opening, event, closing):  # l: since the last E1, an E2 with no F before it
            return NOWHERE.union(*(until(of(event, part), of(closing, part)) for part in segments(h, of(opening))))
        case expr.Before(F):  # m: after some event of F
            ends = of(F)
            return frozenset(e for e in h if ends and min(ends) < e)
        case expr.Happened(F):  # n: at some event of F, or after one
            ends = of(F)
            return frozenset(e for e in h if ends and min(ends) <= e)
        case expr.Prefix(F):  # o: some history begins like h up to e, and F takes place in it at an event after e
            return known.may_come(F, h, b)
        case expr.Series(left, right):  # p: T at e, and E at every event before
            odd = frozenset(h) - of(left)
            return until(of(right), odd)
        case expr.Exists(x, F):  # section 5, 6: some event of h, up to the one at hand, is x
            return NOWHERE.union(*({e for e in known.meaning(F, h, bound(b, x, position(p))) if p <= e} for p in h))
        case expr.Equated(F, x):  # section 5, 7: F, and its event is x
            return of(F) & {position_of(x, b)}
        case expr.Variable(x):
            return frozenset(h) & {position_of(x, b)}
        case expr.Constraint(comparison):  # section 6.2: every event of h, if the values compare so
            return frozenset(h) if satisfied(comparison, lambda X: value_of(X.name, b)) else NOWHERE
        case expr.Named(name, arguments):  # its definition, the values of the arguments being those of the parameters
            definition = known.definitions[name]
            inner = NOTHING_BOUND
            for parameter, argument in zip(definition.parameters, arguments, strict=True):
                if (v := value_of(argument, b)) is not None:
                    inner = bound(inner, parameter, value(v))
            return known.some(definition.body, definition.parameters, h, inner)
        case expr.Let(_, body):
            return known.some(body, (), h, b)
        case _:
            assert_never(E)


def after(h: History, e: int) -> History:
    """What h has after e, one of its events."""
    return h[bisect_right(h, e) :]


def segments(h: History, delimiters: Events) -> Iterator[History]:
    """What h has between each of the delimiters and the next one, and after the last."""
    cuts = sorted(delimiters)
    for d, following in pairwise([*cuts, h[-1] + 1] if cuts else []):
        yield tuple(e for e in after(h, d) if e < following)


def until(events: Events, last: Events) -> Events:
    """The events with none of the others before them."""
    return frozenset(e for e in events if not last or e <= min(last))


class Interpreter:
    """The meaning of an expression's parts over one stream; remembers what it has computed, and keeps to a budget.

    Counted are the events of the histories that expressions are applied to. Where they are too many, the error names
    the innermost expression that took more than half of them in one go.
    """

    def __init__(self, E: expr.Expression, S: Stream, budget: Budget = Budget()) -> None:
        require_start_first(S)
        self.S = S
        self.places = places_of(S)
        self.budget = budget
        self.history: History = tuple(range(len(S)))
        self.whole = E.body if isinstance(E, expr.Let) else E
        self.definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
        self._counted = 0
        self._spent: BudgetExceeded | None = None
        self._meanings: dict[tuple[int, History, Bindings], Events] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._machines: dict[tuple[int, Bindings], Machine] = {}
        self._kept: dict[int, expr.Expression] = {}  # expressions are known by identity, so they must stay alive

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        """E[h] under the bindings b. Raises BudgetExceeded."""
        if not h:
            return NOWHERE  # 1: E[null] = null
        key = (id(E), h, self._about(E, b))
        if (events := self._meanings.get(key)) is None:
            before = self._counted
            self._kept[id(E)] = E
            try:
                self._count(len(h))
                events = clause(E, h, key[2], self)
            except BudgetExceeded as error:
                if error is not self._spent or 2 * (self._counted - before) <= self.budget.valuations:
                    raise
                raise BudgetExceeded(f"{brief(E)}: {error.message}", E.span) from None
            except RecursionError:
                raise BudgetExceeded("the expression is nested too deeply", E.span) from None
            self._meanings[key] = events
        return events

    def some(self, body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings) -> Events:
        """The events of a scope: of its expression for each value that its attribute variables may have (section 6.2).

        It takes place at e for the values that the events of h up to e have. A correlation variable that nothing
        binds is some event up to e, as with exists.
        """
        found = NOWHERE
        for inner, earliest in self.choices(body, parameters, h, b):
            found |= {e for e in self.meaning(body, h, inner) if e >= earliest}
        return found

    def choices(
        self, body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings
    ) -> Iterator[tuple[Bindings, int]]:
        """What the variables of a scope may be bound to, each time with the first event by which they have it all."""
        free = [(x, {position(p): p for p in h}) for x in sorted(free_variables(body))]
        known = [(X, self._values(X, body, h)) for X in chosen(body, parameters)]
        for choice in product(*(since.items() for _, since in (*free, *known))):
            inner, earliest = b, h[0] if h else 0
            for (name, _), (to, since) in zip((*free, *known), choice, strict=True):
                inner, earliest = bound(inner, name, to), max(earliest, since)
            yield inner, earliest

    def _values(self, X: str, body: expr.Expression, h: History) -> Mapping[Bound, int]:
        """The values that X may have, each with the first event of h that has it."""
        where = places(X, body, self.definitions)
        found: dict[Bound, int] = {}
        for e in h:
            T = self.S[e].type
            for k in (k for R, k in where if R == T):
                if (v := self.attribute(self.S[e], k)) is not None:
                    found.setdefault(value(v), e)
        return found

    def attribute(self, event: Event, k: int) -> Value | None:
        """The k-th attribute of an event; None if it has none there."""
        names = self.places.get(event.type, ())
        return event.get(names[k]) if k < len(names) else None

    def is_occurrence(self, E: expr.Primitive, event: Event, b: Bindings) -> bool:
        """Whether the event is of the type, passes the mask, and has the values of the arguments."""
        if event.type != E.type or (E.mask is not None and not holds(E.mask, event)):
            return False
        asked = ((k, value_of(argument, b)) for k, argument in enumerate(E.arguments))
        return all(v is None or compare("=", self.attribute(event, k), v) for k, v in asked)

    def may_come(self, F: expr.Expression, h: History, b: Bindings) -> Events:
        """The events of h after which F may still take place, in some history that goes on from there."""
        values = frozenset(pair for pair in b if pair[1][0] != "position")
        if (machine := self._machines.get((id(F), values))) is None:
            ground = grounded(F, values, self.definitions, self.places, self.budget)
            machine = self._machines[id(F), values] = Machine(ground, self.budget)
        found = set()
        state = machine.initial
        for e in h:
            state = machine.step(state, Letter(self.S[e], frozenset(x for x, to in b if to == position(e))))
            if machine.may_accept(state):
                found.add(e)
        return frozenset(found)

    def _about(self, E: expr.Expression, b: Bindings) -> Bindings:
        """The bindings of the names that E has: on others its meaning does not depend."""
        if not b:
            return b
        if (names := self._names.get(id(E))) is None:
            names = self._names[id(E)] = names_in(E)
        return frozenset(pair for pair in b if pair[0] in names)

    def _count(self, more: int) -> None:
        self._counted += more
        if self._counted > self.budget.valuations:
            self._spent = BudgetExceeded(
                f"expressions were applied to more than {self.budget.valuations} events in all; the interpreter "
                "follows the definition and makes each history anew, so give it a shorter stream or a larger budget",
                self.whole.span,
            )
            raise self._spent

"""The meaning of event expressions: vldb92, sections 2.2, 2.3, 5 and 6.

Letters, here and in every module of this package:
    E, F, G  expressions     h  a history: positions of events, ascending     e, d, p  positions
    x  a correlation variable, which stands for one position     X  an attribute variable, which stands for one value
    b  the bindings: a pair (x, p) for each correlation variable, (X, (kind, value)) for each attribute variable
An expression maps a history to the set of those of its events at which the expression takes place: E[h] in the paper,
clause(E, h, b, context) here. Each case is one clause of the paper, and each derived operator has the clause of its
text, not that of its expansion (derived.py). Memory, budgets and the entry points are in interpreter.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise, product
from typing import Protocol, TypeAlias, assert_never

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
from cerify.semantics.event_expressions.history import Places
from cerify.semantics.event_expressions.scope import chosen, free_variables, places
from cerify.semantics.events import Event
from cerify.semantics.predicates import compare, holds, satisfied
from cerify.semantics.values import Value

History: TypeAlias = tuple[int, ...]
Events: TypeAlias = frozenset[int]
NOWHERE: Events = frozenset()


class Context(Protocol):
    """What a clause needs besides an expression, a history and bindings."""

    definitions: Mapping[str, expr.Definition]
    order: Places

    def event(self, e: int) -> Event:
        """The event at a position."""

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        """E[h] under the bindings b: by a clause."""

    def continuations(self, E: expr.Expression, h: History, b: Bindings) -> Iterable[History]:
        """Histories that begin with h, by length; if E takes place after h in any history, then in one of them."""


def clause(E: expr.Expression, h: History, b: Bindings, context: Context) -> Events:
    """E[h] under the bindings b, from the meaning of the expressions below E."""
    if not h:
        return NOWHERE  # 1: E[null] = null
    if isinstance(E, expr.Derived):
        return derived_clause(E, h, b, context)

    of = partial(context.meaning, h=h, b=b)
    match E:
        case expr.Null():  # 2: null
            return NOWHERE
        case expr.Primitive():  # 3: the event occurrences of the form (a, eid)
            return frozenset(e for e in h if is_occurrence(E, context.event(e), b, context.order))
        case expr.And(left, right):  # 4: the intersection
            return of(left) & of(right)
        case expr.Not(F):  # 5: h - F[h]
            return frozenset(h) - of(F)
        case expr.Relative(parts):  # 6: the union of F[h after e], for e in E[h]
            ends = of(parts[0])
            for F in parts[1:]:
                ends = NOWHERE.union(*(of(F, h=after(h, e)) for e in ends))
            return ends
        case expr.RelativePlus(F):  # 7: relative^1(F), relative^2(F), ...
            found, new = NOWHERE, of(F)
            while new:
                found |= new
                new = NOWHERE.union(*(of(F, h=after(h, e)) for e in new)) - found
            return found
        case expr.Exists(x, F):  # section 5, 6: some event of h, up to the one at hand, is x
            return NOWHERE.union(*(from_on(p, context.meaning(F, h, bound(b, x, position(p)))) for p in h))
        case expr.Equated(F, x):  # section 5, 7: F, and its event is x
            return of(F) & {position_of(x, b)}
        case expr.Variable(x):
            return frozenset(h) & {position_of(x, b)}
        case expr.Constraint(comparison):  # section 6.2: every event of h, if the values compare so
            return frozenset(h) if satisfied(comparison, lambda X: value_of(X.name, b)) else NOWHERE
        case expr.Named(name, arguments):  # its definition, with the values of the arguments for the parameters
            definition = context.definitions[name]
            inner = passed(definition.parameters, arguments, b)
            return in_scope(definition.body, definition.parameters, h, inner, context)
        case expr.Let(_, body):
            return in_scope(body, (), h, b, context)
        case _:
            assert_never(E)


def derived_clause(E: expr.Derived, h: History, b: Bindings, context: Context) -> Events:
    """E[h] for the operators of section 2.3, each by the text of its item and not by the expansion there."""

    of = partial(context.meaning, h=h, b=b)
    match E:
        case expr.Or(left, right):  # a: the union
            return of(left) | of(right)
        case expr.AnyEvent():  # b: every primitive event but start
            return frozenset(e for e in h if context.event(e).type != expr.START)
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
            return of(right, h=tuple(sorted(of(left))))
        case expr.Nth(n, F):  # h: the n-th occurrence
            return frozenset(sorted(of(F))[n - 1 : n])
        case expr.EveryNth(n, F):  # i: the n-th, the 2n-th, ...
            return frozenset(sorted(of(F))[n - 1 :: n])
        case expr.After(left, right):  # j: F[h'], with h' what follows the first of E[h]
            ends = of(right)
            return of(left, h=after(h, min(ends))) if ends else NOWHERE
        case expr.Between(left, right):  # k: the union of F[h'_i]; h'_i lies between an event of E[h] and the next
            return NOWHERE.union(*(of(left, h=part) for part in segments(h, of(right))))
        case expr.FirstAfter(opening, event, closing):  # l: since the last E1, an E2 with no F before it
            return NOWHERE.union(*(until(of(event, h=part), of(closing, h=part)) for part in segments(h, of(opening))))
        case expr.Before(F):  # m: after some event of F
            ends = of(F)
            return frozenset(e for e in h if ends and min(ends) < e)
        case expr.Happened(F):  # n: at some event of F, or after one
            ends = of(F)
            return frozenset(e for e in h if ends and min(ends) <= e)
        case expr.Prefix(F):  # o: some h' is identical to h up to e, and F takes place in h' at an event after e
            return frozenset(
                e for e in h if any(max(of(F, h=g), default=e) > e for g in context.continuations(F, up_to(h, e), b))
            )
        case expr.Series(left, right):  # p: T at e, and E at every event before
            odd = frozenset(h) - of(left)
            return until(of(right), odd)
        case _:
            assert_never(E)


def after(h: History, e: int) -> History:
    """What h has after e, one of its events."""
    return h[bisect_right(h, e) :]


def up_to(h: History, e: int) -> History:
    """What h has up to e, one of its events, with e."""
    return h[: bisect_right(h, e)]


def from_on(p: int, events: Events) -> Events:
    """The events that are not before p."""
    return frozenset(e for e in events if e >= p)


def segments(h: History, delimiters: Events) -> Iterator[History]:
    """What h has between each of the delimiters and the next one, and after the last."""
    cuts = sorted(delimiters)
    for d, following in pairwise([*cuts, h[-1] + 1] if cuts else []):
        yield tuple(e for e in after(h, d) if e < following)


def until(events: Events, last: Events) -> Events:
    """The events with none of the others before them."""
    return frozenset(e for e in events if not last or e <= min(last))


# --- sections 5 and 6: scopes -----------------------------------------------------------------------------------------


def in_scope(body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings, context: Context) -> Events:
    """The events of a scope: of its expression for each value that its attribute variables may have (section 6.2).

    It takes place at e for the values that the events of h up to e have. A correlation variable that nothing binds is
    some event up to e, as with exists.
    """
    return NOWHERE.union(
        *(from_on(since, context.meaning(body, h, inner)) for inner, since in choices(body, parameters, h, b, context))
    )


def choices(
    body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings, context: Context
) -> Iterator[tuple[Bindings, int]]:
    """What the variables of a scope may be bound to, each time with the first event by which all of it has occurred."""
    events = [(x, {position(p): p for p in h}) for x in sorted(free_variables(body))]
    values = [(X, values_of(X, body, h, context)) for X in chosen(body, parameters)]
    variables = (*events, *values)
    for choice in product(*(first.items() for _, first in variables)):
        inner = b
        for (name, _), (to, _) in zip(variables, choice, strict=True):
            inner = bound(inner, name, to)
        yield inner, max((since for _, since in choice), default=h[0] if h else 0)


def values_of(X: str, body: expr.Expression, h: History, context: Context) -> Mapping[Bound, int]:
    """The values that X may have, each with the first event of h that has it."""
    where = places(X, body, context.definitions)
    found: dict[Bound, int] = {}
    for e in h:
        event = context.event(e)
        for k in (k for T, k in where if event.type == T):
            if (v := attribute(event, k, context.order)) is not None:
                found.setdefault(value(v), e)
    return found


def passed(parameters: tuple[str, ...], arguments: tuple[expr.Argument, ...], b: Bindings) -> Bindings:
    """The bindings inside a definition: each parameter has the value of its argument, or none."""
    inner = NOTHING_BOUND
    for X, argument in zip(parameters, arguments, strict=True):
        if (v := value_of(argument, b)) is not None:
            inner = bound(inner, X, value(v))
    return inner


def is_occurrence(E: expr.Primitive, event: Event, b: Bindings, order: Places) -> bool:
    """Whether the event is of the type of E, passes the mask, and has the values of the arguments."""
    if event.type != E.type or (E.mask is not None and not holds(E.mask, event)):
        return False
    given = ((k, value_of(argument, b)) for k, argument in enumerate(E.arguments))
    return all(v is None or compare("=", attribute(event, k, order), v) for k, v in given)


def attribute(event: Event, k: int, order: Places) -> Value | None:
    """The k-th attribute of an event, counted from 0; None if it has none."""
    names = order.get(event.type, ())
    return event.get(names[k]) if k < len(names) else None

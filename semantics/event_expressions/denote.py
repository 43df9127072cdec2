"""The meaning of event expressions: vldb92, sections 2.2, 2.3, 5 and 6.

Letters, here and in every module of this package:
    E, F, G  expressions     h  a history: positions of events, ascending     e, d, p  positions
    x  a correlation variable, which stands for one position     X  an attribute variable, which stands for one value
    b  the bindings: (x, ("position", p)) for a correlation variable, (X, (kind, value)) for an attribute variable
An expression maps a history to the set of its events at which the expression takes place: E[h] in the paper,
clause(E, h, b, context) here. Each case is one clause of the paper. The case of a derived operator follows what the
paper says of the operator, not its expansion (`expanded`). Memory, budgets and the entry points are in interpreter.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import pairwise, product
from typing import Protocol, TypeAlias, assert_never, cast

from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import START, Argument
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Constant, compare, holds, satisfied
from cerify.semantics.values import Value, kind

# ---------------------------------------------------------------------------------------------------------------------
# The variables of a resolved expression, as the definition reads them: vldb92, sections 5 and 6.
#
# The automata have a reading of their own, in automata/dfa/compile.py; neither uses the other.

Names: TypeAlias = frozenset[str]
ArgumentPosition: TypeAlias = tuple[str, int]
"""An event type, and the 0-based number of an argument."""


def arguments(E: expr.Expression) -> Iterator[str]:
    """Return the attribute variables that are arguments of a primitive event or of a named expression."""
    if isinstance(E, expr.Primitive | expr.ExpressionNamed):
        yield from (X for X in E.arguments if isinstance(X, str))


def constrained(E: expr.Expression) -> Iterator[str]:
    """Yield the attribute variables of a constraint."""
    if isinstance(E, expr.Constraint):
        sides = (E.comparison.left, E.comparison.right)
        yield from (side.name for side in sides if isinstance(side, Attribute))


def free_variables(E: expr.Expression) -> Names:
    """Return the free correlation variables of an expression, outside definitions (vldb92, section 5, items 1 to 7)."""
    match E:
        case expr.ExpressionVariable(x):
            return frozenset({x})
        case expr.Equated(F, x):
            return free_variables(F) | {x}
        case expr.Exists(x, F):
            return free_variables(F) - {x}
    return frozenset[str]().union(*map(free_variables, expr.children(E)))


def find_scope_variables(body: expr.Expression, parameters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attribute variables that range over values in an expression, sorted.

    body: the whole expression of a text, or the expression that a definition names.

    Parameters are left out, because the caller gives their values. A variable that occurs only once, as an argument of
    a primitive event, is left out, because it constrains nothing.
    """
    nodes = list(expr.subexpressions(body))
    mentioned = [X for node in nodes for X in (*arguments(node), *constrained(node))]
    shared = {
        X for node in nodes if not isinstance(node, expr.Primitive) for X in (*arguments(node), *constrained(node))
    }
    shared |= {X for X in mentioned if mentioned.count(X) > 1}
    return tuple(sorted(shared - set(parameters)))


def names_in(E: expr.Expression) -> Names:
    """Return all variables that occur in an expression: correlation variables and attribute variables."""
    found: set[str] = set()
    for node in expr.subexpressions(E):
        found.update(arguments(node))
        found.update(constrained(node))
        match node:
            case expr.ExpressionVariable(x) | expr.Equated(_, x) | expr.Exists(x, _):
                found.add(x)
    return frozenset(found)


def places(
    X: str, body: expr.Expression, definitions: Mapping[str, expr.ExpressionDefinition]
) -> frozenset[ArgumentPosition]:
    """Return where X is an argument of an event, as pairs (event type, index of the argument).

    Definitions to which X is passed are searched too.
    """
    found: set[ArgumentPosition] = set()
    pending = [(X, body)]
    seen: set[tuple[str, str]] = set()
    while pending:
        Y, E = pending.pop()
        for node in expr.subexpressions(E):
            match node:
                case expr.Primitive(T, given):
                    found.update((T, k) for k, argument in enumerate(given) if argument == Y)
                case expr.ExpressionNamed(name, given):
                    definition = definitions[name]
                    for Z, argument in zip(definition.parameters, given, strict=False):
                        if argument == Y and (name, Z) not in seen:
                            seen.add((name, Z))
                            pending.append((Z, definition.body))
    return frozenset(found)


# ---------------------------------------------------------------------------------------------------------------------
# What variables stand for: a correlation variable for a position, an attribute variable for a value.

Bound: TypeAlias = tuple[str, Value]
"""A position or a value, with its kind, because 1 and true are different values."""

Bindings: TypeAlias = frozenset[tuple[str, Bound]]
NOTHING_BOUND: Bindings = frozenset()


def position(p: int) -> Bound:
    """Return what a correlation variable is bound to if it stands for the event at position p."""
    return "position", p


def value(v: Value) -> Bound:
    """Return what an attribute variable is bound to if it has the value v: the pair (kind of v, v)."""
    return kind(v), v


def bound(b: Bindings, name: str, to: Bound) -> Bindings:
    """Return the bindings b, except that `name` is bound to `to`."""
    return frozenset(pair for pair in b if pair[0] != name) | {(name, to)}


def position_of(x: str, b: Bindings) -> int:
    """Return the position to which a correlation variable is bound."""
    return cast("int", dict(b)[x][1])


def value_of(argument: Argument, b: Bindings) -> Value | None:
    """Return the value of an argument; None for an unbound variable, which does not constrain anything."""
    if isinstance(argument, Constant):
        return argument.value
    found = dict(b).get(argument)
    return None if found is None else found[1]


# ---------------------------------------------------------------------------------------------------------------------
# Histories in streams, as the definition reads them: the start event, and the order of attributes.

Places: TypeAlias = Mapping[str, tuple[str, ...]]
"""The attributes of each event type, in their order."""


def places_of(S: Stream) -> Places:
    """Return the attributes of each type, without the time, in the order of the schema.

    Without a schema, the attributes of all types have one order: that of their first occurrence in the stream, and of
    the columns of its table. So an expression means the same after the stream has been written to a file and read.
    """
    if S.schema is not None:
        return in_order(S.schema)
    everywhere = list(dict.fromkeys(name for event in S for name in event.attributes if name != TIME))
    seen: dict[str, set[str]] = {}
    for event in S:
        seen.setdefault(event.type, set()).update(event.attributes)
    return {T: tuple(filter(names.__contains__, everywhere)) for T, names in seen.items()}


def in_order(schema: Schema) -> Places:
    """Return the attributes of each type of a schema without the time, in order."""
    return {T: tuple(name for name in names if name != TIME) for T, names in schema.types.items()}


ORDINARY_START = (
    f"; if {START} is an ordinary type here, read it by another name: --rename-type {START}=begin, in Python "
    f'as_stream(events, rename_types={{"{START}": "begin"}})'
)
"""The end of a message about events of the type start."""


def require_start_first(S: Stream) -> None:
    """Raise InputError if a start event is anywhere but at the beginning (vldb92, section 2.1)."""
    for e, event in enumerate(S):
        if event.type == START and e > 0:
            raise InputError(
                f"event {e} is a {START} event; only the first event of a history may be one{ORDINARY_START}"
            )


History: TypeAlias = tuple[int, ...]
Events: TypeAlias = frozenset[int]
NOWHERE: Events = frozenset()


class Context(Protocol):
    """The inputs that all clauses share: definitions, events, and the meaning of other expressions."""

    definitions: Mapping[str, expr.ExpressionDefinition]
    order: Places

    def event(self, e: int) -> Event:
        """Return the event at a position."""

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        """Return E[h], the events of the history h at which E takes place, under the bindings b."""

    def continuations(self, E: expr.Expression, h: History, b: Bindings) -> Iterable[History]:
        """Yield histories that begin with h, shortest first.

        If E can take place after h, it takes place at the end of one of them.
        """


def clause(E: expr.Expression, h: History, b: Bindings, context: Context) -> Events:
    """Return E[h], the events of the history h at which E takes place, under the bindings b.

    It is computed from the meaning of E's operands.
    """
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
        case expr.ExpressionAnd(left, right):  # 4: the intersection
            return of(left) & of(right)
        case expr.ExpressionNot(F):  # 5: h - F[h]
            return frozenset(h) - of(F)
        case expr.Relative(parts):  # 6: the union of F[h after e], for e in E[h]
            ends = of(parts[0])
            for F in parts[1:]:
                ends = NOWHERE.union(*(of(F, h=after(h, e)) for e in ends))
            return ends
        case expr.RelativePlus(F):  # 7: relative^1(F), relative^2(F), ...
            found, new = NOWHERE, of(F)
            # Only the ends that are new start another round; the loop stops, because `found` grows within h.
            while new:
                found |= new
                new = NOWHERE.union(*(of(F, h=after(h, e)) for e in new)) - found
            return found
        case expr.Exists(x, F):  # section 5, 6: some event of h, up to the one at hand, is x
            return NOWHERE.union(*(from_on(p, context.meaning(F, h, bound(b, x, position(p)))) for p in h))
        case expr.Equated(F, x):  # section 5, 7: F, and its event is x
            return of(F) & {position_of(x, b)}
        case expr.ExpressionVariable(x):
            return frozenset(h) & {position_of(x, b)}
        case expr.Constraint(comparison):  # section 6.2: every event of h, if the values compare so
            return frozenset(h) if satisfied(comparison, lambda X: value_of(X.name, b)) else NOWHERE
        case expr.ExpressionNamed(
            name, arguments
        ):  # its definition, with the values of the arguments for the parameters
            definition = context.definitions[name]
            inner = bind_parameters(definition.parameters, arguments, b)
            return in_scope(definition.body, definition.parameters, h, inner, context)
        case expr.Let(_, body):
            return in_scope(body, (), h, b, context)
        case _:
            assert_never(E)


def derived_clause(E: expr.Derived, h: History, b: Bindings, context: Context) -> Events:
    """Return E[h], the events of h at which E takes place, for an operator of vldb92, section 2.3.

    It follows what the paper says of the operator, not its expansion (`expanded`).
    """

    of = partial(context.meaning, h=h, b=b)
    match E:
        case expr.ExpressionOr(left, right):  # a: the union
            return of(left) | of(right)
        case expr.AnyEvent():  # b: every primitive event but start
            return frozenset(e for e in h if context.event(e).type != expr.START)
        case expr.Prior(parts):  # c, d: e1 < ... < em, each e_i in E_i[h]
            ends = of(parts[0])
            for F in parts[1:]:
                # Only the first end counts: whatever comes after another end comes after it too.
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
        case expr.ExpressionBetween(
            left, right
        ):  # k: the union of F[h'_i]; h'_i lies between an event of E[h] and the next
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
        case expr.ExpressionSeries(left, right):  # p: T at e, and E at every event before
            odd = frozenset(h) - of(left)
            return until(of(right), odd)
        case _:
            assert_never(E)


def after(h: History, e: int) -> History:
    """Return the events of h after its event e."""
    return h[bisect_right(h, e) :]


def up_to(h: History, e: int) -> History:
    """Return the events of h up to and including its event e."""
    return h[: bisect_right(h, e)]


def from_on(p: int, events: Events) -> Events:
    """Return the events at position p or later."""
    return frozenset(e for e in events if e >= p)


def segments(h: History, delimiters: Events) -> Iterator[History]:
    """Yield the events of h between each delimiter and the next one, and the events after the last delimiter."""
    cuts = sorted(delimiters)
    for d, following in pairwise([*cuts, h[-1] + 1] if cuts else []):
        yield tuple(e for e in after(h, d) if e < following)


def until(events: Events, last: Events) -> Events:
    """Return the events up to the first event of `last`, that one included; all of the events if `last` is empty."""
    return frozenset(e for e in events if not last or e <= min(last))


# --- sections 5 and 6: scopes -----------------------------------------------------------------------------------------


def in_scope(body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings, context: Context) -> Events:
    """Return the events at which the body takes place for some values of its attribute variables (vldb92, section 6.2).

    At an event e, an attribute variable has a value of an event of h up to e. An unbound correlation variable stands
    for one of these events, as with exists.
    """
    return NOWHERE.union(
        *(from_on(since, context.meaning(body, h, inner)) for inner, since in choices(body, parameters, h, b, context))
    )


def choices(
    body: expr.Expression, parameters: tuple[str, ...], h: History, b: Bindings, context: Context
) -> Iterator[tuple[Bindings, int]]:
    """Yield each choice of values for the variables of the body, as bindings that extend b.

    With each comes the first event by which all chosen values have occurred in h.
    """
    events = [(x, {position(p): p for p in h}) for x in sorted(free_variables(body))]
    values = [(X, values_of(X, body, h, context)) for X in find_scope_variables(body, parameters)]
    variables = (*events, *values)
    for choice in product(*(first.items() for _, first in variables)):
        inner = b
        for (name, _), (to, _) in zip(variables, choice, strict=True):
            inner = bound(inner, name, to)
        # At an event before `since` one of the values has not occurred yet, so it cannot be chosen there.
        yield inner, max((since for _, since in choice), default=h[0] if h else 0)


def values_of(X: str, body: expr.Expression, h: History, context: Context) -> Mapping[Bound, int]:
    """Return the values that the attribute variable X may have, each with the first event of h that has it."""
    where = places(X, body, context.definitions)
    found: dict[Bound, int] = {}
    for e in h:
        event = context.event(e)
        for k in (k for T, k in where if event.type == T):
            if (v := attribute(event, k, context.order)) is not None:
                found.setdefault(value(v), e)
    return found


def bind_parameters(parameters: tuple[str, ...], arguments: tuple[expr.Argument, ...], b: Bindings) -> Bindings:
    """Return the bindings inside a definition: each parameter gets its argument's value, if the argument has one."""
    # Not from b: the body of a definition does not see the caller's variables, even if they have the same names.
    inner = NOTHING_BOUND
    for X, argument in zip(parameters, arguments, strict=True):
        if (v := value_of(argument, b)) is not None:
            inner = bound(inner, X, value(v))
    return inner


def is_occurrence(E: expr.Primitive, event: Event, b: Bindings, order: Places) -> bool:
    """Return whether the event has the type of E, passes the mask of E, and has the values of the arguments of E."""
    if event.type != E.type or (E.mask is not None and not holds(E.mask, event)):
        return False
    given = ((k, value_of(argument, b)) for k, argument in enumerate(E.arguments))
    return all(v is None or compare("=", attribute(event, k, order), v) for k, v in given)


def attribute(event: Event, k: int, order: Places) -> Value | None:
    """Return the value of the k-th attribute of an event, counted from 0; None if the event has no such value."""
    names = order.get(event.type, ())
    return event.get(names[k]) if k < len(names) else None


# ---------------------------------------------------------------------------------------------------------------------
# The definitions of the derived operators by other operators: vldb92, section 2.3, and section 5 for /+.
#
# The paper's definitions use `any` for every event, although `any` leaves out the start event. So the argument `each`
# replaces `any`: EVERY_EVENT by default, or ANY for the definitions as printed, which fail for a history with a start
# event.

ANY = expr.AnyEvent()
EVERY_EVENT = expr.ExpressionNot(expr.Null())


def definition(E: expr.Expression, each: expr.Expression = EVERY_EVENT) -> expr.Expression | None:
    """Return the expression that the outermost operator abbreviates; None if the operator has no definition.

    Pipes, prefixes, correlation variables and named expressions have no definition by other operators.
    """
    match E:
        case expr.AnyEvent():  # b
            return expr.ExpressionNot(expr.Primitive(expr.START))
        case expr.ExpressionOr(F, G):  # a; printed without the first !
            return expr.ExpressionNot(expr.ExpressionAnd(expr.ExpressionNot(F), expr.ExpressionNot(G)))
        case expr.Relative(parts):
            return None if len(parts) <= 2 else reduce(lambda F, G: expr.Relative((F, G)), parts)
        case expr.Prior(parts):  # c, d
            return reduce(lambda F, G: expr.ExpressionAnd(expr.Relative((F, each)), G), parts)
        case expr.Sequence(parts):  # e
            return reduce(lambda F, G: expr.ExpressionAnd(expr.Relative((F, first(each))), G), parts)
        case expr.First():  # f
            return first(each)
        case expr.Nth(n, F):  # h
            return expr.Pipe(expr.Pipe(F, expr.Sequence((each,) * n)), expr.First())
        case expr.EveryNth(n, F):  # i
            return expr.Pipe(F, expr.RelativePlus(expr.Nth(n, each)))
        case expr.After(F, G):  # j
            return expr.Relative((expr.ExpressionAnd(expr.ExpressionNot(expr.Prior((G, each))), G), F))
        case expr.ExpressionBetween(F, G):  # section 5; printed without the quantifier
            x = _fresh(E)
            later = expr.Prior((expr.Prior((expr.ExpressionVariable(x), G)), each))
            last = expr.ExpressionAnd(expr.Relative((expr.Equated(G, x), F)), expr.ExpressionNot(later))
            return expr.Exists(x, expr.ExpressionAnd(last, expr.ExpressionNot(G)))
        case expr.FirstAfter(opening, event, closing):  # l
            return expr.ExpressionBetween(
                expr.ExpressionAnd(event, expr.ExpressionNot(expr.Prior((closing, each)))), opening
            )
        case expr.Before(F):  # m
            return expr.Prior((F, each))
        case expr.Happened(F):  # n
            return expr.ExpressionOr(F, expr.Prior((F, each)))
        case expr.ExpressionSeries(F, T):  # p
            return expr.ExpressionAnd(T, expr.ExpressionNot(expr.Prior((expr.ExpressionNot(F), T))))
        case expr.Null() | expr.Primitive() | expr.ExpressionAnd() | expr.ExpressionNot() | expr.RelativePlus():
            return None
        case expr.Pipe() | expr.Prefix() | expr.Exists() | expr.Equated() | expr.ExpressionVariable():
            return None
        case expr.Constraint() | expr.ExpressionNamed() | expr.Let():
            return None
        case _:
            assert_never(E)


def first(each: expr.Expression) -> expr.Expression:
    """Return !relative(any, any), the definition of `first` (vldb92, section 2.3, item f)."""
    return expr.ExpressionNot(expr.Relative((each, each)))


def expanded(E: expr.Expression, each: expr.Expression = EVERY_EVENT) -> expr.Expression:
    """Return the expression with every operator that has a definition replaced by its definition.

    Repeated parts of a definition are one shared object, so the result does not grow exponentially. Raises
    BudgetExceeded if the result is nested too deeply.
    """
    done: dict[int, expr.Expression] = {}
    alive: list[expr.Expression] = []  # keys are identities, which are reused once an object is gone

    def expand(F: expr.Expression) -> expr.Expression:
        if (earlier := done.get(id(F))) is not None:
            return earlier
        base = expr.rebuilt(F, tuple(expand(G) for G in expr.children(F)))
        short_for = definition(base, each)
        result = base if short_for is None else expand(short_for)
        # The result is its own expansion: a definition may contain it several times.
        done[id(F)] = done[id(result)] = result
        alive.extend((F, result))
        return result

    try:
        return expand(E)
    except RecursionError:
        raise BudgetExceeded("the expression nests too deeply once its operators are replaced", E.span) from None


def _fresh(E: expr.Expression) -> str:
    taken = names_in(E)
    # One more name than are taken, so one of them is free.
    return next(x for i in range(len(taken) + 1) if (x := f"x{i}") not in taken)

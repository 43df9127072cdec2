"""The histories that prefix(E) has to look at: vldb92, section 2.3, o, speaks of all that begin like the one at hand.

Finitely many are enough. Of the events to come, one is needed for each way in which the masks and arguments of E can
turn out (letters). Of the lengths, those up to the number of pasts that E distinguishes (distinguished_pasts): if E
takes place after more events than that, two pasts on the way there are alike, and what lies between them can be left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.alphabet import events_to_come
from cerify.semantics.event_expressions.bindings import Bindings, value_of
from cerify.semantics.event_expressions.denote import passed
from cerify.semantics.event_expressions.history import Places
from cerify.semantics.event_expressions.scope import chosen, free_variables
from cerify.semantics.events import Event
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate

LARGE = 64  # 2 to this many lengths are never gone through: every budget is exhausted before


def words(
    E: expr.Expression,
    b: Bindings,
    definitions: Mapping[str, expr.Definition],
    order: Places,
    budget: Budget = Budget(),
) -> Iterator[tuple[Event, ...]]:
    """What may follow a history, shortest first: if E can still take place, then at the end of one of these.

    Raises Unsupported and BudgetExceeded as letters does.
    """
    alphabet = letters(E, b, definitions, order, budget)
    for length in range(1, distinguished_pasts(E, definitions) + 1):
        yield from product(alphabet, repeat=length)


def letters(
    E: expr.Expression,
    b: Bindings,
    definitions: Mapping[str, expr.Definition],
    order: Places,
    budget: Budget = Budget(),
) -> tuple[Event, ...]:
    """Events such that every event to come is, for E under the bindings, like one of them.

    Raises Unsupported for masks that do more than compare an attribute with values, for an argument without a known
    attribute, and for names with attribute variables of their own, which may have any of infinitely many values; and
    BudgetExceeded.
    """
    tests: dict[str, list[Predicate]] = {}
    seen: set[tuple[str, Bindings]] = set()
    pending = [(E, b)]
    while pending:
        F, inner = pending.pop()
        for G in expr.subexpressions(F):
            if isinstance(G, expr.Primitive) and G.type != expr.START:
                tests.setdefault(G.type, []).extend(_tests(G, inner, order))
            if isinstance(G, expr.Named):
                definition = definitions[G.name]
                if own := chosen(definition.body, definition.parameters):
                    raise Unsupported(
                        f"{G.name} takes place for each value of {', '.join(own)}, and there are any number of them; "
                        "make them parameters",
                        G.span,
                    )
                values = passed(definition.parameters, G.arguments, inner)
                if (G.name, values) not in seen:
                    seen.add((G.name, values))
                    pending.append((definition.body, values))
    return events_to_come(tests, budget, E.span)


def _tests(E: expr.Primitive, b: Bindings, order: Places) -> Iterator[Predicate]:
    """What an event of the type has to pass: the mask, and one comparison for each argument that has a value."""
    if E.mask is not None:
        yield E.mask
    names = order.get(E.type, ())
    for k, argument in enumerate(E.arguments):
        if (v := value_of(argument, b)) is not None:
            if k >= len(names):
                raise Unsupported(
                    f"which attribute of {E.type} is the argument {k + 1}? Give the stream a schema", E.span
                )
            yield Comparison("=", Attribute(names[k]), Constant(v))


def distinguished_pasts(E: expr.Expression, definitions: Mapping[str, expr.Definition]) -> int:
    """No fewer than the number of classes into which E divides histories by what may follow them.

    Two histories are in one class if E takes place at the same events after both, whatever follows. The class after one
    more event is that of the class before; so the classes are the states of a machine, and each operator needs no more
    states than a machine made of the machines of its operands. Exact for small expressions; cut off at 2 to the LARGE.
    """
    of_names: dict[str, int] = {}
    for name, definition in definitions.items():
        of_names[name] = _some(len(free_variables(definition.body)), _pasts(definition.body, of_names))
    return _pasts(E, of_names)


def _pasts(E: expr.Expression, of_names: Mapping[str, int]) -> int:
    def pasts(F: expr.Expression) -> int:
        return min(_pasts(F, of_names), 1 << LARGE)

    match E:
        case expr.Null() | expr.Primitive() | expr.AnyEvent() | expr.Variable() | expr.Constraint():
            return 1  # only the event at hand counts
        case expr.First():
            return 2  # whether there has been an event
        case expr.Not(F) | expr.Equated(F, _) | expr.Prefix(F):
            return pasts(F)
        case expr.And(left, right) | expr.Or(left, right) | expr.Pipe(left, right):
            return pasts(left) * pasts(right)
        case expr.Relative(parts):  # that of the first, and for the next the set of those of what began at its events
            found = pasts(parts[0])
            for F in parts[1:]:
                found *= _subsets(pasts(F))
            return found
        case expr.RelativePlus(F):
            return _subsets(pasts(F))
        case expr.Prior(parts) | expr.Sequence(parts):  # whether those before have been, or have just been
            found = pasts(parts[0])
            for F in parts[1:]:
                found *= 2 * pasts(F)
            return found
        case expr.Nth(n, F):  # how many there have been, up to n
            return (n + 1) * pasts(F)
        case expr.EveryNth(n, F):
            return n * pasts(F)
        case expr.After(left, right):  # up to the first event of the right, or after it
            return pasts(left) + pasts(right)
        case expr.Between(left, right):  # whether there has been a delimiter; of what is since the last one
            return (1 + pasts(left)) * pasts(right)
        case expr.FirstAfter(opening, event, closing):
            return (1 + 2 * pasts(event) * pasts(closing)) * pasts(opening)
        case expr.Before(F) | expr.Happened(F):
            return 1 + pasts(F)
        case expr.Series(left, right):
            return 1 + pasts(left) * pasts(right)
        case expr.Exists(_, F):
            return _some(1, pasts(F))
        case expr.Named(name, _):
            return of_names[name]
        case expr.Let(_, body):
            return pasts(body)
        case _:
            assert_never(E)


def _some(variables: int, pasts: int) -> int:
    """For some event as the variable: the class for none of them yet, and the set of those for each event so far."""
    for _ in range(variables):
        pasts = min(pasts * _subsets(pasts), 1 << LARGE)
    return pasts


def _subsets(n: int) -> int:
    return 1 << min(n, LARGE)

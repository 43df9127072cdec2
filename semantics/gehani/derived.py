"""The derived operators by their definitions in others: vldb92, section 2.3, and section 5 for /+.

Where a definition speaks of any, it means every event; any as defined leaves the start event out. The second argument
is what to put there: EVERY_EVENT, or ANY for the definition as printed, which fails where a history has a start event.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.scope import names_in

ANY = ev.AnyEvent()
EVERY_EVENT = ev.Not(ev.Null())


def definition(E: ev.Expression, each: ev.Expression = EVERY_EVENT) -> ev.Expression | None:
    """What the outermost operator is short for; None if it is not short for anything.

    Pipes, prefixes, correlation variables and named expressions have no definition by other operators.
    """
    match E:
        case ev.AnyEvent():  # b
            return ev.Not(ev.Primitive(ev.START))
        case ev.Or(F, G):  # a; printed without the first !
            return ev.Not(ev.And(ev.Not(F), ev.Not(G)))
        case ev.Relative(parts):
            return None if len(parts) <= 2 else reduce(lambda F, G: ev.Relative((F, G)), parts)
        case ev.Prior(parts):  # c, d
            return reduce(lambda F, G: ev.And(ev.Relative((F, each)), G), parts)
        case ev.Sequence(parts):  # e
            return reduce(lambda F, G: ev.And(ev.Relative((F, first(each))), G), parts)
        case ev.First():  # f
            return first(each)
        case ev.Nth(n, F):  # h
            return ev.Pipe(ev.Pipe(F, ev.Sequence((each,) * n)), ev.First())
        case ev.EveryNth(n, F):  # i
            return ev.Pipe(F, ev.RelativePlus(ev.Nth(n, each)))
        case ev.After(F, G):  # j
            return ev.Relative((ev.And(ev.Not(ev.Prior((G, each))), G), F))
        case ev.Between(F, G):  # section 5; printed without the quantifier
            x = _fresh(E)
            later = ev.Prior((ev.Prior((ev.Variable(x), G)), each))
            last = ev.And(ev.Relative((ev.Equated(G, x), F)), ev.Not(later))
            return ev.Exists(x, ev.And(last, ev.Not(G)))
        case ev.FirstAfter(opening, event, closing):  # l
            return ev.Between(ev.And(event, ev.Not(ev.Prior((closing, each)))), opening)
        case ev.Before(F):  # m
            return ev.Prior((F, each))
        case ev.Happened(F):  # n
            return ev.Or(F, ev.Prior((F, each)))
        case ev.Series(F, T):  # p
            return ev.And(T, ev.Not(ev.Prior((ev.Not(F), T))))
        case ev.Null() | ev.Primitive() | ev.And() | ev.Not() | ev.RelativePlus():
            return None
        case ev.Pipe() | ev.Prefix() | ev.Exists() | ev.Equated() | ev.Variable():
            return None
        case ev.Constraint() | ev.Named() | ev.Let():
            return None
        case _:
            assert_never(E)


def first(each: ev.Expression) -> ev.Expression:
    """!relative(any, any), the definition of first (f)."""
    return ev.Not(ev.Relative((each, each)))


def after_by_pipe(E: ev.After) -> ev.Expression:
    """The second definition of F / E (j), by a pipe."""
    return ev.Relative((ev.Pipe(E.right, ev.First()), E.left))


def expanded(E: ev.Expression, each: ev.Expression = EVERY_EVENT) -> ev.Expression:
    """The expression with every operator replaced that has a definition.

    What stands in a definition twice is one object in the result, so that its size does not explode. Raises
    BudgetExceeded where it nests too deeply.
    """
    done: dict[int, ev.Expression] = {}
    kept: list[ev.Expression] = []  # expressions are known by identity, so they must stay alive

    def expand(F: ev.Expression) -> ev.Expression:
        if (known := done.get(id(F))) is not None:
            return known
        base = ev.rebuilt(F, tuple(expand(G) for G in ev.children(F)))
        short_for = definition(base, each)
        result = base if short_for is None else expand(short_for)
        done[id(F)] = done[id(result)] = result
        kept.extend((F, result))
        return result

    try:
        return expand(E)
    except RecursionError:
        raise BudgetExceeded("the expression nests too deeply once its operators are replaced", E.span) from None


def _fresh(E: ev.Expression) -> str:
    taken = names_in(E)
    return next(x for i in range(len(taken) + 1) if (x := f"x{i}") not in taken)

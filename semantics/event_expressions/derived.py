"""The derived operators by their definitions in others: vldb92, section 2.3, and section 5 for /+.

Where a definition speaks of any, it means every event; any as defined leaves the start event out. The second argument
is what to put there: EVERY_EVENT, or ANY for the definition as printed, which fails where a history has a start event.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.scope import names_in

ANY = expr.AnyEvent()
EVERY_EVENT = expr.Not(expr.Null())


def definition(E: expr.Expression, each: expr.Expression = EVERY_EVENT) -> expr.Expression | None:
    """What the outermost operator is short for; None if it is not short for anything.

    Pipes, prefixes, correlation variables and named expressions have no definition by other operators.
    """
    match E:
        case expr.AnyEvent():  # b
            return expr.Not(expr.Primitive(expr.START))
        case expr.Or(F, G):  # a; printed without the first !
            return expr.Not(expr.And(expr.Not(F), expr.Not(G)))
        case expr.Relative(parts):
            return None if len(parts) <= 2 else reduce(lambda F, G: expr.Relative((F, G)), parts)
        case expr.Prior(parts):  # c, d
            return reduce(lambda F, G: expr.And(expr.Relative((F, each)), G), parts)
        case expr.Sequence(parts):  # e
            return reduce(lambda F, G: expr.And(expr.Relative((F, first(each))), G), parts)
        case expr.First():  # f
            return first(each)
        case expr.Nth(n, F):  # h
            return expr.Pipe(expr.Pipe(F, expr.Sequence((each,) * n)), expr.First())
        case expr.EveryNth(n, F):  # i
            return expr.Pipe(F, expr.RelativePlus(expr.Nth(n, each)))
        case expr.After(F, G):  # j
            return expr.Relative((expr.And(expr.Not(expr.Prior((G, each))), G), F))
        case expr.Between(F, G):  # section 5; printed without the quantifier
            x = _fresh(E)
            later = expr.Prior((expr.Prior((expr.Variable(x), G)), each))
            last = expr.And(expr.Relative((expr.Equated(G, x), F)), expr.Not(later))
            return expr.Exists(x, expr.And(last, expr.Not(G)))
        case expr.FirstAfter(opening, event, closing):  # l
            return expr.Between(expr.And(event, expr.Not(expr.Prior((closing, each)))), opening)
        case expr.Before(F):  # m
            return expr.Prior((F, each))
        case expr.Happened(F):  # n
            return expr.Or(F, expr.Prior((F, each)))
        case expr.Series(F, T):  # p
            return expr.And(T, expr.Not(expr.Prior((expr.Not(F), T))))
        case expr.Null() | expr.Primitive() | expr.And() | expr.Not() | expr.RelativePlus():
            return None
        case expr.Pipe() | expr.Prefix() | expr.Exists() | expr.Equated() | expr.Variable():
            return None
        case expr.Constraint() | expr.Named() | expr.Let():
            return None
        case _:
            assert_never(E)


def first(each: expr.Expression) -> expr.Expression:
    """!relative(any, any), the definition of first (f)."""
    return expr.Not(expr.Relative((each, each)))


def after_by_pipe(E: expr.After) -> expr.Expression:
    """The second definition of F / E (j), by a pipe."""
    return expr.Relative((expr.Pipe(E.right, expr.First()), E.left))


def expanded(E: expr.Expression, each: expr.Expression = EVERY_EVENT) -> expr.Expression:
    """The expression with every operator replaced that has a definition.

    What stands in a definition twice is one object in the result, so that its size does not explode. Raises
    BudgetExceeded where it nests too deeply.
    """
    done: dict[int, expr.Expression] = {}
    alive: list[expr.Expression] = []  # keys are identities, which are reused once an object is gone

    def expand(F: expr.Expression) -> expr.Expression:
        if (earlier := done.get(id(F))) is not None:
            return earlier
        base = expr.rebuilt(F, tuple(expand(G) for G in expr.children(F)))
        short_for = definition(base, each)
        result = base if short_for is None else expand(short_for)
        done[id(F)] = done[id(result)] = result
        alive.extend((F, result))
        return result

    try:
        return expand(E)
    except RecursionError:
        raise BudgetExceeded("the expression nests too deeply once its operators are replaced", E.span) from None


def _fresh(E: expr.Expression) -> str:
    taken = names_in(E)
    return next(x for i in range(len(taken) + 1) if (x := f"x{i}") not in taken)

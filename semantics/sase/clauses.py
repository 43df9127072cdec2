"""The clauses of a query, read off its tree, for the definition and the checks of well-formedness."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cerify.semantics.events import TIME, Event
from cerify.semantics.predicates import Predicate, mentions
from cerify.semantics.sase import syntax as sase


def positive(q: sase.Query) -> tuple[sase.Component, ...]:
    """The components that a match binds."""
    return tuple(k for k in q.pattern if not k.negated)


def negated(q: sase.Query) -> frozenset[str]:
    """The variables of the negated components."""
    return frozenset(k.variable for k in q.pattern if k.negated)


def strategy_of(q: sase.Query, variable: str) -> sase.Strategy:
    """The strategy of a component: that of the block that names its variable, or the default (section 2.2.1)."""
    for block in q.where:
        if any(argument.variable == variable for argument in block.arguments):
            return block.strategy or sase.DEFAULT
    return sase.DEFAULT


def is_cut(q: sase.Query, variable: str) -> bool:
    """Whether `!` follows the variable in the declaration of its strategy (section 2.2.2)."""
    return any(argument.cut for block in q.where for argument in block.arguments if argument.variable == variable)


def conjuncts(q: sase.Query) -> Iterator[sase.Conjunct]:
    """All conjuncts of WHERE, in the order of the text."""
    for block in q.where:
        yield from block.conjuncts


def clauses_of_matches(q: sase.Query) -> list[tuple[Predicate, bool]]:
    """The predicates on the components that a match binds, each with whether it is underlined."""
    absent = negated(q)
    return [
        (c.condition, c.underlined)
        for c in conjuncts(q)
        if not isinstance(c.condition, sase.Equivalence) and variables(c.condition).isdisjoint(absent)
    ]


def clauses_of_absence(q: sase.Query, variable: str) -> list[Predicate]:
    """The predicates that describe a negated component: those that mention its variable."""
    return [
        c.condition
        for c in conjuncts(q)
        if not isinstance(c.condition, sase.Equivalence) and variable in variables(c.condition)
    ]


def equivalences(q: sase.Query) -> list[tuple[str, bool]]:
    """The attributes of the equivalence tests, each with whether it is underlined."""
    return [(c.condition.attribute, c.underlined) for c in conjuncts(q) if isinstance(c.condition, sase.Equivalence)]


def variables(p: Predicate) -> frozenset[str]:
    """The variables that a condition mentions."""
    return frozenset(attribute.variable or "" for attribute in mentions(p))


def spans(window: sase.Window, before: Event, after: Event, closed: bool) -> bool | None:
    """Whether one event is within the window of another; None where their times cannot be compared."""
    match before.get(TIME), after.get(TIME):
        case (datetime() as t1, datetime() as t2):
            seconds: int | float = (t2 - t1).total_seconds()
        case (int() | float() as t1, int() | float() as t2) if not isinstance(t1, bool) and not isinstance(t2, bool):
            try:
                seconds = t2 - t1
            except OverflowError:  # a whole number beyond binary64 and a float
                return None
        case _:
            return None
    if seconds != seconds:
        return None
    return seconds <= window.seconds if closed else seconds < window.seconds

"""All compatible tuples: at which events, with which values of its attribute variables (vldb92, section 6.1).

There is one expression for each choice of values (section 6.2), and a choice has a row with each event at which its
expression takes place. The variables are those that the expression is asked for: those that stand in several places, or
in the head of the definition with which the text ends. One that stands in a single place does not constrain anything.
"""

from __future__ import annotations

from cerify.semantics.budget import Budget
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import NOTHING_BOUND
from cerify.semantics.event_expressions.denote import choices, from_on
from cerify.semantics.event_expressions.interpreter import Interpreter
from cerify.semantics.event_expressions.relation import Relation, Row
from cerify.semantics.event_expressions.scope import chosen
from cerify.semantics.events import Stream


def compatible(E: expr.Expression, S: Stream, budget: Budget = Budget(), *, plain: bool = False) -> Relation:
    """The events of S at which E takes place, each with all the values for which it does. Raises BudgetExceeded."""
    context = Interpreter(E, S, budget, plain=plain)
    body, h = context.whole, context.history
    variables = chosen(body, ())
    rows: set[Row] = set()
    for b, earliest in choices(body, (), h, NOTHING_BOUND, context):
        values = tuple(dict(b)[X] for X in variables)
        rows.update((e, values) for e in from_on(earliest, context.meaning(body, h, b)))
    return Relation(variables, frozenset(rows))

"""All compatible tuples: at which events, with which values of its attribute variables (vldb92, section 6.1).

There is one expression for each choice of values (section 6.2), and a choice has a row with each event at which its
expression takes place. The variables are those that the expression is asked for: those that stand in several places, or
in the head of the definition with which the text ends. One that stands in a single place does not constrain anything.
"""

from __future__ import annotations

from cerify.semantics.budget import Budget
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import NOTHING_BOUND
from cerify.semantics.event_expressions.denote import Interpreter
from cerify.semantics.event_expressions.relation import Relation, Row
from cerify.semantics.event_expressions.scope import chosen
from cerify.semantics.events import Stream


def compatible(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Relation:
    """The events of S at which E takes place, each with all the values for which it does. Raises BudgetExceeded."""
    known = Interpreter(E, S, budget)
    variables = chosen(known.whole, ())
    rows: set[Row] = set()
    for b, earliest in known.choices(known.whole, (), known.history, NOTHING_BOUND):
        values = tuple(dict(b)[X] for X in variables)
        rows.update((e, values) for e in known.meaning(known.whole, known.history, b) if e >= earliest)
    return Relation(variables, frozenset(rows))

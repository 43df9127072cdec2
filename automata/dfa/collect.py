"""All compatible tuples of an expression's attribute variables, as a table (vldb92, section 6.1).

A row is an event at which the expression takes place with values for which it does. The meaning's own relation is in
semantics/event_expressions/compatible.py.
"""

from __future__ import annotations

from cerify.automata.dfa.arguments import order_in
from cerify.automata.dfa.inlined import inlined
from cerify.automata.dfa.parametric import ParametricMonitor, symbolic
from cerify.automata.dfa.valued import Valued
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.relation import Relation, Row
from cerify.semantics.events import Stream
from cerify.semantics.packages import pa
from cerify.semantics.values import Value, value_type_of

AT = "at"  # the column of the events


def found_in(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> list[int]:
    """The positions at which E takes place, in order: by a parametric monitor, or one automaton without variables."""
    if not inlined(E).variables or _has_prefix(E):
        return sorted(Valued(E, order_in(S), budget).events(S))
    machines = ParametricMonitor(symbolic(E, order_in(S), budget), budget)
    return [e for e, event in enumerate(S) if machines.push(event)]


def tuples(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Relation:
    """The relation of compatible tuples of E over S.

    Its variables are those of the text that range over values: in several places, or in the head of the definition with
    which the text ends. Raises Unsupported where a name inside has variables of its own, InputError, BudgetExceeded.
    """
    variables = inlined(E).visible
    if _has_prefix(E):
        return Relation(variables, Valued(E, order_in(S), budget).rows(S))
    machines, found = ParametricMonitor(symbolic(E, order_in(S), budget), budget), set[Row]()
    for e, event in enumerate(S):
        if machines.push(event):
            found.update((e, values) for values in machines.tuples())
        if len(found) > budget.matches:
            raise BudgetExceeded(f"there are more than {budget.matches} compatible tuples")
    return Relation(variables, frozenset(found))


def collected(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> pa.Table:
    """The compatible tuples as an Arrow table, sorted: the column "at" (int64, positions), and one for each variable.

    Raises what tuples raises, and Unsupported where the values of a variable have no common column type.
    """
    variables, rows = tuples(E, S, budget)
    if AT in variables:
        raise IllFormed(f"the column {AT} is that of the events; name the variable differently", E.span)
    types = [_type(X, [values[i][1] for _, values in rows]) for i, X in enumerate(variables)]
    ordered = sorted(rows)
    columns = {AT: pa.array([e for e, _ in ordered], pa.int64())}
    for i, X in enumerate(variables):
        columns[X] = pa.array([values[i][1] for _, values in ordered], types[i])
    return pa.table(columns)


def _has_prefix(E: expr.Expression) -> bool:
    """Whether E has prefix, which depends on the values, so that one automaton does not serve all of them."""
    return any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E))


def _type(X: str, values: list[Value]) -> pa.DataType:
    from cerify.semantics.arrow_types import ARROW

    kinds = {value_type_of(v) for v in values}
    if kinds == {"int", "float"}:
        kinds = {"float"}
    if len(kinds) > 1:
        raise Unsupported(f"the values of {X} are of the types {', '.join(sorted(kinds))}; a column has one")
    return ARROW[kinds.pop()] if kinds else pa.null()

"""Conditions of core-CEL as conditions of CEL."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core


def as_cel_condition(condition: core.Condition) -> cel.Condition:
    """The condition on sets that is written like the one on single events, and means the same of sets of one event."""
    match condition:
        case core.Unary(x, predicate):
            return cel.Every(x, predicate, span=condition.span)
        case core.Correlated(predicate):
            return cel.Correlated(predicate, span=condition.span)
        case core.Conjunction(left, right):
            return cel.Conjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case core.Disjunction(left, right):
            return cel.Disjunction(as_cel_condition(left), as_cel_condition(right), span=condition.span)
        case _:
            assert_never(condition)

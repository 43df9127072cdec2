"""From a core-CEL formula to its text, which parses back to an equal formula."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.operators import OPERATORS
from cerify.semantics.operators import printed
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Comparison, InRange, Like, OneOf, about, mentions


def show(phi: core.Formula) -> str:
    """The text of a formula, with no more parentheses than needed."""
    return printed(phi, OPERATORS, _show_field)


def _show_field(value: str | core.Condition) -> str:
    return value if isinstance(value, str) else show_condition(value)


def show_condition(condition: core.Condition) -> str:
    """The text of a filter's condition."""
    match condition:
        case core.Unary(x, predicate):
            if isinstance(predicate, Comparison | OneOf | InRange | Like) and any(mentions(predicate)):
                return show_predicate(about(predicate, x))
            return f"{x}[{show_predicate(predicate)}]"
        case core.Correlated(predicate):
            return show_predicate(predicate)
        case core.Conjunction(left, right):
            both = isinstance(right, core.Conjunction | core.Disjunction)
            first = _parenthesized(show_condition(left), isinstance(left, core.Disjunction))
            return f"{first} AND {_parenthesized(show_condition(right), both)}"
        case core.Disjunction(left, right):
            tail = _parenthesized(show_condition(right), isinstance(right, core.Disjunction))
            return f"{show_condition(left)} OR {tail}"
        case _:
            assert_never(condition)


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text

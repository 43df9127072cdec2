"""From a CEL formula to its text, which parses back to an equal formula."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.operators import printed
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Comparison, InRange, Like, OneOf, about, mentions


def show(phi: cel.Formula) -> str:
    """The text of a formula, with no more parentheses than needed. Raises BudgetExceeded where it is too deep."""
    with depth_limited(phi.span):
        return printed(phi, OPERATORS, _show_field)


def _show_field(value: str | frozenset[str] | cel.Window | cel.Condition) -> str:
    match value:
        case str():
            return value
        case frozenset():
            return ", ".join(sorted(value))
        case cel.EventWindow() | cel.TimeWindow() | cel.AttributeWindow():
            return show_window(value)
        case cel.Every() | cel.Correlated() | cel.Named() | cel.Conjunction() | cel.Disjunction():
            return show_condition(value)
        case _:
            assert_never(value)


def show_window(window: cel.Window) -> str:
    """The text of a window."""
    match window:
        case cel.EventWindow(count):
            return f"{count} EVENTS"
        case cel.TimeWindow(amount, unit):
            return f"{amount} {unit}" if amount == 1 else f"{amount} {unit}s"
        case cel.AttributeWindow(width, attribute):
            return f"{width} [{attribute}]"
        case _:
            assert_never(window)


def show_condition(condition: cel.Condition) -> str:
    """The text of a filter's condition."""
    match condition:
        case cel.Every(variable, predicate):
            if isinstance(predicate, Comparison | OneOf | InRange | Like) and len(list(mentions(predicate))) == 1:
                return show_predicate(about(predicate, variable))
            return f"{variable}[{show_predicate(predicate)}]"
        case cel.Correlated(predicate):
            return show_predicate(predicate)
        case cel.Named(name, variables):
            return f"{name}({', '.join(variables)})"
        case cel.Conjunction(left, right):
            return f"{_operand(left, False)} AND {_operand(right, True)}"
        case cel.Disjunction(left, right):
            tail = show_condition(right)
            return f"{show_condition(left)} OR {f'({tail})' if isinstance(right, cel.Disjunction) else tail}"
        case _:
            assert_never(condition)


def _operand(condition: cel.Condition, right: bool) -> str:
    """An operand of AND: an OR goes in parentheses, and so does an AND on the right."""
    text = show_condition(condition)
    looser = isinstance(condition, cel.Disjunction) or (right and isinstance(condition, cel.Conjunction))
    return f"({text})" if looser else text

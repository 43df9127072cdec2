"""From a CEL formula to its text, which parses back to an equal formula."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.budget import depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Comparison, InRange, Like, OneOf, about, mentions

# How tightly an operator binds; a formula that binds less tightly than its place asks for goes in parentheses.
FILTERED, COMBINED, SEQUENCED, POSTFIX = range(4)


def show(phi: cel.Formula) -> str:
    """The text of a formula, with no more parentheses than needed. Raises BudgetExceeded where it is too deep."""
    with depth_limited(phi.span):
        return _show(phi, FILTERED)


def _show(phi: cel.Formula, level: int) -> str:
    match phi:
        case cel.Event(name):
            return name
        case cel.In(psi, variable):
            return f"{_show(psi, POSTFIX)} IN {variable}"
        case cel.Plus(psi):
            return f"{_show(psi, POSTFIX)}+"
        case cel.ContiguousPlus(psi):
            return f"{_show(psi, POSTFIX)}:+"
        case cel.Seq():
            return _binary(phi, ";", SEQUENCED, level)
        case cel.ContiguousSeq():
            return _binary(phi, ":", SEQUENCED, level)
        case cel.Or():
            return _binary(phi, "OR", COMBINED, level)
        case cel.And():
            return _binary(phi, "AND", COMBINED, level)
        case cel.All():
            return _binary(phi, "ALL", COMBINED, level)
        case cel.Unless():
            return _binary(phi, "UNLESS", COMBINED, level)
        case cel.Filter(psi, condition):
            return _postfix(f"{_show(psi, FILTERED)} FILTER {show_condition(condition)}", level)
        case cel.Within(psi, window):
            return _postfix(f"{_show(psi, FILTERED)} WITHIN {show_window(window)}", level)
        case cel.PartitionBy(psi, attribute):
            return _postfix(f"{_show(psi, FILTERED)} PARTITION BY [{attribute}]", level)
        case cel.Project(variables, psi):
            return f"PROJECT[{', '.join(sorted(variables))}]({_show(psi, FILTERED)})"
        case cel.Start(psi):
            return f"START({_show(psi, FILTERED)})"
        case cel.Strict(psi):
            return f"STRICT({_show(psi, FILTERED)})"
        case cel.Next(psi):
            return f"NXT({_show(psi, FILTERED)})"
        case cel.Last(psi):
            return f"LAST({_show(psi, FILTERED)})"
        case cel.Max(psi):
            return f"MAX({_show(psi, FILTERED)})"
        case _:
            assert_never(phi)


def _binary(
    phi: cel.Seq | cel.ContiguousSeq | cel.Or | cel.And | cel.All | cel.Unless, symbol: str, own: int, level: int
) -> str:
    """A chain of one operator is left-associative; another operator of the same tightness needs parentheses."""
    left = _show(phi.left, own if type(phi.left) is type(phi) else own + 1)
    text = f"{left} {symbol} {_show(phi.right, own + 1)}"
    return f"({text})" if level > own else text


def _postfix(text: str, level: int) -> str:
    return f"({text})" if level > FILTERED else text


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

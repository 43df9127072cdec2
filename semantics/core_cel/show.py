"""From a core-CEL formula to its text, which parses back to an equal formula."""

from __future__ import annotations

from typing import assert_never

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Comparison, InRange, Like, OneOf, about, mentions

# How tightly an operator binds; a formula that binds less tightly than its place asks for goes in parentheses.
FILTERED, COMBINED, SEQUENCED, POSTFIX = range(4)


def show(phi: core.Formula) -> str:
    """The text of a formula, with no more parentheses than needed."""
    return _show(phi, FILTERED)


def _show(phi: core.Formula, level: int) -> str:
    match phi:
        case core.Event(R, x):
            return f"{R} AS {x}"
        case core.Filter(psi, condition):
            text = f"{_show(psi, FILTERED)} FILTER {show_condition(condition)}"
            return _parenthesized(text, level > FILTERED)
        case core.Or(left, right):
            return _parenthesized(f"{_show(left, COMBINED)} OR {_show(right, SEQUENCED)}", level > COMBINED)
        case core.Seq(left, right):
            return _parenthesized(f"{_show(left, SEQUENCED)} ; {_show(right, POSTFIX)}", level > SEQUENCED)
        case core.Plus(psi):
            # "T AS x+" would parse, but reads as if the variable were called x+
            text = _show(psi, POSTFIX)
            return f"({text})+" if isinstance(psi, core.Event) else f"{text}+"
        case core.Strict(psi):
            return f"STRICT({_show(psi, FILTERED)})"
        case core.Next(psi):
            return f"NXT({_show(psi, FILTERED)})"
        case core.Last(psi):
            return f"LAST({_show(psi, FILTERED)})"
        case core.Max(psi):
            return f"MAX({_show(psi, FILTERED)})"
        case _:
            assert_never(phi)


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

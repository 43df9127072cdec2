"""The text of tuple predicates, terms and values; it parses back to what it was made from."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.values import Value, show_time


def show_predicate(predicate: pred.Predicate) -> str:
    """The text of a predicate, which parses back to it (Anything and OfType stand for themselves)."""
    return _show(predicate, 0)


def _show(predicate: pred.Predicate, level: int) -> str:
    """The text, in parentheses if it binds less tightly than the level: 0 or, 1 and, 2 not."""
    match predicate:
        case pred.Anything():
            return "TRUE"
        case pred.OfType(name):
            return f"type = {name}"
        case pred.Comparison(comparator, left, right):
            return f"{show_term(left)} {comparator} {show_term(right)}"
        case pred.OneOf(term, values):
            return f"{show_term(term)} in {{{', '.join(map(show_value, values))}}}"
        case pred.InRange(term, low, high):
            return f"{show_term(term)} in range({show_value(low)}, {show_value(high)})"
        case pred.Like(term, pattern):
            return f"{show_term(term)} like {show_value(pattern)}"
        case pred.Not(inner):
            return f"not {_show(inner, 2)}"
        case pred.Both(left_, right_):
            return _parenthesized(f"{_show(left_, 1)} and {_show(right_, 2)}", level > 1)
        case pred.Either(left_, right_):
            return _parenthesized(f"{_show(left_, 0)} or {_show(right_, 1)}", level > 0)
        case _:
            assert_never(predicate)


def show_term(term: pred.Term, level: int = 0) -> str:
    """The text of a term, in parentheses if it binds less tightly than the level: 0 sum, 1 product, 2 factor."""
    match term:
        case pred.Attribute(name, variable):
            return name if variable is None else f"{variable}.{name}"
        case pred.Constant(value):
            return show_value(value)
        case pred.Arithmetic(("+" | "-") as symbol, left, right):
            return _parenthesized(f"{show_term(left, 0)} {symbol} {show_term(right, 1)}", level > 0)
        case pred.Arithmetic(symbol, left, right):
            return _parenthesized(f"{show_term(left, 1)} {symbol} {show_term(right, 2)}", level > 1)
        case _:
            assert_never(term)


def show_value(value: Value) -> str:
    """The text of a constant."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"timestamp '{show_time(value)}'"


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text

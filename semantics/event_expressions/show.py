"""From an event expression to its text, which parses back to an equal expression."""

from __future__ import annotations

from textwrap import shorten
from typing import TypeAlias, assert_never

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.operators import OPERATORS
from cerify.semantics.operators import printed
from cerify.semantics.predicate_text import show_predicate, show_value
from cerify.semantics.predicates import Comparison

SHOWN = 200  # characters of an expression in an error

Field: TypeAlias = str | int | Comparison | expr.Primitive | expr.Named


def show(E: expr.Expression) -> str:
    """The text of an expression, with no more parentheses than needed."""
    if not isinstance(E, expr.Let):
        return printed(E, OPERATORS, _show_field)
    heads = (f"{_event(d.name, d.parameters)} := {show(d.body)}; " for d in E.definitions)
    return "".join(heads) + show(E.body)


def brief(E: expr.Expression) -> str:
    """The text of an expression for an error, cut where it is long."""
    return shorten(show(E), SHOWN)


def _show_field(value: Field) -> str:
    match value:
        case str() | int():
            return str(value)
        case Comparison():
            return show_predicate(value)
        case expr.Primitive(T, arguments, mask):
            return _event(T, arguments) + ("" if mask is None else f"[{show_predicate(mask)}]")
        case expr.Named(name, arguments):
            return _event(name, arguments)
        case _:
            assert_never(value)


def _event(name: str, arguments: tuple[expr.Argument, ...]) -> str:
    if not arguments:
        return name
    return f"{name}({', '.join(a if isinstance(a, str) else show_value(a.value) for a in arguments)})"

"""From an event expression to its text, which parses back to an equal expression."""

from __future__ import annotations

from textwrap import shorten
from typing import assert_never

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicate_text import show_predicate, show_value

SHOWN = 200  # characters of an expression in an error

# How tightly an operator binds; an expression that binds less tightly than its place asks for goes in parentheses.
OR, AND, PIPE, SLASH, SERIES, EQUATED, COUNTED, PRIMARY = range(8)

INFIX: dict[type[expr.Binary], tuple[int, str]] = {
    expr.Or: (OR, "or"),
    expr.And: (AND, "and"),
    expr.Pipe: (PIPE, "|"),
    expr.After: (SLASH, "/"),
    expr.Between: (SLASH, "/+"),
    expr.Series: (SERIES, "*"),
}
APPLIED: dict[type[expr.Unary | expr.Nary], str] = {
    expr.Relative: "relative",
    expr.RelativePlus: "relative+",
    expr.Prior: "prior",
    expr.Sequence: "sequence",
    expr.Before: "before",
    expr.Happened: "happened",
    expr.Prefix: "prefix",
}


def show(E: expr.Expression) -> str:
    """The text of an expression, with no more parentheses than needed."""
    if not isinstance(E, expr.Let):
        return _show(E, OR)
    heads = (f"{_event(d.name, d.parameters)} := {_show(d.body, OR)}; " for d in E.definitions)
    return "".join(heads) + _show(E.body, OR)


def _show(E: expr.Expression, level: int) -> str:
    match E:
        case expr.Null():
            return "NULL"
        case expr.AnyEvent():
            return "any"
        case expr.First():
            return "first"
        case expr.Variable(x):
            return x
        case expr.Named(name, arguments):
            return _event(name, arguments)
        case expr.Primitive(T, arguments, mask):
            return _event(T, arguments) + ("" if mask is None else f"[{show_predicate(mask)}]")
        case expr.And() | expr.Or() | expr.Pipe() | expr.After() | expr.Between() | expr.Series():
            own, symbol = INFIX[type(E)]
            return _parenthesized(f"{_show(E.left, own)} {symbol} {_show(E.right, own + 1)}", level > own)
        case expr.Constraint(comparison):
            return _parenthesized(show_predicate(comparison), level > EQUATED)
        case expr.Equated(F, x):
            return _parenthesized(f"{_show(F, EQUATED)} = {x}", level > EQUATED)
        case expr.Not(F):
            return _parenthesized(f"!{_show(F, COUNTED)}", level > COUNTED)
        case expr.Nth(n, F):
            return _parenthesized(f"<{n}> {_show(F, COUNTED)}", level > COUNTED)
        case expr.EveryNth(n, F):
            return _parenthesized(f"every <{n}> {_show(F, COUNTED)}", level > COUNTED)
        case expr.RelativePlus() | expr.Before() | expr.Happened() | expr.Prefix():
            return f"{APPLIED[type(E)]}({_show(E.operand, OR)})"
        case expr.Relative() | expr.Prior() | expr.Sequence():
            return f"{APPLIED[type(E)]}({', '.join(_show(F, OR) for F in E.parts)})"
        case expr.FirstAfter(opening, event, closing):
            return f"firstAfter({', '.join(_show(F, OR) for F in (opening, event, closing))})"
        case expr.Exists(x, F):
            return f"exists {x} ({_show(F, OR)})"
        case expr.Let():
            raise ValueError("definitions stand at the beginning of a text, not inside an expression")
        case _:
            assert_never(E)


def _event(name: str, arguments: tuple[expr.Argument, ...]) -> str:
    if not arguments:
        return name
    return f"{name}({', '.join(a if isinstance(a, str) else show_value(a.value) for a in arguments)})"


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def brief(E: expr.Expression) -> str:
    """The text of an expression for an error, cut where it is long."""
    return shorten(show(E), SHOWN)

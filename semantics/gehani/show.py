"""From an event expression to its text, which parses back to an equal expression."""

from __future__ import annotations

from textwrap import shorten
from typing import assert_never

from cerify.semantics.gehani import syntax as ev
from cerify.semantics.predicate_text import show_predicate, show_value

SHOWN = 200  # characters of an expression in an error

# How tightly an operator binds; an expression that binds less tightly than its place asks for goes in parentheses.
OR, AND, PIPE, SLASH, SERIES, EQUATED, COUNTED, PRIMARY = range(8)

INFIX: dict[type[ev.Binary], tuple[int, str]] = {
    ev.Or: (OR, "or"),
    ev.And: (AND, "and"),
    ev.Pipe: (PIPE, "|"),
    ev.After: (SLASH, "/"),
    ev.Between: (SLASH, "/+"),
    ev.Series: (SERIES, "*"),
}
APPLIED: dict[type[ev.Unary | ev.Nary], str] = {
    ev.Relative: "relative",
    ev.RelativePlus: "relative+",
    ev.Prior: "prior",
    ev.Sequence: "sequence",
    ev.Before: "before",
    ev.Happened: "happened",
    ev.Prefix: "prefix",
}


def show(E: ev.Expression) -> str:
    """The text of an expression, with no more parentheses than needed."""
    if not isinstance(E, ev.Let):
        return _show(E, OR)
    heads = (f"{_event(d.name, d.parameters)} := {_show(d.body, OR)}; " for d in E.definitions)
    return "".join(heads) + _show(E.body, OR)


def _show(E: ev.Expression, level: int) -> str:
    match E:
        case ev.Null():
            return "NULL"
        case ev.AnyEvent():
            return "any"
        case ev.First():
            return "first"
        case ev.Variable(x):
            return x
        case ev.Named(name, arguments):
            return _event(name, arguments)
        case ev.Primitive(T, arguments, mask):
            return _event(T, arguments) + ("" if mask is None else f"[{show_predicate(mask)}]")
        case ev.And() | ev.Or() | ev.Pipe() | ev.After() | ev.Between() | ev.Series():
            own, symbol = INFIX[type(E)]
            return _parenthesized(f"{_show(E.left, own)} {symbol} {_show(E.right, own + 1)}", level > own)
        case ev.Constraint(comparison):
            return _parenthesized(show_predicate(comparison), level > EQUATED)
        case ev.Equated(F, x):
            return _parenthesized(f"{_show(F, EQUATED)} = {x}", level > EQUATED)
        case ev.Not(F):
            return _parenthesized(f"!{_show(F, COUNTED)}", level > COUNTED)
        case ev.Nth(n, F):
            return _parenthesized(f"<{n}> {_show(F, COUNTED)}", level > COUNTED)
        case ev.EveryNth(n, F):
            return _parenthesized(f"every <{n}> {_show(F, COUNTED)}", level > COUNTED)
        case ev.RelativePlus() | ev.Before() | ev.Happened() | ev.Prefix():
            return f"{APPLIED[type(E)]}({_show(E.operand, OR)})"
        case ev.Relative() | ev.Prior() | ev.Sequence():
            return f"{APPLIED[type(E)]}({', '.join(_show(F, OR) for F in E.parts)})"
        case ev.FirstAfter(opening, event, closing):
            return f"firstAfter({', '.join(_show(F, OR) for F in (opening, event, closing))})"
        case ev.Exists(x, F):
            return f"exists {x} ({_show(F, OR)})"
        case ev.Let():
            raise ValueError("definitions stand at the beginning of a text, not inside an expression")
        case _:
            assert_never(E)


def _event(name: str, arguments: tuple[ev.Argument, ...]) -> str:
    if not arguments:
        return name
    return f"{name}({', '.join(a if isinstance(a, str) else show_value(a.value) for a in arguments)})"


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def brief(E: ev.Expression) -> str:
    """The text of an expression for an error, cut where it is long."""
    return shorten(show(E), SHOWN)

"""Regular expressions over events, none of which has the empty word.

Letters, here and in every module of this package:
    R  a regular expression     E  an event expression     A  an automaton     p, q  states     a  a type of events
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, assert_never

from cerify.semantics.budget import depth_limited
from cerify.semantics.event_expressions import show as expressions
from cerify.semantics.event_expressions import syntax as expr


@dataclass(frozen=True)
class Nothing:
    """No word at all."""

    size = 1


@dataclass(frozen=True)
class Letter:
    """The words of one event: those at which the event expression takes place when nothing has been before."""

    event: expr.Expression
    size = 1


@dataclass(frozen=True)
class _Pair:
    left: Regular
    right: Regular

    @cached_property
    def size(self) -> int:
        return 1 + self.left.size + self.right.size


class Concatenation(_Pair):
    """A word of the left, and then one of the right."""


class Union(_Pair):
    """The words of both."""


@dataclass(frozen=True)
class Plus:
    """One word after another, one or more."""

    operand: Regular

    @cached_property
    def size(self) -> int:
        return 1 + self.operand.size


Regular: TypeAlias = Nothing | Letter | Concatenation | Union | Plus
"""size is the number of nodes of the tree, in which trees may stand several times."""

UNION, CONCATENATION, PLUS = range(3)  # how tightly an operator binds


def show(R: Regular) -> str:
    """The text: words next to each other for concatenation, | for union, + after what is repeated, ∅ for nothing."""
    with depth_limited():
        return _show(R, UNION)


def _show(R: Regular, level: int) -> str:
    match R:
        case Nothing():
            return "∅"
        case Letter(E):
            simple = isinstance(E, expr.Primitive | expr.AnyEvent | expr.First | expr.Null) or (
                isinstance(E, expr.Not) and isinstance(E.operand, expr.Primitive | expr.Null)
            )
            return expressions.show(E) if simple else f"({expressions.show(E)})"
        case Union(left, right):
            return _parenthesized(f"{_show(left, UNION)} | {_show(right, UNION)}", level > UNION)
        case Concatenation(left, right):
            text = f"{_show(left, CONCATENATION)} {_show(right, CONCATENATION)}"
            return _parenthesized(text, level > CONCATENATION)
        case Plus(operand):
            return f"{_show(operand, PLUS)}+"
        case _:
            assert_never(R)


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def expression(R: Regular) -> expr.Expression:
    """An event expression that takes place at an event just where the history up to it is a word of R.

    The operators of section 2.2 are those of regular expressions: relative is concatenation, relative+ repetition.
    """
    with depth_limited():
        return _expression(R)


def _expression(R: Regular) -> expr.Expression:
    match R:
        case Nothing():
            return expr.Null()
        case Letter(E):
            return expr.And(expr.First(), E)
        case Union(left, right):
            return expr.Or(_expression(left), _expression(right))
        case Concatenation(left, right):
            return expr.Relative((_expression(left), _expression(right)))
        case Plus(operand):
            return expr.RelativePlus(_expression(operand))
        case _:
            assert_never(R)

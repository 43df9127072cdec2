"""The kinds of values of expressions, and the operators whose operands do not fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

from cerify.semantics.predicate_types import Problem
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.resolve import named
from cerify.semantics.row_pattern.show import show_expression
from cerify.semantics.values import Kind, kind

Kinds: TypeAlias = Callable[[rows.Column], Kind | None]
"""The kind of a column; None where it is not known."""

CAST: Mapping[rows.SqlType, Kind] = {
    "BIGINT": "number", "DOUBLE": "number", "VARCHAR": "string", "BOOLEAN": "bool", "TIMESTAMP": "timestamp",
}  # fmt: skip


def kinds_of(known: Mapping[str, Kind | None] | None) -> Kinds:
    """The kinds of columns by their names in a table; None for a table that is not known."""
    return lambda column: None if known is None else known.get(named(column, known))


def kind_of(e: rows.Expression, kinds: Kinds) -> Kind | None:
    """The kind of an expression's values; None where it is not known, as for NULL."""
    match e:
        case rows.Constant(value):
            return None if value is None else kind(value)
        case rows.Column():
            return kinds(e)
        case rows.Classifier():
            return "string"
        case rows.Sum(_, operator, _):
            return "string" if operator == "||" else "number"
        case rows.MatchNumber() | rows.Count() | rows.Negative() | rows.Product() | rows.Absolute():
            return "number"
        case rows.Physical(_, argument) | rows.Logical(_, argument):
            return kind_of(argument, kinds)
        case rows.Aggregate(function, argument):
            return kind_of(argument, kinds) if function in ("MIN", "MAX") else "number"
        case rows.Cast(_, type_):
            return CAST[type_]
        case rows.Coalesce(arguments):
            return _first(arguments, kinds)
        case rows.Case(_, result, otherwise):
            return _first((result, otherwise), kinds)
        case (
            rows.Comparison() | rows.IsNull() | rows.Between() | rows.In() | rows.Like() | rows.Not() | rows.And()
            | rows.Or()
        ):  # fmt: skip
            return "bool"
        case _:
            assert_never(e)


def _first(arguments: Sequence[rows.Expression], kinds: Kinds) -> Kind | None:
    return next((one for one in (kind_of(argument, kinds) for argument in arguments) if one is not None), None)


def type_problems(e: rows.Expression, kinds: Kinds, condition: bool = False) -> Iterator[Problem]:
    """The operators in an expression whose operands are of a kind that they do not take.

    condition: whether the expression itself has to be true or false.
    """

    def of(wanted: Kind, *operands: rows.Expression) -> Iterator[Problem]:
        for operand in operands:
            if (found := kind_of(operand, kinds)) not in (None, wanted):
                rule = {"number": "arithmetic", "string": "like"}.get(wanted, "kind")
                message = f"{show_expression(operand)} is a {found}, and a {wanted} is expected"
                yield Problem(rule, message, operand.span)  # type: ignore[arg-type]

    def alike(*operands: rows.Expression) -> Iterator[Problem]:
        known = [(operand, found) for operand in operands if (found := kind_of(operand, kinds)) is not None]
        for operand, found in known[1:]:
            if found != known[0][1]:
                texts = f"{show_expression(known[0][0])} is a {known[0][1]}, and {show_expression(operand)} a {found}"
                yield Problem("kind", texts, operand.span)

    if condition:
        yield from of("bool", e)
    match e:
        case rows.Constant() | rows.Column() | rows.Classifier() | rows.MatchNumber() | rows.Count():
            pass
        case rows.Physical() | rows.Logical() | rows.Cast() | rows.IsNull():
            pass
        case rows.Aggregate(function, argument):
            if function in ("SUM", "AVG"):
                yield from of("number", argument)
        case rows.Negative(operand) | rows.Absolute(operand):
            yield from of("number", operand)
        case rows.Sum(left, operator, right):
            yield from of("string" if operator == "||" else "number", left, right)
        case rows.Product(left, _, right):
            yield from of("number", left, right)
        case rows.Coalesce(arguments):
            yield from alike(*arguments)
        case rows.Case(tested, result, otherwise):
            yield from of("bool", tested)
            yield from alike(result, otherwise)
        case rows.Comparison() | rows.Between() | rows.In():
            yield from alike(*rows.below(e))
        case rows.Like(operand, pattern):
            yield from of("string", operand, pattern)
        case rows.Not() | rows.And() | rows.Or():
            yield from of("bool", *rows.below(e))
        case _:
            assert_never(e)
    for operand in rows.below(e):
        yield from type_problems(operand, kinds)

"""The types of expressions, and the operators whose operands are of a kind that they do not take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

from cerify.semantics.predicate_types import Problem
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.resolve import named
from cerify.semantics.row_pattern.show import show_expression
from cerify.semantics.trees import subtrees
from cerify.semantics.values import KIND_OF, ValueKind, ValueType, value_type_of

Types: TypeAlias = Callable[[rows.Column], ValueType | None]
"""The type of a column; None where it is not known."""

CAST: Mapping[rows.SqlType, ValueType] = {
    "BIGINT": "int", "DOUBLE": "float", "VARCHAR": "string", "BOOLEAN": "bool", "TIMESTAMP": "timestamp",
}  # fmt: skip

NO_CAST: Mapping[ValueKind, tuple[rows.SqlType, ...]] = {
    "timestamp": ("BIGINT", "DOUBLE", "BOOLEAN"), "number": ("TIMESTAMP",), "bool": ("TIMESTAMP",),
}  # fmt: skip
"""The types to which no value of a kind can be cast."""


def types_of(known: Mapping[str, ValueType | None] | None) -> Types:
    """The types of columns by their names in a table; None for a table that is not known."""
    return lambda column: None if known is None else known.get(named(column, known))


def type_of(e: rows.Expression, types: Types) -> ValueType | None:
    """The type of an expression's values, as the decided reading has them; None where it is not known, as for NULL.

    An integer counts as a float where other values of the expression are floats.
    """
    match e:
        case rows.Constant(value):
            return None if value is None else value_type_of(value)
        case rows.Column():
            return types(e)
        case rows.Classifier():
            return "string"
        case rows.Sum(left, operator, right):
            return "string" if operator == "||" else _number((left, right), types)
        case rows.Product(left, _, right):
            return _number((left, right), types)
        case rows.Negative(operand) | rows.Absolute(operand):
            return _number((operand,), types)
        case rows.MatchNumber() | rows.Count():
            return "int"
        case rows.Physical(_, argument) | rows.Logical(_, argument):
            return type_of(argument, types)
        case rows.Aggregate(function, argument):
            if function in ("MIN", "MAX"):
                return type_of(argument, types)
            return {"COUNT": "int", "AVG": "float"}.get(function) or _number((argument,), types)  # type: ignore[return-value]
        case rows.Cast(_, type_):
            return CAST[type_]
        case rows.Coalesce(arguments):
            return _joined(arguments, types)
        case rows.Case(_, result, otherwise):
            return _joined((result, otherwise), types)
        case (
            rows.Comparison() | rows.IsNull() | rows.Between() | rows.In() | rows.Like() | rows.Not() | rows.And()
            | rows.Or()
        ):  # fmt: skip
            return "bool"
        case _:
            assert_never(e)


def _joined(operands: Sequence[rows.Expression], types: Types) -> ValueType | None:
    found = [one for one in (type_of(operand, types) for operand in operands) if one is not None]
    return "float" if found[:1] == ["int"] and "float" in found else next(iter(found), None)


def _number(operands: Sequence[rows.Expression], types: Types) -> ValueType:
    return "float" if any(type_of(operand, types) == "float" for operand in operands) else "int"


def whole_divisions(e: rows.Expression, types: Types) -> Iterator[rows.Product]:
    """The divisions of whole numbers in an expression, in which the decided reading drops what is after the point."""
    for node in subtrees(e):
        if not isinstance(node, rows.Product) or node.operator != "/":
            continue
        if {type_of(operand, types) for operand in rows.below(node)} == {"int"}:
            yield node


def type_problems(e: rows.Expression, types: Types, condition: bool = False) -> Iterator[Problem]:
    """The operators in an expression whose operands are of a kind that they do not take.

    condition: whether the expression itself has to be true or false.
    """

    def kind_of(operand: rows.Expression) -> ValueKind | None:
        return None if (found := type_of(operand, types)) is None else KIND_OF[found]

    def of(wanted: ValueKind, *operands: rows.Expression) -> Iterator[Problem]:
        for operand in operands:
            if (found := kind_of(operand)) not in (None, wanted):
                rule = {"number": "arithmetic", "string": "like"}.get(wanted, "kind")
                message = f"{show_expression(operand)} is a {found}, and a {wanted} is expected"
                yield Problem(rule, message, operand.span)  # type: ignore[arg-type]

    def alike(*operands: rows.Expression) -> Iterator[Problem]:
        known = [(operand, found) for operand in operands if (found := kind_of(operand)) is not None]
        for operand, found in known[1:]:
            if found != known[0][1]:
                texts = f"{show_expression(known[0][0])} is a {known[0][1]}, and {show_expression(operand)} a {found}"
                yield Problem("kind", texts, operand.span)

    if condition:
        yield from of("bool", e)
    match e:
        case rows.Constant() | rows.Column() | rows.Classifier() | rows.MatchNumber() | rows.Count():
            pass
        case rows.Physical() | rows.Logical() | rows.IsNull():
            pass
        case rows.Cast(operand, type_):
            if (known := kind_of(operand)) is not None and type_ in NO_CAST.get(known, ()):
                message = f"{show_expression(operand)} is a {known}, and a CAST of it to {type_} is always NULL"
                yield Problem("kind", message, e.span, advice="use a column of the other kind, as a time in seconds")
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
        yield from type_problems(operand, types)

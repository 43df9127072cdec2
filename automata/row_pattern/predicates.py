"""Conditions on one row, as CEL and MATCH_RECOGNIZE have them: comparisons of columns and constants, AND, OR.

On these the two languages agree: a comparison with a column that is missing is never true. NOT is no part of it: in SQL
NOT of an unknown comparison is unknown, in CEL it is true. Nor is the order of booleans, which CEL does not have: no
constant that is compared by order is one, and columns that are compared with each other by order must hold none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cerify.semantics import predicates as pred
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TYPE
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.values import Value

IN_SQL: Mapping[pred.Comparator, str] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "!=": "<>"}
IN_CEL = {sql: cel for cel, sql in IN_SQL.items()}


def predicate_of(e: rows.Expression, own: Collection[str]) -> pred.Predicate:
    """The predicate on one event that is a condition of SQL; own: the variables that stand for the row's.

    Raises Unsupported for a condition that is none.
    """
    match e:
        case rows.And(left, right):
            return pred.Both(predicate_of(left, own), predicate_of(right, own))
        case rows.Or(left, right):
            return pred.Either(predicate_of(left, own), predicate_of(right, own))
        case rows.Comparison(rows.Column(name), "=", rows.Constant(str(R))) if name.lower() == TYPE:
            return pred.OfType(R)
        case rows.Comparison(left, operator, right) if operator in ("=", "<>") or _has_order(left, right):
            return pred.Comparison(IN_CEL[operator], _term(left, own), _term(right, own))
        case rows.Between(operand, rows.Constant(low), rows.Constant(high), False) if _is_ordered(low, high):
            return pred.InRange(_term(operand, own), low, high)  # type: ignore[arg-type]
        case rows.In(operand, items, False) if all(isinstance(one, rows.Constant) for one in items):
            found = [one.value for one in items if isinstance(one, rows.Constant) and one.value is not None]
            return pred.OneOf(_term(operand, own), tuple(found))
        case _:
            raise Unsupported(
                "only comparisons of columns and constants, BETWEEN, IN, AND and OR are translated, and no order of "
                "booleans",
                e.span,
            )


def _term(e: rows.Expression, own: Collection[str]) -> pred.Term:
    match e:
        case rows.Constant(value) if value is not None:
            return pred.Constant(value)
        case rows.Column(name, A) if (A is None or A in own) and name.lower() != TYPE:
            return pred.Attribute(name)
        case rows.Column(_, A) if A is not None and A not in own:
            raise Unsupported("the condition looks at another row than the one that it is about", e.span)
        case _:
            raise Unsupported("the condition is not one on the columns of the row alone", e.span)


def expression_of(predicate: pred.Predicate) -> rows.Expression:
    """The condition of SQL that is true of the same rows. Raises Unsupported for a predicate that has none here."""
    match predicate:
        case pred.OfType(R):
            return rows.Comparison(rows.Column(TYPE), "=", rows.Constant(R))
        case pred.Both(left, right):
            return rows.And(expression_of(left), expression_of(right))
        case pred.Either(left, right):
            return rows.Or(expression_of(left), expression_of(right))
        case pred.Comparison(comparator, left, right) if comparator in ("=", "!=") or _has_order(left, right):
            return rows.Comparison(_value(left), IN_SQL[comparator], _value(right))  # type: ignore[arg-type]
        case pred.OneOf(term, values):
            return rows.In(_value(term), tuple(map(rows.Constant, values)))
        case pred.InRange(term, low, high) if _is_ordered(low, high):
            return rows.Between(_value(term), rows.Constant(low), rows.Constant(high))
        case _:
            raise Unsupported("NOT, patterns of strings and the order of booleans are not translated to SQL")


def _has_order(*operands: rows.Expression | pred.Term) -> bool:
    """Whether the constants among the operands are ordered alike in both languages."""
    return _is_ordered(*(one.value for one in operands if isinstance(one, rows.Constant | pred.Constant)))


def _is_ordered(*values: Value | None) -> bool:
    """Whether none of the values is NULL or a boolean."""
    return not any(value is None or isinstance(value, bool) for value in values)


def _value(term: pred.Term) -> rows.Expression:
    match term:
        case pred.Attribute(name):
            return rows.Column(name)
        case pred.Constant(value):
            return rows.Constant(value)
        case pred.Arithmetic():
            raise Unsupported("arithmetic is not translated to SQL, whose division of whole numbers drops the rest")

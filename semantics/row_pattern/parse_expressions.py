"""From text to the expressions of MATCH_RECOGNIZE: the rules of the grammar from `expression` on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics.errors import ParseError, Span, Unsupported
from cerify.semantics.parsing import number_of, span_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.values import parse_time

TYPES: dict[str, rows.SqlType] = {
    "BIGINT": "BIGINT", "INTEGER": "BIGINT", "INT": "BIGINT",
    "DOUBLE": "DOUBLE", "FLOAT": "DOUBLE", "REAL": "DOUBLE",
    "VARCHAR": "VARCHAR", "BOOLEAN": "BOOLEAN", "TIMESTAMP": "TIMESTAMP",
}  # fmt: skip
FUNCTIONS = (
    *("PREV", "NEXT", "FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX"),
    *("CLASSIFIER", "MATCH_NUMBER", "ABS", "COALESCE", "CAST"),
)
MEANT = {
    "LAG": "PREV", "LEAD": "NEXT", "FIRST_VALUE": "FIRST", "LAST_VALUE": "LAST",
    "NVL": "COALESCE", "IFNULL": "COALESCE",
    "NULLIF": "CASE WHEN a = b THEN NULL ELSE a END",
}  # fmt: skip
"""Functions of other places in SQL that are often meant."""


@dataclass(frozen=True)
class Identifier:
    """A name as it is written, and whether in quotation marks."""

    name: str
    quoted: bool

    @property
    def variable(self) -> str:
        """The name of a variable that it is."""
        return self.name if self.quoted else self.name.upper()


@v_args(meta=True, inline=True)
class ExpressionBuilder(Transformer_NonRecursive[Token, Any]):
    """One method for each alternative of the grammar's expressions, in the grammar's order."""

    def identifier(self, meta: Meta, token: Token) -> Identifier:
        quoted = token.type == "QUOTED"
        return Identifier(str(token)[1:-1].replace('""', '"') if quoted else str(token), quoted)

    def disjunction(self, meta: Meta, left: rows.Expression, right: rows.Expression) -> rows.Expression:
        return rows.Or(left, right, span=span_of(meta))

    def conjunction(self, meta: Meta, left: rows.Expression, right: rows.Expression) -> rows.Expression:
        return rows.And(left, right, span=span_of(meta))

    def inverted(self, meta: Meta, mark: Token, e: rows.Expression) -> rows.Expression:
        return rows.Not(e, span=span_of(meta))

    def comparison(self, meta: Meta, left: rows.Expression, op: Token, right: rows.Expression) -> rows.Expression:
        operator = cast("Any", "<>" if op == "!=" else str(op))
        return rows.Comparison(left, operator, right, span=span_of(meta))

    def is_null(self, meta: Meta, e: rows.Expression, *negated: Token) -> rows.Expression:
        return rows.IsNull(e, bool(negated), span=span_of(meta))

    def is_truth(self, meta: Meta, e: rows.Expression, *rest: Token) -> rows.Expression:
        """e IS TRUE is COALESCE(e, FALSE), and e IS FALSE is NOT COALESCE(e, TRUE)."""
        *negated, truth = rest
        is_true, span = truth.upper() == "TRUE", span_of(meta)
        known = rows.Coalesce((e, rows.Constant(not is_true, span=span)), span=span)
        return known if is_true != bool(negated) else rows.Not(known, span=span)

    def between(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        *negated, low, high = rest
        return rows.Between(e, low, high, bool(negated), span=span_of(meta))

    def in_list(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        items: Any = tuple(one for one in rest if isinstance(one, rows.Node))
        return rows.In(e, items, any(is_token(one, "NOT") for one in rest), span=span_of(meta))

    def like(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        pattern: Any = next(one for one in rest if isinstance(one, rows.Node))
        escape = tuple(_unquoted(one) for one in rest if is_token(one, "STRING"))
        if escape and len(escape[0]) != 1:
            raise ParseError("ESCAPE is followed by one character in quotation marks", span_of(meta))
        negated = any(is_token(one, "NOT") for one in rest)
        return rows.Like(e, pattern, escape, negated, span=span_of(meta))

    def arithmetic(self, meta: Meta, left: rows.Expression, op: Token, right: rows.Expression) -> rows.Expression:
        made = rows.Product if op in ("*", "/", "%") else rows.Sum
        return made(left, cast("Any", str(op)), right, span=span_of(meta))

    def negative(self, meta: Meta, minus: Token, e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.Constant) and isinstance(e.value, int | float) and not isinstance(e.value, bool):
            return rows.Constant(-e.value, span=span_of(meta))
        return rows.Negative(e, span=span_of(meta))

    def column(self, meta: Meta, one: Identifier) -> rows.Expression:
        return rows.Column(one.name, None, one.quoted, span=span_of(meta))

    def qualified(self, meta: Meta, variable: Identifier, one: Identifier) -> rows.Expression:
        return rows.Column(one.name, variable.variable, one.quoted, span=span_of(meta))

    def classifier(self, meta: Meta, variable: str | None = None) -> rows.Expression:
        return rows.Classifier(variable, span=span_of(meta))

    def match_number(self, meta: Meta) -> rows.Expression:
        return rows.MatchNumber(span=span_of(meta))

    def physical(self, meta: Meta, function: Token, e: rows.Expression, *rest: Token) -> rows.Expression:
        return rows.Physical(cast("Any", function.upper()), e, _offset(rest, 1), span=span_of(meta))

    def logical(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (function, e, *rest) = _semantics(parts)
        return rows.Logical(function.upper(), e, _offset(rest, 0), semantics, span=span_of(meta))

    def count_rows(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (_, *rest) = _semantics(parts)
        variable = next((one.variable for one in rest if isinstance(one, Identifier)), None)
        return rows.Count(variable, semantics, span=span_of(meta))

    def aggregate(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (function, e) = _semantics(parts)
        return rows.Aggregate(function.upper(), e, semantics, span=span_of(meta))

    def distinct(self, meta: Meta, *parts: Any) -> None:
        raise Unsupported("aggregates of distinct values are not carried", span_of(meta))

    def other_function(self, meta: Meta, name: Token, *arguments: rows.Expression) -> None:
        found = f"did you mean {MEANT[name.upper()]}?" if name.upper() in MEANT else f"there are {', '.join(FUNCTIONS)}"
        raise Unsupported(f"there is no function {name}; {found}", span_of(name))

    def other_literal(self, meta: Meta, token: Token) -> None:
        kind = re.split("[^A-Z]", token.upper())[0]
        mend = "a time is written TIMESTAMP '2013-01-31 14:05:00'"
        if kind == "INTERVAL":
            mend = "give the times in a column of numbers, such as seconds, whose difference is one"
        raise Unsupported(f"there are no values of type {kind}; {mend}", span_of(token))

    def absolute(self, meta: Meta, e: rows.Expression) -> rows.Expression:
        return rows.Absolute(e, span=span_of(meta))

    def coalesce(self, meta: Meta, *arguments: rows.Expression) -> rows.Expression:
        return rows.Coalesce(arguments, span=span_of(meta))

    def cast(self, meta: Meta, e: rows.Expression, type_: Token) -> rows.Expression:
        return rows.Cast(e, TYPES[type_.upper().split()[0]], span=span_of(meta))

    def searched_case(self, meta: Meta, *parts: Any) -> rows.Expression:
        return _case(_pairs(parts), _otherwise(parts), span_of(meta))

    def simple_case(self, meta: Meta, e: rows.Expression, *parts: Any) -> rows.Expression:
        whens = [(rows.Comparison(e, "=", c, span=c.span), result) for c, result in _pairs(parts)]
        return _case(whens, _otherwise(parts), span_of(meta))

    def when(self, meta: Meta, condition: rows.Expression, result: rows.Expression) -> Any:
        return condition, result

    def otherwise(self, meta: Meta, e: rows.Expression) -> rows.Expression:
        return e

    def number(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.Constant(number_of(token), span=span_of(meta))

    def string(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.Constant(_unquoted(token), span=span_of(meta))

    def truth(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.Constant(token.upper() == "TRUE", span=span_of(meta))

    def null(self, meta: Meta) -> rows.Expression:
        return rows.Constant(None, span=span_of(meta))

    def timestamp(self, meta: Meta, token: Token) -> rows.Expression:
        text = str(token).split("'")[1]
        try:
            return rows.Constant(parse_time(text), span=span_of(meta))
        except ValueError as error:
            raise ParseError(f"{text!r} {error}", span_of(meta)) from None


def _case(whens: list[Any], otherwise: rows.Expression, span: Span) -> rows.Expression:
    for condition, result in reversed(whens):
        otherwise = rows.Case(condition, result, otherwise, span=span)
    return otherwise


def _pairs(parts: tuple[Any, ...]) -> list[Any]:
    return [one for one in parts if isinstance(one, tuple)]


def _otherwise(parts: tuple[Any, ...]) -> Any:
    return next((one for one in parts if isinstance(one, rows.Node)), rows.Constant(None))


def _semantics(parts: tuple[Any, ...]) -> tuple[rows.Semantics, Any]:
    if is_token(parts[0], "SEMANTICS"):
        return parts[0].upper(), parts[1:]
    return "RUNNING", parts


def _offset(rest: Any, default: int) -> int:
    numbers = [one for one in rest if is_token(one, "NUMBER")]
    return whole(numbers[0]) if numbers else default


def whole(token: Token) -> int:
    """The whole number that a token writes. Raises ParseError for another number."""
    number = number_of(token)
    if not isinstance(number, int):
        raise ParseError("a whole number is expected here", span_of(token))
    return number


def is_token(one: Any, type_: str) -> bool:
    """Whether it is a token of that type."""
    return isinstance(one, Token) and one.type == type_


def _unquoted(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")

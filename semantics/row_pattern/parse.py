"""From text to a clause of MATCH_RECOGNIZE, with errors that know their place in the text.

The tree is the clause with its abbreviations written out: a simple CASE is one of comparisons, ALL ROWS PER MATCH shows
empty matches, AFTER MATCH SKIP TO A is SKIP TO LAST A, and an identifier without quotation marks is in upper case where
it names a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Span, Unsupported, errors_in
from cerify.semantics.parsing import MAX_DEPTH, number_of, parsed, span_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize, Measure, Order, RowsPerMatch, Skip, Subset
from cerify.semantics.trees import children
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
ROWS: dict[str, RowsPerMatch] = {"OMIT": "all omit empty", "WITH": "all with unmatched", "SHOW": "all"}


def parse(text: str) -> MatchRecognize:
    """The clause that the text writes. Raises ParseError, Unsupported, or BudgetExceeded if it is nested too deeply."""
    q = cast("MatchRecognize", parsed(text, _parser(), _Builder()))
    with errors_in(text):
        for root in (q.pattern, *q.expressions):
            if _depth(root) > MAX_DEPTH:
                raise BudgetExceeded(f"the clause is nested more than {MAX_DEPTH} operators deep", root.span)
    return q


@cache
def _parser() -> Lark:
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _depth(root: rows.Node) -> int:
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        pending.extend((child, depth + 1) for child in children(node))
    return deepest


@dataclass(frozen=True)
class _Identifier:
    name: str
    quoted: bool

    @property
    def variable(self) -> str:
        """The name of a variable that it is."""
        return self.name if self.quoted else self.name.upper()


@dataclass(frozen=True)
class _Clause:
    """A clause by the field of MatchRecognize that it is."""

    field: str
    value: Any


@v_args(meta=True, inline=True)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """One method for each alternative of the grammar, in the grammar's order."""

    def clause(self, meta: Meta, *clauses: _Clause) -> MatchRecognize:
        return MatchRecognize(**{one.field: one.value for one in clauses}, span=span_of(meta))

    def partition(self, meta: Meta, *columns: rows.Column) -> _Clause:
        return _Clause("partition", columns)

    def order(self, meta: Meta, *orders: Order) -> _Clause:
        return _Clause("order", orders)

    def sort(self, meta: Meta, column: rows.Column, *marks: Token) -> Order:
        texts = {mark.type: mark.upper() for mark in marks}
        nulls = texts["NULLS"].split()[1] if "NULLS" in texts else None
        return Order(column, texts.get("DIRECTION") == "DESC", cast("Any", nulls))

    def column_name(self, meta: Meta, one: _Identifier) -> rows.Column:
        return rows.Column(one.name, None, one.quoted, span=span_of(meta))

    def measures(self, meta: Meta, *measures: Measure) -> _Clause:
        return _Clause("measures", measures)

    def measure(self, meta: Meta, e: rows.Expression, one: _Identifier) -> Measure:
        return Measure(e, one.name, one.quoted, span_of(meta))

    def rows_per_match(self, meta: Meta, token: Token) -> _Clause:
        words = token.upper().split()
        return _Clause("rows", "one" if words[0] == "ONE" else ROWS[words[4] if len(words) > 4 else "SHOW"])

    def skip_place(self, meta: Meta, token: Token) -> _Clause:
        to = " ".join(token.lower().split()[3:]).removeprefix("to ")
        return _Clause("skip", Skip(cast("Any", to), None, span_of(meta)))

    def skip_variable(self, meta: Meta, token: Token, variable: str) -> _Clause:
        first = token.upper().endswith("FIRST")
        return _Clause("skip", Skip("first" if first else "last", variable, span_of(meta)))

    def pattern_clause(self, meta: Meta, keyword: Token, pattern: rows.Pattern, *_: None) -> _Clause:
        if keyword.upper() != "PATTERN":
            raise Unsupported(
                "INITIAL and SEEK are of the WINDOW clause (feature R020), which is not supported", span_of(keyword)
            )
        return _Clause("pattern", pattern)

    def within(self, meta: Meta, token: Token) -> None:
        raise Unsupported(
            "WITHIN is no part of the standard; compare a column with FIRST of it in DEFINE", span_of(token)
        )

    def subset(self, meta: Meta, *unions: Subset) -> _Clause:
        return _Clause("subsets", unions)

    def union(self, meta: Meta, name: str, *members: str) -> Subset:
        return Subset(name, members, span_of(meta))

    def define(self, meta: Meta, *definitions: Definition) -> _Clause:
        return _Clause("define", definitions)

    def definition(self, meta: Meta, variable: str, e: rows.Expression) -> Definition:
        return Definition(variable, e, span_of(meta))

    # --- patterns ---

    def alternation(self, meta: Meta, left: rows.Pattern, right: rows.Pattern) -> rows.Pattern:
        return rows.Alternation(left, right, span=span_of(meta))

    def concatenation(self, meta: Meta, left: rows.Pattern, right: rows.Pattern) -> rows.Pattern:
        return rows.Concatenation(left, right, span=span_of(meta))

    def quantified(self, meta: Meta, p: rows.Pattern, bounds: tuple[int, int | None, bool]) -> rows.Pattern:
        low, high, greedy = bounds
        if high is not None and high < low:
            raise ParseError(f"a quantifier from {low} to {high} iterations: the first number is the smaller one",
                             span_of(meta))  # fmt: skip
        return rows.Quantified(p, low, high, greedy, span=span_of(meta))

    def primary_variable(self, meta: Meta, name: str) -> rows.Pattern:
        return rows.Variable(name, span=span_of(meta))

    def empty(self, meta: Meta) -> rows.Pattern:
        return rows.Empty(span=span_of(meta))

    def first_row(self, meta: Meta) -> rows.Pattern:
        return rows.Anchor("start", span=span_of(meta))

    def last_row(self, meta: Meta) -> rows.Pattern:
        return rows.Anchor("end", span=span_of(meta))

    def exclusion(self, meta: Meta, p: rows.Pattern) -> rows.Pattern:
        return rows.Exclusion(p, span=span_of(meta))

    def permute(self, meta: Meta, *parts: rows.Pattern) -> rows.Pattern:
        return rows.Permute(parts, span=span_of(meta))

    def any_number(self, meta: Meta, *marks: Token) -> tuple[int, int | None, bool]:
        return 0, None, len(marks) == 1

    def at_least_one(self, meta: Meta, *marks: Token) -> tuple[int, int | None, bool]:
        return 1, None, len(marks) == 1

    def at_most_one(self, meta: Meta, *marks: Token) -> tuple[int, int | None, bool]:
        return 0, 1, len(marks) == 1

    def exactly(self, meta: Meta, number: Token, *marks: Token) -> tuple[int, int | None, bool]:
        return _whole(number), _whole(number), not marks

    def between_numbers(self, meta: Meta, *tokens: Token) -> tuple[int, int | None, bool]:
        greedy = tokens[-1].type != "RELUCTANT"
        comma = next(i for i, token in enumerate(tokens) if token.type == "COMMA")
        low, high = tokens[:comma], [token for token in tokens[comma + 1 :] if token.type == "NUMBER"]
        return _whole(low[0]) if low else 0, _whole(high[0]) if high else None, greedy

    def variable(self, meta: Meta, one: _Identifier) -> str:
        return one.variable

    def identifier(self, meta: Meta, token: Token) -> _Identifier:
        quoted = token.type == "QUOTED"
        return _Identifier(str(token)[1:-1].replace('""', '"') if quoted else str(token), quoted)

    # --- expressions ---

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

    def between(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        *negated, low, high = rest
        return rows.Between(e, low, high, bool(negated), span=span_of(meta))

    def in_list(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        items: Any = tuple(one for one in rest if isinstance(one, rows.Node))
        return rows.In(e, items, any(_is_token(one, "NOT") for one in rest), span=span_of(meta))

    def like(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        pattern: Any = next(one for one in rest if isinstance(one, rows.Node))
        escape = tuple(_unquoted(one) for one in rest if _is_token(one, "STRING"))
        if escape and len(escape[0]) != 1:
            raise ParseError("ESCAPE is followed by one character in quotation marks", span_of(meta))
        negated = any(_is_token(one, "NOT") for one in rest)
        return rows.Like(e, pattern, escape, negated, span=span_of(meta))

    def arithmetic(self, meta: Meta, left: rows.Expression, op: Token, right: rows.Expression) -> rows.Expression:
        made = rows.Product if op in ("*", "/", "%") else rows.Sum
        return made(left, cast("Any", str(op)), right, span=span_of(meta))

    def negative(self, meta: Meta, minus: Token, e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.Constant) and isinstance(e.value, int | float) and not isinstance(e.value, bool):
            return rows.Constant(-e.value, span=span_of(meta))
        return rows.Negative(e, span=span_of(meta))

    def column(self, meta: Meta, one: _Identifier) -> rows.Expression:
        return rows.Column(one.name, None, one.quoted, span=span_of(meta))

    def qualified(self, meta: Meta, variable: _Identifier, one: _Identifier) -> rows.Expression:
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
        variable = next((one.variable for one in rest if isinstance(one, _Identifier)), None)
        return rows.Count(variable, semantics, span=span_of(meta))

    def aggregate(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (function, e) = _semantics(parts)
        return rows.Aggregate(function.upper(), e, semantics, span=span_of(meta))

    def distinct(self, meta: Meta, *parts: Any) -> None:
        raise Unsupported("aggregates of distinct values are not carried", span_of(meta))

    def other_function(self, meta: Meta, name: Token, *arguments: rows.Expression) -> None:
        raise Unsupported(f"there is no function {name}; there are {', '.join(FUNCTIONS)}", span_of(name))

    def other_literal(self, meta: Meta, token: Token) -> None:
        kind = token.split("'")[0].strip().upper()
        raise Unsupported(
            f"there are no values of type {kind}; a time is written TIMESTAMP '2013-01-31 14:05:00'", span_of(token)
        )

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
        except (ValueError, OverflowError):
            raise ParseError(f"{text!r} is not a time, such as 2013-01-31 14:05:00", span_of(meta)) from None


def _case(whens: list[Any], otherwise: rows.Expression, span: Span) -> rows.Expression:
    for condition, result in reversed(whens):
        otherwise = rows.Case(condition, result, otherwise, span=span)
    return otherwise


def _pairs(parts: tuple[Any, ...]) -> list[Any]:
    return [one for one in parts if isinstance(one, tuple)]


def _otherwise(parts: tuple[Any, ...]) -> Any:
    return next((one for one in parts if isinstance(one, rows.Node)), rows.Constant(None))


def _semantics(parts: tuple[Any, ...]) -> tuple[rows.Semantics, Any]:
    if _is_token(parts[0], "SEMANTICS"):
        return parts[0].upper(), parts[1:]
    return "RUNNING", parts


def _offset(rest: Any, default: int) -> int:
    numbers = [one for one in rest if _is_token(one, "NUMBER")]
    return _whole(numbers[0]) if numbers else default


def _whole(token: Token) -> int:
    number = number_of(token)
    if not isinstance(number, int):
        raise ParseError("a whole number is expected here", span_of(token))
    return number


def _is_token(one: Any, type_: str) -> bool:
    return isinstance(one, Token) and one.type == type_


def _unquoted(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")

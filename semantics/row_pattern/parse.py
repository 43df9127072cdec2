"""From text to a clause of MATCH_RECOGNIZE or WINDOW, with errors that know their place in the text.

The tree is the clause with its abbreviations written out: a simple CASE is one of comparisons, ALL ROWS PER MATCH shows
empty matches, AFTER MATCH SKIP TO A is SKIP TO LAST A, and an identifier without quotation marks is in upper case where
it names a variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.errors import BudgetExceeded, ParseError, Unsupported, errors_in
from cerify.semantics.parsing import MAX_DEPTH, parsed, parser_of, span_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import (
    Definition,
    MatchRecognize,
    Measure,
    Order,
    RowsPerMatch,
    Skip,
    Subset,
    Window,
)
from cerify.semantics.row_pattern.parse_expressions import ExpressionBuilder, Identifier, whole
from cerify.semantics.row_pattern.syntax_errors import explained_clause
from cerify.semantics.trees import children, depth

FRAME = re.compile(r"ROWS BETWEEN CURRENT ROW AND (?:CURRENT ROW|UNBOUNDED FOLLOWING|([0-9]{1,18}) FOLLOWING)")
ROWS: dict[str, RowsPerMatch] = {"OMIT": "all omit empty", "WITH": "all with unmatched", "SHOW": "all"}


def parse(text: str) -> MatchRecognize:
    """The clause that the text writes. Raises ParseError, Unsupported, or BudgetExceeded if it is nested too deeply."""
    q = cast("MatchRecognize", parsed(text, parser_of("cerify.semantics.row_pattern"), _Builder(), explained_clause))
    with errors_in(text):
        for root in (q.pattern, *q.expressions):
            if depth(root, children) > MAX_DEPTH:
                raise BudgetExceeded(f"the clause is nested more than {MAX_DEPTH} operators deep", root.span)
    return q


@dataclass(frozen=True)
class _Clause:
    """A clause by the field of MatchRecognize that it is."""

    field: str
    value: Any


@v_args(meta=True, inline=True)
class _Builder(ExpressionBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def clause(self, meta: Meta, *clauses: _Clause) -> MatchRecognize:
        return MatchRecognize(**{one.field: one.value for one in clauses}, span=span_of(meta))

    def window(self, meta: Meta, *clauses: _Clause) -> MatchRecognize:
        found = {one.field: one.value for one in clauses}
        seek = found.pop("search", "INITIAL").upper() == "SEEK"
        return MatchRecognize(**found | {"window": Window(found["window"], seek)}, span=span_of(meta))

    def partition(self, meta: Meta, *columns: rows.Column) -> _Clause:
        return _Clause("partition", columns)

    def order(self, meta: Meta, *orders: Order) -> _Clause:
        return _Clause("order", orders)

    def sort(self, meta: Meta, column: rows.Column, *marks: Token) -> Order:
        texts = {mark.type: mark.upper() for mark in marks}
        nulls = texts["NULLS"].split()[1] if "NULLS" in texts else None
        return Order(column, texts.get("DIRECTION") == "DESC", cast("Any", nulls))

    def column_name(self, meta: Meta, one: Identifier) -> rows.Column:
        return rows.Column(one.name, None, one.quoted, span=span_of(meta))

    def measures(self, meta: Meta, *measures: Measure) -> _Clause:
        return _Clause("measures", measures)

    def measure(self, meta: Meta, e: rows.Expression, one: Identifier) -> Measure:
        return Measure(e, one.name, one.quoted, span_of(meta))

    def measure_without_as(self, meta: Meta, e: rows.Expression, one: Identifier) -> None:
        raise ParseError(f"AS is missing: a measure is an expression AS {one.name}", span_of(meta))

    def rows_per_match(self, meta: Meta, token: Token) -> _Clause:
        words = token.upper().split()
        return _Clause("rows", "one" if words[0] == "ONE" else ROWS[words[4] if len(words) > 4 else "SHOW"])

    def frame(self, meta: Meta, token: Token) -> _Clause:
        if (found := FRAME.fullmatch(" ".join(token.upper().split()))) is None:
            raise ParseError(
                "the rows of a row pattern are ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or AND n FOLLOWING",
                span_of(token),
            )
        unbounded = "UNBOUNDED" in found[0]
        return _Clause("window", None if unbounded else int(found[1] or 0))

    def search(self, meta: Meta, token: Token) -> _Clause:
        return _Clause("search", token)

    def skip_place(self, meta: Meta, token: Token) -> _Clause:
        to = " ".join(token.lower().split()[3:]).removeprefix("to ")
        return _Clause("skip", Skip(cast("Any", to), None, span_of(meta)))

    def skip_variable(self, meta: Meta, token: Token, variable: str) -> _Clause:
        first = token.upper().endswith("FIRST")
        return _Clause("skip", Skip("first" if first else "last", variable, span_of(meta)))

    def pattern_clause(self, meta: Meta, pattern: rows.Pattern, *_: None) -> _Clause:
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
        return whole(number), whole(number), not marks

    def between_numbers(self, meta: Meta, *tokens: Token) -> tuple[int, int | None, bool]:
        greedy = tokens[-1].type != "RELUCTANT"
        comma = next(i for i, token in enumerate(tokens) if token.type == "COMMA")
        low, high = tokens[:comma], [token for token in tokens[comma + 1 :] if token.type == "NUMBER"]
        return whole(low[0]) if low else 0, whole(high[0]) if high else None, greedy

    def variable(self, meta: Meta, one: Identifier) -> str:
        return one.variable

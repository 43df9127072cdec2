"""Mutants that get conditions and measures wrong: navigation, aggregates, CLASSIFIER, MATCH_NUMBER, NULL, operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from cerify.hypotheses.row_pattern import NEVER, NULL, TRUE, Departure, Looked, in_expressions, semantics
from cerify.semantics import trees
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import MatchRecognize
from proofs_tests.tools.mutants.row_pattern.model import wrong

ZERO, ONE = rows.RowConstant(0), rows.RowConstant(1)
NODES = rows.Logical | rows.Count | rows.RowAggregate


def reads(
    kind: Any, other: Callable[[Any], rows.Expression], when: Callable[[Any], bool] = bool, measures: bool = True
) -> Departure:
    """Another expression in place of each one of a kind of which `when` is true."""
    return Departure(
        clause=in_expressions(lambda e: other(e) if isinstance(e, kind) and when(e) else e, measures=measures)
    )


def conditions(other: Callable[[rows.Expression], rows.Expression]) -> Departure:
    """Another condition in place of each one of DEFINE."""
    return Departure(
        clause=lambda q: replace(q, define=tuple(replace(one, condition=other(one.condition)) for one in q.define))
    )


def unqualified(e: Any) -> Any:
    """Columns and CLASSIFIER without their variable."""
    return in_expression(lambda n: replace(n, variable=None) if isinstance(n, rows.RowColumn | rows.Classifier) else n)(
        e
    )


def in_expression(other: Callable[[Any], rows.Expression]) -> Callable[[Any], rows.Expression]:
    """Another node in place of each one of an expression."""

    def changed(e: Any) -> Any:
        below = rows.below(e)
        return other(trees.rebuilt(e, [changed(one) for one in below]) if below else e)

    return changed


def _calls(name: str, *functions: str) -> Callable[[Any], bool]:
    return lambda e: e.function in (name, *functions)


def function(kind: Any, old: str, new: str) -> Departure:
    """One function is another."""
    return reads(kind, lambda e: replace(e, function=new), _calls(old))


def when_null(e: Any, instead: rows.Expression) -> rows.Expression:
    return rows.Coalesce((e, instead))


def unknown_if_any(e: Any) -> rows.Expression:
    """NULL where an operand is."""
    return rows.RowCase(rows.RowOr(rows.IsNull(e.left), rows.IsNull(e.right)), NULL, e)


def shows(looked: Looked) -> Departure:
    """Measures look at another frame."""
    return Departure(shows=looked)


def physical_of(e: rows.Logical) -> rows.Expression:
    """An offset of FIRST and LAST that counts rows of the partition."""
    return rows.Physical("NEXT" if e.function == "FIRST" else "PREV", replace(e, offset=0), e.offset)


def in_lower_case(e: rows.Classifier) -> rows.Expression:
    found: rows.Expression = e
    for name in "ABCDE":
        found = rows.RowCase(rows.RowComparison(e, "=", rows.RowConstant(name)), rows.RowConstant(name.lower()), found)
    return found


def pattern_of(change: Callable[[str], str]) -> Departure:
    """LIKE with another pattern."""

    def other(e: rows.RowLike) -> rows.Expression:
        given = e.pattern
        known = isinstance(given, rows.RowConstant) and isinstance(given.value, str)
        return replace(e, pattern=rows.RowConstant(change(str(given.value)))) if known else e  # type: ignore[union-attr]

    return reads(rows.RowLike, other)


def compares(old: str, new: str) -> Departure:
    """One comparison is another."""
    return reads(rows.RowComparison, lambda e: replace(e, operator=new), lambda e: e.operator == old)


def without_last(e: Any) -> Any:
    """An aggregate without the current row, as far as sums and counts of rows go."""
    if isinstance(e, rows.Count):
        return rows.Sum(e, "-", rows.RowCase(rows.RowComparison(e, ">", ZERO), ONE, ZERO))
    return rows.Sum(e, "-", rows.Coalesce((rows.Logical("LAST", e.argument, 0, e.semantics), ZERO)))


def looks_at_nulls(e: rows.RowAggregate) -> rows.Expression:
    """NULL where a value is."""
    counted = rows.RowAggregate("COUNT", e.argument, e.semantics)
    every = rows.Count(rows.variable_of(e.argument), e.semantics)
    return rows.RowCase(rows.RowComparison(counted, "<", every), NULL, e)


def mean_of_rows(e: rows.RowAggregate) -> rows.Expression:
    every = rows.Count(rows.variable_of(e.argument), e.semantics)
    return rows.Product(rows.Cast(rows.RowAggregate("SUM", e.argument, e.semantics), "DOUBLE"), "/", every)


def first_member(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=one.members[:1]) for one in q.subsets))


def last_member(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=one.members[-1:]) for one in q.subsets))


def every_member(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=q.primary) for one in q.subsets))


def other_members(q: MatchRecognize) -> MatchRecognize:
    return replace(
        q,
        subsets=tuple(
            replace(one, members=tuple(A for A in q.primary if A not in one.members) or one.members)
            for one in q.subsets
        ),
    )


AGGREGATES = rows.RowAggregate
EXPRESSIONS = (
    *wrong(
        "physical",
        "physical",
        {
            "the offset is 1": reads(rows.Physical, lambda e: replace(e, offset=1)),
            "PREV is NEXT": function(rows.Physical, "PREV", "NEXT"),
            "NEXT is PREV": function(rows.Physical, "NEXT", "PREV"),
            "one row too far": reads(rows.Physical, lambda e: replace(e, offset=e.offset + 1)),
            "outside there is 0": reads(
                rows.Physical,
                lambda e: when_null(e, ZERO),
                lambda e: not isinstance(rows.references(e)[0], rows.Classifier),
            ),
            "outside there is the nearest row": reads(rows.Physical, lambda e: when_null(e, e.argument)),
            "from the current row": reads(rows.Physical, lambda e: replace(e, argument=unqualified(e.argument))),
            "FIRST and LAST inside are the current row": reads(
                rows.Physical,
                lambda e: replace(e, argument=unqualified(e.argument.argument)),
                lambda e: isinstance(e.argument, rows.Logical),
            ),
            "they do not move from FIRST and LAST": reads(
                rows.Physical, lambda e: e.argument, lambda e: isinstance(e.argument, rows.Logical)
            ),
            "they do not move": reads(rows.Physical, lambda e: e.argument),
            "in the rows of the variable": reads(
                rows.Physical,
                lambda e: rows.Logical("LAST", e.argument, e.offset),
                lambda e: e.function == "PREV" and not isinstance(e.argument, rows.Logical),
            ),
            "they are NULL in conditions": reads(rows.Physical, lambda e: NULL, measures=False),
        },
    ),
    *wrong(
        "logical",
        "logical",
        {
            "FIRST is LAST": function(rows.Logical, "FIRST", "LAST"),
            "LAST is FIRST": function(rows.Logical, "LAST", "FIRST"),
            "of all rows": reads(rows.Logical, lambda e: replace(e, argument=unqualified(e.argument))),
            "the offset counts rows of the partition": reads(rows.Logical, physical_of, lambda e: e.offset),
            "one row too far": reads(rows.Logical, lambda e: replace(e, offset=e.offset + 1)),
            "the offset is from the other end": reads(
                rows.Logical,
                lambda e: replace(e, function="LAST" if e.function == "FIRST" else "FIRST"),
                lambda e: e.offset,
            ),
            "beyond the rows there is the nearest": reads(
                rows.Logical, lambda e: when_null(e, replace(e, offset=0)), lambda e: e.offset
            ),
        },
    ),
    *wrong(
        "running",
        "measures",
        {
            "measures of all rows are FINAL": Departure(
                clause=lambda q: (
                    in_expressions(partial(semantics, name="FINAL"), define=False)(q) if q.rows != "one" else q
                )
            ),
            "it sees one row less": shows(lambda f, table, start: replace(f, current=max(f.current - 1, 0))),
            "it sees the first row alone": shows(lambda f, table, start: replace(f, current=min(f.current, 1))),
            "it sees the whole match": shows(lambda f, table, start: replace(f, current=len(f.labels))),
            "aggregates are FINAL": reads(
                rows.Count | AGGREGATES, lambda e: replace(e, semantics="FINAL"), measures=True
            ),
            "FIRST and LAST are FINAL": reads(rows.Logical, lambda e: replace(e, semantics="FINAL")),
            "FINAL aggregates are RUNNING": reads(rows.Count | AGGREGATES, lambda e: replace(e, semantics="RUNNING")),
            "FINAL LAST is RUNNING": reads(rows.Logical, lambda e: replace(e, semantics="RUNNING")),
            "exchanged": reads(NODES, lambda e: replace(e, semantics="RUNNING" if e.semantics == "FINAL" else "FINAL")),
        },
    ),
    *wrong(
        "define",
        "define",
        {
            "A.x is of the current row": Departure(
                clause=in_expressions(
                    lambda e: replace(e, variable=None) if isinstance(e, rows.RowColumn) else e, measures=False
                )
            ),
            "aggregates do not see the current row": reads(
                rows.Count | AGGREGATES,
                without_last,
                lambda e: isinstance(e, rows.Count) or e.function == "SUM",
                measures=False,
            ),
            "aggregates see no row": reads(rows.Count | AGGREGATES, lambda e: ZERO, measures=False),
            "FIRST is of the current row": reads(rows.Logical, lambda e: unqualified(e.argument), measures=False),
            "NOT is not read": reads(rows.RowNot, lambda e: e.operand, measures=False),
            "AND is OR": reads(rows.RowAnd, lambda e: rows.RowOr(e.left, e.right)),
            "OR is AND": reads(rows.RowOr, lambda e: rows.RowAnd(e.left, e.right)),
            "of AND the first alone": reads(rows.RowAnd, lambda e: e.left),
            "of OR the first alone": reads(rows.RowOr, lambda e: e.left),
        },
    ),
    *wrong(
        "null",
        "define, measures",
        {
            "unknown is true": conditions(lambda e: when_null(e, TRUE)),
            "NOT unknown is true": reads(rows.RowNot, lambda e: when_null(e, TRUE)),
            "NULL AND FALSE is unknown": reads(rows.RowAnd, unknown_if_any),
            "NULL OR TRUE is unknown": reads(rows.RowOr, unknown_if_any),
            "IS NULL is never true": reads(rows.IsNull, lambda e: rows.RowConstant(e.negated)),
            "IS NOT NULL is IS NULL": reads(rows.IsNull, lambda e: replace(e, negated=False)),
            "NULL is 0": reads(rows.RowColumn, lambda e: when_null(e, ZERO), lambda e: e.name != "z", measures=False),
            "NULL <> 1 is true": reads(rows.RowComparison, lambda e: when_null(e, TRUE), lambda e: e.operator == "<>"),
            "NULL < 1 is true": reads(
                rows.RowComparison, lambda e: when_null(e, rows.IsNull(e.left)), lambda e: e.operator in ("<", "<=")
            ),
            "NULL > 1 is true": reads(
                rows.RowComparison, lambda e: when_null(e, rows.IsNull(e.left)), lambda e: e.operator in (">", ">=")
            ),
            "IN with NULL is false": reads(rows.RowIn, lambda e: when_null(e, rows.RowConstant(e.negated))),
            "NOT IN with NULL is false": reads(rows.RowIn, lambda e: when_null(e, NEVER), lambda e: e.negated),
            "BETWEEN NULL and a value is a comparison": reads(
                rows.RowBetween,
                lambda e: when_null(e, rows.RowComparison(e.operand, "<=", e.high)),
                lambda e: not e.negated,
            ),
            "CASE takes unknown for true": reads(
                rows.RowCase, lambda e: replace(e, condition=when_null(e.condition, TRUE))
            ),
            "COALESCE is the last": reads(rows.Coalesce, lambda e: e.arguments[-1]),
            "COALESCE is the first": reads(rows.Coalesce, lambda e: e.arguments[0]),
            "x + NULL is x": reads(rows.Sum, lambda e: when_null(e, e.left), lambda e: e.operator != "||"),
        },
    ),
    *wrong(
        "aggregate",
        "aggregate, count",
        {
            "SUM of nothing is 0": reads(AGGREGATES, lambda e: when_null(e, ZERO), _calls("SUM")),
            "COUNT of nothing is NULL": reads(
                rows.Count | AGGREGATES,
                lambda e: rows.RowCase(rows.RowComparison(e, "=", ZERO), NULL, e),
                lambda e: isinstance(e, rows.Count) or e.function == "COUNT",
            ),
            "AVG is cut": reads(AGGREGATES, lambda e: rows.Cast(e, "BIGINT"), _calls("AVG")),
            "AVG counts NULL": reads(AGGREGATES, mean_of_rows, _calls("AVG")),
            "with NULL they are NULL": reads(AGGREGATES, looks_at_nulls, _calls("SUM", "AVG", "MIN", "MAX")),
            "MIN is MAX": function(AGGREGATES, "MIN", "MAX"),
            "MAX is MIN": function(AGGREGATES, "MAX", "MIN"),
            "MAX is the last": reads(
                AGGREGATES,
                lambda e: rows.Logical("LAST", e.argument, 0, e.semantics),
                lambda e: e.function == "MAX" and isinstance(e.argument, rows.RowColumn),
            ),
            "MIN is the first": reads(
                AGGREGATES,
                lambda e: rows.Logical("FIRST", e.argument, 0, e.semantics),
                lambda e: e.function == "MIN" and isinstance(e.argument, rows.RowColumn),
            ),
            "SUM is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("SUM")
            ),
            "AVG is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("AVG")
            ),
            "MIN and MAX are of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("MIN", "MAX")
            ),
            "COUNT(A.x) is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("COUNT")
            ),
            "COUNT(A.*) is COUNT(*)": reads(rows.Count, lambda e: replace(e, variable=None)),
            "SUM is of the last row": reads(
                AGGREGATES,
                lambda e: rows.Logical("LAST", e.argument, 0, e.semantics),
                lambda e: e.function == "SUM" and isinstance(e.argument, rows.RowColumn),
            ),
        },
    ),
    *wrong(
        "classifier",
        "classifier",
        {
            "of the current row": reads(rows.Classifier, lambda e: replace(e, variable=None)),
            "in lower case": reads(rows.Classifier, in_lower_case),
            "of the last row of the match": Departure(
                clause=lambda q: in_expressions(
                    lambda e: rows.Logical("LAST", e, 0, "FINAL") if e == rows.Classifier() else e, define=False
                )(q)
            ),
            "of the first row of the match": Departure(
                clause=lambda q: in_expressions(
                    lambda e: rows.Logical("FIRST", e) if e == rows.Classifier() else e, define=False
                )(q)
            ),
            "of no row it is ''": reads(rows.Classifier, lambda e: when_null(e, rows.RowConstant(""))),
            "in DEFINE it is NULL": reads(rows.Classifier, lambda e: NULL, measures=False),
            "PREV of it is it": reads(
                rows.Physical, lambda e: e.argument, lambda e: isinstance(rows.references(e)[0], rows.Classifier)
            ),
            "FIRST and LAST of it are it": reads(
                rows.Logical, lambda e: e.argument, lambda e: isinstance(rows.references(e)[0], rows.Classifier)
            ),
        },
    ),
    *wrong(
        "match-number",
        "match_number",
        {
            "it is 1": reads(rows.RowMatchNumber, lambda e: ONE),
            "in DEFINE it is that of the match before": reads(
                rows.RowMatchNumber, lambda e: rows.Sum(e, "-", ONE), measures=False
            ),
            "in MEASURES it is one more": Departure(
                clause=in_expressions(
                    lambda e: rows.Sum(e, "+", ONE) if isinstance(e, rows.RowMatchNumber) else e, define=False
                )
            ),
            "it is the row at which the match begins": Departure(
                looks=lambda f, table, start: replace(f, number=f.start + 1),
                shows=lambda f, table, start: replace(f, number=f.start + 1),
            ),
        },
    ),
    *wrong(
        "subset",
        "subset",
        {
            "the first member alone": Departure(clause=first_member),
            "the last member alone": Departure(clause=last_member),
            "all variables": Departure(clause=every_member),
            "the variables that are no members": Departure(clause=other_members),
        },
    ),
    *wrong(
        "expression",
        "",
        {
            "/ of negative numbers is rounded down": reads(
                rows.Product,
                lambda e: rows.RowCase(
                    rows.RowAnd(
                        rows.RowComparison(e, "<=", ZERO),
                        rows.RowComparison(rows.Product(e.left, "%", e.right), "<>", ZERO),
                    ),
                    rows.Sum(e, "-", ONE),
                    e,
                ),
                lambda e: e.operator == "/",
            ),
            "% has the sign of the divisor": reads(
                rows.Product,
                lambda e: rows.Product(rows.Sum(e, "+", e.right), "%", e.right),
                lambda e: e.operator == "%",
            ),
            "* is +": reads(rows.Product, lambda e: rows.Sum(e.left, "+", e.right), lambda e: e.operator == "*"),
            "- is +": reads(rows.Sum, lambda e: replace(e, operator="+"), lambda e: e.operator == "-"),
            "a sign is not read": reads(rows.Negative, lambda e: e.operand),
            "|| in the other order": reads(
                rows.Sum, lambda e: rows.Sum(e.right, "||", e.left), lambda e: e.operator == "||"
            ),
            "ABS is not read": reads(rows.Absolute, lambda e: e.operand),
            "CAST to BIGINT cuts": reads(
                rows.Cast,
                lambda e: rows.Cast(rows.Sum(e.operand, "-", rows.RowConstant(0.5)), "BIGINT"),
                lambda e: e.type == "BIGINT",
            ),
            "CAST is not read": reads(rows.Cast, lambda e: e.operand),
            "< is <=": compares("<", "<="),
            "<= is <": compares("<=", "<"),
            "> is >=": compares(">", ">="),
            ">= is >": compares(">=", ">"),
            "<> is =": compares("<>", "="),
            "BETWEEN leaves the high bound out": reads(
                rows.RowBetween, lambda e: rows.RowAnd(e, rows.RowComparison(e.operand, "<", e.high))
            ),
            "BETWEEN in any order": reads(
                rows.RowBetween, lambda e: rows.RowOr(e, replace(e, low=e.high, high=e.low)), lambda e: not e.negated
            ),
            "NOT BETWEEN is BETWEEN": reads(rows.RowBetween, lambda e: replace(e, negated=False)),
            "IN is = to the first": reads(rows.RowIn, lambda e: replace(e, items=e.items[:1])),
            "NOT IN is IN": reads(rows.RowIn, lambda e: replace(e, negated=False)),
            "NOT LIKE is LIKE": reads(rows.RowLike, lambda e: replace(e, negated=False)),
            "% is at least one character": pattern_of(lambda text: text.replace("%", "_%")),
            "_ is any text": pattern_of(lambda text: text.replace("_", "%")),
            "LIKE looks for a part": pattern_of(lambda text: f"%{text}%"),
            "ESCAPE is not read": reads(rows.RowLike, lambda e: replace(e, escape=())),
            "CASE is its first result": reads(rows.RowCase, lambda e: e.result),
            "CASE without ELSE": reads(rows.RowCase, lambda e: replace(e, otherwise=NULL)),
        },
    ),
)

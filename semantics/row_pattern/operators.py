"""The operators of patterns and of expressions, as two tables: ISO/IEC 9075-2, feature R010."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cerify.semantics.operators import Operator, table
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.trees import subtrees

PATTERN = "ISO/IEC 9075-2, R010: row pattern"
ALTERNATIVES, SEQUENCE, FACTOR, PRIMARY = range(4)  # levels of patterns, from loose to tight
QUANTIFIERS = tuple(
    (low, high, greedy)
    for low, high in ((0, None), (1, None), (0, 1), (2, 2), (0, 2), (1, 2), (2, None), (0, 0))
    for greedy in (True, False)
)


def _quantified(low: int, high: int | None, greedy: bool, p: rows.Pattern) -> rows.Pattern:
    return rows.Quantified(p, low, high, greedy)


PATTERNS = table(
    Operator(
        rows.Variable, "variable", "a variable", "variable", PATTERN, "{name}",
        "leaf", PRIMARY, samples=(lambda: rows.Variable("A"),),
    ),
    Operator(
        rows.Empty, "empty", "()", "empty pattern", PATTERN, "()",
        "leaf", PRIMARY, samples=(rows.Empty,),
    ),
    Operator(
        rows.Anchor, "anchor", "^ or $", "anchors", PATTERN, "{place}",
        "leaf", PRIMARY, samples=(lambda: rows.Anchor("start"), lambda: rows.Anchor("end")),
    ),
    Operator(
        rows.Concatenation, "concatenation", "A B", "concatenation", PATTERN, "{left} {right}",
        "infix", SEQUENCE,
    ),
    Operator(
        rows.Alternation, "alternation", "|", "alternation", PATTERN, "{left} | {right}",
        "infix", ALTERNATIVES,
    ),
    Operator(
        rows.Permute, "permute", "PERMUTE", "PERMUTE", PATTERN, "PERMUTE({parts})",
        "call", PRIMARY, samples=(lambda *parts: rows.Permute(parts),),
    ),
    Operator(
        rows.Quantified, "quantified", "a quantifier", "quantifiers", PATTERN, "{pattern}{}",
        "suffix", FACTOR, samples=tuple(partial(_quantified, *bounds) for bounds in QUANTIFIERS),
    ),
    Operator(
        rows.Exclusion, "exclusion", "{- -}", "exclusion", PATTERN, "{{- {pattern} -}}",
        "call", PRIMARY,
    ),
)  # fmt: skip

ORS, ANDS, NOTS, PREDICATES, SUMS, PRODUCTS, SIGNS, ATOMS = range(8)  # levels of expressions, from loose to tight
NAVIGATION, SCALAR = "ISO/IEC 9075-2, R010: expressions", "ISO/IEC 9075-2"

EXPRESSIONS = table(
    Operator(rows.Constant, "constant", "a literal", "literals", SCALAR, "{}", "leaf", ATOMS),
    Operator(rows.Column, "column", "A.x", "columns", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(rows.Classifier, "classifier", "CLASSIFIER", "CLASSIFIER", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(
        rows.MatchNumber, "match_number", "MATCH_NUMBER", "MATCH_NUMBER", NAVIGATION, "MATCH_NUMBER()", "leaf", ATOMS
    ),
    Operator(
        rows.Physical, "physical", "PREV, NEXT", "PREV and NEXT", NAVIGATION, "{function}({argument}{})",
        "call", ATOMS,
    ),
    Operator(
        rows.Logical, "logical", "FIRST, LAST", "FIRST and LAST", NAVIGATION,
        "{semantics}{function}({argument}{})", "call", ATOMS,
    ),
    Operator(rows.Count, "count", "COUNT(*)", "COUNT of rows", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(
        rows.Aggregate, "aggregate", "COUNT, SUM, AVG, MIN, MAX", "aggregates", NAVIGATION,
        "{semantics}{function}({argument})", "call", ATOMS,
    ),
    Operator(rows.Negative, "negative", "-", "sign", SCALAR, "- {operand}", "prefix", SIGNS),
    Operator(rows.Sum, "sum", "+ - ||", "sums", SCALAR, "{left} {operator} {right}", "infix", SUMS),
    Operator(rows.Product, "product", "* / %", "products", SCALAR, "{left} {operator} {right}", "infix", PRODUCTS),
    Operator(rows.Absolute, "abs", "ABS", "ABS", SCALAR, "ABS({operand})", "call", ATOMS),
    Operator(rows.Cast, "cast", "CAST", "CAST", SCALAR, "CAST({operand} AS {type})", "call", ATOMS),
    Operator(rows.Coalesce, "coalesce", "COALESCE", "COALESCE", SCALAR, "COALESCE({arguments})", "call", ATOMS),
    Operator(
        rows.Case, "case", "CASE", "CASE", SCALAR, "CASE WHEN {condition} THEN {result} ELSE {otherwise} END",
        "call", ATOMS,
    ),
    Operator(
        rows.Comparison, "comparison", "< <= > >= = <>", "comparison", SCALAR, "{left} {operator} {right}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        rows.IsNull, "is_null", "IS NULL", "IS NULL", SCALAR, "{operand} IS {}NULL",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        rows.Between, "between", "BETWEEN", "BETWEEN", SCALAR, "{operand} {}BETWEEN {low} AND {high}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        rows.In, "in", "IN", "IN", SCALAR, "{operand} {}IN ({items})", "infix", PREDICATES, chains=True
    ),
    Operator(
        rows.Like, "like", "LIKE", "LIKE", SCALAR, "{operand} {}LIKE {pattern}{escape}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(rows.Not, "not", "NOT", "NOT", SCALAR, "NOT {operand}", "prefix", NOTS),
    Operator(rows.And, "and", "AND", "AND", SCALAR, "{left} AND {right}", "infix", ANDS),
    Operator(rows.Or, "or", "OR", "OR", SCALAR, "{left} OR {right}", "infix", ORS),
)  # fmt: skip


def constructs(q: MatchRecognize) -> frozenset[str]:
    """The names of the operators in the pattern and the expressions of a clause."""
    nodes = (node for root in (q.pattern, *q.expressions) for node in subtrees(root))
    return frozenset({**PATTERNS, **EXPRESSIONS}[type(node)].name for node in nodes)


def features(q: MatchRecognize) -> frozenset[str]:
    """The names of the operators of a clause, and of what else it has that is not so by default."""
    return constructs(q) | frozenset(_other_features(q))


def _other_features(q: MatchRecognize) -> Iterator[str]:
    lists = {
        "partition by": q.partition,
        "order by": q.order,
        "measures": q.measures,
        "subset": q.subsets,
        "define": q.define,
    }
    yield from (name for name, parts in lists.items() if parts)
    if q.rows != "one":
        yield q.rows.replace("all", "all rows")
    if q.window is not None:
        yield "window"
        yield from ("seek",) * q.window.seek
        yield from ("frame end",) * (q.window.following is not None)
    if q.skip.to != "past last row":
        yield "skip to" if q.skip.variable is not None else "skip to next row"
    nodes = [*subtrees(q.pattern), *(node for e in q.expressions for node in subtrees(e))]
    if any(isinstance(node, rows.Quantified) and not node.greedy for node in nodes):
        yield "reluctant"
    if any(getattr(node, "semantics", "RUNNING") == "FINAL" for node in nodes):
        yield "final"

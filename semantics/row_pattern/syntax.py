"""The patterns and expressions of MATCH_RECOGNIZE: ISO/IEC 9075-2, feature R010.

The letters used for these trees, here and in every module of this package:
    q  a clause        p  a pattern        A, B  variables        e  an expression        S  a table: a stream of rows
Two trees are equal if they are the same clause, whatever their places in a text. As in SQL, a variable that is written
without quotation marks is in upper case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, TypeAlias, assert_never

from cerify.semantics import trees
from cerify.semantics.arguments import depth_limited
from cerify.semantics.errors import Span
from cerify.semantics.trees import Operator, Tree, printed, subtrees, table
from cerify.semantics.values import Value


class RowNode(Tree):
    """A part of a clause, with its place in the text."""

    span: Span | None = field(default=None, kw_only=True)  # not positional, so that equality ignores it


# --- patterns ---------------------------------------------------------------------------------------------------------


class RowVariable(RowNode):
    """A: one row, for which the condition of A is true."""

    WORD: ClassVar[str] = "Variable"

    name: str


class Empty(RowNode):
    """(): no row."""


class Anchor(RowNode):
    """^ or $: no row, before the first or after the last row of a partition."""

    place: Literal["start", "end"]


class RowConcatenation(RowNode):
    """p q: first the left pattern, then the right one."""

    WORD: ClassVar[str] = "Concatenation"

    operands: ClassVar = ("left", "right")
    left: Pattern
    right: Pattern


class Alternation(RowNode):
    """p | q: the left pattern or the right one; the left one is preferred."""

    operands: ClassVar = ("left", "right")
    left: Pattern
    right: Pattern


class Permute(RowNode):
    """PERMUTE(…): all parts in some order. The order of the list is preferred; other orders follow
    lexicographically.
    """

    operands: ClassVar = ("parts",)
    parts: tuple[Pattern, ...]


class Quantified(RowNode):
    """p{low,high}: from low to high iterations of p (high None: no limit). A greedy quantifier prefers more iterations,
    a reluctant one fewer.
    """

    operands: ClassVar = ("pattern",)
    pattern: Pattern
    low: int
    high: int | None
    greedy: bool = True


class Exclusion(RowNode):
    """{- … -}: the rows are matched, and are left out of the output of ALL ROWS PER MATCH."""

    operands: ClassVar = ("pattern",)
    pattern: Pattern


Pattern: TypeAlias = RowVariable | Empty | Anchor | RowConcatenation | Alternation | Permute | Quantified | Exclusion

# --- expressions ------------------------------------------------------------------------------------------------------

Semantics: TypeAlias = Literal["RUNNING", "FINAL"]
SqlType: TypeAlias = Literal["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "TIMESTAMP"]


class RowConstant(RowNode):
    """A literal; None is NULL, a timedelta an INTERVAL of days to seconds."""

    WORD: ClassVar[str] = "Constant"

    value: Value | timedelta | None


class RowColumn(RowNode):
    """A column: `A.name` in the last row of A, or `name` in the current row or the last row of the match."""

    WORD: ClassVar[str] = "Column"

    name: str
    variable: str | None = None
    quoted: bool = False


class Classifier(RowNode):
    """CLASSIFIER(A): the variable that a row is labelled with."""

    variable: str | None = None


class RowMatchNumber(RowNode):
    """MATCH_NUMBER(): the number of the match in its partition, from 1."""

    WORD: ClassVar[str] = "MatchNumber"


class Physical(RowNode):
    """PREV or NEXT (e, offset): e in the row `offset` rows before or after, whether or not that row is in the match."""

    operands: ClassVar = ("argument",)
    function: Literal["PREV", "NEXT"]
    argument: Expression
    offset: int = 1


class Logical(RowNode):
    """FIRST or LAST (e, offset): e in the row of a variable that is `offset` rows after its first, or before its
    last.
    """

    operands: ClassVar = ("argument",)
    function: Literal["FIRST", "LAST"]
    argument: Expression
    offset: int = 0
    semantics: Semantics = "RUNNING"


class Count(RowNode):
    """COUNT(*) or COUNT(A.*): the number of rows of the match, or of rows of A."""

    variable: str | None = None
    semantics: Semantics = "RUNNING"


class RowAggregate(RowNode):
    """COUNT, SUM, AVG, MIN or MAX of the values of e that are not NULL, over the rows of the match or of a variable."""

    WORD: ClassVar[str] = "Aggregate"

    operands: ClassVar[tuple[str, ...]] = ("argument",)
    function: Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]
    argument: Expression
    semantics: Semantics = "RUNNING"


class Collection(RowAggregate):
    """An aggregate of a list: COUNT, SUM or AVG (DISTINCT e), ARRAY_AGG(e), LISTAGG(e, separator).

    The list has the values of e in the order of the rows, or by the values of `order`, NULL last. ARRAY_AGG keeps NULL.
    """

    WORD: ClassVar[str] = "Collection"

    operands: ClassVar[tuple[str, ...]] = ("argument", "order")
    function: Literal["COUNT", "SUM", "AVG", "ARRAY_AGG", "LISTAGG"]  # type: ignore[assignment]
    argument: Expression
    semantics: Semantics = "RUNNING"
    distinct: bool = False
    separator: str = ""
    order: tuple[Expression, ...] = ()
    descending: bool = False


class Negative(RowNode):
    """- e: the negative of e."""

    operands: ClassVar = ("operand",)
    operand: Expression


class Sum(RowNode):
    """+ and - on numbers, times and intervals; || on strings."""

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["+", "-", "||"]
    right: Expression


class Product(RowNode):
    """* / % on numbers; an interval may be multiplied and divided by a number."""

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["*", "/", "%"]
    right: Expression


class Absolute(RowNode):
    """ABS(e)."""

    operands: ClassVar = ("operand",)
    operand: Expression


class Cast(RowNode):
    """CAST(e AS type)."""

    operands: ClassVar = ("operand",)
    operand: Expression
    type: SqlType


class Coalesce(RowNode):
    """COALESCE(…): the first value that is not NULL."""

    operands: ClassVar = ("arguments",)
    arguments: tuple[Expression, ...]


class RowCall(RowNode):
    """NAME(…): a function of the values of its arguments, one of `scalars.FUNCTIONS`."""

    WORD: ClassVar[str] = "Call"

    operands: ClassVar = ("arguments",)
    function: str
    arguments: tuple[Expression, ...]


TimePart: TypeAlias = Literal["YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "EPOCH"]


class Extract(RowNode):
    """EXTRACT(part FROM e): a part of a time, or a field of an interval, as a number; EPOCH is the whole in seconds."""

    operands: ClassVar = ("operand",)
    part: TimePart
    operand: Expression


class RowCase(RowNode):
    """CASE WHEN condition THEN result ELSE otherwise END; with more conditions `otherwise` is another RowCase."""

    WORD: ClassVar[str] = "Case"

    operands: ClassVar = ("condition", "result", "otherwise")
    condition: Expression
    result: Expression
    otherwise: Expression


class RowComparison(RowNode):
    """left < right, or with <= > >= = <>."""

    WORD: ClassVar[str] = "Comparison"

    operands: ClassVar = ("left", "right")
    left: Expression
    operator: Literal["<", "<=", ">", ">=", "=", "<>"]
    right: Expression


class IsNull(RowNode):
    """e IS [NOT] NULL."""

    operands: ClassVar = ("operand",)
    operand: Expression
    negated: bool = False


class RowBetween(RowNode):
    """e [NOT] BETWEEN low AND high."""

    WORD: ClassVar[str] = "Between"

    operands: ClassVar = ("operand", "low", "high")
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


class RowIn(RowNode):
    """e [NOT] IN (…)."""

    WORD: ClassVar[str] = "In"

    operands: ClassVar = ("operand", "items")
    operand: Expression
    items: tuple[Expression, ...]
    negated: bool = False


class RowLike(RowNode):
    """e [NOT] LIKE pattern [ESCAPE escape]: % is any text, _ is one character, and a character after the escape is
    itself.
    """

    WORD: ClassVar[str] = "Like"

    operands: ClassVar = ("operand", "pattern")
    operand: Expression
    pattern: Expression
    escape: tuple[str, ...] = ()
    negated: bool = False


class RowNot(RowNode):
    """NOT e."""

    WORD: ClassVar[str] = "Not"

    operands: ClassVar = ("operand",)
    operand: Expression


class RowAnd(RowNode):
    """left AND right, with three truth values."""

    WORD: ClassVar[str] = "And"

    operands: ClassVar = ("left", "right")
    left: Expression
    right: Expression


class RowOr(RowNode):
    """left OR right, with three truth values."""

    WORD: ClassVar[str] = "Or"

    operands: ClassVar = ("left", "right")
    left: Expression
    right: Expression


Lookup: TypeAlias = RowColumn | Classifier | RowMatchNumber | Physical | Logical | Count | RowAggregate
"""The expressions that depend on rows."""

Scalar: TypeAlias = (
    RowConstant | Negative | Sum | Product | Absolute | Cast | Coalesce | RowCall | Extract | RowCase
    | RowComparison | IsNull
    | RowBetween | RowIn | RowLike
    | RowNot | RowAnd | RowOr
)  # fmt: skip
"""The expressions that depend on the values of their operands alone."""

Expression: TypeAlias = Lookup | Scalar


def with_variables(q: MatchRecognize, rename: Callable[[str], str]) -> MatchRecognize:
    """Return the clause with its variables renamed."""

    def changed(node: Any) -> Any:
        parts = [changed(one) for one in trees.children(node)]
        node = replace(trees.rebuilt(node, parts), span=node.span) if parts else node
        match node:
            case RowVariable(name):
                return replace(node, name=rename(name))
            case RowColumn() | Classifier() | Count():
                return replace(node, variable=None if node.variable is None else rename(node.variable))
        return node

    skip = q.skip if q.skip.variable is None else replace(q.skip, variable=rename(q.skip.variable))
    return replace(
        q,
        pattern=changed(q.pattern),
        define=tuple(replace(one, variable=rename(one.variable), condition=changed(one.condition)) for one in q.define),
        measures=tuple(replace(one, expression=changed(one.expression)) for one in q.measures),
        subsets=tuple(Subset(rename(one.name), tuple(map(rename, one.members)), one.span) for one in q.subsets),
        skip=skip,
    )


below: Callable[[Expression], tuple[Expression, ...]] = trees.children
"""Return the expressions directly below an expression."""


def lookups(e: Expression) -> list[Lookup]:
    """Return the outermost parts of an expression that depend on rows, such as columns and aggregates."""
    if isinstance(e, Lookup):
        return [e]
    return [found for operand in below(e) for found in lookups(operand)] if e.operands else []


def constants(e: Expression) -> list[Value]:
    """Return the constants in an expression that a column may hold, without NULL and intervals."""
    found = (node.value for node in subtrees(e) if isinstance(node, RowConstant))
    return [value for value in found if value is not None and not isinstance(value, timedelta)]


def references(e: Expression) -> list[RowColumn | Classifier]:
    """Return the columns and classifiers in an expression."""
    nodes: Iterator[Expression] = subtrees(e)
    return [node for node in nodes if isinstance(node, RowColumn | Classifier)]


def variable_of(e: Expression) -> str | None:
    """Return the variable whose rows an argument of a function looks at; None for all rows of the match."""
    return next((one.variable for one in references(e)), None)


# ---------------------------------------------------------------------------------------------------------------------
# The clauses MATCH_RECOGNIZE and WINDOW as a whole: ISO/IEC 9075-2, features R010 and R020.

ROW = "row"
"""The type of the events of a table that has no column "type"."""


@dataclass(frozen=True)
class Order:
    """column [ASC | DESC] [NULLS FIRST | NULLS LAST]; nulls is None if the text leaves it open.

    column: a column, or an expression of columns of the row.
    """

    column: Expression
    descending: bool = False
    nulls: Literal["FIRST", "LAST"] | None = None


@dataclass(frozen=True)
class Measure:
    """e AS name: a column of the output."""

    expression: Expression
    name: str
    quoted: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RowDefinition:
    """A AS e: the condition of a variable in DEFINE."""

    WORD: ClassVar[str] = "Definition"

    variable: str
    condition: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Subset:
    """U = (A, B): a union variable."""

    name: str
    members: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RowSkip:
    """AFTER MATCH SKIP …; the kinds "first" and "last" skip to a row of a variable."""

    WORD: ClassVar[str] = "Skip"

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


RowsPerMatch: TypeAlias = Literal["one", "all", "all omit empty", "all with unmatched"]
"""ONE ROW PER MATCH; ALL ROWS PER MATCH, SHOW EMPTY MATCHES, OMIT EMPTY MATCHES, WITH UNMATCHED ROWS."""


@dataclass(frozen=True)
class RowWindow:
    """ROWS BETWEEN CURRENT ROW AND n FOLLOWING (None: UNBOUNDED FOLLOWING), with SEEK or INITIAL."""

    WORD: ClassVar[str] = "Window"

    following: int | None = None
    seek: bool = False


@dataclass(frozen=True)
class MatchRecognize:
    """A whole clause; if it has a window, it is the clause WINDOW.

    partition: columns, or expressions of columns of the row. longest: whether the match at a row is the longest one,
    and the preferred one only among matches of equal length.
    """

    pattern: Pattern
    define: tuple[RowDefinition, ...] = ()
    partition: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: RowsPerMatch = "one"
    skip: RowSkip = RowSkip()
    subsets: tuple[Subset, ...] = ()
    window: RowWindow | None = None
    longest: bool = field(default=False, metadata={"optional": True})  # in JSON only if true
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def primary(self) -> tuple[str, ...]:
        """Return the variables of the pattern, in the order in which they occur first."""
        nodes: Iterator[Pattern] = subtrees(self.pattern)
        return tuple(dict.fromkeys(p.name for p in nodes if isinstance(p, RowVariable)))

    @cached_property
    def unions(self) -> dict[str, frozenset[str]]:
        """Return, for each variable, also for each primary one, the primary variables that it stands for."""
        return {A: frozenset({A}) for A in self.primary} | {one.name: frozenset(one.members) for one in self.subsets}

    @cached_property
    def conditions(self) -> dict[str, Expression]:
        """Return the condition of each variable that has one."""
        return {one.variable: one.condition for one in self.define}

    @property
    def all_columns(self) -> bool:
        """Return whether the output has all columns of the table."""
        return self.rows != "one" or self.window is not None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return the expressions of DEFINE and MEASURES."""
        return (*(one.condition for one in self.define), *(one.expression for one in self.measures))

    @property
    def keys(self) -> tuple[Expression, ...]:
        """Return the expressions of PARTITION BY and ORDER BY."""
        return (*self.partition, *(one.column for one in self.order))


# ---------------------------------------------------------------------------------------------------------------------
# The operators of patterns and of expressions, as two tables: ISO/IEC 9075-2, feature R010.

PATTERN = "ISO/IEC 9075-2, R010: row pattern"
ALTERNATIVES, SEQUENCE, FACTOR, PRIMARY = range(4)  # levels of patterns, from loose to tight
QUANTIFIERS = tuple(
    (low, high, greedy)
    for low, high in ((0, None), (1, None), (0, 1), (2, 2), (0, 2), (1, 2), (2, None), (0, 0))
    for greedy in (True, False)
)


def _quantified(low: int, high: int | None, greedy: bool, p: Pattern) -> Pattern:
    return Quantified(p, low, high, greedy)


PATTERNS = table(
    Operator(
        RowVariable, "variable", "a variable", "variable", PATTERN, "{name}",
        "leaf", PRIMARY, samples=(lambda: RowVariable("A"),),
    ),
    Operator(
        Empty, "empty", "()", "empty pattern", PATTERN, "()",
        "leaf", PRIMARY, samples=(Empty,),
    ),
    Operator(
        Anchor, "anchor", "^ or $", "anchors", PATTERN, "{}",
        "leaf", PRIMARY, samples=(lambda: Anchor("start"), lambda: Anchor("end")),
    ),
    Operator(
        RowConcatenation, "concatenation", "A B", "concatenation", PATTERN, "{left} {right}",
        "infix", SEQUENCE,
    ),
    Operator(
        Alternation, "alternation", "|", "alternation", PATTERN, "{left} | {right}",
        "infix", ALTERNATIVES,
    ),
    Operator(
        Permute, "permute", "PERMUTE", "PERMUTE", PATTERN, "PERMUTE({parts})",
        "call", PRIMARY, samples=(lambda *parts: Permute(parts),),
    ),
    Operator(
        Quantified, "quantified", "a quantifier", "quantifiers", PATTERN, "{pattern}{}",
        "suffix", FACTOR, samples=tuple(partial(_quantified, *bounds) for bounds in QUANTIFIERS),
    ),
    Operator(
        Exclusion, "exclusion", "{- -}", "exclusion", PATTERN, "{{- {pattern} -}}",
        "call", PRIMARY,
    ),
)  # fmt: skip

ORS, ANDS, NOTS, PREDICATES, SUMS, PRODUCTS, SIGNS, ATOMS = range(8)  # levels of expressions, from loose to tight
NAVIGATION, SCALAR = "ISO/IEC 9075-2, R010: expressions", "ISO/IEC 9075-2"

EXPRESSIONS = table(
    Operator(RowConstant, "constant", "a literal", "literals", SCALAR, "{}", "leaf", ATOMS),
    Operator(RowColumn, "column", "A.x", "columns", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(Classifier, "classifier", "CLASSIFIER", "CLASSIFIER", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(
        RowMatchNumber, "match_number", "MATCH_NUMBER", "MATCH_NUMBER", NAVIGATION, "MATCH_NUMBER()", "leaf", ATOMS
    ),
    Operator(
        Physical, "physical", "PREV, NEXT", "PREV and NEXT", NAVIGATION, "{function}({argument}{})",
        "call", ATOMS,
    ),
    Operator(
        Logical, "logical", "FIRST, LAST", "FIRST and LAST", NAVIGATION,
        "{semantics}{function}({argument}{})", "call", ATOMS,
    ),
    Operator(Count, "count", "COUNT(*)", "COUNT of rows", NAVIGATION, "{}", "leaf", ATOMS),
    Operator(
        RowAggregate, "aggregate", "COUNT, SUM, AVG, MIN, MAX", "aggregates", NAVIGATION,
        "{semantics}{function}({argument})", "call", ATOMS,
    ),
    Operator(
        Collection, "collection", "DISTINCT, ARRAY_AGG, LISTAGG", "aggregates of lists", NAVIGATION,
        "{semantics}{function}({distinct}{argument}{})", "call", ATOMS,
    ),
    Operator(Negative, "negative", "-", "sign", SCALAR, "- {operand}", "prefix", SIGNS),
    Operator(Sum, "sum", "+ - ||", "sums", SCALAR, "{left} {operator} {right}", "infix", SUMS),
    Operator(Product, "product", "* / %", "products", SCALAR, "{left} {operator} {right}", "infix", PRODUCTS),
    Operator(Absolute, "abs", "ABS", "ABS", SCALAR, "ABS({operand})", "call", ATOMS),
    Operator(Cast, "cast", "CAST", "CAST", SCALAR, "CAST({operand} AS {type})", "call", ATOMS),
    Operator(Coalesce, "coalesce", "COALESCE", "COALESCE", SCALAR, "COALESCE({arguments})", "call", ATOMS),
    Operator(RowCall, "call", "UPPER, ROUND, …", "functions", SCALAR, "{function}({arguments})", "call", ATOMS),
    Operator(Extract, "extract", "EXTRACT", "EXTRACT", SCALAR, "EXTRACT({part} FROM {operand})", "call", ATOMS),
    Operator(
        RowCase, "case", "CASE", "CASE", SCALAR, "CASE WHEN {condition} THEN {result} ELSE {otherwise} END",
        "call", ATOMS,
    ),
    Operator(
        RowComparison, "comparison", "< <= > >= = <>", "comparison", SCALAR, "{left} {operator} {right}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        IsNull, "is_null", "IS NULL", "IS NULL", SCALAR, "{operand} IS {}NULL",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        RowBetween, "between", "BETWEEN", "BETWEEN", SCALAR, "{operand} {}BETWEEN {low} AND {high}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(
        RowIn, "in", "IN", "IN", SCALAR, "{operand} {}IN ({items})", "infix", PREDICATES, chains=True
    ),
    Operator(
        RowLike, "like", "LIKE", "LIKE", SCALAR, "{operand} {}LIKE {pattern}{escape}",
        "infix", PREDICATES, chains=True,
    ),
    Operator(RowNot, "not", "NOT", "NOT", SCALAR, "NOT {operand}", "prefix", NOTS),
    Operator(RowAnd, "and", "AND", "AND", SCALAR, "{left} AND {right}", "infix", ANDS),
    Operator(RowOr, "or", "OR", "OR", SCALAR, "{left} OR {right}", "infix", ORS),
)  # fmt: skip


def constructs(q: MatchRecognize) -> frozenset[str]:
    """Return the names of the operators in the pattern and the expressions of a clause."""
    nodes = (node for root in (q.pattern, *q.expressions) for node in subtrees(root))
    return frozenset({**PATTERNS, **EXPRESSIONS}[type(node)].name for node in nodes)


def features(q: MatchRecognize) -> frozenset[str]:
    """Return the names of a clause's operators and of its other non-default features."""
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
    if any(not isinstance(e, RowColumn) for e in q.keys):
        yield "expressions as keys"
    if q.longest:
        yield "longest match"
    if q.rows != "one":
        yield q.rows.replace("all", "all rows")
    if q.window is not None:
        yield "window"
        yield from ("seek",) * q.window.seek
        yield from ("frame end",) * (q.window.following is not None)
    if q.skip.to != "past last row":
        yield "skip to" if q.skip.variable is not None else "skip to next row"
    nodes = [*subtrees(q.pattern), *(node for e in q.expressions for node in subtrees(e))]
    if any(isinstance(node, Quantified) and not node.greedy for node in nodes):
        yield "reluctant"
    if any(getattr(node, "semantics", "RUNNING") == "FINAL" for node in nodes):
        yield "final"


# ---------------------------------------------------------------------------------------------------------------------
# From a clause of MATCH_RECOGNIZE or WINDOW to its text, in one line, which parses back to an equal clause.

REGULAR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset(
    [
        "AND",
        "AS",
        "BETWEEN",
        "CASE",
        "DEFINE",
        "ELSE",
        "END",
        "ESCAPE",
        "FALSE",
        "IN",
        "IS",
        "LIKE",
        "NOT",
        "NULL",
        "OR",
        "SUBSET",
        "THEN",
        "TRUE",
        "UNKNOWN",
        "WHEN",
    ]
)
"""Words that cannot be a variable without quotes."""

ROWS: dict[RowsPerMatch, str] = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "all omit empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all with unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
SHORT = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def show(q: MatchRecognize) -> str:
    """Return the text of a clause. Raises BudgetExceeded if it is nested too deeply."""
    keyword = "MATCH_RECOGNIZE" if q.window is None else "WINDOW"
    return f"{keyword} ({' '.join(filter(None, texts(q).values()))})"


def texts(q: MatchRecognize) -> dict[str, str]:
    """Return the texts of the parts of a clause in their order, "" for a part that it does not have.

    The part "options" is present only in a clause with options. Raises BudgetExceeded if it is nested too deeply.
    """
    measures = (f"{show_expression(one.expression)} AS {_identifier(one.name, one.quoted)}" for one in q.measures)
    subsets = (f"{_variable(one.name)} = ({', '.join(map(_variable, one.members))})" for one in q.subsets)
    define = (f"{_variable(one.variable)} AS {show_expression(one.condition)}" for one in q.define)
    parts = {
        "partition": _show_list("PARTITION BY ", map(show_expression, q.partition)),
        "order": _show_list("ORDER BY ", map(_order, q.order)),
        "measures": _show_list("MEASURES ", measures),
        "rows": ROWS[q.rows] if q.window is None else _frame(q.window),
        "skip": _skip(q.skip),
        "pattern": f"{'SEEK ' if q.window and q.window.seek else ''}PATTERN ({show_pattern(q.pattern)})",
        "subset": _show_list("SUBSET ", subsets),
        "define": _show_list("DEFINE ", define),
    }
    return parts | ({"options": "OPTIONS (use_longest_match = TRUE)"} if q.longest else {})


def show_pattern(p: Pattern) -> str:
    """Return the text of a pattern, with no more parentheses than needed."""
    with depth_limited(p.span):
        return printed(p, PATTERNS, _pattern_field)


def show_expression(e: Expression) -> str:
    """Return the text of an expression, with few parentheses."""
    with depth_limited(e.span):
        return printed(e, EXPRESSIONS, _expression_field)


def _pattern_field(value: Any) -> str:
    """Return the text of a node's own field: the name of a variable, an anchor, or a quantifier."""
    if isinstance(value, Anchor):
        return "^" if value.place == "start" else "$"
    if not isinstance(value, Quantified):
        return _variable(value)
    low, high = value.low, value.high
    bounds = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    return SHORT.get((low, high), bounds) + ("" if value.greedy else "?")


def _expression_field(value: Any) -> str:
    """Return the text of a node's own fields; for a node without operands this is its whole text."""
    match value:
        case RowConstant(constant):
            return _literal(constant)
        case RowColumn():
            return _column(value)
        case Classifier(A):
            return f"CLASSIFIER({'' if A is None else _variable(A)})"
        case Count(A, semantics):
            return f"{_expression_field(semantics)}COUNT({'' if A is None else _variable(A) + '.'}*)"
        case Physical(_, _, offset):
            return "" if offset == 1 else f", {offset}"
        case Logical(_, _, offset):
            return "" if offset == 0 else f", {offset}"
        case Collection():
            return _collection_field(value)
        case IsNull() | RowBetween() | RowIn() | RowLike():
            return "NOT " if value.negated else ""
        case tuple():  # the escape of LIKE
            return "".join(f" ESCAPE {_literal(one)}" for one in value)
        case "RUNNING":
            return ""
        case "FINAL":
            return "FINAL "
        case bool():
            return "DISTINCT " if value else ""
        case str() | int():
            return str(value)
        case _:
            assert_never(value)


def _collection_field(e: Collection) -> str:
    separator = f", {_literal(e.separator)}" if e.function == "LISTAGG" else ""
    by = f" ORDER BY {show_expression(e.order[0])}{' DESC' * e.descending}" if e.order else ""
    return separator + by


def _literal(value: Value | timedelta | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            # A TIMESTAMP of SQL has no zone; here all are in UTC.
            return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}'"
        case timedelta():
            return "INTERVAL '{}' {}".format(*largest_unit(value))
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int() | float():
            return repr(value)


UNITS: dict[str, timedelta] = {
    "DAY": timedelta(days=1), "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1), "SECOND": timedelta(seconds=1),
}  # fmt: skip
"""The units of intervals, from long to short."""


def largest_unit(interval: timedelta) -> tuple[str, str]:
    """Return an interval as a number and its unit: the largest unit in which it is a whole number, else seconds.

    >>> largest_unit(timedelta(minutes=90)), largest_unit(timedelta(seconds=-1.5))
    (('90', 'MINUTE'), ('-1.5', 'SECOND'))
    """
    for unit, length in UNITS.items():
        if not interval % length:
            return str(interval // length), unit
    # Of the magnitude, because divmod rounds down: -1.5 seconds would become -2 and a half.
    whole, fraction = divmod(abs(interval) // timedelta(microseconds=1), 1_000_000)
    return f"{'-' * (interval < timedelta(0))}{whole}.{fraction:06}".rstrip("0"), "SECOND"


def _column(one: RowColumn) -> str:
    name = _identifier(one.name, one.quoted)
    return name if one.variable is None else f"{_variable(one.variable)}.{name}"


def _identifier(name: str, quoted: bool) -> str:
    return '"' + name.replace('"', '""') + '"' if quoted else name


def _variable(name: str) -> str:
    return _identifier(name, not (REGULAR.fullmatch(name) and name == name.upper()) or name in RESERVED)


def key_name(e: Expression) -> str:
    """Return the name of a key in the output: the name of its column, or the text of an expression."""
    return e.name if isinstance(e, RowColumn) else show_expression(e)


def _order(one: Order) -> str:
    nulls = "" if one.nulls is None else f" NULLS {one.nulls}"
    return f"{show_expression(one.column)}{' DESC' * one.descending}{nulls}"


def _frame(window: RowWindow) -> str:
    end = "UNBOUNDED" if window.following is None else str(window.following)
    return f"ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING"


def _skip(skip: RowSkip) -> str:
    to = skip.to.upper() if skip.to == "past last row" else f"TO {skip.to.upper()}"
    return f"AFTER MATCH SKIP {to}{'' if skip.variable is None else ' ' + _variable(skip.variable)}"


def _show_list(keyword: str, texts: Any) -> str:
    found = ", ".join(texts)
    return keyword + found if found else ""

"""Parse a clause of MATCH_RECOGNIZE or WINDOW; errors have their place in the text.

The tree is the clause with its abbreviations written out: a simple CASE becomes a CASE with comparisons, ALL ROWS PER
MATCH shows empty matches, AFTER MATCH SKIP TO A is SKIP TO LAST A, and a variable without quotation marks is in upper
case.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import reduce
from itertools import chain
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

from lark import Lark, Token
from lark.exceptions import UnexpectedInput
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics import trees
from cerify.semantics.arguments import depth_limited
from cerify.semantics.errors import BudgetExceeded, ParseError, QueryWarning, Span, Unsupported, errors_in
from cerify.semantics.parsing import MAX_DEPTH, explained, number_of, parsed, parser_of, place_of, read_before, span_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.dialects import (
    BARE,
    NOW,
    STANDARD_SQL,
    TIME_UNITS,
    SqlDialect,
    build_regexp_like,
    counted_from_the_end,
    day_of,
    days_between,
    default_skip,
    dialect_function,
    join_texts,
    mean_of,
    null_if_empty,
    plain_texts,
    require_function,
    require_not_now,
    unit_of,
    whole_cast,
)
from cerify.semantics.row_pattern.scalars import FUNCTIONS as SCALAR_FUNCTIONS
from cerify.semantics.row_pattern.scalars import LENGTHS, SPELLINGS, columns_in, with_columns
from cerify.semantics.row_pattern.syntax import (
    MatchRecognize,
    Measure,
    Order,
    RowDefinition,
    RowSkip,
    RowsPerMatch,
    RowWindow,
    Subset,
)
from cerify.semantics.trees import children, depth, subtrees
from cerify.semantics.values import parse_time

# ---------------------------------------------------------------------------------------------------------------------
# From text to the expressions of MATCH_RECOGNIZE: the rules of the grammar from `expression` on.

TYPES: dict[str, rows.SqlType] = {
    "BIGINT": "BIGINT", "INTEGER": "BIGINT", "INT": "BIGINT",
    "DOUBLE": "DOUBLE", "FLOAT": "DOUBLE", "REAL": "DOUBLE",
    "SMALLINT": "BIGINT", "TINYINT": "BIGINT", "VARCHAR": "VARCHAR", "TEXT": "VARCHAR", "STRING": "VARCHAR",
    "BOOLEAN": "BOOLEAN", "BOOL": "BOOLEAN", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP", "TIMESTAMP_TZ": "TIMESTAMP", "DATETIME": "TIMESTAMP",
}  # fmt: skip
DECIMALS = {
    "standard": 0,
    "trino": 0,
    "snowflake": 0,
    "bigquery": 9,
    "duckdb": 3,
    "flink": 0,
    "databricks": 0,
    "azure": 0,
}
"""The digits after the point of a DECIMAL that does not give them, by dialect; Oracle's NUMBER has any number."""
LONG = 4000
"""A VARCHAR of at least this length is read as a VARCHAR of any length."""
FUNCTIONS = (
    *("PREV", "NEXT", "FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "ARRAY_AGG", "LISTAGG"),
    *("CLASSIFIER", "MATCH_NUMBER", "ABS", "COALESCE", "CAST", "NULLIF", "GREATEST", "LEAST", "MOD", "EXTRACT"),
    *SCALAR_FUNCTIONS,
)
MEANT = {
    "LAG": "PREV", "LEAD": "NEXT", "FIRST_VALUE": "FIRST", "LAST_VALUE": "LAST",
    "NVL": "COALESCE", "IFNULL": "COALESCE", "MATCH_PROCTIME": "MATCH_ROWTIME",
}  # fmt: skip
"""Functions of SQL that this clause lacks, each with the function of this clause that is often meant."""
INSTEAD = {
    **dict.fromkeys(("CONTAINS", "CONTAINS_SUBSTR", "STRPOS", "INSTR", "CHARINDEX"), "write name LIKE '%a%'"),
    **dict.fromkeys(("ENDSWITH", "ENDS_WITH"), "write name LIKE '%a'"),
    **dict.fromkeys(
        ("REGEXP_SUBSTR", "REGEXP_EXTRACT", "REGEXP_REPLACE", "REGEXP_COUNT", "REGEXP_INSTR", "SPLIT_PART"),
        "match a text with LIKE or a regular expression, and cut one as a column of the table",
    ),
}
"""What to write instead of functions that are not supported."""


EMPTY = {"duckdb": rows.RowConstant(""), "oracle": rows.RowConstant(None)}
"""The empty text, in the dialects in which REPLACE of the empty text leaves a text as it is."""
ROWTIME = "the first column of ORDER BY"
"""A placeholder for the column of the time, until the whole clause is parsed."""
REGEXPS = ("REGEXP_LIKE", "REGEXP_CONTAINS", "REGEXP_MATCHES", "REGEXP")
"""The names that dialects give to the function that matches a regular expression."""


class RowStructure(rows.RowNode):
    """STRUCT(e AS name, …) in a list measure.

    The parser replaces it by one measure for each field (`_Builder.measures`).
    """

    operands: ClassVar = ("arguments",)
    names: tuple[str, ...]
    arguments: tuple[rows.Expression, ...]


class RowPosition(rows.RowNode):
    """MATCH_ROW_NUMBER(), in an aggregate of a measure.

    The parser replaces it by other measures (`_Builder.measures`).
    """


@dataclass(frozen=True)
class ListedMeasure:
    """A measure that is a list or a structure, and the plain measures of the clause that stand for its fields.

    fields: for each field its name ("" in a list without structures), the measure that holds it, and whether this
        measure is the number of rows; the field then has the numbers from 1 to it.
    place: None for a list; for one structure, 0 if it is made of the first row, and -1 if of the last row. Its first
        field is then the list of labels, which is not part of the structure.
    variable: the variable whose rows are listed, None for all rows of the match.
    """

    name: str
    fields: tuple[tuple[str, str, bool], ...]
    place: int | None = None
    variable: str | None = None


@dataclass(frozen=True)
class Identifier:
    """A name, and whether it is written in quotation marks. mark: the quotation mark."""

    name: str
    quoted: bool
    mark: str = ""

    @property
    def variable(self) -> str:
        """Return the identifier as the name of a variable."""
        return self.name if self.quoted else self.name.upper()


@v_args(meta=True, inline=True)
class ExpressionBuilder(Transformer_NonRecursive[Token, Any]):
    """One method for each alternative of the grammar's expressions, in the grammar's order."""

    dialect: SqlDialect = STANDARD_SQL

    def __init__(self) -> None:
        super().__init__()
        self.shifted: set[Span] = set()
        """The places of LAG and LEAD."""
        self.dates: set[Span] = set()
        """The places of values of type DATE."""

    def identifier(self, meta: Meta, token: Token) -> Identifier:
        if token.type == "NAME":
            return Identifier(str(token), False)
        if token.startswith("`"):
            if not self.dialect.backticks:
                raise ParseError(f'a name is quoted as "{str(token)[1:-1]}", not with backticks', span_of(token))
            return Identifier(str(token)[1:-1], True, "`")
        return Identifier(str(token)[1:-1].replace('""', '"'), True, '"')

    def disjunction(self, meta: Meta, left: rows.Expression, right: rows.Expression) -> rows.Expression:
        return rows.RowOr(left, right, span=span_of(meta))

    def conjunction(self, meta: Meta, left: rows.Expression, right: rows.Expression) -> rows.Expression:
        return rows.RowAnd(left, right, span=span_of(meta))

    def inverted(self, meta: Meta, mark: Token, e: rows.Expression) -> rows.Expression:
        return rows.RowNot(e, span=span_of(meta))

    def comparison(self, meta: Meta, left: rows.Expression, op: Token, right: rows.Expression) -> rows.Expression:
        operator = cast("Any", "<>" if op == "!=" else str(op))
        return rows.RowComparison(left, operator, right, span=span_of(meta))

    def is_null(self, meta: Meta, e: rows.Expression, *negated: Token) -> rows.Expression:
        return rows.IsNull(e, bool(negated), span=span_of(meta))

    def is_truth(self, meta: Meta, e: rows.Expression, *rest: Token) -> rows.Expression:
        """Build e IS TRUE as COALESCE(e, FALSE), and e IS FALSE as NOT COALESCE(e, TRUE)."""
        *negated, truth = rest
        is_true, span = truth.upper() == "TRUE", span_of(meta)
        known = rows.Coalesce((e, rows.RowConstant(not is_true, span=span)), span=span)
        return known if is_true != bool(negated) else rows.RowNot(known, span=span)

    def is_distinct(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        """Build a IS NOT DISTINCT FROM b as COALESCE(a = b, a IS NULL AND b IS NULL)."""
        *marks, other = rest
        negated = any(is_token(one, "NOT") for one in marks)
        span = span_of(meta)
        nulls = rows.RowAnd(rows.IsNull(e, span=span), rows.IsNull(other, span=span), span=span)
        same = rows.Coalesce((rows.RowComparison(e, "=", other, span=span), nulls), span=span)
        return same if negated else rows.RowNot(same, span=span)

    def between(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        *negated, low, high = rest
        return rows.RowBetween(e, low, high, bool(negated), span=span_of(meta))

    def in_list(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        items: Any = tuple(one for one in rest if isinstance(one, rows.RowNode))
        return rows.RowIn(e, items, any(is_token(one, "NOT") for one in rest), span=span_of(meta))

    def like(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        pattern: Any = next(one for one in rest if isinstance(one, rows.RowNode))
        escape = tuple(_unquoted(one) for one in rest if is_token(one, "STRING"))
        if escape and len(escape[0]) != 1:
            raise ParseError("ESCAPE must be followed by one character in quotation marks", span_of(meta))
        negated = any(is_token(one, "NOT") for one in rest)
        if (
            not escape
            and "\\" in str(getattr(pattern, "value", ""))
            and self.dialect.name in ("bigquery", "databricks")
        ):
            escape = ("\\",)  # the default of these dialects
        return rows.RowLike(e, pattern, escape, negated, span=span_of(meta))

    def like_list(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        """Build e LIKE ANY (p, q) as e LIKE p OR e LIKE q, and ALL with AND; NOT stands before each LIKE."""
        negated = rest[:1] if is_token(rest[0], "NOT") else ()
        mark, *patterns = rest[len(negated) :]
        escape = (patterns.pop(),) if isinstance(patterns[-1], Token) else ()
        word, quantifier = mark.upper().split()
        known = self.dialect.pattern_lists
        if known == "none" or (negated and known == "plain"):
            instead = f"a LIKE 'x%' {'AND' if quantifier == 'ALL' else 'OR'} a LIKE 'y%'"
            instead = f"NOT ({instead})" if negated else instead
            wrong = (
                f"{'NOT ' * bool(negated)}{word} {quantifier} is not supported in {self.dialect.title}: write {instead}"
            )
            raise Unsupported(wrong, span_of(mark))
        single = Token("OTHER_MATCHES", "ILIKE", mark.start_pos, end_pos=mark.end_pos)
        made = [
            self.matches(meta, e, *negated, single, pattern)
            if word == "ILIKE"
            else self.like(meta, e, *negated, pattern, *escape)
            for pattern in patterns
        ]
        join = rows.RowAnd if quantifier == "ALL" else rows.RowOr
        return reduce(lambda left, right: join(left, right, span=span_of(meta)), made)

    def matches(self, meta: Meta, e: rows.Expression, *rest: Any) -> rows.Expression:
        """Build e RLIKE p as REGEXP_LIKE(e, p), and e ILIKE p as UPPER(e) LIKE UPPER(p)."""
        *_, mark, pattern = rest
        span, word = span_of(meta), " ".join(mark.upper().split())
        if word not in self.dialect.match_operators:
            own = [name for name in REGEXPS if name in self.dialect.functions]
            instead = [f"{own[0]}(name, '^a')"] * bool(own) + ["UPPER(name) LIKE 'A%'"]
            raise Unsupported(
                f"{word} is not supported in {self.dialect.title}: write {' or '.join(instead)}", span_of(mark)
            )
        if word == "ILIKE":
            upper = [rows.RowCall("UPPER", (one,), span=span) for one in (e, pattern)]
            found: rows.Expression = rows.RowLike(upper[0], upper[1], (), span=span)
        else:
            found = build_regexp_like((e, pattern), self.dialect, span)
        return rows.RowNot(found, span=span) if is_token(rest[0], "NOT") else found

    def arithmetic(self, meta: Meta, left: rows.Expression, op: Token, right: rows.Expression) -> rows.Expression:
        dates = self._is_date(left), self._is_date(right)
        if op == "-" and all(dates) and self.dialect.between_dates != "interval":
            return days_between(right, left, self.dialect, span_of(meta))
        if (
            op in ("+", "-")
            and any(dates)
            and any(isinstance(getattr(e, "value", None), int | float) for e in (left, right))
        ):
            self.dates.add(span_of(meta))
        if op == "||" and self.dialect.empty_is_null:
            return join_texts(left, right, span_of(meta))
        made = rows.Product if op in ("*", "/", "%") else rows.Sum
        return made(left, cast("Any", str(op)), right, span=span_of(meta))

    def _is_date(self, e: rows.Expression) -> bool:
        while isinstance(e, rows.Physical | rows.Logical | rows.RowAggregate):
            e = e.argument
        return e.span in self.dates

    def negative(self, meta: Meta, minus: Token, e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.RowConstant) and isinstance(e.value, int | float) and not isinstance(e.value, bool):
            return rows.RowConstant(-e.value, span=span_of(meta))
        return rows.Negative(e, span=span_of(meta))

    def column(self, meta: Meta, one: Identifier) -> rows.Expression:
        if self.dialect.text_quotes and one.mark == '"':
            return rows.RowConstant(one.name, span=span_of(meta))
        if self.dialect.bare_functions and not one.quoted and one.name.upper() in BARE:
            return replace(BARE[one.name.upper()](), span=span_of(meta))
        if not one.quoted and (one.name.upper() in NOW or self.dialect.name == "oracle"):
            require_not_now(one.name, self.dialect, span_of(meta), called=False)
        return rows.RowColumn(one.name, None, one.quoted, span=span_of(meta))

    def qualified(self, meta: Meta, variable: Identifier, one: Identifier) -> rows.Expression:
        return rows.RowColumn(one.name, variable.variable, one.quoted, span=span_of(meta))

    def classifier(self, meta: Meta, variable: str | None = None) -> rows.Expression:
        return rows.Classifier(variable, span=span_of(meta))

    def match_number(self, meta: Meta) -> rows.Expression:
        return rows.RowMatchNumber(span=span_of(meta))

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
        found = rows.RowAggregate(function.upper(), e, semantics, span=span_of(meta))
        return mean_of(found) if function.upper() == "AVG" and self.dialect.whole_means else found

    def distinct(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (function, _, e) = _semantics(parts)
        if function.upper() in ("MIN", "MAX"):  # DISTINCT changes nothing
            return rows.RowAggregate(function.upper(), e, semantics, span=span_of(meta))
        found = rows.Collection(function.upper(), e, semantics, distinct=True, span=span_of(meta))
        return mean_of(found) if function.upper() == "AVG" and self.dialect.whole_means else found

    def collection(self, meta: Meta, *parts: Any) -> rows.Expression:
        semantics, (function, *rest) = _semantics(parts)
        tokens = {one.type: one for one in rest if isinstance(one, Token)}
        argument, *order = (one for one in rest if isinstance(one, rows.RowNode))
        of_texts = function.upper() != "ARRAY_AGG"
        if "STRING" in tokens and not of_texts:
            raise ParseError("ARRAY_AGG takes exactly one argument", span_of(tokens["STRING"]))
        return rows.Collection(
            "LISTAGG" if of_texts else "ARRAY_AGG",
            cast("Any", argument),
            semantics,
            "OTHER_DISTINCT" in tokens,
            _unquoted(tokens["STRING"]) if "STRING" in tokens else "," if of_texts else "",
            tuple(cast("Any", order)),
            "DIRECTION" in tokens and tokens["DIRECTION"].upper() == "DESC",
            span=span_of(meta),
        )

    def other_function(self, meta: Meta, name: Token, *arguments: rows.Expression) -> rows.Expression:
        if name.upper() == "MATCH_ROW_NUMBER" and self.dialect.structures and not arguments:
            return cast("rows.Expression", RowPosition(span=span_of(meta)))
        if name.upper() == "MATCH_ROWTIME" and name.upper() in self.dialect.functions and not arguments:
            arguments = (rows.RowColumn(ROWTIME, span=span_of(meta)),)
        if (made := dialect_function(name.upper(), arguments, self.dialect, span_of(meta))) is not None:
            if name.upper() in ("LAG", "LEAD"):
                self.shifted.add(span_of(meta))
            if name.upper() in ("DATE", "TO_DATE", "TRUNC"):
                self.dates.add(span_of(meta))
            return made
        require_function(name.upper(), self.dialect, span_of(name))
        require_not_now(name, self.dialect, span_of(name), called=True)
        if self.dialect.empty_is_null and name.upper() == "CONCAT" and arguments:
            return reduce(lambda left, right: join_texts(left, right, span_of(meta)), arguments)
        if self.dialect.name in ("duckdb", "azure") and name.upper() == "CONCAT":  # CONCAT ignores NULL, || does not
            empty = rows.RowConstant("", span=span_of(meta))
            arguments = tuple(rows.Coalesce((e, empty), span=e.span) for e in arguments)
        if name.upper() == "REPLACE" and len(arguments) == 3 and arguments[1] == EMPTY.get(self.dialect.name):
            return arguments[0]
        if self.dialect.empty_is_null and name.upper() == "REPLACE" and len(arguments) in (2, 3):
            last = arguments[2] if len(arguments) == 3 else rows.RowConstant(None)
            arguments = (*arguments[:2], rows.RowConstant("") if last == rows.RowConstant(None) else last)
        if SPELLINGS.get(name.upper(), name.upper()) == "SUBSTRING" and len(arguments) in (2, 3):
            known: rows.Expression | None = counted_from_the_end(arguments, self.dialect, span_of(meta))
        else:
            known = scalar_function(name.upper(), arguments, span_of(meta))
        if known is not None:
            return null_if_empty(known) if self.dialect.empty_is_null else known
        found = INSTEAD.get(name.upper(), f"there are {', '.join(self._functions())}")
        if name.upper() in MEANT:
            found = f"did you mean {MEANT[name.upper()]}?"
        raise Unsupported(f"there is no function {name}; {found}", span_of(name))

    def _functions(self) -> list[str]:
        refused = self.dialect.refused or {}
        own = sorted(self.dialect.functions.difference(FUNCTIONS))
        return [*(name for name in FUNCTIONS if name not in refused), *SPELLINGS, "CONCAT", *own]

    def structure(self, meta: Meta, mark: Token, *fields: tuple[rows.Expression, str]) -> rows.Expression:
        if not self.dialect.structures:
            raise Unsupported("there are no values of type STRUCT: write an ARRAY_AGG for each field", span_of(meta))
        names = tuple(name or f"field{i}" for i, (_, name) in enumerate(fields, 1))
        return cast("rows.Expression", RowStructure(names, tuple(e for e, _ in fields), span=span_of(meta)))

    def field(self, meta: Meta, e: rows.Expression, one: Identifier | None = None) -> tuple[rows.Expression, str]:
        return e, one.name if one is not None else e.name if isinstance(e, rows.RowColumn) else ""

    def other_literal(self, meta: Meta, token: Token) -> None:
        mend = "an instant is written TIMESTAMP '2013-01-31 14:05:00', a length of time INTERVAL '30' MINUTE"
        raise Unsupported(f"there are no values of type TIME; {mend}", span_of(token))

    def interval(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.RowConstant(parse_interval(str(token), span_of(token)), span=span_of(meta))

    def extract(self, meta: Meta, head: Token, e: rows.Expression) -> rows.Expression:
        part = head.split("(", 1)[1].split()[0].upper()
        if part in ("EPOCH", "EPOCH_SECOND") and self.dialect.name == "snowflake":
            whole = dialect_function("DATE_PART", (rows.RowColumn(part), e), self.dialect, span_of(meta))
            return cast("rows.Expression", whole)
        require_function(part, self.dialect, span_of(head))
        if part not in get_args(rows.TimePart):
            raise Unsupported(
                f"there is no part {part} of a time; there are {', '.join(get_args(rows.TimePart))}", span_of(head)
            )
        found: rows.Expression = rows.Extract(cast("Any", part), e, span=span_of(meta))
        if part == "SECOND" and self.dialect.whole_seconds:
            found = rows.RowCall("FLOOR", (found,), span=span_of(meta))
            return rows.Cast(found, "BIGINT", span=span_of(meta))
        return found

    def absolute(self, meta: Meta, e: rows.Expression) -> rows.Expression:
        return rows.Absolute(e, span=span_of(meta))

    def coalesce(self, meta: Meta, *arguments: rows.Expression) -> rows.Expression:
        return rows.Coalesce(arguments, span=span_of(meta))

    def cast(self, meta: Meta, e: rows.Expression, type_: Token) -> rows.Expression:
        span = span_of(meta)
        name = re.split(r"\W", type_.upper())[0]
        digits = [int(one) for one in re.findall(r"\d+", type_.partition("(")[2])]
        own = {re.split(r"\W", spelt)[0]: standard for standard, spelt in (self.dialect.types or {}).items()}
        if name in ("DECIMAL", "NUMERIC", "NUMBER"):
            scale = digits[1] if len(digits) > 1 else 0 if digits else DECIMALS.get(self.dialect.name)
            number = rows.Cast(e, "BIGINT" if scale == 0 else "DOUBLE", span=span)
            rounded = rows.RowCall("ROUND", (number, rows.RowConstant(scale, span=span)), span=span)
            return rounded if scale else number
        if name == "DATE":
            self.dates.add(span)
            return day_of(e, self.dialect, span)
        if name not in TYPES and name not in own:
            raise ParseError(f"{name} is not a type here; use one of {', '.join(dict.fromkeys(TYPES))}", span_of(type_))
        found = rows.Cast(e, TYPES[own.get(name, name)], span=span)
        if found.type == "BIGINT":
            return whole_cast(found, self.dialect)
        if found.type == "VARCHAR" and digits and digits[0] < LONG:
            length = rows.RowConstant(digits[0], span=span)
            return rows.RowCall("SUBSTRING", (found, rows.RowConstant(1, span=span), length), span=span)
        return found

    def cast_suffix(self, meta: Meta, e: rows.Expression, mark: Token, type_: Token) -> rows.Expression:
        if not self.dialect.cast_suffix:
            raise ParseError(f"'::' is not expected here; write CAST(price AS {type_})", span_of(mark))
        return self.cast(meta, e, type_)

    def searched_case(self, meta: Meta, *parts: Any) -> rows.Expression:
        return _case(_pairs(parts), _otherwise(parts), span_of(meta))

    def simple_case(self, meta: Meta, e: rows.Expression, *parts: Any) -> rows.Expression:
        whens = [(rows.RowComparison(e, "=", c, span=c.span), result) for c, result in _pairs(parts)]
        return _case(whens, _otherwise(parts), span_of(meta))

    def when(self, meta: Meta, condition: rows.Expression, result: rows.Expression) -> Any:
        return condition, result

    def otherwise(self, meta: Meta, e: rows.Expression) -> rows.Expression:
        return e

    def number(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.RowConstant(number_of(token), span=span_of(meta))

    def string(self, meta: Meta, token: Token) -> rows.Expression:
        text = _unquoted(token)
        return rows.RowConstant(None if self.dialect.empty_is_null and not text else text, span=span_of(meta))

    def truth(self, meta: Meta, token: Token) -> rows.Expression:
        return rows.RowConstant(token.upper() == "TRUE", span=span_of(meta))

    def null(self, meta: Meta) -> rows.Expression:
        return rows.RowConstant(None, span=span_of(meta))

    def timestamp(self, meta: Meta, token: Token) -> rows.Expression:
        text = re.sub(r"\s+(?=[+-]\d\d:\d\d$)", "", re.sub(r"\s+(UTC|Z)$", "Z", str(token).split("'")[1].strip()))
        if token.upper().startswith("DATE"):
            self.dates.add(span_of(meta))
        try:
            return rows.RowConstant(parse_time(text), span=span_of(meta))
        except ValueError as error:
            raise ParseError(f"{text!r} {error}", span_of(meta)) from None


def _bound_span(q: MatchRecognize, width: rows.RowConstant, duration: Duration) -> MatchRecognize:
    """Return the clause with WITHIN or LIMIT DURATION written out as a condition of each variable.

    Each row must be less than width after the first row of the match; with a closed duration, at most width. The time
    is the first column of ORDER BY. Raises Unsupported for a clause without ORDER BY.
    """
    if not q.order:
        raise Unsupported(
            "a limit of time needs ORDER BY, whose first column is the time, or FROM input TIMESTAMP BY time",
            width.span,
        )
    time = replace(q.order[0].column, span=width.span)
    since = rows.Sum(time, "-", rows.Logical("FIRST", time, span=width.span), span=width.span)
    near = rows.RowComparison(since, "<" if duration == "open" else "<=", width, span=width.span)
    conditions: dict[str, rows.Expression] = dict.fromkeys(q.primary, near)
    for one in q.define:
        if one.variable in conditions:
            conditions[one.variable] = rows.RowAnd(one.condition, near, span=one.condition.span)
    known = {one.variable: replace(one, condition=conditions.pop(one.variable, one.condition)) for one in q.define}
    added = (RowDefinition(name, condition, width.span) for name, condition in conditions.items())
    return replace(q, define=(*known.values(), *added))


_INTERVAL = re.compile(
    r"INTERVAL\s*(?:'(?P<text>[^']*)'|(?P<number>[0-9]+))\s*(?P<unit>[A-Z]+?)?S?(?:\s*\([0-9]+\))?(?:\s+TO\s+(?P<last>[A-Z]+))?",
    re.I,
)
_LENGTHS = LENGTHS | {"MILLISECOND": timedelta(milliseconds=1)}
_ENDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def parse_interval(text: str, span: Span) -> timedelta:
    """Return the interval of a literal. Raises ParseError, and Unsupported for months and years.

    A literal has a number and a unit, as in INTERVAL '30' MINUTE or INTERVAL 30 MINUTE; or fields, as in INTERVAL
    '1 02:30' DAY TO MINUTE; or a text with units, as in INTERVAL '1 hour 30 minutes'.

    >>> parse_interval("INTERVAL '1:30' HOUR TO MINUTE", Span(0, 30)) // timedelta(minutes=1)
    90
    """
    found = _INTERVAL.fullmatch(text)
    assert found is not None  # the grammar's token
    written, unit, last = (found["text"] or found["number"] or "").strip(), (found["unit"] or "").upper(), found["last"]
    if unit in ("MONTH", "YEAR") or re.search(r"\b(mon(th)?|y(ea)?r)s?\b", written, re.I):
        raise Unsupported("an interval of months or years has no fixed length; write it in days", span)
    wrong = ParseError("an interval is written as INTERVAL '30' MINUTE or INTERVAL '1 02:30:00' DAY TO SECOND", span)
    number = r"[+-]?[0-9]+(?:\.[0-9]+)?"
    try:
        if last is not None:
            return _fields_of(written, unit, last.upper(), wrong)
        if unit:
            if not re.fullmatch(number, written):
                raise wrong
            return _times(written, _LENGTHS[unit])
        parts = re.findall(rf"({number})\s*([a-z]+)", written, re.I)
        if not parts or re.sub(rf"({number})\s*([a-z]+)[\s,]*", "", written, flags=re.I):
            raise wrong
        return sum((_times(size, _LENGTHS[name.upper().removesuffix("S")]) for size, name in parts), timedelta())
    except (KeyError, OverflowError):
        raise wrong from None


def _times(number: str, unit: timedelta) -> timedelta:
    """Return a multiple of a unit, rounded to the microsecond."""
    return timedelta(microseconds=round(Fraction(number) * (unit // timedelta(microseconds=1))))


def _fields_of(written: str, first: str, last: str, wrong: ParseError) -> timedelta:
    """Return the interval of a text with fields, such as '1 02:30' with the fields DAY to MINUTE."""
    if first not in _ENDS or last not in _ENDS or _ENDS.index(first) >= _ENDS.index(last):
        raise wrong
    units = _ENDS[_ENDS.index(first) : _ENDS.index(last) + 1]
    sign, body = (-1, written[1:]) if written.startswith("-") else (1, written)
    fields = re.split(r"[ :]+", body)
    if len(fields) != len(units) or not all(re.fullmatch(r"[0-9]+(\.[0-9]+)?", one) for one in fields):
        raise wrong
    return sign * sum((_times(one, rows.UNITS[unit]) for one, unit in zip(fields, units, strict=True)), timedelta())


def scalar_function(name: str, arguments: tuple[rows.Expression, ...], span: Span) -> rows.Expression | None:
    """Return the tree of a call of a scalar function; None for an unknown name.

    Raises Unsupported for a wrong number of arguments, and for an unknown unit of time.
    """
    if name == "CONCAT" and arguments:
        return replace(reduce(lambda left, right: rows.Sum(left, "||", right), arguments), span=span)
    known = SPELLINGS.get(name, name)
    if known not in SCALAR_FUNCTIONS:
        return None
    function = SCALAR_FUNCTIONS[known]
    most = len(function.kinds)
    least = function.least or most
    if not least <= len(arguments) <= most:
        wanted = str(most) if least == most else f"{least} or {most}"
        raise Unsupported(f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(arguments)}", span)
    if function.kinds[:2] == ("string", "timestamp"):
        arguments = (unit_of(arguments[0], span, TIME_UNITS), *arguments[1:])
    return rows.RowCall(known, arguments, span=span)


def _case(whens: list[Any], otherwise: rows.Expression, span: Span) -> rows.Expression:
    for condition, result in reversed(whens):
        otherwise = rows.RowCase(condition, result, otherwise, span=span)
    return otherwise


def _pairs(parts: tuple[Any, ...]) -> list[Any]:
    return [one for one in parts if isinstance(one, tuple)]


def _otherwise(parts: tuple[Any, ...]) -> Any:
    return next((one for one in parts if isinstance(one, rows.RowNode)), rows.RowConstant(None))


def _semantics(parts: tuple[Any, ...]) -> tuple[rows.Semantics, Any]:
    if is_token(parts[0], "SEMANTICS"):
        return parts[0].upper(), parts[1:]
    return "RUNNING", parts


def _offset(rest: Any, default: int) -> int:
    numbers = [one for one in rest if is_token(one, "NUMBER")]
    return whole(numbers[0]) if numbers else default


def whole(token: Token) -> int:
    """Return the whole number in a token. Raises ParseError for a number with a fraction."""
    number = number_of(token)
    if not isinstance(number, int):
        raise ParseError("a whole number is expected here", span_of(token))
    return number


def is_token(one: Any, type_: str) -> bool:
    """Return whether an object is a token of that type."""
    return isinstance(one, Token) and one.type == type_


def _unquoted(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")


# ---------------------------------------------------------------------------------------------------------------------
# Messages for invalid clauses: parts in the wrong order, missing parts, constructs of SQL that are written differently.

PARTS = {
    "PARTITION BY": r"PARTITION\s+BY\b",
    "ORDER BY": r"ORDER\s+BY\b",
    "MEASURES": r"MEASURES\b",
    "ROWS PER MATCH": r"(ONE\s+ROW|ALL\s+ROWS)\s+PER\s+MATCH\b",
    "ROWS BETWEEN": r"(ROWS|RANGE|GROUPS)\s+BETWEEN\b",
    "AFTER MATCH SKIP": r"AFTER\s+MATCH\b(\s+SKIP\b)?",
    "INITIAL or SEEK": r"(INITIAL|SEEK)\b",
    "PATTERN": r"PATTERN(?=\s*\()",
    "SUBSET": r"SUBSET\b",
    "DEFINE": r"DEFINE\b",
}
"""The parts of a clause in their order, each with a pattern for its first words."""

TERMINALS = {
    "_PARTITION_BY": "PARTITION BY", "_ORDER_BY": "ORDER BY", "_MEASURES": "MEASURES", "ROWS": "ROWS PER MATCH",
    "FRAME": "ROWS BETWEEN", "SKIP_PLACE": "AFTER MATCH SKIP", "SKIP_VARIABLE": "AFTER MATCH SKIP",
    "SEARCH": "INITIAL or SEEK", "_PATTERN": "PATTERN", "_SUBSET": "SUBSET", "_DEFINE": "DEFINE",
}  # fmt: skip
"""The part that each terminal begins."""

ONLY_IN = {"ROWS PER MATCH": "MATCH_RECOGNIZE", "ROWS BETWEEN": "WINDOW", "INITIAL or SEEK": "WINDOW"}
REQUIRED = {"MATCH_RECOGNIZE": ("PATTERN",), "WINDOW": ("ROWS BETWEEN", "PATTERN")}
ANY_ROW = "'.' is not expected here; for any row write a variable without a condition, such as X in PATTERN (A X* B)"
PATH = "'.' is not expected here; quote a name with dots, as in A.\"page.device\""
ONE, ROWS_AWAY = "one argument, as in {}(price)", "an expression and a number of rows, as in {}(price, 2)"
TAKES = {"COUNT": ONE, "AGGREGATE": ONE, "_ABS": ONE, "PHYSICAL": ROWS_AWAY, "LOGICAL": ROWS_AWAY}
"""The arguments of each function that takes a fixed number of them, by the terminal of its name."""

WHOLE = (
    "a clause is MATCH_RECOGNIZE (...), or WINDOW (...), as in MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS price > 3)"
)
SKIP = "AFTER MATCH SKIP is followed by PAST LAST ROW, TO NEXT ROW, or TO, TO FIRST or TO LAST and a variable"
_PART = re.compile("|".join(PARTS.values()), re.IGNORECASE)
_PATTERN_END = re.compile(r"\b(?:SUBSET|DEFINE|WITHIN)\b|\)\s*\Z", re.IGNORECASE)
_ARGUMENT = ("LPAR", "COMMA")  # the tokens before an argument


def explained_clause(error: UnexpectedInput, text: str, parser: Lark) -> ParseError:
    """Return the error for a text that the grammar of clauses does not accept."""
    span = place_of(error, text)
    tokens, _ = read_before(text, span.start, parser)
    if (wrong := _outside_brackets(text, span, tokens) or _argument(text, span, tokens)) is not None:
        return ParseError(wrong, span)
    if not tokens or span.start == len(text):
        return explained(error, text, parser)
    kinds = [token.type for token in tokens]
    depth = kinds.count("LPAR") - kinds.count("RPAR")
    if depth == 0 and kinds[-1] == "RPAR":
        rest = text[span.start :].rstrip()
        advice = "remove the ; at the end" if rest == ";" else "the clause ends before it; remove the rest of the text"
        return ParseError(f"{text[span.start : span.end]!r} is not expected here; {advice}", span)
    if text[span.start] == '"' and span.end == span.start + 1:
        return ParseError("the name in quotation marks does not end; write a string with '…', not \"…\"", span)
    if text[span.start] == "." and kinds[-1] in ("NAME", "QUOTED_NAME"):
        return ParseError(PATH, span)
    message = _other_query(text[span.start :])
    if message is None and depth == 1 and (begun := _begun(text, span.start, tokens)) is not None:
        part, span_ = begun
        message, span = _misplaced(text, part, span_, tokens), (span_ if span_.end > span_.start else span)
    elif "SKIP_VARIABLE" in kinds[-2:]:
        message = SKIP
    return explained(error, text, parser) if message is None else ParseError(message, span)


def _other_query(rest: str) -> str | None:
    """Return advice on a construct of other databases that cannot simply be left out."""
    if re.match(r"(?i)LIMIT\s+DURATION\b", rest):
        return "write LIMIT DURATION(minute, 5), in the dialect azure and before all other parts of the clause"
    if re.match(r"(?i)OVER\b", rest):
        return "OVER is not supported: a clause has no window functions; compute the value as a column of the table"
    return None


def _outside_brackets(text: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """Return the error if a clause or PATTERN lacks its opening bracket or the word before it.

    Return None if it does not.
    """
    if text.startswith("(", span.start) and tokens:
        return None
    if not tokens:
        piped = "the syntax with |> is not supported; write SELECT * FROM table MATCH_RECOGNIZE (…)"
        return piped if "|>" in text else WHOLE if _PART.search(text) else None
    if len(tokens) == 1:
        return f"brackets are missing after {tokens[0].upper()}; {WHOLE}"
    if tokens[-1].type != "_PATTERN":
        return None
    pattern = _PATTERN_END.split(text[span.start :])[0].strip()
    return f"put the pattern in brackets: PATTERN ({pattern or 'A B'})"


def _argument(text: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """Return the error for an argument that is missing, superfluous, or not one that the function takes."""
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.type == "LPAR":
            opened.append(i)
        elif token.type == "RPAR" and opened:
            opened.pop()
    name = tokens[opened[-1] - 1] if opened and opened[-1] > 0 else None
    if (
        name is None
        or name.type not in TAKES
        or not (text[span.start : span.end] == "," or tokens[-1].type in _ARGUMENT)
    ):
        return None
    return f"{name.upper()} takes {TAKES[name.type].format(name.upper())}"


def _begun(text: str, at: int, tokens: Sequence[Token]) -> tuple[str, Span] | None:
    """Return the part of a clause that begins at an error or at the name before it, and the place of its first words.

    Return None if no part begins there.
    """
    starts = [at]
    if tokens[-1].type in ("NAME", "OTHER_FUNCTION"):
        starts.append(tokens[-1].start_pos or 0)
    for start in starts:
        for part, begin in PARTS.items():
            found = re.compile(begin, re.IGNORECASE).match(text, start)
            if found is not None and not text[found.end() : at].strip():
                return part, Span(start, found.end())
    return None


def _misplaced(text: str, part: str, span: Span, tokens: Sequence[Token]) -> str | None:
    """Return the reason why a part of the clause cannot begin here after these tokens; None if nothing is wrong."""
    clause, words = tokens[0].upper(), " ".join(text[span.start : span.end].upper().split())
    before = [token for token in tokens if (token.start_pos or 0) < span.start]
    there = [TERMINALS[token.type] for token in before if token.type in TERMINALS]
    order = list(PARTS)
    if ONLY_IN.get(part, clause) != clause:
        return f"{words} can be used only in {ONLY_IN[part]} (…)"
    if part in there:
        return f"{words} occurs here a second time"
    for one in there:
        if order.index(one) > order.index(part):
            return f"{part} must come before {one}"
    if there[-1:] == ["MEASURES"] and before[-2].type != "_AS":
        missing = "the name" if before[-1].type == "_AS" else "AS"
        return f"{missing} is missing before {words}: a measure is an expression AS name"
    for one in REQUIRED[clause]:
        if one not in there and order.index(one) < order.index(part):
            is_later = _later(text, one, span.end)
            return f"{one} must come before {part}" if is_later else f"{one} is missing before {part}"
    return SKIP if part == "AFTER MATCH SKIP" or before[-1].type == "SKIP_VARIABLE" else None


def _later(text: str, part: str, position: int) -> bool:
    return re.compile(PARTS[part], re.IGNORECASE).search(text, position) is not None


FRAME = re.compile(r"ROWS BETWEEN CURRENT ROW AND (?:CURRENT ROW|UNBOUNDED FOLLOWING|([0-9]{1,18}) FOLLOWING)")
ROWS: dict[str, RowsPerMatch] = {"OMIT": "all omit empty", "WITH": "all with unmatched", "SHOW": "all"}


Duration: TypeAlias = Literal["open", "closed"]
"""Whether a match must be shorter than the time of WITHIN or LIMIT DURATION (open), or at most as long (closed)."""


def parse(
    text: str,
    dialect: SqlDialect = STANDARD_SQL,
    *,
    duration: Duration = "open",
    time: rows.RowColumn | None = None,
    lists: list[ListedMeasure] | None = None,
) -> MatchRecognize:
    """Return the clause of a text. Raises ParseError, Unsupported, or BudgetExceeded if it is nested too deeply.

    dialect: the dialect of the text.
    duration: see `Duration`.
    time: the column by which the rows are ordered if the text has no ORDER BY.
    lists: a list to which the measures that are lists or structures are added.
    """
    with errors_in(text):
        text, dialect = plain_texts(text, dialect), replace(dialect, texts=frozenset())
    builder = _Builder()
    builder.dialect, builder.duration, builder.time = dialect, duration, time
    q = cast("MatchRecognize", parsed(text, parser_of("cerify.semantics.row_pattern"), builder, explained_clause))
    with errors_in(text):
        expressions = (*q.expressions, *q.keys)
        for root in (q.pattern, *expressions):
            if depth(root, children) > MAX_DEPTH:
                raise BudgetExceeded(f"the clause is nested more than {MAX_DEPTH} operators deep", root.span)
        for node in (node for root in expressions for node in subtrees(root)):
            if isinstance(node, RowStructure) and any(node is key for key in q.keys):
                raise Unsupported("a STRUCT has no order: list its fields, as in ORDER BY day, number", node.span)
            if isinstance(node, RowStructure | RowPosition):
                raise Unsupported(MISPLACED[type(node)], node.span)
        if dialect.variables_as_written:
            q = rows.with_variables(q, lambda name: builder.spelt.get(name, name))
    if lists is not None:
        lists += builder.lists
    return q


MISPLACED = {
    RowStructure: "STRUCT can be used only in an ARRAY_AGG, FIRST or LAST that is a whole measure",
    RowPosition: "MATCH_ROW_NUMBER() can be used only in MEASURES, as the whole argument of FIRST, LAST, MIN, MAX "
    "or ARRAY_AGG, or as a field of STRUCT",
}


@dataclass(frozen=True)
class _Clause:
    """The value of one field of MatchRecognize."""

    field: str
    value: Any


@v_args(meta=True, inline=True)
class _Builder(ExpressionBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    duration: Duration = "open"
    time: rows.RowColumn | None = None

    def __init__(self) -> None:
        super().__init__()
        self.lists: list[ListedMeasure] = []
        self.spelt: dict[str, str] = {}

    def clause(self, meta: Meta, *clauses: _Clause | None) -> MatchRecognize:
        found = {"skip": default_skip(self.dialect)} | {one.field: one.value for one in clauses if one is not None}
        found["pattern"], *width = found["pattern"]
        width += [found.pop("limit")] if "limit" in found else []
        if self.time is not None:
            found.setdefault("order", (Order(self.time),))
        q = MatchRecognize(**found, span=span_of(meta))
        if any(one.name == ROWTIME for one in columns_in(q)):
            if not q.order or not isinstance(time := q.order[0].column, rows.RowColumn):
                raise Unsupported("MATCH_ROWTIME() needs ORDER BY, whose first column is the time", q.span)
            q = with_columns(q, lambda one: replace(time, span=one.span) if one.name == ROWTIME else one)
        return _bound_span(q, width[0], self.duration) if width else q

    def window(self, meta: Meta, *clauses: _Clause) -> MatchRecognize:
        found = {one.field: one.value for one in clauses}
        seek = found.pop("search", "INITIAL").upper() == "SEEK"
        found["pattern"], *width = found["pattern"]
        if width:
            raise Unsupported("WINDOW cannot have WITHIN", width[0].span)
        return MatchRecognize(**found | {"window": RowWindow(found["window"], seek)}, span=span_of(meta))

    def limit(self, meta: Meta, token: Token) -> _Clause:
        if not self.dialect.streams:
            raise Unsupported(
                f"LIMIT DURATION is not part of {self.dialect.title}; write DEFINE B AS B.t - FIRST(t) < INTERVAL '5' "
                "MINUTE, or B.s - FIRST(s) < 300 for a column of seconds",
                span_of(token),
            )
        found = re.search(r"\(\s*([A-Za-z]+)\s*,\s*([0-9]+)\s*\)", token)
        unit = None if found is None else found[1].upper().removesuffix("S")
        if found is None or unit not in _LENGTHS:
            wrong = "LIMIT DURATION takes a unit of time and a whole number, as in LIMIT DURATION(minute, 5)"
            raise ParseError(wrong, span_of(token))
        return _Clause("limit", rows.RowConstant(_times(found[2], _LENGTHS[unit]), span=span_of(token)))

    def partition(self, meta: Meta, *keys: rows.Expression) -> _Clause:
        for e in keys:
            self._require_name(e)
        return _Clause("partition", tuple(chain.from_iterable(map(self._fields, keys))))

    def _fields(self, e: rows.Expression) -> tuple[rows.Expression, ...]:
        """Return the fields of a STRUCT in PARTITION BY, which make the same groups; else the expression itself."""
        if not isinstance(e, RowStructure):
            return (e,)
        says = "PARTITION BY with a STRUCT groups by its fields; here the output has a column for each of them"
        warnings.warn(QueryWarning(says, e.span), stacklevel=2)
        return e.arguments

    def _require_name(self, e: rows.Expression) -> None:
        if self.dialect.text_quotes and isinstance(e, rows.RowConstant) and isinstance(e.value, str):
            raise ParseError(
                f"in {self.dialect.title} {e.value!r} is a text; a name is quoted with backticks: `{e.value}`", e.span
            )

    def order(self, meta: Meta, *orders: Order) -> _Clause:
        return _Clause("order", orders)

    def sort(self, meta: Meta, key: rows.Expression, *marks: Token) -> Order:
        self._require_name(key)
        texts = {mark.type: mark.upper() for mark in marks}
        nulls = texts["NULLS"].split()[1] if "NULLS" in texts else None
        return Order(key, texts.get("DIRECTION") == "DESC", cast("Any", nulls))

    def measures(self, meta: Meta, *measures: tuple[Measure, ...]) -> _Clause:
        return _Clause("measures", tuple(chain.from_iterable(measures)))

    def measure(self, meta: Meta, e: rows.Expression, one: Identifier) -> tuple[Measure, ...]:
        """Build one measure; from an ARRAY_AGG of structures, one measure for each field."""
        with depth_limited(span_of(meta)):
            e = _in_the_match(e, self.shifted) if self.shifted else e
            e = _positions(e) if self.dialect.structures else e
            e = replace(_labels(e), span=e.span) if self.dialect.streams else e
        made = Measure(e, one.name, one.quoted, span_of(meta))
        if isinstance(e, rows.Logical) and isinstance(e.argument, RowStructure) and not e.offset:
            return self._structure_of_row(made, e, e.argument)
        listed = e.argument if isinstance(e, rows.Collection) and e.function == "ARRAY_AGG" else None
        if isinstance(listed, RowPosition):
            self.lists.append(ListedMeasure(one.name, (("", one.name, True),)))
            return (replace(made, expression=rows.Count(span=e.span)),)
        if not isinstance(listed, RowStructure):
            return (made,)
        fields, measures = [], []
        for name, argument in zip(listed.names, listed.arguments, strict=True):
            counts = isinstance(argument, RowPosition)
            value = rows.Count(span=e.span) if counts else replace(cast("rows.Collection", e), argument=argument)
            measures.append(replace(made, expression=value, name=f"{one.name}.{name}", quoted=True))
            fields.append((name, measures[-1].name, counts))
        self.lists.append(ListedMeasure(one.name, tuple(fields)))
        return tuple(measures)

    def _structure_of_row(self, made: Measure, e: rows.Logical, struct: RowStructure) -> tuple[Measure, ...]:
        """Return the measures of FIRST or LAST of a STRUCT: the list of the match's labels, and one for each field."""
        named = {one.variable for e in struct.arguments for one in subtrees(e) if isinstance(one, rows.RowColumn)}
        if len(named) > 1:
            raise Unsupported("the fields of a STRUCT in FIRST or LAST must be columns of one variable", e.span)
        labels = rows.Collection("ARRAY_AGG", rows.Classifier(span=e.span), span=e.span)
        measures = [replace(made, expression=labels, name=f"{made.name}.", quoted=True)]
        fields = [("", measures[0].name, False)]
        for name, argument in zip(struct.names, struct.arguments, strict=True):
            counts = isinstance(argument, RowPosition)
            value = rows.Count(span=e.span) if counts else replace(e, argument=argument)
            measures.append(replace(made, expression=value, name=f"{made.name}.{name}", quoted=True))
            fields.append((name, measures[-1].name, counts))
        place = 0 if e.function == "FIRST" else -1
        self.lists.append(ListedMeasure(made.name, tuple(fields), place, next(iter(named), None)))
        return tuple(measures)

    def measure_without_as(self, meta: Meta, e: rows.Expression, one: Identifier) -> tuple[Measure, ...]:
        if self.dialect.measures_without_as:
            return self.measure(meta, e, one)
        raise ParseError(f"AS is missing before {one.name}: a measure is an expression, AS and a name", span_of(meta))

    def rows_per_match(self, meta: Meta, token: Token) -> _Clause:
        words = token.upper().split()
        return _Clause("rows", "one" if words[0] == "ONE" else ROWS[words[4] if len(words) > 4 else "SHOW"])

    def frame(self, meta: Meta, token: Token) -> _Clause:
        if (found := FRAME.fullmatch(" ".join(token.upper().split()))) is None:
            raise ParseError(
                "write the rows of a row pattern as ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or AND "
                "n FOLLOWING",
                span_of(token),
            )
        unbounded = "UNBOUNDED" in found[0]
        return _Clause("window", None if unbounded else int(found[1] or 0))

    def search(self, meta: Meta, token: Token) -> _Clause:
        return _Clause("search", token)

    def skip_place(self, meta: Meta, token: Token) -> _Clause:
        to = " ".join(token.lower().split()[3:]).removeprefix("to ")
        return _Clause("skip", RowSkip(cast("Any", to), None, span_of(meta)))

    def skip_variable(self, meta: Meta, token: Token, variable: str) -> _Clause:
        first = token.upper().endswith("FIRST")
        return _Clause("skip", RowSkip("first" if first else "last", variable, span_of(meta)))

    def pattern_clause(self, meta: Meta, *pattern: Any) -> _Clause:
        return _Clause("pattern", pattern)

    def within(self, meta: Meta, token: Token) -> rows.RowConstant:
        if not self.dialect.within:
            raise Unsupported(
                f"WITHIN is not part of {self.dialect.title}; write DEFINE A AS time - FIRST(time) < INTERVAL '1' HOUR",
                span_of(token),
            )
        text = str(token)[len("WITHIN") :].strip()
        if _INTERVAL.fullmatch(text) is None:
            raise ParseError("WITHIN must be followed by an interval, such as INTERVAL '1' HOUR", span_of(token))
        return rows.RowConstant(parse_interval(text, span_of(token)), span=span_of(token))

    def subset(self, meta: Meta, *unions: Subset) -> _Clause:
        return _Clause("subsets", unions)

    def union(self, meta: Meta, name: str, *members: str) -> Subset:
        return Subset(name, members, span_of(meta))

    def options(self, meta: Meta, token: Token) -> _Clause:
        written = re.fullmatch(r"OPTIONS\((?:USE_LONGEST_MATCH=(TRUE|FALSE))?\)", "".join(token.upper().split()))
        if written is None:
            raise Unsupported("the clause can only have OPTIONS (use_longest_match = TRUE), or FALSE", span_of(token))
        return _Clause("longest", written[1] == "TRUE")

    def define(self, meta: Meta, *definitions: RowDefinition) -> _Clause:
        return _Clause("define", definitions)

    def definition(self, meta: Meta, variable: str, e: rows.Expression) -> RowDefinition:
        return RowDefinition(variable, e, span_of(meta))

    # --- patterns ---

    def alternation(self, meta: Meta, left: rows.Pattern, right: rows.Pattern) -> rows.Pattern:
        return rows.Alternation(left, right, span=span_of(meta))

    def alternative_to_nothing(self, meta: Meta, left: rows.Pattern) -> rows.Pattern:
        return rows.Alternation(left, self._nothing(meta), span=span_of(meta))

    def nothing_or(self, meta: Meta, right: rows.Pattern) -> rows.Pattern:
        return rows.Alternation(self._nothing(meta), right, span=span_of(meta))

    def _nothing(self, meta: Meta) -> rows.Pattern:
        if not self.dialect.empty_alternatives:
            raise ParseError("an alternative is missing beside |; write () for an empty one", span_of(meta))
        return rows.Empty(span=span_of(meta))

    def concatenation(self, meta: Meta, left: rows.Pattern, right: rows.Pattern) -> rows.Pattern:
        return rows.RowConcatenation(left, right, span=span_of(meta))

    def quantified(self, meta: Meta, p: rows.Pattern, bounds: tuple[int, int | None, bool]) -> rows.Pattern:
        low, high, greedy = bounds
        if high is not None and high < low:
            raise ParseError(f"the quantifier is from {low} to {high} iterations: the first number must not be larger",
                             span_of(meta))  # fmt: skip
        return rows.Quantified(p, low, high, greedy, span=span_of(meta))

    def primary_variable(self, meta: Meta, name: str) -> rows.Pattern:
        return rows.RowVariable(name, span=span_of(meta))

    def any_row(self, meta: Meta) -> rows.Pattern:
        if not self.dialect.streams:
            raise ParseError(ANY_ROW, span_of(meta))
        return rows.RowVariable(".", span=span_of(meta))

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
        self.spelt[one.variable] = one.name  # DEFINE, the last part with variables, decides
        return one.variable


def _in_the_match(e: rows.Expression, shifted: Collection[Span]) -> rows.Expression:
    """Return a measure in which the LAG and LEAD at these places see only rows of the match, as in Snowflake.

    Raises Unsupported for LAG or LEAD of a variable.
    """
    if not e.operands:
        return e
    e = replace(trees.rebuilt(e, [_in_the_match(one, shifted) for one in rows.below(e)]), span=e.span)
    if not isinstance(e, rows.Physical) or e.span not in shifted:
        return e
    if rows.variable_of(e.argument) is not None:
        raise Unsupported("LAG and LEAD of a measure take columns of the row, not a pattern variable", e.span)
    offset, here = rows.RowConstant(e.offset), rows.Count()
    there = (
        rows.RowComparison(here, ">", offset)
        if e.function == "PREV"
        else rows.RowComparison(rows.Count(None, "FINAL"), ">=", rows.Sum(here, "+", offset))
    )
    return rows.RowCase(there, e, rows.RowConstant(None), span=e.span)


def _labels(e: rows.Expression) -> rows.Expression:
    """Return a measure in which CLASSIFIER() becomes the list of the labels of all rows, as in Azure."""
    if isinstance(e, rows.Classifier):
        return rows.Collection("ARRAY_AGG", e, span=e.span)
    return replace(trees.rebuilt(e, [_labels(one) for one in rows.below(e)]), span=e.span) if e.operands else e


def _positions(e: rows.Expression) -> rows.Expression:
    """Return a measure in which the first and the last MATCH_ROW_NUMBER() become 1 and the number of rows."""
    if not e.operands:
        return e
    e = replace(trees.rebuilt(e, [_positions(one) for one in rows.below(e)]), span=e.span)
    argument = e.argument if isinstance(e, rows.Logical | rows.RowAggregate) else None
    if not isinstance(argument, RowPosition) or e.function not in ("FIRST", "LAST", "MIN", "MAX"):
        return e
    if isinstance(e, rows.Logical) and e.offset:
        return e
    count = rows.Count(span=e.span)
    number = rows.RowConstant(1, span=e.span) if e.function in ("FIRST", "MIN") else count
    some = rows.RowComparison(count, ">", rows.RowConstant(0), span=e.span)
    return rows.RowCase(some, number, rows.RowConstant(None), span=e.span)

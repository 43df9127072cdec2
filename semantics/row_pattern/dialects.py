"""The dialects of MATCH_RECOGNIZE, as data: one row for each database.

A dialect has the extensions of its syntax beyond the standard, the parts that it lacks, and its meaning where the
standard leaves a choice. The sources are the public documentation of each database and, for BigQuery, its reference
implementation; docs/guide/row-pattern-dialects.md says what was measured instead. A function outside the standard is an
abbreviation here: NULLIF(a, b) becomes a CASE, so that no other module has to know it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import islice
from typing import Literal, cast, get_args

from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import IllFormed, ParseError, QueryWarning, Span, Unsupported
from cerify.semantics.patterns import flaw
from cerify.semantics.readings import DialectName, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import TextNumbers, may_be_empty, time_of_text, type_of, whole_part
from cerify.semantics.row_pattern.scalars import LENGTHS, MONTHS
from cerify.semantics.row_pattern.syntax import SHORT, MatchRecognize, Order, RowSkip
from cerify.semantics.trees import subtrees

Arguments = tuple[rows.Expression, ...]


@dataclass(frozen=True)
class SqlDialect:
    """A dialect of MATCH_RECOGNIZE.

    nulls: where NULL comes in an ORDER BY without NULLS FIRST or NULLS LAST. integer_division: see RowReading.
    default_skip: the meaning of a clause without AFTER MATCH SKIP.
    measures_without_as: whether AS may be left out of a measure.
    bare_functions: whether CLASSIFIER and MATCH_NUMBER may stand without parentheses.
    backticks: whether backticks quote names, instead of double quotes.
    text_quotes: whether double quotes may quote a text.
    functions: the names of its abbreviations. spelled: its names for functions of the standard. types: its names for
        types of the standard.
    ignores_null: whether LEAST and GREATEST ignore NULL.
    refused: the parts that it does not have, each with its name for messages. needs: the parts that it requires.
    whole_seconds: whether the seconds of a time have no fraction.
    within: whether PATTERN may have WITHIN.
    streams: whether a clause may begin with LIMIT DURATION, `.` in PATTERN is any row, and FROM has TIMESTAMP BY.
    empty_alternatives: whether an alternative may be left out, as in `A |`, and then matches no row.
    passes_null: whether FIRST and LAST in MEASURES ignore NULL. Evaluation here does not follow that.
    names: the case of names without quotation marks in the output.
    table_first: whether the output of ALL ROWS PER MATCH has the table's columns in their order, then the measures.
    variables_as_written: whether CLASSIFIER gives a variable in the case in which DEFINE writes it.
    cast_suffix: whether `price::INT` is a CAST.
    structures: whether a measure may be an ARRAY_AGG of STRUCT, and have MATCH_ROW_NUMBER.
    days: whether a number beside a time or an interval means days.
    between_dates: the difference of two DATEs: an interval, a whole number of days, or a number with a fraction.
    text_times: whether a text beside a time is read as a time.
    windows: whether DEFINE may have aggregates with OVER.
    texts: the other ways to write a text: with escapes after a backslash, raw as r'…', or between $$.
    match_operators: its operators that match a text with a regular expression, and ILIKE if it has that.
    pattern_lists: whether LIKE may have ANY, SOME or ALL of several patterns, also after NOT.
    casts: how a CAST to a whole number treats a fraction: round it, with halves away from zero or to even, or cut it
        off.
    whole_means: whether AVG of whole numbers is whole.
    text_numbers: which texts beside a number are read as numbers: constants only, or all.
    empty_is_null: whether the empty text is NULL.
    text_casts: whether a CAST of a text with a fraction to a whole number rounds it.
    unnamed: the word before the number in the names of unnamed columns of VALUES, and the number of the first.
    dual: whether FROM DUAL stands for one row.
    """

    name: DialectName
    title: str
    nulls: Literal["high", "low", "last"] = "high"
    integer_division: Literal["truncated", "exact"] = "truncated"
    default_skip: Literal["past last row", "next row"] = "past last row"
    measures_without_as: bool = False
    bare_functions: bool = False
    backticks: bool = False
    text_quotes: bool = False
    functions: frozenset[str] = frozenset()
    ignores_null: bool = False
    refused: Mapping[str, str] | None = None
    needs: frozenset[str] = frozenset()
    types: Mapping[str, str] | None = None
    spelled: Mapping[str, str] | None = None
    whole_seconds: bool = False
    within: bool = False
    streams: bool = False
    empty_alternatives: bool = False
    passes_null: bool = False
    names: Literal["as written", "upper", "lower"] = "as written"
    table_first: bool = False
    variables_as_written: bool = False
    cast_suffix: bool = False
    structures: bool = False
    days: bool = False
    between_dates: Literal["interval", "days", "fraction of days"] = "interval"
    text_times: bool = False
    windows: bool = False
    unnamed: tuple[str, int] = ("column", 1)
    dual: bool = False
    texts: frozenset[Literal["backslash", "raw", "dollars"]] = frozenset()
    match_operators: frozenset[str] = frozenset()
    pattern_lists: Literal["none", "plain", "negated"] = "none"
    casts: Literal["away from zero", "to even", "truncated"] = "away from zero"
    whole_means: bool = False
    text_numbers: TextNumbers = "none"
    empty_is_null: bool = False
    text_casts: bool = False

    @property
    def operands(self) -> tuple[bool, TextNumbers, bool, bool]:
        """Return the arguments of `with_days` after the types: (text_times, text_numbers, truncates, text_casts)."""
        return self.text_times, self.text_numbers, "TRUNC" in self.functions, self.text_casts


_LONGEST = {"longest match": "the longest match (OPTIONS)"}
_KEYS = {"key": "expressions in PARTITION BY and ORDER BY"}
_COMMON = frozenset({"NULLIF", "GREATEST", "LEAST", "MOD"})
_PARTS_OF_TIMES = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})
_NO_WINDOW = {"window": "row patterns in WINDOW"}
_WITHOUT_EPOCH = {"EPOCH": "EXTRACT(EPOCH FROM …)"}

DIALECTS: Mapping[DialectName, SqlDialect] = {
    one.name: one
    for one in (
        SqlDialect("standard", "the standard", functions=_COMMON | {"REGEXP_LIKE", "TO_CHAR"}),
        SqlDialect(
            "trino",
            "Trino",
            nulls="last",
            names="lower",
            unnamed=("_col", 0),
            functions=_COMMON
            | {"IF", "DATE_DIFF", "DATE_ADD", "TO_UNIXTIME", "FROM_ISO8601_TIMESTAMP", "DATE"}
            | {"COUNT_IF", "STARTS_WITH", "REGEXP_LIKE", "DATE_FORMAT"}
            | _PARTS_OF_TIMES,
            refused={
                **_LONGEST,
                **_KEYS,
                **_WITHOUT_EPOCH,
                **{name: name for name in ("DATEDIFF", "ADD_MONTHS", "TO_CHAR")},
            },
            needs=frozenset({"define"}),
            spelled={"CHAR_LENGTH": "LENGTH", "TIMESTAMPDIFF": "DATE_DIFF"},
            whole_seconds=True,
        ),
        SqlDialect(
            "oracle",
            "Oracle",
            integer_division="exact",
            names="upper",
            measures_without_as=True,
            days=True,
            between_dates="fraction of days",
            dual=True,
            text_numbers="all",
            text_casts=True,
            empty_is_null=True,
            functions=_COMMON
            | {"NVL", "NVL2", "DECODE", "TRUNC", "NUMTODSINTERVAL", "TO_DATE", "TO_TIMESTAMP", "ADD_MONTHS"}
            | {"REGEXP_LIKE", "TO_CHAR"},
            refused={
                **_LONGEST,
                **_KEYS,
                **_NO_WINDOW,
                **_WITHOUT_EPOCH,
                "classifier of a variable": "CLASSIFIER with an argument",
                **{name: name for name in ("DATE_TRUNC", "DATEDIFF", "TIMESTAMPDIFF")},
            },
            needs=frozenset({"define"}),
            types={"BIGINT": "NUMBER(19)", "DOUBLE": "BINARY_DOUBLE", "VARCHAR": "VARCHAR2(4000)"},
            spelled={"CHAR_LENGTH": "LENGTH", "SUBSTRING": "SUBSTR"},
        ),
        SqlDialect(
            "snowflake",
            "Snowflake",
            integer_division="exact",
            measures_without_as=True,
            bare_functions=True,
            names="upper",
            table_first=True,
            cast_suffix=True,
            days=True,
            between_dates="days",
            text_times=True,
            text_numbers="all",
            text_casts=True,
            pattern_lists="plain",
            windows=True,
            functions=_COMMON
            | {"NVL", "NVL2", "IFNULL", "IFF", "DECODE", "LAG", "LEAD", "MATCH_SEQUENCE_NUMBER", "TO_DATE"}
            | {"TIMESTAMPDIFF", "TIMEDIFF", "DATEADD", "TIMEADD", "TIMESTAMPADD", "TO_TIMESTAMP", "DATE_PART"}
            | {"DATE", "COUNT_IF", "STARTSWITH", "REGEXP_LIKE", "RLIKE", "TO_CHAR", "ADD_MONTHS"}
            | _PARTS_OF_TIMES,
            texts=frozenset({"backslash", "dollars"}),
            match_operators=frozenset({"RLIKE", "REGEXP", "ILIKE"}),
            refused={
                **_LONGEST,
                **_NO_WINDOW,
                "subset": "SUBSET",
                "classifier of a variable": "CLASSIFIER with an argument",
                "TIMESTAMPDIFF": "the number of complete units between two times",
            },
            needs=frozenset({"define"}),
            spelled={"CHAR_LENGTH": "LENGTH"},
            whole_seconds=True,
        ),
        SqlDialect(
            "bigquery",
            "BigQuery",
            nulls="low",
            integer_division="exact",
            backticks=True,
            text_quotes=True,
            measures_without_as=True,
            empty_alternatives=True,
            passes_null=True,
            variables_as_written=True,
            structures=True,
            days=True,
            text_times=True,
            pattern_lists="negated",
            functions=_COMMON
            | {"IF", "IFNULL", "SAFE_DIVIDE", "UNIX_SECONDS", "DATE", "COUNTIF", "STARTS_WITH"}
            | {"REGEXP_CONTAINS", "FORMAT_TIMESTAMP", "FORMAT_DATETIME", "FORMAT_DATE"}
            | {
                f"{kind}_{name}"
                for kind in ("TIMESTAMP", "DATETIME", "DATE")
                for name in ("DIFF", "ADD", "SUB", "TRUNC")
            },
            refused={
                **_NO_WINDOW,
                **_WITHOUT_EPOCH,
                **{name: name for name in ("DATEDIFF", "TIMESTAMPDIFF", "ADD_MONTHS", "TO_CHAR")},
                "DATE_TRUNC": "the standard's DATE_TRUNC",
                "all rows": "ALL ROWS PER MATCH",
                "skip to a variable": "AFTER MATCH SKIP TO a variable",
                "subset": "SUBSET",
                "permute": "PERMUTE",
                "exclusion": "{- -}",
                "reluctant exact": "a reluctant quantifier of one number, as in {2}?",
                "match in define": "FIRST, LAST, aggregates and columns of other variables in DEFINE",
                "plain measures": "a column in MEASURES outside an aggregate",
                "classifier of a variable": "CLASSIFIER with an argument",
            },
            needs=frozenset({"order", "measures", "define", "every variable"}),
            types={"BIGINT": "INT64", "DOUBLE": "FLOAT64", "VARCHAR": "STRING", "BOOLEAN": "BOOL"},
            spelled={"REGEXP_LIKE": "REGEXP_CONTAINS", "LISTAGG": "STRING_AGG"},
            texts=frozenset({"backslash", "raw"}),
            whole_seconds=True,
        ),
        SqlDialect(
            "duckdb",
            "DuckDB",
            nulls="last",
            integer_division="exact",
            cast_suffix=True,
            days=True,
            between_dates="days",
            text_times=True,
            text_numbers="written",
            text_casts=True,
            casts="to even",
            unnamed=("col", 0),
            functions=_COMMON
            | {"IF", "IFNULL", "DATE_DIFF", "DATEDIFF", "DATE_SUB", "DATESUB", "DATE_ADD", "EPOCH", "DATE_PART"}
            | {"COUNT_IF", "COUNTIF", "STARTS_WITH", "REGEXP_MATCHES", "REGEXP_FULL_MATCH", "STRFTIME"}
            | _PARTS_OF_TIMES,
            match_operators=frozenset({"ILIKE"}),
            ignores_null=True,
            refused={**_LONGEST, **{name: name for name in ("TIMESTAMPDIFF", "ADD_MONTHS", "TO_CHAR")}},
            spelled={"CHAR_LENGTH": "LENGTH", "REGEXP_LIKE": "REGEXP_MATCHES", "TIMESTAMPDIFF": "DATE_SUB"},
            whole_seconds=True,
        ),
        SqlDialect(
            "flink",
            "Flink SQL",
            nulls="low",
            default_skip="next row",
            backticks=True,
            casts="truncated",
            whole_means=True,
            functions=_COMMON
            | {"IF", "IFNULL", "TIMESTAMPADD", "REGEXP", "DATE_FORMAT", "MATCH_ROWTIME"}
            | _PARTS_OF_TIMES,
            spelled={"REGEXP_LIKE": "REGEXP"},
            refused={
                **_LONGEST,
                **_KEYS,
                **_NO_WINDOW,
                **_WITHOUT_EPOCH,
                **{name: name for name in ("DATE_TRUNC", "DATEDIFF", "ADD_MONTHS", "TO_CHAR")},
                "all rows": "ALL ROWS PER MATCH",
                "subset": "SUBSET",
                "permute": "PERMUTE",
                "exclusion": "{- -}",
                "anchors": "^ and $",
                "alternation": "alternation",
                "groups": "a quantifier on a group",
                "reluctant optional": "the quantifier ??",
                "greedy last": "a greedy quantifier on the last variable of a pattern",
                "empty pattern": "the empty pattern ()",
                "empty match": "a pattern that may match no row",
                "distinct": "DISTINCT in an aggregate",
                "prev and next": "PREV and NEXT",
                "classifier": "CLASSIFIER",
                "match number": "MATCH_NUMBER",
            },
            needs=frozenset({"order", "define"}),
            whole_seconds=True,
            within=True,
        ),
        SqlDialect(
            "databricks",
            "Databricks",
            nulls="low",
            integer_division="exact",
            backticks=True,
            text_quotes=True,
            cast_suffix=True,
            days=True,
            text_times=True,
            text_numbers="all",
            pattern_lists="negated",
            casts="truncated",
            unnamed=("col", 1),
            functions=_COMMON
            | {"IF", "IFF", "IFNULL", "NVL", "NVL2", "DECODE", "DATEDIFF", "DATE_DIFF", "DATEADD", "TIMESTAMPADD"}
            | {"DATE_ADD", "DATE_SUB", "DATE_PART", "UNIX_TIMESTAMP", "UNIX_SECONDS", "DATE", "COUNT_IF", "STARTSWITH"}
            | {"REGEXP_LIKE", "RLIKE", "REGEXP", "DATE_FORMAT", "ADD_MONTHS"}
            | _PARTS_OF_TIMES,
            texts=frozenset({"backslash", "raw"}),
            match_operators=frozenset({"RLIKE", "REGEXP", "ILIKE"}),
            ignores_null=True,
            refused={
                **_LONGEST,
                **_NO_WINDOW,
                **_WITHOUT_EPOCH,
                "DATEDIFF": "the number of boundaries of a unit between two times",
                "TO_CHAR": "TO_CHAR",
                "subset": "SUBSET",
                "exclusion": "{- -}",
                "reluctant": "reluctant quantifiers",
                "inner anchors": "^ and $ inside a pattern, only at its ends",
                "empty matches": "OMIT EMPTY MATCHES and WITH UNMATCHED ROWS",
                "skip to a variable": "AFTER MATCH SKIP TO a variable",
                "skip to next row": "AFTER MATCH SKIP TO NEXT ROW",
                "distinct": "DISTINCT in an aggregate",
                "list": "ARRAY_AGG and LISTAGG",
                "partition key": "expressions in PARTITION BY",
                "aggregates in define": "aggregates in DEFINE",
                "classifier of a variable": "CLASSIFIER with an argument",
            },
            needs=frozenset({"define"}),
            types={"VARCHAR": "STRING"},
        ),
        SqlDialect(
            "azure",
            "Azure Stream Analytics",
            default_skip="next row",
            functions=frozenset({"DATEADD", "YEAR", "MONTH", "DAY"}),
            refused={
                **_LONGEST,
                **_KEYS,
                **_NO_WINDOW,
                **_WITHOUT_EPOCH,
                "ADD_MONTHS": "ADD_MONTHS",
                "TO_CHAR": "TO_CHAR",
                "REGEXP_LIKE": "regular expressions in conditions here: write LIKE",
                "all rows": "ALL ROWS PER MATCH",
                "skip past last row": "AFTER MATCH SKIP PAST LAST ROW",
                "skip to a variable": "AFTER MATCH SKIP TO a variable",
                "subset": "SUBSET",
                "permute": "PERMUTE",
                "exclusion": "{- -}",
                "anchors": "^ and $",
                "empty pattern": "the empty pattern ()",
                "reluctant": "reluctant quantifiers",
                "numbers": "quantifiers with numbers",
                "aggregate of an expression": "an aggregate of anything but one column",
                "later variable": "a variable in DEFINE that is defined later",
            },
            needs=frozenset({"measures", "define"}),
            whole_seconds=True,
            streams=True,
            variables_as_written=True,
        ),
    )
}
STANDARD_SQL = DIALECTS["standard"]


def dialect_named(name: str) -> SqlDialect:
    """Return the dialect with this name. Raises IllFormed for an unknown name, with the name that may be meant."""
    for dialect in DIALECTS.values():
        if dialect.name == name:
            return dialect
    raise IllFormed(f"there is no dialect {name!r}{did_you_mean(name, DIALECTS)}; there is {', '.join(DIALECTS)}")


def meant_reading(expressions: Iterable[rows.Expression], dialect: SqlDialect) -> RowReading:
    """Return the reading of expressions in a dialect: how it divides whole numbers; other questions have default
    answers.
    """
    divides = any(isinstance(e, rows.Product) and e.operator == "/" for root in expressions for e in subtrees(root))
    return RowReading(integer_division=dialect.integer_division if divides else "truncated")


def with_meant_nulls(q: MatchRecognize, dialect: SqlDialect, target: SqlDialect = STANDARD_SQL) -> MatchRecognize:
    """Return the clause for another dialect, with NULLS FIRST or NULLS LAST where the order leaves it open.

    The added words say where this dialect puts NULL. Nothing is added if both dialects put it in the same place.
    """

    def said(one: Order) -> Order:
        here, there = (_nulls_first(one, known) for known in (dialect, target))
        return one if one.nulls is not None or here == there else replace(one, nulls="FIRST" if here else "LAST")

    return replace(q, order=tuple(map(said, q.order)))


def _nulls_first(one: Order, dialect: SqlDialect) -> bool:
    return {"high": one.descending, "low": not one.descending, "last": False}[dialect.nulls]


# --- texts ------------------------------------------------------------------------------------------------------------

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}
_KEPT = "\\'\"`?"
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.S)


def plain_texts(text: str, dialect: SqlDialect) -> str:
    r"""Return a statement of the same length whose texts are written as in the standard.

    r'\d', '\\d' and $$\d$$ become '\d'. Raises ParseError for an escape that BigQuery does not have, and warns of an
    escape whose backslash Snowflake and Databricks drop.

    >>> plain_texts(r"x = r'\d' AND y = '\\d'", DIALECTS["bigquery"])
    "x = '\\d'  AND y = '\\d' "
    """
    if not dialect.texts:
        return text
    quotes = r"'''|\"\"\"|'|\"" if dialect.text_quotes else "'"
    skipped = r"--[^\n]*|/\*.*?(?:\*/|\Z)|`[^`]*`" + ("" if dialect.text_quotes else r'|"(?:[^"]|"")*"')
    raw = r"(?P<raw>\b[rR])?" if "raw" in dialect.texts else "(?P<raw>(?!))?"
    dollars = r"\$\$(?P<dollars>.*?)\$\$" if "dollars" in dialect.texts else "(?P<dollars>(?!))"
    closed = (
        r"(?P<inner>(?:\\.|(?!(?P=quote))[^\\])*)(?P<end>(?P=quote)|\\?\Z)"  # or open up to the end: in linear time
    )
    shape = rf"{skipped}|{dollars}|{raw}(?P<quote>{quotes}){closed}"

    def write_text(found: re.Match[str]) -> str:
        value, inner, span = found["dollars"], found["inner"], Span(found.start(), found.end())
        if value is None:
            if (
                inner is None
                or found["end"] != found["quote"]
                or not (found["raw"] or "\\" in inner or len(found["quote"]) > 1)
            ):
                return found[0]
            value = inner if found["raw"] else _ESCAPE.sub(lambda one: _unescaped(one, dialect, span), inner)
        plain = "'" + value.replace("'", "''") + "'"
        if len(plain) > len(found[0]):
            raise Unsupported(
                "this text has too many quotation marks to be read in this form; write it in single quotation marks",
                span,
            )
        return plain.ljust(len(found[0]))

    return re.sub(shape, write_text, text, flags=re.S)


def _unescaped(found: re.Match[str], dialect: SqlDialect, span: Span) -> str:
    """Return the character for an escape."""
    code = found[1] or found[2] or found[3]
    if code is not None:
        if int(code, 16) > 0x10FFFF:
            raise ParseError(f"{found[0]} is not a character", span)
        return chr(int(code, 16))
    c = found[4]
    if c in _ESCAPES or c in _KEPT:
        return _ESCAPES.get(c, c)
    if c in "%_" and dialect.name == "databricks":
        return found[0]
    advice = f"write \\\\{c} for a backslash and {c}"
    if dialect.name == "bigquery":
        raise ParseError(f"{dialect.title} has no escape \\{c} in a text: {advice}, or r'…' around the text", span)
    warnings.warn(QueryWarning(f"\\{c} in a text is {c} in {dialect.title}; {advice}", span), stacklevel=2)
    return c


def escaped_text(text: str, dialect: SqlDialect) -> str:
    """Return the text of a string constant in a dialect, given its text in the standard, with quotation marks."""
    if "backslash" not in dialect.texts:
        return text
    inner = text[1:-1].replace("\\", "\\\\").replace("\n", "\\n")
    return f"'{inner}'" if dialect.name == "snowflake" else "'" + inner.replace("''", "\\'") + "'"


# --- functions --------------------------------------------------------------------------------------------------------


LARGEST = 10_000
"""The most nodes of the tree for a call. Nested calls grow fast, because each may repeat its arguments."""


def dialect_function(name: str, arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression | None:
    """Return the tree for which a call stands; None if the function is no abbreviation of the dialect.

    Raises Unsupported for a wrong number of arguments, and for a tree that is too large.
    """
    if name not in dialect.functions:
        return None
    least, most, build = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}" if most < _MANY else f"at least {least}"
        raise Unsupported(f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(arguments)}", span)
    made = replace(build(arguments, dialect, span), span=span)
    if next(islice(subtrees(made), LARGEST, None), None) is not None:
        raise Unsupported(
            f"the arguments of {name} are too large to be repeated: compute one of them as a column of the table", span
        )
    return made


def _nullif(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    a, b = arguments
    return rows.RowCase(rows.RowComparison(a, "=", b), rows.RowConstant(None), a)


def _if(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    condition, result, *otherwise = arguments
    return rows.RowCase(condition, result, otherwise[0] if otherwise else rows.RowConstant(None))


def _nvl2(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    a, there, absent = arguments
    return rows.RowCase(rows.IsNull(a, True), there, absent)


Builder = Callable[[Arguments, SqlDialect, Span], rows.Expression]


def _extreme(sign: Literal["<=", ">="]) -> Builder:
    """Return a builder of LEAST (sign <=) or GREATEST (>=): the first argument that wins against all later ones.

    The result is a CASE whose size is quadratic in the number of arguments.
    """

    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        def wins(a: rows.Expression, b: rows.Expression) -> rows.Expression:
            compared = rows.RowComparison(a, sign, b)
            return rows.RowOr(rows.IsNull(b), compared) if dialect.ignores_null else compared

        *others, found = arguments
        for i, a in reversed([*enumerate(others, 1)]):
            found = rows.RowCase(reduce(rows.RowAnd, (wins(a, b) for b in arguments[i:])), a, found)
        for a in () if dialect.ignores_null or not others else reversed(arguments):
            found = rows.RowCase(rows.IsNull(a), a, found)
        return found

    return build


def _shifted(function: Literal["PREV", "NEXT"]) -> Builder:
    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        offset = 1
        if len(arguments) == 2:
            given = arguments[1]
            if not (isinstance(given, rows.RowConstant) and type(given.value) is int):
                raise Unsupported("the number of rows must be a whole number", span)
            offset = given.value
        return rows.Physical(function, arguments[0], offset)

    return build


def _difference(function: str, dialects: frozenset[str] = frozenset()) -> Builder:
    """Return a builder for calls of a function of a unit and two times; in these dialects it calls DATEDIFF instead."""

    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        unit, start, end = arguments
        return rows.RowCall(
            "DATEDIFF" if dialect.name in dialects else function, (unit_of(unit, span, TIME_UNITS), start, end)
        )

    return build


def _shift_time(
    e: rows.Expression, number: rows.Expression, unit: rows.Expression, span: Span, sign: str = "+"
) -> rows.Expression:
    """Build a time that many units later (sign "-": earlier); units without a fixed length count as months."""
    name = _unit_name(unit, span, TIME_UNITS)
    if name in MONTHS:
        months = MONTHS[name] * (1 if sign == "+" else -1)
        number = number if months == 1 else rows.Product(number, "*", rows.RowConstant(months), span=span)
        return rows.RowCall("ADD_MONTHS", (e, number))
    length = rows.Product(number, "*", rows.RowConstant(LENGTHS[name]), span=span)
    return rows.Sum(e, cast("Literal['+', '-']", sign), length)


def add_months(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build ADD_MONTHS. In Databricks it is a DATE; in Oracle and Snowflake the last day of a month becomes a last day.

    A day that the new month does not have becomes its last day in all dialects.
    """
    time, months = arguments
    if dialect.name == "databricks":
        return rows.RowCall("ADD_MONTHS", (day_of(time, dialect, span), months), span=span)
    day = rows.RowConstant(timedelta(days=1), span=span)
    next_day = rows.Sum(time_of_text(time) if dialect.text_times else time, "+", day, span=span)
    is_last = rows.RowComparison(rows.Extract("DAY", next_day, span=span), "=", rows.RowConstant(1), span=span)
    last = rows.Sum(rows.RowCall("ADD_MONTHS", (next_day, months), span=span), "-", day, span=span)
    return rows.RowCase(is_last, last, rows.RowCall("ADD_MONTHS", (next_day.left, months), span=span), span=span)


def plain_add_months(e: rows.Expression, dialect: SqlDialect) -> rows.Expression:
    """Reverse `add_months`: return the call of ADD_MONTHS from which it builds this expression.

    Return other expressions unchanged.
    """
    plain = e.otherwise if isinstance(e, rows.RowCase) else e
    if not isinstance(plain, rows.RowCall) or plain.function != "ADD_MONTHS":
        return e
    time, months = plain.arguments
    if dialect.name == "databricks":
        match time:
            case rows.RowCall("DATE_TRUNC", (_, rows.Cast(inner, "TIMESTAMP"))):
                time = inner
    plain = rows.RowCall("ADD_MONTHS", (time, months), span=e.span)
    return plain if add_months((time, months), dialect, e.span or Span(0, 0)) == e else e


def _dateadd(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATEADD(unit, number, time); with two arguments DATE_ADD(date, number), in days."""
    if len(arguments) == 2:
        return _shift_time(day_of(arguments[0], dialect, span), arguments[1], rows.RowConstant("DAY"), span)
    return _shift_time(arguments[2], arguments[1], arguments[0], span)


def _by_interval(sign: Literal["+", "-"]) -> Builder:
    """Return a builder for a function that adds an interval to a time, or subtracts it."""
    return lambda arguments, dialect, span: rows.Sum(arguments[0], sign, arguments[1])


def _date_add(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATE_ADD: it takes a time and an interval in BigQuery and DuckDB, elsewhere the arguments of DATEADD."""
    if dialect.name in ("bigquery", "duckdb"):
        return rows.Sum(arguments[0], "+", arguments[1])
    return _dateadd(arguments, dialect, span)


def _date_sub(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATE_SUB: a time less an interval in BigQuery, less days in Databricks; the units between two times in
    DuckDB.
    """
    if dialect.name == "duckdb":
        return _difference("TIMESTAMPDIFF")(arguments, dialect, span)
    if dialect.name == "bigquery":
        return rows.Sum(arguments[0], "-", arguments[1])
    return _shift_time(day_of(arguments[0], dialect, span), arguments[1], rows.RowConstant("DAY"), span, "-")


def _datediff(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATEDIFF of Databricks: complete units between two times.

    With two arguments it counts boundaries of days, from the second argument to the first.
    """
    if dialect.name == "duckdb":
        return _date_diff(arguments, dialect, span)
    if len(arguments) == 2:
        return _difference("DATEDIFF")((rows.RowConstant("DAY"), *arguments[::-1]), dialect, span)
    return _difference("TIMESTAMPDIFF")(arguments, dialect, span)


def _truncated(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build TRUNC(time, unit) of Oracle or TIMESTAMP_TRUNC(time, unit) of BigQuery; without a unit, by days."""
    if dialect.name == "oracle":
        digits = arguments[1:] and isinstance(getattr(arguments[1], "value", None), int | float)
        if digits:
            raise Unsupported("TRUNC to a number of digits is not supported: write TRUNC(x), or ROUND(x, 2)", span)
        if len(arguments) == 1 and type_of(arguments[0], lambda _: None) in ("int", "float"):
            return whole_part(arguments[0])
    unit: rows.Expression = rows.RowConstant("DAY") if len(arguments) == 1 else arguments[1]
    if isinstance(unit, rows.RowConstant) and str(unit.value).upper() in ORACLE_UNITS:
        unit = replace(unit, value=ORACLE_UNITS[str(unit.value).upper()])
    return rows.RowCall("DATE_TRUNC", (_own_week(unit, dialect, span), arguments[0]))


def _own_week(unit: rows.Expression, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Return the unit with Monday as the first day of weeks. Raises Unsupported for BigQuery's weeks from Sunday."""
    name = unit.name.upper() if isinstance(unit, rows.RowColumn) else ""
    if dialect.name == "bigquery" and name == "WEEK":
        raise Unsupported("in BigQuery weeks begin on Sunday: write ISOWEEK for weeks from Monday", unit.span)
    unit = replace(unit, name="WEEK") if isinstance(unit, rows.RowColumn) and name == "ISOWEEK" else unit
    return unit_of(unit, span, TIME_UNITS)


def _part(part: rows.TimePart) -> Builder:
    """Build the part of a time: YEAR(t) is EXTRACT(YEAR FROM t)."""

    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        found: rows.Expression = rows.Extract(part, arguments[-1], span=span)
        if part == "SECOND" and dialect.whole_seconds:
            return rows.Cast(rows.RowCall("FLOOR", (found,), span=span), "BIGINT")
        return found

    return build


def _date_part(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATE_PART('hour', t) as EXTRACT(HOUR FROM t). Snowflake's EPOCH_SECOND is whole."""
    whole = ("EPOCH_SECOND",) if dialect.name == "snowflake" else ()
    part = _unit_name(arguments[0], span, (*get_args(rows.TimePart), *whole))
    if whole and part.startswith("EPOCH"):
        return _seconds(arguments[1:], dialect, span)
    return _part(cast("rows.TimePart", part))(arguments, dialect, span)


def _seconds(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build the whole seconds since 1970."""
    return rows.Cast(rows.RowCall("FLOOR", (rows.Extract("EPOCH", arguments[0], span=span),), span=span), "BIGINT")


def day_of(e: rows.Expression, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Return a time or a text as a DATE: cut to the day, or in Oracle to the second."""
    unit = rows.RowConstant("SECOND" if dialect.name == "oracle" else "DAY", span=span)
    return rows.RowCall("DATE_TRUNC", (unit, rows.Cast(e, "TIMESTAMP", span=span)), span=span)


def days_between(start: rows.Expression, end: rows.Expression, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Return the number of days between two DATEs, in Oracle with a fraction."""
    if dialect.between_dates == "days":
        return rows.RowCall("DATEDIFF", (rows.RowConstant("DAY", span=span), start, end), span=span)
    seconds = rows.RowCall("TIMESTAMPDIFF", (rows.RowConstant("SECOND", span=span), start, end), span=span)
    return rows.Product(seconds, "/", rows.RowConstant(86_400.0, span=span), span=span)


def _date(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    return day_of(arguments[0], dialect, span)


def _count_if(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    return rows.RowAggregate("COUNT", rows.RowCase(arguments[0], rows.RowConstant(1), rows.RowConstant(None)))


def _starts_with(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    # No LIKE, because the % and _ of the second argument are plain signs here, and it may be a column.
    length = rows.RowCall("CHAR_LENGTH", (arguments[1],), span=span)
    start = rows.RowCall("SUBSTRING", (arguments[0], rows.RowConstant(1), length), span=span)
    return rows.RowComparison(start, "=", arguments[1])


def build_regexp_like(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build REGEXP_LIKE(text, pattern): whether a part of the text matches, in Snowflake whether the whole text does.

    A third argument has options: i, c, s (in Oracle n) and m, which become flags of the pattern, as in (?i). Raises
    Unsupported for a pattern that is not a regular expression in RE2's syntax.
    """
    text, pattern, *given = arguments
    options = getattr(given[0], "value", None) if given else ""
    known = "icmn" if dialect.name == "oracle" else "icms"
    if not isinstance(options, str) or not {*options} <= {*known}:
        raise Unsupported(f"the options of a regular expression must be letters of {known!r}, in quotation marks", span)
    flags = "".join(sorted({"n": "s"}.get(one, one) for one in {*options} - {"c"}))
    before, after = (r"\A(", r")\z") if dialect.name == "snowflake" else ("", "")
    return build_match(text, pattern, f"(?{flags})" * bool(flags) + before, after, span)


def build_match(
    text: rows.Expression, pattern: rows.Expression, before: str, after: str, span: Span
) -> rows.Expression:
    """Build REGEXP_LIKE(text, pattern), with the texts `before` and `after` added around the pattern.

    Raises Unsupported as `build_regexp_like` does.
    """
    if isinstance(pattern, rows.RowConstant) and isinstance(pattern.value, str):
        if (wrong := flaw(pattern.value)) is not None:
            raise Unsupported(
                f"{pattern.value!r} is not a regular expression here: {wrong}; the syntax is RE2's, without lookahead "
                "and backreferences",
                pattern.span or span,
            )
        pattern = replace(pattern, value=f"{before}{pattern.value}{after}")
    else:
        for one, left in ((before, True), (after, False)):
            if one:
                parts = (rows.RowConstant(one), pattern) if left else (pattern, rows.RowConstant(one))
                pattern = rows.Sum(parts[0], "||", parts[1], span=span)
    return rows.RowCall("REGEXP_LIKE", (text, pattern), span=span)


_PERCENT = {"%Y": "YYYY", "%y": "YY", "%m": "MM", "%d": "DD", "%H": "HH24", "%I": "HH12", "%b": "Mon", "%a": "Dy",
            "%p": "AM", "%f": "FF6", "%%": "%"}  # fmt: skip
_STRFTIME = _PERCENT | {"%M": "MI", "%S": "SS", "%F": "YYYY-MM-DD", "%T": "HH24:MI:SS"}
_MYSQL = _PERCENT | {"%i": "MI", "%s": "SS", "%S": "SS", "%T": "HH24:MI:SS"}
_JAVA = {"yyyy": "YYYY", "yy": "YY", "MMM": "Mon", "MM": "MM", "dd": "DD", "HH": "HH24", "hh": "HH12", "mm": "MI",
         "ss": "SS", "SSS": "FF3", "EEE": "Dy", "E": "Dy", "a": "AM"}  # fmt: skip
_ORACLE = {one: one for one in ("YYYY", "YY", "MM", "MON", "DD", "DY", "HH24", "HH12", "MI", "SS", "FF3", "FF6", "FF9",
                                "Q", "AM", "PM")} | {"HH": "HH12"}  # fmt: skip
_FORMATS: Mapping[str, Mapping[str, str]] = {
    "TO_CHAR": _ORACLE, "STRFTIME": _STRFTIME, "FORMAT_TIMESTAMP": _STRFTIME, "FORMAT_DATETIME": _STRFTIME,
    "FORMAT_DATE": _STRFTIME,
}  # fmt: skip


def _formatted(name: str) -> Builder:
    """Return a builder of the text of a time in a constant format; without a format, of the text of any value."""

    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        if len(arguments) == 1:
            return rows.Cast(arguments[0], "VARCHAR", span=span)
        value, written = arguments[::-1] if name.startswith("FORMAT_") else arguments
        parts = _FORMATS.get(name, _MYSQL if dialect.name == "trino" else _JAVA)
        pattern = written.value if isinstance(written, rows.RowConstant) else None
        fold = re.I if parts is _ORACLE else 0
        quote = "'" if parts is _JAVA else '"'
        known = "|".join(sorted(map(re.escape, parts), key=len, reverse=True))
        shape = re.compile(f"{quote}(?P<text>[^{quote}]*){quote}|{known}|(?P<other>.)", fold | re.S)
        found = [*shape.finditer(pattern)] if isinstance(pattern, str) else []
        wrong = next((one[0] for one in found if one["other"] and (one[0].isalnum() or one[0] == "%")), None)
        if not found or wrong is not None:
            raise Unsupported(
                f"{name} writes a time in a constant format with {', '.join(parts)}"
                + ("" if wrong is None else f", not with {wrong}; CAST(x AS VARCHAR) writes a number"),
                written.span or span,
            )
        own = {"MON": "Mon", "DY": "Dy"} if dialect.name == "snowflake" else {}
        texts = (
            one["other"] or (f'"{one["text"]}"' if one["text"] is not None else _part_of(one[0], parts, own))
            for one in found
        )
        return rows.RowCall("TO_CHAR", (value, rows.RowConstant("".join(texts), span=written.span)), span=span)

    return build


def _part_of(written: str, parts: Mapping[str, str], own: Mapping[str, str]) -> str:
    """Return the text of a part of TO_CHAR's format, in the case in which the part is written."""
    if parts is not _ORACLE:
        return parts[written]
    known = own.get(written.upper(), written)
    return "HH12" if known.upper() == "HH" else known


FROM_THE_END = frozenset({"trino", "oracle", "snowflake", "bigquery", "duckdb", "flink", "databricks"})
ZERO_IS_ONE = frozenset({"oracle", "snowflake", "bigquery", "flink", "databricks"})


def counted_from_the_end(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build SUBSTRING. A negative start counts from the end of the text, except in the standard.

    A start before the text gives the empty text in Trino, Snowflake and Flink, and NULL in Oracle. Elsewhere the text
    is taken from its beginning. A start of 0 gives the empty text in Trino. A negative length gives the empty text in
    Trino, Snowflake and Databricks.
    """
    text, start, *length = arguments
    if length and isinstance(size := getattr(length[0], "value", None), int) and size < 0:
        if dialect.name == "duckdb":
            raise Unsupported(
                f"a negative length counts back from the start in {dialect.title}, and is not supported", span
            )
        if dialect.name in ("trino", "snowflake", "databricks"):
            return rows.RowCall("SUBSTRING", (text, rows.RowConstant(1), rows.RowConstant(0)), span=span)
    value = start.value if isinstance(start, rows.RowConstant) else None
    if value == 0 and dialect.name in ZERO_IS_ONE:
        return rows.RowCall("SUBSTRING", (text, rows.RowConstant(1, span=start.span), *length), span=span)
    if value == 0 and dialect.name == "trino":
        return rows.RowCall("SUBSTRING", (text, rows.RowConstant(1, span=start.span), rows.RowConstant(0)), span=span)
    if not isinstance(value, int) or value >= 0 or dialect.name not in FROM_THE_END:
        return rows.RowCall("SUBSTRING", arguments, span=span)
    count = rows.RowCall("CHAR_LENGTH", (text,), span=span)
    first = rows.Sum(count, "-", rows.RowConstant(-value - 1, span=start.span), span=span)
    cut = rows.RowCall("SUBSTRING", (text, first, *length), span=span)
    if dialect.name not in ("trino", "oracle", "snowflake", "flink"):
        return cut
    outside = rows.RowComparison(count, "<", rows.RowConstant(-value), span=span)
    return rows.RowCase(outside, rows.RowConstant(None if dialect.empty_is_null else ""), cut, span=span)


def join_texts(left: rows.Expression, right: rows.Expression, span: Span) -> rows.Expression:
    """Build left || right as in Oracle, where NULL is the empty text."""
    if rows.RowConstant(None) in (left, right):
        return right if left == rows.RowConstant(None) else left
    empty = rows.RowConstant("")
    sure = [isinstance(e, rows.RowConstant) or (isinstance(e, rows.Sum) and e.operator == "||") for e in (left, right)]
    parts = [
        e if known else rows.Coalesce((e, empty), span=e.span) for e, known in zip((left, right), sure, strict=True)
    ]
    joined = rows.Sum(parts[0], "||", parts[1], span=span)
    if any(sure):
        return joined
    both = rows.RowAnd(rows.IsNull(left), rows.IsNull(right))
    return rows.RowCase(both, rows.RowConstant(None), joined, span=span)


EMPTIED = frozenset({"SUBSTRING", "TRIM", "REPLACE"})
"""The functions that may turn a text that is not empty into the empty text."""


def null_if_empty(e: rows.Expression) -> rows.Expression:
    """Return an expression that is NULL if the given one is the empty text, as in Oracle; the same one if it never
    is.
    """
    if isinstance(e, rows.RowCase):
        return replace(e, otherwise=null_if_empty(e.otherwise))
    if not isinstance(e, rows.RowCall) or e.function not in EMPTIED:
        return e
    return rows.RowCase(rows.RowComparison(e, "=", rows.RowConstant("")), rows.RowConstant(None), e, span=e.span)


def mean_of(e: rows.RowAggregate) -> rows.Expression:
    """Return AVG as the sum divided by the number of values. For whole numbers this is a whole number, as in Flink."""
    parts = (replace(e, function=name) for name in ("SUM", "COUNT"))
    return rows.Product(next(parts), "/", next(parts), span=e.span)


def whole_cast(e: rows.Cast, dialect: SqlDialect) -> rows.Expression:
    """Return a CAST to a whole number with a dialect's meaning: a CASE if the dialect does not round halves away from
    zero.

    Floats of at least 2 to the power of 52 are whole. A text with a fraction becomes NULL here, see `with_days`.
    """
    if dialect.casts == "away from zero" or _is_whole(e.operand, dialect):
        return e
    number = rows.Cast(e.operand, "DOUBLE", span=e.span)
    rest = rows.Product(number, "%", rows.RowConstant(1), span=e.span)
    # The CAST itself rounds halves away from zero; so it gets a number without a fraction.
    cut = rows.Cast(rows.Sum(number, "-", rest, span=e.span), "BIGINT", span=e.span)
    if dialect.casts == "truncated":
        differs = rows.RowComparison(rows.Absolute(number, span=e.span), "<", rows.RowConstant(2**52), span=e.span)
    else:
        if any(isinstance(one, rows.RowConstant) and isinstance(one.value, float) for one in subtrees(e)):
            return e  # a constant with a point makes it a DECIMAL, whose halves go away from zero
        halves = rows.Absolute(rows.Product(number, "%", rows.RowConstant(2), span=e.span), span=e.span)
        differs = rows.RowComparison(halves, "=", rows.RowConstant(0.5), span=e.span)
    return rows.RowCase(rows.RowAnd(differs, rows.IsNull(e, True, span=e.span), span=e.span), cut, e, span=e.span)


_WHOLE = frozenset({"FLOOR", "CEIL", "ROUND", "SIGN", "CHAR_LENGTH", "DATEDIFF", "TIMESTAMPDIFF"})


def _is_whole(e: rows.Expression, dialect: SqlDialect) -> bool:
    """Return whether an expression has no fraction in a dialect, whatever the columns are."""
    match e:
        case rows.RowConstant(value):
            return not isinstance(value, float)
        case rows.Count() | rows.RowMatchNumber() | rows.RowAggregate("COUNT"):
            return True
        case rows.Cast(_, type_):
            return type_ == "BIGINT"
        case rows.RowCall(function, arguments):
            return function in _WHOLE and (function != "ROUND" or len(arguments) == 1)
        case rows.Extract(part):
            return part not in ("SECOND", "EPOCH")
        case rows.Product(_, "/", _) if dialect.integer_division == "exact":
            return False
        case rows.Sum(number, "-", rows.Product(other, "%", rows.RowConstant(1))) if number == other:
            return True
        case rows.Negative() | rows.Absolute() | rows.Sum() | rows.Product():
            return all(_is_whole(one, dialect) for one in rows.below(e))
    return False


def _interval_of(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build the interval for NUMTODSINTERVAL(number, 'MINUTE')."""
    return rows.Product(arguments[0], "*", rows.RowConstant(LENGTHS[_unit_name(arguments[1], span, LENGTHS)]))


def _decode(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build the CASE for DECODE(e, search, result, …, default), in which NULL equals NULL."""
    e, *pairs = arguments
    found: rows.Expression = pairs.pop() if len(pairs) % 2 else rows.RowConstant(None)
    for search, result in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        nulls = rows.RowAnd(rows.IsNull(e), rows.IsNull(search))
        found = rows.RowCase(rows.RowOr(rows.RowComparison(e, "=", search), nulls), result, found)
    return found


FORMATS = {"YYYY": "%Y", "MM": "%m", "MON": "%b", "MONTH": "%B", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S",
           "YY": "%y", "RR": "%y", "HH": "%H"}  # fmt: skip
ORACLE_UNITS = {"DD": "DAY", "DDD": "DAY", "J": "DAY", "MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR",
                "HH24": "HOUR", "HH": "HOUR", "MI": "MINUTE", "IW": "WEEK", "Q": "QUARTER"}  # fmt: skip


def _to_time(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build TO_DATE or TO_TIMESTAMP: the time of a constant text with a format, or else a CAST."""
    if len(arguments) == 1:
        return rows.Cast(arguments[0], "TIMESTAMP")
    text, written = arguments
    if not (isinstance(text, rows.RowConstant) and isinstance(written, rows.RowConstant)):
        raise Unsupported(
            "with a format, both arguments must be texts in quotation marks, as in TO_DATE('2026-01-31', 'YYYY-MM-DD')",
            span,
        )
    shape = re.sub(
        "|".join(sorted(FORMATS, key=len, reverse=True)), lambda found: FORMATS[found[0]], str(written.value).upper()
    )
    try:
        return rows.RowConstant(datetime.strptime(str(text.value), shape).replace(tzinfo=UTC))
    except ValueError:
        raise Unsupported(
            f"{text.value} is not written as {written.value}, with parts of {', '.join(FORMATS)}", span
        ) from None


def _backwards(function: str) -> Builder:
    """Return a builder for BigQuery's order of arguments: two times, the later one first, then a unit."""

    def build(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
        unit, start, end = arguments[::-1]
        unit = _own_week(unit, dialect, span) if function == "DATEDIFF" else unit
        return _difference(function)((unit, start, end), dialect, span)

    return build


def _date_diff(arguments: Arguments, dialect: SqlDialect, span: Span) -> rows.Expression:
    """Build DATE_DIFF: complete units in Trino, boundaries in DuckDB, boundaries with the unit last in BigQuery."""
    if dialect.name == "bigquery":
        return _backwards("DATEDIFF")(arguments, dialect, span)
    if dialect.name == "duckdb" and _unit_name(arguments[0], span, TIME_UNITS) == "WEEK":  # days, divided by 7
        day = rows.RowConstant("DAY", span=span)
        days = (rows.RowCall("DATE_TRUNC", (day, time), span=span) for time in arguments[1:])
        return _difference("TIMESTAMPDIFF")((arguments[0], *days), dialect, span)
    return _difference("DATEDIFF" if dialect.name == "duckdb" else "TIMESTAMPDIFF")(arguments, dialect, span)


def unit_of(e: rows.Expression, span: Span, units: Collection[str]) -> rows.Expression:
    """Return a unit of time as a text, from a word such as MINUTE or a text such as 'minute'. Raises Unsupported."""
    return rows.RowConstant(_unit_name(e, span, units), span=e.span)


def _unit_name(e: rows.Expression, span: Span, units: Collection[str]) -> str:
    word = e.name if isinstance(e, rows.RowColumn) and e.variable is None and not e.quoted else None
    word = e.value if isinstance(e, rows.RowConstant) and isinstance(e.value, str) else word
    unit = "" if word is None else word.upper().removesuffix("S")
    if unit not in units:
        raise Unsupported(f"the unit of time must be one of {', '.join(units)}", e.span or span)
    return unit


TIME_UNITS = (*MONTHS, *LENGTHS)
_MANY = 50
NOW = frozenset({"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"})
"""The words without parentheses that stand for the time at which a query runs."""
_NOW_CALLS = NOW | {"NOW", "TODAY", "GETDATE", "GETUTCDATE", "SYSDATE", "SYSTIMESTAMP", "CURRENT_DATETIME", "PROCTIME"}


def require_not_now(name: str, dialect: SqlDialect, span: Span | None, called: bool) -> None:
    """Raise Unsupported if a name stands for the current time. called: whether the name is followed by arguments."""
    words = _NOW_CALLS if called else NOW | ({"SYSDATE", "SYSTIMESTAMP"} if dialect.name == "oracle" else set())
    if name.upper() in words:
        mark = "`" if dialect.backticks else '"'
        column = "" if called else f"; a column is written {mark}{name}{mark}"
        raise Unsupported(
            f"{name} is the time at which the query runs, so its answer would change with every run: write "
            f"TIMESTAMP '2026-01-31 12:00:00' or DATE '2026-01-31'{column}",
            span,
        )


_FUNCTIONS: Mapping[str, tuple[int, int, Builder]] = {
    "NULLIF": (2, 2, _nullif),
    "GREATEST": (1, _MANY, _extreme(">=")),
    "LEAST": (1, _MANY, _extreme("<=")),
    "MOD": (2, 2, lambda arguments, _, __: rows.Product(arguments[0], "%", arguments[1])),
    "NVL": (2, 2, lambda arguments, _, __: rows.Coalesce(arguments)),
    "IFNULL": (2, 2, lambda arguments, _, __: rows.Coalesce(arguments)),
    "NVL2": (3, 3, _nvl2),
    "IF": (2, 3, _if),
    "IFF": (3, 3, _if),
    "DATE_DIFF": (3, 3, _date_diff),
    "TIMESTAMPDIFF": (3, 3, _difference("TIMESTAMPDIFF", frozenset({"snowflake"}))),
    "TIMESTAMP_DIFF": (3, 3, _backwards("TIMESTAMPDIFF")),
    "DATETIME_DIFF": (3, 3, _backwards("DATEDIFF")),
    "DATETIME_ADD": (2, 2, _by_interval("+")),
    "TIMESTAMP_ADD": (2, 2, _by_interval("+")),
    "DATETIME_SUB": (2, 2, _by_interval("-")),
    "TIMESTAMP_SUB": (2, 2, _by_interval("-")),
    "DATE_ADD": (2, 3, _date_add),
    "DATE_SUB": (2, 3, _date_sub),
    "DATESUB": (3, 3, _date_sub),
    "DATEADD": (2, 3, _dateadd),
    "ADD_MONTHS": (2, 2, add_months),
    "TIMEADD": (3, 3, _dateadd),
    "TIMESTAMPADD": (3, 3, _dateadd),
    "TIMEDIFF": (3, 3, _difference("DATEDIFF")),
    "DATEDIFF": (2, 3, _datediff),
    "TIMESTAMP_TRUNC": (2, 2, _truncated),
    "DATETIME_TRUNC": (2, 2, _truncated),
    "DATE_TRUNC": (2, 2, _truncated),
    "TRUNC": (1, 2, _truncated),
    "NUMTODSINTERVAL": (2, 2, _interval_of),
    "TO_DATE": (1, 2, lambda arguments, *rest: (_to_time if len(arguments) > 1 else _date)(arguments, *rest)),
    "DATE": (1, 1, _date),
    "FROM_ISO8601_TIMESTAMP": (1, 1, _to_time),
    **dict.fromkeys(("COUNT_IF", "COUNTIF"), (1, 1, _count_if)),
    **dict.fromkeys(("STARTS_WITH", "STARTSWITH"), (2, 2, _starts_with)),
    **dict.fromkeys(("REGEXP_LIKE", "RLIKE", "REGEXP", "REGEXP_CONTAINS", "REGEXP_MATCHES"), (2, 3, build_regexp_like)),
    "REGEXP_FULL_MATCH": (
        2,
        2,
        lambda arguments, _, span: build_match(arguments[0], arguments[1], r"\A(", r")\z", span),
    ),
    "TO_CHAR": (1, 2, _formatted("TO_CHAR")),
    "STRFTIME": (2, 2, _formatted("STRFTIME")),
    "DATE_FORMAT": (2, 2, _formatted("DATE_FORMAT")),
    **{name: (2, 2, _formatted(name)) for name in ("FORMAT_TIMESTAMP", "FORMAT_DATETIME", "FORMAT_DATE")},
    "TO_TIMESTAMP": (1, 2, _to_time),
    "DECODE": (3, _MANY, _decode),
    "DATE_PART": (2, 2, _date_part),
    **{part: (1, 1, _part(part)) for part in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")},
    "EPOCH": (1, 1, _part("EPOCH")),
    "TO_UNIXTIME": (1, 1, _part("EPOCH")),
    "UNIX_SECONDS": (1, 1, _seconds),
    "UNIX_TIMESTAMP": (1, 1, _seconds),
    "SAFE_DIVIDE": (2, 2, lambda arguments, _, __: rows.Product(arguments[0], "/", arguments[1])),
    "LAG": (1, 2, _shifted("PREV")),
    "LEAD": (1, 2, _shifted("NEXT")),
    "MATCH_SEQUENCE_NUMBER": (0, 0, lambda _, __, ___: rows.Count()),
    "MATCH_ROWTIME": (1, 1, lambda arguments, _, __: rows.Logical("LAST", arguments[0], semantics="FINAL")),
}
"""For each abbreviation the least and the greatest number of arguments, and the function that builds its tree."""
BARE: Mapping[str, Callable[[], rows.Expression]] = {
    "CLASSIFIER": rows.Classifier,
    "MATCH_NUMBER": rows.RowMatchNumber,
    "MATCH_SEQUENCE_NUMBER": rows.Count,
}
"""The functions that may stand without parentheses in some dialects."""


# --- what a dialect refuses -------------------------------------------------------------------------------------------


def require_function(name: str, dialect: SqlDialect, span: Span | None) -> None:
    """Raise Unsupported if the dialect has no function of that name."""
    if name in (dialect.refused or {}) and name not in dialect.functions:
        what = "EXTRACT(EPOCH FROM …)" if name == "EPOCH" else name
        raise Unsupported(f"{dialect.title} does not have {what}", span)


def require_in_dialect(q: MatchRecognize, dialect: SqlDialect) -> None:
    """Raise Unsupported, with the place, for a clause with a part that the dialect does not have.

    Functions are not checked here: see `require_function`.
    """
    for missing, there, what in (
        ("order", q.order, "ORDER BY"),
        ("measures", q.measures, "MEASURES"),
        ("define", q.define, "DEFINE"),
    ):
        if missing in dialect.needs and not there:
            raise Unsupported(f"{dialect.title} requires {what}", q.span)
    if "every variable" in dialect.needs:
        defined = set(q.conditions)
        for name in q.primary:
            if name not in defined:
                raise Unsupported(
                    f"{dialect.title} requires a condition for each variable: write DEFINE {name} AS TRUE", q.span
                )
    for part, span in _parts_used(q):
        reason = (dialect.refused or {}).get(part)
        if reason is not None:
            raise Unsupported(f"{dialect.title} does not have {reason}", span)


def _parts_used(q: MatchRecognize) -> Iterator[tuple[str, Span | None]]:
    """Yield the parts of a clause that some dialect refuses, with their places."""
    if q.window is not None:
        yield "window", q.span
    if q.longest:
        yield "longest match", q.span
    for e in q.keys:
        if not isinstance(e, rows.RowColumn):
            yield "key", e.span
            if e in q.partition:
                yield "partition key", e.span
    if q.rows != "one":
        yield "all rows", q.span
    if q.rows in ("all omit empty", "all with unmatched"):
        yield "empty matches", q.span
    if q.skip.variable is not None:
        yield "skip to a variable", q.skip.span
    yield f"skip {'to ' * (q.skip.to == 'next row')}{q.skip.to}", q.skip.span
    for subset in q.subsets:
        yield "subset", subset.span
    yield from _pattern_parts(q.pattern)
    if may_be_empty(q.pattern):
        yield "empty match", q.pattern.span or q.span
    for e in (node for root in q.expressions for node in subtrees(root)):
        match e:
            case rows.Physical():
                yield "prev and next", e.span
            case rows.Classifier(variable):
                yield "classifier", e.span
                if variable is not None:
                    yield "classifier of a variable", e.span
            case rows.RowMatchNumber():
                yield "match number", e.span
            case rows.Collection(function):
                yield "list" if function in ("ARRAY_AGG", "LISTAGG") else "distinct", e.span
    for e in (node for root in q.expressions for node in subtrees(root)):
        argument = e.argument if isinstance(e, rows.RowAggregate | rows.Logical) else None
        if argument is not None and not isinstance(argument, rows.RowColumn | rows.Classifier):
            yield "aggregate of an expression", e.span
    order = [one.variable for one in q.define]
    for definition in q.define:
        for e in subtrees(definition.condition):
            if isinstance(e, rows.RowColumn) and e.variable in order[order.index(definition.variable) + 1 :]:
                yield "later variable", e.span or definition.span
            if isinstance(e, rows.RowAggregate | rows.Count):
                yield "aggregates in define", e.span or definition.span
            other = isinstance(e, rows.RowColumn) and e.variable not in (None, definition.variable)
            if other or isinstance(
                e, rows.Logical | rows.RowAggregate | rows.Count | rows.Classifier | rows.RowMatchNumber
            ):
                yield "match in define", e.span or definition.span
    keys = {e.name.lower() for e in q.partition if isinstance(e, rows.RowColumn)}
    for measure in q.measures:
        plain = (e for e in rows.lookups(measure.expression) if isinstance(e, rows.RowColumn | rows.Physical))
        if any(not isinstance(e, rows.RowColumn) or e.variable or e.name.lower() not in keys for e in plain):
            yield "plain measures", measure.span


def _pattern_parts(pattern: rows.Pattern) -> Iterator[tuple[str, Span | None]]:
    for p in subtrees(pattern):
        match p:
            case rows.Permute():
                yield "permute", p.span
            case rows.Exclusion():
                yield "exclusion", p.span
            case rows.Anchor():
                yield "anchors", p.span
            case rows.Alternation():
                yield "alternation", p.span
            case rows.Empty():
                yield "empty pattern", p.span
            case rows.Quantified(inner, low, high, greedy):
                if not greedy:
                    yield "reluctant", p.span
                if (low, high) not in SHORT:
                    yield "numbers", p.span
                if not isinstance(inner, rows.RowVariable):
                    yield "groups", p.span
                if (low, high, greedy) == (0, 1, False):
                    yield "reluctant optional", p.span
                if low == high and not greedy:
                    yield "reluctant exact", p.span
    ends = set(_ends(pattern))
    for p in subtrees(pattern):
        if isinstance(p, rows.Anchor) and id(p) not in ends:
            yield "inner anchors", p.span
    last = pattern.right if isinstance(pattern, rows.RowConcatenation) else pattern
    if isinstance(last, rows.Quantified) and last.greedy and last.low != last.high:
        yield "greedy last", last.span


def _ends(pattern: rows.Pattern) -> Iterator[int]:
    """Yield the identities of a ^ at the beginning of a pattern and of a $ at its end."""
    first = last = pattern
    while isinstance(first, rows.RowConcatenation):
        first = first.left
    if isinstance(last, rows.RowConcatenation):
        last = last.right
    yield from (id(p) for p, place in ((first, "start"), (last, "end")) if p == rows.Anchor(place))  # type: ignore[arg-type]


def default_skip(dialect: SqlDialect) -> RowSkip:
    """Return the AFTER MATCH SKIP that a dialect uses by default."""
    return RowSkip(dialect.default_skip)

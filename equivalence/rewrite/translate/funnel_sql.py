"""Translate a chain of CEL into a funnel query for ClickHouse, DuckDB, PostgreSQL, Spark or SQLite.

ClickHouse has a function for funnels, windowFunnel. For other dialects, window functions compute, step after step, the
latest beginning of a chain: `began_2` of a row of step 2 is the latest `began_1` among the rows before it, if that is
within the window. The levels equal those of cerify.funnel on rows in the order of the query's ORDER BY. windowFunnel
reads rows of equal times in any order, so its levels are the same only where times increase.

Comparisons are true or false in CEL; in SQL they may be unknown. Under NOT, the query makes unknown comparisons false.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Literal

from cerify.semantics import predicates as pred
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.funnel_steps import SECONDS_OF, FunnelQuestion, FunnelStep
from cerify.semantics.values import Value, show_time

Dialect = Literal["clickhouse", "duckdb", "postgresql", "spark", "sqlite"]
DIALECTS: tuple[Dialect, ...] = ("clickhouse", "duckdb", "postgresql", "spark", "sqlite")
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_RESERVED = frozenset(
    {
        "all", "and", "any", "as", "asc", "between", "by", "case", "check", "column", "create", "cross", "current",
        "default", "desc", "distinct", "else", "end", "except", "exists", "false", "for", "foreign", "from", "full",
        "group", "having", "in", "inner", "insert", "interval", "into", "is", "join", "left", "like", "limit", "not",
        "null", "offset", "on", "or", "order", "outer", "over", "partition", "primary", "references", "right", "rows",
        "select", "set", "table", "then", "to", "true", "union", "unique", "update", "user", "using", "values", "when",
        "where", "window", "with",
    }
)  # fmt: skip


@dataclass(frozen=True)
class FunnelSql:
    """A funnel as an SQL query, with sentences that say where its levels differ from those of cerify.funnel."""

    query: str
    differences: tuple[str, ...]


def funnel_sql(
    question: FunnelQuestion, dialect: Dialect, table: str = "events", position: str | None = None
) -> FunnelSql:
    """Return a query for the level of each key. Raises Unsupported if the dialect cannot express the funnel.

    table has the columns `type`, `time`, the key and the attributes. position is a column that orders rows of equal
    times; without it, `differences` says how levels may differ.
    """
    if dialect not in DIALECTS:
        raise IllFormed(
            f"there is no dialect {dialect!r}{did_you_mean(dialect, DIALECTS)}; the dialects are {', '.join(DIALECTS)}"
        )
    if question.mode is not None and dialect != "clickhouse":
        raise Unsupported(f"the mode {question.mode} exists only in ClickHouse")
    if question.window is not None and isinstance(question.window.window, EventWindow):
        raise Unsupported(
            "SQL cannot express a window of EVENTS, which counts the events of all keys: give a time window"
        )
    if dialect == "clickhouse":
        return _window_funnel(question, table)
    return _window_functions(question, dialect, table, position)


# --- ClickHouse -------------------------------------------------------------------------------------------------------


def _window_funnel(question: FunnelQuestion, table: str) -> FunnelSql:
    if question.start == "first" or question.between is not None:
        raise Unsupported("windowFunnel cannot express start=first, and cannot forbid events between the steps")
    if question.window is None:
        raise Unsupported("windowFunnel needs a window: add a long one to the funnel, such as WITHIN 36500 days")
    if len(question.steps) > 32:
        raise Unsupported("windowFunnel has at most 32 steps")
    width, axis = _width(question)
    if width.denominator != 1:
        raise Unsupported("the window of windowFunnel must be a whole number of the units of the time column")
    names = "strict_increase,strict_once" if question.order == "strict" else "strict_once"
    names = "" if question.mode == "windowFunnel" else question.mode or names
    modes = [f"'{name}'" for name in names.split(",") if name]
    conditions = [_never_null(step, "clickhouse") for step in question.steps]
    name = _quoted(axis, "clickhouse")
    call = f"windowFunnel({', '.join([str(width), *modes])})(\n        {', '.join([name, *conditions])}\n    )"
    where = [f"{_quoted(question.by, 'clickhouse')} IS NOT NULL"] if question.by is not None else []
    differences = [f"rows without {axis} must be left out: windowFunnel accepts no NULL there"]
    if axis == TIME:
        differences.append(
            f"{axis} must be a DateTime: convert a DateTime64 with toDateTime(…), because windowFunnel refuses it or "
            "counts its ticks"
        )
    if question.mode is not None:
        pass  # the mode says what rows of equal times are
    elif question.order == "strict":
        differences.append(
            f"rows are ordered by {axis}: CEL gives the same levels for events in the order of their times"
        )
    else:
        differences.append(
            f"rows of equal {axis} are in any order: B before A at the same instant is a chain `A ; B` here, but not "
            "in CEL; where times increase, the levels are the same"
        )
    return FunnelSql(
        _select(question, _table(table, "clickhouse"), f"{call} AS level", where, "clickhouse"), tuple(differences)
    )


def _never_null(step: FunnelStep, dialect: Dialect) -> str:
    """Return the condition of a step in a form that is never NULL.

    windowFunnel hides a row from all steps if one condition is NULL.
    """
    condition = _condition(step, dialect)
    return condition if step.predicate is None else f"ifNull({condition}, 0)"


# --- window functions -------------------------------------------------------------------------------------------------


def _window_functions(question: FunnelQuestion, dialect: Dialect, table: str, position: str | None) -> FunnelSql:
    def name(column: str) -> str:
        return _quoted(column, dialect)

    strict = question.order == "strict"
    if strict and dialect == "spark":
        raise Unsupported("Spark has no frame of the rows with an earlier time; leave the filter on times out")
    axis = None if question.window is None else _width(question)[1]
    order = TIME if strict else position or TIME
    keys = [] if question.by is None else [name(question.by)]
    needed = sorted({column for column in (axis, question.by, TIME if strict else None) if column is not None})
    where = [_of_a_step(question, dialect), *(f"{name(column)} IS NOT NULL" for column in needed)]
    source, parts, clear = f"{_table(table, dialect)}\n    WHERE {' AND '.join(where)}", list[str](), ""
    preceding = "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    rows = ", ".join(map(name, dict.fromkeys([order, position or order])))
    by_rows = f"{_partition(keys)}ORDER BY {rows} ROWS"
    if question.between is not None:  # `barred` is the same in two rows if no forbidden row is between them
        barred = f"COALESCE({_condition(question.between, dialect)}, FALSE)"
        counted = f"SUM(CASE WHEN {barred} THEN 1 ELSE 0 END) OVER ({by_rows} UNBOUNDED PRECEDING)"
        parts.append(f"step_0 AS (\n    SELECT *, {counted} AS barred\n    FROM {source}\n)")
        source, clear = "step_0", f" AND NOT {barred}"
        keys = [*keys, "barred"]
    over = f"({_partition(keys)}ORDER BY {name(order)} {'GROUPS' if strict else 'ROWS'} {preceding})"
    began = "1" if axis is None else name(axis)
    begins = _condition(question.steps[0], dialect)
    if question.start == "first":
        begins += f" AND COUNT(CASE WHEN {begins} THEN 1 END) OVER ({by_rows} {preceding}) = 0"
    first = f"CASE WHEN {begins}{clear} THEN {began} END AS began_1"
    parts.append(f"step_1 AS (\n    SELECT *, {first}\n    FROM {source}\n)")
    for i, step in enumerate(question.steps[1:], 2):
        newest = f"MAX(began_{i - 1}) OVER {over}"
        limit = "" if axis is None else f"\n        AND {newest} >= {_earliest(question, dialect)}"
        parts.append(
            f"step_{i} AS (\n    SELECT *, CASE WHEN {_condition(step, dialect)}{clear}{limit}\n"
            f"        THEN {newest} END AS began_{i}\n    FROM step_{i - 1}\n)"
        )
    n = len(question.steps)
    cases = " ".join(f"WHEN COUNT(began_{i}) > 0 THEN {i}" for i in range(n, 0, -1))
    query = _select(question, f"step_{n}", f"CASE {cases} ELSE 0 END AS level", [], dialect)
    differences = []
    if strict:
        differences.append(
            f"rows are ordered by {TIME}: CEL gives the same levels for events in the order of their times"
        )
    elif position is None:
        differences.append("rows of equal time are in any order: name a column that orders the rows (--position)")
    if axis is not None and axis != order:
        differences.append(f"{axis} must not decrease from one row of a key to the next")
    if question.by is not None:
        differences.append("keys of level 0 may be missing, because the query reads only rows of steps")
    return FunnelSql(f"WITH {', '.join(parts)}\n{query}", tuple(differences))


def _of_a_step(question: FunnelQuestion, dialect: Dialect) -> str:
    """Return the condition that a row passes a step, or is forbidden between the steps."""
    steps = [*question.steps, *([question.between] if question.between is not None else [])]
    if all(step.predicate is None for step in steps):
        types = dict.fromkeys(_value(step.type or "", dialect) for step in steps)
        return f"{_quoted(TYPE, dialect)} IN ({', '.join(types)})"
    return f"({' OR '.join(dict.fromkeys(f'({_condition(step, dialect)})' for step in steps))})"


def _partition(columns: Sequence[str]) -> str:
    return f"PARTITION BY {', '.join(columns)} " if columns else ""


def _earliest(question: FunnelQuestion, dialect: Dialect) -> str:
    """Return SQL for the earliest time at which a chain that ends in this row may have begun."""
    width, axis = _width(question)
    name = _quoted(axis, dialect)
    if axis != TIME or dialect == "sqlite":
        return f"{name} - {_number(width)}"
    return f"{name} - INTERVAL '{_number(width)}' SECOND"


def _width(question: FunnelQuestion) -> tuple[Fraction, str]:
    """Return (width, attribute): the width of the window (in seconds for `time`), and the attribute that it limits."""
    assert question.window is not None
    match question.window.window:
        case TimeWindow(amount, unit):
            return Fraction(str(amount)) * SECONDS_OF[unit], TIME
        case AttributeWindow(amount, attribute):
            return Fraction(str(amount)), attribute
        case EventWindow():
            raise AssertionError


def _number(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.17g}"
    return text if "e" not in text else f"{float(value):.9f}"


def _select(question: FunnelQuestion, source: str, level: str, where: Sequence[str], dialect: Dialect) -> str:
    key = "" if question.by is None else f"{_quoted(question.by, dialect)}, "
    condition = f"\nWHERE {' AND '.join(where)}" if where else ""
    group = "" if question.by is None else f"\nGROUP BY {_quoted(question.by, dialect)}"
    return f"SELECT {key}{level}\nFROM {source}{condition}{group}"


# --- conditions -------------------------------------------------------------------------------------------------------


def _condition(step: FunnelStep, dialect: Dialect) -> str:
    """Return the condition of a step in SQL. If it is false in CEL, it is false or unknown in SQL."""
    parts = [] if step.type is None else [f"{_quoted(TYPE, dialect)} = {_value(step.type, dialect)}"]
    if step.predicate is not None:
        text = _predicate(step.predicate, dialect, negated=False)
        parts.append(f"({text})" if parts and isinstance(step.predicate, pred.Either) else text)
    return " AND ".join(parts)


def _predicate(predicate: pred.Predicate, dialect: Dialect, *, negated: bool) -> str:
    """Return the predicate in SQL. If it is negated, comparisons that would be unknown are false."""

    def part(inner: pred.Predicate) -> str:
        text = _predicate(inner, dialect, negated=negated)
        return f"({text})" if isinstance(inner, pred.Both | pred.Either) else text

    match predicate:
        case pred.Both(left, right):
            return f"{part(left)} AND {part(right)}"
        case pred.Either(left, right):
            return f"{part(left)} OR {part(right)}"
        case pred.Not(inner):
            return f"NOT ({_predicate(inner, dialect, negated=True)})"
        case pred.Anything():
            return "TRUE"
        case pred.OfType(name):
            text = f"{_quoted(TYPE, dialect)} = {_value(name, dialect)}"
        case pred.Comparison(comparator, left_, right_):
            sign = "<>" if comparator == "!=" else comparator
            text = f"{_term(left_, dialect)} {sign} {_term(right_, dialect)}"
        case pred.OneOf(term, values):
            text = f"{_term(term, dialect)} IN ({', '.join(_value(value, dialect) for value in values)})"
        case pred.InRange(term, low, high):
            text = f"{_term(term, dialect)} BETWEEN {_value(low, dialect)} AND {_value(high, dialect)}"
        case pred.Like(term, pattern):
            text = _regular(_term(term, dialect), pattern, dialect)
    return f"COALESCE({text}, FALSE)" if negated else text


def _regular(term: str, pattern: str, dialect: Dialect) -> str:
    if dialect == "duckdb":
        return f"regexp_full_match({term}, {_value(pattern, dialect)}, 's')"
    if dialect == "clickhouse":
        return f"match({term}, {_value(f'^(?s:{pattern})$', dialect)})"
    raise Unsupported(f"like uses RE2 regular expressions, but {dialect} uses others; compare with = or in {{…}}")


def _term(term: pred.Term, dialect: Dialect, level: int = 0) -> str:
    match term:
        case pred.Attribute(name):
            return _quoted(name, dialect)
        case pred.Constant(value):
            return _value(value, dialect)
        case pred.Arithmetic("/", left, right):
            double = {"postgresql": "DOUBLE PRECISION", "sqlite": "REAL", "clickhouse": "Nullable(Float64)"}
            kind = double.get(dialect, "DOUBLE")
            return f"(CAST({_term(left, dialect)} AS {kind}) / NULLIF({_term(right, dialect, 2)}, 0))"
        case pred.Arithmetic(symbol, left, right):
            text = f"{_term(left, dialect, 1)} {symbol} {_term(right, dialect, 2)}"
            return f"({text})" if level else text


def _value(value: Value, dialect: Dialect) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float():
            return f"({value!r})" if value < 0 else repr(value)
        case str():
            if "\0" in value:
                raise Unsupported("SQL cannot write a string with the character U+0000")
            escaped = value.replace("\\", "\\\\") if dialect in ("clickhouse", "spark") else value
            return "'" + escaped.replace("'", "\\'" if dialect == "spark" else "''") + "'"
        case datetime():
            text = show_time(value)
            if dialect == "sqlite":
                raise Unsupported("SQLite has no timestamps; compare numbers")
            if dialect == "clickhouse":
                return f"parseDateTime64BestEffort('{text}', 6, 'UTC')"
            return f"TIMESTAMP '{text}'" if dialect == "spark" else f"TIMESTAMPTZ '{text}'"


def _quoted(name: str, dialect: Dialect) -> str:
    """Return a name, in quotation marks where it needs them."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    if "\0" in name:
        raise Unsupported("SQL cannot write a name with the character U+0000")
    if dialect in ("spark", "clickhouse"):
        escaped = name.replace("\\", "\\\\") if dialect == "clickhouse" else name
        return "`" + escaped.replace("`", "``") + "`"
    return '"' + name.replace('"', '""') + '"'


def _table(name: str, dialect: Dialect) -> str:
    return ".".join(_quoted(part, dialect) for part in name.split("."))

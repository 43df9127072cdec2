"""Translate funnels to CEL queries, CEL queries to funnels, and both to SQL.

A funnel `A, B, C` by key within a window is `(A ; B ; C) WITHIN w PARTITION BY [key]`: a key reaches the last step if
and only if this query has a match of its events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Literal

from cerify.equivalence.rewrite.translate_core_cel import Names
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow, show
from cerify.semantics.errors import CerifyError, IllFormed, Unsupported
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.funnel_queries import SECONDS_OF, FunnelQuestion, FunnelStep, FunnelWindow
from cerify.semantics.predicates import Attribute, Both, Comparison, Predicate, show_predicate
from cerify.semantics.values import Value, show_time

MOST_TYPES = 20  # the greatest number of event types that the query lists for a step without a type


def chain_query(question: FunnelQuestion, types: Sequence[str]) -> cel.Formula:
    """Return the CEL query whose matches are the chains of events that take all steps. types: the event types of the
    stream.

    Raises Unsupported, with the reason, if CEL has no such query.
    """
    if question.mode is not None:
        raise Unsupported(f"CEL cannot express the mode {question.mode}: docs/guide/funnels.md says what differs")
    if question.start == "first":
        raise Unsupported(
            "start=first needs START and the names of all event types in CEL: `cerify funnel` prints the "
            "query for a file"
        )
    by_positions = question.window is not None and isinstance(question.window.window, EventWindow)
    if question.between is not None and question.by is not None and by_positions:
        raise Unsupported(
            "a window of EVENTS cannot be translated: CEL counts the events of the key, and a funnel all "
            "events of the stream"
        )
    steps = (*question.steps, *([question.between] if question.between else []))
    if not types and (question.between is not None or any(step.type is None for step in steps)):
        raise Unsupported(
            "a step without a type must list all event types in CEL: `cerify funnel` prints the query for a file"
        )
    for step in steps:
        if step.type is None and len(types) > MOST_TYPES:
            raise Unsupported(
                f"the step {step.text} has no type, so the CEL query would have to list all {len(types)} event types"
            )
    variables, phi = _chain(question, types)
    if question.order == "strict":
        later = [
            cel.Correlated(Comparison("<", Attribute(TIME, a), Attribute(TIME, b))) for a, b in pairwise(variables)
        ]
        if later:
            phi = cel.Filter(phi, _all(later))
    if question.window is not None:
        phi = cel.Within(phi, question.window.window)  # around the chain only, because UNLESS looks at earlier events
    if question.between is not None:
        phi = _without(phi, question.between, types, variables)
        if question.by is not None:
            phi = cel.PerKey(phi, (question.by,))  # the event that must not occur in between is of the same key
    if question.by is not None and question.between is None:
        phi = cel.PartitionBy(phi, question.by)
    return phi


def query_text(question: FunnelQuestion, types: Sequence[str]) -> str:
    """Return the text of `chain_query`. Also raises Unsupported if a name is a keyword of CEL."""
    phi = chain_query(question, types)
    text = show(phi)
    try:
        if parse(text) == phi:
            return text
    except CerifyError:
        pass
    raise Unsupported("an event type or an attribute has the name of a CEL keyword; rename it")


def _chain(question: FunnelQuestion, types: Sequence[str]) -> tuple[list[str], cel.Formula]:
    """Return the variables of the steps, and the sequence of the steps with their conditions as a formula."""
    named = [step.type for step in question.steps if step.type is not None]
    names = Names(frozenset((*named, *types)))
    conditioned = question.order == "strict" or any(step.predicate is not None for step in question.steps)
    variables: list[str] = []
    parts: list[cel.Formula] = []
    conditions: list[cel.Condition] = []
    for i, step in enumerate(question.steps):
        part = _events(step, types)
        variable = step.type
        # A type that occurs in two steps is a variable that holds both events, and a condition on one would test both.
        if variable is None or (conditioned and named.count(variable) > 1):
            variable = names.unused(f"step{i + 1}")
            part = cel.In(part, variable)
        variables.append(variable)
        parts.append(part)
        if step.predicate is not None:
            conditions.append(cel.Every(variable, step.predicate))
    phi = reduce(cel.Seq, parts)
    return variables, cel.Filter(phi, _all(conditions)) if conditions else phi


def _events(step: FunnelStep, types: Sequence[str]) -> cel.Formula:
    names = [step.type] if step.type is not None else list(types)
    return _any_of(names)


def _without(phi: cel.Formula, between: FunnelStep, types: Sequence[str], variables: Sequence[str]) -> cel.Formula:
    """Return the chain, with the condition that no event of `between` occurs from its first event to its last.

    UNLESS looks at a whole interval, so the interval must begin where the chain begins: at the beginning of the stream,
    or after any event, which PROJECT removes from the match.
    """
    other = _events(between, types)
    if between.predicate is not None:
        other = cel.Filter(cel.In(other, "between"), cel.Every("between", between.predicate))
    clear = cel.Unless(cel.Start(phi), other)
    kept = frozenset(variables)
    return cel.Or(clear, cel.Project(kept, cel.Seq(cel.In(_any_of(types), "before"), clear)))


def _any_of(types: Sequence[str]) -> cel.Formula:
    events: list[cel.Formula] = [cel.EventAtom(type_) for type_ in types]
    return reduce(cel.Or, events)


def _all(conditions: Sequence[cel.Condition]) -> cel.Condition:
    return reduce(cel.Conjunction, conditions)


# --- from CEL ---------------------------------------------------------------------------------------------------------


def chain_of(phi: cel.Formula) -> FunnelQuestion:
    """Return the funnel whose last level a CEL query finds. Raises Unsupported, with the place, for other queries.

    A funnel is `A ; B ; …` of event types, with conditions on single events, a window, and one attribute of PARTITION
    BY or PER KEY. If a filter requires that each time is greater than the one before, the order of the funnel is
    strict. An absent event between steps must be written as `chain_query` writes it.

    >>> [step.text for step in chain_of(parse("(A ; B FILTER B.x > 1) WITHIN 7 days PARTITION BY [id]")).steps]
    ['A', 'B[x > 1]']
    """
    windows: list[cel.Window] = []
    keys: list[str] = []
    conditions: list[cel.Condition] = []
    between: FunnelStep | None = None
    inner: cel.Formula | None = phi
    while inner is not None:
        phi, inner = inner, None
        match phi:
            case cel.Or(cel.Unless(cel.Start(chain), other), beside) if not windows and _is_same(phi, beside):
                inner, between = chain, _step_of(other)
            case cel.Within(chain, window):
                inner = chain
                windows.append(window)
            # Inside PARTITION BY an event of any key ends the chain, and `between` of a funnel is an event of the same
            # key.
            case cel.PartitionBy(chain, attribute) if not _has_unless(chain):
                inner = chain
                keys.append(attribute)
            case cel.PerKey(chain, (attribute,)) if not windows:
                inner = chain
                keys.append(attribute)
            case cel.Filter(chain, condition):
                inner = chain
                conditions.append(condition)
    if len(windows) > 1 or len(set(keys)) > 1:
        raise Unsupported(
            "the formula has several windows or several keys; a funnel can have only one of each", phi.span
        )
    variables: list[tuple[str, str]] = []  # the variable and the type of each step
    for part in _steps(phi):
        name, inner = (part.variable, part.phi) if isinstance(part, cel.In) else (None, part)
        if isinstance(inner, cel.Filter):  # a condition on this step only
            conditions.append(inner.condition)
            inner = inner.phi
            if isinstance(inner, cel.In):
                name, inner = inner.variable, inner.phi
        if not isinstance(inner, cel.EventAtom):
            raise Unsupported("a funnel must be a sequence of event types, such as A ; B ; C", part.span)
        variables.append((name or inner.type, inner.type))
    predicates, increasing = _conditions(conditions, [name for name, _ in variables])
    steps = []
    for i, (_, type_) in enumerate(variables):
        predicate = predicates.get(i)
        steps.append(FunnelStep(_step_text(type_, predicate), type_, predicate))
    return FunnelQuestion(
        tuple(steps),
        keys[0] if keys else None,
        FunnelWindow("", windows[0]) if windows else None,
        order="strict" if increasing else "stream",
        between=between,
    )


def _has_unless(phi: cel.Formula) -> bool:
    """Return whether a formula has UNLESS, which PARTITION BY does not restrict to the events of a key."""
    return any(isinstance(node, cel.Unless) for node in cel.subformulas(phi))


def _is_same(phi: cel.Formula, beside: cel.Formula) -> bool:
    """Return whether the right side of an OR is the left side after an additional first event, as `_without` writes
    it.
    """
    match phi, beside:
        case cel.Or(clear, _), cel.Project(_, cel.Seq(cel.In(_, _), after)):
            return clear == after
    return False


def _step_of(phi: cel.Formula) -> FunnelStep:
    """Return the step whose events are the matches of a formula.

    Raises Unsupported if the matches are not events of one type.
    """
    match phi:
        case cel.EventAtom(type_):
            return FunnelStep(type_, type_, None)
        case cel.Filter(cel.In(cel.EventAtom(type_), name), cel.Every(variable, predicate)) if name == variable:
            return FunnelStep(_step_text(type_, predicate), type_, predicate)
    raise Unsupported(
        "the event that is forbidden in between must be of one type, with or without a condition", phi.span
    )


def _step_text(type_: str, predicate: Predicate | None) -> str:
    return type_ if predicate is None else f"{type_}[{show_predicate(predicate)}]"


def _steps(phi: cel.Formula) -> Iterator[cel.Formula]:
    if isinstance(phi, cel.Seq):
        yield from _steps(phi.left)
        yield from _steps(phi.right)
    else:
        yield phi


def _conditions(conditions: Sequence[cel.Condition], names: Sequence[str]) -> tuple[dict[int, Predicate], bool]:
    """Return the predicate of each step that has one, and whether times increase. Raises Unsupported."""
    predicates: dict[int, Predicate] = {}
    increasing: set[tuple[str, str]] = set()
    for condition in conditions:
        for atom in _conjuncts(condition):
            match atom:
                case cel.Every(variable, predicate):
                    for i, name in enumerate(names):
                        if name == variable:
                            predicates[i] = Both(predicates[i], predicate) if i in predicates else predicate
                case cel.Correlated(Comparison("<", Attribute(attribute, str(a)), Attribute(other, str(b)))) if (
                    attribute == other == TIME
                ):
                    increasing.add((a, b))
                case _:
                    raise Unsupported(
                        "this condition compares events; a funnel can only compare them by increasing times", atom.span
                    )
    wanted = set(pairwise(names))
    if increasing and (increasing != wanted or len(set(names)) < len(names)):
        raise Unsupported(
            "conditions on times must say that each step is later than the step before it, with a different variable "
            "for each step; otherwise leave them all out"
        )
    return predicates, bool(increasing)


def _conjuncts(condition: cel.Condition) -> Iterator[cel.Condition]:
    if isinstance(condition, cel.Conjunction):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


# ---------------------------------------------------------------------------------------------------------------------
# Translate a chain of CEL into a funnel query for ClickHouse, DuckDB, PostgreSQL, Spark or SQLite.
#
# ClickHouse has a function for funnels, windowFunnel. For other dialects, window functions compute, step after step,
# the latest beginning of a chain: `began_2` of a row of step 2 is the latest `began_1` among the rows before it, if
# that is within the window. The levels equal those of cerify.funnel on rows in the order of the query's ORDER BY.
# windowFunnel reads rows of equal times in any order, so its levels are the same only where times increase.
#
# Comparisons are true or false in CEL; in SQL they may be unknown. Under NOT, the query makes unknown comparisons
# false.

Dialect = Literal["clickhouse", "duckdb", "postgresql", "spark", "sqlite"]
DIALECTS: tuple[Dialect, ...] = ("clickhouse", "duckdb", "postgresql", "spark", "sqlite")
# No capitals: PostgreSQL turns a name without quotation marks into lower case, and would look for another column.
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
    # A group is the rows of one time: GROUPS leaves them all out, so that only earlier times count.
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
            # By way of the text: 0.1 is the tenth that the user wrote, and not the float near it.
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
            # `/` of CEL is true division, and without a value for zero; SQL may cut off the rest of whole numbers and
            # fail for zero. In ClickHouse only a nullable type can hold the NULL.
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

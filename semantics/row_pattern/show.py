"""From a clause of MATCH_RECOGNIZE or WINDOW to its text, in one line, which parses back to an equal clause."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, assert_never

from cerify.semantics.budget import depth_limited
from cerify.semantics.operators import printed
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize, Order, RowsPerMatch, Skip, Window
from cerify.semantics.row_pattern.operators import EXPRESSIONS, PATTERNS
from cerify.semantics.values import Value

REGULAR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ROWS: dict[RowsPerMatch, str] = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "all omit empty": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "all with unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
SHORT = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def show(q: MatchRecognize) -> str:
    """The text of a clause. Raises BudgetExceeded where it is nested too deeply."""
    keyword = "MATCH_RECOGNIZE" if q.window is None else "WINDOW"
    return f"{keyword} ({' '.join(filter(None, texts(q).values()))})"


def texts(q: MatchRecognize) -> dict[str, str]:
    """The texts of the parts of a clause in their order, "" for one that it does not have.

    Raises BudgetExceeded where it is nested too deeply.
    """
    measures = (f"{show_expression(one.expression)} AS {_identifier(one.name, one.quoted)}" for one in q.measures)
    subsets = (f"{_variable(one.name)} = ({', '.join(map(_variable, one.members))})" for one in q.subsets)
    define = (f"{_variable(one.variable)} AS {show_expression(one.condition)}" for one in q.define)
    return {
        "partition": _listed("PARTITION BY ", (_column(one) for one in q.partition)),
        "order": _listed("ORDER BY ", map(_order, q.order)),
        "measures": _listed("MEASURES ", measures),
        "rows": ROWS[q.rows] if q.window is None else _frame(q.window),
        "skip": _skip(q.skip),
        "pattern": f"{'SEEK ' if q.window and q.window.seek else ''}PATTERN ({show_pattern(q.pattern)})",
        "subset": _listed("SUBSET ", subsets),
        "define": _listed("DEFINE ", define),
    }


def show_pattern(p: rows.Pattern) -> str:
    """The text of a pattern, with no more parentheses than needed."""
    with depth_limited(p.span):
        return printed(p, PATTERNS, _pattern_field)


def show_expression(e: rows.Expression) -> str:
    """The text of an expression, with few parentheses."""
    with depth_limited(e.span):
        return printed(e, EXPRESSIONS, _expression_field)


def _pattern_field(value: Any) -> str:
    """The text of what is no operand: the name of a variable, an anchor, or a quantifier."""
    if not isinstance(value, rows.Quantified):
        return {"start": "^", "end": "$"}.get(value) or _variable(value)
    low, high = value.low, value.high
    bounds = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
    return SHORT.get((low, high), bounds) + ("" if value.greedy else "?")


def _expression_field(value: Any) -> str:
    """The text of what is no operand: of a node without operands all of it, of another one what its text leaves out."""
    match value:
        case rows.Constant(constant):
            return _literal(constant)
        case rows.Column():
            return _column(value)
        case rows.Classifier(A):
            return f"CLASSIFIER({'' if A is None else _variable(A)})"
        case rows.Count(A, semantics):
            return f"{_expression_field(semantics)}COUNT({'' if A is None else _variable(A) + '.'}*)"
        case rows.Physical(_, _, offset):
            return "" if offset == 1 else f", {offset}"
        case rows.Logical(_, _, offset):
            return "" if offset == 0 else f", {offset}"
        case rows.IsNull() | rows.Between() | rows.In() | rows.Like():
            return "NOT " if value.negated else ""
        case tuple():  # of LIKE
            return "".join(f" ESCAPE {_literal(one)}" for one in value)
        case "RUNNING":
            return ""
        case "FINAL":
            return "FINAL "
        case str() | int():
            return str(value)
        case _:
            assert_never(value)


def _literal(value: Value | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(' ')}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case int() | float():
            return repr(value)


def _column(one: rows.Column) -> str:
    name = _identifier(one.name, one.quoted)
    return name if one.variable is None else f"{_variable(one.variable)}.{name}"


def _identifier(name: str, quoted: bool) -> str:
    return '"' + name.replace('"', '""') + '"' if quoted else name


def _variable(name: str) -> str:
    return _identifier(name, not (REGULAR.fullmatch(name) and name == name.upper()))


def _order(one: Order) -> str:
    return f"{_column(one.column)}{' DESC' * one.descending}{'' if one.nulls is None else ' NULLS ' + one.nulls}"


def _frame(window: Window) -> str:
    end = "UNBOUNDED" if window.following is None else str(window.following)
    return f"ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING"


def _skip(skip: Skip) -> str:
    to = skip.to.upper() if skip.to == "past last row" else f"TO {skip.to.upper()}"
    return f"AFTER MATCH SKIP {to}{'' if skip.variable is None else ' ' + _variable(skip.variable)}"


def _listed(keyword: str, texts: Any) -> str:
    found = ", ".join(texts)
    return keyword + found if found else ""

"""From a clause of MATCH_RECOGNIZE to its text in a dialect, with the same meaning there, or the reason why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cerify.semantics import trees
from cerify.semantics.errors import Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.dialects import (
    SqlDialect,
    meant_reading,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_expression, texts
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, ValueType, value_type_of

_TOKEN = re.compile(
    r"(?<!INTERVAL )'(?:[^']|'')*'|(?P<name>\"(?:[^\"]|\"\")*\")|(?<= AS )(?P<type>BIGINT|DOUBLE|VARCHAR|BOOLEAN)(?=\))"
    r"|(?P<interval>\bINTERVAL '(?P<size>[-.0-9]+)' (?P<unit>[A-Z]+))|(?P<function>\b[A-Z_]+)(?=\()"
)
_WITHOUT_MODULO = ("oracle", "bigquery")
_WITHOUT_SEMANTICS = ("bigquery", "flink")
_WITHOUT_ROWS = ("bigquery",)


def show_in_dialect(q: MatchRecognize, source: SqlDialect, target: SqlDialect) -> tuple[str, tuple[str, ...]]:
    """Return the text of a clause that was read in one dialect, in another, and sentences about what differs.

    Raises Unsupported, with the reason, for what the other dialect does not have.

    >>> from cerify.semantics.row_pattern.dialects import DIALECTS
    >>> q = parse("MATCH_RECOGNIZE (ORDER BY x PATTERN (A) DEFINE A AS MOD(x, 2) = 0)", DIALECTS["trino"])
    >>> show_in_dialect(q, DIALECTS["trino"], DIALECTS["oracle"])[0][:54]
    'MATCH_RECOGNIZE (ORDER BY x NULLS LAST ONE ROW PER MAT'
    """
    q = with_meant_nulls(q, source, target)
    if target.name in _WITHOUT_SEMANTICS and q.rows == "one":
        q = _with_expressions(q, _running)  # in the last row both are the same
    if "define" in target.needs and not q.define and q.primary:
        q = replace(q, define=(rows.RowDefinition(q.primary[0], rows.RowConstant(True)),))
    require_in_dialect(q, target)
    refused = target.refused or {}
    for e in (node for root in (*q.keys, *q.expressions) for node in subtrees(root)):
        if isinstance(e, rows.RowCall) and e.function in refused:
            raise Unsupported(f"{target.title} does not have {refused[e.function]}", e.span)
    written = _with_expressions(q, _modulo) if target.name in _WITHOUT_MODULO else q
    parts = texts(written)
    if target.name in _WITHOUT_ROWS:
        parts["rows"] = ""
    keyword = "MATCH_RECOGNIZE" if q.window is None else "WINDOW"
    text = _TOKEN.sub(lambda found: _spelt(found, target), f"{keyword} ({' '.join(filter(None, parts.values()))})")
    _require_same(q, text, target)
    differences = []
    if meant_reading(q.expressions, source) != meant_reading(q.expressions, target):
        exact = "exact" if target.integer_division == "exact" else "truncated"
        differences.append(f"a division of whole numbers is {exact} in {target.title}, and is not in {source.title}")
    return text, tuple(differences)


def show_table(
    name: str,
    columns: Sequence[rows.RowColumn],
    table: Sequence[Sequence[Value | None]],
    target: SqlDialect,
    types: Mapping[str, ValueType] | None = None,
) -> str:
    """Return WITH and a table of these rows in a dialect; the first row says the types of the columns.

    types: those of columns that are NULL throughout, else whole numbers. Raises Unsupported for a dialect without
    WITH, and for a column of several types.

    >>> from cerify.semantics.row_pattern.dialects import DIALECTS
    >>> show_table("t", [rows.RowColumn("x")], [[1], [None]], DIALECTS["duckdb"])
    'WITH t (x) AS (VALUES (CAST(1 AS BIGINT)), (NULL))'
    """
    if target.streams:
        raise Unsupported(f"{target.title} has no table in the text of a query")
    if not table:
        raise Unsupported("a table in the text of a query has a row at least")
    known = types or {}
    names_of_types = [
        _column_type(column, [row[i] for row in table], known.get(column.name, "int"), target)
        for i, column in enumerate(columns)
    ]
    names = [_spelt_name(column, target) for column in columns]
    cells = [[show_expression(rows.RowConstant(value)) for value in row] for row in table]
    cells[0] = [f"CAST({cell} AS {type_})" for cell, type_ in zip(cells[0], names_of_types, strict=True)]
    if target.name == "bigquery":
        rest = [f"({', '.join(row)})" for row in cells[1:]]
        named = ", ".join(f"{cell} AS {column}" for cell, column in zip(cells[0], names, strict=True))
        return f"WITH {name} AS (SELECT * FROM UNNEST([{', '.join((f'STRUCT({named})', *rest))}]))"
    if target.name == "oracle":
        selects = [", ".join(f"{cell} AS {c}" for cell, c in zip(row, names, strict=True)) for row in cells]
        return f"WITH {name} AS ({' UNION ALL '.join(f'SELECT {one} FROM DUAL' for one in selects)})"
    values = ", ".join(f"({', '.join(row)})" for row in cells)
    listed = f"({', '.join(names)})"
    if target.name in ("snowflake", "databricks"):
        return f"WITH {name} AS (SELECT * FROM VALUES {values} AS v {listed})"
    return f"WITH {name} {listed} AS (VALUES {values})"


SQL_TYPES: Mapping[ValueType, rows.SqlType] = {
    "int": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp": "TIMESTAMP",
}  # fmt: skip


def _column_type(column: rows.RowColumn, values: Sequence[Value | None], empty: ValueType, target: SqlDialect) -> str:
    """The name of the type of a column in a dialect; empty: that of one that is NULL throughout."""
    types = {value_type_of(value) for value in values if value is not None}
    if types == {"int", "float"}:
        types = {"float"}
    if len(types) > 1:
        raise Unsupported(f"the values of {column.name} are of several types")
    standard = SQL_TYPES[next(iter(types), empty)]
    return (target.types or {}).get(standard, standard)


def _spelt_name(column: rows.RowColumn, target: SqlDialect) -> str:
    """The name of a column, in quotation marks where the clause has it so."""
    return _TOKEN.sub(lambda found: _spelt(found, target), show_expression(column))


def _spelt(found: re.Match[str], target: SqlDialect) -> str:
    if found["name"] and target.backticks:
        inner = found["name"][1:-1].replace('""', '"')
        if "`" in inner:
            raise Unsupported(f"{target.title} has no name with a backtick: {inner}")
        return f"`{inner}`"
    if found["interval"]:
        if target.name == "snowflake":
            return f"INTERVAL '{found['size']} {found['unit']}'"
        if target.name == "bigquery":
            if "." in found["size"] or "-" in found["size"]:
                raise Unsupported(f"{target.title} writes an interval as a whole number of one unit")
            return f"INTERVAL {found['size']} {found['unit']}"
    if found["function"]:
        return (target.spelled or {}).get(found["function"], found["function"])
    if found["type"]:
        return (target.types or {}).get(found["type"], found["type"])
    return found[0]


def _require_same(q: MatchRecognize, text: str, target: SqlDialect) -> None:
    """Raise Unsupported unless the text is read as the clause again."""
    again = parse(text, target)
    if replace(again, span=None) != replace(q, span=None):
        raise Unsupported(
            f"{target.title} would read the clause otherwise: a name or a function in it means something else there"
        )


def _with_expressions(q: MatchRecognize, change: Callable[[rows.Expression], rows.Expression]) -> MatchRecognize:
    def changed(e: rows.Expression) -> rows.Expression:
        return change(replace(trees.rebuilt(e, [changed(operand) for operand in rows.below(e)]), span=e.span))

    return replace(
        q,
        define=tuple(replace(one, condition=changed(one.condition)) for one in q.define),
        measures=tuple(replace(one, expression=changed(one.expression)) for one in q.measures),
    )


def _running(e: rows.Expression) -> rows.Expression:
    return replace(e, semantics="RUNNING") if isinstance(e, rows.Logical | rows.Count | rows.RowAggregate) else e


def _modulo(e: rows.Expression) -> rows.Expression:
    """Return a name that is written as the call of MOD."""
    if isinstance(e, rows.Product) and e.operator == "%":
        return rows.RowColumn(f"MOD({show_expression(e.left)}, {show_expression(e.right)})")
    return e

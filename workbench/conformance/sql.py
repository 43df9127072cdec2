"""Write MATCH_RECOGNIZE and WINDOW as SQL statements that show the matches of a clause, and read the matches from their
rows.

Each row of the table has its position in the column PLACE, which breaks ties in ORDER BY. For MATCH_RECOGNIZE one
statement returns the rows of each match with MATCH_NUMBER and CLASSIFIER, and another the clause's own rows with its
measures. For WINDOW a single statement returns each row with its measures and the rows of its match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from cerify import protocol
from cerify.conformance.cases import parsed
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.semantics import trees
from cerify.semantics.arguments import timed_items
from cerify.semantics.errors import CerifyError, InputError, Unsupported
from cerify.semantics.events import Schema, Stream, result_of
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.interpreter import table_of
from cerify.semantics.row_pattern.scalars import NumberedMatch, columns_of
from cerify.semantics.row_pattern.syntax import (
    MatchRecognize,
    Measure,
    Order,
    RowDefinition,
    RowWindow,
    show,
    show_expression,
    texts,
)
from cerify.semantics.values import ValueType, plain

TYPES: Mapping[ValueType, str] = {
    "int": "BIGINT",
    "float": "DOUBLE PRECISION",
    "string": "VARCHAR(200)",
    "bool": "BOOLEAN",
    "timestamp": "TIMESTAMP(6)",
}
TABLE, PLACE, NUMBER, LABEL = "cerify_rows", "cerify_place", "cerify_number", "cerify_label"
WINDOW, COUNT, ROW = "cerify_window", "cerify_count", "cerify_row"
TRUE = rows.RowComparison(rows.RowConstant(1), "=", rows.RowConstant(1))

Row: TypeAlias = Mapping[str, Any]
"""A row of a result: maps the name of each column, in lower case, to its value."""
Key: TypeAlias = tuple[Any, ...]


def columns(S: Stream) -> dict[str, str]:
    """Return the SQL types of the columns of a stream's table. The column of the position comes first."""
    schema = S.schema or Schema.from_events(S)
    types = {name: TYPES[schema.attributes.get(name, "string")] for name in columns_of(S)}
    return {PLACE: TYPES["int"], **types}


def values(S: Stream) -> Iterator[list[Any]]:
    """Yield the rows of a stream's table."""
    names = columns_of(S)
    for place, row in enumerate(table_of(S)):
        yield [place, *(row.get(name) for name in names)]


def build_clauses(q: MatchRecognize, length: int) -> list[MatchRecognize]:
    """Return the clauses to send for a query, whose answers together show its matches.

    length: the number of rows of the table. For MATCH_RECOGNIZE, one clause returns the labels of all rows; if the
    query has measures, a second one returns these. For WINDOW, one clause returns the query's measures and further
    ones: the number of rows of the match, and the position and label of each.
    """
    for e in q.partition:
        if not isinstance(e, rows.RowColumn):
            raise Unsupported(
                "PARTITION BY may only list columns here: their values identify the partition of a match", e.span
            )
    number = Measure(rows.RowMatchNumber(), NUMBER)
    q = replace(q, order=(*q.order, Order(rows.RowColumn(PLACE))))
    if not q.define and q.primary:  # SQL requires DEFINE
        q = replace(q, define=(RowDefinition(q.primary[0], TRUE),))
    if q.window is not None:
        return [replace(q, measures=(*q.measures, *_rows_of_match(q.window, length)))]
    # With the excluded parts, because every row of the match must show its label.
    labels = replace(q, pattern=_included(q.pattern), rows="all", measures=(number, Measure(rows.Classifier(), LABEL)))
    return [labels, *([replace(q, measures=(*q.measures, number))] if q.measures else [])]


def _rows_of_match(window: RowWindow, length: int) -> Iterator[Measure]:
    yield Measure(rows.Count(), COUNT)
    for k in range(length if window.following is None else min(length, window.following + 1)):
        yield Measure(rows.Logical("FIRST", rows.RowColumn(PLACE), k), f"{PLACE}_{k}")
        yield Measure(rows.Logical("FIRST", rows.Classifier(), k), f"{LABEL}_{k}")


def select(table: str, q: MatchRecognize) -> str:
    """Return a SELECT with a clause over a table. With WINDOW, the column ROW has the number of each row in its
    partition.
    """
    if q.window is None:
        return f"SELECT * FROM {table} {show(q)}"
    parts = texts(q)
    columns = [show_expression(one) for one in (rows.RowColumn(PLACE), *q.partition)]
    measured = (show_expression(rows.RowColumn(one.name, quoted=one.quoted)) for one in q.measures)
    columns += [f"{name} OVER {WINDOW} AS {name}" for name in measured]
    columns.append(f"ROW_NUMBER() OVER ({' '.join(filter(None, (parts['partition'], parts['order'])))}) AS {ROW}")
    return f"SELECT {', '.join(columns)} FROM {table} WINDOW {WINDOW} AS {show(q).removeprefix('WINDOW ')}"


def _included(p: Any) -> Any:
    """Return the pattern without {- and -}, so that the rows inside them are shown too."""
    below = [_included(one) for one in trees.children(p)]
    return below[0] if isinstance(p, rows.Exclusion) else trees.rebuilt(p, below) if below else p


def message(case: Case) -> protocol.Json | None:
    """Return the fields that a run message has in addition for engines that speak SQL: table, columns, rows and
    statements.

    Return None if the query is no MATCH_RECOGNIZE.
    """
    if (q := _clause(case)) is None:
        return None
    try:
        S = stream_of(case)
        with_table = _with_table(S)
        selects = [select(TABLE, one) for one in build_clauses(q, len(S))]
        return {
            "table": TABLE,
            "columns": [{"name": name, "type": kind} for name, kind in columns(S).items()],
            "rows": [plain(row) for row in values(S)],
            "clause": texts(q),
            "variables": list(q.primary),
            "selects": selects,
            "statements": [f"{with_table} {one}" for one in selects],
        }
    except (CerifyError, RecursionError):
        return None


def _clause(case: Case) -> MatchRecognize | None:
    q = parsed(case.language, case.query)
    return q if isinstance(q, MatchRecognize) else None


def _with_table(S: Stream) -> str:
    """Return the table as a named subquery. Each value has a CAST, because engines infer types of literals
    differently.
    """
    types = columns(S)
    cells = [[f"CAST({literal(v)} AS {t})" for v, t in zip(row, types.values(), strict=True)] for row in values(S)]
    # VALUES needs a row: an empty table has one of NULL, which WHERE takes away again.
    nulls = [[f"CAST(NULL AS {kind})" for kind in types.values()]]
    listed = ", ".join(f"({', '.join(row)})" for row in cells or nulls)
    selected = f"SELECT * FROM (VALUES {listed}) AS cerify_values ({', '.join(types)})"
    return f"WITH {TABLE} AS ({selected}{'' if cells else f' WHERE {PLACE} IS NOT NULL'})"


def literal(value: Any) -> str:
    """Return a value as a literal of SQL."""
    return show_expression(rows.RowConstant(value))


def answer(case: Case, tables: Sequence[protocol.Json]) -> protocol.Json:
    """Read the matches from the tables that the statements of a case returned; return them as an answer.

    Raises InputError for tables of another form.
    """
    if (q := _clause(case)) is None:
        raise InputError("the answer has tables, but the query is not in MATCH_RECOGNIZE")
    try:
        found = matches(q, [list(_rows(table)) for table in tables])
    except (LookupError, TypeError, ValueError, Unsupported) as error:
        raise InputError(f"the matches cannot be read from the tables: {type(error).__name__}: {error}") from None
    return {"id": case.id, "matches": [match.json() for match in found]}


def _rows(table: protocol.Json) -> Iterator[Row]:
    """Yield the rows of a result as mappings from column names. Raises ValueError, BudgetExceeded."""
    columns = names(table)
    return (dict(zip(columns, row, strict=True)) for row in timed_items(table["rows"]))


def names(table: protocol.Json) -> list[str]:
    """Return the column names of a result in lower case."""
    return [name.lower() for name in table["columns"]]


def matches(q: MatchRecognize, results: Sequence[Sequence[Row]]) -> list[NumberedMatch]:
    """Return the matches, given the rows that the clauses of `build_clauses` returned. Raises Unsupported, KeyError."""
    if q.window is not None:
        return sorted(_in_windows(q, results[0]))
    found = labelled(q, results[0])
    return sorted((with_results(q, found, results[1]) if q.measures else found).values())


def labelled(q: MatchRecognize, found: Sequence[Row]) -> dict[Key, NumberedMatch]:
    """Return the matches by partition and number, given rows with labels."""
    grouped: dict[Key, list[Row]] = {}
    for row in found:
        grouped.setdefault(_key(q, row), []).append(row)
    answer = {}
    for key, group in grouped.items():
        # A row without a label shows an empty match.
        events = tuple(row[PLACE] for row in group if row[LABEL] is not None)
        bound: dict[str, list[int]] = {}
        for row in group:
            if row[LABEL] is not None:
                bound.setdefault(row[LABEL], []).append(row[PLACE])
        bindings = tuple((A, tuple(sorted(bound[A]))) for A in sorted(bound))
        answer[key] = NumberedMatch(group[-1][PLACE], events, bindings, match_number=int(group[0][NUMBER]))
    return answer


def _in_windows(q: MatchRecognize, found: Sequence[Row]) -> Iterator[NumberedMatch]:
    """Yield the matches of a WINDOW query from its rows, numbered within each partition in row order."""
    last: dict[Key, int] = {}
    for row in sorted(found, key=lambda row: int(row[ROW])):
        if row[COUNT] is None:  # a row without a match
            continue
        key = tuple(row[rows.key_name(e).lower()] for e in q.partition)
        last[key] = last.get(key, 0) + 1
        events = tuple(row[f"{PLACE}_{k}"] for k in range(int(row[COUNT])))
        bound: dict[str, list[int]] = {}
        for k, place in enumerate(events):
            bound.setdefault(row[f"{LABEL}_{k}"], []).append(place)
        bindings = tuple((A, tuple(sorted(bound[A]))) for A in sorted(bound))
        result = result_of({one.name: row[one.name.lower()] for one in q.measures}) if q.measures else None
        yield NumberedMatch(row[PLACE], events, bindings, result, match_number=last[key])


def with_results(q: MatchRecognize, found: dict[Key, NumberedMatch], shown: Sequence[Row]) -> dict[Key, NumberedMatch]:
    """Return the matches with the values of their measures as results.

    found: the matches by partition and number. shown: the rows that the engine returned for the query's own clause,
    with the measures. Raises Unsupported if a row belongs to no match.
    """
    names = [one.name for one in q.measures]
    values: dict[Key, dict[str, list[Any]]] = {key: {name: [] for name in names} for key in found}
    for row in shown:
        if row[NUMBER] is None:  # a row without a match
            continue
        if _key(q, row) not in values:
            raise Unsupported(f"the rows with measures include match {row[NUMBER]}, which the rows with labels lack")
        for name in names:
            values[_key(q, row)][name].append(row[name.lower()])
    one = q.rows == "one"
    return {
        key: replace(match, result=result_of({n: v[0] if one and v else v for n, v in values[key].items()}))
        for key, match in found.items()
    }


def _key(q: MatchRecognize, row: Row) -> Key:
    return (*(row[rows.key_name(e).lower()] for e in q.partition), row[NUMBER])

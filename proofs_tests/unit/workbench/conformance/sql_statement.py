"""The meaning of the statements of SQL that adapters send: the text has the table, and the clause its definition."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from cerify.conformance import sql
from cerify.semantics.errors import CerifyError
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import Quantified, RowVariable
from cerify.semantics.trees import subtrees
from cerify.semantics.values import plain
from proofs_tests.unit.workbench.conformance.fake_database import answered, table
from proofs_tests.unit.workbench.conformance.stand_in import Json, Refused, Search

KINDS = {name: kind for kind, name in sql.TYPES.items()}
TYPE = "|".join(map(re.escape, KINDS))
STRING = r"'(?:[^']|'')*'"
WITH = re.compile(
    rf"WITH {sql.TABLE} AS \(SELECT \* FROM (.*) AS cerify_values \((.*?)\)(.*?)\) (SELECT .*)", re.DOTALL
)
CELL = re.compile(rf"CAST\((NULL|TRUE|FALSE|(?:TIMESTAMP )?{STRING}|[-+.\dE]+) AS ({TYPE})\)", re.IGNORECASE)
ARRAY = re.compile(
    rf"(CAST\()?CAST\(JSON_PARSE\(({STRING})\) AS ARRAY\((VARCHAR|{TYPE})\)\)(?: AS ARRAY\(({TYPE})\)\))?"
)
FLINK = re.compile(rf"SELECT \* FROM {sql.TABLE} (MATCH_RECOGNIZE \(.*\))", re.DOTALL)
ROW_TIME, LISTED_ROWS = "cerify_time", "CERIFY_ROWS"
LISTED = re.compile(rf"LISTAGG\(CAST\({sql.PLACE} AS VARCHAR\)\) AS ({LISTED_ROWS})\b", re.IGNORECASE)


def result(translation: Json) -> Iterator[Json]:
    """The result of a statement that has its table, of values or of a literal for each column."""
    found = WITH.fullmatch(translation["statement"])
    assert found is not None, translation
    source, names, condition, select = found.groups()
    columns = names.split(", ")
    kinds, rows = _columns(source, columns) if source.startswith("UNNEST(") else _values(source, columns)
    if condition == f" WHERE {sql.PLACE} IS NOT NULL":
        rows = [row for row in rows if row[columns.index(sql.PLACE)] is not None]
    else:
        assert not condition, condition
    clause = select.partition(f"FROM {sql.TABLE} ")[2]
    head, shown, _ = _result(clause, list(zip(columns, kinds, strict=True)), rows)
    yield {"columns": head, "rows": shown}


def _columns(source: str, columns: Sequence[str]) -> tuple[list[str], list[Sequence[Any]]]:
    """UNNEST of an array for each column: the types of the columns, and the rows."""
    arrays = ARRAY.findall(source)
    assert len(arrays) == len(columns), source
    values, kinds = [], []
    for twice, literal, inner, outer in arrays:
        assert bool(twice) == bool(outer) == (outer.startswith("TIMESTAMP")), source
        kinds.append(KINDS[outer or inner])
        values.append([_moment(v) if outer else v for v in json.loads(_text(literal))])
    return kinds, list(zip(*values, strict=True))


def _values(source: str, columns: Sequence[str]) -> tuple[list[str], list[Sequence[Any]]]:
    """VALUES: the types of the columns, and the rows."""
    cells = CELL.findall(source)
    width = len(columns)
    rows = [[_value(text) for text, _ in cells[i : i + width]] for i in range(0, len(cells), width)]
    assert re.sub(r"[(), ]", "", CELL.sub("", source)) == "VALUES", source
    return [KINDS[kind] for _, kind in cells[:width]], list(rows)


def _value(text: str) -> Any:
    if text in ("NULL", "TRUE", "FALSE"):
        return {"NULL": None, "TRUE": True, "FALSE": False}[text]
    if text.startswith("TIMESTAMP "):
        return _moment(_text(text.removeprefix("TIMESTAMP ")))
    return _text(text) if text[0] == "'" else json.loads(text)


def _text(literal: str) -> str:
    return literal[1:-1].replace("''", "'")


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(f"{text}+00:00")


def in_flink(message: Json) -> Search:
    """The results of statements over the table of a run, with a row time; LISTAGG has the rows of a match."""
    columns = [(ROW_TIME, "int"), *((one["name"], KINDS[one["type"]]) for one in message["columns"])]
    rows = [[second, *row] for second, row in enumerate(message["rows"])]

    def search(translation: Json) -> Iterator[Json]:
        found = FLINK.fullmatch(translation["statement"])
        assert found is not None, translation
        text, listed = LISTED.subn(rf"LAST({sql.PLACE}) AS \1", found[1].replace("`", '"'))
        assert listed == 1, text
        parts = list(subtrees(parse(text).pattern))
        variables = [p.name for p in parts if isinstance(p, RowVariable)]
        groups = any(isinstance(p, Quantified) and not isinstance(p.pattern, RowVariable) for p in parts)
        if "ONE ROW PER MATCH" not in text or groups or len(variables) > len(set(variables)):
            raise Refused("Flink has no ALL ROWS PER MATCH, no quantified group, and no variable in two places")
        names, result, matches = _result(text, columns, rows)
        if not all(match.events for match in matches):
            raise Refused("Flink has no match without rows")
        place = names.index(LISTED_ROWS)
        for row, match in zip(result, matches, strict=True):
            row[place] = ",".join(map(str, match.events))
        yield {"columns": [name.lower() if name.startswith("CERIFY") else name for name in names], "rows": result}

    return search


def _result(
    clause: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]
) -> tuple[list[str], list[list[Any]], list[NumberedMatch]]:
    """The columns, the rows and the matches of a clause."""
    try:
        output, found = answered(clause, columns, rows)
    except CerifyError as error:
        raise Refused(error.message) from None
    names, shown = table(output, found)
    return names, plain([list(row) for row in shown]), found

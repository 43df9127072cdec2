"""Streams as the playground's table has them: rows of texts, of which the first has the names of the columns."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from cerify.semantics.csv_rows import Source, not_csv, records, require_closed_quotes, stream_of_rows
from cerify.semantics.errors import InputError
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.json_events import json_of_event, parse_json, stream_of_json

PASTED = "what was pasted"
MOST = 1000  # events that are pasted


def stream_in(name: str, header: list[str], rows: list[list[str]], places: list[str]) -> Stream:
    """The stream of rows without their header; name and places are for messages. Raises InputError."""
    if "" in header:
        raise InputError(f"an attribute of {name} has no name; give it one, or remove it")
    return stream_of_rows(name, header, rows, places)


def rows_of(events: list[dict[str, Any]]) -> list[list[str]]:
    """Events as the rows of a stream."""
    header = [TYPE, *dict.fromkeys(name for event in events for name in event if name != TYPE)]
    return [header, *([_text(event.get(name)) for name in header] for event in events)]


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def read_rows(text: str, row_type: str | None) -> tuple[list[list[str]], str]:
    """The rows of a stream as text: CSV, rows with tabs, a JSON array, or JSON lines; and what the user has to know.

    row_type is the type of events that have none; None makes them an error. Raises InputError.
    """
    if not text.strip():
        raise InputError(f"{PASTED} is empty")
    rows, as_others = (_read_json if text.lstrip().startswith(("[", "{")) else _read_csv)(text, row_type)
    if len(rows) > MOST + 1:
        raise InputError(f"{PASTED} has {len(rows) - 1} events; the page takes {MOST}, and cerify match any number")
    note = (
        f"; the table has no quotes, so that the texts of {', '.join(sorted(as_others))} are no texts"
        if as_others
        else ""
    )
    return rows, f"The stream has the {len(rows) - 1} events that were pasted{note}."


def _read_csv(text: str, row_type: str | None) -> tuple[list[list[str]], set[str]]:
    if "\t" in text.split("\n", 1)[0]:
        made = io.StringIO()
        csv.writer(made).writerows(csv.reader(text.splitlines(keepends=True), delimiter="\t"))
        text = made.getvalue()
    source = Source(PASTED, lambda: io.BytesIO(text.encode()))
    require_closed_quotes(source)
    try:
        lines, found = zip(*records(source), strict=True)
    except csv.Error as error:
        raise InputError(not_csv(source, str(error))) from None
    if any(len(row) != len(found[0]) for row in found):
        raise InputError(not_csv(source, "its rows have several lengths"))
    header, *rows = [[cell.strip() for cell in row] for row in found]
    if row_type is not None and TYPE not in header:
        header, rows = [TYPE, *header], [[row_type, *row] for row in rows]
    if TYPE not in header:
        raise InputError(f"{PASTED} has no column for the event type: call one of {', '.join(header)} {TYPE!r}")
    stream_in(PASTED, header, rows, [f"line {line}" for line in lines[1:]])
    first = header.index(TYPE)
    return [[row[first], *row[:first], *row[first + 1 :]] for row in (header, *rows)], set()


def _read_json(text: str, row_type: str | None) -> tuple[list[list[str]], set[str]]:
    """The rows, and the attributes whose texts the table takes for values of another type, such as '007'."""
    if text.startswith("["):
        events = parse_json(text, PASTED)
    else:
        lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip())
        events = [parse_json(line, f"{PASTED}, line {n}") for n, line in lines]
    S = stream_of_json(events, None, PASTED, row_type)
    header, *rows = rows_of([json_of_event(event) for event in S])
    in_table = stream_in(PASTED, header, rows, [f"event {n}" for n in range(len(rows))])
    texts = [
        (name, n) for n, event in enumerate(S) for name, value in event.attributes.items() if isinstance(value, str)
    ]
    return [header, *rows], {name for name, n in texts if not isinstance(in_table[n].get(name), str)}

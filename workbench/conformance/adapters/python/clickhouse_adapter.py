"""Puts ClickHouse under test, in the package chdb: windowFunnel in its modes, and sequenceMatchEvents.

    python clickhouse_adapter.py [MODE]

A funnel with a mode becomes a call in that mode; a funnel without one becomes windowFunnel, or a call in the mode of
the command line. Rows without a key are left out. Queries that ClickHouse cannot express are skipped: another start or
order, forbidden events in between, and windows on events or attributes.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from cerify.adapter import SECONDS, AdapterProblem, Json, RunMessage, Skip, serve

MANUAL = "https://clickhouse.com/docs/sql-reference/aggregate-functions/parametric-functions"
TYPES = {int: "Int64", float: "Float64", str: "String", bool: "Bool"}


class ChdbDatabase:
    """One database in this process, with one table that holds the stream of a question."""

    def __init__(self) -> None:
        from chdb.session import Session

        self._session = Session()

    def fill(self, events: list[Json], columns: dict[str, str]) -> None:
        """Make the table, with a row for each event."""
        self._session.query("DROP TABLE IF EXISTS log")
        types = ", ".join(f"{name_of(name)} {kind}" for name, kind in columns.items())
        self._session.query(f"CREATE TABLE log ({types}) ENGINE = Memory")
        rows = [json.dumps({name: event.get(name) for name in columns}) for event in events]
        self._session.query("INSERT INTO log FORMAT JSONEachRow " + "\n".join(rows))

    def ask(self, query: str) -> list[list[Any]]:
        """Return the rows of a query. Raises AdapterProblem if ClickHouse refuses the query."""
        try:
            text = str(self._session.query(query, "JSONCompactEachRow"))
        except Exception as error:
            raise AdapterProblem(f"ClickHouse refuses the query: {error}"[:600]) from None
        return [json.loads(line) for line in text.splitlines() if line]


def name_of(name: str) -> str:
    """Return the text of a column's name."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def text_of(value: Any) -> str:
    """Return the text of a constant. Raises Skip for a time."""
    if isinstance(value, dict):
        raise Skip("conditions on times are not translated")
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return json.dumps(value)


def condition_of(tree: Json) -> str:
    """Return the text of a predicate on one event. Raises Skip for a predicate that ClickHouse evaluates
    differently.
    """
    match tree["node"]:
        case "Anything":
            return "1"
        case "Comparison":
            return f"{term_of(tree['left'])} {tree['comparator']} {term_of(tree['right'])}"
        case "OneOf":
            return f"{term_of(tree['term'])} IN ({', '.join(map(text_of, tree['values']))})"
        case "InRange":
            return f"{term_of(tree['term'])} BETWEEN {text_of(tree['low'])} AND {text_of(tree['high'])}"
        case "Both":
            return f"({condition_of(tree['left'])}) AND ({condition_of(tree['right'])})"
        case "Either":
            return f"({condition_of(tree['left'])}) OR ({condition_of(tree['right'])})"
        case "Complement":
            return f"NOT ({condition_of(tree['predicate'])})"
        case other:
            raise Skip(f"conditions with {other} are not translated")


def term_of(tree: Json) -> str:
    """Return the text of a term. Raises Skip for a quotient."""
    match tree["node"]:
        case "Attribute":
            return name_of(tree["name"])
        case "Constant":
            return text_of(tree["value"])
        case "Arithmetic" if tree["operator"] != "/":
            return f"({term_of(tree['left'])} {tree['operator']} {term_of(tree['right'])})"
        case _:
            raise Skip("quotients are not translated")


def step_of(step: Json) -> str:
    """Return the condition of a step."""
    parts = [] if step["type"] is None else [f"type = {text_of(step['type'])}"]
    parts += [] if step["predicate"] is None else [f"({condition_of(step['predicate'])})"]
    return " AND ".join(parts) or "1"


def call_of(tree: Json, mode: str | None) -> str:
    """Return the ClickHouse call for a funnel or a sequence. Raises Skip if ClickHouse cannot express it.

    mode: the mode of windowFunnel for a funnel that has none; None for the default mode.
    """
    steps = ", ".join(map(step_of, tree["steps"]))
    if tree["node"] == "Sequence":
        if len(tree["steps"]) < 2:
            raise Skip("sequenceMatchEvents needs at least two conditions", MANUAL)
        if not re.search(r"\(\?[0-9]", tree["pattern"]):
            raise Skip("sequenceMatchEvents returns the rows of conditions, but this pattern has no condition", MANUAL)
        return f"sequenceMatchEvents({text_of(tree['pattern'])})(time, {steps})"
    if tree["start"] != "best" or tree["order"] != "stream" or tree["between"] is not None:
        raise Skip("windowFunnel has a fixed start and order, and no excluded events", MANUAL)
    window = tree["window"] and tree["window"]["window"]
    if window is None or window["node"] != "TimeWindow":
        raise Skip("windowFunnel needs a window of time", MANUAL)
    width = window["amount"] * SECONDS[window["unit"]]
    if width != int(width):
        raise Skip("a window must be a whole number of seconds", MANUAL)
    mode = tree["mode"] or mode
    modes = [] if mode in (None, "windowFunnel") else [text_of(one) for one in str(mode).split(",")]
    return f"windowFunnel({', '.join([str(int(width)), *modes])})(time, {steps})"


def columns_of(events: list[Json], tree: Json) -> dict[str, str]:
    """Return the types of the columns. All columns except type and time are nullable. Raises Skip for values of several
    types.

    An attribute of the query that no event has becomes a column of NULL.
    """
    kinds: dict[str, set[type]] = defaultdict(set)
    for event in events:
        for name, value in event.items():
            kinds[name].add(type(value))
    columns = {"type": "String", "time": "UInt64"}
    for name, found in kinds.items():
        if name in columns:
            continue
        if len(found) > 1 and found != {int, float}:
            raise Skip("an attribute has values of several types")
        columns[name] = f"Nullable({TYPES[float if float in found else found.pop()]})"
    return {name: "Nullable(Int64)" for name in attributes_in(tree)} | columns


def attributes_in(tree: Any) -> Iterable[str]:
    """Yield the attributes in the conditions of a query."""
    if isinstance(tree, dict):
        if tree.get("node") == "Attribute":
            yield tree["name"]
        for part in tree.values():
            yield from attributes_in(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from attributes_in(part)


def compute_answers(run: RunMessage, database: ChdbDatabase, mode: str | None) -> Iterable[Json]:
    """Return a row for each key: its level, or the positions of the events that a sequence took."""
    tree = run.tree
    if tree is None:
        raise AdapterProblem("the query does not parse", "parse")
    times = run.seconds()
    if any(time < 0 or time != int(time) for time in times):
        raise Skip("times must be whole seconds since 1970")
    events = [event | {"time": int(time)} for event, time in zip(run.events, times, strict=True)]
    columns, by, call = columns_of(events, tree), tree["by"], call_of(tree, mode)
    if by is not None and by not in columns:
        return []
    key = "NULL" if by is None else name_of(by)
    query = f"SELECT {key} AS key, {call} AS answer FROM log"
    query += "" if by is None else f" WHERE {key} IS NOT NULL GROUP BY {key}"
    run.translate(query)
    database.fill(events, columns)
    rows = database.ask(query)
    if tree["node"] == "Funnel":
        return [_row({"key": value, "level": level}) for value, level in rows]
    places: dict[Any, list[int]] = defaultdict(list)
    for position, event in enumerate(events):
        places[None if by is None else event.get(by), event["time"]].append(position)
    found = []
    for value, moments in rows:
        taken = [places[value, moment] for moment in moments]
        if any(len(some) > 1 for some in taken):
            raise Skip("sequenceMatchEvents returns times, but two rows of a key have the same time")
        if taken:
            found.append(_row({"key": value, "positions": [position for (position,) in taken]}))
    return found


def _row(result: Json) -> Json:
    return {"at": 0, "events": [], "result": result}


if __name__ == "__main__":
    opened = ChdbDatabase()
    chosen = sys.argv[1] if len(sys.argv) > 1 else None
    claims = {"funnel": {"output": ["groups"], "ordered_time": True}}
    ((version,),) = opened.ask("SELECT version()")
    serve("clickhouse", version, {"funnel": lambda run: compute_answers(run, opened, chosen)}, claims)

"""Puts converters of Sigma rules under test: a rule is converted, and the query runs on the log.

    python sigma_adapter.py sqlite|duckdb|clickhouse|eql
    python sigma_adapter.py rsigma PROGRAM

Answers are compared by the events at which alerts are raised, or by groups if they do not have these events. rsigma
evaluates rules itself, in PROGRAM, which is built from adapters/rust/rsigma.
"""

import functools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from cerify.adapter import AdapterProblem, Json, RunMessage, Skip, serve, version_of

KEYWORDS = "message"  # the field in which a value without a field is looked for
Rows = list[dict[str, Any]]
Backend = Callable[[], Any]


def converted(run: RunMessage, backend: Backend) -> tuple[Any, str]:
    """Return the last correlation of the rules, and its query. Raises Skip if the converter refuses it."""
    correlation, query = conversion(run.query, backend)
    run.translate(query)
    return correlation, query


@functools.lru_cache(maxsize=64)
def conversion(text: str, backend: Backend) -> tuple[Any, str]:
    """Convert rules as `converted` does. The results are cached, because many logs are about the same rules."""
    from sigma.exceptions import SigmaError

    try:
        rules = rules_of(text)
        queries = backend().convert(rules)
    except (SigmaError, NotImplementedError) as error:
        raise Skip(f"the converter refuses: {type(error).__name__}: {error}") from None
    except Exception as error:  # a converter that fails on a rule that its parser accepts
        raise AdapterProblem(f"the converter fails: {type(error).__name__}: {error}") from None
    if len(queries) != 1:
        raise Skip("one correlation is compared at a time")
    query = queries[0]["query"] if isinstance(queries[0], dict) else queries[0]
    return correlation_of(rules), str(query)


def rules_of(text: str) -> Any:
    """Return the rules of a text as parsed by pySigma, whose own reader of YAML is ten times slower."""
    import yaml
    from sigma.collection import SigmaCollection

    return SigmaCollection.from_dicts(list(yaml.load_all(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))))


def correlation_of(rules: Any) -> Any:
    """Return the correlation that raises alerts. Raises Skip if there is none, or if other rules raise alerts too."""
    from sigma.correlations import SigmaCorrelationRule

    raising = [rule for rule in rules.rules if rule._output]
    if len(raising) != 1:
        raise Skip("one correlation is compared at a time")
    if not isinstance(raising[0], SigmaCorrelationRule):
        raise Skip("only correlations are compared; this rule is about one event")
    return raising[0]


def fields_of(event: Json) -> Json:
    """Return the fields of an event. The rules' own fields "type" and "time" are called type[field] and time[field]."""
    return {name.removesuffix("[field]"): value for name, value in event.items() if name not in ("type", "time")}


def columns_of(run: RunMessage) -> list[str]:
    """Return the columns of the table: the fields of events and of the rules.

    Raises Skip for two that differ only in case, because databases ignore case in names.
    """
    names = dict.fromkeys(name for event in run.events for name in fields_of(event))
    fields, aliases = names_in(run.query)
    names |= dict.fromkeys(fields)
    taken = {name.lower() for name in names}  # an alias that differs from a field only in case is the same column
    names |= dict.fromkeys(name for name in aliases if name.lower() not in taken)
    if len({name.lower() for name in names}) < len(names):
        raise Skip("two fields differ only in case, which the database ignores")
    return list(names)


@functools.lru_cache(maxsize=64)
def names_in(text: str) -> tuple[list[str], list[str]]:
    """Return the fields and the aliases that rules use; a converter may write an alias as a column."""
    names: dict[str, None] = {}
    aliases: dict[str, None] = {}
    for rule in rules_of(text).rules:
        if hasattr(rule, "detection"):
            names |= dict.fromkeys(name for one in rule.detection.detections.values() for name in fields_in(one))
        else:
            counted = getattr(rule.condition, "fieldref", None) or []
            names |= dict.fromkeys([counted] if isinstance(counted, str) else counted)
            aliases |= dict.fromkeys(alias.alias for alias in rule.aliases)
            names |= dict.fromkeys(name for name in rule.group_by or [] if name not in aliases)
            names |= dict.fromkeys(str(field) for alias in rule.aliases for field in alias.mapping.values())
    return list(names), list(aliases)


def fields_in(detection: Any) -> Iterable[str]:
    """Return the fields of a detection as parsed by pySigma."""
    for item in detection.detection_items:
        if hasattr(item, "detection_items"):
            yield from fields_in(item)
        else:
            yield item.field or KEYWORDS
            yield from (value.field for value in item.value if hasattr(value, "field"))


def is_number(name: str, run: RunMessage) -> bool:
    """Return whether a column holds numbers in the log. If the log has no value in it, only the column `size` counts as
    numeric.
    """
    values = [value for event in run.events if (value := fields_of(event).get(name)) is not None]
    return all(isinstance(value, int | float) for value in values) if values else name == "size"


def by_groups(rule: Any, rows: Rows) -> Iterable[Json]:
    """Return one match for each row of an answer: the group that the row names."""
    for row in rows:
        group = {name: row.get(name) for name in rule.group_by or []}
        yield {"at": 0, "events": [], "result": {"rule": str(rule.name or rule.title), "group": group}}


def failing(error: Exception) -> AdapterProblem:
    """Return the error to report when an engine refuses the query."""
    return AdapterProblem(f"the engine refuses the query: {type(error).__name__}: {error}"[:600])


# --- converters and engines -------------------------------------------------------------------------------------------


def on_sqlite(run: RunMessage) -> Iterable[Json]:
    """Return the alerts that the SQLite converter's query raises, each at the last event of its window.

    Columns have types, as in Zircolite, the converter's target: `4625` and `'4625'` are equal only in a typed column.
    """
    _, query = converted(run, _sqlite_backend)
    columns, times = columns_of(run), instants(run)
    with sqlite3.connect(":memory:") as database:
        database.row_factory = sqlite3.Row
        database.create_function("REGEXP", 2, lambda pattern, value: value is not None and _searches(pattern, value))
        numeric = {name for name in columns for event in run.events if isinstance(fields_of(event).get(name), int | float)}
        types = ", ".join(f'"{name}" {"NUMERIC" if name in numeric else "TEXT"}' for name in columns)
        database.execute(f"CREATE TABLE logs (timestamp, {types})")
        marks = ", ".join("?" * (len(columns) + 1))
        rows = [(times[p], *(fields_of(event).get(name) for name in columns)) for p, event in enumerate(run.events)]
        database.executemany(f"INSERT INTO logs VALUES ({marks})", rows)
        try:
            alerts = database.execute(query).fetchall()
        except sqlite3.Error as error:
            raise failing(error) from None
    for alert in alerts:
        places = [int(eid.split(":")[1]) - 1 for eid in json.loads(alert["event_ids"])]
        end = round(alert["occurrence_time"] * 1_000_000)
        last = max((p for p, time in enumerate(times) if time == end), default=max(places))
        at = max((p for p in places if times[p] == end), default=last)
        yield {"at": at, "events": sorted(places)}


def _sqlite_backend() -> Any:
    from sigma.backends.sqlite import sqliteBackend

    options: Json = {"timestamp_format": "unix_us", "collate_nocase": True, "fulltext_field": KEYWORDS}
    return sqliteBackend(**options)


def _searches(pattern: str, value: object) -> bool:
    import re

    return re.search(pattern, str(value)) is not None


def on_duckdb(run: RunMessage) -> Iterable[Json]:
    """Return the groups that the query of the DuckDB converter finds."""
    import duckdb
    from sigma_backend_duckdb.backend import DuckDBBackend

    rule, query = converted(run, DuckDBBackend)
    database = _database()
    columns, times = columns_of(run), instants(run)
    types = ", ".join(f'"{name}" {"DOUBLE" if is_number(name, run) else "VARCHAR"}' for name in columns)
    database.execute(f"CREATE OR REPLACE TABLE logs (timestamp TIMESTAMP, {types})")
    row = f"({', '.join('?' * (len(columns) + 1))})"
    values: list[Any] = []
    for p, event in enumerate(run.events):
        at = datetime.fromtimestamp(times[p] / 1_000_000, UTC).replace(tzinfo=None)
        values += [at, *(fields_of(event).get(name) for name in columns)]
    if values:
        database.execute(f"INSERT INTO logs VALUES {', '.join([row] * len(run.events))}", values)
    try:
        answer = database.execute(query)
        names = [column[0] for column in answer.description]
        rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    except duckdb.Error as error:
        raise failing(error) from None
    return list(by_groups(rule, rows))


@functools.cache
def _database() -> Any:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


def on_clickhouse(run: RunMessage) -> Iterable[Json]:
    """Return the groups that the query of the ClickHouse converter finds; it looks for keywords in `full_log`."""
    from sigma.backends.clickhouse import ClickhouseBackend

    rule, query = converted(run, ClickhouseBackend)
    columns, times = columns_of(run), instants(run)
    session = _session()
    session.query("DROP TABLE IF EXISTS logs")
    types = ", ".join(f"`{name}` Nullable({'Float64' if is_number(name, run) else 'String'})" for name in columns)
    types += f", full_log Nullable(String) ALIAS {KEYWORDS}" if "full_log" not in columns and KEYWORDS in columns else ""
    session.query(f"CREATE TABLE logs (timestamp DateTime64(6), {types}) ENGINE = Memory")
    rows = [
        json.dumps({"timestamp": f"{times[p] / 1_000_000:.6f}", **{name: fields_of(event).get(name) for name in columns}})
        for p, event in enumerate(run.events)
    ]
    if rows:
        session.query("INSERT INTO logs FORMAT JSONEachRow " + "\n".join(rows))
    try:
        answer = str(session.query(query, "JSONEachRow"))
    except Exception as error:
        raise failing(error) from None
    return list(by_groups(rule, [json.loads(line) for line in answer.splitlines() if line]))


@functools.cache
def _session() -> Any:
    from chdb.session import Session

    return Session()


def on_eql(run: RunMessage) -> Iterable[Json]:
    """Return the matches that the Python engine finds for the Elasticsearch converter's EQL."""
    import contextlib

    import eql
    from eql import parser
    from sigma.backends.elasticsearch.elasticsearch_eql import EqlBackend

    _, query = converted(run, EqlBackend)
    times, found = instants(run), []
    engine = eql.PythonEngine()
    try:
        with contextlib.ExitStack() as stack:
            for syntax in (parser.elasticsearch_syntax, parser.allow_runs, parser.allow_negation, parser.allow_sample):
                stack.enter_context(syntax)
            engine.add_query(parser.parse_query(query))
    except eql.EqlError as error:
        raise failing(error) from None
    at = 0
    engine.add_output_hook(lambda result: found.append((at, [e.data["cerify_position"] for e in result.events])))
    for at, event in enumerate(run.events):
        engine.stream_event(eql.Event("event", times[at] * 10, {**nested(fields_of(event)), "cerify_position": at}))
    engine.finalize()
    return [{"at": max(places), "events": sorted(set(places))} for at, places in found]


def nested(fields: Json) -> Json:
    """Return fields such as `user.name` as nested objects, the form that EQL reads."""
    found: Json = {}
    for name, value in fields.items():
        *path, last = name.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise Skip(f"a field cannot have a value and also contain another field, as in {name}")
        inner[last] = value
    return found


def on_rsigma(run: RunMessage) -> Iterable[Json]:
    """Return where rsigma raises the alerts of the correlation. Times are given to it in whole seconds.

    rsigma names alerts only by the rule's id, so each rule gets its name as its id.
    """
    title, rules = named_by_id(run.query)
    events = [[time // 1_000_000, fields_of(one)] for time, one in zip(instants(run), run.events, strict=True)]
    answer = _program().ask({"rules": rules, "events": events})
    if isinstance(answer, dict):
        raise Skip(f"rsigma refuses: {answer['refused']}")
    return [{"at": place, "events": []} for place, raised in answer if raised == title]


@functools.lru_cache(maxsize=64)
def named_by_id(text: str) -> tuple[str, str]:
    """Return the title of the correlation, and the rules with their names as ids. Raises Skip if pySigma refuses."""
    import yaml
    from sigma.exceptions import SigmaError

    try:
        title = str(correlation_of(rules_of(text)).title)
    except SigmaError as error:
        raise Skip(f"pySigma refuses the rules, so their correlation is not known: {error}") from None
    rules = filter(None, yaml.safe_load_all(text))
    return title, yaml.safe_dump_all({**one, "id": one["name"]} if "name" in one else one for one in rules)


class LineProgram:
    """A program that answers one line of JSON with one line."""

    def __init__(self, path: str) -> None:
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: Json) -> Any:
        """Return the answer to a question. Exits if the other program has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(70)  # the harness restarts both
        return json.loads(line)


@functools.cache
def _program() -> LineProgram:
    return LineProgram(sys.argv[2])


def instants(run: RunMessage) -> list[int]:
    """Return the time of each event in microseconds since 1970."""
    return [round(seconds * 1_000_000) for seconds in run.seconds()]


def distinct(found: Iterable[Json], output: str) -> list[Json]:
    """Return the answers without duplicates, in the form of the output."""
    if output == "positions":
        found = [{"at": one["at"], "events": []} for one in found]
    return list({json.dumps(one, sort_keys=True): one for one in found}.values())


CONVERTERS: dict[str, tuple[Callable[[RunMessage], Iterable[Json]], str, str]] = {
    "sqlite": (on_sqlite, "positions", "pysigma-backend-sqlite"),
    "duckdb": (on_duckdb, "groups", "pysigma-backend-duckdb"),
    "clickhouse": (on_clickhouse, "groups", "pysigma-backend-clickhouse"),
    "eql": (on_eql, "positions", "pysigma-backend-elasticsearch"),
    "rsigma": (on_rsigma, "positions", "rsigma-eval 0.23.0"),
}
"""For each converter: the function that runs it, the output that can be compared, and the package to install."""


if __name__ == "__main__":
    answer, output, package = CONVERTERS[sys.argv[1]]
    claims = {"sigma": {"output": [output], "ordered_time": True}}
    name, _, version = package.partition(" ")
    serve(f"sigma-{sys.argv[1]}", version or version_of(name), {"sigma": lambda run: distinct(answer(run), output)}, claims)

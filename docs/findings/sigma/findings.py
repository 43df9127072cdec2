"""Prints what the queries of a converter of Sigma answer to the questions of README.md, without cerify.

    python findings.py sqlite|duckdb|clickhouse|eql

Each needs the packages that README.md names. Of a log the alerts are printed: times, groups or events.
"""

import sys

from conditions import LOGS
from rules import convert


def ask(name, rule, log):
    rows = ", ".join(f"({t}, {', '.join('NULL' if v is None else repr(v) for v in row)})" for *row, t in log)
    if name == "sqlite":
        import sqlite3

        from sigma.backends.sqlite import sqliteBackend as Backend

        base = sqlite3.connect(":memory:")
        base.execute("CREATE TABLE logs (timestamp, kind COLLATE NOCASE, user, size)")
        base.execute(f"INSERT INTO logs VALUES {rows}")
        cursor = base.execute(convert(Backend(timestamp_format="unix"), rule))
        return [dict(zip([c[0] for c in cursor.description], row, strict=True))["occurrence_time"] for row in cursor]
    if name == "duckdb":
        import duckdb
        from sigma_backend_duckdb.backend import DuckDBBackend as Backend

        columns = "make_timestamp(1000000 * s) AS timestamp, * EXCLUDE s"
        duckdb.execute(f"CREATE OR REPLACE TABLE logs AS SELECT {columns} FROM (VALUES {rows}) v(s, kind, user, size)")
        return [row[0] for row in duckdb.execute(convert(Backend(), rule)).fetchall()]
    if name == "clickhouse":
        import chdb
        from sigma.backends.clickhouse import ClickhouseBackend as Backend

        texts = ", ".join(f"{column} Nullable(String)" for column in ("kind", "user", "size"))
        table = f"(SELECT toDateTime64(s, 6) AS timestamp, * FROM values('s Int64, {texts}', {rows}))"
        return str(chdb.query(convert(Backend(), rule).replace("FROM logs", f"FROM {table}"), "TSV")).split("\n")[:-1]
    import eql
    from eql import parser
    from sigma.backends.elasticsearch.elasticsearch_eql import EqlBackend as Backend

    engine, found = eql.PythonEngine(), []
    with parser.elasticsearch_syntax, parser.allow_runs, parser.allow_negation, parser.allow_sample:
        engine.add_query(parser.parse_query(convert(Backend(), rule)))
    engine.add_output_hook(lambda result: found.append([event.data["second"] for event in result.events]))
    for kind, user, size, t in log:
        engine.stream_event(eql.Event("event", t * 10**7, {"kind": kind, "user": user, "size": size, "second": t}))
    return found


for title, rule, log in LOGS:
    try:
        print(title, ask(sys.argv[1], rule, log))
    except Exception as error:
        print(title, type(error).__name__, str(error).split("\n")[0][:100])

#!/usr/bin/env bash
# sqlglot 30.30.0 and duckdb 2.0.1, Python 3. A query with MATCH_RECOGNIZE is written for DuckDB, PostgreSQL, MySQL and SQLite as it
# stands, also with unsupported_level=RAISE, which is to raise where a dialect has no such thing. DuckDB and SQLite, given what was
# written for them, refuse it as a syntax error. For MySQL the ORDER BY of the clause is even rewritten for the order of its nulls.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q sqlglot==30.30.0 duckdb==2.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import sqlite3

import duckdb
import sqlglot
from sqlglot import ErrorLevel

query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))"
for dialect in ("duckdb", "postgres", "mysql", "sqlite"):
    written = sqlglot.transpile(query, read="trino", write=dialect, unsupported_level=ErrorLevel.RAISE)[0]
    print(dialect, written)
    run = {"duckdb": duckdb.connect().execute, "sqlite": sqlite3.connect(":memory:").execute}.get(dialect)
    if run is not None:
        run("CREATE TABLE t (ts INTEGER, x INTEGER)")
        try:
            run(written)
            print("  ran")
        except Exception as error:
            print("  refused:", type(error).__name__)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
duckdb SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY ts MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))
  refused: ParserException
postgres SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY ts MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))
mysql SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY CASE WHEN ts IS NULL THEN 1 ELSE 0 END, ts MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))
sqlite SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY ts NULLS LAST MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))
  refused: OperationalError
SEEN

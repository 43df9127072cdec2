#!/usr/bin/env bash
# datafusion 55.0.0 beside duckdb 2.0.1, Python 3. A date plus an interval of hours is a date in DataFusion, the hours cut off; in DuckDB, as
# in PostgreSQL, it is a timestamp. A window from a day to 36 hours later is half a day shorter, and twelve hours after midnight is midnight,
# when the window is empty. The same text has other events in the two engines, and none says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q datafusion==55.0.0 duckdb==2.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import datafusion
import duckdb

EVENTS = "(values (timestamp '2024-01-01 06:00:00'), (timestamp '2024-01-01 20:00:00'), (timestamp '2024-01-02 06:00:00')) as e(t)"
context = datafusion.SessionContext()
engines = {
    "datafusion": lambda query: [list(row.values()) for batch in context.sql(query).collect() for row in batch.to_pylist()],
    "duckdb": lambda query: [list(row) for row in duckdb.sql(query).fetchall()],
}
for hours in (12, 24, 36):
    bound = f"date '2024-01-01' + interval '{hours} hours'"
    for name, ask in engines.items():
        end = ask(f"select cast({bound} as varchar)")[0][0]
        count = ask(f"select count(*) from {EVENTS} where t >= date '2024-01-01' and t < {bound}")[0][0]
        print(f"{hours} hours, {name}: the end is {end}, events {count}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
12 hours, datafusion: the end is 2024-01-01, events 0
12 hours, duckdb: the end is 2024-01-01 12:00:00, events 1
24 hours, datafusion: the end is 2024-01-02, events 2
24 hours, duckdb: the end is 2024-01-02 00:00:00, events 2
36 hours, datafusion: the end is 2024-01-02, events 2
36 hours, duckdb: the end is 2024-01-02 12:00:00, events 3
SEEN

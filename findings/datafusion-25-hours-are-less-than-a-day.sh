#!/usr/bin/env bash
# datafusion 55.0.0 beside duckdb 2.0.1, Python 3. DataFusion compares two intervals by months, then days, then nanoseconds, without carrying:
# 25 hours are less than 1 day, and 24 hours are not 1 day. A difference of two timestamps has no days either. So "t - previous > interval '1 day'"
# holds of no gap, 30 days included, while "> interval '24 hours'" holds as it should; DuckDB carries, and answers both alike.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q datafusion==55.0.0 duckdb==2.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import datafusion
import duckdb

context = datafusion.SessionContext()
for left, right in (("25 hours", "1 day"), ("24 hours", "1 day"), ("100 days", "1 month"), ("90 minutes", "1 hour")):
    query = "select " + ", ".join(f"interval '{left}' {sign} interval '{right}'" for sign in ("<", "=", ">"))
    row = list(context.sql(query).collect()[0].to_pylist()[0].values())
    print(f"{left} <, =, > {right}: datafusion {row}, duckdb {list(duckdb.sql(query).fetchall()[0])}")
for hours in (23, 25, 720):
    gap = f"timestamp '2024-01-01 00:00:00' + interval '{hours} hours' - timestamp '2024-01-01 00:00:00'"
    query = f"select {gap} > interval '1 day', {gap} > interval '24 hours'"
    row = list(context.sql(query).collect()[0].to_pylist()[0].values())
    print(f"a gap of {hours} hours > 1 day, > 24 hours: datafusion {row}, duckdb {list(duckdb.sql(query).fetchall()[0])}")
query = "select max(length) from (values (interval '36 hours'), (interval '1 day')) as rules(length)"
larger = *context.sql(query).collect()[0].to_pylist()[0].values(), *duckdb.sql(query).fetchall()[0]
print("the larger of 36 hours and 1 day: datafusion {}, duckdb {}".format(*larger))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
25 hours <, =, > 1 day: datafusion [True, False, False], duckdb [False, False, True]
24 hours <, =, > 1 day: datafusion [True, False, False], duckdb [False, True, False]
100 days <, =, > 1 month: datafusion [True, False, False], duckdb [False, False, True]
90 minutes <, =, > 1 hour: datafusion [False, False, True], duckdb [False, False, True]
a gap of 23 hours > 1 day, > 24 hours: datafusion [False, False], duckdb [False, False]
a gap of 25 hours > 1 day, > 24 hours: datafusion [False, True], duckdb [True, True]
a gap of 720 hours > 1 day, > 24 hours: datafusion [False, True], duckdb [True, True]
the larger of 36 hours and 1 day: datafusion MonthDayNano(months=0, days=1, nanoseconds=0), duckdb 1 day, 12:00:00
SEEN

#!/usr/bin/env bash
# daft 0.7.26 beside duckdb 2.0.1, Python 3. An aggregate over (partition by ... order by ...) without a frame is a running one in standard SQL and
# in DuckDB: up to the current row and its equals. In Daft's SQL it is that of the whole partition, as if order by were not there. "The
# third login of a user", count(*) = 3, is then no row of a user with four; with the frame written out, the two engines agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q daft==0.7.26 duckdb==2.0.1 pyarrow==25.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import datetime

import daft
import duckdb
import pyarrow

start = datetime.datetime(2024, 1, 1)
columns = {"user": ["a"] * 4, "t": [start + datetime.timedelta(seconds=s) for s in (0, 5, 10, 20)], "bytes": [1, 2, 3, 4]}
events, log = daft.from_pydict(columns), pyarrow.table(columns)
for frame in ("", " rows between unbounded preceding and current row"):
    for aggregate in ("count(t)", "sum(bytes)", "max(bytes)"):
        window = f'over (partition by "user" order by t{frame})'
        in_daft = daft.sql(f"select t, {aggregate} {window} as n from events order by t", events=events).to_pydict()["n"]
        in_duckdb = [n for _, n in duckdb.sql(f"select t, {aggregate} {window} from log order by t").fetchall()]
        print(f"{aggregate} over (... order by t{frame}): daft {in_daft}, duckdb {in_duckdb}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
count(t) over (... order by t): daft [4, 4, 4, 4], duckdb [1, 2, 3, 4]
sum(bytes) over (... order by t): daft [10, 10, 10, 10], duckdb [1, 3, 6, 10]
max(bytes) over (... order by t): daft [4, 4, 4, 4], duckdb [1, 2, 3, 4]
count(t) over (... order by t rows between unbounded preceding and current row): daft [1, 2, 3, 4], duckdb [1, 2, 3, 4]
sum(bytes) over (... order by t rows between unbounded preceding and current row): daft [1, 3, 6, 10], duckdb [1, 3, 6, 10]
max(bytes) over (... order by t rows between unbounded preceding and current row): daft [1, 2, 3, 4], duckdb [1, 2, 3, 4]
SEEN

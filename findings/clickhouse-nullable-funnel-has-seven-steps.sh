#!/usr/bin/env bash
# chdb 4.4.0 (ClickHouse 26.9), Python 3. windowFunnel takes up to 32 conditions. Where one of its arguments can be NULL, as every column of a
# Parquet file that pyarrow wrote can, it takes a time and seven conditions: the eighth is an error (NUMBER_OF_ARGUMENTS_DOESNT_MATCH), also
# if no value is NULL. And a key of which every row has a NULL among its conditions has the level NULL, not 0, so that it is in no count by level.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q chdb==4.4.0 pyarrow
"$folder/venv/bin/python" - "$folder/log.parquet" >"$folder/seen" <<'PYTHON'
import sys

import chdb
import pyarrow as pa
import pyarrow.parquet as pq

pq.write_table(pa.table({"k": [1, 1, 2], "t": [1, 2, 3], "type": ["s1", "s2", None]}), sys.argv[1])
connection = chdb.connect(":memory:")
for column in ("type", "assumeNotNull(type)"):
    for steps in (7, 8, 32):
        conditions = ", ".join(f"{column} = 's{i + 1}'" for i in range(steps))
        time = "assumeNotNull(toUInt64(t))" if column != "type" else "toUInt64(t)"
        query = f"SELECT k, windowFunnel(9)({time}, {conditions}) FROM file('{sys.argv[1]}') GROUP BY k ORDER BY k"
        try:
            print(column, steps, str(connection.query(query, "CSV")).split())
        except Exception as error:
            print(column, steps, str(error).split("Exception: ")[1].split(" (")[0])
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
type 7 ['1,2', '2,\\N']
type 8 Maximum number of arguments for aggregate function with Nullable types is 8.
type 32 Maximum number of arguments for aggregate function with Nullable types is 8.
assumeNotNull(type) 7 ['1,2', '2,0']
assumeNotNull(type) 8 ['1,2', '2,0']
assumeNotNull(type) 32 ['1,2', '2,0']
SEEN

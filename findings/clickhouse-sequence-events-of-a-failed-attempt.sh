#!/usr/bin/env bash
# chdb 4.4.0 (ClickHouse 26.9), Python 3. sequenceMatchEvents gives the times of the rows that the conditions of a match take. It keeps the first
# attempt with the most conditions, whether that attempt succeeds or not: where a time clause and `.` follow the last condition, the times are of an
# attempt that failed there. '(?1)(?t<2).' over A at 1, A at 5, B at 6 matches, with A at 5 since only there a row comes within 2 s; the answer is [1].
# With a condition in the place of `.` the answer is that of the match.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q chdb==4.4.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import chdb

connection = chdb.connect(":memory:")
for rows in ("(1, 1, 0), (5, 1, 0), (6, 0, 1)", "(5, 1, 0), (6, 0, 1)", "(1, 1, 0)"):
    for pattern in ("(?1)(?t<2).", "(?1)(?t<2)(?2)"):
        calls = ", ".join(f"{name}('{pattern}')(t, a = 1, b = 1)" for name in ("sequenceMatch", "sequenceMatchEvents"))
        query = f"SELECT {calls} FROM values('t UInt32, a UInt8, b UInt8', {rows})"
        print(pattern, "over", rows, "->", str(connection.query(query, "TSV")).split())
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
(?1)(?t<2). over (1, 1, 0), (5, 1, 0), (6, 0, 1) -> ['1', '[1]']
(?1)(?t<2)(?2) over (1, 1, 0), (5, 1, 0), (6, 0, 1) -> ['1', '[5,6]']
(?1)(?t<2). over (5, 1, 0), (6, 0, 1) -> ['1', '[5]']
(?1)(?t<2)(?2) over (5, 1, 0), (6, 0, 1) -> ['1', '[5,6]']
(?1)(?t<2). over (1, 1, 0) -> ['0', '[1]']
(?1)(?t<2)(?2) over (1, 1, 0) -> ['0', '[1]']
SEEN

#!/usr/bin/env bash
# pandas-match-recognize 0.2.5, Python 3.10 to 3.12. DEFINE is evaluated with two truth values: x > 1 is false of a missing x, and so NOT (x > 1) is true
# of it. In SQL both are unknown, and the row is not taken. x IS NULL and COALESCE do see that it is missing. So the rows without a
# value are among those "not above the limit".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pandas-match-recognize==0.2.5
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import logging

import pandas
from pandas_match_recognize import match_recognize

logging.disable(logging.CRITICAL)
rows = pandas.DataFrame({"n": [1, 2, 3], "x": [0.0, None, 2.0]})
for condition in ("x > 1", "NOT (x > 1)", "x <= 1", "x IS NULL", "COALESCE(x, 5) > 1"):
    query = f"""SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY n MEASURES MATCH_NUMBER() AS m ALL ROWS PER MATCH
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A) DEFINE A AS {condition})"""
    found = match_recognize(query, rows)
    print(f"{condition}: rows {found['n'].tolist() if len(found) else []}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
x > 1: rows [3]
NOT (x > 1): rows [1, 2]
x <= 1: rows [1]
x IS NULL: rows [2]
COALESCE(x, 5) > 1: rows [2, 3]
SEEN

#!/usr/bin/env bash
# pandas-match-recognize 0.2.5, Python 3.10 to 3.12. A row that fulfils the conditions of two variables is given to one of them, and other
# ways through the pattern are not tried any more. B A | A B, or PERMUTE(B, A), with A above 0 and B above 1 does not match the rows 2, 1,
# which are B A, as 2 is taken for A. Where no row can be both, each order is found.
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
for pattern in ("PERMUTE(B, A)", "B A | A B"):
    for define in ("A AS x > 0, B AS x > 1", "A AS x = 1, B AS x = 2"):
        for values in ([2, 1], [1, 2]):
            query = f"""SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY n MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH
                AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) DEFINE {define})"""
            found = match_recognize(query, pandas.DataFrame({"n": [1, 2], "x": values}))
            print(f"{pattern}, {define}, x = {values}: {found['c'].tolist() if len(found) else 'no match'}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
PERMUTE(B, A), A AS x > 0, B AS x > 1, x = [2, 1]: no match
PERMUTE(B, A), A AS x > 0, B AS x > 1, x = [1, 2]: ['A', 'B']
PERMUTE(B, A), A AS x = 1, B AS x = 2, x = [2, 1]: ['B', 'A']
PERMUTE(B, A), A AS x = 1, B AS x = 2, x = [1, 2]: ['A', 'B']
B A | A B, A AS x > 0, B AS x > 1, x = [2, 1]: no match
B A | A B, A AS x > 0, B AS x > 1, x = [1, 2]: ['A', 'B']
B A | A B, A AS x = 1, B AS x = 2, x = [2, 1]: ['B', 'A']
B A | A B, A AS x = 1, B AS x = 2, x = [1, 2]: ['A', 'B']
SEEN

#!/usr/bin/env bash
# pandas-match-recognize 0.2.5 (pandas 2.3.3), Python 3. Compiled patterns are kept for the next call, by a key in which `A*? B` is `A* B`. So in
# one process the greedy clause has the answer of the reluctant one that was asked before it: no row of x = 1, 2 is matched, where `A* B`
# asked first takes both. (`A*? B` should take both too: there is no other way to reach B.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pandas-match-recognize==0.2.5 pandas==2.3.3
cat >"$folder/ask.py" <<'PYTHON'
import logging
import sys

import pandas
from pandas_match_recognize import match_recognize

logging.disable(logging.CRITICAL)
rows = pandas.DataFrame({"n": [0, 1], "x": [1, 2]})
for pattern in sys.argv[1:]:
    found = match_recognize(
        f"""SELECT * FROM rows MATCH_RECOGNIZE (ORDER BY n MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH
        AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) DEFINE A AS x = 1, B AS x = 2)""",
        rows,
    )
    print(f"{pattern}: {found['c'].tolist()}", end="  ")
print()
PYTHON
{
    "$folder/venv/bin/python" "$folder/ask.py" "A* B"
    "$folder/venv/bin/python" "$folder/ask.py" "A*? B" "A* B"
} >"$folder/seen" 2>/dev/null
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
A* B: ['A', 'B']  
A*? B: [None, None]  A* B: [None, None]  
SEEN

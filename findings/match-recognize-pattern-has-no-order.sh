#!/usr/bin/env bash
# match-recognize 0.0.4 (Python 3, 2022), MATCH_RECOGNIZE over a data frame. pip cannot install it: its build imports numpy and pandas, and it
# requires a package `operator`, which PyPI does not have. Installed without what it requires, beside pandas 1.5.3 and automata-lib 9.2.0:
# - the order of the variables in PATTERN has no effect, nor has a variable that stands there twice;
# - a match is what lies between the first row of one variable and the last row of another, whatever rows are between them;
# - a match is left out unless its first measure is greater than its last one, so that the order of the measures decides if there is any.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PYENV_VERSION=${PYENV_VERSION:-3.11} python3.11 -m venv "$folder/venv"
pip() { "$folder/venv/bin/python" -m pip install -q --disable-pip-version-check "$@"; }
pip numpy==1.26.4 pandas==1.5.3 automata-lib==9.2.0 setuptools==75.8.0 wheel==0.45.1
pip match-recognize==0.0.4 2>/dev/null && echo "pip installs it"
pip --no-deps --no-build-isolation match-recognize==0.0.4
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import pandas as pd
from match_recognize import match_recognize

rows = pd.DataFrame({"n": range(1, 9), "k": 0, "price": [5, 4, 3, 4, 5, 4, 3, 6]})
for pattern, measures in (
    ("DOWN+ UP+", "LAST(UP.n) AS last,FIRST(DOWN.n) AS first"),
    ("UP+ DOWN+", "LAST(UP.n) AS last,FIRST(DOWN.n) AS first"),
    ("DOWN+ UP+ DOWN+", "LAST(UP.n) AS last,FIRST(DOWN.n) AS first"),
    ("DOWN+ UP+", "FIRST(DOWN.n) AS first,LAST(UP.n) AS last"),
):
    query = f"""SELECT * FROM t MATCH_RECOGNIZE (
PARTITION BY k
ORDER BY n
MEASURES
{measures}
PATTERN ({pattern})
DEFINE
DOWN AS price < PREV(price),
UP AS price > PREV(price)
)"""
    found = match_recognize().match_recognize(rows, query)
    print(f"PATTERN ({pattern}) MEASURES {measures}:", found.drop(columns="k").to_dict("records"))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
PATTERN (DOWN+ UP+) MEASURES LAST(UP.n) AS last,FIRST(DOWN.n) AS first: [{'last': 8, 'first': 2}]
PATTERN (UP+ DOWN+) MEASURES LAST(UP.n) AS last,FIRST(DOWN.n) AS first: [{'last': 8, 'first': 2}]
PATTERN (DOWN+ UP+ DOWN+) MEASURES LAST(UP.n) AS last,FIRST(DOWN.n) AS first: [{'last': 8, 'first': 2}]
PATTERN (DOWN+ UP+) MEASURES FIRST(DOWN.n) AS first,LAST(UP.n) AS last: []
SEEN

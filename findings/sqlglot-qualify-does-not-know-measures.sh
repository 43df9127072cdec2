#!/usr/bin/env bash
# sqlglot 30.30.0, Python 3. The optimizer's qualify does not know the columns that MEASURES of MATCH_RECOGNIZE defines: a query that
# selects one is refused, since no table has it. With SELECT * it is the measure itself that is refused where it names a variable of the
# pattern, as b.x, which is taken for a column of a table b. Only a query that selects * and whose measures name no variable is taken.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q sqlglot==30.30.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import sqlglot
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify

for selected, measure in (("y", "LAST(x)"), ("*", "b.x"), ("*", "LAST(x)")):
    query = f"SELECT {selected} FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES {measure} AS y PATTERN (a b) DEFINE b AS x > 1)"
    for dialect in ("trino", "oracle", "snowflake"):
        try:
            tree = qualify(sqlglot.parse_one(query, read=dialect), schema={"t": {"ts": "int", "x": "int"}}, dialect=dialect)
            print(dialect, selected, measure, "taken")
        except OptimizeError as error:
            print(dialect, selected, measure, str(error).split(". Line")[0])
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
trino y LAST(x) Column 'y' could not be resolved
oracle y LAST(x) Column 'Y' could not be resolved
snowflake y LAST(x) Column 'Y' could not be resolved
trino * b.x Column 'x' could not be resolved for table: 'b'
oracle * b.x Column 'X' could not be resolved for table: 'B'
snowflake * b.x Column 'X' could not be resolved for table: 'B'
trino * LAST(x) taken
oracle * LAST(x) taken
snowflake * LAST(x) taken
SEEN

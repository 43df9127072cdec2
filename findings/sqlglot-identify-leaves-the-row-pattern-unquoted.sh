#!/usr/bin/env bash
# sqlglot 30.30.0, Python 3. With identify=True all identifiers of MATCH_RECOGNIZE are quoted, but those in PATTERN: it is kept as the
# text that was read. In a dialect that folds names without quotes to upper case, as Oracle's and Snowflake's, the pattern then speaks of
# the variables A and B, and DEFINE and MEASURES of "a" and "b", which are others. The same happens in normalize_identifiers: DEFINE
# gets B, and PATTERN keeps b, which does not matter there as long as nothing is quoted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q sqlglot==30.30.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import sqlglot
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

query = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES b.x AS y PATTERN (a b+) DEFINE b AS x > PREV(x))"
for dialect in ("oracle", "snowflake"):
    tree = sqlglot.parse_one(query, read=dialect)
    print(dialect, "identify: ", tree.sql(dialect, identify=True))
    print(dialect, "normalize:", normalize_identifiers(tree, dialect=dialect).sql(dialect))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
oracle identify:  SELECT * FROM "t" MATCH_RECOGNIZE ( ORDER BY "ts" MEASURES "b"."x" AS "y" PATTERN (a b+) DEFINE "b" AS "x" > PREV("x"))
oracle normalize: SELECT * FROM T MATCH_RECOGNIZE ( ORDER BY TS MEASURES B.X AS Y PATTERN (a b+) DEFINE B AS X > PREV(X))
snowflake identify:  SELECT * FROM "t" MATCH_RECOGNIZE ( ORDER BY "ts" MEASURES "b"."x" AS "y" PATTERN (a b+) DEFINE "b" AS "x" > PREV("x"))
snowflake normalize: SELECT * FROM T MATCH_RECOGNIZE ( ORDER BY TS MEASURES B.X AS Y PATTERN (a b+) DEFINE B AS X > PREV(X))
SEEN

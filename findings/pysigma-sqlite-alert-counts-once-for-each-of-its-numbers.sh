#!/usr/bin/env bash
# pySigma-backend-sqlite 2.1.1 (pySigma 2.0.1), converter of Sigma rules to SQLite. Where a correlation is about the alerts of another one,
# an alert counts once for each different number of its events: one alert over sizes of 3 and 1 makes a sum of 4 and an average of 2. The
# alert of a `temporal_ordered` has the number of the first order in the window, also where the event itself has another one or none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pysigma-backend-sqlite==2.1.1 pysigma==2.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import sqlite3
from sigma.backends.sqlite import sqliteBackend
from sigma.collection import SigmaCollection

RULES = """
{title: a, name: a, logsource: {category: test}, detection: {s: {kind: x}, condition: s}}
---
{title: i, name: i, correlation: {type: INNER, rules: [a], timespan: 9s, condition: {gte: LEAST}}}
---
{title: o, correlation: {type: OUTER, rules: [i], timespan: 1s, condition: {gte: 0, field: size}}}
"""
for inner, least, outer in ("event_count", 2, "value_sum"), ("event_count", 2, "value_avg"), ("temporal_ordered", 1, "value_sum"):
    text = RULES.replace("INNER", inner).replace("LEAST", str(least)).replace("OUTER", outer)
    (query,) = sqliteBackend(timestamp_format="unix").convert(SigmaCollection.from_yaml(text))
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    database.execute("CREATE TABLE logs (timestamp, kind TEXT, size NUMERIC)")
    database.executemany("INSERT INTO logs VALUES (?, 'x', ?)", [(1, 3), (5, 1)])
    print(f"{outer} over {inner}", [(row["occurrence_time"], row["metric_value"]) for row in database.execute(query)])
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
value_sum over event_count [(5.0, 4.0)]
value_avg over event_count [(5.0, 2.0)]
value_sum over temporal_ordered [(1.0, 3.0), (5.0, 3.0)]
SEEN

#!/usr/bin/env bash
# eql 1.0.1 (EQL for Python), Python 3. A comparison of a missing field is null, and takes no event: x == y, x != y and not (x > 0) are all
# false of an event without x and y. But x == x is true of it, since the query is simplified before it runs. A missing field is also
# equal to null, and not in a set that has null.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q eql==1.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import eql

for condition in ("x == y", "x != y", "x == x", "x <= x", "not (x > 0)", "x == null", "x in (null)", "x in (1, null)"):
    found = []
    engine = eql.PythonEngine()
    engine.add_query(eql.parse_query(f"process where {condition}"))
    engine.add_output_hook(found.append)
    engine.stream_events([eql.Event("process", 0, {"other": 1})])
    print(f"{condition}: {'taken' if found else 'not taken'}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
x == y: not taken
x != y: not taken
x == x: taken
x <= x: taken
not (x > 0): not taken
x == null: taken
x in (null): not taken
x in (1, null): not taken
SEEN

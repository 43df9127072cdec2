#!/usr/bin/env bash
# eql 1.0.1 (EQL for Python), Python 3. A query is simplified before it runs. Of `x in ("a", "c") or x != "a"` the second part is
# dropped if its constant is in the list, and of `x in ("a", "c") or x != "b"` it becomes one more value of the list, so that
# events are lost. In the other order, or with one value in the list, nothing is lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q eql==1.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import eql

for condition in (
    'x != "a" or x in ("a", "c")', 'x in ("a", "c") or x != "a"', 'x in ("a", "c") or not x == "a"',
    'x in ("a", "c") or x != "b"', 'x in ("a") or x != "a"',
):
    taken = []
    query = eql.parse_query(f"process where {condition}")
    for value in "abcd":
        found = []
        engine = eql.PythonEngine()
        engine.add_query(query)
        engine.add_output_hook(found.append)
        engine.stream_events([eql.Event("process", 0, {"x": value})])
        taken += [value] * bool(found)
    print(f"{condition}: takes {' '.join(taken)}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
x != "a" or x in ("a", "c"): takes a b c d
x in ("a", "c") or x != "a": takes a c
x in ("a", "c") or not x == "a": takes a c
x in ("a", "c") or x != "b": takes a b c
x in ("a") or x != "a": takes a b c d
SEEN

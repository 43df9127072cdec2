#!/usr/bin/env bash
# pyarrow 26.0.1, Python 3. The reader of JSON Lines takes a column of ISO 8601 times for timestamps, and converts their offsets, as long
# as all are of whole seconds. One event with a fraction of a second makes texts of the whole column: the same two events of other offsets
# change their order, since texts are compared character by character.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pyarrow==26.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import io, json
import pyarrow.json

events = [("pay", "2024-03-30T23:30:00+02:00"), ("view", "2024-03-30T22:00:00+00:00")]
for more in ([], [("close", "2024-03-30T22:05:00.5+00:00")]):
    lines = "".join(json.dumps({"type": kind, "at": at}) + "\n" for kind, at in events + more)
    table = pyarrow.json.read_json(io.BytesIO(lines.encode()))
    ordered = [row["type"] for row in table.sort_by("at").to_pylist() if row["type"] != "close"]
    print(table.schema.field("at").type, ordered)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
timestamp[s] ['pay', 'view']
string ['view', 'pay']
SEEN

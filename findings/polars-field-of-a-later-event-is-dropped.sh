#!/usr/bin/env bash
# polars 2.1.0, Python 3. read_ndjson and scan_ndjson drop a field that the first 100 events do not have, without a word: the price of the
# one payment in a log of clicks is gone, and a filter on it is refused as if the log had none. Where the first events have the field as
# null, the same file is an error; where one of the first 100 has it, all is read.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q polars==2.1.0
"$folder/venv/bin/python" -W error - >"$folder/seen" <<'PYTHON'
import io, json
import polars as pl

def log(clicks, click, late=None):
    events = [click] * clicks + [{"type": "pay", "price": 12.5}]
    return io.BytesIO("".join(json.dumps(event) + "\n" for event in events).encode())

for clicks in (99, 100):
    for name, reader in (("read", pl.read_ndjson), ("scan", lambda file: pl.scan_ndjson(file).collect())):
        frame = reader(log(clicks, {"type": "click"}))
        print(clicks, "clicks,", name, frame.shape, frame.columns)
try:
    print(pl.read_ndjson(log(100, {"type": "click", "price": None})).columns)
except Exception as error:
    print("100 clicks with price null:", type(error).__name__)
print("all events looked at:", pl.read_ndjson(log(100, {"type": "click"}), infer_schema_length=None).columns)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
99 clicks, read (100, 2) ['type', 'price']
99 clicks, scan (100, 2) ['type', 'price']
100 clicks, read (101, 1) ['type']
100 clicks, scan (101, 1) ['type']
100 clicks with price null: ComputeError
all events looked at: ['type', 'price']
SEEN

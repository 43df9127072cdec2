#!/usr/bin/env bash
# pyarrow 26.0.1, Python 3. read_dictionary keeps the texts of a Parquet column in a dictionary, also where the file has none: plain texts
# get one. A column of event types in DELTA_LENGTH_BYTE_ARRAY or DELTA_BYTE_ARRAY, which its own writer wrote and its reader reads without
# the option, is refused as not yet implemented.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pyarrow==26.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import io
import pyarrow as pa, pyarrow.parquet as pq

events = pa.table({"type": ["login", "logout", "login"]})
for encoding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
    file = io.BytesIO()
    pq.write_table(events, file, use_dictionary=False, column_encoding={"type": encoding})
    plain = pq.read_table(file).equals(events)
    try:
        seen = str(pq.read_table(file, read_dictionary=["type"])["type"].type)[:10]
    except OSError as error:
        seen = str(error).split(":")[0]
    print(encoding, plain, seen)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
PLAIN True dictionary
DELTA_LENGTH_BYTE_ARRAY True Not yet implemented
DELTA_BYTE_ARRAY True Not yet implemented
SEEN

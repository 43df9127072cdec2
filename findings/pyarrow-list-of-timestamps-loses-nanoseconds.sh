#!/usr/bin/env bash
# pyarrow 26.0.1 and pandas 3.0.2, Python 3. An array of a list of pandas Timestamps has microseconds, and the digits beyond them are gone
# without an error. A Series of the same Timestamps keeps them, and so does the list if its type is given. So the rows of a frame as
# dictionaries, read by Table.from_pylist, hold other times than the frame: two events 1.0000008 s apart are one second apart.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pyarrow==26.0.1 pandas==3.0.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import pandas as pd
import pyarrow as pa

frame = pd.DataFrame({"time": pd.to_datetime(["2017-11-10T07:27:47.2779361Z", "2017-11-10T07:27:48.2779369Z"])})
whole = pa.Table.from_pandas(frame)
rows = pa.Table.from_pylist(frame.to_dict("records"))
typed = pa.array(frame["time"].tolist(), pa.timestamp("ns", "UTC"))
for name, times in (("frame", whole["time"]), ("rows", rows["time"]), ("rows with a type", typed)):
    first, last = times.cast(pa.timestamp("ns", "UTC")).cast(pa.int64()).to_pylist()
    print(name, times.type, last - first)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
frame timestamp[ns, tz=UTC] 1000000800
rows timestamp[us, tz=UTC] 1000000000
rows with a type timestamp[ns, tz=UTC] 1000000800
SEEN

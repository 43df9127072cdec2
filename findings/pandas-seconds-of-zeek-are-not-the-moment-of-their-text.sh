#!/usr/bin/env bash
# pandas 3.1.1, Python 3. to_datetime of seconds with a fraction, as Zeek writes its times, keeps the noise of the float as nanoseconds:
# 1711836164.694123 is 30 ns later than 2024-03-30T22:02:44.694123Z. Texts of the same moments have microseconds and none of it. A merge of
# a log of Zeek with one of ISO 8601 by the time finds only some of the events that are in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pandas==3.1.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import io
import pandas as pd

zeek = pd.read_csv(io.StringIO("ts\n1711836164.694123\n1711836165.000001\n1711836166.5\n"))
texts = ["2024-03-30T22:02:44.694123", "2024-03-30T22:02:45.000001", "2024-03-30T22:02:46.500000"]
zeek["at"] = pd.to_datetime(zeek["ts"], unit="s")
other = pd.DataFrame({"at": pd.to_datetime(texts), "n": range(3)})
print(zeek["at"].dtype, other["at"].dtype)
print([at.isoformat() for at in zeek["at"]])
print("in both:", zeek.merge(other, on="at")["n"].tolist())
print("rounded to microseconds:", zeek.assign(at=zeek["at"].dt.round("us")).merge(other, on="at")["n"].tolist())
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
datetime64[ns] datetime64[us]
['2024-03-30T22:02:44.694123030', '2024-03-30T22:02:45.000000954', '2024-03-30T22:02:46.500000']
in both: [2]
rounded to microseconds: [0, 1, 2]
SEEN

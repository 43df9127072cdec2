#!/usr/bin/env bash
# zat 0.4.9, Python 3. A field of a Zeek log that is unset ("-") is 0, False or no time at all in the rows of ZeekLogReader, as if the
# connection had sent 0 bytes in 0 seconds; LogToDataFrame of the same library leaves the same cell without a value. A condition such as
# orig_bytes == 0 holds of connections whose bytes nobody has counted with one reader, and not with the other.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q zat==0.4.9 pandas==3.1.1
cd "$folder"
"$folder/venv/bin/python" -W ignore - >"$folder/seen" <<'PYTHON'
import contextlib, io
from zat.log_to_dataframe import LogToDataFrame
from zat.zeek_log_reader import ZeekLogReader

names = ("ts", "uid", "id.orig_h", "id.orig_p", "proto", "duration", "orig_bytes", "local_orig")
kinds = ("time", "string", "addr", "port", "enum", "interval", "count", "bool")
rows = [
    ("1711836164.694123", "C1", "10.0.0.1", "40000", "tcp", "-", "-", "-"),
    ("1711836165.694123", "C2", "10.0.0.1", "40001", "tcp", "0.5", "0", "F"),
]
lines = ["#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-", "#path\tconn", "#open\t2024-03-30-22-00-00"]
lines += ["\t".join(("#fields", *names)), "\t".join(("#types", *kinds)), *("\t".join(row) for row in rows)]
with open("conn.log", "w") as file:
    file.write("\n".join([*lines, "#close\t2024-03-30-23-00-00", ""]))
with contextlib.redirect_stdout(io.StringIO()):
    by_row = list(ZeekLogReader("conn.log").readrows())
    frame = LogToDataFrame().create_dataframe("conn.log")
for row in by_row:
    print("row  ", row["uid"], row["orig_bytes"], row["duration"], row["local_orig"])
for _, row in frame.iterrows():
    print("frame", row["uid"], row["orig_bytes"], row["duration"], row["local_orig"])
print("rows with orig_bytes == 0:", [row["uid"] for row in by_row if row["orig_bytes"] == 0])
print("in the frame:             ", list(frame[frame["orig_bytes"] == 0]["uid"]))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
row   C1 0 0:00:00 False
row   C2 0 0:00:00.500000 False
frame C1 <NA> NaT nan
frame C2 0 0 days 00:00:00.500000 F
rows with orig_bytes == 0: ['C1', 'C2']
in the frame:              ['C2']
SEEN

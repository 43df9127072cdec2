#!/usr/bin/env bash
# pycer 0.1.6 (CORE for Python), wheels for Python 3.13 alone. Where the constant stands on the left, the comparison is negated instead of read
# from the other side: A[5 = x] takes the events whose x is not 5, A[5 < x] is x >= 5, and A[5 <= x] is x > 5. The fraction of a constant beside
# a whole number is dropped: A[x < 5.5] leaves 5 out.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYENV_VERSION=3.13 python3.13 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pycer==0.1.6
"$folder/venv/bin/python" - <<'PYTHON' | grep -v "^Logging to" >"$folder/seen"
import os
import re
import tempfile

import pycer

os.chdir(tempfile.mkdtemp())  # a log is written to the working folder
for condition in ("5 = x", "x = 5", "5 < x", "x > 5", "5 <= x", "x >= 5", "x < 5.5", "x <= 4.5"):
    server = pycer.PyOfflineServer()
    stream = server.declare_stream("CREATE STREAM S { EVENT A { x:int } }")
    ids = {event.name: event.id for event in stream.events_info}
    server.add_query(f"SELECT * FROM S WHERE A FILTER A[{condition}]")
    for x in (4, 5, 6):
        server.send_event(pycer.PyEvent(ids["A"], [pycer.PyIntValue(x)], pycer.PyIntValue(x)))
    print(f"of x = 4, 5, 6, A[{condition}] takes", *re.findall(r"attributes: \[(\d+)", server.get_output()))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
of x = 4, 5, 6, A[5 = x] takes 4 6
of x = 4, 5, 6, A[x = 5] takes 5
of x = 4, 5, 6, A[5 < x] takes 5 6
of x = 4, 5, 6, A[x > 5] takes 6
of x = 4, 5, 6, A[5 <= x] takes 6
of x = 4, 5, 6, A[x >= 5] takes 5 6
of x = 4, 5, 6, A[x < 5.5] takes 4
of x = 4, 5, 6, A[x <= 4.5] takes 4
SEEN

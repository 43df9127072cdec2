#!/usr/bin/env bash
# pycer 0.1.6 (CORE for Python), wheels for Python 3.13 alone. LIMIT 1 does not end the answer of a query after one complex event: it leaves
# one of those that end at the same event, at each event anew. Over A A B B, A ; B has four complex events; LIMIT 1 answers with two, LIMIT 2
# with all four. Which of those that end at an event is kept is not said.
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
for limit in ("", " LIMIT 1", " LIMIT 2", " LIMIT 3"):
    server = pycer.PyOfflineServer()
    stream = server.declare_stream("CREATE STREAM S { EVENT A { n:int }, EVENT B { n:int } }")
    ids = {event.name: event.id for event in stream.events_info}
    server.add_query("SELECT * FROM S WHERE A ; B" + limit)
    for n, kind in enumerate("AABB"):
        server.send_event(pycer.PyEvent(ids[kind], [pycer.PyIntValue(n)], pycer.PyIntValue(n)))
    found = [re.findall(r"attributes: \[(\d+)", line) for line in server.get_output().splitlines()]
    print(f"A ; B{limit}:", " ".join("{" + ",".join(events) + "}" for events in found))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
A ; B: {1,2} {0,2} {1,3} {0,3}
A ; B LIMIT 1: {1,2} {1,3}
A ; B LIMIT 2: {1,2} {0,2} {1,3} {0,3}
A ; B LIMIT 3: {1,2} {0,2} {1,3} {0,3}
SEEN

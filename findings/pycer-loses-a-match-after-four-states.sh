#!/usr/bin/env bash
# pycer 0.1.6 (CORE for Python), wheels for Python 3.13 alone. A query loses matches once its automaton has needed more than four states: over
# A C B C the answer to (A+ OR B) ; C lacks {2, 3}. Without the +, or without the A ahead of it, the B and the C after it are a match.
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
for query, kinds in (("(A+ OR B) ; C", "ACBC"), ("(A OR B) ; C", "ACBC"), ("(A+ OR B) ; C", "BC"), ("(A+ OR B) ; C", "CBC")):
    server = pycer.PyOfflineServer()
    stream = server.declare_stream("CREATE STREAM S { EVENT A { n:int }, EVENT B { n:int }, EVENT C { n:int } }")
    ids = {event.name: event.id for event in stream.events_info}
    server.add_query("SELECT * FROM S WHERE " + query)
    for n, kind in enumerate(kinds):
        server.send_event(pycer.PyEvent(ids[kind], [pycer.PyIntValue(n)], pycer.PyIntValue(n)))
    found = sorted(re.findall(r"attributes: \[(\d+)", line) for line in server.get_output().splitlines())
    print(query, "over", *kinds, "has", *("{" + ", ".join(events) + "}" for events in found))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
(A+ OR B) ; C over A C B C has {0, 1} {0, 3}
(A OR B) ; C over A C B C has {0, 1} {0, 3} {2, 3}
(A+ OR B) ; C over B C has {0, 1}
(A+ OR B) ; C over C B C has {1, 2}
SEEN

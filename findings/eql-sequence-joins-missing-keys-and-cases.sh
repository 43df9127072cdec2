#!/usr/bin/env bash
# eql 1.0.1 (EQL for Python), Python 3. "sequence by user" joins events whose user is missing, as if none were a value, and those whose users
# differ in case alone; in join it is the same. The number 1 and the truth value true are one key too, the text "1" is another one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q eql==1.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import eql


def joined(query, one, other):
    found = []
    engine = eql.PythonEngine()
    engine.add_query(eql.parse_query(query))
    engine.add_output_hook(found.append)
    engine.stream_events([eql.Event("file", 0, one), eql.Event("network", 1, other)])
    return bool(found)


users = [("ann", "bob"), ("ann", "ANN"), (1, True), (1, 1.0), (1, "1"), (None, None)]
for kind in ("sequence", "join"):
    query = f"{kind} by user [file where true] [network where true]"
    for one, other in users:
        print(f"{kind} by {one!r} and {other!r}: {joined(query, {'user': one}, {'user': other})}")
    print(f"{kind} by a field that both lack: {joined(query, {}, {})}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
sequence by 'ann' and 'bob': False
sequence by 'ann' and 'ANN': True
sequence by 1 and True: True
sequence by 1 and 1.0: True
sequence by 1 and '1': False
sequence by None and None: True
sequence by a field that both lack: True
join by 'ann' and 'bob': False
join by 'ann' and 'ANN': True
join by 1 and True: True
join by 1 and 1.0: True
join by 1 and '1': False
join by None and None: True
join by a field that both lack: True
SEEN

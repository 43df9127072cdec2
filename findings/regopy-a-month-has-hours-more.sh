#!/usr/bin/env bash
# regopy 1.5.2 (rego-cpp), Python 3. Rego's time.diff says how many years, months, days, hours, minutes and seconds lie between two times, whole
# calendar units first. Between two midnights, regopy adds hours where a month lies between, and a day where a year does; differences
# under a month are right. A rule such as "same clock time a month later" is judged by hours that nobody has spent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q regopy==1.5.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import json

from regopy import Interpreter

engine = Interpreter()
for first, last in [("2024-01-01", "2024-01-08"), ("2024-01-01", "2024-02-01"), ("2023-03-01", "2023-04-01"), ("2024-01-01", "2025-01-01")]:
    moments = ", ".join(f'time.parse_ns("2006-01-02", "{day}")' for day in (last, first))
    days = json.loads(str(engine.query(f"x := [{moments}]")))["bindings"]["x"]
    units = json.loads(str(engine.query(f"x := time.diff({moments})")))["bindings"]["x"]
    print(f"{first} to {last}: {(days[0] - days[1]) / 86400e9:g} days, time.diff {units}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
2024-01-01 to 2024-01-08: 7 days, time.diff [0, 0, 7, 0, 0, 0]
2024-01-01 to 2024-02-01: 31 days, time.diff [0, 1, 0, 13, 30, 54]
2023-03-01 to 2023-04-01: 31 days, time.diff [0, 1, 0, 13, 30, 54]
2024-01-01 to 2025-01-01: 366 days, time.diff [1, 0, 1, 0, 0, 0]
SEEN

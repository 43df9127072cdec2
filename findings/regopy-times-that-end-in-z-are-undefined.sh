#!/usr/bin/env bash
# regopy 1.5.2 (rego-cpp), Python 3. time.parse_rfc3339_ns has no value for a time that ends in Z, the commonest form in logs and the one that
# the documentation of Rego shows; the same moment written +00:00 has one. A rule over such an event is undefined without an error: an alert
# does not fire, and a rule with "not" does. Seconds with a fraction make no difference.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q regopy==1.5.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from regopy import Interpreter

RULES = """package alerts
start := time.parse_rfc3339_ns("2024-01-01T00:00:00+00:00")
late { time.parse_rfc3339_ns(input.time) > start }
in_time { not late }
"""
for time in ("2024-01-01T02:00:00+00:00", "2024-01-01T02:00:00Z", "2024-01-01T02:00:00.5+00:00", "2024-01-01T02:00:00.5Z"):
    engine = Interpreter()
    engine.add_module("alerts", RULES)
    engine.set_input({"time": time})
    parsed = engine.query("x := time.parse_rfc3339_ns(input.time)")
    held = [rule for rule in ("late", "in_time") if "true" in str(engine.query(f"data.alerts.{rule}"))]
    print(f"{time}: {'undefined' if 'undefined' in str(parsed) else 'a value'}, rules that hold: {held}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
2024-01-01T02:00:00+00:00: a value, rules that hold: ['late']
2024-01-01T02:00:00Z: undefined, rules that hold: ['in_time']
2024-01-01T02:00:00.5+00:00: a value, rules that hold: ['late']
2024-01-01T02:00:00.5Z: undefined, rules that hold: ['in_time']
SEEN

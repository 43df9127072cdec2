#!/usr/bin/env bash
# stix2-matcher 3.0.0, Python 3. The comparisons =, <, > and their kind keep truth values and numbers apart: x = 1 is not true of an x that is
# true. IN does not: x IN (1, 2) is true of it, and x IN (true) of an x that is 1. NOT IN is the contrary of that, so that a set with one
# member and an equation differ.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q stix2-matcher==3.0.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from stix2matcher.matcher import match


def holds(condition, x):
    data = {"type": "observed-data", "id": "observed-data--0", "number_observed": 1, "first_observed": "2026-01-01T00:00:00Z",
            "last_observed": "2026-01-01T00:00:00Z", "objects": {"0": {"type": "flag", "x": x}}}
    return bool(match(f"[flag:x {condition}]", [data]))


for condition in ("= 1", "IN (1)", "NOT IN (1)", "= true", "IN (true)"):
    print(f"x {condition}: of 1 {holds(condition, 1)}, of 1.0 {holds(condition, 1.0)}, of true {holds(condition, True)}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
x = 1: of 1 True, of 1.0 True, of true False
x IN (1): of 1 True, of 1.0 True, of true True
x NOT IN (1): of 1 False, of 1.0 False, of true False
x = true: of 1 False, of 1.0 False, of true True
x IN (true): of 1 True, of 1.0 True, of true True
SEEN

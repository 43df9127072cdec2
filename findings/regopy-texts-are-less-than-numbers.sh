#!/usr/bin/env bash
# regopy 1.5.2 (rego-cpp), Python 3. Rego orders values of different types: null, booleans, numbers, strings, arrays, objects. regopy puts
# every text before every number, and null, booleans and arrays after them. An event that carries its port as a text, or as null, is on the other
# side of port < 1024 than under OPA; sort, min and max of mixed values go the same way.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q regopy==1.5.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import json

from regopy import Interpreter


def ask(query):
    return json.loads(str(Interpreter().query(f"x := {query}")))["bindings"]["x"]


for port in ("443", '"443"', '"50000"', "null", "false", "[443]"):
    print(f"{port} < 1024: {ask(f'{port} < 1024')}, {port} > 1024: {ask(f'{port} > 1024')}")
print("sort:", ask('sort([[1], "a", 1, true, null])'))
print("max:", ask('max([1, "a"])'), ask("max([1, null])"))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
443 < 1024: True, 443 > 1024: False
"443" < 1024: True, "443" > 1024: False
"50000" < 1024: True, "50000" > 1024: False
null < 1024: False, null > 1024: True
false < 1024: False, false > 1024: True
[443] < 1024: False, [443] > 1024: True
sort: ['a', 1, [1], None, True]
max: 1 None
SEEN

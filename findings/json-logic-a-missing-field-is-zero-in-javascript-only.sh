#!/usr/bin/env bash
# json-logic-qubit 0.9.1, Python 3, beside json-logic-js 2.0.5, the reference that JsonLogic's site documents. In JavaScript a field that is
# missing is null, and null counts as 0 in <, <=, > and >=; in Python every such comparison is false. A rule shared by a browser and a server,
# such as {"<": [{"var": "n"}, 1]}, holds of an event without n in one and not in the other. The remainder of a negative number differs too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q json-logic-qubit==0.9.1
npm install --silent --prefix "$folder" json-logic-js@2.0.5 >/dev/null
cd "$folder"
cat >rules.json <<'RULES'
[{"<": [{"var": "n"}, 1]}, {"<=": [{"var": "n"}, 0]}, {">": [{"var": "n"}, -1]}, {"!": [{">": [{"var": "n"}, -1]}]},
 {"==": [{"var": "n"}, 0]}, {"==": ["1.0", 1]}, {"%": [-7, 3]}]
RULES
"$folder/venv/bin/python" - >python.txt <<'PYTHON'
import json

from json_logic import jsonLogic

for rule in json.load(open("rules.json")):
    print(json.dumps(jsonLogic(rule, {"id": 1})))
PYTHON
node -e '
const {apply} = require("json-logic-js");
for (const rule of JSON.parse(require("fs").readFileSync("rules.json"))) console.log(JSON.stringify(rule) + "\t" + apply(rule, {id: 1}));
' >javascript.txt
paste javascript.txt python.txt | awk -F '\t' '{ print $1 ": JavaScript " $2 ", Python " $3 }' | tee seen
diff seen - <<'SEEN'
{"<":[{"var":"n"},1]}: JavaScript true, Python false
{"<=":[{"var":"n"},0]}: JavaScript true, Python false
{">":[{"var":"n"},-1]}: JavaScript true, Python false
{"!":[{">":[{"var":"n"},-1]}]}: JavaScript false, Python true
{"==":[{"var":"n"},0]}: JavaScript false, Python false
{"==":["1.0",1]}: JavaScript true, Python false
{"%":[-7,3]}: JavaScript -1, Python 2
SEEN

#!/usr/bin/env bash
# pySigma-backend-elasticsearch 2.1.1 (pySigma 1.5.0), converter to EQL, and eql 1.0.1. A field with `contains` alone becomes a search with
# wildcards. With `contains|cased` it becomes an equality with the text between two stars, in which EQL knows no wildcards: the rule finds
# the text *n* and no name with an n in it. Nothing is refused and nothing warns; `startswith` and `endswith` are no better.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pysigma-backend-elasticsearch==2.1.1 pysigma==1.5.0 pyparsing==3.2.5 eql==1.0.1
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import eql
from eql import parser
from sigma.backends.elasticsearch.elasticsearch_eql import EqlBackend
from sigma.collection import SigmaCollection

for modifiers in ("contains", "contains|cased", "startswith|cased", "endswith|cased"):
    text = f"title: t\nlogsource: {{category: test}}\ndetection: {{s: {{user|{modifiers}: n}}, condition: s}}"
    (query,) = EqlBackend().convert(SigmaCollection.from_yaml(text))
    found = []
    engine = eql.PythonEngine()
    with parser.elasticsearch_syntax:
        engine.add_query(parser.parse_query(query))
    engine.add_output_hook(lambda result: found.append(result.events[0].data["user"]))
    engine.stream_events([eql.Event("event", 0, {"user": user}) for user in ("n", "ann", "*n*")])
    print(modifiers, "|", query, "|", found)
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
contains | any where user:"*n*" | ['n', 'ann', '*n*']
contains|cased | any where user == "*n*" | ['*n*']
startswith|cased | any where user == "n*" | []
endswith|cased | any where user == "*n" | []
SEEN

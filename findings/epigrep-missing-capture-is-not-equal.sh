#!/usr/bin/env bash
# epigrep 0.2.0, Python 3. A reference predicate with NotEq compares an attribute with one that an earlier step captured. Where the earlier
# event lacks the attribute, the predicate is true; where the later one lacks it, or both do, it is false. So "another user than before"
# holds after an event without a user, and not before one. All other operators are false in the three cases.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q epigrep==0.2.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import json

import epigrep


def matches(operator, first, second):
    atoms = [
        {"event_type": "A", "predicates": [], "reference_predicates": [], "captures": [{"name": "u", "attribute": "user"}]},
        {"event_type": "B", "predicates": [], "captures": [],
         "reference_predicates": [{"attribute": "user", "operator": operator, "binding": "u"}]},
    ]
    between = {"max_elapsed": None, "absence": []}
    steps = [{"atom": atom, "transition_from_previous": how} for atom, how in zip(atoms, (None, between))]
    pattern = epigrep.pattern_from_json(json.dumps({"steps": steps, "consumption": "ExhaustivePerStart"}))
    return len(epigrep.match(pattern, [epigrep.Event("key", 0, "A", first), epigrep.Event("key", 1, "B", second)]))


ann, bob, nobody = {"user": "ann"}, {"user": "bob"}, {}
for operator in ("Eq", "NotEq"):
    print(operator, "ann then bob:", matches(operator, ann, bob), " nobody then bob:", matches(operator, nobody, bob),
          " ann then nobody:", matches(operator, ann, nobody), " nobody then nobody:", matches(operator, nobody, nobody))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
Eq ann then bob: 0  nobody then bob: 0  ann then nobody: 0  nobody then nobody: 0
NotEq ann then bob: 1  nobody then bob: 1  ann then nobody: 0  nobody then nobody: 0
SEEN

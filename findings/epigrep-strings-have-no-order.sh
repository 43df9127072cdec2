#!/usr/bin/env bash
# epigrep 0.2.0, Python 3. The operators Lt, Lte, Gt and Gte are accepted for a string, in a predicate with a constant and in one that refers
# to an earlier event, and are then true of no event, not even Lte and Gte of equal strings. Eq and NotEq compare strings as one expects.
# A range of names, or of times that are kept as ISO texts, silently matches nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q epigrep==0.2.0
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import json

import epigrep


def matches(predicates, references, events):
    atom = {"event_type": "A", "predicates": predicates, "reference_predicates": [], "captures": []}
    steps = [{"atom": atom, "transition_from_previous": None}]
    if references:
        steps[0]["atom"]["captures"] = [{"name": "first", "attribute": "at"}]
        atom = {"event_type": "A", "predicates": [], "reference_predicates": references, "captures": []}
        steps.append({"atom": atom, "transition_from_previous": {"max_elapsed": None, "absence": []}})
    pattern = epigrep.pattern_from_json(json.dumps({"steps": steps, "consumption": "ExhaustivePerStart"}))
    return len(epigrep.match(pattern, [epigrep.Event("key", n, "A", {"at": at}) for n, at in enumerate(events)]))


days = ["2026-01-01", "2026-01-02", "2026-01-03"]
for operator in ("Eq", "NotEq", "Lt", "Lte", "Gt", "Gte"):
    constant = matches([{"attribute": "at", "operator": operator, "value": {"String": days[1]}}], [], days)
    reference = matches([], [{"attribute": "at", "operator": operator, "binding": "first"}], days)
    numbers = matches([{"attribute": "at", "operator": operator, "value": {"Int": 2}}], [], [1, 2, 3])
    print(f"{operator}: strings {constant}, strings of two events {reference}, numbers {numbers}")
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
Eq: strings 1, strings of two events 0, numbers 1
NotEq: strings 2, strings of two events 3, numbers 2
Lt: strings 0, strings of two events 0, numbers 1
Lte: strings 0, strings of two events 0, numbers 2
Gt: strings 0, strings of two events 0, numbers 1
Gte: strings 0, strings of two events 0, numbers 2
SEEN

"""Prints what epigrep 0.2.0 answers to the patterns of README.md, without cerify."""

import json

import epigrep


def matches(first, second, *events):
    between = {"max_elapsed": None, "absence": []}
    steps = [{"atom": first, "transition_from_previous": None}]
    steps += [{"atom": second, "transition_from_previous": between}] if second else []
    pattern = epigrep.pattern_from_json(json.dumps({"steps": steps, "consumption": "ExhaustivePerStart"}))
    stream = [epigrep.Event("key", n, kind, {"at": n, **attributes}) for n, (kind, attributes) in enumerate(events)]
    return [[event.attrs["at"] for event in match.events] for match in epigrep.match(pattern, stream)]


def atom(kind, predicates=(), references=(), captures=()):
    return {
        "event_type": kind,
        "predicates": [*predicates],
        "reference_predicates": [*references],
        "captures": [*captures],
    }


letters = [("A", {"s": letter}) for letter in "abc"]
for operator in ("Eq", "NotEq", "Lt", "Lte", "Gt", "Gte"):
    predicate = {"attribute": "s", "operator": operator, "value": {"String": "b"}}
    print(f"A with s {operator} 'b', on s = a, b, c:", matches(atom("A", [predicate]), None, *letters))
capture, reference = {"name": "x", "attribute": "x"}, {"attribute": "x", "operator": "NotEq", "binding": "x"}
first, second = atom("A", captures=[capture]), atom("B", references=[reference])
print("A ; B with another x, A has none:", matches(first, second, ("A", {}), ("B", {"x": 0})))
print("A ; B with another x, B has none:", matches(first, second, ("A", {"x": 0}), ("B", {})))
value = 123456789.12345679
pattern = {"steps": [{"atom": atom("A", [{"attribute": "x", "operator": "Eq", "value": {"Float": value}}])}]}
pattern["steps"][0]["transition_from_previous"] = None
pattern = epigrep.pattern_from_json(json.dumps(pattern | {"consumption": "ExhaustivePerStart"}))
print(f"A with x = {value}, on x = {value}:", epigrep.match(pattern, [epigrep.Event("key", 0, "A", {"x": value})]))
print("the pattern as JSON:", pattern.to_json())
absence = {"max_elapsed": None, "absence": [atom("B")]}
steps = [{"atom": atom(kind), "transition_from_previous": before} for kind, before in (("A", None), ("C", absence))]
pattern = epigrep.pattern_from_json(json.dumps({"steps": steps, "consumption": "ExhaustivePerStart"}))
for key in ("k", "another"):
    stream = [epigrep.Event(k, n, kind, {}) for n, (kind, k) in enumerate((("A", "k"), ("B", key), ("C", "k")))]
    print(f"A ; C without B between, B's key is {key}:", len(epigrep.match(pattern, stream)), "matches")

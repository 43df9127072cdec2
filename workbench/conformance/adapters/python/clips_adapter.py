"""Puts CLIPS under test: CEL's chains as rules over facts, `(ev (p ?p0) (kind "A")) (ev (p ?p1&:(> ?p1 ?p0)) (kind "B"))`.

    python clips_adapter.py

An event is a fact. Each firing of the rule is a match, since production systems join all facts that fit. Events are asserted
one after the other, and the rules run after each, so that a match is reported at the event that completes it.
"""

import json
import re
from itertools import pairwise
from typing import Any

from cerify.adapter import Chain, Found, RunMessage, Skip, on_chains, serve, version_of

LINK = "https://www.clipsrules.net/documentation/v640/bpg640.pdf"
CLAIMS = {
    "operators": ["seq", "cseq", "strict", "or", "in", "project", "filter", "within", "partition", "repeat", "unless"],
    "predicates": ["comparison", "in", "range", "and", "or", "not", "correlated"],
    "ordered_time": True,
}
HOLDS = """(deffunction holds (?operator ?left ?right)
    (if (and (numberp ?left) (numberp ?right)) then (return (funcall ?operator ?left ?right)))
    (if (and (stringp ?left) (stringp ?right)) then (return (funcall ?operator (str-compare ?left ?right) 0)))
    (if (or (eq ?left nil) (eq ?right nil) (not (symbolp ?left)) (not (symbolp ?right))) then (return FALSE))
    (if (eq ?operator =) then (return (eq ?left ?right)))
    (and (eq ?operator <>) (neq ?left ?right)))"""


def constant_of(value: Any) -> str:
    """Return a constant of CLIPS."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return json.dumps(value)
    if isinstance(value, int | float) and "e" not in repr(value) and abs(value) < 2**63:
        return repr(value)
    raise Skip("constants must be numbers without exponents, ASCII strings or truth values", LINK)


def comparison_of(left: str, comparator: str, right: str) -> str:
    """Return a comparison of two terms that is false for an absent value and for values of different kinds."""
    return f"(holds {'<>' if comparator == '!=' else comparator} {left} {right})"


class ChainRule:
    """The rule of a chain: its patterns and tests, with a variable for each attribute of a step that they use."""

    def __init__(self, chain: Chain) -> None:
        self.chain, self.read, self.order = chain, {}, {0: ""}
        self.rounds = []
        for n, step in enumerate(chain.steps):
            if step.least != step.most:
                raise Skip("a step needs a fixed number of facts", LINK)
            self.rounds += [n] * step.least
        self.tests = [self.condition(tree, k) for k, n in enumerate(self.rounds) for tree in chain.steps[n].conditions]
        for k, (n, m) in enumerate(pairwise(self.rounds)):
            near = chain.steps[m].adjacent if n != m else chain.steps[m].adjacent_rounds
            self.order[k + 1] = f"&:(= ?p{k + 1} (+ ?p{k} 1))" if near else f"&:(> ?p{k + 1} ?p{k})"
        for one in chain.across:
            plain = one.comparison()
            if plain is None or any(chain.steps[s].most != 1 for s in (plain[0], plain[3])):
                raise Skip("a condition across steps must compare two attributes of single events")
            places = [self.rounds.index(plain[s]) for s in (0, 3)]
            self.tests.append(comparison_of(self.value(places[0], plain[1]), plain[2], self.value(places[1], plain[4])))
        last = len(self.rounds) - 1
        if (window := chain.window) is not None:
            if window.kind == "attribute":
                raise Skip("a window must be of time or of events")
            name, width = ("t", window.width) if window.kind == "time" else ("p", window.width - 1)
            self.tests.append(f"(<= (- ?{name}{last} ?{name}0) {width})")
        if (key := chain.key) is not None:
            for k in range(last):
                self.tests.append(comparison_of(self.value(k, key), "=", self.value(k + 1, key)))
            if not last:
                self.tests.append(f"(neq {self.value(0, key)} nil)")
        self.absences = []
        for a in chain.absences:
            after = f"?p{max(k for k, n in enumerate(self.rounds) if n == a.after)}" if a.after >= 0 else "-1"
            until = max(k for k, n in enumerate(self.rounds) if n == a.until)
            outer, self.read = self.read, {}
            tests = [self.condition(tree, "q") for tree in a.conditions]
            slots = "".join(f" ({name} {variable})" for (_, name), variable in self.read.items())
            self.read = outer
            self.absences.append(
                f"(not (and (ev (p ?pq) (kind {constant_of(a.type)}){slots}) "
                f"(test (and (> ?pq {after}) (<= ?pq ?p{until}) {' '.join(tests)}))))"
            )

    def value(self, k: int | str, name: str) -> str:
        """Return the variable of an attribute of a pattern."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Skip(f"{name} cannot be the name of a slot")
        return self.read.setdefault((k, f"x-{name}"), f"?v{k}-{name}")

    def condition(self, tree: dict[str, Any], k: int | str) -> str:
        """Return a condition on the event of a pattern."""
        match tree["node"]:
            case "Anything":
                return "TRUE"
            case "Comparison":
                return comparison_of(self.term(tree["left"], k), tree["comparator"], self.term(tree["right"], k))
            case "OneOf":
                values = (comparison_of(self.term(tree["term"], k), "=", constant_of(v)) for v in tree["values"])
                return f"(or FALSE FALSE {' '.join(values)})"
            case "InRange":
                term, low, high = self.term(tree["term"], k), constant_of(tree["low"]), constant_of(tree["high"])
                return f"(and {comparison_of(term, '>=', low)} {comparison_of(term, '<=', high)})"
            case "Both" | "Either" as node:
                word = "and" if node == "Both" else "or"
                return f"({word} {self.condition(tree['left'], k)} {self.condition(tree['right'], k)})"
            case "Not":
                return f"(not {self.condition(tree['operand'], k)})"
            case other:
                raise Skip(f"conditions with {other} are not translated")

    def term(self, tree: dict[str, Any], k: int | str) -> str:
        if tree["node"] == "Attribute":
            return self.value(k, tree["name"])
        if tree["node"] == "Constant":
            return constant_of(tree["value"])
        raise Skip(f"terms with {tree['node']} are not translated")

    def text(self) -> str:
        """Return the rule."""
        lines = []
        for k, n in enumerate(self.rounds):
            slots = "".join(f" ({name} {v})" for (of, name), v in self.read.items() if of == k)
            lines.append(
                f"(ev (p ?p{k}{self.order[k]}) (t ?t{k}) (kind {constant_of(self.chain.steps[n].type)}){slots})"
            )
        positions = " ".join(f"?p{k}" for k in range(len(self.rounds)))
        tests = f"(test (and TRUE TRUE {' '.join(self.tests)}))"
        return f"(defrule chain {' '.join(lines)} {tests} {' '.join(self.absences)} => (found {positions}))"


def fact_of(event: dict[str, Any], place: int, time: float, slots: set[str]) -> str:
    """Return the fact of an event."""
    values = "".join(
        f" (x-{name} {constant_of(value)})"
        for name, value in event.items()
        if f"x-{name}" in slots and value is not None
    )
    return f"(ev (p {place}) (t {time}) (kind {constant_of(event['type'])}){values})"


def search(run: RunMessage, chain: Chain) -> list[Found]:
    """Return the matches that the rule fires for, each reported at its last event."""
    import clips

    rule = ChainRule(chain)
    text = rule.text()
    run.translate(text)
    times = run.seconds() if chain.window and chain.window.kind == "time" else range(len(run.events))
    names = {name for event in run.values for name in event if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)}
    slots = {name for _, name in rule.read} | {f"x-{name}" for name in names}
    environment, found = clips.Environment(), []
    environment.define_function(lambda *places: found.append(places), name="found")
    environment.build(f"(deftemplate ev (slot p) (slot t) (slot kind){''.join(f' (slot {s})' for s in sorted(slots))})")
    environment.build(HOLDS)
    environment.build(text)
    answers = []
    for place, event in enumerate(run.values):
        environment.assert_string(fact_of(event, place, times[place], slots))
        environment.run()
        for places in found:
            rest = iter(places)
            answers.append((place, [[next(rest) for _ in range(step.least)] for step in chain.steps]))
        found.clear()
    return answers


if __name__ == "__main__":
    serve("clips", version_of("clipspy"), {"cel": on_chains(search)}, {"cel": CLAIMS})

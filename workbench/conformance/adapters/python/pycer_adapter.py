"""Puts pycer under test: CORE, the engine of CEL's authors, as a package. Queries become CEQL.

    python pycer_adapter.py

A query is `SELECT … FROM S WHERE … PARTITION BY … WITHIN …`. Types, variables and attributes get names of their own
(T0, V0, a0), as CEQL has reserved words. The first attribute of an event is its position; it identifies the event in
the text of an answer, which has no variables. Queries are written as in CORE's own adapter
(adapters/cpp/core/ceql.hpp).
"""

import os
import re
import tempfile
import time
from typing import Any

from cerify.adapter import Json, RunMessage, Skip, nodes_of, serve, version_of

MANUAL = "https://github.com/CORE-cer/CORE/blob/main/src/core_server/internal/parsing/ceql_query/CEQLQueryParser.g4"
STRATEGIES = {"Strict": "STRICT ", "Next": "NEXT ", "Last": "LAST ", "Max": "MAX "}
SYMBOLS = {"Seq": ";", "ContiguousSeq": ":", "Or": "OR", "Plus": "+", "ContiguousPlus": ":+"}
UNITS = {"second": ("SECONDS", 1), "minute": ("MINUTES", 1), "hour": ("HOURS", 1), "day": ("HOURS", 24)}
CEQL_TYPES = {int: "int", float: "double", str: "string"}
SECOND = 1_000_000_000
MOST_ROUNDS = 12
CLAIMS = {
    "operators": ["seq", "cseq", "or", "plus", "cplus", "repeat", "crepeat", "in", "project", "filter", "within",
                  "partition", "strict", "nxt", "last", "max"],
    "predicates": ["comparison", "range", "not", "and", "or", "arithmetic"],
    "output": ["matches"],
    "ordered_time": True,
}  # fmt: skip


def skip(why: str) -> Skip:
    """Return a Skip with this reason and a link to CEQL's grammar."""
    return Skip(why, MANUAL)


class DeclaredQuery:
    """A query in CEQL with the declaration of its stream; raises Skip for what CEQL cannot express."""

    def __init__(self, run: RunMessage) -> None:
        self.run, self.tree = run, run.tree or {}
        mentioned = [node["attribute"] for node in nodes_of(self.tree) if node["node"] in ("PartitionBy", "AttributeWindow")]
        mentioned += [node["name"] for node in nodes_of(self.tree) if node["node"] == "Attribute"]
        if "time" in mentioned:
            raise skip("a query cannot use the time as an attribute")
        self.attributes = sorted(set(mentioned))
        queried = {node["type"] for node in nodes_of(self.tree) if node["node"] == "Event"}
        self.types = sorted(queried | {event["type"] for event in run.events})
        self.kinds = {(t, a): kind for t in self.types for a in self.attributes if (kind := self.kind_of(t, a))}
        self.windows: list[Json] = []
        self.keys: list[str] = []
        self.text = self.query_text()

    def kind_of(self, type_: str, attribute: str) -> str | None:
        """Return the type of an attribute in CEQL; None if no event of the type has it."""
        cells = [event.get(attribute) for event in self.run.events if event["type"] == type_]
        if not cells:
            declared = ((self.run.message.get("schema") or {}).get(type_) or {}).get(attribute)
            if declared not in ("int", "float", "string", None):
                raise skip("attributes must be numbers or strings")
            return {"int": "int", "float": "double", "string": "string", None: None}[declared]
        kinds = {type(cell) for cell in cells}
        if kinds == {type(None)}:
            return None
        if kinds == {int, float}:
            return "double"
        if len(kinds) != 1 or not kinds <= set(CEQL_TYPES):
            raise skip("all events of a type must have the attribute, as numbers or as strings")
        return CEQL_TYPES[kinds.pop()]

    def declaration(self) -> str:
        """Return the declaration of the stream."""
        events = [
            f"EVENT T{n} {{ p:int{''.join(f', a{m}:{self.kinds[t, a]}' for m, a in enumerate(self.attributes) if (t, a) in self.kinds)} }}"
            for n, t in enumerate(self.types)
        ]
        return f"CREATE STREAM S {{ {', '.join(events)} }}"

    def query_text(self) -> str:
        """Return the text of the query."""
        tree, chosen, strategy = self.tree, "*", ""
        if tree["node"] == "Project":
            bound = self.labels(tree["phi"])
            chosen = ", ".join(self.name(v) for v in tree["variables"] if v in bound)
            if not chosen:
                raise skip("the query selects no variable")
            tree = tree["phi"]
        if tree["node"] in STRATEGIES:
            strategy, tree = STRATEGIES[tree["node"]], tree["phi"]
        where = self.outer(tree, not strategy)
        keys = " PARTITION BY " + ", ".join(f"[{self.attribute(key)}]" for key in self.keys) if self.keys else ""
        return f"SELECT {strategy}{chosen} FROM S WHERE {where}{keys}{self.window_text()}"

    def labels(self, tree: Json) -> dict[str, set[str]]:
        """Return, for each variable that a formula binds, the types of the events that it can bind."""
        if tree["node"] == "Event":
            return {tree["type"]: {tree["type"]}}
        found: dict[str, set[str]] = {}
        for part in ("phi", "left", "right"):
            for variable, types in self.labels(tree[part]).items() if part in tree else ():
                found.setdefault(variable, set()).update(types)
        if tree["node"] == "In":
            found.setdefault(tree["variable"], set()).update(*found.values())
        return found

    def name(self, variable: str) -> str:
        """Return a variable in CEQL."""
        if variable in self.types:
            return f"T{self.types.index(variable)}"
        return f"V{sorted(set(self.labels(self.tree)) - set(self.types)).index(variable)}"

    def attribute(self, name: str) -> str:
        """Return an attribute in CEQL."""
        if not any((t, name) in self.kinds for t in self.types):
            raise skip(f"no event has the attribute {name}")
        return f"a{self.attributes.index(name)}"

    def outer(self, tree: Json, windows: bool) -> str:
        """Return a formula as text, without the windows and PARTITION BY around it, which belong to the whole query in
        CEQL.

        They may also be inside filters and IN. windows: whether to take them off.
        """
        if windows and tree["node"] == "Within":
            self.windows.append(tree["window"])
            return self.outer(tree["phi"], windows)
        if windows and tree["node"] == "PartitionBy":
            self.keys.append(tree["attribute"])
            return self.outer(tree["phi"], windows)
        if tree["node"] == "Filter":
            return self.filtered(tree, self.outer(tree["phi"], windows))
        if tree["node"] == "In":
            return self.bound(tree, self.outer(tree["phi"], windows))
        return self.formula(tree)

    def formula(self, tree: Json) -> str:
        """Return a formula in parentheses."""
        match tree["node"]:
            case "Event":
                return self.name(tree["type"])
            case "Seq" | "ContiguousSeq" | "Or" as node:
                return f"({self.formula(tree['left'])} {SYMBOLS[node]} {self.formula(tree['right'])})"
            case "Plus" | "ContiguousPlus" as node:
                return f"({self.formula(tree['phi'])} {SYMBOLS[node]})"
            case "Repeat" | "ContiguousRepeat" as node:
                return self.repeated(tree, *((";", "+") if node == "Repeat" else (":", ":+")))
            case "In":
                return self.bound(tree, self.formula(tree["phi"]))
            case "Filter":
                return self.filtered(tree, self.formula(tree["phi"]))
            case other:
                raise skip(f"{other} is not translated inside a formula")

    def bound(self, tree: Json, phi: str) -> str:
        """Return a formula with its events bound to a variable."""
        if tree["variable"] in self.types:
            raise skip("AS cannot bind the name of an event type")
        return f"({phi} AS {self.name(tree['variable'])})"

    def repeated(self, tree: Json, symbol: str, plus: str) -> str:
        """Return a repetition written out: from 2 to 3 rounds as (f ; f) OR (f ; f ; f), at least 2 rounds as f ;
        f+.
        """
        least, most = tree["least"], tree["most"]
        if least < 1 or (most or least) > MOST_ROUNDS:
            raise skip(f"repetitions of more than {MOST_ROUNDS} rounds are not translated")
        phi, between = self.formula(tree["phi"]), f" {symbol} "
        rounds = [[phi] * n for n in range(least, (most or least) + 1)]
        if most is None:
            rounds[0][-1] = f"({phi} {plus})"
        return f"({' OR '.join(f'({between.join(one)})' for one in rounds)})"

    def filtered(self, tree: Json, phi: str) -> str:
        """Return a formula with a filter; without it if every match satisfies it."""
        condition = self.condition(tree["condition"], self.labels(tree["phi"]))
        return phi if condition is None else f"({phi} FILTER {condition})"

    def condition(self, tree: Json, bound: dict[str, set[str]]) -> str | None:
        """Return the condition of a filter; None if a variable without events makes it true."""
        if tree["node"] in ("Conjunction", "Disjunction"):
            left, right = self.condition(tree["left"], bound), self.condition(tree["right"], bound)
            if left and right:
                return f"({left} {'AND' if tree['node'] == 'Conjunction' else 'OR'} {right})"
            return None if tree["node"] == "Disjunction" else left or right
        if tree["node"] != "Every":
            raise skip("a filter must test one event")
        types = bound.get(tree["variable"])
        if types is None:
            return None
        return f"{self.name(tree['variable'])}[{self.truth(tree['predicate'], types)}]"

    def truth(self, tree: Json, types: set[str]) -> str:
        """Return a predicate on events of these types, as text."""
        match tree["node"]:
            case "Both" | "Either" as node:
                word = "AND" if node == "Both" else "OR"
                return f"({self.truth(tree['left'], types)} {word} {self.truth(tree['right'], types)})"
            case "Complement":
                return f"(NOT {self.truth(tree['predicate'], types)})"
            case "Comparison" if self.kind(tree["left"], types) == self.kind(tree["right"], types):
                if self.kind(tree["left"], types) == "string" and tree["comparator"] not in ("=", "!="):
                    raise skip("strings can only be compared with = and !=")
                if tree["left"]["node"] == "Constant":
                    raise skip("the left side of a comparison must be an attribute")
                return f"({self.term(tree['left'])} {tree['comparator']} {self.term(tree['right'])})"
            case "InRange" if self.kind(tree["term"], types) == "number":
                whole = not any(self.kinds.get((t, n["name"])) == "double" for t in types for n in nodes_of(tree["term"]) if "name" in n)
                if whole and not isinstance(tree["low"], int) or whole and not isinstance(tree["high"], int):
                    raise skip("a range of integers needs integers as bounds")
                low, high = (self.constant(tree[end] if whole else float(tree[end])) for end in ("low", "high"))
                return f"({self.term(tree['term'])} IN RANGE ({low}, {high}))"
            case other:
                raise skip(f"{other} is not translated for these values")

    def kind(self, tree: Json, types: set[str]) -> str:
        """Return the kind of a term: number or string."""
        if tree["node"] == "Constant":
            return "string" if isinstance(tree["value"], str) else "number"
        kinds = set()
        for node in nodes_of(tree):
            if node["node"] == "Attribute":
                kinds |= {self.kinds.get((type_, node["name"])) for type_ in types}
            elif node["node"] == "Constant" and tree["node"] == "Arithmetic" and isinstance(node["value"], int) and "double" in self.kinds.values():
                raise skip("arithmetic cannot mix integers and floats")
        if len(kinds) != 1 or None in kinds:
            raise skip("all events of a variable in a condition must have its attributes, with values of one kind")
        return "string" if kinds == {"string"} else "number"

    def term(self, tree: Json) -> str:
        """Return the text of a term."""
        if tree["node"] == "Attribute":
            return self.attribute(tree["name"])
        if tree["node"] == "Constant":
            return self.constant(tree["value"])
        if tree["operator"] == "/":
            raise skip("CEQL truncates quotients of integers, so divisions are not translated")
        return f"({self.term(tree['left'])} {tree['operator']} {self.term(tree['right'])})"

    def constant(self, value: Any) -> str:
        """Return the text of a constant. Raises Skip for other constants than nonnegative numbers and plain strings."""
        if isinstance(value, str) and "'" not in value:
            return f"'{value}'"
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0 or "e" in repr(value):
            raise skip("constants must be strings without apostrophes, or nonnegative numbers without exponents")
        return repr(value)

    def window_text(self) -> str:
        """Return the text of the window. A window of n EVENTS in CEQL spans n + 1 positions."""
        if len(self.windows) > 1:
            raise skip("a query can have only one window")
        for window in self.windows:
            if window["node"] == "EventWindow":
                return f" WITHIN {window['count'] - 1} EVENTS"
            if window["node"] == "TimeWindow" and isinstance(window["amount"], int):
                word, factor = UNITS[window["unit"]]
                return f" WITHIN {factor * window['amount']} {word}"
            raise skip("a window must be of events or of whole units of time")
        return ""

    def times(self) -> list[int]:
        """Return the time of each event in nanoseconds; its position if no window is on time."""
        if not any(window["node"] == "TimeWindow" for window in self.windows):
            return list(range(len(self.run.events)))
        seconds = self.run.seconds()
        if any(time < 0 or time != int(time) or time * SECOND >= 2**63 for time in seconds):
            raise skip("times must be whole seconds, not negative, and as nanoseconds below 2**63")
        return [int(time) * SECOND for time in seconds]


def server_of_process() -> Any:
    """Return a new server on its fixed port. If another process has the port, wait up to ten seconds."""
    import pycer

    for left in range(100, -1, -1):
        try:
            return pycer.PyOfflineServer()
        except RuntimeError:
            if not left:
                raise
            time.sleep(0.1)


def matches(run: RunMessage) -> list[Json]:
    """Return the complex events that CORE reports, from the text of its answers."""
    import pycer

    if run.tree is None:
        raise Skip("the query does not parse")
    query = DeclaredQuery(run)
    run.translate(query.text)
    counted = any(window["node"] == "TimeWindow" for window in query.windows) or bool(query.keys)
    if counted and any(node["node"] == "Project" for node in nodes_of(run.tree)):
        raise skip("the answer does not show at which event a match ends: it has times, and positions within a key")
    values = {"int": pycer.PyIntValue, "double": lambda v: pycer.PyDoubleValue(float(v)), "string": pycer.PyStringValue}
    server = server_of_process()
    stream = server.declare_stream(query.declaration())
    server.add_query(query.text)
    ids = [one.id for one in stream.events_info]
    sent = []
    for position, (event, time) in enumerate(zip(run.events, query.times(), strict=True)):
        of = event["type"]
        cells = [values[query.kinds[of, a]](event[a]) for a in query.attributes if (of, a) in query.kinds]
        number = ids[query.types.index(of)]
        sent.append(pycer.PyEvent(number, [pycer.PyIntValue(position), *cells], pycer.PyIntValue(time)))
    with run.timed():
        for one in sent:
            server.send_event(one)
        output = server.get_output()
    found = []
    for line in output.splitlines():
        told = re.match(r"\[(\d+),(\d+)\], \(", line)
        if told is None:
            raise Skip(f"refused: {line[:200]}")
        events = sorted({int(place) for place in re.findall(r"\(id: \d+ attributes: \[(\d+) ", line)})
        found.append({"at": max(events) if counted else int(told[2]), "events": events})
    return found


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())  # the engine writes a log to the current folder
    serve("pycer", version_of("pycer"), {"cel": matches}, {"cel": CLAIMS})

"""Puts Varpulis under test: SASE+ as patterns of its engine, which a program in Rust runs.

    python varpulis_adapter.py PROGRAM

PROGRAM is built from adapters/rust/varpulis; it gets a pattern with events on a line, and answers with the matches. The
engine may report a match only at a later event. So the stream ends with an event that no query names; its matches are
reported at the last real event.
"""

import json
import subprocess
import sys
import time
from typing import Any

from cerify.adapter import FLIPPED, AdapterProblem, Json, RunMessage, Skip, serve

LINK = "https://docs.varpulis-cep.com"
STRATEGIES = {"skip_till_any_match": "any", "skip_till_next_match": "next", "strict_contiguity": "strict", None: "next"}
UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400, "weeks": 604800}
END = "cerify_end"
CLAIMS = {
    "operators": ["kleene", "within", "equivalence", "correlated", "next", "any", "strict"],
    "predicates": ["comparison", "correlated"],
    "output": ["matches"],
    "ordered_time": True,
}


def pattern_of(tree: Json) -> Json:
    """Return the pattern of a query. Raises Skip for what the engine's patterns cannot express."""
    if tree["node"] != "Query" or tree["having"] is not None or tree["source"] is not None:
        raise Skip("only one query over the stream itself, without HAVING, is translated", LINK)
    if not isinstance(tree["pattern"], list) or any(part["node"] != "Component" for part in tree["pattern"]):
        raise Skip("only a sequence of components is translated", LINK)
    components = tree["pattern"]
    if any(part["negated"] for part in components):
        raise Skip("in Varpulis a pattern with NOT never matches, so such patterns are not tried", LINK)
    steps = {
        part["variable"]: {"type": part["type"], "alias": part["variable"], "plus": part["kleene"],
                           "conditions": [], "references": []}
        for part in components
    }  # fmt: skip
    pattern: Json = {"steps": list(steps.values()), "strategy": "next", "partition": None, "within": None}
    if len(tree["where"]) > 1:
        raise Skip("only one strategy for the whole pattern is translated", LINK)
    for block in tree["where"]:
        if block["strategy"] not in STRATEGIES or any(one.get("cut") for one in block["arguments"]):
            raise Skip("only skip till any, skip till next and strict contiguity are translated", LINK)
        pattern["strategy"] = STRATEGIES[block["strategy"]]
        for conjunct in block["conjuncts"]:
            if conjunct["underlined"]:
                raise Skip("underlined conditions, which define partitions, are not translated", LINK)
            add_condition(conjunct["condition"], steps, pattern)
    if (window := tree["within"]) is not None:
        if not isinstance(window["amount"], int):
            raise Skip("only windows of whole seconds are translated", LINK)
        pattern["within"] = window["amount"] * UNITS[window["unit"]]
    return pattern


def add_condition(tree: Json, steps: dict[str, Json], pattern: Json) -> None:
    """Add a conjunct to the step whose event completes it."""
    if tree["node"] == "Equivalence" and pattern["partition"] is None:
        pattern["partition"] = tree["attribute"]
        return
    if tree["node"] != "Comparison":
        raise Skip(f"a condition must be a comparison, not {tree['node']}", LINK)
    left, comparator, right = tree["left"], tree["comparator"], tree["right"]
    if left["node"] == "Constant":
        left, comparator, right = right, FLIPPED[comparator], left
    if left["node"] != "Reference":
        raise Skip("only comparisons of an attribute with a constant or another attribute are translated", LINK)
    if right["node"] == "Constant" and not isinstance(right["value"], dict):
        if left["place"] not in ("only", "current"):
            raise Skip("a condition on a Kleene plus must be on its current event", LINK)
        steps[left["variable"]]["conditions"].append([left["name"], comparator, right["value"]])
        return
    if right["node"] != "Reference" or {left["place"], right["place"]} != {"only"}:
        raise Skip("only comparisons of two single events are translated", LINK)
    order = list(steps)
    if order.index(left["variable"]) < order.index(right["variable"]):
        left, comparator, right = right, FLIPPED[comparator], left
    if left["variable"] == right["variable"]:
        raise Skip("a comparison must be of two different events", LINK)
    reference = [left["name"], comparator, right["variable"], right["name"]]
    steps[left["variable"]]["references"].append(reference)


class Varpulis:
    """The program in Rust, which answers each line with a line."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def matches(self, run: RunMessage) -> list[Json]:
        """Return the matches of a query. Raises Skip, AdapterProblem."""
        if run.tree is None:
            raise Skip("the query does not parse")
        pattern = pattern_of(run.tree)
        run.translate(json.dumps(pattern))
        timed = pattern["within"] is not None
        times = run.seconds() if timed else range(len(run.events))
        if any(at != int(at) for at in times):
            raise Skip("times must be whole seconds")
        if any(isinstance(v, str) and n == "time" for event in run.events for n, v in event.items()):
            raise Skip("times must be numbers")
        events: list[Any] = [
            [event["type"], int(at), {n: v for n, v in event.items() if n not in ("type", "time")}]
            for event, at in zip(run.events, times, strict=True)
        ]
        events.append([END, events[-1][1] if events else 0, {}])
        before = self.processor_time()
        answer = self.ask({**pattern, "events": events})
        if (spent := self.processor_time() - before) > 0:
            run.cpu.update(thread=spent, process=spent)
        last = len(run.events) - 1
        found = []
        for at, taken in answer:
            bindings: dict[str, list[int]] = {}
            for alias, place in taken:
                bindings.setdefault(alias, []).append(place)
            places = sorted(place for _, place in taken)
            found.append({"at": places[-1] if places else min(at, last), "events": places, "bindings": bindings})
        return found

    def processor_time(self) -> float:
        """Return the processor time of the single-threaded program in seconds; 0 if the system does not measure it."""
        return time.clock_gettime(~self.process.pid << 3 | 2) if sys.platform == "linux" else 0.0

    def ask(self, question: Json) -> Any:
        """Return the answer to a line. Exits if the program has ended. Raises AdapterProblem if it is not JSON."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(70)  # the engine has ended the program: the harness restarts both
        try:
            return json.loads(line)
        except ValueError:
            raise AdapterProblem(f"no answer: {line[:200]}") from None


if __name__ == "__main__":
    serve("varpulis", "0.11.0", {"sase": Varpulis(sys.argv[1]).matches}, {"sase": CLAIMS})

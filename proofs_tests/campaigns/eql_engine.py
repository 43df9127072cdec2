"""The definition of EQL against our evaluators, or against the engine for Python: random rules on random logs.

    python -m proofs_tests.campaigns.eql_engine --cases 200000          # definition, slot machine, compiled loop
    python -m proofs_tests.campaigns.eql_engine PYTHON --cases 20000    # definition and the engine's adapter

PYTHON is the interpreter of an environment with the package `eql`, which is under the AGPL and never a dependency. It
is asked what its documentation says that it does; what it is known to do otherwise is left out, see `is_known`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import click

from cerify.automata.eql.kernel import matches_by_columns
from cerify.automata.eql.machine import SlotMachine
from cerify.equivalence.generate.eql import PROFILES, random_case
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event
from cerify.semantics.json_events import json_of_event
from cerify.semantics.readings import ELASTIC, ENDGAME
from cerify.semantics.trees import subtrees

ADAPTER = Path(__file__).parent.parent.parent / "workbench" / "conformance" / "adapters" / "python" / "eql_adapter.py"


class Engine:
    """The adapter as a process, which answers one message after the other."""

    def __init__(self, python: str) -> None:
        library = Path(find_spec("cerify.adapter").origin).parent.parent  # type: ignore[union-attr, arg-type]
        self._process = subprocess.Popen(
            [python, str(ADAPTER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(library)},
        )  # fmt: skip
        self.version: str = self._ask({"cmd": "start", "protocol": 1})["engine"]["version"]

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def matches(self, query: eql.EqlQuery, log: list[Event]) -> list[tuple[int, ...]] | str:
        """The events of the matches, or why there is no answer."""
        events = [json_of_event(e) for e in log]
        run = {"cmd": "run", "id": "1", "language": "eql", "query": eql.show(query), "events": events}
        answer = self._ask({**run, "output": "matches"})
        return [tuple(m["events"]) for m in answer["matches"]] if "matches" in answer else json.dumps(answer)


def is_known(query: eql.EqlQuery) -> bool:
    """Whether the engine is known to mean something else by a part of the query: see docs/guide/eql.md."""
    for part in eql.filters_of(query):
        for node in subtrees(part.condition):
            match node:
                case eql.ValueLookup("regex" | "regex~"):
                    return True
                case eql.ValueLookup(_, _, values) if any(isinstance(v, str) and "?" in v for v in values):
                    return True
                case eql.FunctionCall("stringContains"):
                    return True
                case eql.AnyConditions(parts) if any(isinstance(p, eql.ValueLookup) for p in parts):
                    if any(isinstance(p, eql.NegatedCondition) or _is_unequal(p) for p in parts):
                        return True
    return False


def _is_unequal(condition: eql.Condition) -> bool:
    return isinstance(condition, eql.FieldComparison) and condition.comparator == "!="


def compare_evaluators(cases: int, seed: int) -> None:
    """Compare the matches of the definition with those of the slot machine and of the compiled loop."""
    compiled = with_matches = 0
    for n in range(seed, seed + cases):
        rng = Random(n)
        query, S = random_case(rng, rng.choice(list(PROFILES.values())), 8, 14)
        reading = rng.choice((ELASTIC, ENDGAME))
        answers = {"definition": matches_of(query, S, reading), "machine": SlotMachine(query, reading).evaluate(S)}
        with suppress(Unsupported):
            answers["compiled"] = matches_by_columns(query, S, reading)
        if any(answer != answers["definition"] for answer in answers.values()):
            print(f"seed {n}: {eql.show(query)}, {reading}\n  {answers}")
            for event in S:
                print(f"  {event}")
            sys.exit(1)
        compiled += "compiled" in answers
        with_matches += bool(answers["definition"])
    print(f"{cases} cases agree, {compiled} of them compiled too, {with_matches} with matches")


@click.command()
@click.argument("python", required=False)
@click.option("--cases", default=4_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(python: str | None, cases: int, seed: int) -> None:
    """Compare random cases. Arrays, which the engine does not compare, are cut to their first value for it."""
    if python is None:
        compare_evaluators(cases, seed)
        return
    engine = Engine(python)
    asked = with_matches = 0
    for n in range(seed, seed + cases):
        rng = Random(n)
        query, S = random_case(rng, PROFILES["sequences" if n % 2 else "plain"], 8, 12)
        if is_known(query):
            continue
        log = [Event(e.type, {name: v for name, v in e.attributes.items() if "[" not in name}) for e in S]
        expected = [match.events for match in matches_of(query, log, ENDGAME)]
        found = engine.matches(query, log)
        if found != expected:
            print(f"seed {n}: {eql.show(query)}\n  engine: {found}\n  definition: {expected}")
            for event in log:
                print(f"  {event}")
            sys.exit(1)
        asked += 1
        with_matches += bool(expected)
    print(f"eql {engine.version}: {asked} cases agree, {with_matches} of them with matches")


if __name__ == "__main__":
    main()

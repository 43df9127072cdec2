"""Make the conformance suite of Sigma: random rules and logs that find wrong meanings, each as short as it can be.

    python -m proofs_tests.tools.sigma_suite

A wrong meaning is a value of an axis (cerify.hypotheses.sigma) or a rule that differs in one place. For each, and each
type of correlation on which it bears, the suite has cases on which it raises other alerts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from cerify.equivalence.sigma import SigmaProfile, mutants_of, random_case
from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.sigma import AXES, find_matches
from cerify.languages.language import Options
from cerify.languages.sigma import matches_of
from cerify.protocol import json_of_match
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.json_events import json_of_event
from cerify.semantics.sigma.syntax import KINDS, SigmaCorrelation, SigmaQuery

EACH = {"value_sum": 1, "value_avg": 1, "value_percentile": 1, "chained": 1}  # cases for a wrong meaning; 2 for others
SEEDS = 6_000
PATH = Path(__file__).resolve().parents[2] / "workbench/conformance/suite/named/sigma.jsonl"


def alerts(query: SigmaQuery, log: Sequence[Event]) -> list[Match]:
    """Return the alerts by the definition."""
    return sorted(matches_of(query, Stream(log), Options("valuations")))


def wrong_meanings(query: SigmaQuery) -> Iterator[tuple[str, Any]]:
    """Yield each wrong meaning of rules, with the function from a log to its alerts."""
    for axis in AXES.values():
        for value in axis.values[1:]:
            choices = choices_of({axis.name: value}, AXES)
            yield (
                f"{axis.name}={value}",
                lambda log, c=choices: find_matches(query, Stream(log), c, "valuations", Budget()),
            )
    for words, other in mutants_of(query):
        yield words.partition(": ")[2].partition(" ")[0], lambda log, q=other: alerts(q, log)


def smallest(query: SigmaQuery, log: list[Event], wrong: Any) -> list[Event]:
    """Return the log without the events that are not needed to tell a wrong meaning apart."""
    i = 0
    while i < len(log):
        fewer = log[:i] + log[i + 1 :]
        if fewer and wrong(fewer) != alerts(query, fewer):
            log, i = fewer, 0
        else:
            i += 1
    return log


def cases() -> Iterator[dict[str, Any]]:
    """Yield the cases of the suite."""
    seen: Counter[tuple[str, str]] = Counter()
    known: set[str] = set()
    for seed in range(SEEDS):
        kind = KINDS[seed % len(KINDS)]
        chained = seed % 10 == 9
        profile = SigmaProfile((kind,), nested=chained, aliases=seed % 8 == 0, several=seed % 16 > 0)
        query, S = random_case(Random(seed), profile, 3, 9)
        (outer,) = (rule for rule in query.rules if rule.name == "outer")
        assert isinstance(outer, SigmaCorrelation)
        feature = "chained" if any(isinstance(rule, SigmaCorrelation) for rule in outer.rules) else kind
        right = alerts(query, S)
        for words, wrong in wrong_meanings(query):
            if seen[feature, words] >= EACH.get(feature, 2) or wrong(S) == right:
                continue
            log = smallest(query, list(S), wrong)
            events = [json_of_event(event) for event in log]
            key = json.dumps([query.text, events])
            if key in known:
                continue
            known.add(key)
            seen[feature, words] += 1
            yield {
                "id": f"sigma/{feature}/{len(known)}",
                "feature": feature,
                "clause": f"Sigma correlations 2.1, {feature}; finds {words}",
                "language": "sigma",
                "query": query.text,
                "events": events,
                "output": "valuations",
                "matches": [json_of_match(match) for match in alerts(query, log)],
            }
            break  # the next rules are others


def main() -> None:
    """Write the suite."""
    lines = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases()]
    PATH.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} cases, {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

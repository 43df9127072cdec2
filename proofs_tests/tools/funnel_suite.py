"""Make the conformance suite of funnels: random questions and streams that find wrong meanings, as short as can be.

    python -m proofs_tests.tools.funnel_suite

A wrong meaning is another mode for the one that is asked for, a value of an axis (cerify.hypotheses.funnel), or a
question that differs in one clause. For each, and each kind of question, the suite has cases with another answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from cerify.equivalence.generate.funnels import PROFILES, random_case
from cerify.hypotheses.funnel import AXES, find_matches
from cerify.hypotheses.interpretation import choices_of
from cerify.languages import LANGUAGES
from cerify.protocol import json_of_match
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.funnel_queries import KeyedQuestion, SequenceQuestion, answer_by_key
from cerify.semantics.funnel_steps import FunnelQuestion, parse_window
from cerify.semantics.funnels import FUNNEL_MODES
from cerify.semantics.json_events import json_of_event
from cerify.semantics.sequence_patterns import parse_sequence_pattern

EACH = 2  # cases for a wrong meaning of a kind of question
SEEDS = 12_000
PATH = Path(__file__).resolve().parents[2] / "workbench/conformance/suite/named/funnel.jsonl"
FUNNEL = LANGUAGES["funnel"]


def wrong_meanings(query: KeyedQuestion) -> Iterator[tuple[str, Any]]:
    """Yield each wrong meaning of a question, with the function from a stream to its answer."""
    for axis in AXES.values():
        for value in axis.values[1:]:
            choices = choices_of({axis.name: value}, AXES)
            yield f"{axis.name}={value}", lambda S, c=choices: find_matches(query, S, c, "valuations", Budget())
    for words, other in _mistakes(query):
        yield words, lambda S, q=other: answer_by_key(q, S)


def _mistakes(query: KeyedQuestion) -> Iterator[tuple[str, KeyedQuestion]]:
    if query.by is not None:
        yield "without BY", replace(query, by=None)
    for i in range(len(query.steps) * (len(query.steps) > 1) * isinstance(query, FunnelQuestion)):
        yield "without a step", replace(query, steps=query.steps[:i] + query.steps[i + 1 :])
    for i, step in enumerate(query.steps):
        if step.predicate is not None:
            bare = replace(step, predicate=None)
            yield "without a condition", replace(query, steps=(*query.steps[:i], bare, *query.steps[i + 1 :]))
    if isinstance(query, SequenceQuestion):
        for one, other in (("<=", "<"), (">=", ">"), ("==", "<="), (".*", "."), ("<", "<="), (">", ">=")):
            changed = query.pattern.replace(one, other, 1)
            if changed != query.pattern and "==" not in changed.replace("(?t==", ""):
                try:
                    parse_sequence_pattern(changed)
                except Exception:  # a pattern that is none
                    continue
                yield f"{one} as {other}", replace(query, pattern=changed)
        return
    if query.mode is not None:
        yield from ((f"mode={mode}", replace(query, mode=mode)) for mode in FUNNEL_MODES if mode != query.mode)
    if query.window is not None and query.window.text.endswith("seconds"):
        width = int(query.window.text.split()[0])
        if width:
            yield "an open window", replace(query, window=parse_window(f"{width - 1} seconds"))
        yield "a wider window", replace(query, window=parse_window(f"{width + 1} seconds"))
    if query.between is not None:
        yield "without BETWEEN", replace(query, between=None)
    if query.start != "best":
        yield "START best", replace(query, start="best")
    if query.order == "strict":
        yield "ORDER time", replace(query, order="time")


def _kind(query: KeyedQuestion) -> str:
    if isinstance(query, SequenceQuestion):
        return "sequence"
    return query.mode or "funnel"


def _smallest(query: KeyedQuestion, log: list[Event], wrong: Any) -> list[Event]:
    """Return the log without the events that are not needed to tell a wrong meaning apart."""
    i = 0
    while i < len(log):
        fewer = Stream(log[:i] + log[i + 1 :])
        if len(fewer) and _answer(wrong(fewer)) != _answer(answer_by_key(query, fewer)):
            log, i = list(fewer), 0
        else:
            i += 1
    return log


def _answer(found: Any) -> frozenset[Match]:
    return frozenset(replace(match, events=()) for match in found)


def cases() -> Iterator[dict[str, Any]]:
    """Yield the cases of the suite."""
    seen: Counter[tuple[str, str]] = Counter()
    known: set[str] = set()
    for seed in range(SEEDS):
        name = ("funnels", "chains", "modes", "modes", "sequences", "sequences")[seed % 6]
        query, S = random_case(Random(seed), PROFILES[name], 3, 8)
        kind = _kind(query)
        right = _answer(answer_by_key(query, S))
        for words, wrong in wrong_meanings(query):
            if seen[kind, words] >= EACH or _answer(wrong(S)) == right:
                continue
            log = Stream(_smallest(query, list(S), wrong))
            text, events = FUNNEL.syntax.show(query), [json_of_event(event) for event in log]
            key = json.dumps([text, events])
            if key in known:
                continue
            known.add(key)
            seen[kind, words] += 1
            yield {
                "id": f"funnel/{kind}/{len(known)}",
                "feature": kind,
                "clause": f"{kind}; finds {words}",
                "language": "funnel",
                "query": text,
                "events": events,
                "output": "valuations",
                "matches": [json_of_match(match) for match in sorted(answer_by_key(query, log))],
            }
            break  # the next question is another


def main() -> None:
    """Write the suite."""
    lines = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases()]
    PATH.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} cases, {PATH.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

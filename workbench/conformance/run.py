"""A conformance run: every case is run, the failures are grouped by feature, and some of each group are shrunk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from cerify.conformance.harness import Engine
from cerify.conformance.model import FAILURES, Case, Divergence, Report, Result
from cerify.conformance.process import Limits
from cerify.conformance.second_opinion import second_opinion
from cerify.conformance.shrinking import shrink_case
from cerify.conformance.words import shown
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema, schema_of_json, stream_of_json

SHRUNK_PER_FEATURE = 5  # failures of a feature that are shrunk, the smallest first
TRIES = 400  # questions to the engine for each
SLOW_TRIES = 30  # the same where each question costs the time limit or a restart
CANDIDATES = 4_000  # queries and streams looked at for each, most of which are no query, or ill typed, or not smaller
SHRINK_BUDGET = Budget(valuations=200_000)

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""


def conform(
    argv: Sequence[str],
    cases: Sequence[Case],
    suite: str = "built-in",
    limits: Limits = Limits(),
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Put the engine that the command starts under test, with the cases in the languages that it speaks.

    Raises InputError if it does not start.
    """
    started = time.perf_counter()
    results = []
    with Engine(argv, limits) as engine:
        asked = [case for case in cases if case.language in engine.info.languages]
        for done, case in enumerate(asked):
            progress("running", done, len(asked))
            results.append(engine.run(case))
        progress("running", len(asked), len(asked))
        info, restarts = engine.info, engine.restarts
    results = [
        replace(r, outcome="protocol", matches=None, detail=engine.twice[r.case.id]) if r.case.id in engine.twice else r
        for r in results
    ]
    results = [reconsidered(result) for result in results]
    disputed = [result for result in results if result.outcome == "disputed"]
    divergences = list(shrunk(argv, results, limits, restarts, progress, disputed))
    seconds = time.perf_counter() - started
    unasked = Counter(case.language for case in cases if case.language not in info.languages)
    return Report(info.name, info.version, suite, results, divergences, restarts, seconds, unasked, disputed)


def reconsidered(result: Result) -> Result:
    """The result of a case of a suite, disputed if its matches are not those of the definition, or of the plain one."""
    if result.outcome != "failed":
        return result
    case = result.case
    language = LANGUAGES[case.language]
    phi, S = language.parse(case.query), stream_of(case)
    try:
        by_definition = list(language.matches(phi, S, DENOTATIONAL, Options(case.output, SHRINK_BUDGET)))
    except (Unsupported, BudgetExceeded):
        return result
    if set(by_definition) != set(case.matches):
        return disputed_by(result, "the definition", by_definition)
    return judged_again(result, phi, S)


def judged_again(result: Result, phi: Any, S: Stream) -> Result:
    """The result of a case whose matches are those of the definition, disputed if the plain definition gives others."""
    case = result.case
    if result.outcome == "failed" and (second := second_opinion(case.language, phi, S, case.output)) is not None:
        return result if second == set(case.matches) else disputed_by(result, "the plain definition", second)
    return result


def disputed_by(result: Result, by: str, second: Collection[Match]) -> Result:
    """The result as a disputed one: the second matches contradict the expected ones."""
    expected = shown(result.case.matches) or "nothing"
    detail = f"cerify contradicts itself: it expects {expected}, and {by} gives {shown(sorted(second)) or 'nothing'}"
    return replace(result, outcome="disputed", detail=detail, second=sorted(second))


def stream_of(case: Case) -> Stream:
    """The events of a case, with its schema."""
    return stream_of_json(case.events, None if case.schema is None else schema_of_json(case.schema), case.id)


def shrunk(
    argv: Sequence[str],
    results: Sequence[Result],
    limits: Limits,
    restarts: int,
    progress: Progress,
    disputed: list[Result],
) -> Iterator[Divergence]:
    """The divergences behind the failures, one for each small case, in the order of features.

    restarts: how many there were when the results were found; those of the search are added to them. Disputed cases
    that the search meets are appended to disputed.
    """
    chosen = list(representatives(results))
    found: dict[tuple[str, str], Divergence] = {}
    if not chosen:
        return
    with Engine(argv, limits, restarts) as engine:
        for done, result in enumerate(chosen):
            progress("shrinking", done, len(chosen))
            small = smallest(engine, result, disputed)
            key = (small.result.case.query, repr(small.result.case.events))
            known = found.get(key)
            found[key] = replace(known, cases=(*known.cases, *small.cases)) if known else small
    progress("shrinking", len(chosen), len(chosen))
    yield from found.values()


def representatives(results: Sequence[Result]) -> Iterator[Result]:
    """The failures to shrink: of each feature the smallest, and each kind of outcome at least once."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome in FAILURES and result.outcome != "not_run":
            groups.setdefault(result.case.feature, []).append(result)
    for group in groups.values():
        group.sort(key=lambda r: (len(r.case.query), len(r.case.events), r.case.id))
        first_of_kind = {r.outcome: r for r in reversed(group)}
        chosen = {r.case.id: r for r in (*first_of_kind.values(), *group[:SHRUNK_PER_FEATURE])}
        yield from chosen.values()


def smallest(engine: Engine, result: Result, disputed: list[Result]) -> Divergence:
    """The smallest case found on which the engine fails in the same way; disputed cases are appended to disputed.

    A search that has used up its questions, or the restarts of the engine, returns what it has found with the reason.
    """
    case, best = result.case, result
    S = stream_of(case)
    asked, most = 0, TRIES if result.outcome in ("failed", "error") else SLOW_TRIES
    stopped = ""

    def fails(query: str, S: Stream) -> bool:
        nonlocal asked, best, stopped
        if stopped:
            return False
        other = as_case(query, S, case)
        if asked >= most:
            stopped = f"the search for a smaller case stopped after {most} questions"
            return False
        asked += 1
        small = judged_again(engine.run(other), LANGUAGES[case.language].parse(query), S)
        if small.outcome == "disputed":
            disputed.append(small)
        if small.outcome == "not_run":
            stopped = small.detail
        if failure_signature(small) != failure_signature(result):
            return False
        best = small
        return True

    shrink_case(LANGUAGES[case.language], case.query, S, fails, CANDIDATES)
    return Divergence(case.feature, best, (case.id,), stopped)


def failure_signature(result: Result) -> tuple[str, str]:
    """The way in which a case fails: its outcome, and of an error its code."""
    return result.outcome, result.detail.split(":")[0] if result.outcome == "error" else ""


def as_case(query: str, S: Stream, origin: Case) -> Case:
    """A query and a stream as a case with the matches of the denotational semantics.

    Raises ParseError, IllFormed, Unsupported, BudgetExceeded.
    """
    language = LANGUAGES[origin.language]
    phi = language.parse(query)
    if S.schema is not None:
        language.require_typed(phi, S.schema)
    return replace(
        origin,
        query=query,
        schema=None if S.schema is None else json_of_schema(S.schema),
        events=[json_of_event(event) for event in S],
        matches=list(language.matches(phi, S, DENOTATIONAL, Options(origin.output, SHRINK_BUDGET))),
    )

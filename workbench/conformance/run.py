"""A conformance run: every case is run, and the failures are explained by as few defects as found."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from cerify.conformance.claims import unknown_names
from cerify.conformance.defects import defects_behind
from cerify.conformance.harness import Engine
from cerify.conformance.losses import Losses
from cerify.conformance.model import FAILURES, Case, Defect, Report, Result, of_output
from cerify.conformance.oracle import Oracle, stream_of
from cerify.conformance.peeling import INTERRUPTED, Peeler
from cerify.conformance.process import Limits
from cerify.conformance.second_opinion import second_opinion
from cerify.conformance.words import shown
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

ASKED_AGAIN = 3  # times that the cases of a defect are, to see whether the answers stay the same

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""


def conform(
    argv: Sequence[str],
    cases: Sequence[Case],
    suite: str = "built-in",
    limits: Limits = Limits(),
    progress: Progress = lambda what, done, total: None,
    oracle: Oracle = Oracle(),
) -> Report:
    """Put the engine that the command starts under test, with the cases in the languages that it speaks.

    A KeyboardInterrupt ends the run early; what was found until then is in the report. Raises InputError if the engine
    does not start.
    """
    started = time.perf_counter()
    with Engine(argv, limits, losses=Losses(skips=True)) as engine:
        asked = [case for case in cases if case.language in engine.info.languages]
        results, ended = run_all(engine, asked, oracle, progress)
        info = engine.info
    results = [
        replace(r, outcome="protocol", matches=None, detail=engine.twice[r.case.id]) if r.case.id in engine.twice else r
        for r in results
    ]
    results = [reconsidered(result, oracle) for result in results]
    peeler = Peeler(_nothing_asked, oracle, stopped=ended)
    failures = [r for r in results if r.outcome in FAILURES and r.outcome != "not_run"]
    defects, restarts = [], engine.restarts
    if failures and not ended:
        # what is shrunk has to be asked, or a query that the engine answers well is shown
        losses = replace(engine.losses, skips=False)
        with Engine(argv, limits, restarts, losses) as again:
            peeler.ask = lambda case, query, S: judged_again(again.run(case), query, S, oracle)
            try:
                defects = defects_behind(peeler, failures, results, progress)
            except KeyboardInterrupt:  # between two questions: once more, with the answers there are and no question
                peeler.stopped = INTERRUPTED
                defects = defects_behind(peeler, failures, results, progress)
            with suppress(KeyboardInterrupt):
                defects = [unsteady(defect, again.run) for defect in defects]
            restarts = again.restarts
    return Report(
        engine=info.name,
        version=info.version,
        suite=suite,
        results=results,
        defects=defects,
        restarts=restarts,
        seconds=time.perf_counter() - started,
        unasked=Counter(case.language for case in cases if case.language not in info.languages),
        disputed=[*(result for result in results if result.outcome == "disputed"), *peeler.disputed],
        ended=ended or (INTERRUPTED if peeler.stopped == INTERRUPTED else ""),
        held_to=oracle.held_to,
        command=tuple(argv),
        warnings=tuple(unknown_names(info.claims)),
    )


def unsteady(defect: Defect, run: Callable[[Case], Result]) -> Defect:
    """The defect, described as one of an engine that changes its answers if it does when it is asked again."""
    for before in (defect.original, defect.result):
        for _ in range(ASKED_AGAIN if before.outcome == "failed" else 0):
            now = run(before.case)
            if now.matches is not None and set(now.matches) != set(before.matches or ()):
                answers = " and ".join(shown(one.matches or ()) or "nothing" for one in (before, now))
                text = f"the engine gives different answers to the same question, here {answers}: {before.case.query}"
                return replace(defect, description=text, causes=())
    return defect


def _nothing_asked(case: Case, query: Any, S: Stream) -> Result:
    return Result(case, "not_run", detail="no engine is asked")


def run_all(engine: Engine, cases: Sequence[Case], oracle: Oracle, progress: Progress) -> tuple[list[Result], str]:
    """The result of each case, and why the run ended early; "" if it did not."""
    results: list[Result] = []
    ended = ""
    try:
        for done, (case, then) in enumerate(zip_longest(cases, cases[1:])):
            progress("running", done, len(cases))
            results.append(engine.run(oracle.expecting(case), then))
        progress("running", len(cases), len(cases))
    except KeyboardInterrupt:
        ended = f"interrupted after {len(results):,} of {len(cases):,} cases"
        results += [Result(case, "not_run", detail=ended) for case in cases[len(results) :]]
    return results, ended


def reconsidered(result: Result, oracle: Oracle = Oracle()) -> Result:
    """The result of a case of a suite, disputed if its matches are not those of the definition, or of the plain one."""
    if result.outcome != "failed" or oracle.concerns(result.case.language):
        return result
    case = result.case
    language = LANGUAGES[case.language]
    phi, S = language.parse(case.query), stream_of(case)
    try:
        found = language.matches(phi, S, DENOTATIONAL, Options(case.output, oracle.budget))
        by_definition = of_output(found, case.language, case.output)
    except (Unsupported, BudgetExceeded):
        return result
    if set(by_definition) != set(case.matches):
        return disputed_by(result, "the definition", by_definition)
    return judged_again(result, phi, S, oracle)


def judged_again(result: Result, phi: Any, S: Stream, oracle: Oracle = Oracle()) -> Result:
    """The result of a case whose matches are those of the definition, disputed if the plain definition gives others.

    The plain definition is that of the semantics, so that an engine which is held to other choices is not judged again.
    """
    case = result.case
    if result.outcome != "failed" or oracle.concerns(result.case.language):
        return result
    if (second := second_opinion(case.language, phi, S, case.output)) is None:
        return result
    if second != set(case.matches):
        return disputed_by(result, "the plain definition", second)
    return replace(result, second=sorted(second))


def disputed_by(result: Result, by: str, second: Collection[Match]) -> Result:
    """The result as a disputed one: the second matches contradict the expected ones."""
    expected = shown(result.case.matches) or "nothing"
    detail = f"cerify contradicts itself: it expects {expected}, and {by} gives {shown(sorted(second)) or 'nothing'}"
    return replace(result, outcome="disputed", detail=detail, second=sorted(second))

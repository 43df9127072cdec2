"""Run every case of a conformance suite, and explain the failures by as few defects as can be found.

A failed case may also be a mistake of cerify. Before it counts, it is judged again by the reference evaluator and by
the plain definition, which has no shortcuts; if they disagree, the case is disputed. The search for causes has a limit
of time, and starts the engine anew. Whatever fails or is interrupted there, the verdicts are reported.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from typing import Any

from cerify.conformance.cases import unknown_names
from cerify.conformance.defects import ERROR_PARTS, defects_behind
from cerify.conformance.harness import Engine, Limits, Losses
from cerify.conformance.model import (
    FAILURES,
    Case,
    CaseResult,
    Defect,
    FailureKind,
    Report,
    evaluated_output,
    format_matches,
    of_output,
)
from cerify.conformance.oracle import CLAUSES, Oracle, second_opinion, stream_of
from cerify.conformance.peeling import INTERRUPTED, Peeler, Watch, operations_of
from cerify.conformance.rule_causes import defects_of_rules
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Language, Options
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import TIME, Event, Match, Stream
from cerify.semantics.values import Value

DIAGNOSIS_SECONDS = 300.0
EXPECTED_SECONDS = 2.0  # to compute the expected matches of a smaller case; if it takes longer, the case is skipped
JUDGING = 0.5  # largest share of the diagnosis time for judging failing cases again
ALIKE = 10  # least number of answers, all with the same error, for a report of this error alone
KEPT = 2  # restarts that are kept for questions about causes, and not used to shrink unanswered queries
ASKED_AGAIN = 3  # times that the cases of a defect are run again, to check that the answers stay the same

STEERED = frozenset({"sigma"})
"""Rule languages whose causes are searched rule by rule, with further logs (`logs_to_ask`)."""

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""


Announce = Callable[[FailureKind, Sequence[str], CaseResult], None]
"""Called with the kind of a failure, the operators that it depends on, and a case that fails in this way."""


def announce_nothing(kind: FailureKind, operators: Sequence[str], result: CaseResult) -> None:
    """Report nothing."""


def no_progress(step: str, done: int, total: int) -> None:
    """Report nothing."""


def conform(
    argv: Sequence[str],
    cases: Sequence[Case],
    suite: str = "built-in",
    limits: Limits = Limits(),
    progress: Progress = no_progress,
    oracle: Oracle = Oracle(),
    diagnosis_seconds: float = DIAGNOSIS_SECONDS,
    announce: Announce = announce_nothing,
    by_rule: bool = False,
) -> Report:
    """Test the engine that a command starts, with the cases in the languages that it speaks; return a report.

      >>> import sys, cerify
      >>> from cerify.conformance.cases import load
      >>> engine = [sys.executable, "-m", "cerify.cli", "engine"]
      >>> report = cerify.conform(engine, load(None)[:3])
      >>> [result.outcome for result in report.results]
      ['passed', 'passed', 'passed']

    argv: the command and its arguments. It speaks the protocol of cerify.protocol on its standard input and output.
    cases: as `cerify.conformance.cases.load` returns them; load(None) is the built-in suite. suite: the name of the
    suite, for the report. limits: the engine's time for its start and each answer, its memory, its restarts. progress:
    called with the name of a step, how much of it is done, and how much there is. diagnosis_seconds: the time for
    judging failing cases again and for searching smaller cases and causes. oracle: computes the expected answers, by
    the reference evaluator or by choices of a policy or a reading. announce: called for each kind of failure as soon as
    it is found, with the kind, the operators that it depends on, and a case that may not be the smallest. by_rule:
    whether the cases are test logs of rules. If so, causes are searched rule by rule, with further logs, whose results
    are in the report too.

    A failure is shrunk, and failures with one cause are one defect of the report. A KeyboardInterrupt ends the run
    early; the report has the findings so far. If the search for causes fails, the report has the results and the error.
    Raises InputError if the engine does not start.
    """
    started = time.perf_counter()
    with Engine(argv, limits, losses=Losses(skips=True)) as engine:
        # The others are only counted (`unasked`), so that an engine for one language has no thousands of skipped cases.
        asked = [case for case in cases if case.language in engine.info.languages]
        results, ended = run_all(engine, asked, oracle, progress)
        info = engine.info
        if ended:
            engine.close()  # at once: to send a stop message may take seconds
    results = [
        replace(r, outcome="protocol", matches=None, detail=engine.twice[r.case.id]) if r.case.id in engine.twice else r
        for r in results
    ]
    # Started only now: the time of the run itself depends on the engine.
    watch, unjudged = Watch(diagnosis_seconds), list[str]()
    if not ended:
        results, unjudged, ended = judge_all_again(results, oracle, watch)
    shrinking = replace(oracle, budget=replace(oracle.budget, seconds=EXPECTED_SECONDS))
    peeler = Peeler(_nothing_asked, shrinking, stopped=ended, watch=watch, announce=announce)
    failures = [r for r in results if r.outcome in FAILURES and r.outcome != "not_run"]
    defects, restarts = list[Defect](), engine.restarts
    failure: Exception | None = None
    if (only := same_error(results)) is not None:
        defects = [only]
    elif failures and not ended:
        try:
            # shrinking must run each smaller case, because the engine may answer it correctly
            with Engine(argv, limits, restarts, replace(engine.losses, skips=False)) as again:

                def ask(case: Case, query: Any, S: Stream) -> CaseResult:
                    if (why_not := again.why_not(case, min(KEPT, limits.restarts // 2))) is not None:
                        return CaseResult(case, "skipped", detail=why_not)
                    return judged_again(again.run(case), query, S, oracle)

                peeler.ask = ask
                if by_rule and all(result.case.language in STEERED for result in results):
                    defects, more = defects_of_rules(peeler, results, progress)
                    results = [*results, *more]
                else:
                    defects = _diagnosed(again, peeler, failures, results, progress)
                restarts = again.restarts
        except KeyboardInterrupt as interrupt:
            peeler.stop(interrupt)
        except Exception as error:  # whatever fails in the search for causes, the verdicts are reported
            failure = error
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
        unjudged=tuple(unjudged),
        failure=failure,
    )


def _diagnosed(
    engine: Engine, peeler: Peeler, failures: Sequence[CaseResult], results: Sequence[CaseResult], progress: Progress
) -> list[Defect]:
    """Return the defects behind failures. After an interrupt return the defects found so far, and end the engine."""
    try:
        defects = defects_behind(peeler, failures, results, progress)
    except KeyboardInterrupt as interrupt:  # interrupted between two searches: repeat with the answers so far
        peeler.stop(interrupt)
        defects = defects_behind(peeler, failures, results, progress)
    if peeler.watch.interrupted:
        engine.close()  # at once: to send a stop message may take seconds
        return defects
    with suppress(KeyboardInterrupt):
        return [unsteady(defect, engine.run) for defect in defects]
    return defects


def judge_all_again(
    results: Sequence[CaseResult], oracle: Oracle, watch: Watch
) -> tuple[list[CaseResult], list[str], str]:
    """Judge the failed results again with the reference evaluator, shortest queries and streams first.

    Return the results; the ids of those that were not judged again because the share JUDGING of the time was over; and
    why this ended early, "" if it did not.
    """
    judged: dict[str, CaseResult] = {}
    due = [result for result in results if result.outcome == "failed" and not oracle.concerns(result.case.language)]
    # Short ones first, so that the time is enough for as many as possible.
    due.sort(key=lambda result: (len(result.case.events), len(result.case.query)))
    ended = ""
    try:
        for result in due:
            left = watch.seconds_left(JUDGING)
            if left <= 0:
                break
            timed = oracle if left == math.inf else replace(oracle, budget=replace(oracle.budget, seconds=left))
            again = reconsidered(result, timed)
            if again.second is not None or watch.seconds_left(JUDGING) > 0:
                judged[result.case.id] = again
    except KeyboardInterrupt:
        ended = "interrupted while failing cases were judged again"
    unjudged = [] if ended else [result.case.id for result in due if result.case.id not in judged]
    return [judged.get(result.case.id, result) for result in results], unjudged, ended


def same_error(results: Sequence[CaseResult]) -> Defect | None:
    """Return the single defect of an engine that answers all cases with the same error; None for other engines.

    Errors count as the same if they differ only in numbers, quoted text, or the case's id.
    """
    # Cases without an answer say nothing against one common error.
    asked = [result for result in results if result.outcome not in ("skipped", "not_run")]
    texts = ((r.outcome, r.detail.partition("\n")[0].replace(r.case.id, "")) for r in asked)
    kinds = {(outcome, ERROR_PARTS.sub("", text)) for outcome, text in texts}
    if len(asked) < ALIKE or len(kinds) != 1 or asked[0].outcome not in ("error", "protocol", "crashed"):
        return None
    smallest = min(asked, key=lambda r: (len(r.case.query) + 8 * len(r.case.events), r.case.id))
    return Defect(
        id="d1",
        kind="crash" if smallest.outcome == "crashed" else "error",
        operators=(),
        result=smallest,
        original=smallest,
        cases=tuple(sorted(result.case.id for result in asked)),
        description=f"all {len(asked):,} answers are the same error: {smallest.detail}",
    )


def unsteady(defect: Defect, run: Callable[[Case], CaseResult]) -> Defect:
    """Run a defect's case again; return the defect, marked as unsteady if the engine now gives another answer."""
    for before in (defect.original, defect.result):
        for _ in range(ASKED_AGAIN if before.outcome == "failed" else 0):
            now = run(before.case)
            if now.matches is not None and set(now.matches) != set(before.matches or ()):
                answers = " and ".join(format_matches(one.matches or ()) or "nothing" for one in (before, now))
                text = f"the engine gives different answers to the same question, here {answers}: {before.case.query}"
                return replace(defect, description=text, causes=())
    return defect


def _nothing_asked(case: Case, query: Any, S: Stream) -> CaseResult:
    return CaseResult(case, "not_run", detail="no engine is asked")


def run_all(engine: Engine, cases: Sequence[Case], oracle: Oracle, progress: Progress) -> tuple[list[CaseResult], str]:
    """Return the result of each case, and why the run ended early ("" if it did not)."""
    results: list[CaseResult] = []
    ended = ""
    try:
        for done, (case, then) in enumerate(zip_longest(cases, cases[1:])):
            progress("running", done, len(cases))
            results.append(engine.run(oracle.expecting(case), then))
        progress("running", len(cases), len(cases))
    except KeyboardInterrupt:
        ended = f"interrupted after {len(results):,} of {len(cases):,} cases"
        results += [CaseResult(case, "not_run", detail=ended) for case in cases[len(results) :]]
    return results, ended


def reconsidered(result: CaseResult, oracle: Oracle = Oracle()) -> CaseResult:
    """Judge a failed case again with the reference evaluator and the plain definition (without shortcuts).

    Return the result, marked as disputed if either contradicts the expected matches.
    """
    if result.outcome != "failed" or oracle.concerns(result.case.language):
        return result
    case = result.case
    language = LANGUAGES[case.language]
    phi, S = language.syntax.parse(case.query), stream_of(case)
    try:
        found = language.evaluators.matches(phi, S, DENOTATIONAL, Options(evaluated_output(case.output), oracle.budget))
        by_definition = of_output(found, case.language, case.output)
    except (Unsupported, BudgetExceeded):
        return result
    if set(by_definition) != set(case.matches):
        return disputed_by(result, "the reference evaluator", by_definition)
    return judged_again(result, phi, S, oracle)


def judged_again(result: CaseResult, phi: Any, S: Stream, oracle: Oracle = Oracle()) -> CaseResult:
    """Return the result, marked as disputed if the plain definition contradicts the reference evaluator.

    The plain definition has no shortcuts and no caches. An engine that may have other choices is not judged again,
    because the plain definition supports only the default meaning.
    """
    case = result.case
    if result.outcome != "failed" or oracle.concerns(result.case.language):
        return result
    budget = replace(CLAUSES, seconds=oracle.budget.seconds)
    if (second := second_opinion(case.language, phi, S, evaluated_output(case.output), budget)) is None:
        return result
    if second != set(case.matches):
        return disputed_by(result, "the plain definition", second)
    return replace(result, second=sorted(second))


def disputed_by(result: CaseResult, by: str, second: Collection[Match]) -> CaseResult:
    """Mark a result as disputed, because a second evaluation contradicts the expected matches; return it.

    by: the name of the second evaluation, for the message. second: its matches.
    """
    expected = format_matches(result.case.matches) or "nothing"
    given = format_matches(sorted(second)) or "nothing"
    detail = f"cerify contradicts itself: it expects {expected}, and {by} gives {given}"
    return replace(result, outcome="disputed", detail=detail, second=sorted(second))


# ---------------------------------------------------------------------------------------------------------------------
# One query on all short streams: how often an engine is wrong, and on which shortest one.

MOST = 200_000  # streams
VALUES = 3  # values of each attribute
OTHERS = ("Z", "Other", "Nothing")  # names for a type that the query does not name


@dataclass(frozen=True)
class StreamSearch:
    """The results of an engine on short streams: the number of streams, the wrong answers, and why it ended early.

    disputed: the answers for which the plain definition contradicts the expected matches; these are not the engine's
    fault.
    """

    asked: int
    wrong: Sequence[CaseResult]
    disputed: Sequence[CaseResult]
    skipped: int
    planned: int
    ended: str = ""

    @property
    def shortest(self) -> CaseResult | None:
        """Return the first wrong answer, which is on a shortest stream."""
        return self.wrong[0] if self.wrong else None


def events_of(language: Language[Any], query: Any) -> list[Event]:
    """Return the events for short streams: events of the query's types and of one other type, with some attribute
    values.

    The values are the query's constants, their successors, 0 and 1, but at most VALUES in all.
    """
    operations = operations_of(language)
    if operations is None:
        raise InputError(
            f"cerify cannot tell which event types a query in {language.title} uses; use the suite or `cerify match`"
        )
    types = list(dict.fromkeys(operations.types(query)))
    other = next(name for name in OTHERS if name not in types)
    attributes = sorted(set(operations.attributes(query)) - {TIME})
    values = _values(operations.constants(query))
    return [
        Event(R, dict(zip(attributes, chosen, strict=True)))
        for R in [*types, other]
        for chosen in product(values, repeat=len(attributes))
    ]


def _values(constants: Sequence[Value]) -> list[Value]:
    found: dict[Value, None] = {}
    # The constant itself tells > from >=, and its successor satisfies both. 0 and 1 are for a query that compares
    # attributes only with each other.
    for value in constants:
        found[value] = None
        if isinstance(value, int | float) and type(value) is not bool:
            found[value + 1] = None
    for simple in (0, 1):
        found[simple] = None
    return list(found)[:VALUES]


def all_streams(events: Sequence[Event], longest: int, timed: bool) -> Iterator[Stream]:
    """Yield all streams of at most this number of events, the shortest first. timed: the event at position i is at
    second i.
    """
    for length in range(1, longest + 1):
        for chosen in product(events, repeat=length):
            times = [{TIME: i} if timed else {} for i in range(length)]
            yield Stream([Event(e.type, {**e.attributes, **at}) for e, at in zip(chosen, times, strict=True)])


def search(
    engine: Engine,
    language: Language[Any],
    text: str,
    longest: int,
    output: Any,
    progress: Any = lambda d, t: None,
    oracle: Oracle = Oracle(),
) -> StreamSearch:
    """Run an engine on a query and all streams of at most `longest` events. Raises ParseError, InputError."""
    query = language.syntax.parse(text)
    letters = events_of(language, query)
    planned = sum(len(letters) ** length for length in range(1, longest + 1))
    if planned > MOST:
        raise InputError(
            f"there are {planned:,} streams of at most {longest} events, but "
            f"at most {MOST:,} are tried; give a smaller number of events"
        )
    wrong: list[CaseResult] = []
    disputed: list[CaseResult] = []
    asked = skipped = 0
    ended = ""
    try:
        for S in all_streams(letters, longest, "WITHIN" in text.upper()):
            progress(asked, planned)
            origin = Case(f"all/{asked}", "fuzz", "", language.name, text, None, (), output, ())
            result = judged_again(engine.run(oracle.case(query, S, origin)), query, S, oracle)
            asked += 1
            skipped += result.outcome == "skipped"
            if result.outcome == "not_run":
                ended = result.detail
                break
            if result.outcome == "disputed":
                disputed.append(result)
            elif result.outcome in FAILURES:
                wrong.append(result)
    except KeyboardInterrupt:
        ended = "interrupted"
    return StreamSearch(asked, wrong, disputed, skipped, planned, ended)

"""The data of a conformance run: cases, their results, and the defects found.

Runs make these objects, and reports show them. The second half says in words how an answer is wrong. All reports take
their sentences from there, so that text, HTML and JUnit agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias, assert_never

from cerify.automata.evaluator import Consumption
from cerify.equivalence import differential
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, Unsupported
from cerify.semantics.events import Match

Json = dict[str, Any]

Outcome = Literal[
    "passed", "failed", "skipped", "error", "crashed", "timeout", "memory", "protocol", "not_run", "disputed"
]
"""The outcome of a case.

passed    the engine's matches are the expected ones
failed    it gave other matches
skipped   it does not claim the feature
error     it answered with an error
crashed   its process ended before it answered
timeout   it did not answer within the time limit
memory    it was stopped because it exceeded the memory cap
protocol  its output is not a valid answer of the protocol
not_run   it was not run: no restarts are left, or the engine has answered no query with one of its operators
disputed  its matches are not the expected ones, but cerify contradicts itself about what these are
"""

FailureKind: TypeAlias = differential.DifferenceKind | Literal["error", "timeout", "crash", "memory"]
"""What is wrong with an answer: how it differs from the expected one, or why there is none."""

NONE_FOUND = "no cause found"
"""The beginning of the description of a defect for which no cause was found."""

PERHAPS = "perhaps"
"""The beginning of the description of a defect with a likely cause that some answers contradict."""

ASKED = "run to distinguish possible causes"
"""The clause of cases outside the suite, which are run to find a cause."""

FAILURES: frozenset[Outcome] = frozenset({"failed", "error", "crashed", "timeout", "memory", "protocol", "not_run"})
"""The outcomes that count as failures of the engine: all but passed, skipped and disputed."""


AnswerOutput: TypeAlias = Literal["matches", "valuations", "positions", "groups"]
"""The output that an engine is asked for; see `of_output`."""


@lru_cache(maxsize=10_000)
def query_of(language: str, text: str) -> Any:
    """Return the syntax tree of a query, cached because a run needs most trees several times. Raises CerifyError."""
    return LANGUAGES[language].syntax.parse(text)


@dataclass(frozen=True)
class Case:
    """One query over one stream, and the matches by the denotational semantics.

    Query, schema, events and matches are in the form of the engine protocol. feature: the operator under test ("seq",
    "plus", ...). clause: the place in the paper that defines it. consumption: which events a match removes for later
    matches; in a built-in suite, matches remove no events.
    """

    id: str
    feature: str
    clause: str
    language: str
    query: str
    schema: Json | None
    events: Sequence[Json]
    output: AnswerOutput
    matches: Sequence[Match]
    consumption: Consumption = Consumption.NONE


def of_output(found: Iterable[Match], language: str, output: str) -> list[Match]:
    """Sort the matches. If the language has results, first reduce each match to the part that `output` names.

    "matches": its position and the positions of its events. "positions": its position alone. "groups": its result
    alone; the position is then 0.
    """
    if LANGUAGES[language].results:
        match output:
            case "matches":
                found = {Match(m.at, tuple(sorted(m.events))) for m in found}
            case "positions":
                found = {Match(m.at, ()) for m in found}
            case "groups":
                found = {Match(0, (), None, m.result) for m in found}
    return sorted(found)


def evaluated_output(output: str) -> Literal["matches", "valuations"]:
    """Return the output to request from an evaluator: `of_output` can make the output `output` from its matches."""
    return "matches" if output == "matches" else "valuations"


def kinds_compared(language: str, query: str, schema: Json | None) -> set[str]:
    """Return the types, such as int, of the attributes that a query reads, by the schema.

    The set is empty without a schema, or if the language cannot list the attributes of a query.
    """
    names = set[str]()
    with suppress(Unsupported):
        if (operations := LANGUAGES[language].operations()) is not None:
            names.update(operations.attributes(operations.parse(query)))
    return {kind for columns in (schema or {}).values() for name, kind in columns.items() if name in names}


@dataclass(frozen=True)
class CaseResult:
    """The result of a case: the engine's matches, or else a sentence that says why there are none.

    second: the matches by the plain definition (without shortcuts), if they were computed. For a disputed case they
    contradict the expected matches; for a failed case they equal them. stderr: for a case that did not pass, the
    beginning and the end of the engine's standard error. translation: the query in the engine's own terms, if its
    answer gives it.
    """

    case: Case
    outcome: Outcome
    matches: Sequence[Match] | None = None
    detail: str = ""
    seconds: float = 0.0
    second: Sequence[Match] | None = None
    stderr: str = ""
    translation: str = ""


@dataclass(frozen=True)
class DefectCause:
    """A choice that explains `explains` of `of` wrong answers, by its axis (aspect of meaning) and value.

    alike: other choices, each as "axis=value", that give the same answers to all questions. apart: a query and a stream
    that distinguish the choice from the first of these, but that the engine does not claim to support; "" if none is
    known. now, then: the number of wrong answers without the choice, and with it; both are 0 if not counted. alone: the
    number of answers that it explains by itself. needed: choices of other defects, each as "axis=value", that are
    needed to explain the other answers.
    """

    axis: str
    value: str
    explains: int
    of: int
    alone: int = 0
    needed: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    apart: str = ""
    now: int = 0
    then: int = 0

    @property
    def helps(self) -> bool:
        """Return whether fewer cases fail if the choice is the expected meaning."""
        return self.then < self.now or self.now == 0


@dataclass(frozen=True)
class Defect:
    """One way in which an engine differs from the semantics.

    kind: what is wrong with its answers. operators: the operators without which the smallest case does not fail.
    result: the engine's result on the smallest case found. original: its result on the case of the suite from which the
    smallest case was found. variants: its results on the smallest cases of other kinds or operators with the same
    cause. cases: the ids of the failing cases that it explains. causes: the likely ones, the best first. description: a
    sentence about a fault that does not depend on the operators, or about a cause that nearly fits. why: an explanation
    of the difference. stopped: why the search for a smaller case or a cause ended early, "" if it did not. held: the
    choices of a policy or a reading by which its cases are judged, by axis; bearing: the axes of these that change the
    expected matches of the smallest case. baseline: whether all its cases fail in the same way in a baseline; ""
    without one.
    """

    id: str
    kind: FailureKind
    operators: tuple[str, ...]
    result: CaseResult
    original: CaseResult
    cases: tuple[str, ...]
    variants: tuple[CaseResult, ...] = ()
    causes: tuple[DefectCause, ...] = ()
    description: str = ""
    why: str = ""
    stopped: str = ""
    held: Mapping[str, str] = field(default_factory=dict)
    bearing: tuple[str, ...] = ()
    baseline: Literal["", "new", "known"] = ""

    @property
    def language(self) -> str:
        """Return the name of the defect's language."""
        return self.result.case.language

    @property
    def is_explained(self) -> bool:
        """Return whether it is known why the engine's answers are wrong.

        It is known if a cause was found, or if the engine reported an error. It is also known if the search for a cause
        came to its end and the answers themselves show the fault: the engine gives no answer, or the description names
        the fault, such as no match for any query. Otherwise the wrong answers may have several causes.
        """
        described = self.description and not self.description.startswith((NONE_FOUND, PERHAPS))
        shown = bool(described) or self.kind in UNANSWERED.values()
        return bool(self.causes) or self.kind == "error" or (shown and not self.stopped)

    @property
    def likeliest(self) -> tuple[str, str] | None:
        """Return the axis and the value of the likeliest cause; None if no cause is known."""
        return (self.causes[0].axis, self.causes[0].value) if self.causes else None


@dataclass(frozen=True)
class Report:
    """The report of a conformance run.

    unasked: by language, the number of cases that the engine does not support; they have no result. disputed: the
    cases, of the suite or found while shrinking, on which cerify contradicts itself. known: the ids of the failing
    cases that fail in the same way in a baseline. ended: why the run ended early, "" if it did not. held_to: the
    choices of a policy or a reading by which answers are judged, as text; "" for the default meaning. command: the
    command that starts the engine. engine_options: the options of `cerify conform` that name the engine; () if a
    command starts it. options: the options of `cerify conform` that select cases and expectations. warnings: sentences
    about errors in the claims. unjudged: the ids of failed cases that were not judged again by the plain definition,
    because time ran out. failure: the error that ended the search for causes, None if it did not fail.
    """

    engine: str
    version: str
    suite: str
    results: Sequence[CaseResult]
    defects: Sequence[Defect]
    restarts: int
    seconds: float
    unasked: Mapping[str, int] = field(default_factory=dict)
    disputed: Sequence[CaseResult] = ()
    known: frozenset[str] = frozenset()
    ended: str = ""
    held_to: str = ""
    command: Sequence[str] = ()
    options: Sequence[str] = ()
    engine_options: Sequence[str] = ()
    warnings: Sequence[str] = ()
    unjudged: Sequence[str] = ()
    failure: Exception | None = None

    @property
    def totals(self) -> Counter[Outcome]:
        """Count the cases of each outcome; the sum is the number of results, skipped cases included."""
        return Counter(result.outcome for result in self.results)

    @property
    def conforms(self) -> bool:
        """Return whether a case passed, no failure is new, nothing is disputed, and the run did not end early."""
        return self.totals["passed"] > 0 and not self.failing - self.known and not self.disputed and not self.ended

    @property
    def failing(self) -> frozenset[str]:
        """Return the ids of the cases that failed through the engine's fault, or could not be run."""
        return frozenset(result.case.id for result in self.results if result.outcome in FAILURES)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Return the ids of failing cases that were run and that no defect explains."""
        explained = {id_ for defect in self.defects for id_ in defect.cases}
        wrong = (r.case.id for r in self.results if r.outcome in FAILURES and r.outcome != "not_run")
        return tuple(id_ for id_ in wrong if id_ not in explained)

    @property
    def claimed(self) -> int:
        """Return the number of cases that the engine did not skip."""
        return len(self.results) - self.totals["skipped"]


# ---------------------------------------------------------------------------------------------------------------------
# How the answer to a case is wrong: the kinds of its difference from the expected one.

UNANSWERED: dict[Outcome, FailureKind] = {
    "error": "error",
    "protocol": "error",
    "timeout": "timeout",
    "crashed": "crash",
    "memory": "memory",
}


def kinds_of(result: CaseResult) -> frozenset[FailureKind]:
    """Return the kinds of difference in a result; none if it passed, was skipped, or is disputed."""
    if result.outcome in UNANSWERED:
        return frozenset({UNANSWERED[result.outcome]})
    if result.outcome != "failed":
        return frozenset()
    found = differential.difference_kinds(result.case.matches, result.matches or ())
    return frozenset[FailureKind](found or ["extra"])


# ---------------------------------------------------------------------------------------------------------------------
# The outcome of a case in words, for every form of the report.

FUZZED_OUTCOMES: Mapping[differential.Outcome, str] = {
    "matched": "agree on some match",
    "empty": "agree that there is none",
    "unsupported": "not supported by the engine",
    "budget": "over a budget",
    "disagreed": "disagree",
    "disputed": "cerify contradicts itself",
}
"""The outcomes of random cases, each in words."""

CONTRADICTION = "cerify contradicts itself: this is a defect of cerify, not of the tested engine; please report it"


def sentence(result: CaseResult) -> str:
    """Return one sentence about what the engine did with a case."""
    match result.outcome:
        case "passed":
            return "the matches are the expected ones"
        case "failed":
            parts = (difference(set(result.case.matches), set(result.matches or ())), result.detail)
            return "; ".join(part for part in parts if part)
        case "skipped":
            return f"skipped: {result.detail}"
        case "error":
            return f"answered with an error: {result.detail}"
        case "crashed" | "timeout" | "memory" | "protocol" | "not_run" | "disputed":
            return result.detail
        case _:
            assert_never(result.outcome)


def second_sentence(result: CaseResult) -> str:
    """Return the sentence that the plain definition confirms the expected matches of a wrong answer.

    Return "" if the answer was not judged a second time, or if the plain definition contradicts the expected matches.
    """
    if result.second is None or result.outcome == "disputed":
        return ""
    return "again by the plain definition, which expects the same"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 defect" or "1,200 cases"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def count_of(names: Sequence[str], most: int) -> str:
    """Return the first `most` names as text, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def closing_sentences(report: Report) -> list[str]:
    """Return sentences on what was left out: cases not run, cases not judged again, and causes after an error."""
    found = []
    if report.unasked:
        counts = " and ".join(f"{count:,} in {language}" for language, count in report.unasked.items())
        found.append(f"Not run, because the engine does not support the language: {counts}.")
    if report.unjudged:
        number = plural(len(report.unjudged), "failed case")
        some = count_of(report.unjudged, 3)
        found.append(f"Not judged again by the plain definition, because time ran out: {number} ({some}).")
    if isinstance(report.failure, CerifyError):
        found.append(f"No causes were searched: {report.failure.message}")
    elif report.failure is not None:
        blame = "this is a defect of cerify, please report it"
        found.append(f"The search for causes failed, but all cases are judged; {blame}: {report.failure!r}.")
    return found


def difference(expected: set[Match], got: set[Match]) -> str:
    """Return the missing and the extra matches, in words."""
    missing, extra = sorted(expected - got), sorted(got - expected)
    places: dict[object, set[int]] = {}
    for m in extra:
        places.setdefault((m.events, m.bindings), set()).add(m.at)
    reported = [(m.at, places.get((m.events, m.bindings), set())) for m in missing]
    parts = []
    if missing:
        parts.append(f"missing {format_matches(missing, beside=extra)}")
    if extra:
        parts.append(f"not expected {format_matches(extra, beside=missing)}")
    if any(others - {at} for at, others in reported):
        parts.append("the same events are reported at another position")
    if any(at in others for at, others in reported):
        parts.append("the same match has another result")
    return "; ".join(parts)


def format_matches(matches: Collection[Match], most: int = 6, beside: Collection[Match] = ()) -> str:
    """Return some matches as text: events, position, bindings and result of each.

    beside: the matches with which they are compared. Match numbers are added if two matches would have the same text.
    """
    others: dict[str, set[Match]] = {}
    for match in beside:
        others.setdefault(shown_match(match), set()).add(match)
    texts = []
    for match in list(matches)[:most]:
        text = shown_match(match)
        numbered = bool(others.get(text, set()) - {match})
        texts.append(f"{text}, {match_number_text(match)}" if numbered else text)
    rest = len(matches) - most
    return ", ".join(texts) + (f" and {rest} more" if rest > 0 else "")


def match_number_text(match: Match) -> str:
    """Return the number of a match in words."""
    number = match.json().get("match_number")
    return "without a match number" if number is None else f"match number {number}"


def shown_match(match: Match) -> str:
    """Return a match as text, such as {0, 2} at 2, with its bindings and its result if it has them.

    A match that consists of a result alone, such as the row of a group, is shown as this result.
    """
    if match.result is not None and match == Match(0, (), None, match.result):
        return match.result.text
    text = f"{{{', '.join(map(str, match.events))}}} at {match.at}"
    if match.bindings is not None:
        bound = ", ".join(f"{A}: {', '.join(map(str, positions))}" for A, positions in match.bindings)
        text = f"{text} ({bound})"
    return text if match.result is None else f"{text} returns {match.result.text}"

"""Engines with several defects at once: each planted one is named once, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest

import cerify
from cerify.conformance.cases import load
from cerify.conformance.defects import defects_behind
from cerify.conformance.model import Case, CaseResult, Defect, Report
from cerify.conformance.oracle import Oracle, stream_of
from cerify.conformance.peeling import Peeler, Watch
from cerify.conformance.prediction import AXES, MatchPredictor, answer
from cerify.conformance.report import defect_text, issue_text, match_command, opening, summary
from cerify.equivalence.differential import difference_kinds
from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.row_pattern import DEPARTURES
from cerify.languages import LANGUAGES
from cerify.protocol import MatchesAnswer
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Or
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream, result_of
from cerify.semantics.readings import Reading
from cerify.semantics.row_pattern.parse import parse as parse_rows
from cerify.semantics.row_pattern.syntax import show, show_pattern
from proofs_tests.support import sampled, stream

# ---- peeling ----
#

HANGS, CRASHES = "hangs", "crashes"

ENGINES: Mapping[str, Mapping[str, str]] = {
    "loops and windows": {"loop": "at-least-two", "window@attribute": "open", "or": "left-first"},
    "sequences": {"seq": "next-from-left", "seq@cseq": "any", "start": "ignored"},
    "strategies": {"selection@max": "ignored", "selection@nxt": "last", "loop": "greedy"},
    "filters": {"filter-loop": "some", "integer-division": "truncating", "partition": "ignored"},
    "absent": {"absent": "error", "partition": "substream"},
    "negation": {"negation": "next", "loop@cplus": "all"},
    "six": {
        "seq": "next-from-right",
        "loop": "at-least-two",
        "selection@last": "ignored",
        "filter-loop": "first",
        "start": "ignored",
        "partition": "ignored",
    },
    "overlap": {"overlap": "to-next", "absent": "error"},
    "one per position": {"emit": "one-per-position", "filter-loop": "some"},
    "contiguity": {"loop": "omit-nothing", "seq": "strict", "negation": "any-between"},
    "hangs": {"seq": "next-from-left", HANGS: "strict"},
    "crashes": {"loop": "at-least-two", "filter-loop": "last", CRASHES: "all"},
}
"""By name: the choices of an engine, and the operator on which it hangs or crashes."""

STEP = 6  # every sixth case of the suites, and all with a division or a partition, of which there are few


@cache
def cases() -> list[Case]:
    known = [case for case in load(None) if case.language == "cel"]
    return [case for i, case in enumerate(known) if i % STEP == 0 or "/" in case.query or case.feature == "partition"]


@cache
def predictor() -> MatchPredictor:
    """The answers of all engines, each computed once."""
    return MatchPredictor("cel")


@cache
def operators_of(query: str) -> Collection[str]:
    """The names of the operators of a query."""
    return LANGUAGES["cel"].syntax.constructs(parse(query))


def recorded(engine: Mapping[str, str], case: Case) -> CaseResult:
    """What the engine answers."""
    operators = operators_of(case.query)
    if engine.get(HANGS) in operators:
        return CaseResult(case, "timeout", detail="no answer within 1 s")
    if engine.get(CRASHES) in operators:
        return CaseResult(case, "crashed", detail="the process ended with status 7")
    chosen = {axis: value for axis, value in engine.items() if axis not in (HANGS, CRASHES)}
    choices, stream_text = choices_of(chosen, AXES["cel"]), repr((case.events, case.schema))
    found = predictor().matches(case.query, stream_of(case), stream_text, choices, case.output)
    if found == "unmodelled":
        return CaseResult(case, "skipped", detail=found)
    if found == "error":
        return CaseResult(case, "error", detail="internal: an absent value")
    return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def defects_of(engine: Mapping[str, str], asked: list[Case]) -> tuple[list[Defect], list[CaseResult]]:
    """The defects found in an engine, and its results."""
    results = [recorded(engine, case) for case in asked]
    failures = [result for result in results if result.outcome not in ("passed", "skipped")]
    peeler = Peeler(lambda case, query, S: recorded(engine, case))
    return defects_behind(peeler, failures, results), results


def named(defects: list[Defect]) -> list[tuple[str, str]]:
    """What each defect is, as its likely cause or the operator that it needs."""
    found = []
    for defect in defects:
        if defect.kind == "timeout":
            found.append((HANGS, *defect.operators))
        elif defect.kind == "crash":
            found.append((CRASHES, *defect.operators))
        else:
            found.append((defect.causes[0].axis, defect.causes[0].value) if defect.causes else ("none", defect.kind))
    return sorted(found)


@pytest.mark.thorough
def test_questions_without_an_answer_leave_time_for_the_others() -> None:
    """They had up to 180 seconds, and then nothing more was asked: no cause was named."""
    engine, late = {HANGS: "plus", "seq": "next-from-left"}, list[str]()

    def ask(case: Case, query: object, S: object) -> CaseResult:
        result = recorded(engine, case)
        late.extend([case.query] if result.outcome == "timeout" else [])
        return replace(result, seconds=10.0 if result.outcome == "timeout" else 0.0)

    results = [recorded(engine, case) for case in cases()]
    failures = [result for result in results if result.outcome not in ("passed", "skipped")]
    found = defects_behind(Peeler(ask, watch=Watch(300.0)), failures, results)
    assert ("seq", "next-from-left") in named(found)
    assert 0 < len(late) <= 7


def is_alike(engine: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two engines have choices in the same axes, and no case distinguishes them."""
    return engine.keys() == other.keys() and all(
        (recorded(engine, case).outcome, recorded(engine, case).matches)
        == (recorded(other, case).outcome, recorded(other, case).matches)
        for case in cases()
    )


@pytest.mark.parametrize("name", sampled(ENGINES, ()))
def test_each_planted_defect_is_named_once_and_nothing_else(name: str) -> None:
    """The engine that has the defects named, each once, gives the answers of this one to all cases."""
    defects, results = defects_of(ENGINES[name], cases())
    found = named(defects)
    assert len(dict(found)) == len(found), found
    assert is_alike(ENGINES[name], dict(found)), (found, [d.result.case.query for d in defects])
    explained = [id_ for defect in defects for id_ in defect.cases]
    assert len(explained) == len(set(explained))
    assert set(explained) == {r.case.id for r in results if r.outcome not in ("passed", "skipped")}


def planted(
    wrong: Callable[[Case, frozenset[Match]], Iterable[Match]], queries: Mapping[str, str | Stream]
) -> list[Defect]:
    """The defects of an engine that gives other matches, found from queries, each with a stream or the types of one."""

    def ask(case: Case, query: object = None, S: Stream | None = None) -> CaseResult:
        found = sorted(set(wrong(case, frozenset(case.matches))))
        return CaseResult(case, "passed" if set(found) == set(case.matches) else "failed", found)

    origin = Case("", "f", "", "cel", "A", None, [], "matches", ())
    asked = [
        replace(Oracle().case(parse(q), stream(S) if isinstance(S, str) else S, origin), id=q)
        for q, S in queries.items()
    ]
    results = [ask(case) for case in asked]
    return defects_behind(Peeler(ask), [result for result in results if result.outcome == "failed"], results)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("the engine refuses the query: ChdbError: Code: 386. DB::Exception", "ChdbError: Code: 43. DB::Exception"),
        ("the engine refuses the query: BinderException", "ConversionException"),
        ("ClickHouse refuses the query: Code: 386", "Code: 43"),
        ("the converter fails: KeyError", "TypeError"),
    ],
)
def test_the_smallest_case_of_an_error_has_the_same_error(first: str, second: str) -> None:
    """A refused comparison of types shrank to an empty log, which the engine refuses by another code."""
    before = first[: first.index(": ") + 2]

    def ask(case: Case, query: object = None, S: Stream | None = None) -> CaseResult:
        text = f"{first}: 'b'" if any(event["type"] == "B" for event in case.events) else f"{before}{second}: no 'b'"
        return CaseResult(case, "error", detail=f"internal: {text}")

    origin = Case("x", "f", "", "cel", "A", None, [], "matches", ())
    result = ask(replace(Oracle().case(parse("A ; B"), stream("A A B"), origin), id="x"))
    (defect,) = defects_behind(Peeler(ask), [result], [result])
    assert (defect.result.detail, len(defect.result.case.events)) == (result.detail, 1)


@pytest.mark.thorough
def test_an_operator_that_another_event_type_makes_superfluous_is_not_blamed() -> None:
    """OR without its right side where the left one has matches: FILTER only makes the sides of A OR A different."""

    def wrong(case: Case, right: frozenset[Match]) -> Iterable[Match]:
        phi = parse(case.query)
        if not isinstance(phi, Or):
            return right
        left = {Match(m.at, tuple(sorted(m.events))) for m in cerify.match(phi.left, stream_of(case))}
        return left or right

    queries = {"A OR B": "A B", "(A FILTER A.x > 0) OR A": "A A", "A OR A+": "A A", "A FILTER A.x > 0": "A A"}
    (defect,) = planted(wrong, {query: stream(S, x=[1, 0]) for query, S in queries.items()})
    assert (defect.operators, defect.result.case.query) == (("or",), "A OR B")
    assert defect.cases == tuple(sorted(query for query in queries if " OR " in query))


@pytest.mark.thorough
def test_the_search_does_not_slip_from_one_defect_to_another() -> None:
    """An engine that loses matches of a + before a ; has another fault beside it, of the other kind."""

    def wrong(case: Case, right: frozenset[Match]) -> Iterable[Match]:
        if "+ ; " not in case.query:
            return right
        more = [Match(0, (0,))] if case.query.endswith("; A") and case.events[:1] == [{"type": "A"}] else []
        return [*(m for m in right if len(m.events) < 3), *more]

    defects = planted(wrong, {"A+ ; B": "A A B", "(A+ ; B) OR C": "A A C B", "A+ ; A": "A A A", "A ; B": "A A B"})
    found = {(d.kind, d.operators, d.result.case.query, len(d.result.case.events)) for d in defects}
    assert found == {("missing", ("plus", "seq"), "A+ ; A", 3), ("extra", ("plus", "seq"), "A+ ; A", 1)}
    assert all(d.original.case.query in ("A+ ; B", "A+ ; A") for d in defects)


@pytest.mark.thorough
def test_a_trivial_defect_hides_no_other() -> None:
    """An engine that reports no single event, and no loop of one round before another event."""

    def wrong(case: Case, right: frozenset[Match]) -> Iterable[Match]:
        lost = {m for m in right if len(m.events) == 1}
        if "+" in case.query and ";" in case.query:
            lost |= {m for m in right if len(m.events) == 2}
        return right - lost

    queries = {"A": "A", "A+": "A A", "A+ ; B": "A A B", "A OR B": "A B", "A ; B": "A B", "B ; A+": "B A"}
    defects = planted(wrong, queries)
    found = {(d.kind, d.result.case.query, tuple(e["type"] for e in d.result.case.events)) for d in defects}
    assert found == {("missing", "A", ("A",)), ("missing", "A ; A+", ("A", "A"))}
    (small,) = (d for d in defects if d.result.case.query == "A ; A+")
    assert set(small.cases) == {"A+ ; B", "B ; A+"}


@pytest.mark.thorough
def test_names_are_canonical_and_the_original_stays_beside() -> None:
    (defect,) = planted(lambda case, right: right - {Match(1, (0, 1))}, {"Flood ; Wind": "Flood Wind"})
    assert defect.result.case.query in ("A ; A", "A ; B")
    assert defect.original.case.query == "Flood ; Wind"
    assert "{0, 1} is a match at 1" in defect.why


def test_of_two_matches_only_what_differs_counts() -> None:
    first = Match(1, (0, 1), (("A", (0, 1)),))
    assert difference_kinds([first], [replace(first, at=2)]) == ["position"]
    assert difference_kinds([first], [replace(first, bindings=(("B", (0, 1)),))]) == ["bindings"]
    assert difference_kinds([first], [replace(first, result=result_of({"x": 1}))]) == ["result"]
    assert difference_kinds([first], [Match(1, (1,), (("A", (1,)),))]) == ["missing", "extra"]
    assert difference_kinds([first], [first, replace(first, at=2)]) == ["extra"]
    assert difference_kinds([first], [first]) == []


WINDOWS = "sase-within"
CLOSED = {"window": "closed"}


def closed(case: Case, *_: object) -> CaseResult:
    """The answer of an engine whose windows of SASE+ are closed."""
    found = answer("sase", case.query, stream_of(case), CLOSED, case.output)
    assert isinstance(found, MatchesAnswer)
    return CaseResult(case, "passed" if set(found.matches) == set(case.matches) else "failed", found.matches)


@pytest.mark.thorough
@pytest.mark.parametrize("step", sampled([3, 18], [18]))
def test_a_reading_is_named_and_is_right_where_it_is_declared(step: int) -> None:
    asked = [case for case in load("sase") if case.feature == WINDOWS][::step]
    results = [closed(case) for case in asked]
    failures = [result for result in results if result.outcome == "failed"]
    assert failures
    defects = defects_behind(Peeler(closed), failures, results)
    assert {(d.causes[0].axis, d.causes[0].value) for d in defects} == {("window", "closed")}
    report = Report("closed", "1", "s", results, defects, 0, 0.0)
    assert any("--reading window=closed" in line for line in defect_text(defects[0], report))
    oracle = Oracle(Reading(window="closed"))
    assert all(closed(oracle.expecting(case)).outcome == "passed" for case in asked)


@pytest.mark.thorough
def test_the_report_of_defects_is_whole() -> None:
    """The JSON fits its schema; a text for a bug tracker has all that is needed to see it again."""
    engine = ENGINES["filters"]
    asked = [case for case in cases() if case.feature in ("filter", "partition")]
    defects, results = defects_of(engine, asked)
    report = Report("mine", "1", "some", results, defects, 0, 0.0, command=("./mine", "--fast"))
    found = json.loads(json.dumps(summary(report)))
    schema = Path(cerify.__file__).parent / "schemas" / "defects.json"
    jsonschema_rs.validate(json.loads(schema.read_text(encoding="utf-8")), found["defects"])
    assert found["unexplained"] == []
    failing = sum(result.outcome == "failed" for result in results)
    assert opening(report) == f"{len(engine)} defects in {failing} failing cases"
    text = issue_text(defects[0], report)
    case = defects[0].result.case
    assert f"`{case.query}`" in text
    assert f"cerify conform --case {defects[0].original.case.id} -- ./mine --fast" in text
    assert match_command(case) in text
    assert "Expected: " in text
    assert "Got: " in text


def test_the_case_of_a_report_is_run_again_by_its_line(tmp_path: Path) -> None:
    case = Case("x", "f", "", "cel", "A ; B WITHIN 2 seconds", None, TIMED, "matches", [Match(1, (0, 1))])
    ran = subprocess.run(
        ["/bin/sh", "-c", match_command(case).replace("cerify match", f"{sys.executable} -m cerify.cli match")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "1 match in 2 events" in ran.stdout


def test_the_line_of_a_case_without_events_runs_too() -> None:
    case = Case("x", "f", "", "cel", "A", {"A": {}}, [], "matches", [])
    ran = subprocess.run(
        ["/bin/sh", "-c", match_command(case).replace("cerify match", f"{sys.executable} -m cerify.cli match")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "no match in 0 events" in ran.stdout


TIMED = [{"type": "A", "time": 0}, {"type": "B", "time": 2}]


# ---- row pattern defects ----
# Engines for MATCH_RECOGNIZE that depart from the definition in one axis: the report names it.

PLANTED = (
    ("alternation", "last", "row-alternation"),
    ("skip", "next-row", "row-skip"),
    ("permute", "reversed", "row-permute"),
    ("exclusion", "shown", "row-exclusion"),
    ("running", "final", "row-running"),
    ("physical", "table", "row-physical"),
    ("unknown", "false", "row-null"),
    ("union", "name", "row-classifier"),
    ("match-number", "goes-on", "row-match-number"),
    ("empty", "dropped", "row-empty"),
    ("reluctant", "greedy", "row-reluctant"),
    ("integer_division", "exact", "row-expression"),
)


@cache
def predictor_row_pattern_defects() -> MatchPredictor:
    """The answers of all engines, each computed once."""
    return MatchPredictor("row-pattern")


def recorded_row_pattern_defects(axis: str, value: str, case: Case) -> CaseResult:
    """What an engine answers that departs in one axis."""
    key = repr((case.events, case.schema))
    try:
        found = predictor_row_pattern_defects().matches(
            case.query, stream_of(case), key, {**predictor_row_pattern_defects().default, axis: value}, case.output
        )
    except CerifyError as error:
        return CaseResult(case, "skipped", detail=error.message)
    if isinstance(found, str):
        return CaseResult(case, "error" if found == "error" else "skipped", detail=found)
    return CaseResult(case, "passed" if found == set(case.matches) else "failed", sorted(found))


def defects(axis: str, value: str, feature: str) -> list[Defect]:
    """The defects found in that engine with some cases of a feature, three of which fail."""
    cases = [case for case in load("row-pattern") if case.feature == feature]
    results = [recorded_row_pattern_defects(axis, value, case) for case in cases]
    failing = [result for result in results if result.outcome in ("failed", "error")][:3]
    return defects_behind(
        Peeler(lambda case, query, S: recorded_row_pattern_defects(axis, value, case)), failing, results
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("axis", "value", "feature"), PLANTED)
def test_a_planted_departure_is_named(axis: str, value: str, feature: str) -> None:
    found = defects(axis, value, feature)
    assert found
    assert (axis, value) in {(cause.axis, cause.value) for cause in found[0].causes}, found[0].causes
    smallest = found[0].result.case
    assert len(smallest.events) <= 4
    assert len(smallest.query) <= 200


@pytest.mark.parametrize(
    ("axis", "value", "pattern"),
    [
        ("bounds", "ignored", "^ A+ {- B -}"),
        ("exclusion", "shown", "^ A{1,2} B"),
        ("anchors", "ignored", "() A{1,2} {- B -}"),
    ],
)
def test_a_departure_is_another_pattern(axis: str, value: str, pattern: str) -> None:
    departure = DEPARTURES[axis][2][value]
    assert departure.clause is not None
    q = departure.clause(parse_rows("MATCH_RECOGNIZE (PATTERN (^ A{1,2} {- B -}))"))
    assert show_pattern(q.pattern) == pattern


@pytest.mark.parametrize("condition", ["x = 1", "x BETWEEN 1 AND 2", "x IN (1)", "s LIKE 'a'"])
def test_each_test_of_null_may_be_false(condition: str) -> None:
    departure = DEPARTURES["unknown"][2]["false"]
    assert departure.clause is not None
    q = departure.clause(parse_rows(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {condition} AND x IS NULL)"))
    assert f"COALESCE({condition}, FALSE)" in show(q)

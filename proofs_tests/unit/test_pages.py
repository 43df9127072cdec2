"""Pages and pictures that a command writes: they are those that it writes today."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cerify.conformance.cases import load
from cerify.conformance.model import CaseResult
from cerify.conformance.report import result_json
from proofs_tests import robustness
from proofs_tests.benchmarks import keys, page, peers, recognize
from proofs_tests.benchmarks.figure import Figure
from proofs_tests.pictures import FOLDER, GROWING, PICTURES, THEORY, row_preference, theory
from proofs_tests.robustness import SECTIONS, store
from proofs_tests.robustness import page as page_robustness
from proofs_tests.robustness import stored as stored_robustness
from proofs_tests.tools import engine_board, fuzz_kinds
from proofs_tests.tools.engine_board import FINDINGS, Finding, cell_text, counts, stored
from proofs_tests.tools.engine_comparison import brief

# ---- engine board ----
# The board of engines: made from the stored runs, and every difference in it has a finding with a section.

FEATURE = {
    "cases": 5,
    "passed": 1,
    "skipped": 1,
    "no_answer": 1,
    "not_passed": {"a/1": "failed", "a/2": "failed", "a/3": "timeout"},
}


def test_the_page_is_that_of_the_stored_runs() -> None:
    assert engine_board.PAGE.read_text() == engine_board.page(
        engine_board.results(), engine_board.findings(), engine_board.fuzz_runs(), engine_board.profiles()
    )
    assert engine_board.DATA.read_text() == engine_board.data(engine_board.results(), engine_board.findings())


def test_the_comparison_is_that_of_the_stored_runs() -> None:
    page = engine_board.COMPARISON.read_text()
    assert page == engine_board.compared(engine_board.results(), engine_board.findings())


def test_of_two_runs_of_one_day_that_of_the_later_version_is_the_newest() -> None:
    versions = ("5.1.9", "5.1.30", "5.1.27", "5.2.1")
    runs = [{"engine": {"name": "e", "version": version}, "date": "2026-11-23"} for version in versions]
    assert engine_board.newest(runs)[0]["engine"]["version"] == "5.2.1"
    assert engine_board.newest(runs[:3])[0]["engine"]["version"] == "5.1.30"
    assert engine_board.newest([*runs, runs[0] | {"date": "2026-11-24"}])[0]["engine"]["version"] == "5.1.9"


def test_a_run_held_to_choices_is_among_all_runs_alone() -> None:
    """It is compared with the version before that was held to the same."""

    def run(version: str, failing: str, **held: str) -> dict[str, Any]:
        feature = {"cases": 4, "passed": 4 - len(failing), "skipped": 0, "not_passed": dict.fromkeys(failing, "failed")}
        engine = {"name": "e", "version": version}
        return {"engine": engine, "date": "2026-11-23", "features": {"seq": feature}, "answers": {}, **held}

    runs = [run("2", "bc"), run("1", "ab"), run("2", "c", held_to="cel with seq=x"), run("1", "a")]
    runs[3]["held_to"] = "cel with seq=x"
    assert engine_board.newest(runs) == [runs[0]]
    assert list(engine_board.history(runs)) == [
        ["e 1", "2026-11-23", "", "2/4/4"],
        ["e 2", "2026-11-23", "", "2/4/4 ▲1 ▼1"],
        ["e 1", "2026-11-23", "cel with seq=x", "3/4/4"],
        ["e 2", "2026-11-23", "cel with seq=x", "3/4/4 ▲1 ▼1"],
    ]
    summary = {"engine": runs[0]["engine"], "held_to": "cel with seq=x"}
    assert stored([json.dumps({"summary": summary})], "2026-11-23")["held_to"] == "cel with seq=x"


def test_a_cell_of_the_comparison_is_what_was_stored() -> None:
    run = {"engine": {"name": "esper", "version": "9"}, "date": "2026-11-22", "features": {}}
    answers = {"cel/seq/001": "passed", "cel/seq/007": "{0, 1, 3} at 3", "cel/cseq/001": "skipped"}
    finding = Finding("esper", "late", "defect", frozenset({"cel/seq/007"}))
    page = engine_board.compared([run | {"answers": answers}], [finding])
    rows = {line.split("`")[1]: line.strip("| ").split(" | ")[1:] for line in page.splitlines() if "| `" in line}
    assert rows["cel/seq/001"] == ["Esper"]
    assert rows["cel/seq/007"][1:] == ["{0, 1, 3}: Esper [late](../findings/esper/README.md#late)"]
    assert [rows[case] for case in ("cel/cseq/001", "cel/plus/002", "sase/sase-any/001")] == [[], [], []]


def test_a_match_keeps_its_position_where_it_is_not_its_last_event() -> None:
    assert brief("{0, 1, 3} at 3, {0} at 2, {} at 4, {1} at 12") == "{0, 1, 3}, {0} at 2, {} at 4, {1} at 12"


def test_every_finding_has_its_section() -> None:
    for finding in engine_board.findings():
        assert finding.kind in ("defect", "choice")
        page = (FINDINGS / finding.engine / "README.md").read_text()
        headings = {line[3:].lower().replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
        assert finding.id in headings


def test_a_cell_counts_what_each_finding_explains_and_what_none_does() -> None:
    """Of the version before, a/9 is mended and a/3 broken; a text has each finding with a link."""
    known = [
        Finding("esper", "late", "defect", frozenset({"a/1", "other"})),
        Finding("esper", "no", "choice", frozenset()),
    ]
    before = {"cases": 5, "passed": 1, "skipped": 1, "not_passed": dict.fromkeys(("a/1", "a/2", "a/9"), "failed")}
    assert counts(FEATURE, known, before) == {
        "claimed": 4,
        "passed": 1,
        "no_answer": 1,
        "findings": [{"id": "late", "kind": "defect", "page": "esper/README.md", "cases": 1}],
        "unexplained": 2,
        "mended": 1,
        "broken": 1,
    }
    text = "1/4 ▲1 ▼1: [1](esper/README.md#late), 2 unexplained, 1 no answer"
    assert cell_text(counts(FEATURE, known, before)) == text
    assert cell_text(counts(FEATURE, [])) == "1/4: 3 unexplained, 1 no answer"
    chosen = [Finding("esper", "no", "choice", frozenset({"a/1"}))]
    assert cell_text(counts(FEATURE, chosen)) == "1/4: [1 choice](esper/README.md#no), 2 unexplained, 1 no answer"


@pytest.mark.parametrize("feature", [None, {"cases": 2, "skipped": 2}])
def test_a_cell_without_claimed_cases(feature: dict[str, int] | None) -> None:
    assert counts(feature, []) is None


def test_the_board_leaves_out_what_nobody_claims() -> None:
    """An engine has its versions, the newest last; a held run is none of them."""
    run = {"engine": {"name": "e", "version": "1"}, "date": "2026-11-23", "features": {"seq": FEATURE}}
    newer = run | {"engine": {"name": "e", "version": "2"}}
    data = engine_board.board([newer, run, newer | {"held_to": "cel"}], [])
    assert [one["version"] for one in data["engines"]["e"]["versions"]] == ["1", "2"]
    assert list(data["languages"]) == ["cel"]
    assert data["languages"]["cel"] == {"seq": {"e": counts(FEATURE, [], FEATURE)}}


def test_a_run_is_stored_in_short() -> None:
    engine = {"name": "esper", "version": "9"}
    results = [
        {"id": "a/1", "feature": "a", "outcome": "passed"},
        {"id": "a/2", "feature": "a", "outcome": "skipped"},
        {"id": "a/3", "feature": "a", "outcome": "failed"},
        {"id": "cel/seq/001", "feature": "seq", "outcome": "failed", "got": [{"at": 3, "events": [0, 3]}]},
    ]
    lines = [json.dumps(line) for line in ({"summary": {"engine": engine}}, *results)]
    assert stored(lines, "2026-11-22") == {
        "engine": engine,
        "date": "2026-11-22",
        "features": {
            "a": {"cases": 3, "passed": 1, "skipped": 1, "not_passed": {"a/3": "failed"}},
            "seq": {"cases": 1, "passed": 0, "skipped": 0, "not_passed": {"cel/seq/001": "failed"}},
        },
        "answers": {"cel/seq/001": "{0, 3} at 3"},
    }


@pytest.mark.parametrize("code", ["budget", "internal"])
def test_an_engine_that_stops_over_its_budget_gives_no_answer(code: str) -> None:
    (case,) = (case for case in load(None) if case.id == "cel/seq/001")
    result = result_json(CaseResult(case, "error", None, f"{code}: too many matches"))
    assert engine_board.is_without_answer(result) == (code == "budget")


def test_a_profile_is_a_row_of_what_departs() -> None:
    as_defined = {"value": "any", "answers": 9, "explained": 9}
    axes = {"seq": as_defined, "emit": as_defined | {"value": "one-later", "explained": 8}, "loop": {"value": None}}
    axes["or"] = {"value": None, "alike": ["both"]}
    profile = {"engine": {"name": "toy", "version": "1"}, "date": "2026-11-22", "language": "cel", "questions": 40}
    (row,) = engine_board.profile_rows([profile | {"axes": axes}])
    assert row == ["toy 1", "2026-11-22", "cel", "40", "`emit=one-later` 8/9", "`loop`, `or`?"]


def test_a_difference_is_taken_to_the_finding_that_it_fits(capsys: pytest.CaptureFixture[str]) -> None:
    def difference(query: str, got: object, *times: str) -> str:
        events = [{"type": "event", "time": time} for time in times]
        given = {"case": 1, "query": query, "events": events, "expected": [{"at": 0, "events": [0]}], "got": got}
        return json.dumps(given)

    def printed(engine: str, *lines: str) -> tuple[int, list[str]]:
        status = fuzz_kinds.main([json.dumps({"summary": {"tested": f"{engine} 1"}}), *lines])
        return status, capsys.readouterr().out.splitlines()

    one, last = "SEQ(A a) RETURN a.x", "SEQ(A a, B+ b[]) WHERE [x] RETURN a.x"
    assert printed("sase", difference(one, []), difference(last, "error: x"), difference(one, [])) == (
        0, ["      2 one-component", "      1 kleene-plus-in-last-place"],
    )  # fmt: skip
    status, lines = printed("sase", difference("SEQ(A a, B b) RETURN a.x", []))
    assert (status, lines[0], len(lines)) == (1, "      1 without a finding", 2)
    for engine, query in (("flink-cep", "A++ : A"), ("flink-cep", "A ; A+++"), ("flink-cep", "(A:{2})+")):
        assert printed(engine, difference(query, []))[0] == 0
    assert [printed("opencep", difference(q, [{"at": 0, "events": [0]}]))[0] for q in ("A+ ; A", "A+ ; B")] == [0, 1]
    assert printed("opencep", difference("A+ ; A", []))[0] == 1  # a match is missing
    assert printed("opencep", difference("A+ ; B+", [{"at": 0, "events": [0]}]))[1] == ["      1 closures-that-overlap"]
    assert printed("opencep", difference("A ; B", [{"at": 0, "events": [0]}], "t", "t"))[1] == ["      1 equal-times"]
    assert printed("opencep", difference("A ; B", [{"at": 0, "events": [0]}], "t", "u"))[0] == 1
    other = [{"at": 1, "events": []}]
    assert printed("sigma-sqlite", difference("", other, "t", "t"))[0] == 0
    assert printed("sigma-sqlite", difference("", other, "t", "u"))[0] == 1
    counted = {"query": "value_count\n    field: x", "expected": [], "got": other}
    assert [fuzz_kinds.kind_of("sigma-rsigma", {**counted, "events": [{"x": x}]}) for x in (None, 1)] == [
        "null-is-a-value",
        "",
    ]


NO_MATCH: list[Any] = []
ONE_MATCH = [{"at": 0, "events": [0]}]
CORE = {
    "contiguous-iteration-after-a-sequence": ("A ; (B OR C:+)", "A ; B", NO_MATCH),
    "partition-by-streams": ("A : B PARTITION BY [x]", "A : B", NO_MATCH),
    "states-that-are-evicted": ("(A OR (B ; A OR B)) ; B", "(A ; B) OR C", NO_MATCH),
}
EXAMPLES: dict[str, dict[str, tuple[str, str, object]]] = {
    "beam-sql": {
        "quantified-groups": ("PATTERN ((A B)+)", "PATTERN (A B)", "error: ClassCastException"),
        "clauses-that-end-in-an-exception": ("", "", "error: NullPointerException"),
        "anchors-of-no-effect": ("PATTERN (^ A)", "PATTERN (A)", NO_MATCH),
        "choices-are-concatenations": ("PATTERN (A | B)", "PATTERN (A B)", NO_MATCH),
        "quantifiers-are-once": ("PATTERN (A{2} B)", "PATTERN (A B)", NO_MATCH),
        "plus-is-reluctant": ("PATTERN (A+ B)", "PATTERN (A B)", NO_MATCH),
        "the-row-of-another-variable-is-the-current-one": ("DEFINE B AS A.z = 'a'", "DEFINE B AS z = 'a'", NO_MATCH),
        "the-skip-is-ignored": ("SKIP TO NEXT ROW PATTERN (A)", "SKIP PAST LAST ROW PATTERN (A)", NO_MATCH),
        "null-comes-first": ("ORDER BY o", "", NO_MATCH),
    },
    "bobocep": {
        "a-loop-keeps-what-it-can-take": ("A+ ; B", "A ; B", NO_MATCH),
        "a-finished-match-breaks-neighbours": ("A : B", "A ; B", NO_MATCH),
    },
    "core": CORE,
    "drools": {"an-event-that-expires-takes-a-match-with-it": ("A ; B : C", "A ; B ; C", NO_MATCH)},
    "eql": {
        "a-comparison-after-in": ("A FILTER A.x in {1} or A.x = 2", "A FILTER A.x in {1} and A.x = 2", NO_MATCH),
        "one-match-for-each-first-step": ("A ; (B ; C)", "A ; B", NO_MATCH),
    },
    "flink-cep": {
        "next-after-a-nested-loop": ("(A+ IN x)+ : B", "A+ : B", NO_MATCH),
        "nested-loop-after-any": ("A ; B++", "A ; B+", NO_MATCH),
        "inner-loop": ("((A : B)+ ; C)+", "((A : B) ; C)+", NO_MATCH),
    },
    "flink-sql": {
        "cast-to-an-integer": ("CAST(x AS BIGINT)", "x", NO_MATCH),
        "mean-of-whole-numbers": ("AVG(x)", "SUM(x)", NO_MATCH),
        "division-by-0": ("x / 0", "x * 0", NO_MATCH),
        "greedy-rows-are-not-given-back": ("PATTERN (A* B)", "PATTERN (A*? B)", NO_MATCH),
        "optional-variable-is-reluctant": ("PATTERN (A? B)", "PATTERN (A B)", NO_MATCH),
    },
    "nools": {
        "a-condition-written-twice": ("A.x > 1 AND A.x > 1", "A.x > 1 AND A.x > 2", NO_MATCH),
    },
    "opencep": {
        "some-contiguous-events": ("A ; B : C", "A ; B ; C", NO_MATCH),
        "one-event-in-a-closure-and-beside-it": ("A+ ; A", "A+ ; B", ONE_MATCH),
        "closures-that-overlap": ("A+ ; B+", "A+ ; B", ONE_MATCH),
    },
    "pandas-match-recognize": {
        "not-equal-of-the-standard": ("DEFINE A AS x <> 1", "DEFINE A AS x != 1", NO_MATCH),
        "like": ("DEFINE A AS z LIKE 'a%'", "DEFINE A AS z = 'a%'", NO_MATCH),
        "functions-of-rows-in-define": ("DEFINE A AS U.x >= 0", "DEFINE A AS x >= 0", NO_MATCH),
        "expressions-that-hold-of-no-row": ("DEFINE A AS x % 2 = 1", "DEFINE A AS x + 2 = 1", NO_MATCH),
        "negation-of-what-is-unknown": ("DEFINE A AS NOT x > 1", "DEFINE A AS x <= 1", ONE_MATCH),
        "exact-division": ("DEFINE A AS x / 2 = 1", "DEFINE A AS x * 2 = 1", NO_MATCH),
        "a-value-as-a-condition": ("DEFINE A AS x, B AS x > 1", "DEFINE A AS x > 0", ONE_MATCH),
        "anchors": ("PATTERN (^ | A)", "PATTERN (A)", NO_MATCH),
        "greedy-by-the-skip": ("SKIP TO NEXT ROW PATTERN (A+ B)", "SKIP TO NEXT ROW PATTERN (A B)", NO_MATCH),
        "empty-matches-under-skip-to-next-row": ("TO NEXT ROW PATTERN (A*)", "TO NEXT ROW PATTERN (A)", NO_MATCH),
        "measures-are-final": ("MEASURES x AS m ALL ROWS PER MATCH", "MEASURES x AS m ONE ROW PER MATCH", NO_MATCH),
        "two-answers-to-one-pattern": ("PATTERN ({- A -})", "PATTERN (A)", "protocol: the matches cannot be read"),
        "excluded-rows-in-measures": ("MEASURES COUNT(*) AS m PATTERN ({- A -})", "PATTERN ({- A -})", NO_MATCH),
        "offsets-in-measures": ("MEASURES FIRST(A.x, 1) AS m", "MEASURES A.x AS m", NO_MATCH),
        "aggregates-beside-a-group": ("MEASURES AVG(B.x) PATTERN (A (B))", "MEASURES AVG(B.x) PATTERN (A B)", NO_MATCH),
        "sums-are-doubles": ("MEASURES SUM(x) AS m", "MEASURES x AS m", NO_MATCH),
        "null-comes-last": ("ORDER BY o DESC", "ORDER BY o", NO_MATCH),
        "one-reluctant-quantifier": ("PATTERN ((A+){2,}?)", "PATTERN (A)", NO_MATCH),
        "quantified-groups": ("PATTERN (B (B? C))", "PATTERN (A (C A))", NO_MATCH),
        "a-part-without-rows": ("PATTERN (A*? B)", "PATTERN (A B)", NO_MATCH),
        "longest-alternative": ("PATTERN (A | A B)", "PATTERN (A B)", ONE_MATCH),
        "a-row-that-two-variables-fit": ("PATTERN (A | B)", "PATTERN (A B)", ONE_MATCH),
        "the-answer-to-another-clause": ("PATTERN (A*)", "PATTERN (A)", NO_MATCH),
    },
    "pycer": CORE,
    "sase": {
        "kleene-plus-in-last-place": ("SEQ(A a, B+ b[]) WHERE [x]", "SEQ(A a, B+ b[]) WHERE a.x > 1", NO_MATCH),
        "one-component": ("SEQ(A a)", "SEQ(A a, B b)", NO_MATCH),
        "runs-that-share-values": ("SEQ(A a, B b) {b.x > a.x}", "SEQ(A a, B b) {b.x > b.y}", NO_MATCH),
    },
    **{
        f"sigma-{name}": {"a-query-that-the-engine-refuses": ("", "", "error: the engine refuses it")}
        for name in ("clickhouse", "duckdb")
    },
    "sigma-eql": {
        "a-query-that-the-engine-refuses": ("", "", "error: IndexError: list index out of range"),
        "parts-of-texts-with-cased": ("user|contains|cased: n", "user|contains: n", NO_MATCH),
    },
    "trino": {
        "permute-of-one-part": ("PATTERN (B | PERMUTE((A B)))", "PATTERN (PERMUTE((A | B), A))", NO_MATCH),
        "label-of-the-row-before": ("DEFINE A AS PREV(CLASSIFIER()) = 'B'", "DEFINE A AS PREV(x) = 1", NO_MATCH),
        "division-of-a-double-by-0": ("DEFINE A AS y % 0 IS NULL", "DEFINE A AS y % 10 IS NULL", NO_MATCH),
        "iteration-without-rows-after-one-with-rows": ("PATTERN ((B? | A)*)", "PATTERN ((B | A)*)", NO_MATCH),
    },
    "varpulis": {
        "kleene-plus-in-last-place": ("SEQ(A a, B+ b[])", "SEQ(A a, B b)", NO_MATCH),
        "kleene-plus-before-its-end": ("SEQ(A+ a[], B b)", "SEQ(A a, B b)", NO_MATCH),
        "a-single-step-waits": ("SEQ(A a)", "SEQ(A a, B b)", NO_MATCH),
        "one-event-for-any": ("SEQ(A a, B b) WHERE skip_till_any_match(a, b)", "SEQ(A a, B b)", NO_MATCH),
    },
}
"""Of each finding that the query or the answer shows: a query that it fits, one that fits none, and the answer."""


def page_of(engine: str) -> str:
    """Return the text of the page of an engine's findings."""
    return (FINDINGS / engine_board.folder_of({"engine": {"name": engine}}) / "README.md").read_text()


@pytest.mark.parametrize("engine", fuzz_kinds.KINDS)
def test_each_kind_of_difference_has_a_section_and_an_example(engine: str) -> None:
    kinds = {kind for kind, _ in fuzz_kinds.KINDS[engine]} - {"equal-times", "one-instant-at-once", "null-is-a-value"}
    assert set(EXAMPLES.get(engine, {})) == kinds  # those left out depend on the events: tested above
    sections = re.findall("^## (.*)$", page_of(engine), re.MULTILINE)
    assert kinds <= {section.lower().replace(" ", "-") for section in sections}
    for kind, (fits, fits_not, got) in EXAMPLES.get(engine, {}).items():
        difference = {"query": fits, "events": [], "expected": ONE_MATCH, "got": got}
        assert fuzz_kinds.kind_of(engine, difference) == kind
        plain = "error: a mistake" if isinstance(got, str) else got
        assert fuzz_kinds.kind_of(engine, difference | {"query": fits_not, "got": plain}) == ""


def test_runs_of_random_cases_are_a_row_for_each_profile() -> None:
    outcomes = {"unsupported": 4, "disagreed": 1}
    summary = {
        "tested": "toy 1",
        "profile": "core",
        "seed": 3,
        "cases": 10,
        "agreed": 5,
        "outcomes": outcomes,
        "more": 0,
    }
    run = engine_board.stored_fuzz([json.dumps({"summary": summary}), "{}"], "2026-11-22")
    assert "| toy 1 | 2026-11-22 | core | 3 | 10 | 6 | 5 | 1 |" in engine_board.page([], [], [run])
    later = run | {"date": "2026-11-23", "seed": 4}
    assert "| toy 1 | 2026-11-23 | core | 3, 4 | 20 | 12 | 10 | 2 |" in engine_board.page([], [], [later, run])


def test_a_run_of_random_cases_takes_the_place_of_older_ones() -> None:
    """By default of that with the same seed, and anew of all of an earlier day with the same profile."""
    run = {"tested": "toy 2", "profile": "core", "seed": 3, "date": "2026-12-01"}
    early = run | {"date": "2026-11-22"}
    later, older = run | {"seed": 4}, early | {"seed": 5}
    others = [early | {"tested": "toy 1"}, early | {"profile": "chain"}]
    assert engine_board.add_fuzz_run([early, older, *others], run) == [older, *others, run]
    assert engine_board.add_fuzz_run([early, older, *others, later], run, is_anew=True) == [*others, later, run]


# ---- peers ----
# The page of speed beside other engines: made from what was measured, without times where the matches differ.

ROW: dict[str, Any] = {
    "engine": "toy",
    "version": "1",
    "date": "2026-11-23",
    "query": "Q1",
    "events": 1000,
    "matches": 7,
    "found": 7,
    "theirs": {"thread": 0.5, "process": 1.0},
    "ours": {"thread": 0.01, "process": 0.02},
    "ratio": 50.0,
    "spread": [40.0, 60.0],
}


def test_the_page_is_that_of_what_was_measured() -> None:
    run = json.loads((FINDINGS / "speed.json").read_text())
    assert (FINDINGS / "speed.md").read_text() == peers.page(run)


def test_a_row_has_the_times_of_both() -> None:
    assert peers.cells(ROW) == ["Q1", "1,000", "7", "500", "1,000", "20", "50 (40–60)"]


def test_where_the_matches_differ_or_there_is_no_answer_there_are_no_times() -> None:
    assert peers.cells(ROW | {"found": 6}) == ["Q1", "1,000", "6, not 7"]
    assert peers.cells({"query": "Q1", "why": "no words | for it"})[2:] == ["no words \\| for it"]
    refused = [{"query": query, "why": "no loops"} for query in ("Q1", "Q3")]
    assert peers.together([refused[0], ROW, refused[1]]) == [ROW, {"query": "Q1, Q3", "why": "no loops"}]


# ---- performance page ----
# The pages with tables about speed have the figures that are stored, and no others.

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_are_made_from_the_stored_figures() -> None:
    text = (DOCS / page.PAGE).read_text(encoding="utf-8")
    figures = page.read(DOCS)
    again = "python -m proofs_tests.benchmarks --write docs --from docs/guide/performance.jsonl"
    assert page.rendered(text, figures) == text, again
    assert page.measurements(figures) == (DOCS / page.MEASUREMENTS).read_text(encoding="utf-8"), again


def test_another_figure_makes_another_page() -> None:
    text = (DOCS / page.PAGE).read_text(encoding="utf-8")
    changed = [one | {"value": 1.5 * one["value"]} for one in page.read(DOCS)]
    assert page.rendered(text, changed) != text


def test_every_stored_figure_is_on_a_page_once_and_says_where_it_is_from() -> None:
    text = (DOCS / page.MEASUREMENTS).read_text(encoding="utf-8")
    names = [one["name"] for one in page.read(DOCS)]
    assert len(names) == len(set(names))
    for one in page.read(DOCS):
        group = one["name"].partition(".")[0]
        assert group in page.SHARES or text.count(f"| `{one['name']}` |") == 1, one["name"]
        assert {"machine", "version", "date", "load"} <= one.keys()
        assert {"cpu", "cores", "python"} <= one["machine"].keys()


def test_the_parts_of_an_identity_on_spark() -> None:
    """By the CPU, in parentheses by the wall; what is below its target is in bold type."""
    turns = {"matches": [(4.0, 2.0)], "count": [(1.0, 1.0)], "group": [(2.0, 1.0)], "plan": [(8.0, 4.0)]}
    figures = [one.as_json() for one in keys.figures(10, 1, 1_000_000, turns)]
    text = page.rendered("<!-- table: keys -->\n<!-- end of table -->", figures)
    lines = text.splitlines()
    assert lines[2].count("|") == lines[4].count("|") == 10
    assert lines[4] == (
        "| 10 | 1 | 500,000 | 50&nbsp;% (50&nbsp;%) | 200&nbsp;% (200&nbsp;%) "
        "| 1&nbsp;M | 100&nbsp;% (200&nbsp;%) | 400&nbsp;% (800&nbsp;%) | 200&nbsp;% (400&nbsp;%) |"
    )
    slow = [one | {"ratio": 0.4, "met": False} if one["name"] == "keys.count.plan.10.1.cpu" else one for one in figures]
    assert "**40&nbsp;%** (800&nbsp;%)" in page.rendered(text, slow)


def test_the_figures_of_clauses_on_spark_are_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognize, "watched", lambda plan: (1.0, 2.0))
    figures = [one.as_json() for one in recognize.figures(None, 500_000, 100)]  # type: ignore[arg-type]
    lines = page.rendered("<!-- table: recognize -->\n<!-- end of table -->", figures).splitlines()
    assert lines[2].startswith(
        "| rows in a partition | cores | a row per match: rows/CPU s | of groups | of the same plan | all"
    )
    assert lines[4] == (
        "| 100 | 2 | 250,000 | 100&nbsp;% (100&nbsp;%) | 100&nbsp;% (100&nbsp;%) "
        "| 250,000 | 100&nbsp;% (100&nbsp;%) | 100&nbsp;% (100&nbsp;%) |"
    )


def test_figures_take_the_place_of_earlier_ones(tmp_path: Path) -> None:
    for folder in ("guide/plots", "findings", "reference"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / page.PAGE).write_text("# Speed\n\n<!-- table: speed -->\n<!-- end of table -->\nafter\n")
    slow = Figure("cores.keys", 2e6, "events/s", "one thread", 1.5, 9, (1e6, 3e6), "≥ 1.8 ×", False)
    other = Figure("text.csv", 0.25, "s", "Arrow's reader", 1.3, 5, (0.25, 0.25))
    page.write(tmp_path, [slow.as_json(), other.as_json()])
    assert (
        "| `cores.keys` | 2&nbsp;M&nbsp;events/s | 1.5&nbsp;× rate of one thread | **≥&nbsp;1.8&nbsp;×** |"
        in page.measurements(page.read(tmp_path))
    )
    page.write(tmp_path, [replace(slow, value=4.21e6, ratio=1.91, met=True).as_json()])
    rows = [line for line in (tmp_path / page.MEASUREMENTS).read_text().splitlines() if line.startswith("| `")]
    assert rows == [
        "| `cores.keys` | 4.21&nbsp;M&nbsp;events/s | 1.91&nbsp;× rate of one thread | ≥&nbsp;1.8&nbsp;× |",
        "| `text.csv` | 0.25&nbsp;s | 1.3&nbsp;× Arrow's reader |  |",
    ]
    assert (tmp_path / page.DOTS).read_text().count("<svg") == 1
    assert (tmp_path / page.PAGE).read_text().endswith("after\n")


# ---- robustness ----
# The page of what long campaigns have seen: made from what they have stored, and fuzzers add to theirs.


@pytest.mark.skipif(not robustness.STORED.exists(), reason="nothing is stored")
def test_the_page_is_that_of_the_stored_figures() -> None:
    assert robustness.PAGE.read_text(encoding="utf-8") == page_robustness(stored_robustness())


def test_figures_of_fuzzers_are_added_and_others_replaced(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    for inputs, memory in ((10, 7), (5, 6)):
        figures = {"runs": 1, "inputs": inputs, "seconds": 60.0, "crashes": 1, "memory": memory}
        store("fuzz", "csv", figures, path)
        store("soak", "queries", {"done": inputs}, path)
    store("faults", "claims", {"killed": "the same"}, path)
    store("faults", "claims", {"disk full": "refused"}, path)
    found = stored_robustness(path)
    fuzzed = found["fuzz"]["csv"]
    assert (fuzzed["runs"], fuzzed["inputs"], fuzzed["seconds"], fuzzed["memory"]) == (2, 15, 120.0, 7)
    assert found["soak"]["queries"]["done"] == 5
    assert (found["faults"]["claims"]["killed"], found["faults"]["claims"]["disk full"]) == ("the same", "refused")
    assert "| `csv` | 15 | 2.0 | 7 | 2 |" in page_robustness({"fuzz": found["fuzz"]})


def test_every_campaign_that_stores_figures_has_a_section() -> None:
    texts = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(robustness.__file__).parent.rglob("*.py")
        if "unit" not in path.parts
    )
    for name in SECTIONS:
        assert f'store("{name}", ' in texts or f'command("{name}", ' in texts, name


# ---- findings ----
# The programs that reproduce findings: each is short, and uses the engine without cerify.

MOST = 40
PROGRAMS = sorted(p for p in FINDINGS.glob("*/*") if p.suffix in (".java", ".js", ".py", ".cpp", ".hpp"))
COMMENTS = re.compile(r'\A""".*?"""|^\s*/\*.*?\*/|^\s*(//|#(?!include)).*?$', re.DOTALL | re.MULTILINE)


def code(text: str) -> list[str]:
    """The lines of a program without comments and blank lines."""
    return [line for line in COMMENTS.sub("", text).splitlines() if line.strip()]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_has_forty_lines_at_most_and_does_not_use_cerify(path: Path) -> None:
    lines = code(path.read_text(encoding="utf-8"))
    assert len(lines) <= MOST
    assert not [line for line in lines if re.search(r"\b(import|include|from)\b.*cerify", line)]


def test_every_engine_with_findings_has_a_program() -> None:
    assert {path.parent for path in FINDINGS.glob("*/findings.json")} == {path.parent for path in PROGRAMS}


def test_comments_and_blank_lines_do_not_count() -> None:
    assert code("/** A\n * b. */\nclass A {\n\n    // c\n}\n") == ["class A {", "}"]
    assert code('"""Doc.\n\nMore."""\n# c\nimport cerify\n') == ["import cerify"]
    assert code("#include <a>\n") == ["#include <a>"]


# ---- pictures ----
# The pictures of guide and theory are those that the project draws today, and the pages show all of them.

PAGE = FOLDER.parent / "event-expression-examples.md"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name].svg()


def test_the_guide_shows_each_picture_once_and_says_what_it_shows() -> None:
    shown = re.findall(r"!\[([^]]+)\]\(pictures/([\w-]+)\.svg\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(name for _, name in shown) == sorted(PICTURES)
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted([*PICTURES, "row-preference"])


def test_the_tree_of_labellings_is_up_to_date() -> None:
    assert (FOLDER / "row-preference.svg").read_text(encoding="utf-8") == row_preference()
    assert "(pictures/row-preference.svg)" in (FOLDER.parent / "row-patterns.md").read_text(encoding="utf-8")


def test_the_pictures_of_the_theory_are_up_to_date() -> None:
    """The stored pictures are exactly those of today's automata and evaluators."""
    assert {path.name: path.read_text(encoding="utf-8") for path in THEORY.iterdir()} == theory()


def test_the_chapters_show_each_picture_and_say_what_it_shows() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(THEORY.parent.glob("*.md")))
    shown = re.findall(r"!\[([^]]+)\]\(pictures/([\w-]+\.svg)\)", text)
    assert {file for _, file in shown} == {path.name for path in THEORY.iterdir()}
    assert len(shown) == text.count("](pictures/")
    assert len({said for said, _ in shown}) == len(shown)


@pytest.mark.parametrize(
    ("name", "nodes", "matches"),
    [("lists", 6, 5), ("iteration", 7, 7), ("keys", 7, 3), ("buffer", 6, 3), ("shared", 6, 7)],
)
def test_what_the_growing_pictures_show(name: str, nodes: int, matches: int) -> None:
    run = GROWING[name].run()
    assert (len(run.nodes), sum(len(step.found) for step in run.steps)) == (nodes, matches)

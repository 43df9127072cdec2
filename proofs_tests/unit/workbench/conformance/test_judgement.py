"""A cause that contradicts an answer is none; the search for causes ends in time, and at an interrupt at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cerify.conformance.choices import Choices
from cerify.conformance.defects import defects_behind
from cerify.conformance.judgement import ChoiceScorer, silent_operators
from cerify.conformance.model import Case, CaseResult, Defect
from cerify.conformance.peeling import Peeler
from cerify.conformance.run import ALIKE, same_error
from cerify.conformance.watch import AllowanceOver, DiagnosisStopped, Watch
from cerify.semantics.events import Match
from proofs_tests.campaigns.causes import composed, identified, judged
from proofs_tests.conftest import Run
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.conformance.test_peeling import cases, defects_of, recorded

ENGINES = range(40)


@pytest.mark.parametrize("seed", sampled(ENGINES, (1, 5, 8)))
def test_no_cause_of_a_composed_engine_is_wrong(seed: int) -> None:
    """All: python -m proofs_tests.campaigns.causes; more than four of five defects have their cause."""
    counted, wrong = judged(composed(seed), hidden=False)
    assert not wrong
    assert counted["right"] >= 1


@pytest.mark.thorough
@pytest.mark.parametrize("seed", sampled(ENGINES, (3, 9, 11)))
def test_a_meaning_without_a_name_gets_none(seed: int) -> None:
    """The values of the engine are not among those that are searched; all: the campaign with --hidden."""
    assert not judged(composed(seed), hidden=True)[1]


def latest(case: Case, *_: object) -> CaseResult:
    """What an engine answers that reports of the matches that end at one position the one that begins last, by `;`
    that takes the next: EQL's sequences."""
    found = recorded({"seq": "next-from-left"}, case)
    if found.matches is None:
        return found
    kept = {m.at: m for m in sorted(found.matches, key=lambda m: (m.at, m.events))}
    return CaseResult(case, "passed" if set(kept.values()) == set(case.matches) else "failed", sorted(kept.values()))


def simple(case: Case) -> bool:
    return case.output == "matches" and not any(word in case.query for word in ("LAST", "MAX", "NXT", "ALL", "AND"))


@pytest.mark.thorough
def test_neighbours_are_not_the_cause_of_what_passed_with_events_between() -> None:
    """Once it was named with 71 of 83 answers: nobody had looked at all that the engine answered rightly."""
    asked = [case for case in cases() if simple(case)]
    results = [latest(case) for case in asked]
    failures = [result for result in results if result.outcome == "failed"]
    defects = defects_behind(Peeler(latest), failures, results)
    assert ("seq", "strict") not in {(cause.axis, cause.value) for d in defects for cause in d.causes}
    judge = ChoiceScorer(Choices("cel", [r.case for r in results if r.outcome == "passed"]), results)
    weight = judge.weigh(("seq", "strict"), ())
    assert len(weight.for_) > 20
    assert not weight.stands
    assert any(not one.wrong for one in weight.against)


@pytest.mark.thorough
def test_more_evidence_never_gives_a_worse_name() -> None:
    engine = {"partition": "substream", "in": "last"}
    right = {*engine.items()}
    for feature in ("partition", "in", None):
        asked = [case for case in cases() if feature in (None, case.feature)]
        defects, _ = defects_of(engine, asked)
        for defect in defects:
            names = {(c.axis, c.value) for c in defect.causes} | {
                tuple(other.split("=")) for c in defect.causes for other in c.alike
            }
            assert not names or names & right, (feature, names)


def silent_negation(case: Case, *_: object) -> CaseResult:
    found = [] if "UNLESS" in case.query else list(case.matches)
    return CaseResult(case, "passed" if set(found) == set(case.matches) else "failed", found)


def test_a_construct_that_never_answers_is_no_choice_of_it() -> None:
    results = [silent_negation(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    defects = defects_behind(Peeler(silent_negation), failures, results)
    assert [defect.causes for defect in defects] == [()] * len(defects)
    assert silent_operators(results, 3) == ["unless"]
    assert defects[0].description == "the engine gives no match for any query with unless"


def test_of_choices_that_nothing_tells_apart_both_are_named() -> None:
    """An engine of sequences alone, of which each that begins is reported once."""

    def first(case: Case, *_: object) -> CaseResult:
        if not all(part.strip().isalpha() for part in case.query.split(";")):
            return CaseResult(case, "skipped")
        return recorded({"seq": "next-from-left"}, case)

    results = [first(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    (defect,) = defects_behind(Peeler(first), failures, results)
    (cause,) = defect.causes
    assert {f"{cause.axis}={cause.value}", *cause.alike} >= {"seq=next-from-left", "emit=one-per-start"}
    assert " on A" in cause.apart
    assert cause.then < cause.now == len(failures)


@pytest.mark.thorough
def test_a_policy_is_offered_only_if_fewer_cases_fail_under_it() -> None:
    defects, results = defects_of({"loop": "single", "or": "left-first"}, cases())
    for defect in defects:
        (cause,) = defect.causes
        assert cause.helps
        fails = sum(
            recorded({"loop": "single", "or": "left-first"}, one.case).matches
            != recorded({cause.axis: cause.value}, one.case).matches
            for one in results
            if one.matches is not None
        )
        assert (cause.now, cause.then) == (sum(r.outcome == "failed" for r in results), fails)


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_watch() -> None:
    watch = Watch(1000.0)
    watch.check()
    watch.allowance = -1.0
    watch.allow()
    with pytest.raises(AllowanceOver):
        watch.check()
    watch.allow_all()
    watch.check()
    with pytest.raises(DiagnosisStopped, match="after 0 s"):
        Watch(0.0).check()
    watch.stop("enough")
    with pytest.raises(DiagnosisStopped, match="enough"):
        watch.check()


def failing_somewhere(watch: Watch, ask: Callable[[Case], CaseResult]) -> tuple[list[Defect], int]:
    results = [ask(case) for case in cases()]
    failures = [result for result in results if result.outcome == "failed"]
    return defects_behind(Peeler(lambda case, query, S: ask(case), watch=watch), failures, results), len(failures)


def test_a_search_without_time_has_all_cases_all_the_same() -> None:
    defects, failing = failing_somewhere(Watch(0.0), lambda case: recorded({"loop": "single"}, case))
    assert sum(len(defect.cases) for defect in defects) == failing
    assert all("stopped after 0 s" in defect.stopped for defect in defects)


def test_a_search_without_an_allowance_shrinks_all_the_same() -> None:
    defects, failing = failing_somewhere(Watch(allowance=0.2), lambda case: recorded({"loop": "single"}, case))
    assert sum(len(defect.cases) for defect in defects) == failing
    assert min(len(defect.result.case.query) for defect in defects) <= 6


def test_an_interrupt_anywhere_ends_the_search() -> None:
    asked = 0

    def ask(case: Case) -> CaseResult:
        nonlocal asked
        asked += 1
        if asked == len(cases()) + 40:
            raise KeyboardInterrupt
        assert asked <= len(cases()) + 40, "asked after the interrupt"
        return recorded({"loop": "single"}, case)

    watch = Watch()
    defects, failing = failing_somewhere(watch, ask)
    assert watch.interrupted
    assert sum(len(defect.cases) for defect in defects) == failing


SLOW = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        info = {"name": "slow", "version": "1"}
        print(json.dumps({"protocol": 1, "engine": info, "languages": ["row-pattern"]}), flush=True)
    elif m["cmd"] == "run":
        first = [{"at": 0, "events": [0], "bindings": {"A": [0]}, "match_number": 1}] if m["events"] else []
        print(json.dumps({"id": m["id"], "matches": first}), flush=True)
    else:
        break
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no SIGTERM")
def test_sigterm_ends_a_run_with_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    command = [sys.executable, "-m", "cerify.cli", "conform", "--language", "row-pattern", "--json", "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "slow.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    begun = time.monotonic()
    while time.monotonic() < begun + 300 and _cpu(process.pid) < 5.0:
        time.sleep(0.2)
    used = _cpu(process.pid)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    summary = json.loads(out.splitlines()[0])["summary"]
    assert summary["cases"] == len(out.splitlines()) - 1
    assert "interrupted" in summary["ended"]
    assert used


def _cpu(pid: int) -> float:
    """The processor time of a process in seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- errors that are alike --------------------------------------------------------------------------------------------


def error(number: int, detail: str, outcome: str = "error") -> CaseResult:
    case = Case(f"c{number}", "f", "", "cel", "A" * (number + 1), None, [], "matches", [Match(0, (0,))])
    return CaseResult(case, outcome, detail=detail)  # type: ignore[arg-type]


def test_errors_that_are_all_alike_are_one() -> None:
    alike = [error(n, f"internal: KeyError: 'x{n}' at line {n}\nmore {n}") for n in range(ALIKE)]
    defect = same_error([*alike, CaseResult(alike[0].case, "skipped")])
    assert defect is not None
    assert defect.description == f"all {ALIKE} answers are the same error: internal: KeyError: 'x0' at line 0\nmore 0"
    assert len(defect.cases) == ALIKE
    assert same_error(alike[1:]) is None
    assert same_error([*alike, error(99, "internal: ValueError")]) is None
    assert same_error([*alike, CaseResult(alike[0].case, "passed")]) is None


BROKEN = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m["cmd"] == "start":
        print(json.dumps({"protocol": 1, "engine": {"name": "b", "version": "1"}, "languages": ["cel"]}), flush=True)
    elif m["cmd"] == "run":
        print(json.dumps({"id": m["id"], "error": {"code": "internal", "message": "KeyError: 'type'"}}), flush=True)
    else:
        break
"""


def test_an_adapter_with_one_bug_gives_one_line(tmp_path: Path, run: Run) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    status, out, _ = run("conform", "--feature", "seq", "--", sys.executable, str(tmp_path / "broken.py"))
    assert status == 1
    assert "1 defect in 99 failing cases" in out
    assert "all 99 answers are the same error: internal: KeyError: 'type'" in out
    status, out, _ = run("identify", "--", sys.executable, str(tmp_path / "broken.py"))
    assert status == 1
    assert "the first 10 answers are the same error: internal: KeyError: 'type'" in out


@pytest.mark.thorough
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_a_profile_is_right_or_open(seed: int) -> None:
    assert not identified(composed(seed), hidden=False)[1]
    assert not identified(composed(seed), hidden=True)[1]

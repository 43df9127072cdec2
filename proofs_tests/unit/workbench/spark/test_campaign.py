"""The parts of a campaign on Spark that need no Spark."""

from __future__ import annotations

import importlib
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerify.automata.cea.compile import CachedCompiler, compile_cel
from cerify.conformance.campaigns import MIXES, Job, PlanShare
from cerify.equivalence.differential import judge
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.spark.answers import answer_batches
from cerify.spark.campaign import Folder, Limited, Notes, judged, sample, time_limit
from cerify.spark.rows import Columns
from cerify.spark.runs import SparkQuery
from proofs_tests.campaigns.spark_batch import ID, KEY, ORDER
from proofs_tests.campaigns.spark_jobs import ONLY, compared, expected
from proofs_tests.campaigns.spark_jobs import Job as SparkJob
from proofs_tests.integration.spark import disorder

# ---- campaign parts ----
#

pytest.importorskip("pyspark")

S = Stream([Event("A"), Event("B")])


def test_the_clock_ends_what_catches_every_exception() -> None:
    def stubborn() -> None:
        while True:
            try:
                time.sleep(60)
            except Exception:
                continue

    begun = time.monotonic()
    with pytest.raises(BudgetExceeded, match=r"no answer within 0\.1 s"), time_limit(0.1):
        stubborn()
    assert time.monotonic() - begun < 10


def test_the_clock_does_not_break_what_is_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is imported by half would be there, and wrong, for all cases after this one."""
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.6)\nvalue = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def imported() -> None:
        importlib.import_module("slowly_imported")
        time.sleep(60)

    with pytest.raises(BudgetExceeded), time_limit(0.1):
        imported()
    assert sys.modules["slowly_imported"].value == 1


def test_a_case_is_given_up_after_two_deaths_in_one_call_of_the_campaign(tmp_path: Path) -> None:
    def found(run: str) -> list[Match]:
        with Notes(tmp_path / "0-9", run, 60) as notes:
            limited = Limited("automaton", lambda phi, S, output: [Match(0, (0,))], notes, 1.0, index=4)
            return list(limited(parse("A"), S, "matches"))  # no end(): as if the process died

    assert found("first")
    assert found("second")  # the deaths of another call do not count
    assert found("second")
    with pytest.raises(Exception, match="crashed: the process of the evaluator died, twice"):
        found("second")


def test_notes_of_a_range_that_is_done_are_gone(tmp_path: Path) -> None:
    with Notes(tmp_path / "0-9", "run", 60) as notes:
        notes.begin(3, "kernel")
        notes.end()
    assert not list(tmp_path.iterdir())


def test_a_formula_is_compiled_once_for_each_budget() -> None:
    compiler, phi = CachedCompiler(compile_cel), parse("(A ; B) ALL (B ; A) ALL (A+ ; B)")
    assert compiler(phi, Budget()) is not compiler(phi, Budget())
    compiler.retain(80)
    with pytest.raises(BudgetExceeded):
        compiler(phi, Budget(states=3))
    assert compiler(phi, Budget()) is compiler(parse("(A ; B) ALL (B ; A) ALL (A+ ; B)"), Budget())


def test_cases_in_a_row_share_their_query_and_the_first_is_that_of_a_plan_that_does_not_share() -> None:
    for part in MIXES["all"]:
        job = Job((part,), ("automaton",), together=4, streams="random", nodes=7)
        alone = replace(job, together=1)
        cases = [job.case(i) for i in range(8, 12)]
        first = alone.case(8)
        assert (cases[0][1], list(cases[0][2])) == (first[1], list(first[2]))
        assert all(phi is cases[0][1] for _, phi, _, _ in cases)
        assert len({str(list(stream)) for _, _, stream, _ in cases}) > 1
        assert job.case(12)[1] is not cases[0][1]


def test_a_job_is_what_its_text_says() -> None:
    job = Job(MIXES["all"], ("automaton", "kernel"), ("engine", "--fast"), seed=4, together=8, seconds=0.5)
    assert Job.of_text(job.text()) == job


def test_the_definition_is_asked_once_and_the_others_only_if_it_answers() -> None:
    asked: list[str] = []

    def evaluator_of(name: str, answer: list[Match] | Exception) -> object:
        def evaluator(phi: object, S: Stream, output: str) -> list[Match]:
            asked.append(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return evaluator

    right, wrong = evaluator_of("right", [Match(0, (0,))]), evaluator_of("wrong", [])
    own, verdicts = judge(
        evaluator_of("definition", [Match(0, (0,))]), {"r": right, "w": wrong}, parse("A"), S, "matches"
    )  # type: ignore[arg-type]
    assert (own.outcome, verdicts["r"].outcome, verdicts["w"].outcome) == ("matched", "matched", "disagreed")
    assert asked == ["definition", "right", "wrong"]
    for error, outcome in ((BudgetExceeded("b"), "budget"), (Unsupported("u"), "unsupported")):
        assert judge(evaluator_of("d", error), {"r": right}, parse("A"), S, "matches")[0].outcome == outcome  # type: ignore[arg-type]
    failing = evaluator_of("d", ZeroDivisionError("0"))
    _, verdicts = judge(failing, {"r": right, "u": evaluator_of("u", Unsupported("u"))}, parse("A"), S, "matches")  # type: ignore[arg-type,dict-item]
    assert (verdicts["r"].outcome, verdicts["u"].outcome) == ("disagreed", "unsupported")
    assert asked.count("right") == 2


def test_a_case_that_is_not_made_in_time_is_over_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job((PlanShare("cel", "core"),), ("automaton",), seconds=1)
    made = Job.case
    monkeypatch.setattr(Job, "case", lambda job, i: time.sleep(30) if i == 1 else made(job, i))
    with Notes(tmp_path / "0-3", "run", 60) as notes:
        judged(replace(job, seconds=60.0), notes, 2, 5)  # all that is imported is
        tally = judged(job, notes, 0, 3)
    (row,) = tally.kept["budget"]
    assert (row["case"], row["evaluator"], row["detail"]) == (1, "generator", "no answer within 1 s")
    assert sum(n for key, n in tally.cases.items() if key[2] is None) == 3


def test_the_sample_begins_with_the_fewest_operators() -> None:
    def row(cause: str, query: str, evaluator: str = "kernel") -> dict[str, str]:
        return {"language": "cel", "evaluator": evaluator, "cause": cause, "query": query, "stream": "[]"}

    rows = [
        row("+ ;: missing", "A ; B+"),
        row("+: missing", "A+ + +"),
        row("+: missing", "A+"),
        row("OR: missing", "A OR B"),
        row("+: extra", "B+"),
        row("+: missing", "C+", "automaton"),
        row("FILTER PROJECT START: missing", "PROJECT[A](START(A FILTER A.x = 1))"),
    ]
    assert sample(pa.Table.from_pylist([row("an event type: missing", "A"), row("OR: missing", "A OR B")])) == [0, 1]
    assert sample(pa.Table.from_pylist(rows)) == [5, 4, 2, 3, 6, 0]


def test_a_number_of_matches_is_expected_where_they_are_too_many_to_be_listed() -> None:
    rows = pa.table({"type": ["A"] * 30, KEY: ["k"] * 30, ORDER: range(30), ID: [str(i) for i in range(30)]})
    counted = SparkJob(SparkQuery("A+"), rows, rows, {}, {"partition_by": None, "output": "count"})
    assert expected(counted) == {ONLY: 2**30 - 1}
    assert expected(replace(counted, options={"partition_by": None})) == {ONLY: "budget"}


def test_the_limit_of_matches_holds_for_a_batch_of_rows() -> None:
    """So a key may have more, of which none is to be missing."""
    rows = pa.table({"type": ["A"] * 3, KEY: ["k"] * 3, ORDER: range(3), ID: ["a", "b", "c"]})
    query, budget = SparkQuery("A+", output="valuations"), Budget(matches=4)
    made = answer_batches(rows.to_batches(), query.to_json(), Columns((ORDER,), id=ID), "valuations", budget, "aside")
    assert [batch.num_rows for batch in made] == [3, 4]  # the last row waits for one of the same place in the order
    its = SparkJob(query, rows, rows, {}, {"partition_by": None, "on_error": "aside", "id_col": ID})
    found, over = expected(its), {ONLY: BudgetExceeded.code}
    assert compared(its, over, found, {}, Counter()) is None
    assert compared(its, over, {ONLY: found[ONLY][1:]}, {}, Counter()) is not None
    assert compared(its, over, {}, {}, Counter()) is not None
    assert compared(its, over, {}, {f"key {ONLY}": "over budget"}, Counter()) is None
    assert compared(replace(its, options={"partition_by": None}), over, {}, {}, Counter()) is not None


def test_a_match_of_a_stream_that_binds_nothing_is_the_expected_one() -> None:
    row = {"k": "a", "time": datetime(2026, 1, 1), "type": "A", "id": "e0"}
    wanted = disorder.expected(SparkQuery("PROJECT[](A)", output="valuations"), [row], timedelta.max)
    answer = {"k": "a", "at": "e0", "events": [], "bindings": {}}
    assert set(disorder.found_in([answer])) == set(wanted) != set()


# ---- campaign files ----
# The plan of a campaign on Spark, where the file is of something else.


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [1]}),
        pa.table({"plan": ["{}"], "range": ["a"]}),
        pa.table({"plan": ["{}"], "range": [1]}),
        pa.table({"plan": ["1"], "range": [1]}),
        pa.table({"plan": ["{"], "range": [1]}),
        pa.table({"plan": pa.array([], pa.string())}),
    ],
)
def test_a_plan_of_something_else_is_refused(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "plan.parquet")
    with pytest.raises(InputError, match=f"^{tmp_path} is not a folder of a campaign: "):
        Folder(tmp_path).plan()


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path} is not a folder of a campaign: "):
        Folder(tmp_path).plan()

"""The campaign as a Spark job: what it finds, and that it ends the same when it is killed or a worker dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from click.testing import CliRunner
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from cerify.conformance.campaigns import MIXES, Job, PlanShare
from cerify.languages.language import BuiltIn, Options
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.spark import campaign as campaigns
from cerify.spark.campaign import Folder, Work, campaign, found_in, missing, render
from proofs_tests.campaigns import spark_connectors, spark_submit, spark_versions
from proofs_tests.support import sampled

# ---- campaign ----
#

TOY = Path(__file__).parents[3] / "docs" / "guide" / "adapters" / "toy.py"

CEL = Job((PlanShare("cel", "core"),), ("automaton",), nodes=6, events=6)
MUTE = """
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        answer = {"protocol": 1, "engine": {"name": "mute", "version": "1"}, "languages": ["cel"]}
        open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    elif message["cmd"] == "stop":
        break
    else:
        if "UNLESS" in message["query"] and len(message["events"]) > 4:
            os._exit(3)
        answer = {"id": message["id"], "matches": []}
    print(json.dumps(answer), flush=True)
"""


EVALUATORS = (("automaton",), ("automaton", "kernel"))


def summary(path: Path) -> dict[str, Any]:
    """What the folder says, but for the seconds."""
    found = found_in(path)
    told = {name: value for name, value in found.json().items() if "second" not in name}
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in found.sample]
    return told | {"sample": rows, "over": [row["case"] for row in found.over]}


def as_in_one_process(job: Job, cases: int) -> dict[str, int]:
    """The totals of a plan of one part by the campaign that needs no Spark."""
    from cerify.equivalence.differential import campaign as local

    (part,) = job.parts
    plan = replace(job.plans[part], right=job.built_in(part)["automaton"], cases=cases)
    return dict(local(plan).outcomes)


@pytest.mark.thorough
def test_a_case_is_the_same_as_in_one_process_and_the_parquet_holds_it_all(spark: SparkSession, tmp_path: Path) -> None:
    job = replace(CEL, parts=(PlanShare("cel", "everything"),), nodes=12, valuations=1_000_000, states=100_000)
    ran = campaign(job, 130, tmp_path / "c", lambda: spark, size=50)
    assert (ran.before, ran.cases, ran.deaths, ran.ended) == (0, 130, 0, None)
    found = found_in(tmp_path / "c")
    assert found.cases == 130
    assert {name: n for name, n in found.totals.items() if n} == as_in_one_process(job, 130)
    table = spark.read.parquet(str(tmp_path / "c" / "ranges"))
    assert table.where("evaluator is null").selectExpr("sum(cases)").first()[0] == 130


@pytest.mark.parametrize(
    "evaluators", sampled([("automaton", "kernel"), ("automaton",)], [("automaton",)]), ids="-".join
)
def test_all_languages_at_once(spark: SparkSession, tmp_path: Path, evaluators: tuple[str, ...]) -> None:
    """With the compiled loops of all languages each worker may have to compile them."""
    job = Job(MIXES["all"], evaluators, nodes=6, events=5, together=8, valuations=5_000)
    assert {job.part(i) for i in range(0, 3200, 8)} == set(job.parts)
    campaign(job, 48, tmp_path / "c", lambda: spark, size=24)
    found = found_in(tmp_path / "c")
    assert found.cases == 48
    assert set(found.by_evaluator) == {"definition", *evaluators}
    assert not found.totals["disagreed"]
    assert found.agreed > 36
    first, second = job.case(8), job.case(9)
    assert first[1] == second[1]
    assert first[2] != second[2]
    assert "agreed on by all of" in render(found)


@pytest.mark.thorough
def test_an_engine_serves_the_tasks_of_a_worker_and_what_it_does_wrong_is_shrunk(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The engine never has a match, and dies on UNLESS over more than four events."""
    script, started = tmp_path / "mute.py", tmp_path / "started"
    script.write_text(MUTE, encoding="utf-8")
    started.mkdir()
    engine = (sys.executable, str(script), str(started))
    job = Job((PlanShare("cel", "figure3"),), ("automaton",), engine, nodes=6, events=6)
    campaign(job, 160, tmp_path / "c", lambda: spark, size=20)
    found = found_in(tmp_path / "c")
    assert found.by_evaluator["automaton"]["disagreed"] == 0
    crashes = {cause: n for (_, _, cause), n in found.causes.items() if cause.endswith("crashed")}
    assert crashes
    assert all("UNLESS" in cause for cause in crashes)
    disagreed = ds.dataset(tmp_path / "c" / "verdicts", partitioning="hive").to_table(
        filter=ds.field("outcome") == "disagreed"
    )
    assert set(disagreed["evaluator"].to_pylist()) == {"mute 1"}
    assert disagreed.num_rows == found.by_evaluator["mute 1"]["disagreed"] == sum(found.causes.values()) > 50
    assert min(row["query"] for row in found.sample if row["cause"].endswith(": missing")) == "A"
    crash = next(row for row in found.sample if row["cause"] == "UNLESS: crashed")
    assert len(json.loads(crash["stream"])["events"]) == 5
    started_by_workers = 2 + sum(crashes.values())  # each once, and again after each crash
    shrunk = [row for row in found.sample if row["cause"].endswith("crashed")]
    assert 2 <= len(list(started.iterdir())) <= started_by_workers + 1 + job.restarts * (len(shrunk) > 0)
    assert "mute 1" in render(found)


KILLED = """
import sys
from pathlib import Path
from cerify.conformance.campaigns import Job
from cerify.spark.campaign import campaign
from cerify.spark.session import session

job = Job.of_text(sys.argv[1])
campaign(job, 300, Path(sys.argv[2]), lambda: session("local[2]", **{"spark.ui.enabled": "false"}), size=15)
"""


@pytest.mark.thorough
def test_killed_half_way_and_begun_again_it_is_as_if_unbroken(spark: SparkSession, tmp_path: Path) -> None:
    """The driver and all that it started are killed; the ranges that are done then are not done again."""
    job = replace(CEL, parts=(PlanShare("cel", "figure3", "both"),), valuations=200)  # so that some are over the budget
    argv = [sys.executable, "-c", KILLED, job.text(), str(tmp_path / "c")]
    killed = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 300
        while not Folder(tmp_path / "c").done() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "c" / "ranges").iterdir() if path.suffix}
    assert 0 < len(done) < 20
    left = tmp_path / "c" / "verdicts" / "outcome=disagreed" / "000000000285-000000000300.parquet"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_bytes(b"half a file of a range that was not done")
    ran = campaign(job, 300, tmp_path / "c", lambda: spark)
    assert ran.before + ran.cases == 300
    assert ran.before >= 15 * len(done)
    assert all(path.stat().st_mtime_ns == written for path, written in done.items())
    campaign(job, 300, tmp_path / "unbroken", lambda: spark, size=15)
    assert summary(tmp_path / "c") == summary(tmp_path / "unbroken")
    assert not left.exists()
    again = campaign(job, 300, tmp_path / "c", lambda: pytest.fail("there is nothing to do"))
    assert (again.before, again.cases) == (300, 0)


@dataclass(frozen=True)
class Deadly(Work):
    """Work with an automaton that ends the process on one query, and a kernel that does not come back on another."""

    dies: str = ""
    hangs: str = ""

    def __call__(self, batches: Any) -> Iterator[Any]:
        from cerify.languages import LANGUAGES as languages  # the worker's own, and no copy that came with the job

        evaluators: dict[str, Any] = languages["cel"].evaluators  # type: ignore[assignment]
        known = dict(evaluators)
        evaluators.update({name: self._planted(name, known[name]) for name in ("automaton", "kernel")})
        try:
            yield from super().__call__(batches)
        finally:
            evaluators.update(known)

    def _planted(self, name: str, known: BuiltIn[Any]) -> BuiltIn[Any]:
        def evaluator(phi: Any, S: Stream, options: Options) -> Iterable[Match]:
            if name == "automaton" and show(phi) == self.dies:
                os._exit(9)
            while name == "kernel" and show(phi) == self.hangs:
                pass
            return known.matches(phi, S, options)

        def why_not(phi: Any, schema: Schema | None, options: Options) -> Unsupported | None:
            prepared = known.prepare(phi, schema, options)
            return prepared if isinstance(prepared, Unsupported) else None

        return BuiltIn.from_matches(evaluator, why_not)


@pytest.mark.thorough
def test_a_case_that_kills_its_worker_or_hangs_is_an_outcome(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = replace(CEL, evaluators=("automaton", "kernel"), seconds=2.0, nodes=9)
    texts = [show(job.case(i)[1]) for i in range(90)]
    dies, hangs = (next(i for i in range(start, 90) if texts.count(texts[i]) == 1) for start in (33, 71))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(campaigns, "Work", lambda *given: Deadly(*given, texts[dies], texts[hangs]))
    ran = campaign(job, 90, tmp_path / "c", lambda: spark, size=30)
    assert (ran.cases, ran.ended) == (90, None)
    assert ran.deaths >= 2
    found = found_in(tmp_path / "c")
    assert (found.cases, found.agreed, found.totals["disagreed"], found.totals["budget"]) == (90, 88, 1, 1)
    assert (found.sample[0]["case"], found.sample[0]["evaluator"]) == (dies, "automaton")
    assert found.sample[0]["detail"] == "crashed: the process of the evaluator died, twice"
    assert found.sample[0]["note"] == "not shrunk: its process died"
    assert [(row["case"], row["evaluator"], row["detail"]) for row in found.over] == [
        (hangs, "kernel", "no answer within 2 s")
    ]


def test_an_engine_that_dies_too_often_ends_the_campaign(spark: SparkSession, tmp_path: Path) -> None:
    answer = '{"protocol": 1, "engine": {"name": "mortal", "version": "1"}, "languages": ["cel"]}'
    engine = (sys.executable, "-c", f"input(); print('{answer}', flush=True); input()")
    ran = campaign(replace(CEL, engine=engine, restarts=2), 60, tmp_path / "c", lambda: spark, size=30)
    assert ran.ended == "the engine was restarted 2 times, which is the limit"
    assert ran.cases == 0


def test_a_folder_of_another_campaign_or_of_something_else_is_refused(tmp_path: Path) -> None:
    def opened(name: str, job: Job = CEL) -> int:
        with Folder(tmp_path / name).opened(job, 100) as size:
            return size

    (tmp_path / "c" / "begun").mkdir(parents=True)  # as a call leaves it that is killed at once
    (tmp_path / "c" / ".plan.parquet.7").touch()
    assert opened("c") == 100
    with pytest.raises(InputError, match="seed is 0 there and 1 here"):
        opened("c", replace(CEL, seed=1))
    script = """
import sys
from pathlib import Path
from cerify.semantics.files import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""
    holder = [sys.executable, "-c", script, str(tmp_path / "c" / "lock")]
    with subprocess.Popen(holder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InputError, match="another run writes to"):
            opened("c")
        other.kill()
    assert opened("c") == 100
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").touch()
    with pytest.raises(InputError, match="nor a folder of a campaign"):
        opened("other")


def test_what_is_missing_does_not_overlap_what_is_done() -> None:
    assert missing(set(), 5, 25, 10) == [(5, 10), (10, 20), (20, 25)]
    assert missing({(10, 20)}, 5, 25, 10) == [(5, 10), (20, 25)]
    assert missing({(0, 5), (10, 15)}, 0, 30, 10) == [(5, 10), (15, 20), (20, 30)]
    assert missing({(0, 10), (10, 20)}, 0, 20, 10) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tested", "agreed", "disagreed"),
    [
        (["--cases", "40", "--evaluator", "automaton"], 40, 0),
        (["--cases", "200", "--", sys.executable, str(TOY)], 8, 4),
    ],
)
def test_spark_submit_runs_the_command(tested: list[str], agreed: int, disagreed: int, tmp_path: Path) -> None:
    """With a built-in evaluator, and with an engine, which has faults."""
    import pyspark

    from cerify import fuzz_submit

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ["--out", str(tmp_path / "c"), "--nodes", "6", "--json", *tested]
    argv = [str(submit), "--master", "local[1]", str(fuzz_submit.__file__), *options]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=500, check=False, env=environment)
    assert done.returncode == (disagreed > 0), done.stderr
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["summary"]
    assert (told["agreed"], told["outcomes"]["disagreed"]) == (agreed, disagreed)
    assert (tmp_path / "c" / "report.html").exists()


# ---- clusters ----
# Releases of PySpark, connectors and spark-submit, each by its campaign; they fetch a gigabyte.

FOLDER = os.environ.get("CERIFY_SPARK_RELEASES")


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4", "4.2.1"])
@pytest.mark.thorough
@pytest.mark.skipif(FOLDER is None, reason="set CERIFY_SPARK_RELEASES to a folder for what PyPI and Maven have")
def test_a_release_of_pyspark(version: str) -> None:
    found = spark_versions.with_release(version, Path(FOLDER or ""))
    assert [reason for reason in found.values() if reason.startswith("FAILS")] == []
    assert found["match: keys"] == spark_versions.WORKS


@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven fetches the connectors")
@pytest.mark.parametrize("name", [*spark_connectors.SETTINGS])
@pytest.mark.thorough
@pytest.mark.skipif(FOLDER is None, reason="set CERIFY_SPARK_RELEASES to a folder for what PyPI and Maven have")
def test_a_connector(name: str) -> None:
    result = CliRunner().invoke(spark_connectors.main, [name, "--folder", FOLDER or ""])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("way", [*spark_submit.WAYS])
@pytest.mark.thorough
@pytest.mark.skipif(FOLDER is None, reason="set CERIFY_SPARK_RELEASES to a folder for what PyPI and Maven have")
def test_spark_submit(way: str) -> None:
    result = CliRunner().invoke(spark_submit.main, [way])
    assert result.exit_code == 0, result.output

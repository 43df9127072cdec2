"""`cerify fuzz --spark URL --out DIR`: the campaign as a Spark job, and what its folder says."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from cerify import protocol
from cerify.commands.fuzz_shown import print_disagreement
from cerify.commands.progress import progress_bar
from cerify.conformance.words import CONTRADICTION, FUZZED_OUTCOMES
from cerify.console import screen
from cerify.semantics.errors import Unsupported
from cerify.semantics.output_files import write_whole
from cerify.semantics.packages import rich_table
from cerify.terminal import echo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cerify.conformance.campaign_plan import Job
    from cerify.spark.campaign import Ran
    from cerify.spark.fuzzing.report import CampaignVerdicts


def run(url: str, job: Job, cases: int, first: int, out: Path, as_json: bool) -> int:
    """Run or go on with a campaign, write the page, print the rest; the exit status."""
    try:
        from cerify.spark.campaign import campaign
        from cerify.spark.session import session
    except ImportError as error:
        raise Unsupported(f"--spark needs PySpark: pip install 'cerify[spark]' ({error})") from None
    from cerify.spark.fuzzing.report import found_in, render

    started: list[SparkSession] = []

    def spark() -> SparkSession:
        if not started:
            # spark-submit has been told by its user
            settings = {} if "PYSPARK_GATEWAY_PORT" in os.environ else {"spark.ui.enabled": "false"}
            started.append(session(url, **settings))
        return started[0]

    try:
        with progress_bar() as bar:
            task = bar.add_task("cases", total=cases)
            ran = campaign(job, cases, out, spark, first=first, progress=lambda done: bar.update(task, completed=done))
    finally:
        for each in started:
            each.stop()
    found = found_in(out)
    write_whole(out / "report.html", render(found))
    (_print_json if as_json else _print)(found, ran, out)
    return 0 if found.agreed and not found.wrong and ran.ended is None else 1


def _print_json(found: CampaignVerdicts, ran: Ran, out: Path) -> None:
    called = asdict(ran) | {"seconds": round(ran.seconds, 3)}
    echo(protocol.line({"summary": found.json(), "this_call": called}))
    for disagreement in found.disagreements():
        echo(protocol.line(disagreement))


def _print(found: CampaignVerdicts, ran: Ran, out: Path) -> None:
    from cerify.spark.fuzzing.report import result_of

    console = screen(soft_wrap=True)
    console.print(f"{found.cases:,} cases against the semantics, seed {found.job.seed}", style="bold")
    for outcome, words in FUZZED_OUTCOMES.items():
        console.print(f"  {words:26} {found.totals[outcome]:>9,}")
    table = rich_table.Table("", "some match", "no match", "not carried", "budget", "disagree", "disputed", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, counts in found.by_evaluator.items():
        table.add_row(name, *(f"{counts[outcome]:,}" for outcome in FUZZED_OUTCOMES))
    console.print(table)
    for (language, evaluator, cause), group in found.groups.items():
        result = result_of(group[0])
        notes = {
            "by": evaluator,
            "cause": cause,
            "from": f"{language}, case {', '.join(str(case) for case in sorted({row['case'] for row in group}))}",
        }
        if group[0]["note"]:
            notes["note"] = group[0]["note"]
        print_disagreement(console, result, notes)
    if found.sample:
        console.print()
    if found.totals["disputed"]:
        console.print(f"{found.totals['disputed']:,} disputed: {CONTRADICTION}")
        for row in found.disputed:
            console.print(f"  {row['language']}, case {row['case']}: {row['query']}: {row['detail']}")
    if ran.before:
        console.print(f"{ran.before:,} cases were done before")
    if ran.deaths:
        console.print(f"{ran.deaths:,} workers died")
    if ran.ended is not None:
        console.print(f"ended early: {ran.ended}")
    if not found.agreed and not found.wrong:
        console.print("no case could be compared")
    console.print(f"{found.per_second:,.0f} cases per second of a worker; {ran.cases:,} cases now, {ran.seconds:.1f} s")
    console.print(f"report: {out / 'report.html'}")

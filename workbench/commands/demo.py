"""`cerify demo`: queries over a year of flights, a conformance run of the built-in engine, one report.

The queries are in `examples/flights.py`; here they are run with a progress bar, on Esper too if Java and Maven are
installed. Then the conformance suite tests the built-in evaluator. If Esper is missing, the report says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cerify.commands.options import OUTPUT_FOLDER, progress_bar
from cerify.conformance.cases import load as load_cases
from cerify.conformance.engines import command_of, missing_for
from cerify.conformance.harness import Engine
from cerify.conformance.model import Report
from cerify.conformance.report import render as conformance_page
from cerify.conformance.run import conform
from cerify.examples import flights
from cerify.examples.flights import EXAMPLES, DemoFinding, count_passed, find, outcomes, render
from cerify.semantics.errors import InputError
from cerify.semantics.files import write_whole
from cerify.terminal import echo, echo_line, echo_lines, table_lines

if TYPE_CHECKING:
    from rich.progress import Progress

BUILT_IN = "automaton"
ENGINE = "esper"


@click.command("demo")
@click.option(
    "--out",
    type=OUTPUT_FOLDER,
    default="cerify-report",
    show_default=True,
    help="The folder of the report.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings and the conformance summary as JSON.")
def demo_command(out: Path, as_json: bool) -> int:
    """Run queries over a year of flights, test the built-in engine, and write the report.

    This needs the flights: pip install 'cerify[examples]'. With Java and Maven, Esper runs on the samples too. Exit
    status: 0 if the automaton agrees with the reference evaluator everywhere, 1 if it does not.
    """
    flights.data_folder()  # its error names the extra that brings all packages of the demo
    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar(transient=False))
        table = loaded(bar)
        engine, note = second_engine(stack, bar)
        findings = []
        task = bar.add_task("queries", total=len(EXAMPLES))
        for example in EXAMPLES:
            bar.update(task, description=example.name)
            findings.append(find(example, table, engine))
            bar.advance(task)
        bar.update(task, description="queries")
        report = conformance(bar)
    index = write(out, findings, report, engine.info.name if engine is not None else "", note)
    if as_json:
        echo(json.dumps(as_object(findings, report, note, index), ensure_ascii=False))
    else:
        show(findings, report, note, engine.info.name if engine is not None else "")
        echo(f"report: {index}")
    return 0 if report.conforms and all(finding.agree for finding in findings) else 1


def loaded(bar: Progress) -> Any:
    """Return the table of all events, and show the progress."""
    task = bar.add_task("reading the flights", total=1)
    table = flights.load()
    bar.update(task, completed=1, description=f"{table.num_rows:,} events")
    return table


def second_engine(stack: ExitStack, bar: Progress) -> tuple[Engine | None, str]:
    """Start Esper; return the engine, or None and the reason why it cannot run."""
    if (missing := missing_for(ENGINE)) is not None:
        return None, f"Esper was not run: {missing}."
    task = bar.add_task("building and starting Esper", total=1)
    try:
        engine = stack.enter_context(Engine(command_of(ENGINE)))
    except InputError as error:
        return None, f"Esper was not run: {error.message.splitlines()[0]}."
    finally:
        bar.update(task, completed=1)
    return engine, ""


def conformance(bar: Progress) -> Report:
    """Run the built-in engine on every built-in suite, and return the report."""
    task = bar.add_task("conformance", total=None)

    def progress(what: str, done: int, total: int) -> None:
        bar.update(task, description=f"conformance, {what}", completed=done, total=total)

    return conform(command_of(BUILT_IN), load_cases(None), "all built-in suites", progress=progress)


def write(out: Path, findings: Sequence[DemoFinding], report: Report, engine: str, note: str) -> Path:
    """Write the pages, and return the path of the first. Raises InputError."""
    index, other = out / "index.html", out / "conformance.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the report cannot be written to {out}: {error.strerror}") from None
    write_whole(other, conformance_page(report))
    write_whole(index, render(findings, report, engine, note, other.name))
    return index


def show(findings: Sequence[DemoFinding], report: Report, note: str, engine: str) -> None:
    """Print the table of findings and the result of the conformance run."""
    headings, rows = ("query", "events", "matches", "ms", "agree", *((engine,) if engine else ())), []
    for finding in findings:
        agreed = f"{count_passed(s.automaton for s in finding.samples)}/{len(finding.samples)}"
        row = [
            finding.example.name,
            f"{len(finding.stream):,}",
            f"{finding.total:,}",
            f"{finding.seconds * 1000:.1f}",
            agreed,
        ]
        if engine:
            asked = outcomes(s.engine for s in finding.samples)
            row.append(", ".join(f"{number} {outcome}" for outcome, number, _ in asked))
        rows.append(row)
    echo_lines(table_lines(headings, rows, range(1, len(headings))))
    if note:
        echo_line(note)
    passed_, total, skipped = report.totals["passed"], len(report.results), report.totals["skipped"]
    echo_line(
        f"conformance of {report.engine}: {passed_} of {total} passed, {skipped} skipped, {report.seconds:.1f} s",
    )


def as_object(findings: Sequence[DemoFinding], report: Report, note: str, index: Path) -> dict[str, Any]:
    """Return the findings and the conformance result as one JSON object."""
    return {
        "queries": [
            {
                "name": f.example.name,
                "question": f.example.question,
                "query": f.example.query,
                "substream": str(f.example.cut),
                "events": len(f.stream),
                "matches": f.total,
                "seconds": round(f.seconds, 3),
                "samples": [
                    {
                        "positions": list(s.window.positions),
                        "matches": len(s.automaton.case.matches),
                        "automaton": s.automaton.outcome,
                        "engine": s.engine.outcome if s.engine is not None else None,
                    }
                    for s in f.samples
                ],
            }
            for f in findings
        ],
        "engine": {"name": ENGINE, "note": note or None},
        "conformance": {
            "engine": {"name": report.engine, "version": report.version},
            "cases": len(report.results),
            "totals": dict(report.totals),
        },
        "report": str(index),
    }

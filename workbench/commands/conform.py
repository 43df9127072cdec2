"""`cerify conform`: put an engine under test with the conformance suite."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cerify import protocol
from cerify.commands.files import write
from cerify.commands.progress import progress_bar
from cerify.conformance.cases import load
from cerify.conformance.engines import NAMES, command_of
from cerify.conformance.model import FAILURES, Divergence, Outcome, Report, Result
from cerify.conformance.process import Limits
from cerify.conformance.run import conform
from cerify.conformance.words import sentence, shown, unasked_sentence
from cerify.explanations.evidence import printable


@click.command("conform")
@click.option("--engine", help=f"An engine by name: {', '.join(NAMES)}.")
@click.option("--suite", help="A built-in suite by name, or a file of cases; all built-in suites by default.")
@click.option("--feature", "features", multiple=True, help="Only the cases of this feature; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary and one object per case, a line each.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page for people to this file.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write JUnit XML to this file.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0.01), default=10.0, show_default=True, help="Seconds per case."
)
@click.option("--memory", type=click.IntRange(min=16), default=2048, show_default=True, help="Cap in MiB.")
@click.argument("command_line", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
def command(
    engine: str | None,
    suite: str | None,
    features: tuple[str, ...],
    as_json: bool,
    html: Path | None,
    junit: Path | None,
    time_limit: float,
    memory: int,
    command_line: tuple[str, ...],
) -> int:
    """Put an engine under test: run the suite, compare with the semantics, shrink what differs.

    COMMAND starts the engine, which speaks the protocol on standard input and output.

    A failure is judged again by the plain definition; if cerify contradicts itself, the case is disputed, not failed.

    Exit status: 0 if something passed and nothing failed or is disputed (skips do not fail), 1 otherwise, 2 if it
    cannot be started.
    """
    if (engine is None) == (not command_line):
        raise click.UsageError("give the engine's command after --, or a built-in engine with --engine NAME")
    for path in (html, junit):
        if path is not None and not path.parent.is_dir():
            raise click.UsageError(f"the folder {path.parent} for the report does not exist")
    cases = load(suite)
    if features:
        known = {case.feature for case in cases}
        if unknown := sorted(set(features) - known):
            near = [name for one in unknown for name in get_close_matches(one, known)]
            raise click.UsageError(
                f"the suite has no feature {', '.join(unknown)}; "
                f"{'is it' if near else 'it has'} {', '.join(near or sorted(known))}{'?' if near else ''}"
            )
        cases = [case for case in cases if case.feature in features]
    limits = Limits(run_seconds=time_limit, memory=memory * 2**20)
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)
        argv = command_of(engine) if engine is not None else command_line
        report = conform(
            argv,
            cases,
            suite or "all built-in suites",
            limits,
            lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
        )
    if as_json:
        _print_json(report)
    else:
        _print(report)
    if html is not None:
        from cerify.conformance.html import render

        write(html, render(report))
        if not as_json:
            click.echo(f"report: {html}")
    if junit is not None:
        from cerify.conformance.junit import junit as as_xml

        write(junit, as_xml(report))
    return 0 if report.conforms else 1


def summary(report: Report) -> dict[str, Any]:
    """The run in one object: the totals, with the number of cases as their denominator, and the divergences."""
    return {
        "engine": {"name": report.engine, "version": report.version},
        "suite": report.suite,
        "cases": len(report.results),
        "unasked": dict(report.unasked),
        "totals": {outcome: report.totals[outcome] for outcome in ("passed", "skipped", *sorted(FAILURES), "disputed")},
        "restarts": report.restarts,
        "seconds": round(report.seconds, 3),
        "divergences": [
            {"feature": d.feature, "cases": list(d.cases), "stopped": d.stopped or None} | _case(d.result)
            for d in report.divergences
        ],
        "disputed": [_case(result) for result in report.disputed],
    }


def _case(result: Result) -> dict[str, Any]:
    case = result.case
    got = None if result.matches is None else [protocol.json_of_match(match) for match in result.matches]
    return {
        "query": case.query,
        "schema": case.schema,
        "events": list(case.events),
        "output": case.output,
        "outcome": result.outcome,
        "expected": [protocol.json_of_match(match) for match in case.matches],
        "got": got,
        "second_opinion": None if result.second is None else [protocol.json_of_match(m) for m in result.second],
        "detail": sentence(result),
    }


def _print_json(report: Report) -> None:
    click.echo(protocol.line({"summary": summary(report)}))
    for result in report.results:
        case = {"id": result.case.id, "feature": result.case.feature, "clause": result.case.clause}
        click.echo(protocol.line(case | _case(result) | {"seconds": round(result.seconds, 4)}))


def _print(report: Report) -> None:
    console = Console()
    features: dict[str, list[Result]] = {}
    for result in report.results:
        features.setdefault(result.case.feature, []).append(result)
    console.print(f"{escape(report.engine)} {escape(report.version)}, {escape(report.suite)}", style="bold")
    counted: list[Outcome] = ["passed", "skipped", "failed"]
    if report.disputed:
        counted.append("disputed")
    table = Table("feature", "cases", *counted, "no answer")
    for column in table.columns[1:]:
        column.justify = "right"
    for feature, results in features.items():
        table.add_row(escape(feature), *_counts(results, counted))
    table.add_section()
    table.add_row("all", *_counts(report.results, counted))
    console.print(table)
    if unasked := unasked_sentence(report):
        console.print(unasked, soft_wrap=True)
    for divergence in report.divergences:
        _print_divergence(console, divergence)
    for result in report.disputed:
        _print_divergence(console, Divergence("disputed", result, (result.case.id,)))
    not_run = report.totals["not_run"]
    failures = sum(report.totals[outcome] for outcome in FAILURES) - not_run
    rest = failures - sum(len(d.cases) for d in report.divergences)
    if rest > 0:
        console.print(f"{rest} more failed and were not shrunk; --json lists every case.")
    passed, total = report.totals["passed"], len(report.results)
    if failures:
        verdict = f"departs from the semantics in {failures} cases"
    else:
        claimed = "conforms on all it claims" if report.conforms else "claims none of the cases"
        verdict = "has no verdict, since cerify contradicts itself" if report.disputed else claimed
    console.print(
        f"{passed} of {total} passed, {report.totals['skipped']} skipped, "
        f"{f'{not_run} not run, ' if not_run else ''}"
        f"{f'{len(report.disputed)} disputed, ' if report.disputed else ''}{report.restarts} restarts, "
        f"{report.seconds:.1f} s: the engine {verdict}.",
        soft_wrap=True,
    )


def _counts(results: Sequence[Result], counted: Sequence[Outcome]) -> tuple[str, ...]:
    """How many results there are, how many have each of these outcomes, and how many have another."""
    outcomes = Counter(result.outcome for result in results)
    numbers = [outcomes[outcome] for outcome in counted]
    return (str(len(results)), *map(str, numbers), str(len(results) - sum(numbers)))


def _print_divergence(console: Console, divergence: Divergence) -> None:
    result = divergence.result
    case = result.case
    console.print()
    console.print(f"{divergence.feature}: {sentence(result)}", style="bold", markup=False, soft_wrap=True)
    console.print(f"  query     {case.query}", markup=False, highlight=False, soft_wrap=True)
    if not case.events:
        console.print("  stream    no events")
    for position, event in enumerate(case.events):
        label = "  stream   " if position == 0 else "           "
        rest = {key: value for key, value in event.items() if key != "type"}
        shown_event = f"{event['type']} {json.dumps(rest, ensure_ascii=False) if rest else ''}".rstrip()
        console.print(f"{label} {position}: {printable(shown_event)}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"  expected  {shown(case.matches, 20) or 'nothing'}", markup=False, highlight=False, soft_wrap=True)
    if result.matches is not None:
        console.print(
            f"  got       {shown(result.matches, 20) or 'nothing'}", markup=False, highlight=False, soft_wrap=True
        )
    if divergence.stopped:
        console.print(f"  note      {divergence.stopped}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"  from      {', '.join(divergence.cases)}", markup=False, highlight=False, soft_wrap=True)

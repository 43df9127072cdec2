"""`cerify conform`: put an engine under test with the conformance suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import click

from cerify.commands.options import FILE, OUTPUT, AtLeast, LanguageChoice, argument, completes, option, takes
from cerify.commands.progress import interruptible, progress
from cerify.conformance.cases import SUITES, load
from cerify.conformance.engines import NAMES, command_of, command_of_database
from cerify.conformance.model import Case, Outcome, Report, Result
from cerify.conformance.oracle import Oracle
from cerify.conformance.policy import read_policies
from cerify.conformance.process import Limits
from cerify.conformance.report_json import report_lines
from cerify.conformance.report_text import NAMED, defect_text, disputed_text, opening, score, skips, verdict
from cerify.conformance.run import conform
from cerify.conformance.stored import against, read_stored
from cerify.conformance.words import count_of, plural, unasked_sentence
from cerify.console import screen
from cerify.semantics.output_files import write_whole
from cerify.semantics.packages import rich_table
from cerify.semantics.readings import choices, read
from cerify.semantics.row_pattern.reading import RowReading
from cerify.semantics.sase.reading import read_reading
from cerify.terminal import echo, printable

SKIPS = 12  # reasons for skips that are listed
INTERRUPTED = 130


def _features(ctx: click.Context) -> set[str]:
    """The features of the suite that the call names."""
    return {case.feature for case in load(ctx.params.get("suite"))}


@dataclass(frozen=True)
class Arguments:
    """The options of a call."""

    engine: str | None = option(
        "--engine", help=f"An engine by name: {', '.join(NAMES)}.", shell_complete=completes(lambda _: NAMES)
    )
    dbapi: str | None = option(
        "--dbapi",
        metavar="MODULE",
        help="A database by its module of Python's DB-API; what follows -- goes to its connect.",
    )
    language: str | None = option("--language", type=LanguageChoice(), help="Only the cases in it.")
    suite: str | None = option(
        "--suite",
        help="A built-in suite by name, or a file of cases; all built-in suites by default.",
        shell_complete=completes(lambda _: (path.stem for path in SUITES.glob("*.jsonl"))),
    )
    features: tuple[str, ...] = option(
        "--feature",
        multiple=True,
        help="Only the cases of this feature; may be given again.",
        shell_complete=completes(_features),
    )
    ids: tuple[str, ...] = option("--case", multiple=True, metavar="ID", help="Only this case; may be given again.")
    policies: tuple[Path, ...] = option(
        "--policy",
        type=FILE,
        multiple=True,
        help="Hold the engine to this profile: the choices it declares are right; again for another language.",
    )
    readings: tuple[str, ...] = option(
        "--reading",
        multiple=True,
        metavar="AXIS=VALUE",
        help="Of SASE+, as window=closed, or MATCH_RECOGNIZE, as nulls=last; may be given again.",
    )
    baseline: Path | None = option(
        "--baseline", type=FILE, help="A run stored with --json: what failed there in the same way is known."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the summary and one object per case, a line each.")
    html: Path | None = option("--html", type=OUTPUT, help="Write a page for people to this file.")
    junit: Path | None = option("--junit", type=OUTPUT, help="Write JUnit XML to this file.")
    badge: Path | None = option("--badge", type=OUTPUT, help="Write a badge, an SVG, to this file.")
    time_limit: float = option("--time-limit", type=click.FloatRange(min=0.01), default=10.0, help="Seconds per case.")
    memory: int = option("--memory", type=AtLeast(16), default=2048, help="Cap in MiB.")
    restarts: int = option("--restarts", type=AtLeast(0), default=10, help="How often it may be started again.")
    command_line: tuple[str, ...] = argument(metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)

    def require_consistent(self) -> None:
        """Raises UsageError for options that do not go together."""
        if self.dbapi is None and (self.engine is None) == (not self.command_line):
            raise click.UsageError("give the engine's command after --, or a built-in engine with --engine NAME")
        if self.dbapi is not None and self.engine is not None:
            raise click.UsageError("give --engine or --dbapi, not both")

    def argv(self) -> Sequence[str]:
        """The command that starts the engine. Raises InputError that says what is missing."""
        if self.dbapi is not None:
            return command_of_database(self.dbapi, self.command_line)
        return self.command_line if self.engine is None else command_of(self.engine)

    def cases(self) -> list[Case]:
        """The cases to run. Raises InputError for the suite, and UsageError for a feature or a case that it has not."""
        cases = [case for case in load(self.suite, self.time_limit) if self.language in (None, case.language)]
        if self.features:
            _require("feature", self.features, {case.feature for case in cases})
            cases = [case for case in cases if case.feature in self.features]
        if self.ids:
            _require("case", self.ids, {case.id for case in cases})
            cases = [case for case in cases if case.id in self.ids]
        return cases

    def suite_asked(self) -> str:
        """The name of the suite, with what of it is asked."""
        languages = () if self.language is None else (self.language,)
        some = (("language", languages), ("feature", self.features), ("case", self.ids))
        named = [f"{what} {count_of(names, NAMED)}" for what, names in some if names]
        return f"{', '.join(named)}{' of ' if named else ''}{self.suite or 'all built-in suites'}"

    def oracle(self) -> Oracle:
        """What the engine is held to. Raises InputError."""
        in_sql = [text for text in self.readings if text.partition("=")[0] in choices(RowReading)]
        policy = read_policies(self.policies)
        read(RowReading, in_sql)
        policy["row-pattern"] = {**policy.get("row-pattern", {}), **dict(text.split("=") for text in in_sql)}
        return Oracle(read_reading(text for text in self.readings if text not in in_sql), policy)

    def judging(self) -> tuple[str, ...]:
        """The options that say what is expected of which cases."""
        suite = () if self.suite is None else ("--suite", self.suite)
        policies = (text for path in self.policies for text in ("--policy", str(path)))
        return (*suite, *policies, *(text for reading in self.readings for text in ("--reading", reading)))

    def write(self, report: Report) -> None:
        """Write the files that are wanted. Raises InputError."""
        if self.html is not None:
            from cerify.conformance.html import render

            write_whole(self.html, render(report))
            if not self.as_json:
                echo(f"report: {self.html}")
        if self.junit is not None:
            from cerify.conformance.junit import junit

            write_whole(self.junit, junit(report))
        if self.badge is not None:
            from cerify.conformance.badge import badge

            write_whole(self.badge, badge(report))


@click.command("conform")
@takes(Arguments)
def command(args: Arguments) -> int:
    """Put an engine under test: run the suite, compare with the semantics, and name the defects behind what differs.

    COMMAND starts the engine, which speaks the protocol on standard input and output.

    A failure is judged again by the plain definition; if cerify contradicts itself, the case is disputed, not failed.

    Exit status: 0 if something passed and nothing failed or is disputed (skips and what is known do not fail), 1
    otherwise, 2 if it cannot be started or an option is wrong, 130 if it was interrupted (the report says how far it
    came).
    """
    args.require_consistent()
    oracle = args.oracle()
    baseline = None if args.baseline is None else read_stored(args.baseline)
    cases = args.cases()
    limits = Limits(run_seconds=args.time_limit, memory=args.memory * 2**20, restarts=args.restarts)
    with progress() as shown, interruptible():
        argv = args.argv()
        report = conform(argv, cases, args.suite_asked(), limits, shown, oracle)
    report = replace(report, options=args.judging())
    if baseline is not None:
        report = against(report, baseline)
    try:
        if args.as_json:
            for line in report_lines(report):
                echo(line)
        else:
            _print(report)
    finally:  # whoever reads standard output may have gone, as head does
        args.write(report)
    return INTERRUPTED if report.ended else 0 if report.conforms else 1


def _require(what: str, wanted: Sequence[str], known: set[str]) -> None:
    if unknown := sorted(set(wanted) - known):
        near = dict.fromkeys(
            name
            for one in unknown
            for name in (*(n for n in sorted(known) if one.startswith(n)), *get_close_matches(one, known))
        )
        others = count_of(list(near) or sorted(known), 60)
        raise click.UsageError(
            f"the suite has no {what} {', '.join(unknown)}; "
            f"{'did you mean' if near else 'it has'} {others}{'?' if near else ''}"
        )


def _print(report: Report) -> None:
    console = screen(soft_wrap=True)
    console.print(f"{report.engine} {report.version}, {report.suite}", style="bold")
    for warning in report.warnings:
        console.print(f"warning: {warning}")
    if report.held_to:
        console.print(f"held to {report.held_to}")
    if report.ended:
        console.print(report.ended, style="bold")
    console.print(opening(report), style="bold")
    for defect in report.defects:
        console.print()
        for number, line in enumerate(defect_text(defect, report)):
            console.print(line, style="" if number else "bold")
    if report.unexplained:
        console.print()
        console.print(f"unexplained  {count_of(report.unexplained, SKIPS)}")
    for result in report.disputed:
        console.print()
        for line in disputed_text(result):
            console.print(line)
    console.print()
    console.print(score(report))
    _print_table(report)
    reasons = list(skips(report))
    for reason, number in reasons[:SKIPS]:
        console.print(f"  skipped {number:>5,}  {reason or 'without a reason'}")
    if rest := sum(number for _, number in reasons[SKIPS:]):
        console.print(
            f"  skipped {rest:>5,}  for {plural(len(reasons) - SKIPS, 'other reason')}, listed by --html and --json"
        )
    if unasked := unasked_sentence(report):
        console.print(unasked)
    if report.known:
        console.print(f"{plural(len(report.known), 'failing case')} known from the baseline")
    console.print(verdict(report))


def _print_table(report: Report) -> None:
    features: dict[str, list[Result]] = {}
    for result in report.results:
        features.setdefault(result.case.feature, []).append(result)
    counted: list[Outcome] = ["passed", "skipped", "failed"]
    if report.disputed:
        counted.append("disputed")
    table = rich_table.Table("feature", "cases", *counted, "no answer")
    for column in table.columns[1:]:
        column.justify = "right"
    for feature, results in features.items():
        table.add_row(printable(feature), *_counts(results, counted))
    table.add_section()
    table.add_row("all", *_counts(report.results, counted))
    screen().print(table)


def _counts(results: Sequence[Result], counted: Sequence[Outcome]) -> tuple[str, ...]:
    """How many results there are, how many have each of these outcomes, and how many have another."""
    outcomes = Counter(result.outcome for result in results)
    numbers = [outcomes[outcome] for outcome in counted]
    return (str(len(results)), *map(str, numbers), str(len(results) - sum(numbers)))

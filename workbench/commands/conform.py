"""`cerify conform`: put an engine under test with the conformance suite.

The class of arguments has all options; `conform_command` chooses the engine and the suite, runs `conformance/run.py`,
and prints or writes the report. The other commands about engines follow: `engines` lists them, `identify` infers an
engine's semantics by questions, `trend` compares stored runs.
"""

from __future__ import annotations

import json
import os
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from cerify import protocol
from cerify.commands.options import (
    FILE,
    OUTPUT,
    OUTPUT_FOLDER,
    AtLeast,
    ChoiceOption,
    EarlyResults,
    LanguageChoice,
    argument,
    completes,
    engine_dir,
    interruptible,
    option,
    progress,
    takes,
)
from cerify.commands.rules import SUFFIXES, UnreadableRule, cases_of_rules, is_rule_folder
from cerify.conformance.cases import NAMED_SUITES, SUITES, line_of_case, load
from cerify.conformance.engines import (
    NAMES,
    SHIPPED,
    cache_folder,
    command_of,
    command_of_database,
    missing_for,
    newer_versions,
)
from cerify.conformance.harness import Limits
from cerify.conformance.identification import INTERRUPTED as IDENTIFY_INTERRUPTED
from cerify.conformance.identification import SKIPPED, AxisSeparation, identified, separations
from cerify.conformance.model import (
    Case,
    CaseResult,
    FailureKind,
    Outcome,
    Report,
    closing_sentences,
    count_of,
    format_matches,
    plural,
)
from cerify.conformance.oracle import AxisFinding, EngineProfile, Oracle, read_policies
from cerify.conformance.prediction import AXES, STAGES
from cerify.conformance.report import NAMED as report_NAMED
from cerify.conformance.report import (
    against,
    announced_json,
    announced_text,
    defect_text,
    disputed_text,
    opening,
    read_stored,
    report_lines,
    score,
    skips,
    trend,
    verdict,
)
from cerify.conformance.run import DIAGNOSIS_SECONDS, conform
from cerify.semantics.arguments import choices, format_names, parse_reading
from cerify.semantics.errors import CerifyError
from cerify.semantics.files import write_whole
from cerify.semantics.readings import Reading, RowReading
from cerify.terminal import echo, echo_error, echo_line, echo_lines, printable, table_lines

SKIPS = 12  # the most reasons for skips that are listed
INTERRUPTED = 130


def _features(ctx: click.Context) -> set[str]:
    """Return the features of the suite that the command line names."""
    return {case.feature for case in load(ctx.params.get("suite"))}


@dataclass(frozen=True)
class ConformArguments:
    """The arguments and options of `cerify conform`."""

    engine: str | None = option(
        "--engine", help=f"An engine by name: {', '.join(NAMES)}.", shell_complete=completes(lambda _: NAMES)
    )
    engine_dir: Path | None = engine_dir()
    dbapi: str | None = option(
        "--dbapi",
        metavar="MODULE",
        help="Test a database by its DB-API module; the arguments after -- go to its connect().",
    )
    language: str | None = option("--language", type=LanguageChoice(), help="Run only the cases in this language.")
    suite: str | None = option(
        "--suite",
        help="A built-in suite, a file of cases, or a file or folder of EQL or Sigma rules, whose test logs become "
        "cases; all built-in suites by default.",
        shell_complete=completes(lambda _: (path.stem for path in SUITES.glob("*.jsonl"))),
    )
    features: tuple[str, ...] = option(
        "--feature",
        multiple=True,
        help="Run only the cases of this feature; may be given again.",
        shell_complete=completes(_features),
    )
    listed: bool = option(
        "--list",
        is_flag=True,
        help="List the features of the chosen cases (with --json, the cases as a suite), and run none.",
    )
    ids: tuple[str, ...] = option("--case", multiple=True, metavar="ID", help="Run only this case; may be given again.")
    policies: tuple[Path, ...] = option(
        "--policy",
        type=FILE,
        multiple=True,
        help="Accept the choices that this profile declares; may be given again, for another language.",
    )
    readings: tuple[str, ...] = option(
        "--reading",
        multiple=True,
        metavar="AXIS=VALUE",
        help="Another answer to an open question of SASE+, such as window=closed, or MATCH_RECOGNIZE, such as "
        "nulls=last; may be given again.",
    )
    baseline: Path | None = option(
        "--baseline", type=FILE, help="A run stored with --json. Its failures are known and do not count."
    )
    as_json: bool = option("--json", is_flag=True, help="Print the summary and one object per case, a line each.")
    html: Path | None = option("--html", type=OUTPUT, help="Write an HTML page to this file.")
    junit: Path | None = option("--junit", type=OUTPUT, help="Write JUnit XML to this file.")
    badge: Path | None = option("--badge", type=OUTPUT, help="Write a badge, an SVG, to this file.")
    time_limit: float = option(
        "--time-limit", type=click.FloatRange(min=0.01), default=10.0, help="Seconds for each case."
    )
    diagnosis_limit: float = option(
        "--diagnosis-limit",
        metavar="SECONDS",
        type=click.FloatRange(min=0),
        default=DIAGNOSIS_SECONDS,
        help="The longest time for judging failures again and for finding smaller cases and causes.",
    )
    memory: int = option("--memory", type=AtLeast(16), default=2048, help="The most memory of the engine, in MiB.")
    restarts: int = option("--restarts", type=AtLeast(0), default=10, help="How often the engine may be started again.")
    command_line: tuple[str, ...] = argument(metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)

    def require_consistent(self) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.dbapi is None and (self.engine is None) == (not self.command_line):
            raise click.UsageError("give the engine's command after --, or a built-in engine with --engine NAME")
        if self.dbapi is not None and self.engine is not None:
            raise click.UsageError("give --engine or --dbapi, not both")

    def argv(self) -> Sequence[str]:
        """Return the command that starts the engine. Raises InputError, which says what is missing to run it."""
        if self.dbapi is not None:
            return command_of_database(self.dbapi, self.command_line)
        return self.command_line if self.engine is None else command_of(self.engine, self.engine_dir)

    @property
    def suite_named(self) -> str | None:
        """Return the name of the suite to run, if the options determine one.

        If --language names a language that is not in all built-in suites, return the suite of that language; else None.
        """
        alone = self.language is not None and (NAMED_SUITES / f"{self.language}.jsonl").exists()
        return self.language if self.suite is None and alone else self.suite

    @property
    def names_rules(self) -> bool:
        """Return whether the suite is a file or a folder of rules."""
        named = self.suite_named
        return named is not None and (is_rule_folder(named) or Path(named).suffix in SUFFIXES)

    def cases(self) -> tuple[list[Case], bool]:
        """Return the cases to run, and whether all rules of a folder could be read. Print the rules that could not.

        Raises InputError for the suite, and UsageError for an unknown feature or case.
        """
        named, unreadable = self.suite_named, tuple[UnreadableRule, ...]()
        if named is not None and self.names_rules:
            cases, unreadable = cases_of_rules(Path(named))
            for bad in unreadable:
                echo_error(f"{bad.place}: {bad.message}")
        else:
            cases = load(named, self.time_limit)
        cases = [case for case in cases if self.language in (None, case.language)]
        if not cases and self.language is not None:
            of = "the built-in suites have" if self.suite is None else f"the suite {self.suite} has"
            raise click.UsageError(
                f"{of} no cases in {self.language}; give --suite FILE with such cases, or compare random queries: "
                f"cerify fuzz --language {self.language} -- COMMAND"
            )
        if self.features:
            _require("feature", self.features, {case.feature for case in cases})
            cases = [case for case in cases if case.feature in self.features]
        if self.ids:
            _require("case", self.ids, {case.id for case in cases})
            cases = [case for case in cases if case.id in self.ids]
        return cases, not unreadable

    def suite_asked(self) -> str:
        """Return the description of the suite in reports, with the chosen language, features and cases."""
        languages = () if self.language is None else (self.language,)
        some = (("language", languages), ("feature", self.features), ("case", self.ids))
        named = [f"{what} {count_of(names, report_NAMED)}" for what, names in some if names]
        return f"{', '.join(named)}{' of ' if named else ''}{self.suite_named or 'all built-in suites'}"

    def oracle(self) -> Oracle:
        """Return the oracle: it computes the expected matches, by the options --reading and --policy. Raises
        InputError.
        """
        in_sql = [text for text in self.readings if text.partition("=")[0] in choices(RowReading)]
        policy = read_policies(self.policies)
        parse_reading(RowReading, in_sql)
        policy["row-pattern"] = {**policy.get("row-pattern", {}), **dict(text.split("=") for text in in_sql)}
        return Oracle(parse_reading(Reading, (text for text in self.readings if text not in in_sql)), policy)

    def judging(self) -> tuple[str, ...]:
        """Return the options that determine which cases run and what is expected of them."""
        suite = () if self.suite is None else ("--suite", self.suite)
        policies = (text for path in self.policies for text in ("--policy", str(path)))
        return (*suite, *policies, *(text for reading in self.readings for text in ("--reading", reading)))

    def naming(self) -> tuple[str, ...]:
        """Return the options that name the engine; none if a command starts it."""
        if self.engine is None:
            return ()
        return ("--engine", self.engine, *(() if self.engine_dir is None else ("--engine-dir", str(self.engine_dir))))

    def write(self, report: Report) -> None:
        """Write the report to the files that options name. Raises InputError."""
        if self.html is not None:
            from cerify.conformance.report import render

            write_whole(self.html, render(report))
            if not self.as_json:
                echo(f"report: {self.html}")
        if self.junit is not None:
            from cerify.conformance.report import junit

            write_whole(self.junit, junit(report))
        if self.badge is not None:
            from cerify.conformance.report import badge

            write_whole(self.badge, badge(report))


@click.command("conform")
@takes(ConformArguments)
def conform_command(args: ConformArguments) -> int:
    """Test an engine: run the suite, compare its answers with the semantics, and name the defects behind failures.

    COMMAND starts the engine, which answers by the protocol on standard input and output.

    A failure is judged again by the plain definition. If cerify contradicts itself, the case is disputed, not failed.
    After ten seconds, each result is also printed on standard error as it is found, with --json as an object.

    Exit status: 0 if a case passed and no case failed or is disputed (skipped and known cases do not count), 1
    otherwise, 2 if the engine cannot be started or an option is wrong, 130 if the run was interrupted (the report says
    how far it came), 70 if the search for causes failed by a defect of cerify (the cases are judged all the same). If a
    rule of a folder cannot be read, the others are tested, and the status is 2.
    """
    if args.listed:
        cases, all_read = args.cases()
        for case in cases if args.as_json else ():
            echo(line_of_case(case))
        if args.as_json:
            return 0 if all_read else 2
        for (language, feature), count in Counter((case.language, case.feature) for case in cases).items():
            echo(f"{language}\t{feature}\t{plural(count, 'case')}")
        return 0 if all_read else 2
    args.require_consistent()
    oracle = args.oracle()
    baseline = None if args.baseline is None else read_stored(args.baseline)
    cases, all_read = args.cases()
    limits = Limits(run_seconds=args.time_limit, memory=args.memory * 2**20, restarts=args.restarts)
    early = EarlyResults()

    def announce(kind: FailureKind, operators: Sequence[str], result: CaseResult) -> None:
        early.add(
            protocol.line(announced_json(kind, operators, result))
            if args.as_json
            else announced_text(operators, result)
        )

    with progress() as shown, interruptible():

        def show(step: str, done: int, total: int) -> None:
            early.print_due()
            shown(step, done, total)

        argv = args.argv()
        of_rules = args.names_rules or _are_logs_of_rules(cases)
        report = conform(
            argv, cases, args.suite_asked(), limits, show, oracle, args.diagnosis_limit, announce, of_rules
        )
    report = replace(report, options=args.judging(), engine_options=args.naming())
    if baseline is not None:
        report = against(report, baseline)
    try:
        if args.as_json:
            for line in report_lines(report):
                echo(line)
        else:
            _print(report)
    finally:  # the reader of standard output may have closed it, as head does
        args.write(report)
    if report.failure is not None and not isinstance(report.failure, CerifyError):
        traceback.print_exception(report.failure)
        return 70
    return INTERRUPTED if report.ended else 2 if not all_read else 0 if report.conforms else 1


def _are_logs_of_rules(cases: Sequence[Case]) -> bool:
    """Return whether the cases are test logs of rules, at least three for each rule on average.

    `cerify conform --list --json` writes such cases for a folder of rules.
    """
    rules = {(case.language, case.query) for case in cases}
    return all(language in ("eql", "sigma") for language, _ in rules) and 0 < 3 * len(rules) <= len(cases)


def _require(what: str, wanted: Sequence[str], known: set[str]) -> None:
    if unknown := sorted(set(wanted) - known):
        near = dict.fromkeys(
            name
            for one in unknown
            for name in (*(n for n in sorted(known) if one.startswith(n)), *get_close_matches(one, known))
        )
        hint = f"did you mean {count_of(list(near), 5)}?" if near else f"it has {format_names(sorted(known))}"
        more = "" if len(known) <= 10 else f"{' ' if near else '; '}`cerify conform --list` lists the features"
        raise click.UsageError(f"the suite has no {what} {', '.join(unknown)}; {hint}{more}")


def _print(report: Report) -> None:
    echo_line(f"{report.engine} {report.version}, {report.suite}", style="bold")
    for warning in report.warnings:
        echo_line(f"warning: {warning}")
    if report.held_to:
        echo_line(f"held to {report.held_to}")
    if report.ended:
        echo_line(report.ended, style="bold")
    echo_line(opening(report), style="bold")
    for defect in report.defects:
        echo_line()
        for number, line in enumerate(defect_text(defect, report)):
            echo_line(line, style="" if number else "bold")
    if report.unexplained:
        echo_line()
        echo_line(f"unexplained  {count_of(report.unexplained, SKIPS)}")
    for result in report.disputed:
        echo_line()
        for line in disputed_text(result):
            echo_line(line)
    echo_line()
    echo_line(score(report))
    _print_table(report)
    reasons = list(skips(report))
    for reason, number in reasons[:SKIPS]:
        echo_line(f"  skipped {number:>5,}  {reason or 'without a reason'}")
    if rest := sum(number for _, number in reasons[SKIPS:]):
        echo_line(
            f"  skipped {rest:>5,}  for {plural(len(reasons) - SKIPS, 'other reason')}, listed by --html and --json"
        )
    for sentence in closing_sentences(report):
        echo_line(sentence)
    if report.known:
        echo_line(f"{plural(len(report.known), 'failing case')} known from the baseline")
    echo_line(verdict(report))


def _print_table(report: Report) -> None:
    features: dict[str, list[CaseResult]] = {}
    for result in report.results:
        features.setdefault(result.case.feature, []).append(result)
    counted: list[Outcome] = ["passed", "skipped", "failed"]
    # This column is zero unless cerify itself has a defect, so it is shown only then.
    if report.disputed:
        counted.append("disputed")
    headings = "feature", "cases", *counted, "no answer"
    rows = [(printable(feature), *_counts(results, counted)) for feature, results in features.items()]
    total = "in total", *_counts(report.results, counted)
    echo_lines(table_lines(headings, [*rows, total], range(1, len(headings))))


def _counts(results: Sequence[CaseResult], counted: Sequence[Outcome]) -> tuple[str, ...]:
    """Return as texts the number of results, the number with each of these outcomes, and the number with any other
    outcome.
    """
    outcomes = Counter(result.outcome for result in results)
    numbers = [outcomes[outcome] for outcome in counted]
    return (str(len(results)), *map(str, numbers), str(len(results) - sum(numbers)))


# ---------------------------------------------------------------------------------------------------------------------
# `cerify engines`: the engines that can be put under test by name.


ENGINE_COLUMNS = ("name", "engine", "licence", "state", "missing")


@click.command("engines")
@click.option("--json", "as_json", is_flag=True, help="Print one object per engine, a line each.")
@click.option("--outdated", is_flag=True, help="Ask the package registries for newer versions of the pinned packages.")
@click.option("--engine-dir", type=OUTPUT_FOLDER, help="The folder that cerify conform --engine-dir names.")
def engines_command(as_json: bool, outdated: bool, engine_dir: Path | None) -> int:
    """List the engines of conform --engine and fuzz --engine, and what is missing on this machine to run them.

    The state of an engine is ready, installable or missing. For an installable engine, the first call with --engine
    builds the adapter and installs the engine from its package registry (PyPI, Maven Central, crates.io) in the folder
    --engine-dir, by default the user's cache folder. OpenCEP and SASE are loaded from the checkouts that the
    environment variables CERIFY_OPENCEP_HOME and CERIFY_SASE_HOME name. CORE must be built in its checkout, which
    CERIFY_CORE_HOME names.

    Exit status: 0 if every engine can be run, 1 if something is missing; with --outdated 1 if a registry has a newer
    version, 2 if a registry cannot be reached.
    """
    if outdated:
        return _list_outdated(as_json)
    folder = engine_dir or cache_folder(os.environ)
    rows = [_row(name, folder) for name in NAMES]
    if as_json:
        for row in rows:
            echo(protocol.line(row))
    else:
        cells = [[row[name] or "nothing" for name in ENGINE_COLUMNS] for row in rows]
        echo_lines(table_lines(ENGINE_COLUMNS, cells, ()))
    return 0 if all(row["missing"] is None for row in rows) else 1


def _row(name: str, folder: Path) -> dict[str, str | None]:
    adapter = SHIPPED.get(name)
    engine, licence = ("cerify", "Apache-2.0") if adapter is None else (adapter.engine, adapter.licence)
    missing = missing_for(name)
    is_ready = adapter is None or adapter.is_ready(folder)
    state = "missing" if missing is not None else "ready" if is_ready else "installable"
    return {"name": name, "engine": engine, "licence": licence, "state": state, "missing": missing}


def _list_outdated(as_json: bool) -> int:
    rows = [{"name": name, "package": p, "pinned": pinned, "newest": new} for name, p, pinned, new in newer_versions()]
    if as_json:
        for row in rows:
            echo(protocol.line(row))
    else:
        echo_lines(table_lines(("name", "package", "pinned", "newest"), [[*row.values()] for row in rows], ()))
    return 1 if any(row["newest"] != row["pinned"] for row in rows) else 0


# ---------------------------------------------------------------------------------------------------------------------
# `cerify identify`: what an engine means by its queries.


@click.command("identify")
@click.option("--engine", help=f"An engine by name: {', '.join(NAMES)}.", shell_complete=completes(lambda _: NAMES))
@click.option(
    "--engine-dir",
    type=OUTPUT_FOLDER,
    help="Where --engine builds adapters and installs engines; by default the user's cache folder.",
)
@click.option(
    "--language", type=ChoiceOption(sorted(STAGES)), help="The language to ask about; by default the engine's first."
)
@click.option(
    "--axes", is_flag=True, help="Print each value of each axis with the shortest query and stream that distinguish it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as one JSON object.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0.01), default=10.0, show_default=True, help="Seconds per question."
)
@click.argument("command_line", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
def identify_command(
    engine: str | None,
    engine_dir: Path | None,
    language: str | None,
    axes: bool,
    as_json: bool,
    time_limit: float,
    command_line: tuple[str, ...],
) -> int:
    """Ask an engine at most 500 short questions, and print its profile: the choices that explain its answers.

    COMMAND starts the engine, which answers by the protocol on standard input and output. The last questions, up to
    110, are random. The profile, stored with --json, can be given to `cerify conform --policy`. The best check of a
    profile is `cerify fuzz --policy`.

    Exit status: 0 if every axis has a value, or several values that no question distinguished; 1 if no value explains
    the answers on some axis, or the engine answered nothing or stopped before the end; 2 if the engine cannot be
    started; 130 if the command was interrupted (the findings so far are printed).
    """
    if axes:
        if engine is not None or command_line:
            raise click.UsageError("--axes only lists the axes and runs no engine: leave the engine or --axes out")
        for one in separations(language or "cel"):
            echo(protocol.line(_separation_json(one)) if as_json else _separation_text(one))
        return 0
    if (engine is None) == (not command_line):
        raise click.UsageError("give the engine's command after --, or a built-in engine with --engine NAME")
    with progress() as shown, interruptible():
        command = command_of(engine, engine_dir) if engine is not None else command_line
        profile = identified(command, language, Limits(run_seconds=time_limit), shown)
    if as_json:
        echo(protocol.line(profile.as_json()))
    else:
        _print_profile(profile)
    known = profile.axes and all(finding.value is not None or finding.alike for finding in profile.axes.values())
    if profile.stopped == IDENTIFY_INTERRUPTED:
        return INTERRUPTED
    return 0 if known and not profile.stopped else 1


def _separation_json(one: AxisSeparation) -> dict[str, Any]:
    told = [a if isinstance(a, str) else [match.json() for match in a] for a in (one.expected, one.given)]
    asked = one.question and {"query": one.question.query, "events": list(one.question.events)}
    answers = dict(zip(("expected", "given"), told, strict=True)) if asked else {}
    return {"axis": one.axis, "value": one.value, "beside": one.beside, **(asked or {}), **answers}


def _separation_text(one: AxisSeparation) -> str:
    names = f"{one.axis}={one.value}{''.join(f', beside {n}={v}' for n, v in one.beside.items())}"
    if one.question is None:
        return f"{names}: no question distinguishes it"
    asked = f"{names}: {one.question.query} on {' '.join(_event(dict(event)) for event in one.question.events)}"
    match one.given, one.expected:
        case list() as given, list() as expected:
            less = format_matches([m for m in expected if m not in given], 3, given)
            more = format_matches([m for m in given if m not in expected], 3, expected)
            return printable(f"{asked}: {'; '.join([f'lacks {less}'] * bool(less) + [f'adds {more}'] * bool(more))}")
        case str(), _:
            return printable(f"{asked}: an error")
        case _:
            return printable(f"{asked}: no error")


SKIPPED_ALL = "the engine skips all questions about them"


def _print_profile(profile: EngineProfile) -> None:
    echo_line(f"{profile.name} {profile.version}, {profile.language}", style="bold")
    rows = [("axis", "value", "explains", "")]
    for name, finding in profile.axes.items():
        explained = f"{finding.explained} of {finding.answers}"
        value = finding.value or ("none fits", "open", "several fit")[min(len(finding.alike), 2)]
        rows.append((name, value, explained, _note(name, finding, profile)))
    rows += ((name, "not asked", "", why) for name, why in profile.not_asked.items() if why != SKIPPED)
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3])
        echo_line("  ".join(cells).rstrip())
    if skipped := [name for name, why in profile.not_asked.items() if why == SKIPPED]:
        echo_line(f"Not asked, as {SKIPPED_ALL}: {', '.join(skipped)}.")
    echo_line(f"{profile.questions} questions.")
    echo_line("Random cases check a profile: write it with --json to a FILE, and run cerify fuzz --policy FILE.")
    for remark in profile.remarks:
        echo_line(f"Note: {remark}.")
    if profile.stopped:
        echo_line(f"Stopped before the last question: {profile.stopped}.")


def _note(name: str, finding: AxisFinding, profile: EngineProfile) -> str:
    """Return the remarks about a finding, to be printed beside its numbers."""
    notes = []
    axes = AXES[profile.language]
    default = (axes.get(name) or next(axis for axis in axes.values() if axis.base == name)).default
    if finding.value not in (None, default):
        notes.append(f"the default is {default}")
    if len(finding.alike) == 1 and finding.value is None:
        unfit = "they also depend on an axis for which no value fits"
        why = "an answer with further operators is not explained" if finding.exception else unfit
        notes.append(f"perhaps {finding.alike[0]}: it fits the answers on this axis, but {why}")
    elif finding.alike and finding.value is None:
        apart = "they differ only in answers that also depend on an axis for which no value fits"
        notes.append(f"{', '.join(finding.alike)}: {apart}")
    elif finding.alike:
        notes.append(f"or {', '.join(finding.alike)}: no question distinguishes them")
    if finding.by_type:
        types = (f"{' or '.join(values)} for {kind}" for kind, values in finding.by_type.items())
        notes.append(f"the types differ: {', '.join(types)}")
    if finding.exception is not None:
        events = " ".join(_event(dict(event)) for event in finding.exception.events)
        notes.append(f"not explained: {finding.exception.query} on {events}")
    return "; ".join(notes)


def _event(event: dict[str, object]) -> str:
    rest = {name: value for name, value in event.items() if name != "type"}
    return f"{event['type']}{json.dumps(rest) if rest else ''}"


# ---------------------------------------------------------------------------------------------------------------------
# `cerify trend`: how the conformance of an engine changed from run to run.

NAMED = 5  # the most cases of a step that are listed


@click.command("trend")
@click.option("--json", "as_json", is_flag=True, help="Print one object for each run, a line each.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
def trend_command(files: tuple[Path, ...], as_json: bool) -> int:
    """Compare stored runs of `cerify conform --json`, the oldest first.

    For each run, print how many cases pass, which ones began to pass (mended), and which ones began to fail (broken).

    A run with --policy or --reading is compared with the last earlier run with the same choices.

    Exit status: 1 if a case that passed in the previous run fails in the last run, 2 on an error, otherwise 0.
    """
    steps = list(trend([read_stored(path) for path in files]))
    if as_json:
        for step in steps:
            echo(protocol.line(step.json()))
        return 1 if steps[-1].broken else 0
    held = any(step.held_to for step in steps)
    rows = []
    for step in steps:
        numbers = (step.passed, step.claimed, step.defects, len(step.mended), len(step.broken))
        names = (step.engine, step.held_to) if held else (step.engine,)
        rows.append((*map(printable, names), *map(str, numbers)))
    headings = "engine", *(["held to"] if held else []), "passed", "claimed", "defects", "mended", "broken"
    echo_lines(table_lines(headings, rows, range(len(headings) - 5, len(headings))))
    for step in steps:
        if step.broken:
            broken = count_of(sorted(step.broken), NAMED)
            echo_line(f"broken in {step.engine}: {broken}")
    return 1 if steps[-1].broken else 0

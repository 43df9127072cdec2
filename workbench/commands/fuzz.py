"""`cerify fuzz`: compare an engine, or a built-in evaluator, with the semantics on random cases.

Read it in four parts: how a disagreement is printed, campaigns on Spark, streams of one query, and the options with the
command. Cases are made and compared in `conformance/campaigns.py`; one loop serves engines and built-in evaluators. The
wrong answers of an earlier run (--known) do not count.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.commands.options import (
    CONSUMPTIONS,
    FILE,
    OUTPUT,
    OUTPUT_FOLDER,
    SELECTIONS,
    AtLeast,
    ChoiceOption,
    EarlyResults,
    argument,
    completes,
    engine_dir,
    interruptible,
    language,
    option,
    progress,
    progress_bar,
    takes,
)
from cerify.conformance.campaigns import (
    MIXES,
    TOGETHER,
    BoundMaker,
    ClaimedMaker,
    EngineEvaluator,
    Job,
    KnownDisagreements,
    PlanShare,
    PolicyEvaluator,
    SelectedMaker,
    Streams,
    built_in,
    definition,
    generated_languages,
    plan_of,
    read_known,
)
from cerify.conformance.cases import Claims, claims_of_engine, unknown_names
from cerify.conformance.defects import bearing_choices, choices_behind, first_difference, why_of
from cerify.conformance.engines import NAMES, command_of
from cerify.conformance.harness import Engine, Limits
from cerify.conformance.model import (
    CONTRADICTION,
    FUZZED_OUTCOMES,
    Case,
    CaseResult,
    difference,
    format_matches,
    plural,
    sentence,
)
from cerify.conformance.oracle import Oracle, SecondOpinionIn, read_policies
from cerify.conformance.report import announced_text, event_text, labelled, match_command, result_json
from cerify.conformance.run import StreamSearch, search
from cerify.equivalence.differential import (
    Answer,
    CampaignPlan,
    Checkpoint,
    Disagreement,
    Output,
    Summary,
    by_cause,
    campaign,
    cause,
    run_one_case,
)
from cerify.languages import language_named
from cerify.languages.language import DENOTATIONAL, EVALUATORS, Language
from cerify.semantics.arguments import Selection
from cerify.semantics.errors import InputError, InternalError, Unsupported
from cerify.semantics.files import write_whole
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.terminal import echo, echo_line, echo_lines, picked, table_lines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cerify.spark.campaign import CampaignVerdicts, Ran


# ---------------------------------------------------------------------------------------------------------------------
# A disagreement of `cerify fuzz`, as it is printed for a person.


def result_of(d: Disagreement, language: Language[Any], consumption: Consumption = Consumption.NONE) -> CaseResult:
    """Return the shrunk disagreement as the result of a case.

    If the reference evaluator gave no answer, the case has no expected match.
    """
    schema = d.stream.schema
    case = Case(
        id=f"case {d.index}",
        feature="",
        clause="",
        language=language.name,
        query=language.syntax.show(d.phi),
        schema=None if schema is None else json_of_schema(schema),
        events=[json_of_event(event) for event in d.stream],
        output=d.output,
        matches=[] if isinstance(d.left, str) else sorted(d.left),
        consumption=consumption,
    )
    got, detail = (None, d.right) if isinstance(d.right, str) else (sorted(d.right), "")
    return CaseResult(case, "disputed" if d.disputed else "error" if got is None else "failed", got, detail)


def why(result: CaseResult, held: Mapping[str, str] = {}) -> str:
    """Return an explanation of the first difference; "" if there is none. held: the choices of a policy."""
    if first_difference(result) is None:  # checked first, because trying the choices one by one takes long
        return ""
    consumption = result.case.consumption
    plain = consumption is Consumption.NONE
    return why_of(result, choices_behind(result.case, held) if plain else {"consumption": consumption.value})


def rerun(index: int, engine: Sequence[str]) -> str:
    """Return a shell command that runs a case again, with the options of this call that affect it, and its engine."""
    context = click.get_current_context()
    words = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in BEARING or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        for one in value if parameter.multiple else (value,):
            words += [parameter.opts[0], str(one)]
    return shlex.join(["cerify", "fuzz", *words, "--case", str(index), *(("--", *engine) if engine else ())])


BEARING = frozenset(
    {"language", "evaluators", "engine", "policies", "seed", "nodes", "events", "profile", "streams", "selection"}
    | {"consumption", "output", "together", "time_limit", "memory"}
)
"""The options of `cerify fuzz` that determine its cases, and how its engine is run."""


def print_disagreement(
    result: CaseResult,
    notes: Mapping[str, str],
    again: Sequence[str] = (),
    held: Mapping[str, str] = {},
) -> None:
    """Print a disagreement: the query, the events, both answers, notes, the reason, and how to reproduce it.

    notes: further lines by their labels; a note "expected" replaces the expected matches. again: commands that run the
    case again. held: the choices of a policy.
    """
    case, got = result.case, result.matches
    shows = result.outcome != "disputed" and not bearing_choices(
        case, held
    )  # then `cerify match` prints the expected matches
    echo_line()
    if got is None or "expected" in notes:
        echo_line("no answer", style="bold")
    else:
        echo_line(difference(set(case.matches), set(got)), style="bold")
    texts = {
        "query": case.query,
        "stream": "\n".join(f"{i}: {event_text(event)}" for i, event in enumerate(case.events)) or "no events",
        "expected": format_matches(case.matches, 20, got or ()) or "nothing",
        "got": result.detail if got is None else format_matches(got, 20, case.matches) or "nothing",
        **notes,
        "why": why(result, held),
        "again": "\n".join([*again, *([match_command(case)] if shows else [])]),
    }
    for label, text in texts.items():
        for line in labelled(label, text):
            echo_line(line)


# ---------------------------------------------------------------------------------------------------------------------
# `cerify fuzz --spark URL --out DIR`: the campaign as a Spark job, and what its folder says.


def run_spark(url: str, job: Job, cases: int, first: int, out: Path, as_json: bool) -> int:
    """Run or resume a campaign on Spark, write its report, and print the results; return the exit status."""
    try:
        from cerify.spark.campaign import campaign
        from cerify.spark.session import session
    except ImportError as error:
        raise Unsupported(f"--spark needs PySpark: pip install 'cerify[spark]' ({error})") from None
    from cerify.spark.campaign import found_in, render

    started: list[SparkSession] = []

    def spark() -> SparkSession:
        if not started:
            # under spark-submit, its user has chosen the settings
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
    (_print_spark_json if as_json else _print_spark)(found, ran, out)
    return 0 if found.agreed and not found.wrong and ran.ended is None else 1


def _print_spark_json(found: CampaignVerdicts, ran: Ran, out: Path) -> None:
    called = asdict(ran) | {"seconds": round(ran.seconds, 3)}
    echo(protocol.line({"summary": found.json(), "this_call": called}))
    for disagreement in found.disagreements():
        echo(protocol.line(disagreement))


def _print_spark(found: CampaignVerdicts, ran: Ran, out: Path) -> None:
    from cerify.spark.campaign import result_of

    echo_line(f"{found.cases:,} cases against the semantics, seed {found.job.seed}", style="bold")
    for outcome, words in FUZZED_OUTCOMES.items():
        echo_line(f"  {words:26} {found.totals[outcome]:>9,}")
    headings = "", "some match", "no match", "not supported", "budget", "disagree", "disputed"
    rows = [
        (name, *(f"{counts[outcome]:,}" for outcome in FUZZED_OUTCOMES)) for name, counts in found.by_evaluator.items()
    ]
    echo_lines(table_lines(headings, rows, range(1, len(headings))))
    for (language_name, evaluator, cause_name), group in found.groups.items():
        result = result_of(group[0])
        notes = {
            "by": evaluator,
            "cause": cause_name,
            "from": f"{language_name}, case {', '.join(str(case) for case in sorted({row['case'] for row in group}))}",
        }
        if group[0]["note"]:
            notes["note"] = group[0]["note"]
        print_disagreement(result, notes)
    if found.sample:
        echo_line()
    if found.totals["disputed"]:
        echo_line(f"{found.totals['disputed']:,} disputed: {CONTRADICTION}")
        for row in found.disputed:
            echo_line(f"  {row['language']}, case {row['case']}: {row['query']}: {row['detail']}")
    if ran.before:
        echo_line(f"{ran.before:,} cases were done in earlier calls")
    if ran.deaths:
        echo_line(f"{ran.deaths:,} workers died")
    if ran.ended is not None:
        echo_line(f"ended early: {ran.ended}")
    if not found.agreed and not found.wrong:
        echo_line("no case could be compared")
    rate = f"{found.per_second:,.0f} cases per second and worker"
    echo_line(f"{rate}; {ran.cases:,} cases in this call, {ran.seconds:.1f} s")
    echo_line(f"report: {out / 'report.html'}")


# ---------------------------------------------------------------------------------------------------------------------
# `cerify fuzz --query --all-streams`: one query on all short streams.


def run_streams(
    argv: Sequence[str],
    language: Language[Any],
    query: str,
    longest: int,
    limits: Limits,
    as_json: bool,
    held: Mapping[str, str],
) -> int:
    """Run an engine on all short streams and print the results; return the exit status. Raises InputError.

    held: the choices of a policy for the language, by axis.
    """
    with progress() as shown, interruptible(), Engine(argv, limits) as engine:
        name = f"{engine.info.name} {engine.info.version}"
        if language.name not in engine.info.languages:
            names = ", ".join(engine.info.languages)
            raise InputError(f"the engine does not support the language {language.name}; it supports {names}")
        output = "valuations" if language.results else "matches"
        asking, oracle = partial(shown, "asking"), Oracle(choices={language.name: held})
        found = search(engine, language, query, longest, output, asking, oracle)
    if as_json:
        _print_streams_json(name, query, found)
    else:
        _print_streams(name, query, found, held)
    return 0 if not (found.wrong or found.disputed) and not found.ended and found.skipped < found.asked else 1


def _print_streams_json(name: str, query: str, found: StreamSearch) -> None:
    summary = {
        "tested": name,
        "query": query,
        **picked(found, "planned", "asked", "skipped"),
        "wrong": len(found.wrong),
        "disputed": len(found.disputed),
        "ended": found.ended or None,
        "shortest": None if found.shortest is None else result_json(found.shortest),
    }
    echo(protocol.line({"summary": summary}))
    for result in (*found.wrong, *found.disputed):
        echo(protocol.line(result_json(result)))


def _with_choices(held: Mapping[str, str]) -> str:
    """Return the text " with axis=value, ..." for the choices of a policy; "" if there are none."""
    return f" with {', '.join(f'{axis}={value}' for axis, value in held.items())}" if held else ""


def _print_streams(name: str, query: str, found: StreamSearch, held: Mapping[str, str]) -> None:
    echo_line(f"{name}: {query}{_with_choices(held)} on all short streams", style="bold")
    text = f"{len(found.wrong):,} of {found.asked:,} streams get a wrong answer"
    if (shortest := found.shortest) is not None:
        text += f", the shortest {' '.join(event['type'] for event in shortest.case.events)}"
    echo_line(text)
    if found.disputed:
        first = found.disputed[0]
        types = " ".join(event["type"] for event in first.case.events)
        echo_line(
            f"{len(found.disputed):,} have no verdict, which is a defect of cerify; on {types}, {first.detail}",
            style="red",
        )
    if found.skipped:
        echo_line(f"{found.skipped:,} skipped")
    if found.ended:
        echo_line(f"ended early: {found.ended}")
    if shortest is not None:
        print_disagreement(replace(shortest, detail=sentence(shortest)), {}, held=held)


Progress = Callable[[Summary], None]
UNDER_TEST = tuple(name for name in EVALUATORS if name != DENOTATIONAL)
"""The built-in evaluators that can be compared with the reference evaluator."""
REASONS = 8  # the most reasons listed for cases that were not compared
RESTARTS = 50  # the most restarts of an engine in a whole campaign
TRIES = 400  # the most questions to an engine to make a disagreement smaller

PROFILES = list(
    dict.fromkeys(name for language in generated_languages() for name in language.require_cases().generator().profiles)
)

OUTPUTS: Mapping[str, tuple[Output, ...]] = {
    "matches": ("matches",),
    "valuations": ("valuations",),
    "both": ("matches", "valuations"),
}


@dataclass(frozen=True)
class FuzzArguments:
    """The arguments and options of `cerify fuzz`."""

    language: str = language()
    evaluators: tuple[str, ...] = option(
        "--evaluator",
        type=ChoiceOption(UNDER_TEST),
        multiple=True,
        help="Test this built-in evaluator; with --spark, may be given again, and all are tested by default.",
    )
    engine: str | None = option(
        "--engine", help=f"An engine by name: {', '.join(NAMES)}.", shell_complete=completes(lambda _: NAMES)
    )
    engine_dir: Path | None = engine_dir()
    cases: int = option("--cases", type=AtLeast(1), default=1000, help="How many cases.")
    seed: int = option("--seed", type=int, default=0, help="The same seed gives the same cases.")
    nodes: int = option("--nodes", type=click.IntRange(1, 60), default=12, help="The most nodes of a formula.")
    events: int = option("--events", type=click.IntRange(1, 100), default=10, help="The most events of a stream.")
    profile: str | None = option(
        "--profile",
        type=ChoiceOption(PROFILES),
        help="The operators that random formulas use; each language has its own list.  [default: core, base, or plain]",
    )
    streams: Streams | None = option(
        "--streams",
        type=ChoiceOption(["guided", "random"]),
        help="guided: lead three of four streams to a match; random: draw all events.  [default: guided, for CEL]",
    )
    selection: str = option(
        "--selection", type=SELECTIONS, default=Selection.ALL.value, help="The selection strategy of each query."
    )
    consumption: str = option(
        "--consumption",
        type=CONSUMPTIONS,
        default=Consumption.NONE.value,
        help="Which events later matches cannot use; any: all events up to the match's position.",
    )
    output: Literal["matches", "valuations", "both"] = option(
        "--output", type=ChoiceOption(list(OUTPUTS)), default="matches", help="What is compared."
    )
    stop_after: int = option(
        "--stop-after",
        type=AtLeast(1),
        default=10,
        help="Stop after this many causes, or five times as many disagreements.",
    )
    max_seconds: float | None = option(
        "--max-seconds",
        type=click.FloatRange(min=0.1),
        help="Start no case after this time; a running case is finished.",
    )
    tries: int = option(
        "--tries",
        type=AtLeast(0),
        default=TRIES,
        help="Ask an engine at most this many questions to make a disagreement smaller.",
    )
    known: Path | None = option(
        "--known",
        type=FILE,
        metavar="FILE",
        help="The --json output of an earlier call: the wrong answers in it are known, and do not count.",
    )
    policies: tuple[Path, ...] = option(
        "--policy",
        type=FILE,
        multiple=True,
        help="Accept the choices that this profile declares; may be given again, for another language.",
    )
    only: int | None = option("--case", type=AtLeast(0), metavar="N", help="Run only the case of this number.")
    together: int = option(
        "--together", type=AtLeast(1), default=1, help="Use each query for this many cases in a row."
    )
    query: str | None = option("--query", metavar="QUERY", help="Test only this query; needs --all-streams.")
    longest: int | None = option(
        "--all-streams", type=AtLeast(1), metavar="N", help="Test the --query on all streams of at most N events."
    )
    processes: int | None = option(
        "--processes", type=AtLeast(1), help="The number of processes, for --evaluator.  [default: one for each core]"
    )
    time_limit: float = option(
        "--time-limit", type=click.FloatRange(min=0.01), default=10.0, help="The seconds that an engine has for a case."
    )
    resume: Path | None = option(
        "--resume", type=OUTPUT, metavar="FILE", help="Store finished cases in this file; a later call continues there."
    )
    spark: str | None = option(
        "--spark", metavar="URL", help="Run as a job on this Spark, such as local[2]; needs --out."
    )
    out: Path | None = option(
        "--out",
        type=OUTPUT_FOLDER,
        metavar="DIR",
        help="For --spark: the folder of the campaign; a later call continues there.",
    )
    mix: str | None = option(
        "--mix",
        type=ChoiceOption(list(MIXES)),
        help="For --spark: mix cases of several languages, with every operator.",
    )
    first: int = option("--first", type=AtLeast(0), default=0, help="For --spark: the first case's number.")
    memory: int = option("--memory", type=AtLeast(16), default=2048, help="The most memory of an engine, in MiB.")
    as_json: bool = option(
        "--json", is_flag=True, help="Print the summary, and one object for each disagreement, a line each."
    )
    command_line: tuple[str, ...] = argument(metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)

    @property
    def known_language(self) -> Language[Any]:
        """Return the language that --language names."""
        return language_named(self.language)

    @property
    def profile_name(self) -> str:
        """Return the profile, by default the language's first."""
        return self.profile or next(iter(self.known_language.require_cases().generator().profiles))

    @property
    def argv(self) -> Sequence[str]:
        """Return the command of the engine under test; empty if there is none."""
        return command_of(self.engine, self.engine_dir) if self.engine is not None else self.command_line

    @property
    def held_choices(self) -> Mapping[str, str]:
        """Return the choices of the policies for the language, by axis. Raises InputError."""
        return read_policies(self.policies).get(self.language, {})

    @property
    def consuming(self) -> Consumption:
        """Return the consumption policy: which events a match takes away from later matches."""
        return Consumption.from_value(self.consumption)

    @property
    def limits(self) -> Limits:
        """Return the limits on time, memory and restarts of the engine under test."""
        return Limits(run_seconds=self.time_limit, memory=self.memory * 2**20, restarts=RESTARTS)

    def require_consistent(self) -> None:
        """Raise UsageError for options that contradict each other or the language."""
        if (self.query is None) != (self.longest is None):
            raise click.UsageError("give --query QUERY and --all-streams N together")
        if self.query is not None and not self.argv:
            raise click.UsageError("--query needs an engine: give its command after --, or --engine NAME")
        if self.spark is None and len(self.evaluators) + (self.engine is not None) + bool(self.command_line) != 1:
            raise click.UsageError("give the engine's command after --, or --engine NAME, or --evaluator NAME")
        if self.spark is None and (self.out is not None or self.mix is not None or self.first):
            raise click.UsageError("--out, --mix and --first need --spark")
        if self.spark is not None and (self.out is None or self.processes is not None or self.resume is not None):
            raise click.UsageError(
                "--spark needs --out DIR, and takes neither --processes nor --resume: it resumes the "
                "campaign in an existing DIR"
            )
        if self.spark is not None and self.together > 1:
            raise click.UsageError("--spark does not support --together; leave it out")
        if self.processes is not None and not self.evaluators:
            raise click.UsageError("--processes needs --evaluator: an engine runs in one process of its own")
        if self.spark is not None and self.selection != Selection.ALL.value:
            raise click.UsageError("--spark does not support --selection: its random queries already have strategies")
        if self.policies and (self.spark is not None or self.evaluators or self.consumption != Consumption.NONE.value):
            raise click.UsageError("--policy is only for an engine: leave out --evaluator, --spark and --consumption")
        if self.spark is not None and self.consumption != Consumption.NONE.value:
            raise click.UsageError("--spark does not support --consumption; leave it out")
        generator = self.known_language.require_cases().generator()
        if self.profile_name not in generator.profiles:
            known = ", ".join(generator.profiles)
            raise click.UsageError(f"{self.language} has no profile {self.profile_name}; use one of {known}")
        if self.known_language.results and self.output != "matches":
            raise click.UsageError(
                f"a match of {self.known_language.title} always has its bindings and its result: leave --output out"
            )
        if self.known_language.answer and self.output != "matches":
            raise click.UsageError(f"answers of queries in {self.language} have no valuations; use --output matches")
        if generator.guided is None and self.streams == "guided":
            raise click.UsageError(f"there are no guided streams for {self.known_language.title}; use --streams random")

    def job(self) -> Job:
        """Return the campaign as a job for Spark workers."""
        return Job(
            parts=(PlanShare(self.language, self.profile_name, self.output),) if self.mix is None else MIXES[self.mix],
            evaluators=self.evaluators or (() if self.argv else UNDER_TEST),
            engine=tuple(self.argv),
            seed=self.seed,
            nodes=self.nodes,
            events=self.events,
            streams=self.streams or ("guided" if self.mix is None else "random"),
            together=1 if self.mix is None else TOGETHER,
            seconds=self.time_limit,
            memory=self.memory,
        )

    def plan(self) -> CampaignPlan:
        """Return the campaign as a plan for this process.

        Raises Unsupported for a selection strategy that the language does not have.
        """
        plan = plan_of(
            self.known_language,
            self.profile_name,
            self.streams,
            definition(self.known_language),
            cases=self.cases,
            seed=self.seed,
            nodes=self.nodes,
            events=self.events,
            outputs=OUTPUTS[self.output],
            together=self.together,
        )
        if self.held_choices:
            left = PolicyEvaluator(self.known_language, tuple(self.held_choices.items()))
            # The plain definition knows no choices, so it would dispute every answer that follows the policy.
            plan = replace(plan, left=left, second_opinion=None)
        if self.consuming is not Consumption.NONE:  # the second opinion does not support these
            plan = replace(plan, left=definition(self.known_language, consumption=self.consuming), second_opinion=None)
        selection = Selection.from_value(self.selection)
        if selection is Selection.ALL:
            return plan
        return replace(plan, maker=SelectedMaker(self.known_language, plan.maker, selection))

    def checkpoint(self, plan: CampaignPlan, name: str) -> Checkpoint | nullcontext[None]:
        """Return the file to resume from, or an empty context without --resume."""
        return nullcontext() if self.resume is None else Checkpoint(self.resume, plan, name)


@click.command("fuzz")
@takes(FuzzArguments)
def fuzz_command(args: FuzzArguments) -> int:
    """Test an engine on random cases: compare its answers with the semantics, and shrink cases that differ.

    COMMAND starts the engine, which answers by the protocol on standard input and output.

    A disagreement is judged again by the plain definition. If cerify contradicts itself, the case is disputed. After
    ten seconds, each result is also printed on standard error as it is found, with --json as an object. With --query,
    the engine answers one query on all short streams. They have the event types and constants of the query, and one
    other type.

    Exit status: 0 if all compared cases agree, apart from known causes; 1 if some do not, or if fewer than one in ten
    could be compared; 2 on an error. If the command is interrupted, the results so far are printed, and the status is
    1.
    """
    args.require_consistent()
    if args.spark is not None and args.out is not None:
        return run_spark(args.spark, args.job(), args.cases, args.first, args.out, args.as_json)
    if args.query is not None and args.longest is not None:
        return run_streams(
            args.argv,
            args.known_language,
            args.query,
            args.longest,
            args.limits,
            args.as_json,
            args.held_choices,
        )
    known = KnownDisagreements() if args.known is None else read_known(args.known, args.known_language)
    with interruptible():
        name, plan, summary = run(args, known)
    (_print_json if args.as_json else _print)(name, plan, args, summary, known)
    wrong = [d for d in summary.disagreements if not known.has(d, plan.language)] or summary.disputes
    compared = (summary.agreed or summary.disagreements) and not summary.too_few
    return 0 if compared and not wrong and summary.ended is None else 1


def run(args: FuzzArguments, known: KnownDisagreements) -> tuple[str, CampaignPlan, Summary]:
    """Run a campaign in this process; return what was tested, the plan, and the results."""
    early, told = EarlyResults(), 0
    with progress() as shown:

        def report(summary: Summary) -> None:
            nonlocal told
            for d in summary.disagreements[told:]:
                early.add(_announced(d, args))
            found = told = len(summary.disagreements)
            early.print_due()
            shown(f"{found} disagree" if found else "all agree", summary.cases, args.cases)

        return run_evaluator(args, report, known) if args.evaluators else run_engine(args, report, known)


def compared(
    args: FuzzArguments,
    plan: CampaignPlan,
    processes: int,
    progress: Progress,
    checkpoint: Checkpoint | None,
    known: KnownDisagreements,
) -> Summary:
    """Run the campaign, or only the case that --case names, and return the summary."""
    known.ask_again(plan)
    if args.only is not None:
        return run_one_case(plan, args.only)

    def cause_of(d: Disagreement) -> str | None:
        return None if known.has(d, plan.language) else str(cause(d, plan.language))

    return campaign(plan, processes, args.stop_after, progress, checkpoint, cause_of, args.max_seconds)


def run_evaluator(
    args: FuzzArguments, progress: Progress, known: KnownDisagreements
) -> tuple[str, CampaignPlan, Summary]:
    """Run a campaign against a built-in evaluator; return its name, the plan and the results.

    Raises InternalError if one of its processes dies.
    """
    name = args.evaluators[0]
    workers = args.processes or min(os.cpu_count() or 1, -(-args.cases // 500))
    plan = replace(args.plan(), right=built_in(args.known_language, consumption=args.consuming)[name])
    try:
        with args.checkpoint(plan, name) as checkpoint:
            return name, plan, compared(args, plan, workers, progress, checkpoint, known)
    except BrokenProcessPool:
        raise InternalError("a process of the campaign died, maybe for lack of memory; use fewer --processes") from None


def run_engine(args: FuzzArguments, progress: Progress, known: KnownDisagreements) -> tuple[str, CampaignPlan, Summary]:
    """Run a campaign against an engine; return its name and version, the plan and the results.

    Raises InputError if the engine does not start.
    """
    with Engine(args.argv, args.limits) as engine:
        name = f"{engine.info.name} {engine.info.version}"
        plan = args.plan()
        bound = BoundMaker(args.known_language, plan.maker)
        right = EngineEvaluator(engine, args.known_language, args.consuming)
        plan = replace(plan, right=right, tries=args.tries, maker=bound)
        if args.consuming is not Consumption.NONE and "consumption" not in engine.info.features:
            ended = "the engine does not list consumption among its features, so it would ignore --consumption"
            return name, plan, Summary(args.cases, ended=ended)
        if args.language not in engine.info.languages:
            names = ", ".join(engine.info.languages) or "none"
            ended = f"the engine does not support the language {args.language}; it supports {names}"
            return name, plan, Summary(args.cases, ended=ended)
        for warning in unknown_names(engine.info.claims):
            echo(f"cerify: warning: {warning}", error=True)
        claims = claims_of_engine(engine, args.language)
        if claims != Claims():
            claimed = ClaimedMaker(args.known_language, plan.maker, claims, plan.stream)
            plan = replace(plan, maker=claimed, stream=claimed.another_stream)
        if (less := claims.less_than_results(args.language)) is not None:
            if isinstance(plan.left, PolicyEvaluator):
                plan = replace(plan, left=replace(plan.left, less=less))
            else:
                opinion = SecondOpinionIn(args.language, less)
                plan = replace(plan, left=definition(args.known_language, less=less), second_opinion=opinion)
        with args.checkpoint(plan, name) as checkpoint:
            summary = compared(args, plan, 1, progress, checkpoint, known)
        engine.stop()
        if engine.twice and summary.ended is None:
            summary.ended = f"the last case was {engine.twice.popitem()[1]}"
        return name, plan, summary


def _announced(d: Disagreement, args: FuzzArguments) -> str:
    """Return the early report of a disagreement in a long campaign: an object with --json, else a line."""
    result = result_of(d, args.known_language, args.consuming)
    if args.as_json:
        return protocol.line({"found": {"case": d.index, **result_json(result)}})
    return announced_text([f"case {d.index}"], result)


# --- for a program ----------------------------------------------------------------------------------------------------


def _print_json(
    name: str, plan: CampaignPlan, args: FuzzArguments, summary: Summary, known: KnownDisagreements
) -> None:
    echo(protocol.line({"summary": _summary(name, plan, args.profile_name, summary) | {"known": known.causes}}))
    for disagreement in (*summary.disagreements, *summary.disputes):
        echo(protocol.line(_disagreement(disagreement, plan, args)))


def _summary(name: str, plan: CampaignPlan, profile: str, summary: Summary) -> dict[str, Any]:
    return {
        "tested": name,
        "profile": profile,
        **picked(plan, "seed", "nodes", "events"),
        **picked(summary, "planned", "cases", "agreed"),
        "outcomes": {kind: summary.outcomes[kind] for kind in FUZZED_OUTCOMES},
        "not_compared": dict(summary.reasons.most_common(REASONS)),
        "resumed": summary.resumed,
        "causes": Counter(str(cause(d, plan.language)) for d in summary.disagreements),
        **picked(summary, "ended", "stopped"),
        "seconds": round(summary.seconds, 3),
        "cases_per_second": round(summary.per_second, 1),
    }


def _disagreement(d: Disagreement, plan: CampaignPlan, args: FuzzArguments) -> dict[str, Any]:
    result = result_of(d, args.known_language, args.consuming)
    return {
        "case": d.index,
        "cause": str(cause(d, plan.language)),
        "output": d.output,
        **picked(result.case, "query", "schema", "events"),
        "expected": _answer(d.left),
        "got": _answer(d.right),
        "disputed": d.disputed,
        "second_opinion": None if d.second is None else _answer(d.second),
        "found": {"query": plan.language.show(d.found[0]), "events": [json_of_event(event) for event in d.found[1]]},
        "why": why(result, args.held_choices),
        "rerun": rerun(d.index, args.command_line),
    }


def _answer(given: Answer) -> Any:
    return given if isinstance(given, str) else [match.json() for match in sorted(given)]


# --- for a person -----------------------------------------------------------------------------------------------------


def _print(name: str, plan: CampaignPlan, call: FuzzArguments, summary: Summary, known: KnownDisagreements) -> None:
    number = f"{summary.cases:,}" + (f" of {summary.planned:,}" if summary.cases < summary.planned else "")
    judge = f"the semantics{_with_choices(call.held_choices)}"
    echo_line(f"{name} against {judge}: {number} cases, {call.profile_name}, seed {plan.seed}", style="bold")
    for kind, words in FUZZED_OUTCOMES.items():
        echo_line(f"  {words:26} {summary.outcomes[kind]:>9,}")
    for reason, times in summary.reasons.most_common(REASONS):
        echo_line(f"    {times:>7,}  {reason}")
    if len(summary.reasons) > REASONS:
        echo_line(f"    {plural(len(summary.reasons) - REASONS, 'other reason')} of cases that were not compared")
    old = [d for d in summary.disagreements if known.has(d, plan.language)]
    for found, group in by_cause(old, plan.language).items():
        echo_line(f"known: {found}, {plural(len(group), 'case')}")
    for gone in known.gone:
        echo_line(f"no longer known: {gone}: no query of this cause has the same wrong answer as before")
    causes = by_cause((d for d in summary.disagreements if not known.has(d, plan.language)), plan.language)
    for found, group in causes.items():
        _print_disagreement(str(found), group, call)
    for group in by_cause(summary.disputes, plan.language).values():
        _print_disagreement(CONTRADICTION, group, call)
    if summary.disagreements or summary.disputes:
        echo_line()
    if len(causes) > 1:
        echo_line(f"{len(causes)} causes, as far as the operators and the difference tell")
    if summary.resumed:
        echo_line(f"{summary.resumed:,} cases were done in earlier calls")
    if summary.ended is not None:
        echo_line(f"ended early: {summary.ended}")
    if summary.stopped is not None:
        echo_line(summary.stopped)
    if not summary.agreed and not summary.disagreements and not summary.disputes:
        echo_line("no case could be compared")
    elif summary.too_few:
        compared = f"{summary.agreed + summary.disagreement_count:,} of {plural(summary.cases, 'case')}"
        echo_line(f"only {compared} could be compared, too few to judge the engine; give another --profile")
    echo_line(f"{summary.per_second:,.0f} cases per second, {summary.seconds:.1f} s")


def _print_disagreement(why: str, group: Sequence[Disagreement], args: FuzzArguments) -> None:
    d = group[0]  # the smallest represents the group
    notes = {"cause": why, "from": f"case {', '.join(str(e.index) for e in sorted(group, key=lambda e: e.index))}"}
    if d.second is not None:
        notes["second"] = f"the plain definition gives {format_matches(sorted(d.second), 20) or 'nothing'}"
    if isinstance(d.left, str):
        notes["expected"] = d.left
    result = result_of(d, args.known_language, args.consuming)
    print_disagreement(result, notes, [rerun(d.index, args.command_line)], args.held_choices)

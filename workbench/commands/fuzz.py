"""`cerify fuzz`: hold an engine, or a built-in evaluator, against the semantics on random cases."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console

from cerify import protocol
from cerify.commands import fuzz_spark
from cerify.commands.fuzz_shown import print_disagreement
from cerify.commands.progress import progress_bar
from cerify.conformance.campaign_plan import MIXES, TOGETHER, Job, Part
from cerify.conformance.engines import NAMES, command_of
from cerify.conformance.fuzzed import FUZZED, maker_of
from cerify.conformance.process import Limits
from cerify.conformance.words import CONTRADICTION, FUZZED_OUTCOMES, shown
from cerify.equivalence.differential.campaign import Disagreement, Plan, Summary, campaign
from cerify.equivalence.differential.causes import Cause, by_cause, cause
from cerify.equivalence.differential.checkpoint import Checkpoint
from cerify.equivalence.differential.judge import Answer, Output
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InternalError
from cerify.semantics.json_events import json_of_event, json_of_schema

Show = Callable[[Formula], str]
Why = Callable[[Cause], str]
RESTARTS = 50  # of an engine, over a whole campaign with its shrinking
TRIES = 400  # questions to an engine for each disagreement

OUTPUTS: Mapping[str, tuple[Output, ...]] = {
    "matches": ("matches",),
    "valuations": ("valuations",),
    "both": ("matches", "valuations"),
}


@click.command("fuzz")
@click.option("--language", type=click.Choice(list(FUZZED)), default="cel", show_default=True)
@click.option(
    "--evaluator",
    "evaluators",
    type=click.Choice(list(FUZZED["cel"].built_in)),
    multiple=True,
    help="A built-in evaluator; with --spark more than one, or all by default.",
)
@click.option("--engine", help=f"An engine by name: {', '.join(NAMES)}.")
@click.option("--cases", type=click.IntRange(min=1), default=1000, show_default=True, help="How many cases.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same cases.")
@click.option(
    "--nodes", type=click.IntRange(min=1, max=60), default=12, show_default=True, help="Size of a formula, at most."
)
@click.option(
    "--events", type=click.IntRange(min=1, max=100), default=10, show_default=True, help="Length of a stream, at most."
)
@click.option(
    "--profile",
    type=click.Choice(list(dict.fromkeys(name for known in FUZZED.values() for name in known.profiles))),
    help="What the formulas are made of; each language has its own.  [default: its first: core, base, or plain]",
)
@click.option(
    "--streams",
    type=click.Choice(["guided", "random"]),
    help="Streams led to a match, three in four, or as chance has them.  [default: guided, for CEL]",
)
@click.option(
    "--output", type=click.Choice(list(OUTPUTS)), default="matches", show_default=True, help="What has to agree."
)
@click.option(
    "--stop-after", type=click.IntRange(min=1), default=10, show_default=True, help="Disagreements to stop at."
)
@click.option("--processes", type=click.IntRange(min=1), help="For --evaluator.  [default: one for each core]")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.01),
    default=10.0,
    show_default=True,
    help="Seconds an engine has for a case.",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep what is done in this file, and go on where it ends.",
)
@click.option("--spark", metavar="URL", help="Run as a job on this Spark, such as local[2]; goes with --out.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="For --spark: the folder of the campaign, in which it goes on where it ended.",
)
@click.option("--mix", type=click.Choice(list(MIXES)), help="For --spark: several languages with every operator.")
@click.option(
    "--first", type=click.IntRange(min=0), default=0, show_default=True, help="For --spark: the first case's number."
)
@click.option("--memory", type=click.IntRange(min=16), default=2048, show_default=True, help="Cap of an engine in MiB.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary, and one object for each disagreement, a line each."
)
@click.argument("command_line", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(
    language: str,
    evaluators: tuple[str, ...],
    engine: str | None,
    cases: int,
    seed: int,
    nodes: int,
    events: int,
    profile: str | None,
    streams: Literal["guided", "random"] | None,
    output: Literal["matches", "valuations", "both"],
    stop_after: int,
    processes: int | None,
    time_limit: float,
    resume: Path | None,
    spark: str | None,
    out: Path | None,
    mix: str | None,
    first: int,
    memory: int,
    as_json: bool,
    command_line: tuple[str, ...],
) -> int:
    """Test an engine on random cases: compare with the semantics, shrink what differs.

    COMMAND starts the engine, which speaks the protocol on standard input and output.

    A disagreement is judged again by the plain definition; if cerify contradicts itself the case is disputed.

    Exit status: 0 if all cases that could be compared agree, 1 if some do not or none could be, 2 on an error.
    """
    if spark is None and len(evaluators) + (engine is not None) + bool(command_line) != 1:
        raise click.UsageError("give the engine's command after --, or --engine NAME, or --evaluator NAME")
    if spark is None and (out is not None or mix is not None or first):
        raise click.UsageError("--out, --mix and --first go with --spark")
    if spark is not None and (out is None or processes is not None or resume is not None):
        raise click.UsageError("--spark needs --out DIR, and goes on from it: leave out --processes and --resume")
    if processes is not None and not evaluators:
        raise click.UsageError("--processes goes with --evaluator: an engine runs in one process of its own")
    fuzzed = FUZZED[language]
    profile = profile or next(iter(fuzzed.profiles))
    if profile not in fuzzed.profiles:
        raise click.UsageError(f"{language} has the profiles {', '.join(fuzzed.profiles)}")
    if language == "sase" and output != "matches":
        raise click.UsageError("a match of SASE+ always has its bindings and its result: leave --output out")
    if language != "cel" and output != "matches":
        raise click.UsageError(f"the answer of a query in {language} has no valuations: --output matches")
    if language != "cel" and streams == "guided":
        raise click.UsageError("streams are guided by the automaton of a CEL query: --streams random")
    if spark is not None and out is not None:
        under_test = command_of(engine) if engine is not None else command_line
        job = Job(
            parts=(Part(language, profile, output),) if mix is None else MIXES[mix],
            evaluators=evaluators if evaluators or under_test else tuple(FUZZED["cel"].built_in),
            engine=tuple(under_test),
            seed=seed,
            nodes=nodes,
            events=events,
            streams=streams or ("guided" if mix is None else "random"),
            together=1 if mix is None else TOGETHER,
            seconds=time_limit,
            memory=memory,
        )
        return fuzz_spark.run(spark, job, cases, first, out, as_json)
    evaluator = evaluators[0] if evaluators else None
    made_of, outputs = fuzzed.profiles[profile], OUTPUTS[output]
    plan = fuzzed.plan(fuzzed.oracle, fuzzed.oracle, made_of, cases, seed, nodes, events, outputs)
    plan = replace(plan, maker=maker_of(made_of, streams or "guided"), second_opinion=fuzzed.second_opinion)

    def kept(plan: Plan, name: str) -> Checkpoint | nullcontext[None]:
        return nullcontext() if resume is None else Checkpoint(resume, plan, name)

    with progress_bar() as bar:
        task = bar.add_task("starting", total=cases)

        def progress(summary: Summary) -> None:
            found = len(summary.disagreements)
            bar.update(task, completed=summary.cases, description=f"{found} disagree" if found else "all agree")

        if evaluator is not None:
            name = evaluator
            workers = processes or min(os.cpu_count() or 1, -(-cases // 500))
            try:
                plan = replace(plan, right=fuzzed.built_in[evaluator])
                with kept(plan, name) as checkpoint:
                    summary = campaign(plan, workers, stop_after, progress, checkpoint)
            except BrokenProcessPool:
                raise InternalError("a process of the campaign died; was there enough memory?") from None
        else:
            argv = command_of(engine) if engine is not None else command_line
            limits = Limits(run_seconds=time_limit, memory=memory * 2**20, restarts=RESTARTS)
            with fuzzed.engine(argv, limits) as started:
                name = f"{started.info.name} {started.info.version}"
                plan = replace(plan, right=fuzzed.asked(started), tries=TRIES)
                if language in started.info.languages:
                    with kept(plan, name) as checkpoint:
                        summary = campaign(plan, 1, stop_after, progress, checkpoint)
                else:
                    spoken = ", ".join(started.info.languages) or "none"
                    summary = Summary(cases, ended=f"the engine does not speak {language}, but {spoken}")
    why: Why = (
        str if language in ("cel", "sase") else _shape
    )  # the operators are those of the tree, which is one of CEL
    (_print_json if as_json else _print)(name, plan, profile, summary, fuzzed.show, why)
    wrong = summary.disagreements or summary.disputes
    return 0 if summary.agreed and not wrong and summary.ended is None else 1


def _shape(why: Cause) -> str:
    return why.shape


# --- for a program ----------------------------------------------------------------------------------------------------


def _print_json(name: str, plan: Plan, profile: str, summary: Summary, show: Show, why: Why) -> None:
    click.echo(protocol.line({"summary": _summary(name, plan, profile, summary, why)}))
    for disagreement in (*summary.disagreements, *summary.disputes):
        click.echo(protocol.line(_disagreement(disagreement, show, why)))


def _summary(name: str, plan: Plan, profile: str, summary: Summary, why: Why) -> dict[str, Any]:
    return {
        "tested": name,
        "profile": profile,
        "seed": plan.seed,
        "nodes": plan.nodes,
        "events": plan.events,
        "planned": summary.planned,
        "cases": summary.cases,
        "agreed": summary.agreed,
        "outcomes": {kind: summary.outcomes[kind] for kind in FUZZED_OUTCOMES},
        "resumed": summary.resumed,
        "causes": Counter(why(cause(d)) for d in summary.disagreements),
        "ended": summary.ended,
        "seconds": round(summary.seconds, 3),
        "cases_per_second": round(summary.per_second, 1),
    }


def _disagreement(d: Disagreement, show: Show, why: Why) -> dict[str, Any]:
    return {
        "case": d.index,
        "cause": why(cause(d)),
        "output": d.output,
        "query": show(d.phi),
        "schema": None if d.stream.schema is None else json_of_schema(d.stream.schema),
        "events": [json_of_event(event) for event in d.stream],
        "expected": _answer(d.left),
        "got": _answer(d.right),
        "disputed": d.disputed,
        "second_opinion": None if d.second is None else _answer(d.second),
        "found": {"query": show(d.found[0]), "events": [json_of_event(event) for event in d.found[1]]},
    }


def _answer(given: Answer) -> Any:
    return given if isinstance(given, str) else [protocol.json_of_match(match) for match in sorted(given)]


# --- for a person -----------------------------------------------------------------------------------------------------


def _print(name: str, plan: Plan, profile: str, summary: Summary, show: Show, why: Why) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    asked = f"{summary.cases:,}" + (f" of {summary.planned:,}" if summary.cases < summary.planned else "")
    console.print(f"{name} against the semantics: {asked} cases, {profile}, seed {plan.seed}", style="bold")
    for kind, words in FUZZED_OUTCOMES.items():
        console.print(f"  {words:26} {summary.outcomes[kind]:>9,}")
    causes = by_cause(summary.disagreements)
    for found, group in causes.items():
        _print_disagreement(console, why(found), group, show)
    for d in summary.disputes:
        _print_disagreement(console, CONTRADICTION, [d], show)
    if summary.disagreements or summary.disputes:
        console.print()
    if len(causes) > 1:
        console.print(f"{len(causes)} causes, as far as the operators and the difference tell")
    if summary.resumed:
        console.print(f"{summary.resumed:,} cases were done before")
    if summary.ended is not None:
        console.print(f"ended early: {summary.ended}")
    if not summary.agreed and not summary.disagreements and not summary.disputes:
        console.print("no case could be compared")
    console.print(f"{summary.per_second:,.0f} cases per second, {summary.seconds:.1f} s")


def _print_disagreement(console: Console, why: str, group: Sequence[Disagreement], show: Show) -> None:
    d = group[0]  # the lightest stands for all
    notes = {"cause": why, "from": f"case {', '.join(str(e.index) for e in sorted(group, key=lambda e: e.index))}"}
    if d.second is not None:
        notes["second"] = f"the plain definition gives {shown(sorted(d.second), 20) or 'nothing'}"
    left, right = (given if isinstance(given, str) else sorted(given) for given in (d.left, d.right))
    print_disagreement(console, show(d.phi), map(json_of_event, d.stream), left, right, notes)

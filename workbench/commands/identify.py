"""`cerify identify`: what an engine means by its queries."""

from __future__ import annotations

import json

import click

from cerify import protocol
from cerify.commands.options import Choice, completes
from cerify.commands.progress import progress_bar
from cerify.conformance.engines import NAMES, command_of
from cerify.conformance.hypotheses import AXES
from cerify.conformance.identification.engine import identified
from cerify.conformance.identification.profile import Finding, Profile
from cerify.conformance.identification.stages import STAGES
from cerify.conformance.process import Limits
from cerify.console import screen
from cerify.terminal import echo


@click.command("identify")
@click.option("--engine", help=f"An engine by name: {', '.join(NAMES)}.", shell_complete=completes(lambda _: NAMES))
@click.option("--language", type=Choice(sorted(STAGES)), help="By default the first that the engine speaks.")
@click.option("--json", "as_json", is_flag=True, help="Print the profile as one JSON object.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0.01), default=10.0, show_default=True, help="Seconds per question."
)
@click.argument("command_line", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED)
def command(
    engine: str | None, language: str | None, as_json: bool, time_limit: float, command_line: tuple[str, ...]
) -> int:
    """Find out what an engine means by at most 300 short questions, and print what explains its answers.

    COMMAND starts the engine, which speaks the protocol on standard input and output. The profile can be given to
    `cerify conform --policy`.

    Exit status: 0 if every axis has a value, 1 if there is one that no value explains, or the engine answered nothing
    or could not be asked to the end, 2 if it cannot be started.
    """
    if (engine is None) == (not command_line):
        raise click.UsageError("give the engine's command after --, or a built-in engine with --engine NAME")
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)
        profile = identified(
            command_of(engine) if engine is not None else command_line,
            language,
            Limits(run_seconds=time_limit),
            lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
        )
    if as_json:
        echo(protocol.line(profile.as_json()))
    else:
        _print(profile)
    known = profile.axes and all(finding.value is not None for finding in profile.axes.values())
    return 0 if known and not profile.stopped else 1


def _print(profile: Profile) -> None:
    console = screen()
    console.print(f"{profile.name} {profile.version}, {profile.language}", style="bold", markup=False, soft_wrap=True)
    rows = [("axis", "value", "explains", "")]
    for name, finding in profile.axes.items():
        explained = f"{finding.explained} of {finding.answers}"
        rows.append((name, finding.value or "none fits", explained, _note(name, finding, profile)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3])
        console.print("  ".join(cells).rstrip(), markup=False, highlight=False, soft_wrap=True)
    console.print(f"{profile.questions} questions.")
    for remark in profile.remarks:
        console.print(f"Note: {remark}.", markup=False, soft_wrap=True)
    if profile.stopped:
        console.print(f"Not asked to the end: {profile.stopped}.", markup=False, soft_wrap=True)


def _note(name: str, finding: Finding, profile: Profile) -> str:
    """What is to be said about a finding beside its numbers."""
    notes = []
    axes = AXES[profile.language]
    default = (axes.get(name) or next(axis for axis in axes.values() if axis.base == name)).default
    if finding.value not in (None, default):
        notes.append(f"not the definition's {default}")
    if finding.alike:
        notes.append(f"or {', '.join(finding.alike)}: no question tells them apart")
    if finding.exception is not None:
        events = " ".join(_event(dict(event)) for event in finding.exception.events)
        notes.append(f"not explained: {finding.exception.query} on {events}")
    return "; ".join(notes)


def _event(event: dict[str, object]) -> str:
    rest = {name: value for name, value in event.items() if name != "type"}
    return f"{event['type']}{json.dumps(rest) if rest else ''}"

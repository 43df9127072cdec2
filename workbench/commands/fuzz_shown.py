"""A disagreement of `cerify fuzz`, as it is printed for a person."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from cerify.automata.evaluator import Consumption
from cerify.conformance.model import Case, Result
from cerify.conformance.report_json import match_command
from cerify.conformance.report_text import event_text, labelled
from cerify.conformance.why import why_of
from cerify.conformance.words import difference, shown
from cerify.equivalence.differential.campaign import Disagreement
from cerify.languages.language import Language
from cerify.semantics.json_events import json_of_event, json_of_schema

if TYPE_CHECKING:
    from rich.console import Console


def result_of(d: Disagreement, language: Language[Any], consumption: Consumption = Consumption.NONE) -> Result:
    """The shrunk disagreement as the result of a case; without an answer of the definition the case expects nothing."""
    schema = d.stream.schema
    case = Case(
        id=f"case {d.index}",
        feature="",
        clause="",
        language=language.name,
        query=language.show(d.phi),
        schema=None if schema is None else json_of_schema(schema),
        events=[json_of_event(event) for event in d.stream],
        output=d.output,
        matches=[] if isinstance(d.left, str) else sorted(d.left),
        consumption=consumption,
    )
    got, detail = (None, d.right) if isinstance(d.right, str) else (sorted(d.right), "")
    return Result(case, "disputed" if d.disputed else "error" if got is None else "failed", got, detail)


def why(result: Result) -> str:
    """The explanation of the first difference; "" if there is none."""
    consumption = result.case.consumption
    return why_of(result, {} if consumption is Consumption.NONE else {"consumption": consumption.value})


def rerun(index: int, engine: Sequence[str]) -> str:
    """The line for a shell that asks the case again, with the options of this call that bear on it, and its engine."""
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
    {"language", "evaluators", "engine", "seed", "nodes", "events", "profile", "streams", "selection", "consumption"}
    | {"output", "together", "time_limit", "memory"}
)
"""The options of `cerify fuzz` that say what a case is, and how its engine is run."""


def print_disagreement(console: Console, result: Result, notes: Mapping[str, str], again: Sequence[str] = ()) -> None:
    """Print the difference, the query, the events, both answers, the notes by label, why, and how to see it again.

    notes may replace what is expected, where the definition gave no answer.
    """
    case, got = result.case, result.matches
    console.print()
    if got is None or "expected" in notes:
        console.print("no answer", style="bold")
    else:
        console.print(difference(set(case.matches), set(got)), style="bold")
    texts = {
        "query": case.query,
        "stream": "\n".join(f"{i}: {event_text(event)}" for i, event in enumerate(case.events)) or "no events",
        "expected": shown(case.matches, 20) or "nothing",
        "got": result.detail if got is None else shown(got, 20) or "nothing",
        **notes,
        "why": why(result),
        "again": "\n".join([*again, *([match_command(case)] if result.outcome != "disputed" else [])]),
    }
    for label, text in texts.items():
        for line in labelled(label, text):
            console.print(line)

"""`cerify engine`: one of the built-in evaluators behind the engine protocol."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, get_args

import click

import cerify
from cerify import protocol
from cerify.evaluators import EVALUATORS, LANGUAGES, Evaluator, Output
from cerify.semantics.budget import Budget
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.errors import CerifyError, InputError, Unsupported, errors_in
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.json_events import parse_json, schema_of_json, stream_of_json

FEATURES = (*(operator.name for operator in OPERATORS.values()), "correlation", "valuations")


@click.command("engine")
@click.option("--evaluator", type=click.Choice(sorted(EVALUATORS)), default="automaton", show_default=True)
def command(evaluator: str) -> None:
    """Serve a built-in evaluator over the engine protocol, on standard input and output."""
    served = {name: known.evaluators[evaluator] for name, known in LANGUAGES.items() if evaluator in known.evaluators}
    info = protocol.EngineInfo(f"cerify-{evaluator}", cerify.__version__, list(served), FEATURES)
    if evaluator == "kernel":
        compile_loops()
    serve(info, EVALUATORS[evaluator], served)


LOOPS = {
    "cel": ("A+", "A+ WITHIN 2 EVENTS", "A+ PARTITION BY [x]"),
    "event-expression": ("relative(A, A)",),
    "sase": ("PATTERN SEQ(A+ a[], A b) WHERE [x] RETURN b.x",),
}
"""Queries that use all compiled loops."""


def compile_loops() -> None:
    """Have the compiled loops compiled, which takes long the first time, before a first case is asked about."""
    S = Stream([Event("A", {"x": 1}), Event("A", {"x": 1})])
    for language, queries in LOOPS.items():
        spoken = LANGUAGES[language]
        for query in queries:
            for output in get_args(Output):
                # Unsupported: without numba, or not carried; the case that asks for it is told
                with suppress(Unsupported):
                    spoken.evaluators["kernel"](spoken.parse(query), S, output, Budget())


Served = Mapping[str, Callable[[Any, Stream, Output, Budget], list[Match]]]
"""The evaluator of each language that is served."""


def serve(info: protocol.EngineInfo, evaluate: Evaluator, others: Served | None = None) -> None:
    """Answer the messages on standard input until one says stop, or it ends: CEL by evaluate, the others by others.

    A query that uses what the evaluator does not carry is answered with "skipped", since the engine does not claim the
    feature; every other failure is answered with an error. A line that is no message gets an error without an id.
    """
    served = {**(others or {}), "cel": evaluate}
    for text in sys.stdin.buffer:
        if text.strip():
            answer = answered(text, info, served)
            if answer is None:
                return
            sys.stdout.write(protocol.line(answer) + "\n")
            sys.stdout.flush()


def answered(text: bytes, info: protocol.EngineInfo, served: Served) -> dict[str, Any] | None:
    """The answer to one line; None to stop."""
    id_ = None
    try:
        message = parse_json(text, "the message")
        command_ = message.get("cmd") if isinstance(message, dict) else None
        match command_:
            case "start":
                protocol.read(text, "start")
                return protocol.json_of_info(info)
            case "stop":
                return None
            case "run":
                id_ = message.get("id") if isinstance(message.get("id"), str) else None
                return {"id": id_} | run(protocol.read(text, "run"), served)
            case _:
                raise InputError(f"a message is an object whose cmd is start, run or stop, not {command_!r}")
    except CerifyError as error:
        return {"id": id_, "error": protocol.json_of_error(error)}
    except Exception as error:  # an engine must survive its own faults, and say that they are its own
        return {"id": id_, "error": {"code": "internal", "message": f"{type(error).__name__}: {error}"}}


def run(message: dict[str, Any], served: Served) -> dict[str, Any]:
    """The answer to a run message, without its id."""
    name = message["language"]
    if name not in served:
        return {"skipped": f"the language {name} is not served"}
    language = LANGUAGES[name]
    query = message["query"]
    with errors_in(query):
        try:
            phi = language.parse(query)
            schema = schema_of_json(message["schema"]) if message.get("schema") is not None else None
            if schema is not None:
                language.require_typed(phi, schema)
            S = stream_of_json(message["events"], schema, "events")
            found = served[name](phi, S, message.get("output", "matches"), Budget())
        except Unsupported as error:
            return {"skipped": error.message}
    return {"matches": [protocol.json_of_match(match) for match in found]}

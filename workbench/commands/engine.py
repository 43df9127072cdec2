"""`cerify engine`: serve one of the built-in evaluators over the engine protocol.

`serve` is the loop that reads a line and answers it; adapters for other engines call it with their own functions. An
error in one request becomes an answer, so that the next request is still served. The compiled loops are prepared before
the first request, because compiling them would count against its time limit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, get_args

import click

import cerify
from cerify import protocol
from cerify.automata.evaluate.core import QUERIES, compiled_shared
from cerify.automata.evaluator import Consumption, Output
from cerify.commands.options import ChoiceOption, LanguageChoice
from cerify.languages import DEFAULT, LANGUAGES
from cerify.languages.language import EVALUATORS, Language, Options
from cerify.plan import AUTOMATIC, Want, plan
from cerify.semantics.arguments import Selection
from cerify.semantics.cel.syntax import OPERATORS
from cerify.semantics.errors import CerifyError, InputError, Unsupported, errors_in
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.json_events import parse_json, schema_of_json, stream_of_json

FEATURES = (
    *(operator.name for operator in OPERATORS.values()),
    "correlation",
    "valuations",
    "selection",
    "consumption",
)


@click.command("engine")
@click.option("--evaluator", type=ChoiceOption(sorted(EVALUATORS)), default=AUTOMATIC[0], show_default=True)
@click.option("--language", type=LanguageChoice(), default=DEFAULT, help="The language of the hypothesis.")
@click.option(
    "--hypothesis",
    metavar="AXIS=VALUE,...",
    help="Serve an engine that has these meanings instead of the default, in one language; see docs/guide/identify.md.",
)
def engine_command(evaluator: str, language: str, hypothesis: str | None) -> None:
    """Serve a built-in evaluator over the engine protocol, on standard input and output."""
    if hypothesis is not None:
        departed(language, hypothesis)
        return
    languages = [language for language in LANGUAGES.values() if evaluator in language.evaluators]
    compile_loops([language for language in languages if language.evaluators[evaluator].compiled], evaluator)
    info = protocol.EngineInfo(f"cerify-{evaluator}", cerify.__version__, [one.name for one in languages], FEATURES)
    serve(info, {language.name: partial(_matches, language, evaluator) for language in languages})


def departed(language: str, text: str) -> None:
    """Serve, as an engine, an evaluator that differs from the definition by the choices in `text`.

    text: axes with their values, such as seq=strict,emit=at-end. Raises InputError for an unknown axis or value.
    """
    from cerify.conformance.prediction import interpretation_of
    from cerify.hypotheses.interpretation import choices_of, read_hypothesis

    interpretation = interpretation_of(language)
    choices = choices_of(read_hypothesis(text.split(","), interpretation.axes), interpretation.axes)

    def matches(query: Any, S: Stream, options: Options) -> Collection[Match]:
        return sorted(interpretation.matches(query, S, choices, options.output, options.budget))

    serve(protocol.EngineInfo(f"cerify-{text}", cerify.__version__, [language], ()), {language: matches})


def compile_loops(languages: Iterable[Language[Any]], evaluator: str) -> None:
    """Compile all functions of an evaluator, so that the first case does not have to wait for the slow compilation."""
    S = Stream([Event("A", {"x": 1}), Event("A", {"x": 1})])
    for language in languages:
        for query in language.loops:
            for output in get_args(Output):
                # Unsupported: numba is missing, or the language lacks this output; the answer to a case will say so
                with suppress(Unsupported):
                    _matches(language, evaluator, language.syntax.parse(query), S, Options(output))


Served = Mapping[str, Callable[[Any, Stream, Options], Collection[Match]]]
"""For each language that is served, a function that returns all matches of a query."""


def _matches(language: Language[Any], evaluator: str, query: Any, S: Stream, options: Options) -> Collection[Match]:
    return plan(language, query, S.schema, Want(options, evaluator)).all_matches(S)


def serve(info: protocol.EngineInfo, served: Served) -> None:
    """Answer the messages on standard input until a message says stop, or the input ends.

    If a query has a feature that the evaluator does not support, the answer is "skipped", since the engine does not
    claim the feature. For every other failure the answer is an error. A line that is not a message gets an error
    without an id.
    """
    with compiled_shared():  # cases in a row often have the same query
        for text in sys.stdin.buffer:
            if text.strip():
                answer = answered(text, info, served)
                if answer is None:
                    return
                line = protocol.line(answer) + "\n"
                sys.stdout.buffer.write(line.encode(errors="backslashreplace"))  # UTF-8, whatever the locale says
                sys.stdout.buffer.flush()


def answered(text: bytes, info: protocol.EngineInfo, served: Served) -> dict[str, Any] | None:
    """Return the answer to one line of input; None for the message stop."""
    id_ = None
    try:
        message = parse_json(text, "the message")
        command_ = message.get("cmd") if isinstance(message, dict) else None
        match command_:
            case "start":
                protocol.parse_message(text, "start")
                return protocol.json_of_info(info)
            case "stop":
                return None
            case "run":
                id_ = message.get("id") if isinstance(message.get("id"), str) else None
                return {"id": id_} | run(protocol.parse_message(text, "run"), served)
            case _:
                raise InputError(f"a message must be an object whose cmd is start, run or stop, not {command_!r}")
    except CerifyError as error:
        return {"id": id_, "error": protocol.json_of_error(error)}
    except Exception as error:  # an engine must survive its own defects, and report them as internal errors
        return {"id": id_, "error": {"code": "internal", "message": f"{type(error).__name__}: {error}"}}


def run(message: dict[str, Any], served: Served) -> dict[str, Any]:
    """Return the answer to a run message, without its id."""
    name = message["language"]
    if name not in served:
        return {"skipped": f"the language {name} is not served"}
    language = LANGUAGES[name]
    query = message["query"]
    with errors_in(query):
        try:
            phi, schema = _typed(language, query, json.dumps(message.get("schema")))
            nulls = language.syntax.keeps_nulls
            S = stream_of_json(message["events"], schema, "events", language.row_type, nulls)
            wants_rows = message.get("output") == "rows"
            output: Output = "matches" if wants_rows else message.get("output", "matches")
            options = Options(output, consumption=Consumption.from_value(message.get("consumption", "none")))
            phi = language.syntax.selected(phi, Selection.from_value(message.get("selection", Selection.ALL)))
            found = served[name](phi, S, options)
            if wants_rows:
                return language.evaluators.output_table(phi, S, found, options).json()
        except Unsupported as error:
            return {"skipped": error.message}
    return {"matches": [match.json() for match in found]}


@lru_cache(maxsize=QUERIES)
def _typed(language: Language[Any], query: str, schema: str) -> tuple[Any, Schema | None]:
    """Return the parsed query and the schema, given as JSON text; the schema of the text `null` is None.

    Raises CerifyError, also if the query does not fit the schema.
    """
    phi, obj = _parsed(language, query), json.loads(schema)
    if obj is None:
        return phi, None
    declared = schema_of_json(obj)
    language.syntax.require_typed(phi, declared)
    return phi, declared


@lru_cache(maxsize=QUERIES)
def _parsed(language: Language[Any], query: str) -> Any:
    """Return the parsed query. The same text gives the same object, so that its compiled results are found again.

    Raises CerifyError.
    """
    return language.syntax.parse(query)

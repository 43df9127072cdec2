"""The identification of an engine behind the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from cerify.conformance.harness import Engine
from cerify.conformance.identification.identify import Identification, Progress
from cerify.conformance.identification.predicting import EngineAnswer, Predictor
from cerify.conformance.identification.profile import Profile, merged
from cerify.conformance.identification.questions import Question
from cerify.conformance.identification.stages import STAGES
from cerify.conformance.losses import Losses
from cerify.conformance.model import Case
from cerify.conformance.process import Limits
from cerify.languages import LANGUAGES
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.json_events import json_of_schema, schema_of_json

TYPES = {bool: "bool", int: "int", float: "float", str: "string"}


def identified(
    argv: Sequence[str],
    language: str | None = None,
    limits: Limits = Limits(),
    progress: Progress = lambda what, done, total: None,
) -> Profile:
    """What the engine that a command starts means in a language, or else in the first one that it speaks.

    Raises InputError if it does not start, or does not speak the language.
    """
    with Engine(argv, limits, losses=Losses(skips=True)) as engine:
        languages = [name for name in engine.info.languages if name in STAGES]
        if language is None and languages:
            language = languages[0]
        if language not in languages:
            raise InputError(f"the engine does not speak {language or 'a language with hypotheses'}")
        assert language is not None
        predictor = Predictor(language)
        numbers = count()
        stopped, malformed = list[str](), list[str]()

        def ask(question: Question) -> EngineAnswer | None:
            case = Case(
                f"identify/{next(numbers)}",
                "identify",
                "",
                language,
                question.query,
                schema_for(language, question),
                [dict(event) for event in question.events],
                predictor.interpretation.compared,
                [],
            )
            if engine.losses.why_not(case) is not None:
                return None
            result = engine.answer(case)
            match result.outcome:
                case "not_run":
                    stopped.append(result.detail)
                    return None
                case "skipped":
                    return None
                case "error":
                    return "error"
                case _ if result.matches is not None:
                    if result.detail:
                        malformed.append(result.detail)
                    return predictor.compared_part(result.matches)
                case _:
                    return "no answer"

        identification = Identification(predictor, ask)
        axes = identification.run(STAGES[language], progress)
        bases = {name: axis.base for name, axis in predictor.interpretation.axes.items()}
        info, asked = engine.info, len(identification.answered)
        if empty := identification.always_empty():
            axes = {name: replace(finding, value=None, alike=()) for name, finding in axes.items()}
        found, ended = merged(axes, bases), next(iter(stopped), "")
        return Profile(info.name, info.version, language, found, asked, ended, remarks_on(empty, malformed, asked))


def remarks_on(empty: bool, malformed: Sequence[str], answers: int) -> tuple[str, ...]:
    """Sentences about all answers: whether there are any, or any match, and how many are wrong in their form."""
    remarks = []
    if not answers:
        remarks.append("the engine answered none of the questions, so nothing is known of what it means")
    if empty:
        remarks.append("the engine gives no match in any of its answers, so they say nothing about its choices")
    if malformed:
        remarks.append(f"{len(malformed)} answers are wrong in their form: {malformed[0]}")
    return tuple(remarks)


def schema_for(language: str, question: Question) -> dict[str, Any] | None:
    """A schema that the query and the events fit, as JSON; None if there is none."""
    plugin = LANGUAGES[language]
    phi = plugin.parse(question.query)
    kinds: dict[str, str] = {}
    for name, value in ((name, value) for event in question.events for name, value in event.items()):
        kind = "timestamp" if name == "time" and isinstance(value, str) else TYPES[type(value)]
        if name != "type" and kinds.get(name) != "float":
            kinds[name] = kind
    types = {"A", "B", "C"} | {event["type"] for event in question.events}
    for more in ({}, {"x": "int"}):
        found = dict.fromkeys(sorted(types), more | kinds)
        schema = schema_of_json(found)
        try:
            plugin.require_typed(phi, schema)
        except CerifyError:
            continue
        return dict(json_of_schema(schema))
    return None

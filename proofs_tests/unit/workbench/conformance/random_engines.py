"""Engines composed of hypotheses, and whether what is identified of them is right, axis by axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random

from cerify.conformance.identification import MOST, Identification
from cerify.conformance.oracle import AxisFinding
from cerify.conformance.prediction import Predictor
from cerify.hypotheses import STAGES
from cerify.hypotheses.interpretation import Choices, questions

ENGINES = 40
DEPARTS = 0.2  # the part of the axes in which an engine departs from the definition
LANGUAGE_OF = ("cel", "cel", "core-cel", "event-expression", "sase")

UNSEEN = {("connectives", "and-as-or"), ("connectives", "or-as-and")}
"""Values that no query of SASE+ shows: its conditions have no `and` below `or`."""


@cache
def predictor(language: str) -> Predictor:
    """The answers of all engines in a language; each is computed once."""
    return Predictor(language)


def composed(seed: int) -> tuple[str, Choices]:
    """An engine composed at random from the axes, with its language."""
    rng, language = Random(seed), LANGUAGE_OF[seed % len(LANGUAGE_OF)]
    axes = predictor(language).interpretation.axes.values()
    return language, {a.name: rng.choice(a.values[1:]) if rng.random() < DEPARTS else a.default for a in axes}


def identification(language: str, engine: Choices) -> tuple[Mapping[str, AxisFinding], int]:
    """The findings about an engine in this process, and the number of questions."""
    known = predictor(language)
    state = Identification(known, lambda question: known.answer(question, engine))
    return state.run(STAGES[language]), len(state.answered)


def differs(language: str, engine: Choices, other: Choices) -> bool:
    """Whether any question of the pool has different answers."""
    known = predictor(language)
    templates = (t for stage in STAGES[language] for t in stage.templates)
    concerned = (t for t in templates if known.chosen(t.query, engine) != known.chosen(t.query, other))
    pool = (question for template in concerned for question in questions(template))
    return any(known.answer(question, engine) != known.answer(question, other) for question in pool)


def problems(language: str, engine: Choices) -> tuple[int, list[str]]:
    """The number of questions about an engine, and what is wrong with its profile.

    The profile is right if no question tells it from the engine, nor what it names as alike in one axis.
    """
    found, asked = identification(language, engine)
    axes = predictor(language).interpretation.axes
    profile = {axis.name: axis.default for axis in axes.values()} | {n: f.value for n, f in found.items() if f.value}
    wrong = [f"{name} has no value" for name, finding in found.items() if finding.value is None]
    if asked > MOST:
        wrong.append(f"{asked} questions")
    if differs(language, engine, profile):
        departing = (f"{name}={profile[name]}, not {engine[name]}" for name in axes if profile[name] != engine[name])
        wrong.append(", ".join(departing))
    for name, finding in found.items():
        others = (other for other in finding.alike if differs(language, engine, {**profile, name: other}))
        wrong += [f"{name}={other} is not alike" for other in others]
    return asked, wrong


def departures(language: str) -> Iterator[tuple[str, str]]:
    """Each axis with each of its values but the default, as far as a query shows them."""
    for axis in predictor(language).interpretation.axes.values():
        yield from ((axis.name, value) for value in axis.values[1:] if (axis.name, value) not in UNSEEN)


def problems_with_one(language: str, name: str, value: str) -> list[str]:
    """What is wrong with the profile of an engine that departs in one axis alone."""
    default = predictor(language).default
    found, _ = identification(language, {**default, name: value})
    own = found[name].value if name in found else "left out"
    wrong = [] if own == value else [f"{name}={own}, not {value}"]
    others = {other: f.value for other, f in found.items() if other != name and not f.alike}
    return wrong + [f"{other}={chosen}" for other, chosen in others.items() if chosen != default[other]]

"""The exercises as data: a JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cerify.semantics.errors import InputError
from cerify.semantics.events import Schema
from cerify.semantics.json_events import schema_of_json
from cerify.semantics.values import Value
from cerify.terminal import did_you_mean

FILE = Path(__file__).parent / "exercises.jsonl"


@dataclass(frozen=True)
class Exercise:
    """A sentence, and formulas that say it.

    answers are right, the first is the model answer; wrong ones are typical of beginners. values are those that
    attributes take where a formula of SASE+ is tried on short streams. level is 1, 2 or 3, from easy to hard.
    """

    id: str
    language: str
    level: int
    sentence: str
    schema: Schema
    answers: tuple[str, ...]
    wrong: tuple[str, ...]
    hint: str
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)


@cache
def exercises() -> Mapping[str, Exercise]:
    """All exercises by their ids, in the order of the file: by language, and there from easy to hard."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {exercise.id: exercise for exercise in map(_exercise, map(json.loads, lines))}


def exercise(id_: str) -> Exercise:
    """The exercise of that id. Raises InputError."""
    if (found := exercises().get(id_)) is None:
        raise InputError(f"no exercise {id_!r};{did_you_mean(id_, exercises())} cerify grade lists them all")
    return found


def _exercise(obj: dict[str, Any]) -> Exercise:
    return Exercise(
        obj["id"],
        obj["language"],
        obj["level"],
        obj["sentence"],
        schema_of_json(obj["schema"]),
        tuple(obj["answers"]),
        tuple(obj["wrong"]),
        obj["hint"],
        {name: tuple(values) for name, values in obj.get("values", {}).items()},
    )

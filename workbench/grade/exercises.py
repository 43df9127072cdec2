"""The exercises as data, a JSON object per line: those of the course, and files of others.

A file of somebody else's has the same form; only id, sentence and schema have to be there, and answers to grade with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cerify.languages import DEFAULT, LANGUAGES
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import Schema
from cerify.semantics.json_events import parse_json, schema_of_json
from cerify.semantics.values import Value
from cerify.terminal import picked

FILE = Path(__file__).parent / "exercises.jsonl"
LEVELS = {1: "easy", 2: "middling", 3: "hard"}


@dataclass(frozen=True)
class Exercise:
    """A sentence, and formulas that say it.

    answers are right, the first is the model answer, and there are none in a file for students; wrong ones are typical
    of beginners. values are those that attributes take where a query is tried on short streams. level is 1, 2 or 3,
    from easy to hard; session is that of the course, 0 for none.
    """

    id: str
    sentence: str
    schema: Schema
    language: str = DEFAULT
    session: int = 0
    level: int = 1
    answers: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    hint: str = ""
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    def right(self) -> tuple[str, ...]:
        """Its answers, the model answer first. Raises InputError if it is of a file for students, which has none."""
        if not self.answers:
            raise InputError(f"the file has no answer to {self.id!r}: whoever wrote it has another one to grade with")
        return self.answers

    def public(self) -> dict[str, Any]:
        """What students may see of it, as JSON."""
        schema = {name: dict(attributes) for name, attributes in self.schema.types.items()}
        return {**picked(self, "id", "language", "session", "level", "sentence"), "schema": schema}


@cache
def exercises(file: Path = FILE) -> Mapping[str, Exercise]:
    """All exercises of a file by their ids, in its order; those of the course by language, and there from easy to hard.

    Raises InputError, which names the file and the line.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {file}: {reason}") from None
    found: dict[str, Exercise] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            one = _exercise(parse_json(line, f"{file}, line {number}"), f"{file}, line {number}")
            if one.id in found:
                raise InputError(f"{file}, line {number}: there is another exercise {one.id!r}")
            found[one.id] = one
    return found


def exercise(id_: str, file: Path = FILE) -> Exercise:
    """The exercise of that id. Raises InputError."""
    if (found := exercises(file).get(id_)) is None:
        raise InputError(f"no exercise {id_!r}{did_you_mean(id_, exercises(file)) or '; cerify grade lists them all'}")
    return found


KINDS: Mapping[str, type] = {
    **dict.fromkeys(("id", "language", "sentence", "hint"), str),
    **dict.fromkeys(("session", "level"), int),
    **dict.fromkeys(("answers", "wrong"), list),
    **dict.fromkeys(("schema", "values"), dict),
}
"""The type of each field of an exercise, as JSON."""


def _exercise(obj: Any, where: str) -> Exercise:
    if not isinstance(obj, dict):
        raise InputError(f"{where}: an exercise is a JSON object")
    for name, value in obj.items():
        if name not in KINDS:
            raise InputError(f"{where}: no field {name!r} of an exercise{did_you_mean(name, KINDS)}")
        texts = value if isinstance(value, list) else []
        if not isinstance(value, KINDS[name]) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{where}, field {name!r}: {json.dumps(value)} is of a wrong type")
    if missing := [name for name in ("id", "sentence", "schema") if name not in obj]:
        raise InputError(f"{where}: an exercise needs the field {missing[0]!r}")
    if obj.get("language", DEFAULT) not in LANGUAGES or obj.get("level", 1) not in LEVELS:
        raise InputError(f"{where}: language is one of {', '.join(LANGUAGES)}, and level 1, 2 or 3")
    try:
        schema = schema_of_json(obj["schema"])
    except CerifyError as error:
        raise InputError(f"{where}: {error.message}") from None
    lists = {name: tuple(obj.get(name, ())) for name in ("answers", "wrong")}
    values = {name: tuple(given) for name, given in obj.get("values", {}).items()}
    if values and (missing := sorted(schema.attributes.keys() - values)):
        raise InputError(f"{where}: values has none for the attribute {missing[0]!r}")
    return Exercise(**{**obj, **lists, "values": values, "schema": schema})

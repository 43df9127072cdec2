"""The exercises as data, a JSON object per line: those of the course, and files of others.

A file of somebody else's has the same form; only id, sentence and schema have to be there, and answers to grade with.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cerify.api import read_query
from cerify.equivalence.verdict import Different, Undecided
from cerify.grade.mistakes import Mistake
from cerify.languages import DEFAULT, LANGUAGES
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, MissingPackage, Unsupported
from cerify.semantics.events import TYPE, Schema
from cerify.semantics.json_events import event_of_json, lines_of, parse_json, schema_of_json
from cerify.semantics.packages import installed
from cerify.semantics.values import Value
from cerify.terminal import picked

FILE = Path(__file__).parent / "exercises.jsonl"
PATTERN = "pattern"
COMPARING = 10.0  # seconds for another answer and the first
LEVELS = {1: "easy", 2: "middling", 3: "hard"}


class UnusableAnswer(InputError):
    """Nothing can be marked with an answer that a file lists as right. withheld is the message for students."""

    withheld: str = ""


@dataclass(frozen=True)
class Exercise:
    """A sentence, and formulas that say it.

    answers are right, the first is the model answer, and there are none in a file for students; wrong ones are typical
    of beginners. about is "pattern" for a hint that is of no help with a mistake in the conditions, "" for any other.
    values are those that attributes take where a query is tried on short streams. level is 1, 2 or 3, from easy to
    hard; session is that of the course, 0 for none. where is the file and the line, for messages.
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
    about: str = ""
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    where: str = field(default="", compare=False)

    def hint_about(self, mistake: Mistake) -> str:
        """Its hint, or "" where that is not about the mistake."""
        return "" if self.about == PATTERN and mistake.in_conditions else self.hint

    def right(self) -> tuple[str, ...]:
        """Its answers, the model answer first. Raises InputError if it is of a file for students, which has none."""
        if not self.answers:
            raise InputError(f"the file has no answer to {self.id!r}: whoever wrote it has another one to grade with")
        return self.answers

    def trees(self) -> list[Any]:
        """Its answers as syntax trees. Raises UnusableAnswer, and InputError if it has none."""
        return [self._tree(text, number) for number, text in enumerate(self.right(), 1)]

    def _tree(self, text: str, number: int) -> Any:
        try:
            return read_query(text, self.language, self.schema)[1]
        except CerifyError as error:
            raise self._unusable(number, error) from None

    def require_usable(self) -> None:
        """Raises UnusableAnswer if no query can be compared with the first answer, or another one means something else.

        Without the solver, what would need it can be used: queries are tried on short streams then.
        """
        first, *others = self.trees()
        lang = LANGUAGES[self.language]
        try:
            found = lang.difference(first, first, self.schema)
        except MissingPackage:
            found = None
        except CerifyError as error:
            raise self._unusable(1, error) from None
        if isinstance(found, Undecided) and not self.values and installed("z3"):
            reason = f"{found.reason}; so list values to try, as the field 'values' with each attribute of the schema"
            raise self._unusable(1, InputError(reason))
        for number, other in enumerate(others, 2):
            with suppress(Unsupported, BudgetExceeded), Budget(seconds=COMPARING).timed():
                found = lang.difference(first, other, self.schema)
                if isinstance(found, Different):
                    S = " ".join(event.type for event in found.stream)
                    raise self._unusable(number, InputError(f"it means something else than answer 1 on the events {S}"))

    def _unusable(self, number: int, error: CerifyError) -> UnusableAnswer:
        which = ", ".join(filter(None, (self.where, f"answer {number} to {self.id!r}")))
        unusable = UnusableAnswer(f"{which}: {error.message}", error.span)
        unusable.text = self.answers[number - 1]
        unusable.withheld = f"{which} cannot be used; cerify grade --exercises with this file, alone, says why"
        return unusable

    def public(self) -> dict[str, Any]:
        """What students may see of it, as JSON."""
        schema = {name: dict(attributes) for name, attributes in self.schema.types.items()}
        return {**picked(self, "id", "language", "session", "level", "sentence"), "schema": schema}

    def for_students(self) -> dict[str, Any]:
        """It as a line of a file without answers; without the session where it is of none."""
        return {name: value for name, value in self.public().items() if (name, value) != ("session", 0)}


def grade_command(file: Path) -> str:
    """The command that is about the exercises of a file."""
    return "cerify grade" if file == FILE else f"cerify grade --exercises {shlex.quote(str(file))}"


@cache
def exercises(file: Path = FILE) -> Mapping[str, Exercise]:
    """All exercises of a file by their ids, in its order; those of the course by language, and there from easy to hard.

    Raises InputError, which names the file and the line, and UnusableAnswer, but not for the file of the course, whose
    answers can be used.
    """
    found: dict[str, Exercise] = {}
    for line, where in lines_of(file):
        one = _exercise(parse_json(line, where), where)
        if one.id in found:
            raise InputError(f"{where}: there is another exercise {one.id!r}")
        if file != FILE and one.answers:
            one.require_usable()
        found[one.id] = one
    if not found:
        raise InputError(f"{file} has no exercises")
    return found


def exercise(id_: str, file: Path = FILE) -> Exercise:
    """The exercise of that id. Raises InputError."""
    if (found := exercises(file).get(id_)) is None:
        raise InputError(
            f"no exercise {id_!r}{did_you_mean(id_, exercises(file)) or f'; {grade_command(file)} lists them all'}"
        )
    return found


KINDS: Mapping[str, type] = {
    **dict.fromkeys(("id", "language", "sentence", "hint", "about"), str),
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
        if KINDS[name] is list and not (isinstance(value, list) and all(isinstance(text, str) for text in value)):
            raise InputError(f"{where}, field {name!r}: give a list of texts")
        if not isinstance(value, KINDS[name]):
            raise InputError(f"{where}, field {name!r}: {json.dumps(value)} is of a wrong type")
    if missing := [name for name in ("id", "sentence", "schema") if name not in obj]:
        raise InputError(f"{where}: an exercise needs the field {missing[0]!r}")
    if obj.get("about", "") not in ("", PATTERN):
        raise InputError(f"{where}, field 'about': what a hint is about is {json.dumps(PATTERN)}, or left out")
    if obj.get("language", DEFAULT) not in LANGUAGES or obj.get("level", 1) not in LEVELS:
        raise InputError(f"{where}: language is one of {', '.join(LANGUAGES)}, and level 1, 2 or 3")
    try:
        schema = schema_of_json(obj["schema"])
    except CerifyError as error:
        raise InputError(f"{where}: {error.message}") from None
    lists = {name: tuple(obj.get(name, ())) for name in ("answers", "wrong")}
    values = dict(_values(obj.get("values", {}), schema, where))
    if values and (missing := sorted(schema.attributes.keys() - values)):
        raise InputError(f"{where}: values has none for the attribute {missing[0]!r}")
    return Exercise(**{**obj, **lists, "values": values, "schema": schema, "where": where})


def _values(obj: Mapping[str, Any], schema: Schema, where: str) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """The attributes with their values, which are of the attribute's type. Raises InputError."""
    for name, given in obj.items():
        type_ = next((type_ for type_, attributes in schema.types.items() if name in attributes), None)
        if type_ is None or not isinstance(given, list) or not given or None in given:
            raise InputError(
                f"{where}, field 'values': give each attribute of the schema a list of values, not {name!r}"
            )
        yield name, tuple(event_of_json({TYPE: type_, name: value}, schema, where).attributes[name] for value in given)

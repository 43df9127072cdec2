"""JSON values held against a JSON Schema of draft 2020-12."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from cerify.semantics.errors import shortened
from cerify.semantics.packages import naming_extras

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

LONGEST = 280  # characters of a message, which has the value in it
LONG = 100_000  # bytes of JSON of a value of which one problem is found, not all: each costs time and kilobytes


class Problem(NamedTuple):
    """What is wrong with a part of a value: the keys and indices that lead to it, and a sentence."""

    path: tuple[str | int, ...]
    message: str


class JsonSchema:
    """A schema, prepared to be held against many values. Raises MissingPackage without the extra conform."""

    def __init__(self, schema: dict[str, Any]) -> None:
        with naming_extras():
            # imported late, since it is needed by few commands
            from jsonschema_rs import Draft202012Validator, ValidationError

        self._validator, self._error = Draft202012Validator(schema), ValidationError

    def problem(self, value: Any) -> Problem | None:
        """The problem that is nearest to the top of the value, None if it meets the schema; of a LONG value, any.

        A value that does not, and is nested so deeply that the validator gives up, has a problem as a whole.
        """
        try:
            if self._validator.is_valid(value):
                return None
        except UnicodeEncodeError:
            pass  # half of a surrogate pair, which JSON can write and UTF-8 cannot
        try:
            encoded = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            errors = self._errors(json.loads(encoded), len(encoded) > LONG)
        except (ValueError, RecursionError):
            return Problem((), "it does not meet its schema, and is nested too deeply to say where")
        problems = [Problem(tuple(error.instance_path), shortened(error.message, LONGEST)) for error in errors]
        return min(problems, key=lambda problem: len(problem.path), default=None)

    def _errors(self, value: Any, one: bool) -> list[ValidationError]:
        """What is wrong with a value, or one thing that is."""
        if not one:
            return list(self._validator.iter_errors(value))
        try:
            self._validator.validate(value)
        except self._error as error:
            return [error]
        return []

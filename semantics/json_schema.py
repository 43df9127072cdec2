"""JSON values held against a JSON Schema of draft 2020-12."""

from __future__ import annotations

from typing import Any, NamedTuple

from cerify.semantics.packages import naming_extras


class Problem(NamedTuple):
    """What is wrong with a part of a value: the keys and indices that lead to it, and a sentence."""

    path: tuple[str | int, ...]
    message: str


class JsonSchema:
    """A schema, prepared to be held against many values. Raises MissingPackage without the extra conform."""

    def __init__(self, schema: dict[str, Any]) -> None:
        with naming_extras():
            from jsonschema_rs import Draft202012Validator  # imported late, since it is needed by few commands

        self._validator = Draft202012Validator(schema)

    def problem(self, value: Any) -> Problem | None:
        """The problem that is nearest to the top of the value, None if it meets the schema."""
        if self._validator.is_valid(value):
            return None
        errors = self._validator.iter_errors(value)
        return min((Problem(tuple(e.instance_path), e.message) for e in errors), key=lambda problem: len(problem.path))

"""Which problem of a JSON value is reported, and where."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cerify.semantics.json_events import JsonSchema

SCHEMA = JsonSchema(
    {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string"},
            "events": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        },
        "additionalProperties": False,
    }
)


@pytest.mark.parametrize("value", [{"id": "a"}, {"id": "\udc8c"}, {"id": "a", "events": [0, 10**400, 2.0]}])
def test_a_value_that_meets_the_schema_has_no_problem(value: Any) -> None:
    assert SCHEMA.problem(value) is None


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ([], (), "is not of type"),
        ({"id": 1, "events": [-1]}, ("id",), "is not of type"),
        ({"id": "a", "events": [0, -1]}, ("events", 1), "less than the minimum"),
        ({"id": "a", "events": [True]}, ("events", 0), "is not of type"),
        ({"events": [-1], "more": 1}, (), "required property|unexpected"),
        ("\udc8c", (), "is not of type"),
        ({"id": "a", "\udc8c": "\udc8c"}, (), "unexpected"),
    ],
)
def test_the_problem_nearest_the_top_is_reported(value: Any, path: tuple[str | int, ...], message: str) -> None:
    problem = SCHEMA.problem(value)
    assert problem is not None
    assert problem.path == path
    assert any(one in problem.message for one in message.split("|"))


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_a_value_nested_deeply_has_a_problem(depth: int) -> None:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    problem = SCHEMA.problem({"id": value})
    assert problem is not None
    assert "is not of type" in problem.message or "nested too deeply" in problem.message


def test_a_problem_with_a_large_value_is_short() -> None:
    problem = SCHEMA.problem({"id": [0] * 100_000})
    assert problem is not None
    assert len(problem.message) < 300
    assert "is not of type" in problem.message


def test_of_a_long_value_one_problem_is_found() -> None:
    """All of them took a minute and five gigabytes for an answer of 12 MB with a number in the place of each match."""
    schema = JsonSchema({"items": {"type": "object"}})
    schema._validator = cast("Any", SimpleNamespace(is_valid=lambda _: False, validate=schema._validator.validate))
    problem = schema.problem([1] * 50_000)
    assert problem is not None
    assert problem == ((0,), '1 is not of type "object"')

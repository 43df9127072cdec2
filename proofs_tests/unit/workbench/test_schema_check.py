"""The quick check of messages accepts nothing that jsonschema refuses, and all that cerify itself writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, get_args

import pytest

from cerify import protocol
from cerify.conformance.cases import load
from cerify.conformance.harness import message_of
from cerify.languages import LANGUAGES
from cerify.schema_check import surely

OTHERS: list[Any] = [None, True, False, 0, 1, -1, 2.0, 2.5, "", "cel", "run", [], [0], {}, {"type": "A"}]
"""Values that are put in the place of others."""

STARTED = {
    "protocol": 1,
    "engine": {"name": "e", "version": ""},
    "languages": ["cel"],
    "features": ["seq"],
    "claims": {"cel": {"operators": ["seq"], "predicates": ["in"], "output": ["matches"], "ordered_time": True}},
}
ANSWERS: tuple[dict[str, Any], ...] = (
    {"id": "c", "matches": [{"at": 1, "events": [0, 1], "bindings": {"A": [0]}, "result": {"x": 1}}]},
    {"id": "c", "matches": [], "translation": "t"},
    {"id": "c", "tables": [{"columns": ["x"], "rows": [[1], [None]]}]},
    {"id": None, "skipped": "why", "link": "there"},
    {"id": "c", "error": {"code": "parse", "message": "m", "span": [0, 1]}},
)


def messages() -> Iterator[tuple[protocol.Message, str, Any]]:
    """Right messages of each kind, with the kind of an answer."""
    yield "start", "", {"cmd": "start", "protocol": 1}
    yield "started", "", STARTED
    yield "stop", "", {"cmd": "stop"}
    for case in load(None)[::150]:
        yield "run", "", json.loads(protocol.line(message_of(case)))
    for answer in ANSWERS:
        yield "answer", next(kind for kind in protocol.KINDS if kind in answer), answer


def changed(value: Any, rng: Random) -> Any:
    """The value with a part left out, added, or replaced by another one."""
    if rng.random() < 0.3 or not isinstance(value, dict | list) or not value:
        return rng.choice(OTHERS)
    if isinstance(value, list):
        i = rng.randrange(len(value))
        return [*value[:i], *([changed(value[i], rng)] if rng.random() < 0.8 else []), *value[i + 1 :]]
    name = rng.choice(list(value))
    if rng.random() < 0.2:
        return {key: one for key, one in value.items() if key != name}
    added = {rng.choice(("more", "id", "skipped", "link", "at")): rng.choice(OTHERS)} if rng.random() < 0.2 else {}
    return {**value, name: changed(value[name], rng), **added}


def test_what_is_accepted_is_right() -> None:
    """A check that left out a field of an object, or took true for 1, would let a wrong message pass."""
    rng, right, wrong = Random(1), 0, 0
    languages = tuple(LANGUAGES)
    for message, kind, obj in messages():
        check, validator = protocol._surely(message, languages, kind), protocol._validator(message, languages, kind)
        assert check(obj), (message, obj)
        for _ in range(60):
            other = changed(obj, rng)
            valid = validator.is_valid(other)
            assert valid or not check(other), (message, other)
            right, wrong = right + valid, wrong + (not valid)
    assert min(right, wrong) > 400


@pytest.mark.parametrize("message", get_args(protocol.Message))
def test_every_keyword_of_the_schemas_is_known(message: protocol.Message) -> None:
    for kind in protocol.KINDS if message == "answer" else ("",):
        protocol._surely(message, tuple(LANGUAGES), kind)


@pytest.mark.parametrize("schema", [{"pattern": "a"}, {"items": {"format": "date"}}, {"oneOf": [True, False]}])
def test_an_unknown_keyword_is_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"keyword|alternatives"):
        surely(schema)


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        ({"type": "integer"}, [0, -1], [True, 2.0, "1", None]),
        ({"type": ["number", "null"]}, [0, 2.5, None], [True, "1"]),
        ({"const": 1}, [1], [True, 1.0]),
        ({"enum": ["a", None]}, ["a", None], ["b", 0]),
        ({"minimum": 0}, [0], [-1, True]),
        ({"items": {"type": "string"}, "maxItems": 1}, [[], ["a"]], [[1], ["a", "a"], {}]),
        ({"propertyNames": {"enum": ["a"]}}, [{}, {"a": 1}], [{"b": 1}]),
        (
            {"required": ["a"], "additionalProperties": False, "properties": {"a": True}},
            [{"a": 1}],
            [{}, {"a": 1, "b": 1}],
        ),
    ],
)
def test_each_keyword(schema: Any, accepted: list[Any], refused: list[Any]) -> None:
    assert [surely(schema)(value) for value in accepted] == [True] * len(accepted)
    assert [surely(schema)(value) for value in refused] == [False] * len(refused)

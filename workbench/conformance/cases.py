"""The conformance suite: cases as data, a JSON object per line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from cerify import protocol
from cerify.conformance.model import Case, of_output
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import Match
from cerify.semantics.json_events import lines_of, parse_json, schema_of_json, stream_of_json

T = TypeVar("T")

SUITES = Path(__file__).parent / "suite"
FEW = 5  # matches that a message names
SECONDS = 10.0  # in which the matches of a case are computed by the definition
SUITE_SECONDS = 600  # the same for all cases of a file
FIELDS = {
    "id": str,
    "feature": str,
    "clause": str,
    "language": str,
    "query": str,
    "events": list,
    "output": str,
}


def load(name: str | None, seconds: float = SECONDS) -> list[Case]:
    """The cases of a built-in suite by name (all of them if None), or of a file by its path. Raises InputError.

    A file is checked line by line, which takes some milliseconds each, at most the seconds each and SUITE_SECONDS
    together; the built-in suites have been.
    """
    built_in = {path.stem: path for path in sorted(SUITES.glob("*.jsonl"))}
    if name is None or name in built_in:
        paths = built_in.values() if name is None else [built_in[name]]
        return [case for path in paths for case in _built_in(path)]
    if not Path(name).is_file():
        raise InputError(f"no suite {name!r}: neither a file nor one of {', '.join(built_in)}")
    cases: dict[str, tuple[Case, str]] = {}
    until = time.monotonic() + SUITE_SECONDS
    for text, where in lines_of(Path(name)):
        if time.monotonic() > until:
            raise InputError(f"{where}: computing the matches up to here took {SUITE_SECONDS} seconds; split the suite")
        case = case_of_line(text, where, seconds)
        if case.id in cases:
            raise InputError(f"{where}: the field 'id': {case.id!r} is that of {cases[case.id][1]}, too")
        cases[case.id] = case, where
    if not cases:
        raise InputError(f"the suite {name!r} has no cases")
    return [case for case, _ in cases.values()]


@cache
def _built_in(path: Path) -> list[Case]:
    """The cases of a built-in suite, which are read once."""
    return [_case(json.loads(text)) for text, _ in lines_of(path)]


def case_of_line(text: str, where: str, seconds: float = SECONDS) -> Case:
    """The case that a line of a suite writes; without the field "matches" it has those of the definition.

    Raises InputError naming the place and the field, also for matches that are not those of the definition, and where
    these take longer than the seconds.
    """
    obj = parse_json(text, where)
    if not isinstance(obj, dict):
        raise InputError(f"{where}: a case is a JSON object")
    for field, kind in FIELDS.items():
        if not isinstance(obj.get(field), kind):
            raise InputError(f"{where}: the field {field!r} is missing, or no {kind.__name__}")
    message = {key: obj[key] for key in ("id", "language", "query", "schema", "events", "output") if key in obj}
    protocol.checked({"cmd": "run", **message}, "run", where)
    language = LANGUAGES[obj["language"]]
    schema = None if obj.get("schema") is None else _of_field("schema", where, partial(schema_of_json, obj["schema"]))
    S = stream_of_json(obj["events"], schema, where, language.row_type)
    phi = _of_field("query", where, partial(language.parse, obj["query"]))
    if schema is not None:
        _of_field("query", where, partial(language.require_typed, phi, schema))
    options = Options(obj["output"])

    def by_definition() -> list[Match]:
        with Budget(seconds=seconds).timed():
            return of_output(language.matches(phi, S, DENOTATIONAL, options), language.name, options.output)

    meant = _of_field("query", where, by_definition)
    if obj.get("matches") is None:
        return _case(obj | {"matches": [protocol.json_of_match(match) for match in meant]})
    answer = protocol.checked({"id": obj["id"], "matches": obj["matches"]}, "answer", where)
    given = _of_field("matches", where, partial(protocol.answer_of_json, answer, obj["output"], len(obj["events"])))
    if isinstance(given, protocol.Matches) and given.problem:
        raise InputError(f"{where}: the field 'matches': {given.problem}")
    case = _case(obj)
    if set(case.matches) != set(meant):
        expected = ", ".join(protocol.line(protocol.json_of_match(match)) for match in meant[:FEW]) or "none"
        raise InputError(
            f"{where}: the field 'matches': it contradicts the definition, by which the matches are {expected}; leave "
            "the field out to have them computed"
        )
    return case


def _of_field(field: str, where: str, make: Callable[[], T]) -> T:
    """What is made of a field. Raises InputError naming it where that is wrong."""
    try:
        return make()
    except CerifyError as error:
        raise InputError(f"{where}: the field {field!r}: {error.message}") from None


def _case(obj: protocol.Json) -> Case:
    matches = protocol.matches_of_json(obj["matches"], obj["output"])
    return Case(
        id=obj["id"],
        feature=obj["feature"],
        clause=obj["clause"],
        language=obj["language"],
        query=obj["query"],
        schema=obj.get("schema"),
        events=obj["events"],
        output=obj["output"],
        matches=sorted(matches),
    )


def line_of_case(case: Case) -> str:
    """The case as a line of a suite."""
    return protocol.line(
        {
            "id": case.id,
            "feature": case.feature,
            "clause": case.clause,
            "language": case.language,
            "query": case.query,
            "schema": case.schema,
            "events": list(case.events),
            "output": case.output,
            "matches": [protocol.json_of_match(match) for match in case.matches],
        }
    )

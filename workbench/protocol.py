"""The engine protocol, version 1: convert messages to objects and back, and check them against their JSON Schemas.

A message is one JSON object on one line, in each direction. The folder schemas/ has the schema of each message.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cerify.languages import LANGUAGES
from cerify.semantics.arguments import CHECKED_TOGETHER, timed_items
from cerify.semantics.errors import CerifyError, InputError, Span
from cerify.semantics.events import Match, result_of
from cerify.semantics.json_events import JsonSchema, parse_json
from cerify.semantics.row_pattern.scalars import NumberedMatch

PROTOCOL = 1
LONGEST_TEXT = 10_000  # the most characters of an engine's text that are kept and shown
KINDS = ("matches", "tables", "skipped", "error")  # an answer to *run* has exactly one of these keys

Json: TypeAlias = dict[str, Any]
Message = Literal["start", "started", "run", "answer", "stop"]


@dataclass(frozen=True)
class EngineInfo:
    """The description that an engine gives of itself when it starts.

    claims: for each language, the engine's claims, as JSON.
    """

    name: str
    version: str
    languages: Sequence[str]
    features: Sequence[str] = ()
    claims: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchesAnswer:
    """The engine's matches, sorted, each once.

    problem: why the answer is wrong, whatever matches are expected: it has a match twice, or a match has a position
    twice or a position beyond the stream. "" if there is no such problem.
    """

    matches: Sequence[Match]
    problem: str = ""


@dataclass(frozen=True)
class Skipped:
    """The answer that the engine does not support the query, with the reason and a link to the engine's manual."""

    why: str
    link: str = ""


@dataclass(frozen=True)
class Failed:
    """The answer that the engine could not evaluate the query, with a code of the protocol and a message."""

    code: str
    message: str
    span: Span | None = None


Answer: TypeAlias = MatchesAnswer | Skipped | Failed


def bounded(text: str) -> str:
    """Return an engine's text, cut after LONGEST_TEXT characters, with the number of characters that were cut."""
    rest = len(text) - LONGEST_TEXT
    return text if rest <= 0 else f"{text[:LONGEST_TEXT]}… ({rest:,} more characters)"


def line(message: Mapping[str, Any]) -> str:
    """Return the message as one line of text, without the newline."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_message(text: str | bytes, message: Message, where: str = "the message") -> Json:
    """Return the message that a line holds, checked against its schema. Raises InputError."""
    return checked(parse_json(text, where), message, where)


def checked(obj: Any, message: Message, where: str = "the message") -> Json:
    """Return the JSON value as a message of its schema. Raises InputError if it does not fit the schema."""
    kind = _kind_of_answer(obj, where) if message == "answer" else ""
    if (problem := _schema(message, tuple(LANGUAGES), kind).problem(obj)) is not None:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem.path)
        raise InputError(f"{where}{': at ' + place.lstrip('.') if place else ''}: {problem.message}")
    result: Json = obj
    return result


def _kind_of_answer(obj: Any, where: str) -> str:
    """Return the kind of an answer, one of KINDS. Raises InputError if it has none or several."""
    kinds = [kind for kind in KINDS if kind in obj] if isinstance(obj, dict) else []
    if len(kinds) != 1:
        raise InputError(
            f"{where}: an answer must have exactly one of {', '.join(KINDS)}, not {' and '.join(kinds) or 'none'}"
        )
    return kinds[0]


@cache
def _schema(message: Message, languages: tuple[str, ...], kind: str) -> JsonSchema:
    """Return the JSON Schema of a message, which also allows registered languages.

    The schema of an answer has only the alternative of this kind, so that errors are not about other kinds.
    """
    path = Path(__file__).parent / "schemas" / f"{message}.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    if kind:
        schema["allOf"] = [one for one in schema.pop("oneOf") if kind in one.get("required", ())]
    fields = schema["properties"]
    for one in (fields.get("language", {}), fields.get("languages", {}).get("items", {})):
        if "enum" in one:
            one["enum"] = [*one["enum"], *(name for name in languages if name not in one["enum"])]
    return JsonSchema(schema)


def info_of_json(obj: Json) -> EngineInfo:
    """Return the engine's description, given its answer to the message *start*."""
    engine = obj["engine"]
    return EngineInfo(
        bounded(engine["name"]),
        bounded(engine["version"]),
        obj["languages"],
        obj.get("features", ()),
        obj.get("claims", {}),
    )


def json_of_info(info: EngineInfo) -> Json:
    """Return the answer to the message *start*, for a built-in engine."""
    return {
        "protocol": PROTOCOL,
        "engine": {"name": info.name, "version": info.version},
        "languages": list(info.languages),
        "features": list(info.features),
        **({"claims": dict(info.claims)} if info.claims else {}),
    }


def answer_of_json(obj: Json, output: str, events: int) -> Answer:
    """Return the engine's answer, given its answer message as JSON.

    output: the output that was requested. events: the length of the stream. Raises InputError if only some matches have
    results, and BudgetExceeded if the caller's time is over.
    """
    if "skipped" in obj:
        return Skipped(bounded(obj["skipped"]), bounded(obj.get("link", "")))
    if "error" in obj:
        error = obj["error"]
        return Failed(error["code"], bounded(error["message"]), Span(*error["span"]) if error.get("span") else None)
    problems: list[str] = []
    matches = [_match(match, f"matches[{i}]", output, problems) for i, match in enumerate(timed_items(obj["matches"]))]
    # Repetitions and positions beyond the stream are reported as problems of the answer: an error of the protocol would
    # hide its matches.
    twice = [match for match, times in Counter(matches).items() if times > 1]
    if twice:
        problems.append(f"the answer is a set, but it has the match {min(twice).json()} more than once")
    beyond = (match for match in matches if max((match.at, *match.events)) >= events)
    if (match := next(beyond, None)) is not None:
        problems.append(f"the match {match.json()} has a position beyond the {events} events sent")
    if len({match.result is None for match in matches}) > 1:
        raise InputError("some matches have a 'result' and others have none; all must have one, or none")
    found = sorted(dict.fromkeys(matches), key=_sort_key)
    return MatchesAnswer(found, bounded(problems[0]) if problems else "")


def _sort_key(match: Match) -> tuple[object, ...]:
    """Return a sort key that gives the same order as comparing matches, but is faster because it is a tuple."""
    return (match.at, match.events, match.bindings, match.result, match)


def matches_of_json(objs: Iterable[Any], output: str) -> list[Match]:
    """Return the matches that JSON in the form of the protocol represents. Raises InputError.

    Bindings are read only if the output is "valuations".
    """
    problems: list[str] = []
    matches = [_match(obj, f"matches[{i}]", output, problems) for i, obj in enumerate(objs)]
    if problems:
        raise InputError(problems[0])
    return matches


def _match(obj: Any, where: str, output: str, problems: list[str]) -> Match:
    """Return the match that JSON represents; add a sentence to `problems` if its positions are wrong.

    Raises InputError for JSON that is not a match.
    """
    if not isinstance(obj, dict) or "at" not in obj:
        raise InputError(f"{where}: a match must be an object with a position 'at' and a list 'events'")
    at = _position(obj["at"], f"{where}.at")
    bindings = None
    if output == "valuations":
        if not isinstance(bound := obj.get("bindings"), dict):
            raise InputError(f"{where}: with valuations, a match needs 'bindings', from variables to positions")
        pairs = ((A, _positions(positions, f"{where}.bindings.{A}", problems)) for A, positions in bound.items())
        bindings = tuple(sorted((A, positions) for A, positions in pairs if positions))
    result = obj.get("result") if output in ("valuations", "groups") else None
    if result is not None and not isinstance(result, dict):
        raise InputError(f"{where}: a result must be an object, from the names of attributes to their values")
    events = _positions(obj.get("events"), f"{where}.events", problems)
    shown = None if result is None else result_of(result)
    if output == "valuations" and type(number := obj.get("match_number")) is int:
        return NumberedMatch(at, tuple(dict.fromkeys(obj["events"])), bindings, shown, match_number=number)
    return Match(at, events, bindings, shown)


def _positions(obj: Any, where: str, problems: list[str]) -> tuple[int, ...]:
    if not isinstance(obj, list):
        raise InputError(f"{where}: a list of positions is expected")
    positions = sorted(_position(p, where) for p in (timed_items(obj) if len(obj) > CHECKED_TOGETHER else obj))
    if len(set(positions)) < len(positions):
        problems.append(f"{where}: a list of positions, each once, is expected, not {str(obj[:20])[:200]}")
    return tuple(dict.fromkeys(positions))


def _position(obj: Any, where: str) -> int:
    if type(obj) is not int or obj < 0:  # JSON Schema accepts 2.0 as an integer
        raise InputError(f"{where}: a position is a whole number from 0, written without a point, not {obj!r}")
    return obj


def json_of_error(error: CerifyError) -> Json:
    """Return an error of cerify in the form of the protocol."""
    known = {"parse", "ill_formed", "unsupported", "budget", "internal"}
    return {
        "code": error.code if error.code in known else "ill_formed",
        "message": error.message,
        "span": [error.span.start, error.span.end] if error.span else None,
    }

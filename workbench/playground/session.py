"""What the page of the playground asks of cerify: a request and its answer are JSON objects.

A request names what to do ("do") and has the fields that the function of that name documents. Queries are texts; a
stream is a list of rows of texts, the first of which names the columns. What a function alone needs is imported in it,
so that the first matches are there early.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import catch_warnings, simplefilter

from cerify.api import planned, read_query
from cerify.draw.stream import drawn, match_row, places_row
from cerify.fit import require_fit
from cerify.languages import LANGUAGES, language_named
from cerify.languages.language import Language, Options
from cerify.playground.comparison import MISSING, Side, comparable, compared
from cerify.playground.rows import read_rows, rows_of, stream_in
from cerify.semantics.arguments import LANGUAGE_ARGUMENT
from cerify.semantics.budget import Budget
from cerify.semantics.csv_rows import NEEDS_ARROW
from cerify.semantics.errors import CerifyError, InputError, QueryWarning, Unsupported, errors_in
from cerify.semantics.events import TIME, TYPE, Event, Match, Stream
from cerify.semantics.json_events import parse_json
from cerify.semantics.observed import observed
from cerify.semantics.predicate_types import timeless
from cerify.semantics.values import plain

if TYPE_CHECKING:
    from cerify.explanations.step import Part, Step

Json: TypeAlias = dict[str, Any]

BUDGET = Budget(valuations=200_000, states=10_000, matches=10_000, seconds=10)  # in the memory of a page
SOON = 1.0  # seconds, to find out whether a query without matches can have any
LISTED = 200  # matches
DRAWN = 16
NOT_HERE = r"this needs \1, which the page does not have; on your own machine: \2"
OTHER = re.compile(r"(?:it is a query in another language|this looks like (.*)): (language=.+)$")
ALLOW_MORE = ", or allow more: Budget(seconds=...), or --time-limit"
OVER_STREAM = {"evaluate", "explain", "step"}  # what takes less time on a shorter stream
NAME = re.compile(r"[^\W\d]\w*")
CELL = re.compile(r"the stream, event (\d+)(?:, field '([^']*)')?: ")
EXAMPLES = Path(__file__).parent / "examples.json"


def answer(request: str) -> str:
    """The answer to a request; for one that fails {"error": {"code", "message", "span", "text", "cell"}}.

    text is the query that the error is about, and span its place there; cell is the place in the stream, as a position
    and an attribute. They are null where that is not known.
    """
    asked: Json = {}
    try:
        asked = _checked(parse_json(request, "the request"))
        found = REQUESTS[asked["do"]](asked)
    except CerifyError as error:
        span = None if error.span is None else [error.span.start, error.span.end]
        shorter = ", or take a shorter stream" if asked.get("do") in OVER_STREAM else ""
        message, cell = _on_page(error.message).replace(ALLOW_MORE, shorter), CELL.match(error.message)
        found = {"error": {"code": error.code, "message": message, "span": span, "text": error.text}}
        found["error"]["cell"] = None if cell is None else [int(cell[1]), cell[2] or TYPE]
    return json.dumps(found, ensure_ascii=False)


def _on_page(message: str) -> str:
    """A message without what only a terminal has: packages to install, and the options of commands."""
    if found := OTHER.search(message):
        titles = " or ".join(LANGUAGES[name].title for name in re.findall(LANGUAGE_ARGUMENT, found[2]))
        return f"{message[: found.start()]}this is {found[1] or titles}: choose it in the list of languages"
    message = message.replace(
        f"correct it; columns of such values {NEEDS_ARROW}", "write numbers, or texts that begin with a letter"
    )
    return MISSING.sub(NOT_HERE, message)


class _Request(dict[str, Any]):
    """A request; a field that it does not have is an InputError."""

    def __missing__(self, name: str) -> Any:
        raise InputError(f"{name} is missing; is the link whole?")


def _checked(asked: Any) -> _Request:
    """The request. Raises InputError for fields of other kinds, as a link that was changed may fill the page with."""
    if not isinstance(asked, dict) or not _is_text(asked.get("do")) or asked["do"] not in REQUESTS:
        raise InputError("there is no such request")
    for name, value in asked.items():
        if name in FIELDS and not FIELDS[name](value):
            raise InputError(f"{name} is not of its form; is the link whole?")
    return _Request(asked)


def _is_table(value: Any) -> bool:
    """Whether it is a list of rows of texts, with as many columns each and one at least."""
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, list) and row for row in value)
    return rows and all(len(row) == len(value[0]) and all(isinstance(cell, str) for cell in row) for row in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_position(value: Any) -> bool:
    return type(value) is int


FIELDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("do", "query", "other", "language", "otherLanguage", "id", "text"), _is_text),
    "stream": _is_table,
    "events": lambda value: value is None or (isinstance(value, list) and all(map(_is_position, value))),
    "at": lambda value: value is None or _is_position(value),
}


def languages(asked: Json) -> Json:
    """The languages, each with an example: a query and a stream, and variants of the query, each with what it means."""
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    default = next(iter(examples.values()))
    return {
        "languages": [
            {"name": name, "title": language.title, "takesPlace": language.takes_place}
            | {"comparable": [other for other in LANGUAGES if comparable(name, other)]}
            | {"runs": type(language).record is not Language.record}
            | {"example": examples.get(name, default | {"query": next(iter(language.loops), ""), "variants": []})}
            for name, language in LANGUAGES.items()
        ]
    }


def read(asked: Json) -> Json:
    """The rows of a stream that was pasted as text."""
    rows, message = read_rows(asked["text"], language_named(asked["language"]).row_type)
    return {"rows": rows, "message": message}


def evaluate(asked: Json) -> Json:
    """The matches of query over stream in language, and the stream drawn with them; selected: the positions of one."""
    S, text = _stream(asked), asked["query"]
    plan = planned(text, asked["language"], None, Options(budget=BUDGET), None)
    with errors_in(text), BUDGET.timed():
        misfits = [*require_fit(plan.language, plan.query, S), *_times_back(plan.language, plan.query, S)]
        misfits += _unnameable(plan.language, S)
        try:
            matches = list(islice(plan.matches(S), LISTED + 1))
        except Unsupported as error:  # what does not fit may be the cause
            raise Unsupported("\n".join([*(w.message for w in misfits), error.message]), error.span) from error
    warnings = [{"message": w.message, "span": None if w.span is None else [w.span.start, w.span.end]} for w in misfits]
    shown = sorted(matches[:LISTED])
    if plan.language.takes_place:
        rows = [places_row(" ".join(text.split()), [match.at for match in shown])]
    else:
        rows = list(map(match_row, shown[:DRAWN]))
    if not matches:
        warnings += _never(plan.language, plan.query)
    return {
        "matches": list(map(_match, shown)),
        "more": len(matches) > LISTED,
        "svg": drawn(plan.language.stream_read(plan.query, S), rows),
        "warnings": warnings,
        "evaluator": plan.evaluator,
    }


def _unnameable(language: Language[Any], S: Stream) -> Iterator[QueryWarning]:
    """The warning about event types that no query can name."""
    types = dict.fromkeys(event.type for event in S if not NAME.fullmatch(event.type))
    if types and language.row_type is None:
        named = ", ".join(map(repr, types))
        yield QueryWarning(f"no query can name the event type {named}: a name has letters, digits and _")


def _never(language: Language[Any], query: Any) -> list[Json]:
    """The warning about a query that has no match on any stream, where that is known soon."""
    try:
        with Budget(seconds=SOON).timed():
            problems = language.check(query, None).problems
    except CerifyError:  # it takes long, or a part of it is not decided
        return []
    return [
        {"message": problem.message, "span": problem.span and [problem.span.start, problem.span.end]}
        for problem in problems
        if problem.rule == "never"
    ]


def _times_back(language: Language[Any], query: Any, S: Stream) -> Iterator[QueryWarning]:
    """The warning about a window on the time over events of which one has an earlier time than one before it."""
    timed: list[tuple[int, Any]] = [(n, event.get(TIME)) for n, event in enumerate(S) if TIME in event.attributes]
    back = next(((a, b) for a, b in pairwise(timed) if b[1] < a[1]), None)
    untimed = Stream(Event(e.type, {a: v for a, v in e.attributes.items() if a != TIME}) for e in S)
    (measured,) = timeless([], None)
    if back and any(problem.message == measured.message for problem in language.problems(query, observed(untimed))):
        (m, before), (n, time) = back
        yield QueryWarning(
            f"the time goes back from {plain(before)} of event {m} to {plain(time)} of event {n}: the order of the "
            "events is that of the rows, and WITHIN compares their times as they are"
        )


def explain(asked: Json) -> Json:
    """Why the positions `events`, reported at the position `at`, are a match of query, or why they are not."""
    from cerify.explanations.explainer import Request

    S = _stream(asked)
    language, query = read_query(asked["query"], asked["language"])
    chosen = frozenset(asked["events"] or ())
    with errors_in(asked["query"]), BUDGET.timed():
        explainer = language.explainer(query, S, asked["query"])
        found = explainer.one(Request(None if language.takes_place else chosen, at=asked["at"]))
        view = explainer.view(found)
    alone = "Of the events chosen, the last alone is explained. It " if language.takes_place and len(chosen) > 1 else ""
    return {
        "sentence": alone + view.sentence,
        "matched": view.matched,
        "svg": "" if view.drawing is None else view.drawing.svg(explainer.S),
        "parts": [_part(part, explainer.S) for part in view.parts],
        "legend": explainer.legend,
    }


def compare(asked: Json) -> Json:
    """Whether query and other have the same matches on every stream; if not, a stream that shows it."""
    from cerify.commands.equiv import verdict_json

    left, right = Side(asked["query"], asked["language"]), Side(asked["other"], asked["otherLanguage"])
    verdict, lines = compared(left, right, BUDGET)
    found = verdict_json(verdict, "equivalent")
    lines = [line.replace(ALLOW_MORE, "") for line in lines]
    rows = None if found["witness"] is None else rows_of(found["witness"]["events"])
    return {"verdict": found["verdict"], "lines": lines, "rows": rows, "warnings": _unknown_types(asked)}


def _unknown_types(asked: Json) -> list[str]:
    """The warnings about event types that only the second query names, and the stream does not have."""
    found = []
    try:
        seen = observed(_stream(asked))
        for query, named in (("query", "language"), ("other", "otherLanguage")):
            language, tree = read_query(asked[query], asked[named])
            problems = language.problems(tree, seen) if seen.types else ()
            found.append([problem.hinted for problem in problems if problem.rule == "event_type"])
    except CerifyError:  # in the stream, which evaluate reports, or in a query that is not compared
        return []
    return [f"warning: {message}" for message in found[1] if message not in found[0]]


def draw(asked: Json) -> Json:
    """The automaton of query."""
    from cerify.draw.svg import svg
    from cerify.drawing import diagram_of

    return {"svg": svg(diagram_of(asked["query"], asked["language"], budget=BUDGET))}


def step(asked: Json) -> Json:
    """The page that goes through the run of query over stream."""
    from cerify.draw.stepper import stepper
    from cerify.drawing import record

    with catch_warnings():  # which evaluate has in its answer
        simplefilter("ignore", QueryWarning)
        run = record(asked["query"], _stream(asked), asked["language"], budget=BUDGET)
    return {"html": stepper(run)}


def tasks(asked: Json) -> Json:
    """The exercises of a language."""
    from cerify.grade.exercises import LEVELS, exercises
    from cerify.grade.text import statement

    return {
        "exercises": [
            {"id": one.id, "level": LEVELS[one.level], "statement": statement(one)[1:]}
            for one in exercises().values()
            if one.language == asked["language"]
        ]
    }


def grade(asked: Json) -> Json:
    """Whether query is an answer to the exercise `id`; if not, what is wrong and a stream that shows it."""
    from cerify.grade.exercises import exercise
    from cerify.grade.grading import Misfit, Right, graded
    from cerify.grade.text import feedback, json_of

    task = exercise(asked["id"])
    found = graded(task, asked["query"])
    difference = json_of(task, found).get("difference")
    rows = None if difference is None else rows_of(difference["events"])
    heading, *lines = feedback(task, found, asked["query"])
    if isinstance(found, Misfit):
        heading = f"not graded: {found.message}"
    return {"right": isinstance(found, Right), "graded": not isinstance(found, Misfit)} | {
        "proved": isinstance(found, Right) and found.evidence != "tried",
        "lines": [heading, *lines],
        "rows": rows,
    }


REQUESTS: Mapping[str, Callable[[Json], Json]] = {
    one.__name__: one for one in (languages, read, evaluate, explain, compare, draw, step, tasks, grade)
}


def _stream(asked: Json) -> Stream:
    header, *rows = asked["stream"]
    return stream_in("the stream", header, rows, [f"event {n}" for n in range(len(rows))])


def _match(match: Match) -> Json:
    found: Json = {"at": match.at, "events": list(match.events)}
    if match.bindings is not None:
        found["bindings"] = {variable: list(places) for variable, places in match.bindings}
    if match.result is not None:
        found["result"] = plain(match.result.attributes)
    return found


def _part(part: Part, S: Stream) -> Json:
    return {
        "heading": part.heading,
        "trees": list(map(_step, part.trees)),
        "run": [{"move": one.move, "text": one.text, "facts": list(one.facts)} for one in part.run],
        "lines": list(part.lines),
        "svg": "" if part.drawing is None else part.drawing.svg(S),
    }


def _step(step: Step) -> Json:
    return {
        "text": step.text,
        "where": step.where,
        "bound": step.bound,
        "clause": step.clause,
        "facts": list(step.facts),
        "children": list(map(_step, step.children)),
    }

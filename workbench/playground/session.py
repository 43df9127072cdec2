"""The functions of cerify that the playground's page calls; a request and its answer are JSON objects.

A request names the function ("do") and has the fields that this function documents. Queries are texts; a stream is a
list of rows of texts, of which the first has the names of the columns. Modules that only one function needs are
imported in it, so that the page shows its first matches early.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from warnings import catch_warnings, simplefilter

from cerify.api import equivalent, plan_query, read_query
from cerify.draw.timeline import drawn, match_row, places_row
from cerify.equivalence.verdict import Different, Undecided, Verdict
from cerify.languages import COMMON, LANGUAGES, language_named
from cerify.languages.language import Deciders, Explanations, Language, Options
from cerify.plan import require_fit
from cerify.semantics.arguments import ALLOW_MORE_TIME, LANGUAGE_ARGUMENT, Budget, check_time
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    InputError,
    MissingPackage,
    QueryWarning,
    Unsupported,
    errors_in,
)
from cerify.semantics.events import TYPE, Stream, observed
from cerify.semantics.json_events import json_of_event, parse_json, stream_of_json
from cerify.semantics.tables import NEEDS_ARROW, CsvSource, not_csv, records, require_closed_quotes, stream_of_rows

if TYPE_CHECKING:
    from cerify.explanations.explanation import ExplanationPart, ExplanationStep


# ---------------------------------------------------------------------------------------------------------------------
# Comparison of two queries in the page. The page has no z3, so where z3 is needed, short streams are tried instead.

MISSING = re.compile(r"this needs (\w+), which is not installed: (.*)")
TRYING, STREAMS = 3.0, 30_000  # seconds in which two queries are tried on short streams, and the most of these


def comparable(name: str, other: str) -> bool:
    """Return whether queries of the two languages can be compared, as one language or as formulas of CEL.

    Raises IllFormed if there is no such language.
    """
    pair = [type(language_named(one).deciders) for one in (name, other)]
    return name == other or all(one.in_cel is not Deciders.in_cel for one in pair)


@dataclass(frozen=True)
class ComparedQuery:
    """A query as text, and the name of its language."""

    query: str
    language: str


def compared(left: ComparedQuery, right: ComparedQuery, budget: Budget) -> tuple[Verdict, list[str]]:
    """Return the verdict on whether two queries have the same matches on every stream, and lines of text about it.

    If this needs a package that the page does not have, short streams are tried instead, and the text says so. A
    difference is then replayed with the reference evaluator, but its stream may not be a shortest one. Raises
    ParseError, IllFormed.
    """
    from cerify.commands.equiv import verdict_lines

    if not comparable(left.language, right.language):
        fitting = [LANGUAGES[name].title for name in LANGUAGES if comparable(left.language, name)]
        reason = f"queries in {LANGUAGES[left.language].title} can only be compared with {' or '.join(fitting)}"
        return Undecided(reason), [f"not compared: {reason}"]
    languages = left.language, right.language
    verdict: Verdict
    try:
        verdict = equivalent(left.query, right.query, languages=languages, budget=budget)
    except MissingPackage as error:
        verdict = Undecided(error.message)
    lines = verdict_lines(verdict, "equivalent", "events")
    if (missing := MISSING.search(lines[0])) is None:
        return verdict, lines
    found = compare_on_short_streams(left, right, budget) if all(comparable(name, COMMON) for name in languages) else 0
    if isinstance(found, Different):
        return found, verdict_lines(found, "equivalent", "events")
    named = [
        "--language",
        left.language,
        *(["--language-right", right.language] if languages[0] != languages[1] else []),
    ]
    command = shlex.join(["cerify", "equiv", left.query, right.query, *named])
    short = f"no difference on streams of up to {found} events, which were tried with a few values; " if found else ""
    needs = f"this needs {missing[1]}, which the page does not have; on your own machine:"
    return verdict, [f"{lines[0][: missing.start()]}{short}{needs}", missing[2], command]


def compare_on_short_streams(left: ComparedQuery, right: ComparedQuery, budget: Budget) -> Different | int:
    """Return the first difference on short streams over a few values, or the length up to which all were tried.

    The queries are compared by their formulas of CEL.
    """
    from cerify.equivalence.bounded import inferred_schema
    from cerify.equivalence.decide.replay import replayed
    from cerify.grade.grading import few_values, short_streams

    cel = LANGUAGES[COMMON]
    trees = (read_query(side.query, side.language) for side in (left, right))
    phi, psi = (language.deciders.cel_formula(tree, budget) for language, tree in trees)
    schema = inferred_schema(phi, psi)
    length = 0
    try:
        with Budget(seconds=TRYING).timed():
            for S in short_streams(schema, few_values(cel, schema, phi, psi), STREAMS):
                length = len(S)
                check_time()
                if set(cel.evaluators.matches(phi, S)) != set(cel.evaluators.matches(psi, S)):
                    return replayed(phi, psi, S, False, "events", False, budget)
    except BudgetExceeded:
        # Not all streams of the present length were tried when time was over.
        return max(0, length - 1)
    return length


# ---------------------------------------------------------------------------------------------------------------------
# Streams as the playground's table has them: rows of texts, of which the first has the names of the columns.

PASTED = "the pasted text"
MOST = 1000  # the most events that can be pasted


def stream_in(name: str, header: list[str], rows: list[list[str]], places: list[str]) -> Stream:
    """Return the stream of these rows. name: what messages call the stream. places: what messages call each row.

    Raises InputError.
    """
    if "" in header:
        raise InputError(f"an attribute of {name} has no name; give it one, or remove it")
    return stream_of_rows(name, header, rows, places)


def rows_of(events: list[dict[str, Any]]) -> list[list[str]]:
    """Return events as the rows of a stream."""
    header = [TYPE, *dict.fromkeys(name for event in events for name in event if name != TYPE)]
    return [header, *([_text(event.get(name)) for name in header] for event in events)]


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def read_rows(text: str, row_type: str | None) -> tuple[list[list[str]], str]:
    """Parse a stream as pasted text: CSV, rows with tabs, a JSON array, or JSON lines; return its rows and a note.

    row_type: the type of events without one; None makes them an error. Raises InputError.
    """
    if not text.strip():
        raise InputError(f"{PASTED} is empty")
    rows, as_others = (_read_json if text.lstrip().startswith(("[", "{")) else _read_csv)(text, row_type)
    if len(rows) > MOST + 1:
        raise InputError(f"{PASTED} has {len(rows) - 1} events; the page takes {MOST}, so use cerify match")
    note = (
        f"; the table has no quotes, so some texts of {', '.join(sorted(as_others))} are read as other values"
        if as_others
        else ""
    )
    return rows, f"The stream has the {len(rows) - 1} events that were pasted{note}."


def _read_csv(text: str, row_type: str | None) -> tuple[list[list[str]], set[str]]:
    if "\t" in text.split("\n", 1)[0]:
        made = io.StringIO()
        csv.writer(made).writerows(csv.reader(text.splitlines(keepends=True), delimiter="\t"))
        text = made.getvalue()
    source = CsvSource(PASTED, lambda: io.BytesIO(text.encode()))
    require_closed_quotes(source)
    try:
        lines, found = zip(*records(source), strict=True)
    except csv.Error as error:
        raise InputError(not_csv(source, str(error))) from None
    if any(len(row) != len(found[0]) for row in found):
        raise InputError(not_csv(source, "its rows have several lengths"))
    header, *rows = [[cell.strip() for cell in row] for row in found]
    if row_type is not None and TYPE not in header:
        header, rows = [TYPE, *header], [[row_type, *row] for row in rows]
    if TYPE not in header:
        raise InputError(
            f"{PASTED} has no column {TYPE!r} for the event type; rename one of the columns {', '.join(header)}"
        )
    stream_in(PASTED, header, rows, [f"line {line}" for line in lines[1:]])
    first = header.index(TYPE)
    # The column of the type comes first, as in the page's own table.
    return [[row[first], *row[:first], *row[first + 1 :]] for row in (header, *rows)], set()


def _read_json(text: str, row_type: str | None) -> tuple[list[list[str]], set[str]]:
    """Return the rows, and the attributes with texts that a table would read as other values, such as '007'."""
    if text.startswith("["):
        events = parse_json(text, PASTED)
    else:
        lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip())
        events = [parse_json(line, f"{PASTED}, line {n}") for n, line in lines]
    S = stream_of_json(events, None, PASTED, row_type)
    header, *rows = rows_of([json_of_event(event) for event in S])
    in_table = stream_in(PASTED, header, rows, [f"event {n}" for n in range(len(rows))])
    texts = [
        (name, n) for n, event in enumerate(S) for name, value in event.attributes.items() if isinstance(value, str)
    ]
    return [header, *rows], {name for name, n in texts if not isinstance(in_table[n].get(name), str)}


Json: TypeAlias = dict[str, Any]

BUDGET = Budget(valuations=200_000, states=10_000, matches=10_000, seconds=10)  # in the memory of a page
SOON = 1.0  # seconds to decide whether a query without matches can have any
LISTED = 200  # matches
DRAWN = 16
NOT_HERE = r"this needs \1, which the page does not have; on your own machine: \2"
OTHER = re.compile(r"(?:it is a query in another language|this looks like (.*)): (language=.+)$")
ALLOW_MORE = f", or allow more: {ALLOW_MORE_TIME}"
OVER_STREAM = {"evaluate", "explain", "step"}  # requests that take less time on a shorter stream
NAME = re.compile(r"[^\W\d]\w*")
CELL = re.compile(r"the stream, event (\d+)(?:, field '([^']*)')?: ")
EXAMPLES = Path(__file__).parent / "examples.json"


def answer(request: str) -> str:
    """Return the answer to a request; for an error, {"error": {"code", "message", "span", "text", "cell"}}.

    text: the query that the error is about. span: the place in it. cell: the place in the stream, as a position and an
    attribute. Each of them is null if it is not known.
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
    """Adapt a message to the page: remove options of commands, and how to install packages."""
    if found := OTHER.search(message):
        titles = " or ".join(LANGUAGES[name].title for name in re.findall(LANGUAGE_ARGUMENT, found[2]))
        return f"{message[: found.start()]}this is {found[1] or titles}: choose it in the list of languages"
    message = message.replace(
        f"correct it; columns of such values {NEEDS_ARROW}", "write numbers, or texts that begin with a letter"
    )
    return MISSING.sub(NOT_HERE, message)


class _Request(dict[str, Any]):
    """A request. Reading a field that it lacks raises InputError."""

    def __missing__(self, name: str) -> Any:
        raise InputError(f"{name} is missing; is the link complete?")


def _checked(asked: Any) -> _Request:
    """Check the types of a request's fields, since a link may have been changed. Raises InputError."""
    if not isinstance(asked, dict) or not _is_text(asked.get("do")) or asked["do"] not in REQUESTS:
        raise InputError("there is no such request")
    for name, value in asked.items():
        if name in FIELDS and not FIELDS[name](value):
            raise InputError(f"{name} has a value of the wrong type; is the link complete?")
    return _Request(asked)


def _is_table(value: Any) -> bool:
    """Return whether the value is a list of rows of texts, all with the same number of columns, at least one."""
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
    """Return the languages, each with an example: a query, a stream, and variants of the query with their meanings."""
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    default = next(iter(examples.values()))
    return {
        "languages": [
            {"name": name, "title": language.title, "takesPlace": language.takes_place}
            | {"comparable": [other for other in LANGUAGES if comparable(name, other)]}
            | {"runs": type(language.explanations).record is not Explanations.record}
            | {"example": examples.get(name, default | {"query": next(iter(language.loops), ""), "variants": []})}
            for name, language in LANGUAGES.items()
        ]
    }


def read_pasted_rows(asked: Json) -> Json:
    """Return the rows of the stream in `text`, which the user pasted."""
    rows, message = read_rows(asked["text"], language_named(asked["language"]).row_type)
    return {"rows": rows, "message": message}


def evaluate(asked: Json) -> Json:
    """Return the matches of `query` in `language` over `stream`, warnings, and a drawing with the first matches."""
    S, text = _stream(asked), asked["query"]
    plan = plan_query(text, asked["language"], None, Options(budget=BUDGET), None)
    with errors_in(text), BUDGET.timed():
        misfits = [*require_fit(plan.language, plan.query, S), *_unnameable(plan.language, S)]
        try:
            matches = list(islice(plan.matches(S), LISTED + 1))
        except Unsupported as error:  # the misfits may be the reason
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
        "matches": [match.json() for match in shown],
        "more": len(matches) > LISTED,
        "svg": drawn(plan.language.syntax.stream_read(plan.query, S), rows),
        "warnings": warnings,
        "evaluator": plan.evaluator,
    }


def _unnameable(language: Language[Any], S: Stream) -> Iterator[QueryWarning]:
    """Yield a warning about event types that no query can name."""
    types = dict.fromkeys(event.type for event in S if not NAME.fullmatch(event.type))
    if types and language.row_type is None:
        named = ", ".join(map(repr, types))
        yield QueryWarning(f"no query can name the event type {named}: a name has letters, digits and _")


def _never(language: Language[Any], query: Any) -> list[Json]:
    """Return a warning if a query never matches and this is known quickly."""
    try:
        with Budget(seconds=SOON).timed():
            problems = language.syntax.check(query, None).problems
    except CerifyError:  # the decision takes too long or is not supported
        return []
    return [
        {"message": problem.message, "span": problem.span and [problem.span.start, problem.span.end]}
        for problem in problems
        if problem.rule == "never"
    ]


def explain(asked: Json) -> Json:
    """Explain why the positions `events`, reported at `at`, are a match of the query or not."""
    from cerify.explanations.explanation import Request

    S = _stream(asked)
    language, query = read_query(asked["query"], asked["language"])
    chosen = frozenset(asked["events"] or ())
    with errors_in(asked["query"]), BUDGET.timed():
        explainer = language.explanations.explainer(query, S, asked["query"])
        found = explainer.explain_request(Request(None if language.takes_place else chosen, at=asked["at"]))
        view = explainer.view(found)
    alone = "Only the last of the chosen events is explained. It " if language.takes_place and len(chosen) > 1 else ""
    return {
        "sentence": alone + view.sentence,
        "matched": view.matched,
        "svg": "" if view.drawing is None else view.drawing.svg(explainer.S),
        "parts": [_part(part, explainer.S) for part in view.parts],
        "legend": explainer.legend,
    }


def compare(asked: Json) -> Json:
    """Return whether `query` and `other` have the same matches on every stream; if not, a stream where they differ."""
    from cerify.commands.equiv import verdict_json

    left, right = (
        ComparedQuery(asked["query"], asked["language"]),
        ComparedQuery(asked["other"], asked["otherLanguage"]),
    )
    verdict, lines = compared(left, right, BUDGET)
    found = verdict_json(verdict, "equivalent")
    lines = [line.replace(ALLOW_MORE, "") for line in lines]
    rows = None if found["witness"] is None else rows_of(found["witness"]["events"])
    return {"verdict": found["verdict"], "lines": lines, "rows": rows, "warnings": _unknown_types(asked)}


def _unknown_types(asked: Json) -> list[str]:
    """Return warnings about event types that only the second query names and the stream does not have."""
    found = []
    try:
        seen = observed(_stream(asked))
        for query, named in (("query", "language"), ("other", "otherLanguage")):
            language, tree = read_query(asked[query], asked[named])
            problems = language.syntax.problems(tree, seen) if seen.types else ()
            found.append([problem.hinted for problem in problems if problem.rule == "event_type"])
    except CerifyError:  # evaluate reports an error in the stream, and compare one in a query
        return []
    return [f"warning: {message}" for message in found[1] if message not in found[0]]


def draw(asked: Json) -> Json:
    """Draw the automaton of `query`."""
    from cerify.api import diagram_of
    from cerify.draw.diagram import svg

    return {"svg": svg(diagram_of(asked["query"], asked["language"], budget=BUDGET))}


def step(asked: Json) -> Json:
    """Return the page that steps through the run of `query` over `stream`."""
    from cerify.api import record
    from cerify.draw.stepper import stepper

    with catch_warnings():  # the answer of evaluate has the warnings
        simplefilter("ignore", QueryWarning)
        run = record(asked["query"], _stream(asked), asked["language"], budget=BUDGET)
    return {"html": stepper(run)}


def tasks(asked: Json) -> Json:
    """Return the exercises about a language."""
    from cerify.grade.grading import LEVELS, exercises, statement

    return {
        "exercises": [
            {"id": one.id, "level": LEVELS[one.level], "statement": statement(one)[1:]}
            for one in exercises().values()
            if one.language == asked["language"]
        ]
    }


def grade(asked: Json) -> Json:
    """Return whether `query` is a right answer to the exercise `id`; if not, hints, and the mistake on a stream."""
    from cerify.grade.grading import Misfit, Right, exercise, feedback, graded, json_of

    task = exercise(asked["id"])
    found = graded(task, asked["query"])
    difference = json_of(task, found).get("difference")
    rows = None if difference is None else rows_of(difference["events"])
    heading, *lines = feedback(task, found, asked["query"], stream=False)
    shown = feedback(task, found, asked["query"])
    if isinstance(found, Misfit):
        heading = f"not graded: {found.message}"
    return {"right": isinstance(found, Right), "graded": not isinstance(found, Misfit)} | {
        "proved": isinstance(found, Right) and found.evidence != "tried",
        "lines": [heading, *lines],
        "difference": [line for line in shown[1:] if line not in lines],
        "rows": rows,
    }


REQUESTS: Mapping[str, Callable[[Json], Json]] = {
    "read": read_pasted_rows,
    **{one.__name__: one for one in (languages, evaluate, explain, compare, draw, step, tasks, grade)},
}


def _stream(asked: Json) -> Stream:
    header, *rows = asked["stream"]
    return stream_in("the stream", header, rows, [f"event {n}" for n in range(len(rows))])


def _part(part: ExplanationPart, S: Stream) -> Json:
    return {
        "heading": part.heading,
        "trees": list(map(_step, part.trees)),
        "run": [{"move": one.move, "text": one.text, "facts": list(one.facts)} for one in part.run],
        "lines": list(part.lines),
        "svg": "" if part.drawing is None else part.drawing.svg(S),
    }


def _step(step: ExplanationStep) -> Json:
    return {
        "text": step.text,
        "where": step.where,
        "bound": step.bound,
        "clause": step.clause,
        "facts": list(step.facts),
        "children": list(map(_step, step.children)),
    }

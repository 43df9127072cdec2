"""Find the examples of a page that the playground can show, with the state of the playground for each.

An example has a query and a stream, or two queries. It is a command in a block `console` that evaluates, draws,
compares or grades a query, or a call in a Python session. If the playground cannot show it, there is a reason.
"""

from __future__ import annotations

import ast
import csv
import doctest
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import click

from cerify.cli import cerify
from cerify.grade.grading import exercises
from cerify.languages import DEFAULT, LANGUAGES
from cerify.notebook import csv_of
from cerify.playground.session import EXAMPLES, evaluate
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event, Stream
from cerify.semantics.files import as_stream, read_stream

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PANES = {"match": "matches", "explain": "why", "step": "steps", "draw": "automaton"}
CALLS = ("found", "match", "equivalent", "contained")
SAME_ANSWER = {
    *("query", "file", "left", "right", "id", "formula", "language", "language_right", "evaluator", "limit"),
    *("match_text", "at", "as_json", "html_file", "output_file", "printed", "output", "valuations", "languages"),
}
"""Parameters of commands and calls that the playground shows, or that do not change which events a match has."""
LARGEST = 40  # the greatest number of events of a stream in a link
DEFAULTS = " defaults"  # the key, among the names of a page, of the language and the stream of each of its functions

State: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[list[str]]
Names: TypeAlias = dict[str, Any]


class Reason(Enum):
    """Why the playground does not show an example."""

    NO_STREAM = "it has no exercise, or its file is not on the page"
    COMPUTED = "its query or its stream is not computed from values on the page alone"
    LARGE = f"its stream has more than {LARGEST} events"
    OPTION = "it has an option that the playground does not have"
    ERROR = "it shows an error"


class Example(NamedTuple):
    """A command or a call, and the state of the playground that shows it, or the reason why there is none."""

    text: str
    shown: State | Reason


def state_of(query: str, rows: Rows | None, language: str = DEFAULT, pane: str = "matches", **more: Any) -> State:
    """Return the state of the playground with a query and the rows of its stream; without rows it has no events."""
    stream = [["type"]] if rows is None else rows
    return {"language": language, "query": query, "otherLanguage": language, "other": query} | {
        "stream": stream,
        "pane": pane,
        **more,
    }


def exercise_state(id_: str, answer: str = "") -> State:
    """Return the state of the playground with an exercise, an answer, and the example of the exercise's language."""
    language = exercises()[id_].language
    query, rows = (json.loads(EXAMPLES.read_text(encoding="utf-8"))[language][name] for name in ("query", "stream"))
    return state_of(query, rows, language, "exercises", exercise=id_, answer=answer)


def rows_of(text: str) -> Rows:
    """Return the rows of a CSV file, or of a line of event types."""
    rows = list(csv.reader(text.splitlines()))
    return rows if len(rows) > 1 else [["type"], *([word] for word in text.split())]


def in_blocks(page: str, blocks: Iterable[tuple[str, str]]) -> Iterator[list[Example]]:
    """Yield the examples of each block of code of a page. blocks: the language and the text of each."""
    spoken = "event-expression" if "event_expressions" in page else "core-cel" if "core_cel" in page else DEFAULT
    names: Names = {"Event": Event, "Stream": Stream}
    for language, text in blocks:
        match language:
            case "console":
                yield list(in_console(text, page))
            case "python" if ">>> " in text:
                yield list(in_session(text, spoken, names))
            case _:
                yield []


def in_console(text: str, page: str) -> Iterator[Example]:
    """Yield the examples of a block of commands. page: the text with the files that the commands read."""
    files = dict(FILE.findall(page))
    for line in re.findall(r"^\$ cerify (.*)$", text, re.MULTILINE):
        name, *words = shlex.split(line)
        if name in (*PANES, "equiv", "grade"):
            yield Example(f"cerify {line}", _checked(_of_command(name, _parameters(name, words), files)))


def _parameters(name: str, words: list[str]) -> dict[str, Any]:
    """Return the arguments and options that are given to a command."""
    command = cerify.get_command(click.Context(cerify), name)
    values, _, order = command.make_parser(click.Context(command)).parse_args(words)
    return {one.name: values[one.name] for one in order if isinstance(values[one.name], str | bool | list | tuple)}


def _of_command(name: str, given: Mapping[str, Any], files: Mapping[str, str]) -> State | Reason:
    """Return the state for a command. files: the names and texts of the files that its page shows."""
    language = given.get("language", DEFAULT)
    if not given.keys() <= SAME_ANSWER:
        return Reason.OPTION
    if name == "equiv":
        other = {"otherLanguage": given.get("language_right", language), "other": given["right"]}
        return state_of(given["left"], None, language, "compare") | other
    if name == "grade":
        known = given.get("id") in exercises()
        return exercise_state(given["id"], given.get("formula", "")) if known else Reason.NO_STREAM
    if not given.get("file"):
        return state_of(given["query"], None, language, PANES[name])
    file = given["file"] if isinstance(given["file"], str) else " ".join(given["file"])
    rows = _rows_of_file(file, files, LANGUAGES[language].row_type)
    if isinstance(rows, Reason):
        return rows
    state = state_of(given["query"], rows, language, PANES[name])
    events = [int(word) for word in given.get("match_text", given.get("at", "")).split(",") if word]
    return state | ({"events": events, "at": int(given.get("at", max(events)))} if events else {})


def _rows_of_file(name: str, files: Mapping[str, str], default_type: str | None) -> Rows | Reason:
    """Return the rows of a file of events that the page shows, or that is in the repository."""
    path = ROOT / name
    with TemporaryDirectory() as folder, suppress(CerifyError):
        if name in files:
            path = Path(folder, name)
            path.write_text(files[name], encoding="utf-8")
        return _rows(read_stream(path, default_type=default_type))
    return Reason.NO_STREAM


def _rows(S: Stream) -> Rows | Reason:
    return rows_of(csv_of(S)) if len(S) <= LARGEST else Reason.LARGE


def in_session(text: str, language: str, names: Names) -> Iterator[Example]:
    """Yield the examples of a Python session: found("A+", "A A"), match("A ; B", S), equivalent("A+", "A:+").

    names: the values of names that the page defines before the session. Names that the session defines are added.
    """
    for example in doctest.DocTestParser().get_examples(text):
        (statement,) = ast.parse(example.source).body
        if isinstance(statement, ast.Assign | ast.FunctionDef):
            _define(statement, names)
        if isinstance(statement, ast.FunctionDef):
            names[DEFAULTS] = {**names.get(DEFAULTS, {}), statement.name: _defaults(statement, language, names)}
            continue
        calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            if (name := ast.unparse(node.func).removeprefix("cerify.")) in CALLS:
                yield Example(ast.unparse(node), _checked(_of_call(name, node, language, names)))


def _define(statement: ast.Assign | ast.FunctionDef, names: Names) -> None:
    """Run a statement that defines names. If it needs more than the names before it, its names become None."""
    try:
        exec(ast.unparse(statement), names)
    except Exception:
        stored = (one for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        names |= dict.fromkeys(one.id for one in stored)


def _defaults(function: ast.FunctionDef, language: str, names: Names) -> tuple[str, Any]:
    """Return the language of the queries that a function of a page evaluates, and the stream; None for a parameter."""
    nodes = list(ast.walk(function))
    streams = [names.get(node.id) for node in nodes if isinstance(node, ast.Name)]
    spoken = [_value(node.value, names) for node in nodes if isinstance(node, ast.keyword) and node.arg == "language"]
    return next(iter(spoken), language), next((one for one in streams if isinstance(one, Stream)), None)


def _of_call(name: str, call: ast.Call, language: str, names: Names) -> State | Reason:
    """Return the state for a call with a query, and with a stream or another query."""
    query, *others = (_value(one, names) for one in call.args)
    options = {str(one.arg): _value(one.value, names) for one in call.keywords}
    if name == "contained" or not options.keys() <= SAME_ANSWER:
        return Reason.OPTION
    spoken, stream = names.get(DEFAULTS, {}).get(name, (DEFAULT, None))
    other = next(iter(others), stream)
    if not isinstance(query, str) or other is None:
        return Reason.COMPUTED
    left, right = options.get("languages") or (options.get("language", spoken),) * 2
    if name == "equivalent":
        shown = {"other": other, "otherLanguage": right}
        return state_of(query, None, left, "compare") | shown if isinstance(other, str) else Reason.COMPUTED
    if name == "found" and isinstance(other, str):
        return state_of(query, rows_of(other), left)
    try:
        rows = _rows(as_stream(other, default_type=LANGUAGES[left].row_type))
    except CerifyError:
        return Reason.COMPUTED
    return rows if isinstance(rows, Reason) else state_of(query, rows, left)


def _value(node: ast.expr, names: Names) -> Any:
    """Return the value of an expression; None if it needs more than these names."""
    try:
        return eval(ast.unparse(node), names)
    except Exception:
        return None


def _checked(found: State | Reason) -> State | Reason:
    """Return the state if the playground can evaluate its query on its stream, or else a reason."""
    if isinstance(found, Reason):
        return found
    try:
        evaluate({key: found[key] for key in ("language", "query", "stream")})
    except CerifyError:
        return Reason.ERROR
    return found

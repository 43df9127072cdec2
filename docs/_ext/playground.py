"""The playground as a part of the book, and a link to it under each example that has a query, or a query and a stream.

It is built into the folder `playground` of the book, where npm can fetch what it needs; elsewhere the book has no such
links. A link opens the playground with the query and the stream of the example.
"""

from __future__ import annotations

import ast
import csv
import doctest
import json
import posixpath
import re
import shlex
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from cerify.grade.exercises import exercises
from cerify.languages import DEFAULT
from cerify.notebook import csv_of
from cerify.playground.__main__ import build
from cerify.playground.session import evaluate
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event, Stream
from cerify.semantics.readers import as_stream

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^`([\w.-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PANES = {"match": "matches", "explain": "why", "step": "steps", "draw": "automaton"}
LARGEST = 40  # events of a stream that is put into a link
LONGEST = 60  # characters of a query that a link shows

State: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[list[str]]
logger = logging.getLogger(__name__)


class PlaygroundLink(nodes.General, nodes.Element):
    """A link to the playground in a state, where the book has one."""


def address(state: State, docname: str) -> str:
    """The address of the playground in a state, seen from a page."""
    page = posixpath.relpath("playground/index.html", posixpath.dirname(docname) or ".")
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    return f"{page}#1.{urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def state_of(query: str, rows: Rows | None, language: str = DEFAULT, pane: str = "matches", **more: Any) -> State:
    """What the playground shows; without rows its stream has no events."""
    stream = [["type"]] if rows is None else rows
    return {"language": language, "query": query, "otherLanguage": language, "other": query} | {
        "stream": stream,
        "pane": pane,
        **more,
    }


def rows_of(text: str) -> Rows:
    """The rows of a CSV file, or of a line of event types."""
    rows = list(csv.reader(text.splitlines()))
    return rows if len(rows) > 1 else [["type"], *([word] for word in text.split())]


def of_console(text: str, page: str) -> Iterator[State]:
    """The states for the commands of a block of a page that match, explain, compare or grade a query."""
    files = dict(FILE.findall(page))
    for line in re.findall(r"^\$ cerify (.*)$", text, re.MULTILINE):
        words = shlex.split(line)
        command, given = words[0], [word for word in words[1:] if not word.startswith("-")]
        language = words[words.index("--language") + 1] if "--language" in words[:-1] else DEFAULT
        if command in PANES and len(given) > 1 and (rows := _rows(given[1], files)):
            yield state_of(given[0], rows, language, PANES[command])
        elif command == "equiv" and len(given) > 1:
            yield state_of(given[0], None, language, "compare", other=given[1])
        elif command == "grade" and len(given) > 1 and given[0] in exercises():
            example = {"exercise": given[0], "answer": given[1]}
            yield state_of(given[1], None, exercises()[given[0]].language, "exercises", **example)


def of_session(text: str, language: str, names: dict[str, Any]) -> Iterator[State]:
    """The states for the calls of a Python session: found("A+", "A A"), match("A ; B", S), equivalent("A+", "A:+").

    names are the values of the names before it, and of those after it whose values need nothing but these.
    """
    for example in doctest.DocTestParser().get_examples(text):
        for node in ast.walk(ast.parse(example.source)):
            match node:
                case ast.Assign([ast.Name(name)], value):
                    names |= {name: _value(value, names)}
                case ast.Call(ast.Name("found"), [ast.Constant(str(query)), ast.Constant(str(types))]):
                    yield state_of(query, rows_of(types), language)
                case ast.Call(function, [ast.Constant(str(query)), other, *_], options):
                    given = {one.arg: _value(one.value, names) for one in options}
                    yield from _called(
                        ast.unparse(function).removeprefix("cerify."), query, _value(other, names), given
                    )


def _called(function: str, query: str, other: Any, options: dict[str | None, Any]) -> Iterator[State]:
    """The state for a call with a query and what is beside it, unless it has an option that the playground has not."""
    left, right = options.get("languages") or (options.get("language", DEFAULT),) * 2
    if function == "match" and options.keys() <= {"language", "output"}:
        with suppress(CerifyError):
            if len(S := as_stream(other)) <= LARGEST:
                yield state_of(query, rows_of(csv_of(S)), left)
    elif function in ("equivalent", "contained") and options.keys() <= {"languages"} and isinstance(other, str):
        yield state_of(query, None, left, "compare", other=other) | {"otherLanguage": right}


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression, or None if it needs more than the names."""
    try:
        return eval(ast.unparse(node), names)
    except Exception:
        return None


def _rows(name: str, files: Mapping[str, str]) -> Rows | None:
    """The rows of a small file that a page shows, or that is in the repository."""
    path = ROOT / name
    text = files.get(name) or (path.read_text(encoding="utf-8") if path.is_file() and path.suffix == ".csv" else "")
    return rows_of(text) if 1 < len(text.splitlines()) <= LARGEST + 1 else None


def runs(state: State) -> bool:
    """Whether the playground can read the query over the stream."""
    try:
        evaluate({key: state[key] for key in ("language", "query", "stream")})
    except CerifyError:
        return False
    return True


def marked(app: Sphinx, doctree: nodes.document) -> None:
    """Puts links after the blocks of code that the playground can run."""
    page = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
    spoken = "event-expression" if "event_expressions" in page else "core-cel" if "core_cel" in page else DEFAULT
    names: dict[str, Any] = {"Event": Event, "Stream": Stream, "map": map}
    for block in list(doctree.findall(nodes.literal_block)):
        text = block.astext()
        match block.get("language"):
            case "console":
                states = list(of_console(text, page))
            case "python" if ">>> " in text:
                states = list(of_session(text, spoken, names))
            case _:
                continue
        states = [state for n, state in enumerate(states) if state not in states[:n] and runs(state)]
        if states:
            block.parent.insert(block.parent.index(block) + 1, links(states))


def links(states: list[State]) -> nodes.paragraph:
    """A line of links to the playground, one for each state."""
    line = nodes.paragraph(classes=["playground-links"])
    for state in states:
        line += PlaygroundLink(state=state)
    return line


def resolved(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Links lead to the playground, or are taken away where the book has none."""
    for node in list(doctree.findall(PlaygroundLink)):
        if app.env.has_playground:  # type: ignore[attr-defined]
            target = address(node["state"], docname)
            link = nodes.reference("", "", internal=False, refuri=target, classes=["playground-link"])
            query = " ".join(node["state"]["query"].split())
            shown = query if len(query) <= LONGEST else query[: LONGEST - 1] + "…"
            link += [nodes.Text(node["text"])] if "text" in node else [nodes.Text("Try "), nodes.literal("", shown)]
            node.replace_self(link)
        else:
            node.parent.remove(node)
    for line in list(doctree.findall(nodes.paragraph)):
        if "playground-links" in line["classes"] and not line.children:
            line.parent.remove(line)


def built(app: Sphinx) -> None:
    """Builds the playground into the book."""
    app.env.has_playground = False  # type: ignore[attr-defined]
    if app.builder.format == "html":
        try:
            build(Path(app.outdir, "playground"))
            app.env.has_playground = True  # type: ignore[attr-defined]
        except CerifyError as error:
            logger.info("The book has no playground: %s", error)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(PlaygroundLink)
    app.connect("builder-inited", built)
    app.connect("doctree-read", marked)
    app.connect("doctree-resolved", resolved)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

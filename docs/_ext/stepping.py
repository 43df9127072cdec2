"""Directives for runs, examples and exercises. Runs are computed by the evaluator when the book is built.

A block `{stepper} QUERY` with events as CSV becomes a link to the page that `cerify step` writes, and a link to the
playground. A block `{example} QUERY`, with events as CSV or a line of event types, becomes the query, a drawing of the
stream with its matches, and these links. With the option `live` it becomes the playground itself, where that can run.
A block `{exercises} N` lists the exercises of session N of the course.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

from docutils import nodes
from docutils.parsers.rst import directives
from examples import Rows, exercise_state, rows_of, state_of
from playground import PlaygroundLink, links
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cerify.api import record
from cerify.draw.recording import Recording
from cerify.draw.stepper import stepper, summary
from cerify.grade.grading import LEVELS, exercises
from cerify.languages import DEFAULT
from cerify.playground.session import evaluate
from cerify.semantics.errors import CerifyError, QueryWarning, Unsupported
from cerify.semantics.tables import stream_of_rows


class Exercises(SphinxDirective):
    """The exercises of a session of the course, each with a link to it in the playground."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found = nodes.bullet_list()
        for one in exercises().values():
            if one.session == int(self.arguments[0]):
                text = nodes.paragraph(
                    "", f"{one.sentence} ({LEVELS[one.level]}, ", nodes.literal("", one.id), nodes.Text(") ")
                )
                text += PlaygroundLink(state=exercise_state(one.id), text="Try\N{NO-BREAK SPACE}it")
                found += nodes.list_item("", text)
        return [found]


class Stepper(SphinxDirective):
    """A run of a query over the events in the block, with a link to its page."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"language": directives.unchanged, "live": directives.flag}
    kind = ""  # in the names of pages; a document may have runs of both kinds

    def run(self) -> list[nodes.Node]:
        query, language = self.arguments[0], self.options.get("language", DEFAULT)
        try:
            return self._made(query, language, rows_of("\n".join(self.content)))
        except CerifyError as error:
            raise self.error(str(error)) from error

    def _made(self, query: str, language: str, rows: Rows) -> list[nodes.Node]:
        run = recorded(query, language, rows)
        link = self._page(run)
        link += [nodes.Text("Go through the run of "), nodes.literal("", query), nodes.Text(" step by step")]
        state = state_of(query, rows, language, "steps")
        return [nodes.paragraph("", "", link, nodes.Text(f": {summary(run)}.")), links([state])]

    def _page(self, run: Recording) -> nodes.reference:
        """Write the page of the run, and return a link to it, without a text."""
        docname = self.env.docname
        page = f"steps/{docname.replace('/', '-')}{self.kind}-{self.env.new_serialno(f'run{self.kind}')}.html"
        file = Path(self.env.app.outdir, page)
        file.parent.mkdir(exist_ok=True)
        file.write_text(stepper(run), encoding="utf-8")
        address = posixpath.relpath(page, posixpath.dirname(docname) or ".")
        return nodes.reference("", "", internal=False, refuri=address)


class Example(Stepper):
    """A drawing of the events in the block with the matches of a query."""

    kind = "-example"

    def _made(self, query: str, language: str, rows: Rows) -> list[nodes.Node]:
        found = evaluate({"query": query, "language": language, "stream": rows})
        line = nodes.paragraph()
        try:
            step = self._page(recorded(query, language, rows))
            line += [step, nodes.Text(" · ")]
            step += nodes.Text("Step by step")
        except Unsupported:  # no evaluator that can be recorded supports the query
            pass
        line += PlaygroundLink(state=state_of(query, rows, language), text="Open in the playground")
        code = nodes.literal_block(query, query, language="text")
        drawing = nodes.raw("", f'<div class="drawing">{found["svg"]}</div>', format="html")
        live = ["live"] if "live" in self.options else []
        return [nodes.container("", code, drawing, line, classes=["example", *live])]


def recorded(query: str, language: str, rows: Rows) -> Recording:
    """Return the recorded run of a query over the events in the rows."""
    header, *events = rows
    stream = stream_of_rows("the events", header, events, [f"event {n}" for n in range(len(events))])
    with catch_warnings():  # the events of a drawing have only the attributes that it shows
        simplefilter("ignore", QueryWarning)
        return record(query, stream, language)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("exercises", Exercises)
    app.add_directive("stepper", Stepper)
    app.add_directive("example", Example)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""A run to go through: a block `{stepper} QUERY` with events as CSV becomes a link to the page that shows the run.

The page is the one that `cerify step` writes, made when the book is built, from the evaluator as it then is.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from warnings import catch_warnings, simplefilter

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cerify.draw.recording import Recording
from cerify.draw.stepper import stepper, summary
from cerify.drawing import record
from cerify.semantics.errors import CerifyError, QueryWarning
from cerify.semantics.readers import read


class Stepper(SphinxDirective):
    """Records the run of a query over the events in the block, and links to its page."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"language": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        query = self.arguments[0]
        try:
            run = self._recorded(query)
        except CerifyError as error:
            raise self.error(str(error)) from error
        docname = self.env.docname
        page = f"steps/{docname.replace('/', '-')}-{self.env.new_serialno('stepper')}.html"
        file = Path(self.env.app.outdir, page)
        file.parent.mkdir(exist_ok=True)
        file.write_text(stepper(run), encoding="utf-8")
        link = nodes.reference(
            "", "", internal=False, refuri=posixpath.relpath(page, posixpath.dirname(docname) or ".")
        )
        link += [nodes.Text("Go through the run of "), nodes.literal("", query), nodes.Text(" step by step")]
        return [nodes.paragraph("", "", link, nodes.Text(f": {summary(run)}."))]

    def _recorded(self, query: str) -> Recording:
        with TemporaryDirectory() as folder:
            events = Path(folder, "events.csv")
            events.write_text("\n".join(self.content) + "\n", encoding="utf-8")
            with catch_warnings():  # the events of a drawing have only the attributes that it shows
                simplefilter("ignore", QueryWarning)
                return record(query, read(events), self.options.get("language", "cel"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("stepper", Stepper)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

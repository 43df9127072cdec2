"""Build the playground into the book, and link to it under each example that it can show.

The playground is in the folder `playground` of the book. It can be built only where npm can fetch packages; elsewhere
the book has no such links. A link opens the playground with the query and the stream of the example.
"""

from __future__ import annotations

import json
import posixpath
from base64 import urlsafe_b64encode
from pathlib import Path

from docutils import nodes
from examples import Reason, State, in_blocks
from sphinx.application import Sphinx
from sphinx.util import logging

from cerify.playground.__main__ import build
from cerify.semantics.errors import CerifyError

LONGEST = 60  # the greatest number of characters of a query that a link shows

logger = logging.getLogger(__name__)


class PlaygroundLink(nodes.General, nodes.Element):
    """A link to the playground in a state, if the book has a playground."""


def address(state: State, docname: str) -> str:
    """Return the address of the playground in a state, relative to a page."""
    page = posixpath.relpath("playground/index.html", posixpath.dirname(docname) or ".")
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    return f"{page}#1.{urlsafe_b64encode(text.encode()).decode().rstrip('=')}"


def marked(app: Sphinx, doctree: nodes.document) -> None:
    """Put links after the blocks of code that the playground can run."""
    page = Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8")
    blocks = list(doctree.findall(nodes.literal_block))
    texts = ((one.get("language"), one.astext()) for one in blocks)
    for block, examples in zip(blocks, in_blocks(page, texts), strict=True):
        states = [one.shown for one in examples if not isinstance(one.shown, Reason)]
        states = [state for n, state in enumerate(states) if state not in states[:n]]
        if states:
            block.parent.insert(block.parent.index(block) + 1, links(states))


def links(states: list[State]) -> nodes.paragraph:
    """Return a line of links to the playground, one for each state."""
    line = nodes.paragraph(classes=["playground-links"])
    for state in states:
        line += PlaygroundLink(state=state)
    return line


def said(state: State) -> tuple[str, str]:
    """Return the verb of a link to this state, and the answer, exercise or query; a long text is cut."""
    choices = (("Grade", state.get("answer")), ("Exercise", state.get("exercise")), ("Try", state["query"]))
    verb, text = next((verb, " ".join(text.split())) for verb, text in choices if text)
    return verb, text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def resolved(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let links lead to the playground, or remove them if the book has none."""
    for node in list(doctree.findall(PlaygroundLink)):
        if app.env.has_playground:  # type: ignore[attr-defined]
            target = address(node["state"], docname)
            link = nodes.reference("", "", internal=False, refuri=target, classes=["playground-link"])
            verb, what = said(node["state"])
            link += [nodes.Text(node["text"])] if "text" in node else [nodes.Text(f"{verb} "), nodes.literal("", what)]
            node.replace_self(link)
        else:
            node.parent.remove(node)
    for line in list(doctree.findall(nodes.paragraph)):
        if "playground-links" in line["classes"] and not line.children:
            line.parent.remove(line)


def built(app: Sphinx) -> None:
    """Build the playground into the book, and record whether this was possible."""
    app.env.has_playground = False  # type: ignore[attr-defined]
    if app.builder.format == "html":
        try:
            build(Path(app.outdir, "playground"), book="../index.html")
            app.env.has_playground = True  # type: ignore[attr-defined]
        except CerifyError as error:
            logger.info("The book has no playground: %s", error)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(PlaygroundLink)
    app.connect("builder-inited", built)
    app.connect("doctree-read", marked)
    app.connect("doctree-resolved", resolved)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

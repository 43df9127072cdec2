"""A Python session ends with an empty line, for doctest; the book shows it without."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def trimmed(app: Sphinx, doctree: nodes.document) -> None:
    """Blocks of code without what is empty at their end."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # else it has markup of its own
            text = block.astext().rstrip()
            block.children = [nodes.Text(text)]
            block.rawsource = text


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", trimmed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

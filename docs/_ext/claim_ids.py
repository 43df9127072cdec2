"""Link every mention of a claim's id to the row of docs/claims.md that has the claim."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

LEDGER = "claims"


def anchored(app: Sphinx, doctree: nodes.document) -> None:
    """Give each row of the ledger the id of its claim, so that links can lead to it."""
    if app.env.docname != LEDGER:
        return
    for row in doctree.findall(nodes.row):
        id_ = row[0].astext()
        if "." in id_:
            row["ids"].append(id_)
            app.env.domains.standard_domain.note_hyperlink_target(id_, LEDGER, id_)


def linked(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn each id of a claim in code type into a link to the row of the claim, unless it is a link already."""
    if docname == LEDGER:
        return
    labels = app.env.domains.standard_domain.anonlabels
    for literal in list(doctree.findall(nodes.literal)):
        id_ = literal.astext()
        known = labels.get(id_)
        if known and known[0] == LEDGER and not isinstance(literal.parent, nodes.reference | nodes.title):
            literal.replace_self(make_refnode(app.builder, docname, LEDGER, id_, literal.deepcopy()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", anchored)
    app.connect("doctree-resolved", linked)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The ids of claims: a row of docs/claims.md can be linked to, and every other mention of an id is such a link."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

LEDGER = "claims"


def anchored(app: Sphinx, doctree: nodes.document) -> None:
    """Each row of the ledger gets the id of its claim."""
    if app.env.docname != LEDGER:
        return
    for row in doctree.findall(nodes.row):
        id_ = row[0].astext()
        if "." in id_:
            row["ids"].append(id_)
            app.env.domains.standard_domain.note_hyperlink_target(id_, LEDGER, id_)


def linked(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """The id of a claim in code type, unless it is a link already, leads to the row of the claim."""
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

"""Quotation marks stay straight on pages whose text is that of programs, where they are those of code."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGES = ("reference/api", "reference/commands")
"""How the names of these pages begin."""


class StraightQuotes(SphinxTransform):
    """Says of each page whether its quotation marks are made curly, before Sphinx does that."""

    default_priority = 740

    def apply(self, **kwargs: Any) -> None:
        self.document.settings.smart_quotes = not self.env.docname.startswith(PAGES)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(StraightQuotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Keep quotation marks straight on the pages whose text comes from code."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGES = ("reference/api", "reference/commands")
"""The beginnings of the names of these pages."""


class StraightQuotes(SphinxTransform):
    """Sets for each page whether Sphinx makes its quotation marks curly."""

    default_priority = 740

    def apply(self, **kwargs: Any) -> None:
        self.document.settings.smart_quotes = not self.env.docname.startswith(PAGES)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(StraightQuotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

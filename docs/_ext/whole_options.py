"""Keep options of commands on one line; a browser would break them after their hyphens."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

OPTION = re.compile(r"(?<=[>\s])--[a-z][a-z-]*(?=[<\s=])")


def kept(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Mark the options in the text of a page, so that the style sheet can keep each on one line."""
    if "body" in context:
        context["body"] = OPTION.sub(r'<span class="command-option">\g<0></span>', context["body"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", kept)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

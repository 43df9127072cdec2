"""The lower levels of the table of contents: `chapters` in conf.py lists the pages below a page."""

from __future__ import annotations

from sphinx.application import Sphinx

CONTENTS = "\n\n```{{toctree}}\n:hidden:\n\n{}\n```\n"


def listed(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add a hidden table of contents with the pages below a page."""
    if below := app.config.chapters.get(docname):
        source[0] += CONTENTS.format("\n".join(f"/{page}" for page in below.split()))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("chapters", {}, "env", [dict])
    app.connect("source-read", listed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

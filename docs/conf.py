"""How the book is built: `python -m sphinx -W docs build/book`, with the extra `docs`."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "cerify"
author = "the cerify authors"
copyright = "the cerify authors; Apache-2.0"
release = importlib.metadata.version("cerify")
html_title = "cerify"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_click",
    "source_pages",
    "claim_ids",
    "docstrings",
    "commands",
    "sessions",
    "stepping",
]
exclude_patterns = ["_ext"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": {"url": "{{path}}#{{fragment}}"}}

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}


def setup(app: Sphinx) -> None:
    app.add_lexer("csv", TextLexer)

"""The configuration of the book. Build it by `python -m sphinx -W docs build/book`, with the extra `docs`."""

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
    "playground",
    "mathematics",
    "chapters",
    "whole_options",
    "straight_quotes",
    "sphinx_copybutton",
]
exclude_patterns = ["_ext"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": {"url": "{{path}}#{{fragment}}"}}

html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

chapters = {  # the pages below a page, in the table of contents
    "guide/match": "guide/cookbook guide/shop guide/demo guide/streaming guide/performance",
    "guide/draw": "guide/stepper guide/notebook guide/research",
    "guide/conformance": "guide/ci guide/identify guide/comparison guide/engine-documents guide/threats",
    "guide/threats": "findings/robustness",
    "findings/board": "findings/speed findings/beam/README findings/bobocep/README findings/calcite/README "
    "findings/clickhouse/README "
    "findings/clips/README findings/core/README findings/drools/README "
    "findings/epigrep/README findings/eql/README findings/esper/README "
    "findings/flink/README findings/googlesql/README findings/nools/README findings/opencep/README "
    "findings/pandas/README findings/pycer/README "
    "findings/rustevex/README findings/sase/README findings/sigma/README findings/siddhi/README findings/stix2/README "
    "findings/trino/README findings/varpulis/README",
    "guide/equivalence": "guide/simplify guide/normal-forms guide/translations",
    "guide/languages": "guide/core-cel guide/sase guide/event-expressions guide/row-patterns guide/eql "
    "guide/predicates guide/correlated guide/extending guide/add-a-language",
    "guide/sase": "guide/sase-relations guide/sase-evaluators",
    "guide/row-patterns": "guide/row-pattern-dialects guide/row-relations",
    "guide/event-expressions": "guide/event-expression-examples guide/event-expressions-automata",
    "guide/spark": "guide/spark-clusters guide/spark-connectors guide/spark-scale guide/spark-streaming "
    "guide/spark-audit guide/spark-campaign",
    "theory/README": "theory/definitions theory/cel theory/core-cel theory/expressions theory/sase-plus "
    "theory/rows theory/row-patterns theory/compilers theory/evaluation theory/equivalence theory/expressiveness "
    "theory/related theory/independence theory/mechanised",
    "theory/independence": "theory/complete-tests",
    "theory/mechanised": "theory/proved theory/strategies theory/compilation theory/star theory/event-expressions "
    "theory/sase",
    "claims": "errata laws decisions/README",
    "reference/README": "reference/glossary reference/syntax reference/commands reference/errors reference/stability "
    "reference/dependencies reference/protocol reference/suite reference/suite-strength reference/measurements "
    "reference/api reference/api-semantics reference/api-automata "
    "reference/api-equivalence",
}

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries = False

html_theme = "furo"
html_static_path = ["_static", "../workbench/draw/timeline.css"]
html_css_files = ["timeline.css", "book.css"]
html_js_files = ["book.js"]
html_show_sphinx = False
html_favicon = "_static/favicon.svg"
html_search_scorer = str(DOCS / "_ext" / "scorer.js")
html_domain_indices = False  # the modules are on the pages of the reference
smartquotes_action = "qe"  # -- is an option, not a dash
html_theme_options = {"top_of_page_buttons": ["view"]}


def setup(app: Sphinx) -> None:
    for name in ("csv", "eql"):  # languages that Pygments does not know
        app.add_lexer(name, TextLexer)

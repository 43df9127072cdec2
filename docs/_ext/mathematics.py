"""Convert formulas to MathML when the book is built, so that browsers draw them without scripts and network.

A formula whose braces do not match, or that has an unknown command, gives a warning.
"""

from __future__ import annotations

import re
from itertools import accumulate

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def is_balanced(formula: str) -> bool:
    """Return whether the braces of groups match. Braces after a backslash belong to the text."""
    braces = (1 if c == "{" else -1 for c in re.sub(r"\\.", "", formula) if c in "{}")
    depths = list(accumulate(braces, initial=0))
    return min(depths) == depths[-1] == 0


SIGN = "(:|;|&#x0003A;|&#x027FA;)"  # signs that the converter treats as names: a colon, a semicolon, \iff
RELATION = re.compile(f"<mi>{SIGN}</mi>")
ORDINARY = re.compile(f"<mrow>(?:<mo>([^<]*)</mo>|<mi>{SIGN}</mi>)</mrow>")  # alone in braces, as in A{+}


def mathml(formula: str, display: str) -> str:
    """Return a formula as MathML."""
    converted: str = convert(formula, display=display)
    made = ORDINARY.sub(r'<mrow><mo lspace="0" rspace="0">\1\2</mo></mrow>', converted)
    return RELATION.sub(r'<mo lspace="0.28em" rspace="0.28em">\1</mo>', made)


def checked(node: nodes.math | nodes.math_block, display: str) -> str:
    """Return the formula of a node as MathML. Warn if its braces do not match or it has an unknown command."""
    made = mathml(node.astext(), display)
    if not is_balanced(node.astext()) or "\\" in made:
        logger.warning("unmatched braces or an unknown command in a formula: %s", node.astext(), location=node)
    return made


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(checked(node, "inline"))
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands by itself."""
    self.body.append(f'<div class="math">{checked(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

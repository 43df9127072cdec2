"""Formulas as MathML, made when the book is built: a browser draws them without a script, and without a network.

A formula whose braces do not match, or with a command that is not known, is a warning.
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
    """Whether each brace that opens a group has one that closes it; those that are written have a backslash."""
    braces = (1 if c == "{" else -1 for c in re.sub(r"\\.", "", formula) if c in "{}")
    depths = list(accumulate(braces, initial=0))
    return min(depths) == depths[-1] == 0


SIGN = "(:|;|&#x0003A;|&#x027FA;)"  # which the converter takes for a name: a colon, a semicolon, \iff
RELATION = re.compile(f"<mi>{SIGN}</mi>")
ORDINARY = re.compile(f"<mrow>(?:<mo>([^<]*)</mo>|<mi>{SIGN}</mi>)</mrow>")  # alone in braces, as in A{+}


def mathml(formula: str, display: str) -> str:
    """A formula as MathML."""
    converted: str = convert(formula, display=display)
    made = ORDINARY.sub(r'<mrow><mo lspace="0" rspace="0">\1\2</mo></mrow>', converted)
    return RELATION.sub(r'<mo lspace="0.28em" rspace="0.28em">\1</mo>', made)


def checked(node: nodes.math | nodes.math_block, display: str) -> str:
    """The formula of a node as MathML."""
    made = mathml(node.astext(), display)
    if not is_balanced(node.astext()) or "\\" in made:
        logger.warning("a formula that is not drawn as it is meant: %s", node.astext(), location=node)
    return made


def inline(self: HTML5Translator, node: nodes.math) -> None:
    """Writes a formula of a line."""
    self.body.append(checked(node, "inline"))
    raise nodes.SkipNode


def display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Writes a formula that stands by itself."""
    self.body.append(f'<div class="math">{checked(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Prepare blocks of code for the book: without the empty line at the end that doctest needs, and 80 columns wide.

Python code with longer lines is formatted again by ruff.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from textwrap import dedent, indent, wrap

from docutils import nodes
from sphinx.application import Sphinx

WIDTH = 80
PROMPTS = 4  # columns
PROSE = re.compile(r'( *(?:# )?)(?!\w+(?:, \w+)*: |>>>|\.\.\.|- |"{3}$)(\S(?:(?!  ).)*)')
"""A line that continues a sentence, and is no entry of a list, no statement and no row of columns."""


def trimmed(app: Sphinx, doctree: nodes.document) -> None:
    """Remove empty lines at the end of blocks of code, and fold Python lines that are too long."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        if block.rawsource != block.astext():  # the block has markup of its own
            continue
        is_python = block.get("language") == "python" or block.get("source", "").endswith(".py")
        if is_python and max(map(len, text.splitlines()), default=0) > WIDTH:
            text = session(text) if text.startswith(">>> ") else excerpt(text, WIDTH)
        block.children = [nodes.Text(text)]
        block.rawsource = text


def session(text: str) -> str:
    """Return a Python session with its statements in lines of at most WIDTH columns."""
    parts: list[str] = []
    for part in doctest.DocTestParser().parse(text + "\n"):
        if isinstance(part, str):
            parts.append(part)
            continue
        first, *rest = excerpt(part.source.rstrip(), WIDTH - PROMPTS).splitlines()
        parts += [f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in rest), part.want]
    return "".join(parts).rstrip()


@cache
def excerpt(code: str, width: int) -> str:
    """Return Python code in lines of this width. Code that cannot be parsed stays as it is.

    The code may also be the cases of a match, or the body of a class, without the line above them.
    """
    if max(map(len, code.splitlines())) <= width or find_spec("ruff") is None:
        return code
    for head, depth in (("", 0), ("match _:\n", 4), ("class _:\n", 4)):
        command = [sys.executable, "-m", "ruff", "format", "--isolated", f"--line-length={width + depth}", "-"]
        ran = subprocess.run(command, input=head + indent(code, " " * depth), capture_output=True, text=True)
        if ran.returncode == 0:
            return "\n".join(_folded(dedent(ran.stdout.removeprefix(head)).rstrip(), width))
    return code


def _folded(code: str, width: int) -> Iterator[str]:
    """Yield the lines of code with docstrings and comments folded; words that do not fit go to the next prose line."""
    lines, quoted = deque(code.splitlines()), False
    while lines:
        line = lines.popleft()
        depth = len(line) - len(line.lstrip())
        text, _, comment = line.partition("  # ")
        is_text, is_comment = quoted or line.lstrip().startswith('"""'), line.lstrip().startswith("# ")
        quoted ^= line.count('"""') % 2 == 1
        if len(line) <= width:
            yield line
        elif is_text or is_comment:
            mark = "" if is_text else "# "
            *whole, last = wrap(line, width, subsequent_indent=" " * depth + mark)
            found = PROSE.fullmatch(lines[0]) if lines and (quoted or is_comment) else None
            if whole and found and found[1] == " " * depth + mark:
                lines[0], last = f"{last} {found[2]}", ""
            yield from filter(None, (*whole, last))
        elif comment:
            if not comment.startswith("type: "):
                yield from wrap(comment, width, initial_indent=" " * depth + "# ", subsequent_indent=" " * depth + "# ")
            yield text
        else:
            yield line


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", trimmed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Show docstrings as they are written, and signatures with the names that the source gives to its types.

A docstring is plain text. Stars around words are emphasis; other stars, bars and backticks stand for themselves.
Indented lines are shown verbatim, unless they continue an item of a list. A paragraph of lines such as `name: what it
is` becomes a list of these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby

from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

from cerify import languages, protocol
from cerify.languages import language
from cerify.semantics import events, predicates, values
from cerify.semantics.cel import syntax as cel
from cerify.semantics.core_cel import syntax as core_cel
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.sase import syntax as sase

EMPHASIS = re.compile(r"(?<![\w*\\])\\\*(\w[\w ]*)\\\*(?![\w*\\])")  # in text that is escaped already
FIELD = re.compile(r"[a-z_]+: ")
MARKUP = re.compile(r"([\\*`|]|_(?!\w))")
UNREADABLE = re.compile(r"<(?:factory|function [^,)]*)>")  # defaults of fields
ALIASES = {
    "cerify.semantics.cel.syntax": (cel, "Formula Condition Window Atom"),
    "cerify.semantics.core_cel.syntax": (core_cel, "Formula Condition"),
    "cerify.semantics.event_expressions.syntax": (expr, "Expression"),
    "cerify.semantics.sase.syntax": (sase, "Tree"),
    "cerify.semantics.predicates": (predicates, "Predicate Term"),
    "cerify.semantics.events": (events, "Valuation"),
    "cerify.semantics.values": (values, "Value"),
    "cerify.protocol": (protocol, "Answer"),
    "cerify.languages": (languages, "LanguageName"),
    "cerify.languages.language": (language, "EvaluatorName"),
}


def escaped(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the lines so that reStructuredText shows them as they are, and drop the lines about fields of tuples."""
    lines[:] = _itemized([line for line in lines if not line.startswith("Alias for field number ")])
    written: list[str] = []
    for kind, pairs in groupby(zip(_kinds(lines), lines, strict=True), key=lambda pair: pair[0]):
        group = [line for _, line in pairs]
        escaped_lines = (MARKUP.sub(r"\\\1", re.sub(r"`([^`]+)`", r"\1", line)) for line in group)
        plain = [EMPHASIS.sub(r"*\1*", line) for line in escaped_lines]
        written += {"verbatim": ["", ".. code-block:: text", "", *group, ""], "list": ["", *plain, ""]}.get(kind, plain)
    lines[:] = written


def _itemized(lines: Sequence[str]) -> list[str]:
    """Return the lines with fields as items of a list: a hyphen before each field, and its other lines indented."""
    found: list[str] = []
    inside = False
    for before, line in zip(["", *lines], lines, strict=False):
        inside = bool(line) and (inside or (not before and FIELD.match(line) is not None))
        mark = "" if not inside else "- " if FIELD.match(line) else "  "
        found.append(f"{mark}{line.strip()}" if inside else line)
    return found


def _kinds(lines: Sequence[str]) -> Iterator[str]:
    """Yield the kind of each line: "list" for items with hyphens, "verbatim" for indented lines, or "text"."""
    kind = "text"
    for line in lines:
        if not (kind == "list" and line.startswith("  ")):
            kind = "list" if line.startswith("- ") else "verbatim" if line.startswith("  ") else "text"
        yield kind


@cache
def _unions() -> dict[str, str]:
    """Return for each type with a name what autodoc writes for it, the longest first, and the name."""
    named = {
        stringify_annotation(getattr(module, alias), "smart"): f"~{home}.{alias}"
        for home, (module, aliases) in ALIASES.items()
        for alias in aliases.split()
    }
    return dict(sorted(named.items(), key=lambda item: -len(item[0])))


def shortened(
    app: Sphinx, what: str, name: str, obj: object, options: object, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Return the signature with the name of each union, and without defaults that Sphinx cannot parse."""
    for union, alias in _unions().items():
        arguments = arguments and arguments.replace(union, alias)
        returned = returned and returned.replace(union, alias)
    return arguments and UNREADABLE.sub("...", arguments), returned


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escaped)
    app.connect("autodoc-process-signature", shortened)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Self-contained HTML pages from templates: everything that is not the template's own is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cerify.semantics.packages import naming_extras
from cerify.terminal import shielded

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ROOT = Path(__file__).parent.parent
DRAWINGS = ("draw/palette.css", "draw/timeline.css", "draw/diagram.css")
STYLES = (*DRAWINGS, "draw/page.css")


def page(template: str, **values: Any) -> str:
    """The page of a template, named by its path in the package, which extends draw/page.html.

    Characters that are not printable are escaped.
    """
    return shielded(_environment().get_template(template).render(values))


def markup(text: str) -> Markup:
    """A text that is HTML already, which a template does not escape."""
    with naming_extras():
        from markupsafe import Markup
    return Markup(text)


def css(names: Sequence[str] = DRAWINGS) -> str:
    """The text of style sheets, those of drawings unless others are named."""
    return "".join((ROOT / name).read_text(encoding="utf-8") for name in names)


@cache
def _environment() -> Environment:
    with naming_extras():
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(ROOT), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = Markup(css(STYLES))
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["plural"] = lambda number, word: f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
    return environment

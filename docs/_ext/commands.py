"""Add a section for each command to the reference of the command line, after the introduction of the page."""

from __future__ import annotations

import sys
from inspect import unwrap

from sphinx.application import Sphinx

from cerify import cli

PAGE = "reference/commands"
SECTION = """
```{{eval-rst}}
.. click:: {place}
   :prog: cerify {name}
```
"""


def place_of(name: str) -> str:
    """Return the module of a command and its name in the module, with a colon between them."""
    command = cli.load_command(name)
    module = sys.modules[unwrap(command.callback).__module__]  # type: ignore[arg-type]
    return f"{module.__name__}:{next(key for key, value in vars(module).items() if value is command)}"


def listed(app: Sphinx, docname: str, source: list[str]) -> None:
    """Insert the sections into the page of the reference."""
    if docname == PAGE:
        app.env.note_dependency(cli.__file__, docname=docname)
        opening, *rest = source[0].partition("\n## ")  # after a heading, the sections would belong to it
        sections = "".join(SECTION.format(name=name, place=place_of(name)) for name in sorted(cli.COMMANDS))
        source[0] = "".join([opening, sections, *rest])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", listed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
